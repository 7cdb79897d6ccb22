"""Conditions to the rows for which they hold.

Predicates and a frame come in, one truth per row comes out; null is not true. What is cheap is asked first, and what
follows is asked only about the rows that are left. Where rows repeat entities, a condition on one variable is judged
once per entity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.comparing import Operand, compare, compare_values
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Frame, Indices, Mask
from omnigraph.engine.images import Image
from omnigraph.engine.text_match import text_mask
from omnigraph.lang.types import ValueType
from omnigraph.plan.ir import Filter, Predicate
from omnigraph.plan.tree import properties_of, variables_of
from omnigraph.query.ast import Operator, TextFunction
from omnigraph.query.checked import Comparison, ConstantValue, Given, PropertyMatch, PropertyRef, TextMatch
from omnigraph.tables.arrow_schema import arrow_type

PART_ROWS: Final = 262_144
"""So many rows are judged between two looks at the clock."""

_FEW_ROWS: Final = 1024
"""So many rows are judged faster than repeats among them are found."""


def filter_rows(op: Filter, frame: Frame, execution: Execution) -> Frame:
    """The rows for which all predicates hold, in their order."""
    # Conditions on one variable are judged per entity; those on several fetch the values of each row.
    refs = {ref for each in op.predicates if len(variables_of(each)) > 1 for ref in properties_of(each)}
    size = sum(_value_bytes(frame, ref) for ref in refs) * min(frame.row_count, PART_ROWS)
    execution.spending.check_bytes("Filter", int(size))
    if frame.row_count <= PART_ROWS:
        return frame.filter(holds(op.predicates, frame, execution))
    # In parts, so that a deadline is seen in time; each asks for it.
    everything = np.arange(frame.row_count)
    parts = [everything[first : first + PART_ROWS] for first in range(0, frame.row_count, PART_ROWS)]
    return frame.filter(np.concatenate([holds(op.predicates, frame.take(part), execution) for part in parts]))


def holds(predicates: Sequence[Predicate], frame: Frame, execution: Execution) -> Mask:
    """For each row, whether all predicates are true; none at all are."""
    mask: Mask | None = None
    for predicate in sorted(predicates, key=_cost):
        execution.spending.check_time("Filter")
        if mask is None:
            mask = _judge(predicate, frame, None, execution)
            continue
        left = np.flatnonzero(mask)
        if not len(left):
            break
        mask = np.zeros(frame.row_count, dtype=np.bool_)
        mask[left] = _judge(predicate, frame, left, execution)
    return np.ones(frame.row_count, dtype=np.bool_) if mask is None else mask


def _value_bytes(frame: Frame, ref: PropertyRef) -> float:
    """What a value of a property takes on average, where that is known without reading it."""
    entities = frame.bound[ref.variable].entities
    if len(entities) == 0 or (isinstance(entities, Image) and not entities.is_loaded(ref.property)):
        return 0.0
    return float(entities.column(ref.property).nbytes) / len(entities)


def arrow_value(value: ConstantValue, type: ValueType) -> pa.Scalar:  # noqa: A002 - what callers call it
    """A constant as Arrow has it; a null has its type too. Dates and points in time come as integers."""
    return pa.scalar(list(value) if isinstance(value, tuple) else value, arrow_type(type))


def _cost(predicate: Predicate) -> int:
    if isinstance(predicate, TextMatch):
        return 6 if predicate.function is TextFunction.FUZZY else 5
    left, operator, right = _parts(predicate)
    if not isinstance(left, PropertyRef) and not isinstance(right, PropertyRef):
        return 0
    if left.type.is_list:
        return 4
    if not left.type.is_plain_string:
        return 1
    return 3 if operator in (Operator.CONTAINS, Operator.STARTS_WITH) else 2


def _parts(predicate: Comparison | PropertyMatch) -> tuple[Given | PropertyRef, Operator, Given | PropertyRef]:
    if isinstance(predicate, Comparison):
        return predicate.left, predicate.operator, predicate.right
    return predicate.field, Operator.CONTAINS if predicate.is_membership else Operator.EQ, predicate.value


def _judge(predicate: Predicate, frame: Frame, rows: Indices | None, execution: Execution) -> Mask:
    """One predicate on some rows; on all when ``rows`` is None."""
    names = variables_of(predicate)
    bound = {name: frame.bound[name] if rows is None else frame.bound[name].take(rows) for name in names}
    if len(names) == 1:
        (name,) = names
        positions = bound[name].positions
        distinct = _distinct(bound[name], is_cheap=_cost(predicate) <= 1)
        if distinct is not None:
            table = np.zeros(len(distinct.entities), dtype=np.bool_)
            table[distinct.positions] = _judge_bound(predicate, {name: distinct}, len(distinct.positions), execution)
            return np.asarray(table[positions], dtype=np.bool_)
    return _judge_bound(predicate, bound, frame.row_count if rows is None else len(rows), execution)


def _distinct(bound: Bound, *, is_cheap: bool) -> Bound | None:
    """The entities of a variable, each once; None when judging every row costs less."""
    row_count, entity_count = len(bound.positions), len(bound.entities)
    if is_cheap and row_count >= max(2 * entity_count, _FEW_ROWS):
        return Bound(bound.entities, np.arange(entity_count))
    if is_cheap or row_count < max(entity_count // 8, _FEW_ROWS):
        return None
    occurs = np.zeros(entity_count, dtype=np.bool_)
    occurs[bound.positions] = True
    positions = np.flatnonzero(occurs)
    return Bound(bound.entities, positions) if len(positions) * 2 <= row_count else None


def _judge_bound(predicate: Predicate, bound: Mapping[str, Bound], count: int, execution: Execution) -> Mask:
    if isinstance(predicate, TextMatch):
        return text_mask(predicate, bound[predicate.field.variable], execution)
    left, operator, right = _parts(predicate)
    if not bound:
        return np.full(count, _is_true(left, operator, right, execution))
    return compare(_operand(left, bound, execution), operator, _operand(right, bound, execution))


def _is_true(left: Given | PropertyRef, operator: Operator, right: Given | PropertyRef, execution: Execution) -> bool:
    assert not isinstance(left, PropertyRef) and not isinstance(right, PropertyRef)  # noqa: S101, PT018 - no variable
    return compare_values(execution.given(left), operator, execution.given(right))


def _operand(value: Given | PropertyRef, bound: Mapping[str, Bound], execution: Execution) -> Operand:
    if isinstance(value, PropertyRef):
        found = bound[value.variable]
        return found.entities.values(value.property, found.positions)
    return execution.given(value)
