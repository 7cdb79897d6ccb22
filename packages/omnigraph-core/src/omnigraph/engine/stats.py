"""``GraphStats``: what an open graph was asked for, what it keeps in memory, and how far its indexes reach.

Counters are of one handle since it was opened. Indexes are those of the newest state of a branch: each one that the
schema declares or that is there, with the rows that it covers and those that reads have to look through besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.engine.memory import FamilyStats
from omnigraph.engine.reader import ReadCounts, Reader
from omnigraph.history.declared_indexes import declared_indexes, unbuilt_indexes
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import TableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """One index of one node or edge type.

    Attributes:
        type_key: such as ``node:Film``.
        property: of an index on several properties all of them, with commas between.
        is_declared: whether the schema asks for it.
        pending: why it is never built, whatever the data; None for an index that can be built.
    """

    type_key: str
    property: str
    kind: str
    covered_rows: int
    uncovered_rows: int
    is_declared: bool
    pending: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceStats:
    """What tail maintenance did for one handle: small parts of a type folded into one after a commit.

    Attributes:
        is_on: whether it runs at all.
        runs: how often it set out.
        commits: how often it published; the other runs found nothing to do any more, were overtaken, or failed.
        folded_parts: that became one with others.
        failures: runs that ended with an error; commits are not affected.
        last_failure: what the last of them said.
        waiting: types that are due.
    """

    is_on: bool = True
    runs: int = 0
    commits: int = 0
    folded_parts: int = 0
    failures: int = 0
    last_failure: str | None = None
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """What there is to know of an open graph.

    Attributes:
        plans: remembered plans: ``hits``, ``misses``, ``entries``.
        memory: what is kept decoded, by family.
        memory_limit: bytes that all families together may take.
        open_versions: of types, that are kept open.
        session_bytes: that storage keeps of metadata and indexes.
        read_requests: that reads of tables took.
        read_bytes: that they brought.
        maintenance: what was done after commits.
    """

    reads: ReadCounts
    plans: Mapping[str, int]
    memory: Mapping[str, FamilyStats]
    memory_limit: int
    open_versions: int
    session_bytes: int
    read_requests: int
    read_bytes: int
    indexes: tuple[IndexState, ...]
    maintenance: MaintenanceStats

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def graph_stats(reader: Reader, tables: TableStorage, snapshot: Snapshot, maintenance: MaintenanceStats) -> GraphStats:
    """The counters of a handle, and the indexes of a snapshot; opens types that nobody opened yet."""
    indexes = tuple(_index_states(tables, snapshot))
    requests, size = tables.read_counts()
    open_versions, session_bytes = tables.kept_handles()
    return GraphStats(
        reads=reader.counts,
        plans=reader.plan_counts(),
        memory=reader.memory.stats(),
        memory_limit=reader.memory.max_bytes,
        open_versions=open_versions,
        session_bytes=session_bytes,
        read_requests=requests,
        read_bytes=size,
        indexes=indexes,
        maintenance=maintenance,
    )


def _index_states(tables: TableStorage, snapshot: Snapshot) -> Iterator[IndexState]:
    for key, target in sorted(snapshot.schema.tables.items()):
        entry = snapshot.entry(target)
        found = {each.spec.name: each for each in tables.coverage(tables.open_at(entry.pin))}
        declared = {each.name: each for each in declared_indexes(target)}
        for name in sorted({*found, *declared}):
            spec = declared[name] if name in declared else found[name].spec
            there = found.get(name)
            yield IndexState(
                type_key=key,
                property=spec.column,
                kind=spec.kind,
                covered_rows=0 if there is None else there.covered_rows,
                uncovered_rows=entry.row_count if there is None else there.uncovered_rows,
                is_declared=name in declared,
            )
        for each in unbuilt_indexes(target):
            yield IndexState(
                type_key=key,
                property=each.property,
                kind=each.kind,
                covered_rows=0,
                uncovered_rows=entry.row_count,
                is_declared=True,
                pending=each.reason,
            )
