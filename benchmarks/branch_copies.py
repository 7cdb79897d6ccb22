"""Branches as whole copies: a file of duckdb or of sqlite for each, beside the one of main.

A diff is EXCEPT in both directions, so it reads both files. Two copies cannot tell who changed what: where main moves
on before a merge, a third one is kept of what both began as.
"""

from __future__ import annotations

import shutil
import sqlite3
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
from branch_sides import Side
from ring import KEYS, Changes, Delta, Ring
from write_sides import sync

MAIN = "graph"
TABLES = (
    "CREATE TABLE {0}.person(key VARCHAR PRIMARY KEY, name VARCHAR, age INTEGER, city VARCHAR) {1}",
    "CREATE TABLE {0}.knows(src VARCHAR, dst VARCHAR, since INTEGER, PRIMARY KEY (src, dst)) {1}",
)
CHANGED = {"person": ("name", "age", "city"), "knows": ("since",)}


class Copies(Side):
    """What both have in common: one connection, to which main and every branch are attached."""

    without_rowid: ClassVar[str] = ""

    @classmethod
    def make(cls, place: Path, ring: Ring) -> None:
        place.mkdir()
        side = cls(place)
        for each in TABLES:
            side.run(each.format(MAIN, cls.without_rowid))
        side.run("BEGIN")
        for name, table in ring.tables.items():
            side.insert(f"INSERT INTO {MAIN}.{name}", table)
        side.run("COMMIT")
        side.settle()
        side.close()

    def __init__(self, place: Path) -> None:
        self.place = place
        self.connection = self.connect()
        self.attach(MAIN)

    @abstractmethod
    def connect(self) -> Any:
        """To a database in memory, which stays empty."""

    @abstractmethod
    def settle(self) -> None:
        """Bring everything of main into its one file."""

    @abstractmethod
    def insert(self, statement: str, rows: pa.Table, rest: str = "") -> None:
        """Run a statement that takes rows as its values."""

    def run(self, statement: str, *values: Any) -> Any:
        return self.connection.execute(statement, values)

    def attach(self, name: str) -> None:
        self.run(f"ATTACH '{self._file(name)}' AS {name}")

    def create(self, branch: str, *, will_part: bool = False) -> None:
        self.settle()
        for name in (branch, self._base(branch)) if will_part else (branch,):
            shutil.copyfile(self._file(MAIN), self._file(name))
            sync(self._file(name))
            self.attach(name)

    def read(self, branch: str, key: str) -> int:
        return self.run(f"SELECT age FROM {self._name(branch)}.person WHERE key = ?", key).fetchone()[0]

    def update(self, branch: str, key: str, age: int) -> None:
        self.run(f"UPDATE {self._name(branch)}.person SET age = ? WHERE key = ?", age, key)

    def apply(self, branch: str, delta: Delta) -> None:
        self.run("BEGIN")
        for name, rows in (("person", delta.people), ("knows", delta.knows)):
            self.insert(f"INSERT INTO {branch}.{name}", rows, on_conflict(name))
        leaving = f"SELECT key FROM {branch}.person WHERE city = ?"
        self.run(f"DELETE FROM {branch}.knows WHERE src IN ({leaving}) OR dst IN ({leaving})", *[delta.leaving] * 2)
        self.run(f"DELETE FROM {branch}.person WHERE city = ?", delta.leaving)
        self.run("COMMIT")

    def diff(self, branch: str) -> Changes:
        inserts = updates = deletes = 0
        for name, keys in KEYS.items():
            old, new = (
                {each[: len(keys)]: each for each in self.run(statement).fetchall()}
                for statement in (rows_but(MAIN, branch, name), rows_but(branch, MAIN, name))
            )
            inserts += len(new.keys() - old.keys())
            updates += len(new.keys() & old.keys())
            deletes += len(old.keys() - new.keys())
        return Changes(inserts, updates, deletes)

    def merge(self, branch: str) -> None:
        base = self._base(branch) if self._file(self._base(branch)).exists() else MAIN
        self.run("BEGIN")
        for name, keys in KEYS.items():
            gone = f"SELECT {', '.join(keys)} FROM ({rows_but(base, branch, name, *keys)})"
            self.run(f"DELETE FROM {MAIN}.{name} WHERE ({', '.join(keys)}) IN ({gone})")
            changed = f"SELECT * FROM ({rows_but(branch, base, name)}) WHERE true"
            self.run(f"INSERT INTO {MAIN}.{name} {changed} {on_conflict(name)}")
        self.run("COMMIT")

    def drop(self, branch: str) -> None:
        for each in (branch, self._base(branch)):
            if self._file(each).exists():
                self.run(f"DETACH {each}")
                for path in self.place.glob(f"{each}.*"):
                    path.unlink()

    def counts(self) -> tuple[int, int, int]:
        people, ages = self.run(f"SELECT count(*), sum(age) FROM {MAIN}.person").fetchone()
        return people, self.run(f"SELECT count(*) FROM {MAIN}.knows").fetchone()[0], int(ages)

    def close(self) -> None:
        self.connection.close()

    def _file(self, name: str) -> Path:
        return self.place / f"{name}.{self.name}"

    @staticmethod
    def _name(branch: str) -> str:
        return MAIN if branch == "main" else branch

    @staticmethod
    def _base(branch: str) -> str:
        return f"base_of_{branch}"


class Duckdb(Copies):
    """Its log is synced with every commit."""

    name = "duckdb"

    def connect(self) -> Any:
        return duckdb.connect()

    def settle(self) -> None:
        self.run(f"CHECKPOINT {MAIN}")

    def insert(self, statement: str, rows: pa.Table, rest: str = "") -> None:
        self.connection.register("given", rows)
        self.run(f"{statement} SELECT * FROM given {rest}")


class Sqlite(Copies):
    """Its log is synced with every commit."""

    name = "sqlite"
    without_rowid = "WITHOUT ROWID"

    def connect(self) -> Any:
        return sqlite3.connect(":memory:", isolation_level=None)

    def attach(self, name: str) -> None:
        super().attach(name)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self.run(f"PRAGMA {name}.{pragma}")

    def settle(self) -> None:
        self.run(f"PRAGMA {MAIN}.wal_checkpoint(TRUNCATE)")

    def insert(self, statement: str, rows: pa.Table, rest: str = "") -> None:
        marks = ", ".join("?" * rows.num_columns)
        values = zip(*(each.to_pylist() for each in rows.columns), strict=True)
        self.connection.executemany(f"{statement} VALUES ({marks}) {rest}", values)


def rows_but(one: str, other: str, table: str, *columns: str) -> str:
    """The rows of one database that another one has not."""
    names = ", ".join(columns) or "*"
    return f"SELECT {names} FROM {one}.{table} EXCEPT SELECT {names} FROM {other}.{table}"


def on_conflict(table: str) -> str:
    setting = ", ".join(f"{each} = excluded.{each}" for each in CHANGED[table])
    return f"ON CONFLICT ({', '.join(KEYS[table])}) DO UPDATE SET {setting}"
