"""``OwnFiles``: the files that a write makes are removed when it fails, and found by others when its process dies.

    files written ── the write fails before a table moved ──> removed on its way out
          │
          └─ many bytes ──> __loads/<id>.json names them and the process, until a version is about to name them
                            the process is proved dead ──> a later writer removes them

Nothing is removed that a version may name: the note goes before the first table moves, and from then on the files are
left alone. A later writer looks for notes before it leaves its own, and on a disk also when it opens the graph. Nor is
anything removed of a process that may live: it may be stopped and go on. What stays is for ``cleanup``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from omnigraph.cancellation import uncancellable
from omnigraph.errors import OutcomeUnknownError, StorageError
from omnigraph.history.repository import Repository
from omnigraph.history.ulids import new_ulid
from omnigraph.history.whereabouts import Fate, Whereabouts, fate_of, whereabouts
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.new_files import collected_by
from omnigraph.write.lease_places import LEASE_FORMAT, LEASE_PREFIX, lease_key
from omnigraph.write.under_way import begin_under_way, end_under_way

NOTED_BYTES: Final = 4 * 1024 * 1024
"""A write whose files have so many bytes leaves a note of them; smaller ones pay nothing for it."""

_log: Final = logging.getLogger(__name__)


@contextmanager
def own_files(repository: Repository, branch: str, load_id: str | None = None) -> Iterator[None]:
    """Remove what the block writes if it fails before a version may name it."""
    files = OwnFiles(repository, branch, load_id)
    try:
        with collected_by(files):
            yield
    except OutcomeUnknownError:
        files.forget()
        raise
    except BaseException:
        with uncancellable():
            files.remove()
        raise
    files.forget()


class OwnFiles:
    """Of one write."""

    def __init__(self, repository: Repository, branch: str, load_id: str | None) -> None:
        self._repository = repository
        self._branch = branch
        self._id = new_ulid()
        self._load_id = load_id or self._id
        self._started_at = datetime.now(UTC)
        self._files: dict[str, ObjectKey] = {}
        self._directories: dict[str, ObjectKey] = {}
        self._bytes = 0
        self._is_noted = False
        self._is_released = False

    def add(self, files: Sequence[ObjectKey], directories: Sequence[ObjectKey], byte_count: int) -> None:
        """Remember files that lie there; many are noted, durably, and then others' are looked for."""
        if self._is_released:
            return
        self._files |= {each.value: each for each in files}
        self._directories |= {each.value: each for each in directories}
        self._bytes += byte_count
        if self._bytes >= NOTED_BYTES:
            is_first = not self._is_noted
            self._note()
            if is_first:
                remove_files_of_the_dead(self._repository)

    def release(self) -> None:
        """Leave the files alone from now on.

        Raises:
            StorageError: the note of them may still lie there, so no version may name them.
        """
        if self._is_noted:
            self._repository.adapter.delete(lease_key(self._repository.adapter, self._id))
            self._end_note()
        self._is_released = True

    def remove(self) -> None:
        """Remove the files, and then the note of them; what cannot be removed stays noted."""
        if not self._is_released and not _remove(self._repository.adapter, self._files, self._directories):
            _log.warning("Files of a write that failed stay below %s.", self._repository.adapter.root)
        self.forget()

    def forget(self) -> None:
        """The write is over: nothing is noted any more."""
        if not self._is_noted:
            return
        try:
            self._repository.adapter.delete(lease_key(self._repository.adapter, self._id))
        except StorageError as error:
            _log.warning("The note of a write that is over could not be removed: %s", error)
        self._end_note()

    def _end_note(self) -> None:
        self._is_noted = False
        end_under_way(self._id)

    def _note(self) -> None:
        adapter = self._repository.adapter
        if not self._is_noted:
            begin_under_way(self._id)
            self._is_noted = True
        facts = {
            "format": LEASE_FORMAT,
            "main": self._repository.main.incarnation,
            "load_id": self._load_id,
            "branch": self._branch,
            "writer": self._repository.heart.writer,
            "process": whereabouts().to_dict(),
            "started_at": self._started_at.isoformat(),
            "manifest_version": self._repository.known(self._branch).version,
            "lines": {line: line for line in sorted({name.rpartition("/data/")[0] for name in self._files})},
            "files": sorted(self._files),
            "directories": sorted(self._directories),
        }
        adapter.write(lease_key(adapter, self._id), json.dumps(facts, ensure_ascii=False).encode())


def remove_files_of_the_dead(repository: Repository) -> int:
    """Remove files that no version names of writers that are proved dead on this machine; how many notes went."""
    adapter, count = repository.adapter, 0
    try:
        keys = [each for each in adapter.list_dir(adapter.key(LEASE_PREFIX)) if each.name.endswith(".json")]
        for key in keys:
            found = _note_of(adapter, key)
            if found is not None and _remove(adapter, *found):
                adapter.delete(key)
                count += 1
    except StorageError as error:
        _log.warning("Files of writers that are gone could not be looked for: %s", error)
    return count


def _note_of(adapter: StorageAdapter, key: ObjectKey) -> tuple[dict[str, ObjectKey], dict[str, ObjectKey]] | None:
    """The files that a note names, if their writer is proved dead; None otherwise, and for what is no such note."""
    data = adapter.read_if_exists(key)
    if data is None:
        return None
    try:
        facts: dict[str, Any] = json.loads(data)
        if facts["format"] != LEASE_FORMAT or "files" not in facts:
            # A bulk load: its files are written by other processes, too.
            return None
        if fate_of(Whereabouts(**facts["process"])) is not Fate.GONE:
            return None
        named = [{name: adapter.key(name) for name in facts[each]} for each in ("files", "directories")]
    except (ValueError, KeyError, TypeError) as error:
        _log.warning("%s is no note of a write: %s", adapter.uri(key), error)
        return None
    return named[0], named[1]


def _remove(adapter: StorageAdapter, files: dict[str, ObjectKey], directories: dict[str, ObjectKey]) -> bool:
    try:
        inner = [each for directory in directories.values() for each in adapter.list(directory)]
        for key in (*files.values(), *inner):
            adapter.delete(key)
    except StorageError as error:
        _log.info("Files of a write could not be removed: %s", error)
        return False
    return True
