"""The sides of the benchmark of writes: one graph of people and whom they know, kept by four systems, durably.

    ours       ``Graph.mutate``
    lance      a bare commit of the same rows, and a sync of its files: no key is looked for, nothing is judged
    ladybug    an embedded graph database; it syncs its log with every commit by itself
    sqlite     ``journal_mode=WAL, synchronous=FULL``: the log is synced with every commit; deletes cascade

Each verb returns when what it did would survive a loss of power.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections import defaultdict
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import ladybug
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
from social import Social

import omnigraph as og

SCHEMA = """
node Person { key: String @key  name: String  age: I32  city: String }
edge Knows: Person -> Person { since: I32 }
"""
COLUMNS = ("key", "name", "age", "city")
CITY = "city-07"

MAX_RETRIES = 10_000
COMMIT_TIMEOUT = timedelta(minutes=5)
"""Several writers to one table keep each other from it for longer than Lance waits by itself."""

Counts = tuple[int, int, int]
"""People, edges, and the sum of the ages."""


class Side(ABC):
    """One system with the graph open. ``name`` of a person is made of the key."""

    name: ClassVar[str]
    can_share: ClassVar[bool] = True
    """Whether several processes may write to one graph."""

    @classmethod
    @abstractmethod
    def make(cls, place: Path, social: Social) -> None:
        """The graph in an empty directory, closed."""

    @abstractmethod
    def insert(self, key: str, age: int) -> None:
        """A person of a new key; one that exists would be replaced."""

    @abstractmethod
    def update(self, key: str, age: int) -> None: ...

    @abstractmethod
    def connect(self, source: str, target: str, since: int) -> None: ...

    @abstractmethod
    def remove(self, key: str) -> None:
        """A person, and the edges at both ends of whom they know."""

    @abstractmethod
    def counts(self) -> Counts | None:
        """What is there now; None where updates only add rows."""

    @abstractmethod
    def close(self) -> None: ...


class Ours(Side):
    name = "ours"
    _INSERT = """query q($key: String, $name: String, $age: I32, $city: String) {
        insert Person { key: $key, name: $name, age: $age, city: $city }
    }"""
    _UPDATE = "query q($key: String, $age: I32) { update Person set { age: $age } where key = $key }"
    _CONNECT = """query q($source: String, $target: String, $since: I32) {
        insert Knows { from: $source, to: $target, since: $since }
    }"""
    _REMOVE = "query q($key: String) { delete Person where key = $key }"

    @classmethod
    def make(cls, place: Path, social: Social) -> None:
        with og.init(place, schema=SCHEMA) as graph:
            graph.load({"Person": social.people.select(COLUMNS), "Knows": social.knows}, "append")
            graph.maintain.ensure_indices()

    def __init__(self, place: Path) -> None:
        self.graph = og.open(place)

    def insert(self, key: str, age: int) -> None:
        self.graph.mutate(self._INSERT, params={"key": key, "name": f"name {key}", "age": age, "city": CITY})

    def update(self, key: str, age: int) -> None:
        self.graph.mutate(self._UPDATE, params={"key": key, "age": age})

    def connect(self, source: str, target: str, since: int) -> None:
        self.graph.mutate(self._CONNECT, params={"source": source, "target": target, "since": since})

    def remove(self, key: str) -> None:
        self.graph.mutate(self._REMOVE, params={"key": key})

    def counts(self) -> Counts:
        people = self._row("match { $p: Person } return { count($p) as n, sum($p.age) as ages }")
        edges = self._row("match { $p: Person  $p knows $q } return { count($q) as n }")
        return people["n"], edges["n"], people["ages"]

    def _row(self, text: str) -> dict[str, Any]:
        return self.graph.query(f"query q() {{ {text} }}").to_arrow().to_pylist()[0]

    def close(self) -> None:
        self.graph.close()


class BareLance(Side):
    """Two tables. An update is a commit of the row that an update writes; a delete marks rows whose place is known."""

    name = "lance"
    _FORMAT: ClassVar[dict[str, Any]] = {"data_storage_version": "2.2", "enable_stable_row_ids": True}

    @classmethod
    def make(cls, place: Path, social: Social) -> None:
        lance.write_dataset(social.people.select(COLUMNS), str(place / "people"), **cls._FORMAT)
        lance.write_dataset(social.knows, str(place / "knows"), **cls._FORMAT)

    def __init__(self, place: Path) -> None:
        self.people = lance.dataset(str(place / "people"))
        self.knows = lance.dataset(str(place / "knows"))

    def insert(self, key: str, age: int) -> None:
        row = [[key], [f"name {key}"], pa.array([age], pa.int32()), [CITY]]
        self.people = append(self.people, pa.table(row, names=COLUMNS))

    def update(self, key: str, age: int) -> None:
        self.insert(key, age)

    def connect(self, source: str, target: str, since: int) -> None:
        row = {"src": [source], "dst": [target], "since": pa.array([since], pa.int32())}
        self.knows = append(self.knows, pa.table(row))

    def remove(self, key: str) -> None:
        person, edges = self._places[key]
        self.people = mark_deleted(self.people, [person])
        if edges:
            self.knows = mark_deleted(self.knows, edges)

    @cached_property
    def _places(self) -> dict[str, tuple[int, list[int]]]:
        """Of each person that was loaded its offset, and those of the edges at it."""
        edges: dict[str, set[int]] = defaultdict(set)
        loaded = self.knows.get_fragment(0).to_table(columns=["src", "dst"])
        for column in loaded.columns:
            for offset, key in enumerate(column.to_pylist()):
                edges[key].add(offset)
        keys = self.people.get_fragment(0).to_table(columns=["key"])["key"].to_pylist()
        return {key: (offset, sorted(edges[key])) for offset, key in enumerate(keys)}

    def counts(self) -> None:
        return None

    def close(self) -> None:
        pass


def append(dataset: LanceDataset, rows: pa.Table) -> LanceDataset:
    """A durable commit, by several writers at once if need be."""
    fragments = write_fragments(rows, dataset)
    sync(*(Path(dataset.uri, "data", file.path) for each in fragments for file in each.files))
    return committed(dataset, LanceOperation.Append(fragments))


def mark_deleted(dataset: LanceDataset, offsets: list[int]) -> LanceDataset:
    left = dataset.get_fragment(0).delete_rows(offsets)
    sync(Path(dataset.uri, left.deletion_file.path(0)))
    return committed(dataset, LanceOperation.Delete([left], [], "by offset"))


def committed(dataset: LanceDataset, operation: LanceOperation.BaseOperation) -> LanceDataset:
    made = LanceDataset.commit(
        dataset, operation, read_version=dataset.version, max_retries=MAX_RETRIES, commit_timeout=COMMIT_TIMEOUT
    )
    sync(Path(dataset.uri, "_versions", f"{2**64 - 1 - made.version:020d}.manifest"))
    return made


def sync(*files: Path) -> None:
    """Files and the directories that hold their names; those above are old."""
    for path in (*files, *{each.parent for each in files}):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Ladybug(Side):
    name = "ladybug"
    can_share = False

    @classmethod
    def make(cls, place: Path, social: Social) -> None:
        place.mkdir()
        files = {"people": social.people.select(COLUMNS), "knows": social.knows}
        for name, table in files.items():
            pq.write_table(table, place / f"{name}.parquet")
        side = cls(place)
        run = side.connection.execute
        run("CREATE NODE TABLE Person(key STRING PRIMARY KEY, name STRING, age INT32, city STRING)")
        run("CREATE REL TABLE Knows(FROM Person TO Person, since INT32)")
        run(f"COPY Person FROM '{place / 'people.parquet'}'")
        run(f"COPY Knows FROM '{place / 'knows.parquet'}'")
        side.close()

    def __init__(self, place: Path) -> None:
        self.database = ladybug.Database(str(place / "graph.lbug"), buffer_pool_size=256 * 1024 * 1024)
        self.connection = ladybug.Connection(self.database)
        self._prepared: dict[str, Any] = {}

    def insert(self, key: str, age: int) -> None:
        self._run(
            "MERGE (p:Person {key: $key}) SET p.name = $name, p.age = $age, p.city = $city",
            key=key, name=f"name {key}", age=age, city=CITY,
        )  # fmt: skip

    def update(self, key: str, age: int) -> None:
        self._run("MATCH (p:Person {key: $key}) SET p.age = $age", key=key, age=age)

    def connect(self, source: str, target: str, since: int) -> None:
        self._run(
            "MATCH (a:Person {key: $source}), (b:Person {key: $target}) CREATE (a)-[:Knows {since: $since}]->(b)",
            source=source, target=target, since=since,
        )  # fmt: skip

    def remove(self, key: str) -> None:
        self._run("MATCH (p:Person {key: $key}) DETACH DELETE p", key=key)

    def counts(self) -> Counts:
        (people,) = self._run("MATCH (p:Person) RETURN count(p), sum(p.age)").get_all()
        (edges,) = self._run("MATCH (:Person)-[k:Knows]->(:Person) RETURN count(k)").get_all()
        return people[0], edges[0], int(people[1])

    def _run(self, text: str, **values: Any) -> Any:
        if text not in self._prepared:
            self._prepared[text] = self.connection.prepare(text)
        return self.connection.execute(self._prepared[text], values)

    def close(self) -> None:
        self.connection.close()
        self.database.close()


class Sqlite(Side):
    name = "sqlite"

    @classmethod
    def make(cls, place: Path, social: Social) -> None:
        place.mkdir()
        side = cls(place)
        side.connection.executescript(
            """CREATE TABLE person(key TEXT PRIMARY KEY, name TEXT, age INTEGER, city TEXT) WITHOUT ROWID;
            CREATE TABLE knows(
                src TEXT NOT NULL REFERENCES person ON DELETE CASCADE,
                dst TEXT NOT NULL REFERENCES person ON DELETE CASCADE,
                since INTEGER
            );
            CREATE INDEX knows_src ON knows(src);
            CREATE INDEX knows_dst ON knows(dst);"""
        )
        side.connection.execute("BEGIN")
        for statement, table in (
            ("INSERT INTO person VALUES (?, ?, ?, ?)", social.people.select(COLUMNS)),
            ("INSERT INTO knows VALUES (?, ?, ?)", social.knows),
        ):
            side.connection.executemany(statement, zip(*(each.to_pylist() for each in table.columns), strict=True))
        side.connection.execute("COMMIT")
        side.close()

    def __init__(self, place: Path) -> None:
        # Each statement is a transaction of its own, and waits for those of others.
        self.connection = sqlite3.connect(place / "graph.sqlite", isolation_level=None, timeout=60)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self.connection.execute(f"PRAGMA {pragma}")

    def insert(self, key: str, age: int) -> None:
        self.connection.execute(
            "INSERT INTO person VALUES (?, ?, ?, ?) "
            "ON CONFLICT(key) DO UPDATE SET name = excluded.name, age = excluded.age, city = excluded.city",
            (key, f"name {key}", age, CITY),
        )

    def update(self, key: str, age: int) -> None:
        self.connection.execute("UPDATE person SET age = ? WHERE key = ?", (age, key))

    def connect(self, source: str, target: str, since: int) -> None:
        self.connection.execute("INSERT INTO knows VALUES (?, ?, ?)", (source, target, since))

    def remove(self, key: str) -> None:
        self.connection.execute("DELETE FROM person WHERE key = ?", (key,))

    def counts(self) -> Counts:
        people, ages = self.connection.execute("SELECT count(*), sum(age) FROM person").fetchone()
        return people, self.connection.execute("SELECT count(*) FROM knows").fetchone()[0], ages

    def close(self) -> None:
        self.connection.close()


SIDES: dict[str, type[Side]] = {each.name: each for each in (Ours, BareLance, Ladybug, Sqlite)}


def keys_by_degree(social: Social) -> list[str]:
    """Everybody, those with as many edges as most have first."""
    ends = pa.chunked_array([*social.knows["src"].chunks, *social.knows["dst"].chunks])
    counted = {each["values"]: each["counts"] for each in pc.value_counts(ends.combine_chunks()).to_pylist()}
    degrees = np.array([counted.get(each, 0) for each in social.keys])
    order = np.argsort(np.abs(degrees - np.median(degrees)), kind="stable")
    return [social.keys[each] for each in order]
