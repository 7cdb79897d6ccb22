"""Lines whose bases name another place than that of their table, and what lets them name this one.

    every version of every fork ── names its table elsewhere? ──> the same file, with its bases here

Nobody can be using such a file: every opening of it is refused, see ``base_paths``. So it is replaced as it lies there,
by one that says the same. A replacing that is cut off leaves some files as they were, which the next one replaces.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from omnigraph.cancellation import check_cancelled, checker
from omnigraph.errors import FormatError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.storage.objects import MAX_OBJECT_BYTES
from omnigraph.tables.base_paths import is_same_table, split_line
from omnigraph.tables.manifest_bases import ManifestFormError, bases_of, with_bases
from omnigraph.tables.opening import Place, place_of
from omnigraph.tables.table_files import TableFiles, own_disk

THREADS: Final = 8
_MAX_VERSION_BYTES: Final = 2**30
"""No version of a table with a million parts is as large."""
_VERSION_OF_FORK: Final = re.compile(r"(?P<location>.+)/tree/(?P<line>[^/]+)/_versions/d?\d+\.manifest\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineVersion:
    """The file of a version of a fork.

    Attributes:
        location: of its table.
        line: the name of the fork.
        name: of the file below the location.
    """

    location: str
    line: str
    name: str

    @classmethod
    def of(cls, key: ObjectKey) -> LineVersion | None:
        """What a key names; None for other files."""
        found = _VERSION_OF_FORK.match(key.value)
        if found is None:
            return None
        location = found["location"]
        return cls(location=location, line=found["line"], name=key.value[len(location) + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocated:
    """What was done about versions of forks.

    Attributes:
        versions: those that named another place than that of their table, and name this one now.
        damaged: what is wrong with those that cannot be understood; they are as they were.
    """

    versions: tuple[LineVersion, ...]
    damaged: tuple[FormatError, ...]


def relocate_lines(adapter: StorageAdapter, keys: Iterable[ObjectKey]) -> Relocated:
    """Let versions of forks among these files name their table where it is now, durably.

    Raises:
        StorageError: the store did not answer; some are done.
    """
    found = [each for each in map(LineVersion.of, keys) if each is not None]
    files, check = TableFiles(adapter), checker()
    damaged: list[FormatError] = []

    def relocate(version: LineVersion) -> LineVersion | None:
        check()
        try:
            return version if _relocate(adapter, files, version) else None
        except FormatError as error:
            damaged.append(error)
            return None

    check_cancelled()
    with ThreadPoolExecutor(THREADS) as threads:
        done = tuple(each for each in threads.map(relocate, found) if each is not None)
    adapter.make_durable(adapter.key(f"{each.location}/{each.name}") for each in done)
    return Relocated(versions=done, damaged=tuple(damaged))


def _relocate(adapter: StorageAdapter, files: TableFiles, version: LineVersion) -> bool:
    place = place_of(adapter, version.location, None)
    key = adapter.key(f"{version.location}/{version.name}")
    data = adapter.read(key, max_bytes=_MAX_VERSION_BYTES)
    changed = rebased(data, version, place, keeps=lambda base: is_same_table(base, place))
    if changed == data:
        return False
    if len(changed) <= MAX_OBJECT_BYTES:
        adapter.write(key, changed)
        return True
    with own_disk("write", adapter.uri(key)), tempfile.TemporaryDirectory(prefix="omnigraph-") as folder:
        path = Path(folder) / "version"
        path.write_bytes(changed)
        files.send(path, version.location, version.name)
    return True


def rebased(data: bytes, version: LineVersion, place: Place, *, keeps: Callable[[str], bool] | None = None) -> bytes:
    """The file of a version with its bases at a place of its table; those that ``keeps`` says are right stay.

    Raises:
        FormatError: it is damaged, or names another table.
    """

    def here(base: str) -> str:
        if keeps is not None and keeps(base):
            return base
        table, line = split_line(base)
        if not table.endswith(f"/{version.location}"):
            raise ManifestFormError(f"it names files at {base}, which is another table")
        return f"{place.main_uri}{line}"

    try:
        changed = with_bases(data, here)
        _check_nothing_else_changed(data, changed)
    except ManifestFormError as error:
        uri = f"{place.root.rstrip(os.sep)}/{version.location}/{version.name}"
        raise FormatError(
            f"The version {uri} is damaged: {error}.",
            help="Restore the file from another copy, or delete the branch that it belongs to.",
            details={"uri": uri, "line": version.line},
        ) from error
    return changed


def _check_nothing_else_changed(data: bytes, changed: bytes) -> None:
    """Raise ``ManifestFormError`` unless the bases are all that is different: with the old ones it is as it was."""
    old = iter(bases_of(data))
    if with_bases(changed, lambda _: next(old)) != data:
        raise ManifestFormError("it is not spelled as Lance spells it")
