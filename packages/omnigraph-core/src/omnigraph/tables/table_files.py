"""Files of tables, moved between a store and this machine as they are, by Lance's own client of the store.

Files of tables are of any size, so they never pass through the verbs of a storage adapter, nor through memory. A table
on a disk of this machine is read and written in place.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lance.file import LanceFileSession

from omnigraph.errors import StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.storage.failures import advice_for, condition_of, describe_failure
from omnigraph.tables.base_paths import split_line
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.opening import Place, place_of

_NOT_NAMED: Final = "#"
_UNFINISHED: Final = ".tmp"


def is_unfinished(key: ObjectKey) -> bool:
    """Whether a file is one that Lance is writing on a disk: it gets its name when it is whole."""
    return key.name.startswith(_UNFINISHED)


def named_files(snapshot: LanceSnapshot) -> Mapping[str, int | None]:
    """Keys of the data and deletion files of a version, on its own line and on those that it was forked from.

    With their sizes, where the version says them: it does so of data.
    """
    place = snapshot.place
    bases = {number: split_line(base.path)[1] for number, base in snapshot.dataset.base_paths().items()}

    def key(base: int | None, name: str) -> str:
        line = str(place.key) if base is None else f"{place.main_key}{bases[base]}"
        return f"{line}/{name}"

    found: dict[str, int | None] = {}
    for fragment in snapshot.dataset.get_fragments():
        parts = fragment.metadata
        found.update({key(each.base_id, f"data/{each.path}"): each.file_size_bytes for each in parts.files})
        if parts.deletion_file is not None:
            found[key(parts.deletion_file.base_id, parts.deletion_file.path(fragment.fragment_id))] = None
    return found


@contextmanager
def own_disk(doing: str, uri: str) -> Iterator[None]:
    """Turn what the disks of this machine raise in the block into a ``StorageError``; ``doing`` is a verb."""
    try:
        yield
    except OSError as error:
        condition = condition_of(error)
        raise StorageError(
            f"Could not {doing} {uri}: {describe_failure(error)}.",
            condition=condition,
            uri=uri,
            help=advice_for(error, condition, doing),
            details={"verb": doing},
        ) from error


class TableFiles:
    """The files of the tables below one root. Safe to share between threads."""

    def __init__(self, adapter: StorageAdapter) -> None:
        self._adapter = adapter
        self._lock = threading.Lock()
        self._places: dict[str, Place] = {}
        self._sessions: dict[str, LanceFileSession] = {}

    def path(self, location: str, name: str) -> Path | None:
        """Where a file of a table lies on this machine; None when it lies on a server."""
        place = self._place(location)
        return Path(place.main_uri) / name if place.is_on_disk else None

    def fetch(self, location: str, name: str, target: Path) -> None:
        """Bring a file to this machine.

        Raises:
            StorageError: condition ``not_found`` when there is none.
        """
        source, uri = self.path(location, name), f"{self._place(location).main_uri}/{name}"
        if source is not None:
            with own_disk("read", uri):
                shutil.copyfile(source, target)
            return
        with translating("read", uri):
            self._session(location).download_file(name, target)

    def send(self, source: Path, location: str, name: str) -> None:
        """Write a file of a table as a file of this machine is; not yet durable.

        Raises:
            StorageError: it could not be written.
        """
        target, uri = self.path(location, name), f"{self._place(location).main_uri}/{name}"
        if target is None:
            with translating("write", uri):
                self._session(location).upload_file(source, name)
            return
        with own_disk("write", uri):
            target.parent.mkdir(parents=True, exist_ok=True)
            # Whoever reads the name meanwhile finds the old file or the new one.
            part = target.with_name(f"{target.name}{_NOT_NAMED}{threading.get_ident()}")
            try:
                shutil.copyfile(source, part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)

    def _place(self, location: str) -> Place:
        with self._lock:
            if location not in self._places:
                self._places[location] = place_of(self._adapter, location, None)
            return self._places[location]

    def _session(self, location: str) -> LanceFileSession:
        place = self._place(location)
        with self._lock:
            if location not in self._sessions:
                self._sessions[location] = LanceFileSession(place.main_uri, storage_options=place.options)
            return self._sessions[location]
