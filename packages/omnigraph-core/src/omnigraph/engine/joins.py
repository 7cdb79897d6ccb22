"""Two sets of rows to one: products, equal properties, and rows that a negation leaves.

Keys of a join are compared by value: each pair of columns gets codes that are equal when the values are, and from then
on a join is a look-up in a table by code. How many rows there will be is known before they are made, and the budget is
asked then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.entities import ABSENT
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Frame, Indices, Mask, combine
from omnigraph.engine.grouping import encode, entity_codes, group_rows
from omnigraph.engine.lanes import Lane, is_lane, lane, validity
from omnigraph.plan.ir import AntiJoin, CrossJoin, Join, Operator, OuterRows
from omnigraph.plan.tree import inputs_of
from omnigraph.query.checked import PropertyRef

_MOST_TEXT: Final = 2**31 - 1
"""Bytes that one array of strings can hold."""


def cross_join(op: CrossJoin, left: Frame, right: Frame, execution: Execution) -> Frame:
    """Every row of the left with every row of the right; in the order of the left, then of the right.

    Raises:
        ResourceLimitError: these are more than the query may have; none was made.
    """
    count = left.row_count * right.row_count
    _check_size("CrossJoin", left, right, count, execution)
    left_rows = np.repeat(np.arange(left.row_count), right.row_count)
    right_rows = np.tile(np.arange(right.row_count), left.row_count)
    return combine(left, right, left_rows, right_rows)


def join(op: Join, left: Frame, right: Frame, execution: Execution) -> Frame:
    """The pairs of rows for which all keys are equal; in the order of the left, then of the right.

    Raises:
        ResourceLimitError: these are more than the query may have.
    """
    if not left.row_count or not right.row_count:
        return combine(left, right, np.arange(0), np.arange(0))
    pairs = [_shared_codes(left, each.left, right, each.right, execution) for each in op.keys]
    left_codes, right_codes = pairs[0]
    for each in pairs[1:]:
        left_codes, right_codes = _merge((left_codes, right_codes), each)
    return _join_codes(left, right, left_codes, right_codes, execution)


def _check_size(operator: str, left: Frame, right: Frame, count: int, execution: Execution) -> None:
    execution.spending.check_rows(operator, count)
    columns = len(left.bound) + len(right.bound) + len(left.scores) + len(right.scores)
    execution.spending.check_bytes(operator, count * 8 * columns)


def _join_codes(left: Frame, right: Frame, left_codes: Indices, right_codes: Indices, execution: Execution) -> Frame:
    span = 1 + max(int(left_codes.max(initial=0)), int(right_codes.max(initial=0)))
    order = _by_code(right_codes)
    counts = np.bincount(right_codes[order], minlength=span)
    starts = np.cumsum(counts) - counts
    matches = np.where(left_codes == ABSENT, 0, counts[left_codes])
    total = int(matches.sum())
    _check_size("Join", left, right, total, execution)
    left_rows = np.repeat(np.arange(left.row_count), matches)
    # The n-th match of a left row is the n-th right row with its code.
    ordinals = np.arange(total) - np.repeat(np.cumsum(matches) - matches, matches)
    right_rows = order[starts[left_codes[left_rows]] + ordinals]
    return combine(left, right, left_rows, right_rows)


def _by_code(codes: Indices) -> Indices:
    """The rows that have a code, ordered by it, then by their own number."""
    rows = np.flatnonzero(codes != ABSENT)
    bits = len(codes).bit_length()
    keys = (codes[rows] << bits) | rows
    keys.sort()
    return keys & ((1 << bits) - 1)


# ── codes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _shared_codes(
    left: Frame, left_key: PropertyRef, right: Frame, right_key: PropertyRef, execution: Execution
) -> tuple[Indices, Indices]:
    """Codes that are equal where two properties are, from 0; -1 where there is no value, or none that could match."""
    columns = _side(left.bound[left_key.variable], left_key), _side(right.bound[right_key.variable], right_key)
    one, other = _comparable(columns[0][0], columns[1][0])
    codes = encode(_together(one, other), execution).values
    for each, start in ((one, 0), (other, len(one))):
        valid = validity(each)
        if valid is not None:
            codes[start + np.flatnonzero(~valid)] = ABSENT
    return _spread(codes[: len(one)], columns[0][1]), _spread(codes[len(one) :], columns[1][1])


def _together(left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_string(left.type) and left.nbytes + right.nbytes >= _MOST_TEXT:
        left, right = left.cast(pa.large_string()), right.cast(pa.large_string())
    return pa.concat_arrays([left, right])


def _side(bound: Bound, key: PropertyRef) -> tuple[pa.Array, Indices | None]:
    """Values to be coded, and where each row has its own; None when row by row."""
    if len(bound.positions) > len(bound.entities):
        return bound.entities.column(key.property), bound.positions
    return bound.entities.values(key.property, bound.positions), None


def _spread(codes: Indices, positions: Indices | None) -> Indices:
    return codes if positions is None else codes[positions]


def _merge(high: tuple[Indices, Indices], low: tuple[Indices, Indices]) -> tuple[Indices, Indices]:
    """Codes of two keys as those of one. Each key has at most as many as there are rows, so a product has room."""
    span = 1 + max(int(each.max(initial=0)) for each in low)
    one, other = (
        np.where((first == ABSENT) | (second == ABSENT), ABSENT, first * span + second)
        for first, second in zip(high, low, strict=True)
    )
    known, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    codes -= int(known[0] == ABSENT)
    return codes[: len(one)], codes[len(one) :]


def _comparable(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Two columns as columns of one type; a value that nothing on the other side can be equal to is null, as NaN is."""
    if not is_lane(left.type):
        return left, right
    one, other = lane(left), lane(right)
    target = _common_dtype(one.dtype, other.dtype)
    return _converted(one, left, target), _converted(other, right, target)


def _common_dtype(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """A type that holds every value that both types have."""
    wide = [each for each in (left, right) if each.kind != "f" and each.itemsize == 8]
    if wide:
        return next((each for each in wide if each.kind == "u"), wide[0])
    return np.dtype(np.float64 if "f" in (left.kind, right.kind) else np.int64)


def _converted(values: Lane, column: pa.Array, target: np.dtype[Any]) -> pa.Array:
    is_fit = _fits(values, target)
    valid = validity(column)
    if valid is not None:
        is_fit = valid if is_fit is None else is_fit & valid
    found = (values if is_fit is None else np.where(is_fit, values, values.dtype.type(0))).astype(target)
    return pa.array(found, mask=None if is_fit is None else ~is_fit)


def _fits(values: Lane, target: np.dtype[Any]) -> Mask | None:
    """Which values the type has; None for all of them."""
    found: Mask | None = None
    if target.kind == "f":
        found = ~np.isnan(values) if values.dtype.kind == "f" else None
    elif values.dtype.kind == "f":
        low, high = (0.0, 2.0**64) if target.kind == "u" else (-(2.0**63), 2.0**63)
        found = (values == np.floor(values)) & (values >= low) & (values < high)
    elif target.kind == "u" and values.dtype.kind == "i":
        found = values >= 0
    return found


# ── negation ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def anti_join(op: AntiJoin, frame: Frame, run_inner: Callable[[Frame], Frame], execution: Execution) -> Frame:
    """The rows for which the inner plan has none. It is run once, on the distinct outer rows that it can tell apart."""
    if not frame.row_count:
        return frame
    names = _outer_names(op.inner)
    grouping = group_rows((entity_codes(frame.bound[name]) for name in names), frame.row_count)
    count = len(grouping.first_rows)
    outer = Frame(
        row_count=count,
        bound={name: frame.bound[name].take(grouping.first_rows) for name in names},
        origin=np.arange(count),
    )
    found = run_inner(outer)
    is_kept = np.ones(count, dtype=np.bool_)
    if found.origin is None:
        # The inner plan does not ask about the outer row, so it says the same about every one.
        is_kept[:] = found.row_count == 0
    else:
        is_kept[found.origin] = False
    return frame if is_kept.all() else frame.filter(is_kept[grouping.numbers()])


def _outer_names(inner: Operator) -> tuple[str, ...]:
    names = {each.name for found in _outer_rows(inner) for each in found.variables}
    return tuple(sorted(names))


def _outer_rows(operator: Operator) -> Iterator[OuterRows]:
    """Where the inner plan takes the outer row from; negations inside it take theirs from rows that it makes itself."""
    if isinstance(operator, OuterRows):
        yield operator
    below = (operator.input,) if isinstance(operator, AntiJoin) else inputs_of(operator)
    for each in below:
        yield from _outer_rows(each)
