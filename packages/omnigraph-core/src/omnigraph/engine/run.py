"""A plan and a snapshot to rows: each operator to the function that runs it. Dispatch only.

Operators are run from the leaves up, each whole before the next; frames are numbers, so what is held meanwhile is small
beside the values. Between operators the budget is asked.
"""

from __future__ import annotations

from functools import partial
from typing import assert_never

import pyarrow as pa

from omnigraph.engine.aggregate import aggregate
from omnigraph.engine.edge_expand import expand_edges
from omnigraph.engine.execution import Execution, label
from omnigraph.engine.expand import expand
from omnigraph.engine.frame import Frame
from omnigraph.engine.fusion import fuse
from omnigraph.engine.joins import anti_join, cross_join, join
from omnigraph.engine.predicates import filter_rows
from omnigraph.engine.project import project
from omnigraph.engine.rank import rank, rank_join, score
from omnigraph.engine.scan import scan_nodes
from omnigraph.engine.sort import first_rows, sort
from omnigraph.errors import ResourceLimitError
from omnigraph.plan.ir import (
    Aggregate,
    AntiJoin,
    CrossJoin,
    EdgeExpand,
    Expand,
    Filter,
    Fuse,
    Join,
    Limit,
    NodeScan,
    OneRow,
    Operator,
    OuterRows,
    Project,
    Rank,
    RankJoin,
    ReadPlan,
    Score,
    Sort,
)


def run_plan(plan: ReadPlan, execution: Execution) -> pa.Table:
    """The rows of a read, with the columns of the plan in their order.

    Raises:
        ResourceLimitError: a bound of the budget was reached.
        DeadlineError: the time was over.
        InvalidInputError: a value that was given cannot be used, such as a text that no embedder takes.
        StorageError: the store failed.
    """
    try:
        return _run_root(plan, execution)
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        if "overflow" not in str(error) and not isinstance(error, pa.ArrowCapacityError):
            raise
        raise ResourceLimitError(
            "The texts that the query handles at once take more than 2 GiB, which is what Arrow can hold.",
            resource="array_bytes",
            limit=2**31 - 1,
            actual=2**31,
            help="Ask for fewer rows, or leave the long texts out.",
        ) from error


def _run_root(plan: ReadPlan, execution: Execution) -> pa.Table:
    trace = execution.trace
    if trace is None:
        return project(plan.root, run(plan.root.input, execution), execution)
    with trace.measuring(plan.root) as measures:
        rows = project(plan.root, run(plan.root.input, execution), execution)
        measures.rows, measures.nbytes = rows.num_rows, rows.nbytes
        return rows


def run(operator: Operator, execution: Execution, outer: Frame | None = None) -> Frame:
    """The rows of one operator. ``outer`` are the rows that a negation asks about, numbered by their ``origin``."""
    trace = execution.trace
    if trace is None:
        frame = _dispatch(operator, execution, outer)
    else:
        with trace.measuring(operator) as measures:
            frame = _dispatch(operator, execution, outer)
            measures.rows = frame.row_count + (measures.rows or 0)
            measures.nbytes = max(frame.nbytes, measures.nbytes)
    execution.spending.check_rows(type(operator).__name__, frame.row_count)
    return frame


def _dispatch(operator: Operator, execution: Execution, outer: Frame | None) -> Frame:
    below = partial(run, execution=execution, outer=outer)
    match operator:
        case NodeScan():
            return scan_nodes(operator, execution)
        case OneRow():
            return Frame(row_count=1)
        case OuterRows():
            assert outer is not None, label(operator)  # noqa: S101 - only an AntiJoin has such an input
            return outer
        case Expand():
            return expand(operator, below(operator.input), execution)
        case EdgeExpand():
            return expand_edges(operator, below(operator.input), execution)
        case Filter():
            return filter_rows(operator, below(operator.input), execution)
        case CrossJoin():
            return cross_join(operator, below(operator.left), below(operator.right), execution)
        case Join():
            return join(operator, below(operator.left), below(operator.right), execution)
        case AntiJoin():
            return anti_join(operator, below(operator.input), partial(run, operator.inner, execution), execution)
        case Rank():
            return rank(operator, below, execution)
        case RankJoin():
            return rank_join(operator, below(operator.input), below(operator.ranked), execution)
        case Score():
            return score(operator, below(operator.input), execution)
        case Fuse():
            return fuse(operator, below(operator.input), execution)
        case Aggregate():
            return aggregate(operator, below(operator.input), execution)
        case Sort():
            return sort(operator, below(operator.input), execution)
        case Limit():
            if isinstance(operator.input, Sort):
                return first_rows(operator, below(operator.input.input), execution)
            return below(operator.input).first(operator.count)
        case Project():
            raise AssertionError(label(operator))
        case _:
            assert_never(operator)
