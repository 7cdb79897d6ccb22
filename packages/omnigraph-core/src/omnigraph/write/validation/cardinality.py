"""Cardinality: how many edges of a type leave one node, after the write.

Only sources that the write touches are judged: those of new edges, and those that lose an edge because it is replaced
or gone. So a source that never had an edge is never judged, and neither is one that is not there after the write.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import GraphSchema
from omnigraph.schema import Cardinality, EdgeType
from omnigraph.write.changeset import ChangeMode
from omnigraph.write.committed import CommittedRows
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.validation.change_rows import ChangedRows, committed_rows
from omnigraph.write.validation.edges import NodesAfter, ends_of, split_edges
from omnigraph.write.validation.questions import described, frequent_hashes
from omnigraph.write.validation.sets import Limits, Rows, chain, part_of, run
from omnigraph.write.validation.violations import problem_at, quoted, report

SOURCES: Final = pa.schema({"src": pa.string()})
COUNTS: Final = pa.schema({"src": pa.string(), "edges": pa.int64(), "row": pa.int64()})
TOTALS: Final = COUNTS.append(pa.field("touched", pa.int64()))
UNPLACED: Final = -1
"""Number of the row of a source that no new edge has."""

_NO_SOURCES: Final = Rows.of(SOURCES.append(pa.field("row", pa.int64())).empty_table())


def check_cardinality(
    rows: ChangedRows,
    schema: GraphSchema,
    nodes: NodesAfter,
    committed: CommittedRows,
    problems: ProblemLog,
    limits: Limits,
) -> None:
    """Judge the sources that a change of an edge type touches."""
    bounds = rows.target.type.cardinality if isinstance(rows.target.type, EdgeType) else Cardinality()
    if bounds.minimum == 0 and bounds.maximum is None:
        return
    kept, gone = _committed_sources(rows, bounds, committed, limits)
    source = ends_of(schema, rows.target)["src"]
    new = _NO_SOURCES if rows.mode is ChangeMode.REMOVE else rows.final({"src": "src"})
    broken = count_edges(new, kept, gone, bounds=bounds, sources=nodes.count(source), limits=limits)
    if not broken.num_rows:
        return
    # Whoever is not there cannot have too few edges, and that an edge starts there is told already.
    numbers = pa.array(range(broken.num_rows), pa.int64())
    probe = Rows.of(pa.table({"row": numbers, "key": broken["src"]}))
    absent = nodes.missing(source, probe, broken.num_rows)
    broken = broken.filter(pc.invert(pc.is_in(numbers, value_set=absent.first["row"])))
    told = _problems(rows, bounds, broken, problems.limit)
    report(problems, "cardinality", broken.num_rows, told)


def _committed_sources(
    rows: ChangedRows, bounds: Cardinality, committed: CommittedRows, limits: Limits
) -> tuple[Rows, Rows]:
    """The sources of committed edges: of those that stay, and of those that do not. Once for each edge.

    Of few new edges, only sources that are touched; which edges go matters only to a minimum.
    """
    none = _NO_SOURCES
    target, names = rows.target, {"src": "src"}
    if not committed.row_count(target):
        return none, none
    if rows.mode is ChangeMode.REPLACE:
        return none, committed_rows(committed, target, names) if bounds.minimum else none
    if rows.mode is ChangeMode.REMOVE:
        return _sources_after_removal(rows, bounds, committed, limits)
    if not rows.is_few:
        if not rows.can_replace:
            return committed_rows(committed, target, names), none
        kept, gone = split_edges(target, rows, committed, names, limits)
        removed = Rows.of(pa.table({"src": rows.removed_sources}))
        return kept, chain([gone, removed], ["src"]) if bounds.minimum else none
    sources = rows.final(names).read_all()["src"]
    if not rows.can_replace:
        return Rows.of(committed.lookup(target, sources.unique(), key="src", columns=["src"])), none
    ids = rows.final({"key": "id"}).read_all()["key"].unique()
    lost = SOURCES.empty_table()
    if bounds.minimum:
        lost = committed.lookup(target, ids, columns=["src"])
        lost = pa.concat_tables([lost, pa.table({"src": rows.removed_sources}, schema=lost.schema)])
        sources = pa.chunked_array([*sources.chunks, *lost["src"].chunks], pa.string())
    around = committed.lookup(target, sources.unique(), key="src", columns=["id", "src"])
    stays = around.filter(pc.invert(pc.is_in(around["id"], value_set=ids))).select(["src"])
    return Rows.of(stays), Rows.of(lost)


def _sources_after_removal(
    rows: ChangedRows, bounds: Cardinality, committed: CommittedRows, limits: Limits
) -> tuple[Rows, Rows]:
    """As above, for edges that are removed; that can only break a minimum."""
    if not bounds.minimum or not rows.row_count:
        return _NO_SOURCES, _NO_SOURCES
    gone = rows.records({"src": "src"})
    if not rows.is_few:
        kept, _ = split_edges(rows.target, rows, committed, {"src": "src"}, limits)
        return kept, gone
    sources = gone.read_all()["src"].unique()
    around = committed.lookup(rows.target, sources, key="src", columns=["id", "src"])
    ids = rows.records({"key": "id"}).read_all()["key"]
    return Rows.of(around.filter(pc.invert(pc.is_in(around["id"], value_set=ids))).select(["src"])), gone


def count_edges(new: Rows, kept: Rows, gone: Rows, *, bounds: Cardinality, sources: int, limits: Limits) -> pa.Table:
    """The touched sources that have too few edges or too many: source, edges, number of its last new edge.

    ``sources`` says how many different ones there are, roughly.
    """
    if new.row_count + kept.row_count + gone.row_count <= limits.memory_rows:
        return _broken(_totals(new, kept, gone), bounds)
    if limits.judge is not None and (sets := described(new, kept, gone)):
        return limits.judge.outnumbered(sets[0], sets[1], sets[2], bounds.minimum, bounds.maximum).cast(COUNTS)
    if not gone.row_count and bounds.minimum <= 1:
        # Every source that is touched has an edge, so only a maximum can be broken; hashes tell cheaply that none is.
        every = chain([new, kept], ["src"])
        if bounds.maximum is None or not len(frequent_hashes(every, ["src"], bounds.maximum, limits)):
            return COUNTS.empty_table()
    parts = max(1, math.ceil(min(sources, new.row_count + kept.row_count + gone.row_count) / limits.build_rows))
    counted: list[pa.Table] = []
    for number in range(parts):
        ours, stay, go = (part_of(name, ["src"], number, parts) for name in ("n", "k", "g"))
        sql = (
            'SELECT src, sum(edges) AS edges, max("row") AS "row", max(touched) AS touched FROM ('  # noqa: S608 - ours
            f'SELECT src, 1 AS edges, "row", 1 AS touched FROM {ours} UNION ALL '
            f"SELECT src, 1, {UNPLACED}, 0 FROM {stay} UNION ALL SELECT src, 0, {UNPLACED}, 1 FROM {go}"
            ") GROUP BY src"
        )
        # One row for each source passes by; the condition stands here because DataFusion cannot plan it as HAVING.
        batches = run(sql, {"n": new, "k": kept, "g": gone}, limits, has_hashes=parts > 1)
        counted += [_broken(pa.Table.from_batches([batch.cast(TOTALS)]), bounds) for batch in batches]
    return pa.concat_tables(counted) if counted else COUNTS.empty_table()


def _totals(new: Rows, kept: Rows, gone: Rows) -> pa.Table:
    """What the question to DataFusion is about, in memory."""
    parts = []
    for rows, edges, touched in ((new, 1, 1), (kept, 1, 0), (gone, 0, 1)):
        table = rows.read_all()
        numbers = table["row"] if rows is new else pa.repeat(UNPLACED, table.num_rows)
        marks = {"edges": pa.repeat(edges, table.num_rows), "touched": pa.repeat(touched, table.num_rows)}
        parts.append(pa.table({"src": table["src"], "row": numbers, **marks}))
    grouped = pa.concat_tables(parts).group_by("src", use_threads=False)
    counted = grouped.aggregate([("edges", "sum"), ("row", "max"), ("touched", "max")])
    return counted.rename_columns({"edges_sum": "edges", "row_max": "row", "touched_max": "touched"})


def _broken(totals: pa.Table, bounds: Cardinality) -> pa.Table:
    is_broken = pc.less(totals["edges"], bounds.minimum)
    if bounds.maximum is not None:
        is_broken = pc.or_(is_broken, pc.greater(totals["edges"], bounds.maximum))
    return totals.filter(pc.and_(is_broken, pc.equal(totals["touched"], 1))).select(COUNTS.names)


def _problems(rows: ChangedRows, bounds: Cardinality, broken: pa.Table, keep: int) -> Iterator[Problem]:
    """In the order of the input; sources that no new edge has come last, by id."""
    marked = broken.append_column("is_unplaced", pc.equal(broken["row"], UNPLACED))
    order = [("is_unplaced", "ascending"), ("row", "ascending"), ("src", "ascending")]
    first = marked.sort_by(order).slice(0, keep).to_pylist()
    placed = [each["row"] for each in first if not each["is_unplaced"]]
    ids = {row: record["id"] for row, record in zip(placed, rows.at(placed, ["id"]), strict=True)}
    constraint = f"@card({bounds.minimum}..{'' if bounds.maximum is None else bounds.maximum})"
    for each in first:
        is_few = each["edges"] < bounds.minimum
        bound = f"min {bounds.minimum}" if is_few else f"max {bounds.maximum}"
        message = (
            f"@card violation on edge {rows.target.name}: "
            f"source {quoted(each['src'])} has {each['edges']} edges ({bound})"
        )
        number = each["row"]
        yield problem_at(rows, number, "cardinality", message, ids.get(number), "src", constraint, (each["src"],))
