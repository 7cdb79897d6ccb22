"""Rows to groups: a result column per key and per measure.

A frame of bound variables comes in, a frame of columns goes out, one row per group in the order of the groups' first
rows. Keys become codes (``grouping``), so measures are counts, sums and extremes by code; sums are exact before they
are rounded (``sums``), so the answer does not depend on the order of rows nor on who added them up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import contiguous
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame, Indices
from omnigraph.engine.grouping import Codes, Grouping, entity_codes, group_rows, property_codes
from omnigraph.engine.lanes import Lane, column_of, is_lane, lane, validity
from omnigraph.engine.ordering import ascending, descended
from omnigraph.engine.project import value_column
from omnigraph.engine.sums import group_sums
from omnigraph.errors import InvalidInputError
from omnigraph.plan.ir import Aggregate, Measure
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import EntityRef, Expression, Given, PropertyRef
from omnigraph.tables.arrow_schema import arrow_type

_ADDING = (AggregateFunction.SUM, AggregateFunction.AVG)


def aggregate(op: Aggregate, frame: Frame, execution: Execution) -> Frame:
    """One row per group, with the key columns and the measures.

    Raises:
        InvalidInputError: ``sum`` or ``avg`` of a node.
    """
    for each in op.measures:
        _refuse_entity_sum(each)
    keys = [_key_codes(each.expression, frame, execution) for each in op.groups]
    grouping = group_rows([each for each in keys if each is not None], frame.row_count)
    if op.groups and not frame.row_count:
        nothing: Indices = np.zeros(0, dtype=np.int64)
        grouping = Grouping(grouping.codes, nothing, nothing, nothing)
    execution.spending.check_time("Aggregate")
    firsts = frame.take(grouping.first_rows) if op.groups else frame
    columns = {each.name: value_column(each.expression, firsts, execution) for each in op.groups}
    for measure in op.measures:
        columns[measure.name] = _measure(measure, frame, grouping, execution)
        execution.spending.check_time("Aggregate")
    return Frame(row_count=len(grouping.present), columns=columns)


def _refuse_entity_sum(measure: Measure) -> None:
    argument = measure.argument
    if measure.function in _ADDING and isinstance(argument, EntityRef):
        call, name = measure.function, argument.variable
        raise InvalidInputError(
            f"{call}(${name}) adds up numbers, and ${name} is a node of type {argument.type_name}.",
            help=f"Name a number of it, as in {call}(${name}.amount); count(${name}) counts rows.",
            details={"function": str(call), "variable": name, "type": argument.type_name},
        )


def _key_codes(key: Expression, frame: Frame, execution: Execution) -> Codes | None:
    """Codes of a key; None for what is the same in every row."""
    if isinstance(key, PropertyRef):
        return property_codes(frame.bound[key.variable], key.property, execution)
    return entity_codes(frame.bound[key.variable]) if isinstance(key, EntityRef) else None


# ── measures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _measure(measure: Measure, frame: Frame, grouping: Grouping, execution: Execution) -> pa.Array:
    codes, span, present = grouping.codes.values, grouping.codes.span, grouping.present
    argument = measure.argument
    if isinstance(argument, EntityRef):
        if measure.function is AggregateFunction.COUNT:
            return pa.array(grouping.counts)
        return _extreme_ids(measure, frame, grouping)
    values = _argument(argument, frame, execution)
    valid = validity(values)
    known = codes if valid is None else codes[valid]
    counts = grouping.counts if valid is None else np.bincount(known, minlength=span)[present]
    if measure.function is AggregateFunction.COUNT:
        return pa.array(counts)
    if measure.function in _ADDING:
        numbers = lane(values)
        sums = group_sums(numbers if valid is None else numbers[valid], known, span)[present]
        if measure.function is AggregateFunction.AVG:
            sums = sums / np.maximum(counts, 1)
        return pa.array(sums, mask=counts == 0)
    return _extremes(measure, values if valid is None else values.drop_null(), known, grouping, counts == 0)


def _argument(argument: Given | PropertyRef, frame: Frame, execution: Execution) -> pa.Array:
    if isinstance(argument, PropertyRef):
        bound = frame.bound[argument.variable]
        if len(bound.positions) > len(bound.entities):
            column = bound.entities.column(argument.property)
            if is_lane(column.type) and not column.null_count:
                # numpy gathers several times faster than Arrow, which looks for nulls.
                return column_of(lane(column)[bound.positions], column.type)
    return value_column(argument, frame, execution)


def _extreme_ids(measure: Measure, frame: Frame, grouping: Grouping) -> pa.Array:
    assert isinstance(measure.argument, EntityRef)  # noqa: S101 - asked by the caller
    bound = frame.bound[measure.argument.variable]
    is_empty = np.full(len(grouping.present), frame.row_count == 0)
    found = _extreme_lane(bound.positions, grouping.codes.values, grouping, is_max=_is_max(measure))
    return bound.entities.ids.take(pa.array(found, mask=is_empty))


def _extremes(
    measure: Measure, values: pa.Array, codes: Indices, grouping: Grouping, is_empty: npt.NDArray[np.bool_]
) -> pa.Array:
    kind = arrow_type(measure.type)
    if not is_lane(values.type):
        return _extreme_texts(measure, values, codes, grouping).cast(kind)
    keys = ascending(values)
    found = _extreme_lane(keys, codes, grouping, is_max=_is_max(measure))
    return column_of(descended(found, values.type), values.type, is_null=is_empty)


def _extreme_lane(values: Lane, codes: Indices, grouping: Grouping, *, is_max: bool) -> Lane:
    bounds = np.iinfo(np.int64)
    table = np.full(grouping.codes.span, bounds.min if is_max else bounds.max, dtype=np.int64)
    (np.maximum if is_max else np.minimum).at(table, codes, values)
    return table[grouping.present]


def _extreme_texts(measure: Measure, texts: pa.Array, codes: Indices, grouping: Grouping) -> pa.Array:
    function = "max" if _is_max(measure) else "min"
    rows = pa.table({"code": pa.array(codes), "text": texts})
    found = rows.group_by("code", use_threads=False).aggregate([("text", function)])
    places = pc.index_in(pa.array(grouping.present), value_set=contiguous(found["code"]))
    return contiguous(found[f"text_{function}"]).take(places)


def _is_max(measure: Measure) -> bool:
    return measure.function is AggregateFunction.MAX
