"""Endpoints: every edge that is there after a write starts and ends at nodes that are there after it.

Two questions: whether the new edges find their nodes, and, where all nodes of a type are replaced, whether the edges
that stay still do. Nodes of this write count first; committed ones are looked up for few edges and streamed for many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.schema import EdgeType
from omnigraph.write.changeset import ChangeMode
from omnigraph.write.committed import CommittedRows
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.validation.change_rows import ChangedRows, committed_rows, records_at
from omnigraph.write.validation.questions import ROW, absent, members, taken
from omnigraph.write.validation.row_sets import Found
from omnigraph.write.validation.sets import Limits, Rows, gather
from omnigraph.write.validation.violations import quoted, report, report_endpoints

ENDS: Final = ("src", "dst")


def ends_of(schema: GraphSchema, edge: TypeTable) -> dict[str, TypeTable]:
    """The node type at each end of an edge type."""
    if not isinstance(edge.type, EdgeType):
        raise TypeError(f"{edge.key} is no edge type")
    return {"src": schema.node(edge.type.source), "dst": schema.node(edge.type.target)}


class NodesAfter:
    """Which nodes there are once a write is done. Not shared between threads."""

    def __init__(self, changes: dict[str, ChangedRows], committed: CommittedRows, limits: Limits) -> None:
        self._changes = changes
        self._committed = committed
        self._limits = limits
        self._expected: dict[str, list[pa.ChunkedArray]] = {}
        self._asked: dict[str, tuple[pa.Array, pa.Array]] = {}

    def expect(self, node: TypeTable, keys: pa.ChunkedArray) -> None:
        """Say that these few ids will be asked for, so that one look-up finds those of all edge types."""
        self._expected.setdefault(node.key, []).append(keys)

    def count(self, node: TypeTable) -> int:
        """How many there are at most, for who plans by it; what is planned does not depend on the nodes themselves."""
        new = self._changes.get(node.key)
        is_replaced = new is not None and new.mode is ChangeMode.REPLACE
        kept = 0 if is_replaced else self._committed.size_hint(node)
        return kept + (0 if new is None or new.mode is ChangeMode.REMOVE else new.row_count)

    def missing(self, node: TypeTable, probe: Rows, keep: int) -> Found:
        """The rows (row, key) whose key is the id of no node of a type."""
        new = self._changes.get(node.key)
        if new is not None and new.mode is ChangeMode.REMOVE:
            return self._missing_after_removal(node, probe, new.records({"key": "id"}), keep)
        ours = [] if new is None or not new.row_count else [new.records({"key": "id"})]
        is_replaced = new is not None and new.mode is ChangeMode.REPLACE
        if ours or is_replaced:
            # With room for all that can be looked up: a load that brings its nodes along reads no committed one.
            found = absent(probe, ours or [_no_keys()], max(keep, self._limits.lookup_keys), self._limits)
            if not found.count or is_replaced or not self._committed.row_count(node):
                return Found(count=found.count, first=found.first.slice(0, keep))
            if found.count <= self._limits.lookup_keys:
                return self._look_up(node, _with_keys(probe, found.first), keep)
        elif not self._committed.row_count(node):
            return gather((batch.select(["row"]) for batch in probe.open()), ROW, keep)
        elif probe.row_count <= self._limits.lookup_keys:
            return self._look_up(node, probe.read_all(), keep)
        theirs = committed_rows(self._committed, node, {"key": "id"})
        return absent(probe, [*ours, theirs], keep, self._limits)

    def _missing_after_removal(self, node: TypeTable, probe: Rows, removed: Rows, keep: int) -> Found:
        """Rows whose node goes, and rows whose node was never there."""
        is_gone = members(probe, [removed], self._limits)
        theirs = committed_rows(self._committed, node, {"key": "id"})
        if probe.row_count <= self._limits.lookup_keys:
            keys = probe.read_all()["key"].unique()
            theirs = Rows.of(self._committed.lookup(node, keys, columns=["id"]).rename_columns(["key"]))
        is_gone |= ~members(probe, [theirs], self._limits)
        lost = (batch.filter(pa.array(is_gone[batch["row"].to_numpy()])).select(["row"]) for batch in probe.open())
        return gather(lost, ROW, keep)

    def _look_up(self, node: TypeTable, wanted: pa.Table, keep: int) -> Found:
        keys = wanted["key"].unique()
        asked, found = self._asked.get(node.key, (None, None))
        if asked is None or not pc.all(pc.is_in(keys, value_set=asked)).as_py():
            expected = self._expected.get(node.key, [])
            asked = pa.chunked_array([keys, *(chunk for each in expected for chunk in each.chunks)]).unique()
            found = self._committed.lookup(node, asked, columns=["id"])["id"]
            self._asked[node.key] = (asked, found)
        lost = wanted.filter(pc.invert(pc.is_in(wanted["key"], value_set=found)))
        return gather(lost.select(["row"]).to_batches(), ROW, keep)


def _with_keys(probe: Rows, numbers: pa.Table) -> pa.Table:
    """Some rows of a set, by number."""
    batches = [batch.filter(pc.is_in(batch["row"], value_set=numbers["row"])) for batch in probe.open()]
    return pa.Table.from_batches(batches, schema=probe.schema)


def _no_keys() -> Rows:
    return Rows.of(pa.table({"key": pa.array([], pa.string())}))


# ── new edges ────────────────────────────────────────────────────────────────────────────────────────────────────


def expect_endpoints(rows: ChangedRows, schema: GraphSchema, nodes: NodesAfter) -> None:
    """Announce the ids that ``check_endpoints`` will ask for, where they are few."""
    if not rows.is_few or not rows.row_count:
        return
    for end, node in ends_of(schema, rows.target).items():
        nodes.expect(node, rows.final({"key": end}).read_all()["key"])


def check_endpoints(rows: ChangedRows, schema: GraphSchema, nodes: NodesAfter, problems: ProblemLog) -> None:
    """Judge both ends of all new edges of a type."""
    if not rows.row_count:
        return
    for end, node in ends_of(schema, rows.target).items():
        found = nodes.missing(node, rows.final({"key": end}), problems.limit)
        report_endpoints(problems, rows, end, node, found)


# ── edges that stay ──────────────────────────────────────────────────────────────────────────────────────────────


def check_orphans(
    edge: TypeTable,
    schema: GraphSchema,
    changes: dict[str, ChangedRows],
    committed: CommittedRows,
    problems: ProblemLog,
    limits: Limits,
) -> None:
    """Judge the committed edges of a type that stay, where all nodes of an end are replaced, or some go beside others.

    One problem per end.
    """
    for end, node in ends_of(schema, edge).items():
        change, edges = changes.get(node.key), changes.get(edge.key)
        if change is None or not committed.row_count(node):
            continue
        if change.mode is ChangeMode.REPLACE:
            kept = kept_edges(edge, edges, committed, {"id": "id", "key": end}, limits)
            known = change.records({"key": "id"}) if change.row_count else _no_keys()
            found = None if kept is None else absent(kept, [known], problems.limit, limits)
        else:
            kept = _edges_at(edge, end, change.removed_ids, edges, committed, limits)
            gone = Rows.of(pa.table({"key": change.removed_ids}))
            found = None if kept is None else taken(kept, [gone], problems.limit, limits)
        if kept is not None and found is not None:
            report(problems, "orphan_edge", found.count, _orphans(edge, node, end, kept, found))


def _edges_at(
    edge: TypeTable,
    end: str,
    nodes: pa.Array,
    change: ChangedRows | None,
    committed: CommittedRows,
    limits: Limits,
) -> Rows | None:
    """The committed edges that a write leaves as they are and that may have an end among nodes; None for none."""
    if not len(nodes) or not committed.row_count(edge):
        return None
    columns = {"id": "id", "key": end}
    if len(nodes) > limits.lookup_keys or (change is not None and not change.is_few):
        return kept_edges(edge, change, committed, columns, limits)
    found = committed.lookup(edge, nodes, key=end, columns=["id", end])
    if change is not None and change.can_replace and change.row_count:
        replaced = change.final({"key": "id"}).read_all()["key"]
        found = found.filter(pc.invert(pc.is_in(found["id"], value_set=replaced)))
    numbers = pa.array(range(found.num_rows), pa.int64())
    return Rows.of(pa.table({"row": numbers, "id": found["id"], "key": found[end]}))


def kept_edges(
    edge: TypeTable, change: ChangedRows | None, committed: CommittedRows, columns: dict[str, str], limits: Limits
) -> Rows | None:
    """The committed edges that a write leaves as they are, numbered; None when there are none."""
    if (change is not None and change.mode is ChangeMode.REPLACE) or not committed.row_count(edge):
        return None
    rows = committed_rows(committed, edge, columns, is_numbered=True)
    if change is None or not change.can_replace or not change.row_count:
        return rows
    return split_edges(edge, change, committed, columns, limits)[0]


def split_edges(
    edge: TypeTable, change: ChangedRows, committed: CommittedRows, columns: dict[str, str], limits: Limits
) -> tuple[Rows, Rows]:
    """The committed edges in two: those that stay, and those that get another row."""
    ids = committed_rows(committed, edge, {"key": "id"}, is_numbered=True)
    is_replaced = members(ids, [change.final({"key": "id"})], limits)
    rows = committed_rows(committed, edge, columns, is_numbered=True)

    def only(wanted: bool) -> Rows:
        def open_rows() -> Iterator[pa.RecordBatch]:
            for batch in rows.open():
                yield batch.filter(pa.array(is_replaced[batch["row"].to_numpy()] == wanted))

        return Rows(schema=rows.schema, row_count=rows.row_count, open=open_rows)

    return only(False), only(True)


def _orphans(edge: TypeTable, node: TypeTable, end: str, kept: Rows, found: Found) -> Iterator[Problem]:
    for record in records_at(kept.open(), found.first["row"].to_pylist()):
        message = (
            f"{end} {quoted(record['key'])} not found in {node.name}: the committed edge {edge.name} "
            f"{quoted(record['id'])} would point to a node that this write removes"
        )
        yield Problem(
            reason="orphan_edge",
            message=message,
            type_key=edge.key,
            property=end,
            id=str(record["id"]),
            constraint=f"endpoint {end}",
            holders=(str(record["key"]),),
        )
