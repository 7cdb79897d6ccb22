"""``Rank`` of a node type that is not held in memory: storage finds what it can, and the engine scores the rest.

    nearest   Lance's search, exact without an index; under conditions that storage cannot judge, the rows that fulfil
              them are read and compared
    bm25      Lance's inverted index for a large type that has one; otherwise the rows are read, and scored by
              statistics of all texts (``text_scores``)

What comes back holds the columns that the scan promised and those that decide ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa

from omnigraph.engine.distances import Vector, distances_of, query_vector
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution, Measures, label
from omnigraph.engine.frame import Frame
from omnigraph.engine.pushdown import push_down
from omnigraph.engine.text_scores import is_by_index, query_words, rounded, spelled_for_index, text_scores
from omnigraph.plan.ir import Filter, NodeScan, Operator, Rank
from omnigraph.plan.tree import properties_of
from omnigraph.query.checked import Bm25, Nearest

Below = Callable[[Operator], Frame]


def scan_below(operator: Operator) -> NodeScan:
    """The input of a Rank as one scan with all conditions."""
    match operator:
        case NodeScan():
            return operator
        case Filter():
            scan = scan_below(operator.input)
            return replace(scan, predicates=(*scan.predicates, *operator.predicates))
        case _:
            raise AssertionError(f"a Rank is above a scan, not above {label(operator)}")


def rank_stored(op: Rank, ranking: Nearest | Bm25, scan: NodeScan, below: Below, execution: Execution) -> Frame:
    """The rows that are ranked, with their scores, in the order of ids; of distances at least as many as are wanted."""
    ties = (ref.property for each in op.ties for ref in properties_of(each.value))
    columns = list(dict.fromkeys(("id", *scan.columns, *ties)))
    if isinstance(ranking, Bm25):
        return _rank_texts(op, ranking, scan, columns, below, execution)
    query = query_vector(ranking, execution)
    if query is None or op.count == 0:
        return _nothing(scan, ranking, columns, execution)
    return _rank_vectors(op, ranking, scan, columns, below, execution, query=query)


def _rank_texts(
    op: Rank, ranking: Bm25, scan: NodeScan, columns: Sequence[str], below: Below, execution: Execution
) -> Frame:
    if not query_words(ranking, execution):
        return _nothing(scan, ranking, columns, execution)
    source, field = execution.source, ranking.field.property
    key = source.schema.node(scan.type_name).key
    pushed = push_down(scan.predicates, execution)
    if not pushed.residual and is_by_index(key, field, execution):
        execution.note(op, search=f"by the inverted index on {field}")
        query = spelled_for_index(str(execution.given(ranking.query)))
        found = source.tables.search_text(source.handle(key), field, query, columns=columns, predicate=pushed.sieve)
        return _found(op, ranking, scan, found.set_column(len(columns), "_score", rounded(found["_score"])), execution)
    execution.note(op, search=f"reads every {field}")
    frame = _read(op, scan, [*columns, field], below, execution)
    rows, scores = text_scores(ranking, frame.bound[scan.variable], execution)
    return _kept(frame, scan, columns).take(rows).scoring({ranking: pa.array(scores)})


def _rank_vectors(
    op: Rank,
    ranking: Nearest,
    scan: NodeScan,
    columns: Sequence[str],
    below: Below,
    execution: Execution,
    *,
    query: Vector,
) -> Frame:
    source, field = execution.source, ranking.field.property
    key = source.schema.node(scan.type_name).key
    pushed = push_down(scan.predicates, execution)
    if not pushed.residual and op.count is not None:
        # Of length 1: the squares of very small or large numbers are 0 or infinite in F32, by which Lance counts.
        length = float(np.linalg.norm(query.astype(np.float64)))
        unit = (query.astype(np.float64) / length).astype(np.float32)
        found = source.tables.nearest(
            source.handle(key), field, unit, op.count, columns=columns, predicate=pushed.sieve
        )
        distances = rounded(found["_distance"])
        # Lance passes over vectors of zeros, which stand at a distance of 1.
        if len(distances) >= op.count and np.sort(distances)[op.count - 1] < 1:
            execution.note(op, search="by storage")
            return _found(op, ranking, scan, found.set_column(len(columns), "_distance", distances), execution)
    execution.note(op, search=f"reads every {field}")
    frame = _read(op, scan, [*columns, field], below, execution)
    bound = frame.bound[scan.variable]
    rows, scores = distances_of(bound.entities, field, bound.positions, query=query)
    return _kept(frame, scan, columns).take(rows).scoring({ranking: pa.array(scores)})


def _read(op: Rank, scan: NodeScan, columns: Sequence[str], below: Below, execution: Execution) -> Frame:
    """The rows of the input with more columns than it promises."""
    wanted = replace(scan, columns=tuple(sorted({*columns} - {"id"})))
    frame = below(wanted)
    if execution.trace is not None:
        # The plan that is shown has the operator that this one stands for.
        measured, shown = execution.trace.of(wanted), execution.trace.of(op.input)
        for each in fields(Measures):
            setattr(shown, each.name, getattr(measured, each.name))
    return frame


def _found(op: Rank, ranking: Nearest | Bm25, scan: NodeScan, rows: pa.Table, execution: Execution) -> Frame:
    """Rows of which the last column is the score."""
    execution.spending.check_rows(label(op), rows.num_rows)
    execution.spending.check_bytes(label(op), rows.nbytes)
    entities = HeldRows(execution.source.schema.node(scan.type_name).key, rows)
    frame = Frame(row_count=len(entities)).binding(scan.variable, entities, np.arange(len(entities)))
    scores = entities.column(rows.column_names[-1])
    return _kept(frame, scan, rows.column_names[:-1]).scoring({ranking: scores})


def _kept(frame: Frame, scan: NodeScan, columns: Sequence[str]) -> Frame:
    """The same rows with only these columns, so that what two arms found can be put together."""
    bound = frame.bound[scan.variable]
    if not isinstance(bound.entities, HeldRows):
        return frame
    return frame.binding(
        scan.variable, HeldRows(bound.entities.key, bound.entities.rows.select(columns)), bound.positions
    )


def _nothing(scan: NodeScan, ranking: Nearest | Bm25, columns: Sequence[str], execution: Execution) -> Frame:
    target = execution.source.schema.node(scan.type_name)
    empty = pa.schema([target.schema.field(each) for each in columns]).empty_table()
    frame = Frame(row_count=0).binding(scan.variable, HeldRows(target.key, empty), np.zeros(0, dtype=np.int64))
    return frame.scoring({ranking: pa.array([], pa.float64())})
