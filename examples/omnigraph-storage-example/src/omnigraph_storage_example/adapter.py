"""``ExampleAdapter``: control objects as rows of one SQLite database, Lance tables as files beside it.

    example://NAME/path  →  DIRECTORY/NAME.sqlite          one row per control object
                            DIRECTORY/NAME.tables/path/…   Lance's files

Every change of a control object is one SQL statement, and SQLite makes that atomic between threads and processes.
Lance's files are objects too: they are listed, read, made durable and deleted through this adapter.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.storage import LanceLocation, ObjectKey, StorageAdapter, StorageUri, VersionedObject

_TABLE = "CREATE TABLE IF NOT EXISTS objects (name TEXT PRIMARY KEY, data BLOB NOT NULL, token TEXT NOT NULL)"
_PAGE = 500
_CONDITIONS = {
    sqlite3.SQLITE_BUSY: StorageCondition.TRANSIENT,
    sqlite3.SQLITE_CANTOPEN: StorageCondition.CONFIGURATION,
    sqlite3.SQLITE_FULL: StorageCondition.CONFIGURATION,
    sqlite3.SQLITE_PERM: StorageCondition.CONFIGURATION,
    sqlite3.SQLITE_READONLY: StorageCondition.CONFIGURATION,
    sqlite3.SQLITE_CORRUPT: StorageCondition.PERMANENT,
    sqlite3.SQLITE_NOTADB: StorageCondition.PERMANENT,
}


class ExampleAdapter(StorageAdapter):
    """Control objects below one root of one database."""

    def __init__(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
        if "directory" not in given:
            raise InvalidInputError(
                f'{root} needs the storage option "directory".', help="Pass it, or set EXAMPLE_STORAGE_DIRECTORY."
            )
        # Absolute, because the adapter may be sent to a process with another working directory.
        directory = Path(given["directory"]).absolute()
        super().__init__(root, given | {"directory": str(directory)})
        self._database = directory / f"{root.authority}.sqlite"
        self._tables = directory / f"{root.authority}.tables"

    @property
    def endpoint(self) -> str:
        return str(self._database)

    # ── the five required methods ────────────────────────────────────────────────────────────────────────────

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        return self._read_versioned(key, limit).data

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self._change("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", self._name(key), data, _new_token())

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        insert = "INSERT OR IGNORE INTO objects VALUES (?, ?, ?)"
        return self._change(insert, self._name(key), data, _new_token()) == 1

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        top = len(self._name(ObjectKey(""))) + 1
        # Page by page: an open cursor would keep every writer waiting, the caller's own loop included.
        after, end = self._below(prefix)
        page = "SELECT name FROM objects WHERE name > ? AND name < ? ORDER BY name LIMIT ?"
        while names := [name for (name,) in self._rows(page, after, end, _PAGE)]:
            yield from (ObjectKey(name[top:]) for name in names)
            after = names[-1]
        for directory, _, files in os.walk(self._path(prefix), onerror=_raise_unless_missing):
            for file in files:
                try:
                    key = prefix / os.path.relpath(os.path.join(directory, file), self._path(prefix))
                except StorageError:
                    continue  # a temporary file of Lance's, whose name no key may have
                yield key

    def _delete(self, key: ObjectKey) -> None:
        self._change("DELETE FROM objects WHERE name = ?", self._name(key))
        with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
            os.unlink(self._path(key))

    # ── what this store can do better than the defaults ──────────────────────────────────────────────────────

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        select = "SELECT substr(data, 1, ?), token FROM objects WHERE name = ?"
        for data, token in self._rows(select, limit, self._name(key)):
            # SQLite's substr of an empty blob is NULL.
            return VersionedObject(data or b"", token)
        try:
            with self._path(key).open("rb") as file:
                return VersionedObject(file.read(limit), "written once by Lance")
        except (IsADirectoryError, NotADirectoryError) as error:
            raise FileNotFoundError from error

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        update = "UPDATE objects SET data = ?, token = ? WHERE name = ? AND token = ?"
        new_token = _new_token()
        return new_token if self._change(update, data, new_token, self._name(key), token) == 1 else None

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        update = "UPDATE OR REPLACE objects SET name = ? WHERE name = ?"
        if self._change(update, self._name(target), self._name(source)) == 0:
            raise FileNotFoundError

    def _delete_prefix(self, prefix: ObjectKey) -> None:
        self._change("DELETE FROM objects WHERE name > ? AND name < ?", *self._below(prefix))
        with suppress(FileNotFoundError, NotADirectoryError):
            shutil.rmtree(self._path(prefix))
        if not prefix.is_root:
            self._delete(prefix)

    def _condition(self, error: BaseException) -> StorageCondition | None:
        code = getattr(error, "sqlite_errorcode", 0) if isinstance(error, sqlite3.Error) else 0
        return _CONDITIONS.get(code & 0xFF)

    # ── what Lance needs ─────────────────────────────────────────────────────────────────────────────────────

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        return LanceLocation(str(self._path(key)))

    def make_durable(self, files: Iterable[ObjectKey]) -> None:
        synced: set[Path] = set()
        for key in files:
            path = self._path(key)
            with self._edge("make durable", key):
                if any(self._rows("SELECT 1 FROM objects WHERE name = ?", self._name(key))):
                    continue
                for place in (path, *(above for above in path.parents if above.is_relative_to(self._tables.parent))):
                    if place not in synced:
                        _sync(place)
                        synced.add(place)

    # ── the database ─────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation: threads, forked processes and pickles then have nothing to share."""
        timeout = self.options.get("timeout", 30.0)
        with closing(sqlite3.connect(self._database, timeout=timeout, isolation_level=None)) as connection:
            # EXTRA syncs the directory after a commit; else a loss of power may bring the journal back and undo it.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute(_TABLE)
            yield connection

    def _rows(self, select: str, *values: object) -> list[Any]:
        with self._connected() as connection:
            return connection.execute(select, values).fetchall()

    def _change(self, statement: str, *values: object) -> int:
        """Run one statement, which SQLite makes atomic and durable; how many rows it changed."""
        with self._connected() as connection:
            return connection.execute(statement, values).rowcount

    def _name(self, key: ObjectKey) -> str:
        """The row of a key; it starts with a slash, so that "everything below" is one range at the top as well."""
        return "".join(f"/{part}" for part in (self.root.path, key.value) if part)

    def _below(self, prefix: ObjectKey) -> tuple[str, str]:
        """Everything below a prefix lies between these; "0" follows "/"."""
        return self._name(prefix) + "/", self._name(prefix) + "0"

    def _path(self, key: ObjectKey) -> Path:
        return self._tables / self.root.path / key.value


def _new_token() -> str:
    return secrets.token_hex(16)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
