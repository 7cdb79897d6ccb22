"""The sides of the benchmark of branches: one graph of people and whom they know, branched by six systems, durably.

    ours       ``Graph.branches``, ``Graph.diff``
    bare       what a verb cannot do without: a branch of our manifest; a commit of the rows, which nobody looks at
    lance      two tables, each with a branch; a merge by hand: what the branch's delta names goes into main
    icechunk   two arrays: it has neither keys nor rows. It merges by pointer alone, and syncs nothing to the disk
    duckdb     a copy of the whole file; a diff by EXCEPT, a merge by INSERT ... ON CONFLICT and DELETE
    sqlite     the same, with ``journal_mode=WAL, synchronous=FULL``

But for icechunk, each verb returns when what it did would survive a loss of power.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import icechunk
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zarr
from lance import LanceDataset
from ring import KEYS, Changes, Delta, Ring, people
from write_sides import SCHEMA, append, sync

import omnigraph as og

LANCE_FORMAT: dict[str, Any] = {"data_storage_version": "2.2", "enable_stable_row_ids": True}


class Side(ABC):
    """One system with the graph open. A verb that a side does not have gives None and is not timed."""

    name: ClassVar[str]
    has_rows: ClassVar[bool] = True
    """Whether rows can be told by key, inserted and deleted."""
    merges: ClassVar[bool] = True
    """Whether a branch can be merged into a main that has moved on."""

    @classmethod
    @abstractmethod
    def make(cls, place: Path, ring: Ring) -> None:
        """The graph in a directory of its own, closed; those before it in ``SIDES`` lie beside it."""

    @abstractmethod
    def create(self, branch: str, *, will_part: bool = False) -> None:
        """A branch that begins as main is; ``will_part`` says that main will move on before it is merged."""

    @abstractmethod
    def read(self, branch: str, key: str) -> int | None:
        """The age of a person."""

    @abstractmethod
    def update(self, branch: str, key: str, age: int) -> None: ...

    @abstractmethod
    def apply(self, branch: str, delta: Delta) -> None:
        """Not timed."""

    @abstractmethod
    def diff(self, branch: str) -> Changes | None:
        """Between main and a branch, with the rows as they were and as they are."""

    @abstractmethod
    def merge(self, branch: str) -> None:
        """Into main."""

    @abstractmethod
    def drop(self, branch: str) -> None:
        """Not timed."""

    @abstractmethod
    def counts(self) -> tuple[int, int, int] | None:
        """People, edges and the sum of ages in main; None where rows are only added."""

    @abstractmethod
    def close(self) -> None: ...


class Ours(Side):
    name = "ours"
    _READ = "query q($key: String) { match { $p: Person { key: $key } } return { $p.age as age } }"
    _UPDATE = "query q($key: String, $age: I32) { update Person set { age: $age } where key = $key }"
    _LEAVE = "query q($city: String) { delete Person where city = $city }"
    _PEOPLE = "query q() { match { $p: Person } return { count($p) as n, sum($p.age) as ages } }"
    _EDGES = "query q() { match { $p: Person  $p knows $q } return { count($q) as n } }"

    @classmethod
    def make(cls, place: Path, ring: Ring) -> None:
        with og.init(place, schema=SCHEMA) as graph:
            graph.load({"Person": ring.tables["person"], "Knows": ring.tables["knows"]}, "append")
            graph.maintain.ensure_indices()

    def __init__(self, place: Path) -> None:
        self.graph = og.open(place)

    def create(self, branch: str, *, will_part: bool = False) -> None:
        self.graph.branches.create(branch)

    def read(self, branch: str, key: str) -> int:
        return self._row(self._READ, branch, key=key)["age"]

    def update(self, branch: str, key: str, age: int) -> None:
        self.graph.mutate(self._UPDATE, params={"key": key, "age": age}, branch=branch)

    def apply(self, branch: str, delta: Delta) -> None:
        self.graph.load({"Person": delta.people}, "merge", branch=branch)
        self.graph.load({"Knows": delta.knows}, "append", branch=branch)
        self.graph.mutate(self._LEAVE, params={"city": delta.leaving}, branch=branch)

    def diff(self, branch: str) -> Changes:
        ops = self.graph.diff("main", branch).to_arrow()["op"].to_pylist()
        return Changes(*(ops.count(each) for each in ("insert", "update", "delete")))

    def merge(self, branch: str) -> None:
        self.graph.branches.merge(branch)

    def drop(self, branch: str) -> None:
        self.graph.branches.delete(branch)

    def counts(self) -> tuple[int, int, int]:
        found = self._row(self._PEOPLE, "main")
        return found["n"], self._row(self._EDGES, "main")["n"], found["ages"]

    def _row(self, text: str, branch: str, **values: Any) -> dict[str, Any]:
        return self.graph.query(text, params=values, branch=branch).to_arrow().to_pylist()[0]

    def close(self) -> None:
        self.graph.close()


class Bare(Side):
    """What a create, a write and a merge cannot do without, on a manifest like ours and on one table."""

    name = "bare"

    @classmethod
    def make(cls, place: Path, ring: Ring) -> None:
        [manifest] = (place.with_name(Ours.name) / "__manifest").iterdir()
        shutil.copytree(manifest, place / "manifest")
        lance.write_dataset(ring.tables["person"], str(place / "person"), **LANCE_FORMAT)

    def __init__(self, place: Path) -> None:
        self._manifest = lance.dataset(str(place / "manifest"))
        self._lines = {"main": lance.dataset(str(place / "person"))}
        self._rows: dict[str, pa.Table] = {}

    def create(self, branch: str, *, will_part: bool = False) -> None:
        fork(self._manifest, branch)

    def read(self, branch: str, key: str) -> None:
        return None

    def update(self, branch: str, key: str, age: int) -> None:
        if branch not in self._lines:
            self._lines[branch] = fork(self._lines["main"], branch)
        self._rows[branch] = people(np.array([key]), np.array([age]), np.array(["city-00"]))
        self._lines[branch] = append(self._lines[branch], self._rows[branch])

    def apply(self, branch: str, delta: Delta) -> None:
        numbers = np.arange(sum(delta.changes))
        self._rows[branch] = people(np.char.mod("b%08d", numbers), numbers, np.full(len(numbers), "city-00"))

    def diff(self, branch: str) -> None:
        return None

    def merge(self, branch: str) -> None:
        self._lines["main"] = append(self._lines["main"], self._rows[branch])

    def drop(self, branch: str) -> None:
        self._lines.pop(branch, None)

    def counts(self) -> None:
        return None

    def close(self) -> None:
        pass


class ByHand(Side):
    """Lance's branches, and its own list of what a branch changed since it was made; it names no deleted keys."""

    name = "lance"

    @classmethod
    def make(cls, place: Path, ring: Ring) -> None:
        for name, table in ring.tables.items():
            made = lance.write_dataset(table, str(place / name), **LANCE_FORMAT)
            for column in KEYS[name]:
                made.create_scalar_index(column, "BTREE")

    def __init__(self, place: Path) -> None:
        self._lines = {"main": {name: lance.dataset(str(place / name)) for name in KEYS}}
        self._bases: dict[str, dict[str, LanceDataset]] = {}

    def create(self, branch: str, *, will_part: bool = False) -> None:
        main = self._lines["main"]
        self._bases[branch] = {name: lance.dataset(each.uri, version=each.version) for name, each in main.items()}
        self._lines[branch] = {name: fork(each, branch) for name, each in main.items()}

    def read(self, branch: str, key: str) -> int:
        found = self._lines[branch]["person"].to_table(columns=["age"], filter=pc.field("key") == key)
        return found["age"][0].as_py()

    def update(self, branch: str, key: str, age: int) -> None:
        table = self._lines[branch]["person"]
        row = table.to_table(filter=pc.field("key") == key)
        upsert(table, "person", row.set_column(2, "age", pa.array([age], pa.int32())))

    def apply(self, branch: str, delta: Delta) -> None:
        tables = self._lines[branch]
        upsert(tables["person"], "person", delta.people)
        upsert(tables["knows"], "knows", delta.knows)
        leaving = tables["person"].to_table(columns=["key"], filter=pc.field("city") == delta.leaving)["key"]
        for name, columns in KEYS.items():
            for column in columns:
                tables[name].delete(pc.field(column).isin(leaving.combine_chunks()))

    def diff(self, branch: str) -> Changes:
        found = [self._differing(branch, name) for name in KEYS]
        return Changes(*(sum(len(each[place]) for each in found) for place in range(3)))

    def merge(self, branch: str) -> None:
        for name in KEYS:
            inserted, updated, gone = self._differing(branch, name)
            main = self._lines["main"][name]
            if len(inserted) or len(updated):
                upsert(main, name, pa.concat_tables([inserted, updated]))
            if len(gone):
                column = KEYS[name][0]
                before = files_of(main)
                main.delete(pc.field(column).isin(gone[column].combine_chunks()))
                sync_version(main, before)

    def _differing(self, branch: str, name: str) -> tuple[pa.Table, pa.Table, pa.Table]:
        base, table = self._bases[branch][name], self._lines[branch][name]
        nothing = base.schema.empty_table()
        if base.version == table.version:
            return nothing, nothing, nothing
        delta = table.delta(begin_version=base.version, end_version=table.version)
        inserted, updated = (
            each.read_all().select(base.schema.names) for each in (delta.get_inserted_rows(), delta.get_updated_rows())
        )
        if table.count_rows() == base.count_rows() + len(inserted):
            return inserted, updated, nothing
        # The keys of all rows, before and after.
        before, after = (each.to_table(columns=list(KEYS[name])) for each in (base, table))
        return inserted, updated, before.join(after, list(KEYS[name]), join_type="left anti")

    def drop(self, branch: str) -> None:
        del self._lines[branch]
        del self._bases[branch]

    def counts(self) -> tuple[int, int, int]:
        person, knows = self._lines["main"].values()
        ages = person.to_table(columns=["age"])["age"]
        return person.count_rows(), knows.count_rows(), pc.sum(ages).as_py()

    def close(self) -> None:
        pass


def fork(dataset: LanceDataset, branch: str) -> LanceDataset:
    """A branch of a table as it is, durably."""
    made = dataset.create_branch(branch, dataset.version)
    sync(manifest_of(made), Path(dataset.uri, "_refs", "branches", f"{branch}.json"))
    sync(Path(made.uri))
    return made


def upsert(dataset: LanceDataset, name: str, rows: pa.Table) -> None:
    """Rows into a table by their keys, durably."""
    before = files_of(dataset)
    merge = dataset.merge_insert(list(KEYS[name])).when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows)
    sync_version(dataset, before)


def files_of(dataset: LanceDataset) -> set[str]:
    """Files of a version: those of rows, and those that say which of them are deleted."""
    parts = [each.metadata for each in dataset.get_fragments()]
    rows = {f"data/{file.path}" for each in parts for file in each.files}
    return rows | {each.deletion_file.path(each.id) for each in parts if each.deletion_file is not None}


def sync_version(dataset: LanceDataset, before: set[str]) -> None:
    sync(*(Path(dataset.uri, each) for each in files_of(dataset) - before), manifest_of(dataset))


def manifest_of(dataset: LanceDataset) -> Path:
    return Path(dataset.uri, "_versions", f"{2**64 - 1 - dataset.version:020d}.manifest")


class Icechunk(Side):
    """The ages and the edges as arrays. It names the chunks that differ; which values do is for the caller to find."""

    name = "icechunk"
    has_rows = False
    merges = False
    _CHUNK = 16_384

    @classmethod
    def make(cls, place: Path, ring: Ring) -> None:
        session = icechunk.Repository.create(cls._storage(place)).writable_session("main")
        root = zarr.group(store=session.store)
        for name, values in (
            ("age", ring.tables["person"]["age"].to_numpy()),
            ("since", ring.tables["knows"]["since"].to_numpy()),
        ):
            array = root.create_array(name, shape=values.shape, chunks=(cls._CHUNK,), dtype=values.dtype)
            array[:] = values
        session.commit("load")

    def __init__(self, place: Path) -> None:
        self._repository = icechunk.Repository.open(self._storage(place))

    def create(self, branch: str, *, will_part: bool = False) -> None:
        self._repository.create_branch(branch, self._repository.lookup_branch("main"))

    def read(self, branch: str, key: str) -> int:
        return int(self._ages(self._repository.readonly_session(branch).store)[int(key[1:])])

    def update(self, branch: str, key: str, age: int) -> None:
        session = self._repository.writable_session(branch)
        self._ages(session.store)[int(key[1:])] = age
        session.commit("update")

    def apply(self, branch: str, delta: Delta) -> None:
        raise NotImplementedError

    def diff(self, branch: str) -> Changes:
        found = self._repository.diff(from_branch="main", to_branch=branch).updated_chunks
        updates = 0
        for (chunk,) in found.get("/age", []):
            place = slice(chunk * self._CHUNK, (chunk + 1) * self._CHUNK)
            old, new = (self._ages(self._repository.readonly_session(each).store)[place] for each in ("main", branch))
            updates += int(np.count_nonzero(old != new))
        return Changes(0, updates, 0)

    def merge(self, branch: str) -> None:
        self._repository.reset_branch("main", self._repository.lookup_branch(branch))

    def drop(self, branch: str) -> None:
        self._repository.delete_branch(branch)

    def counts(self) -> None:
        return None

    def close(self) -> None:
        pass

    @staticmethod
    def _storage(place: Path) -> Any:
        # It warns of several writers to one directory; here is one.
        icechunk.set_logs_filter("error")
        return icechunk.local_filesystem_storage(str(place))

    @staticmethod
    def _ages(store: Any) -> Any:
        return zarr.open_group(store, mode="r" if store.read_only else "r+")["age"]
