"""Rows in order, and the first of them without sorting the rest.

Every key becomes numbers that sort as its values do (``ordering``); where they are few enough apart, all keys of a row
are packed into one number together with the number of the row, and one sort of integers does it all. Nulls stand where
the key says; NaN comes after all numbers when ascending and before them when descending. Sorting is stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import Entities
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame, Indices, Mask
from omnigraph.engine.images import Image
from omnigraph.engine.lanes import is_lane, truths, validity
from omnigraph.engine.ordering import Keys, ascending, text_ranks
from omnigraph.engine.project import value_column
from omnigraph.plan.ir import Limit, Sort, SortKey
from omnigraph.query.checked import Constant, CurrentTime, EntityRef, ParameterRef, PropertyRef

_WIDEST: Final = 2**62
_FEW: Final = 256
"""So many rows are sorted faster than the best of them are chosen."""


def sort(op: Sort, frame: Frame, execution: Execution) -> Frame:
    """All rows, sorted; rows that are equal in all keys stay as they were."""
    if frame.row_count < 2 or not op.keys:
        return frame
    return frame.take(sorted_rows(op.keys, frame, execution))


def first_rows(op: Limit, frame: Frame, execution: Execution) -> Frame:
    """The first rows of a Sort, which stands below the Limit and is not run."""
    assert isinstance(op.input, Sort), op.input  # noqa: S101 - what the caller looked at
    keys, count = op.input.keys, min(op.count, frame.row_count)
    if count == 0:
        return frame.first(0)
    rows = _candidates(keys, frame, count, execution) if keys else np.arange(count)
    chosen = frame if len(rows) == frame.row_count else frame.take(rows)
    return sort(op.input, chosen, execution).first(count)


def sorted_rows(keys: Sequence[SortKey], frame: Frame, execution: Execution) -> Indices:
    """The numbers of all rows in the order of the keys."""
    execution.spending.check_time("Sort")
    wanted = [each for each in keys if not isinstance(each.value, Constant | ParameterRef | CurrentTime)]
    digits: list[_Digit] = []
    for each in wanted:
        digits += _digits(each, frame, execution)
        execution.spending.check_time("Sort")
    return _order(digits, frame.row_count)


# ── all rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Digit:
    """Numbers from 0 to below ``span``, or any when ``span`` is None; smaller ones come first."""

    values: Keys
    span: int | None


def _digits(key: SortKey, frame: Frame, execution: Execution) -> list[_Digit]:
    """What a key is in each row, most significant first."""
    values, valid = _key_values(key, frame, execution)
    if key.is_descending:
        values = ~values
    known = values if valid is None else values[valid]
    if not len(known):
        return []
    low, high = int(known.min()), int(known.max())
    span = high - low + 1
    if span >= _WIDEST:
        return (
            [_Digit(values, None)]
            if valid is None
            else [*_null_digit(key, valid), _Digit(_zeroed(values, valid), None)]
        )
    if valid is None:
        return [_Digit(values - low, span)]
    placed = values - low
    if key.nulls_first:
        placed += 1
    placed[~valid] = 0 if key.nulls_first else span
    return [_Digit(placed, span + 1)]


def _null_digit(key: SortKey, valid: Mask) -> list[_Digit]:
    return [_Digit((valid if key.nulls_first else ~valid).astype(np.int64), 2)]


def _zeroed(values: Keys, valid: Mask) -> Keys:
    return np.where(valid, values, 0)


def _key_values(key: SortKey, frame: Frame, execution: Execution) -> tuple[Keys, Mask | None]:
    """Numbers in ascending order of the values, and where there are any."""
    if isinstance(key.value, EntityRef):
        return frame.bound[key.value.variable].positions, None
    if isinstance(key.value, PropertyRef):
        bound = frame.bound[key.value.variable]
        if len(bound.positions) >= len(bound.entities):
            column = bound.entities.column(key.value.property)
            valid = validity(column)
            ranks = _ranks(bound.entities, key.value.property, column, execution)[bound.positions]
            return ranks.astype(np.int64, copy=False), None if valid is None else valid[bound.positions]
    column = value_column(key.value, frame, execution)
    return _column_ranks(column, execution), validity(column)


def _ranks(entities: Entities, name: str, column: pa.Array, execution: Execution) -> npt.NDArray[np.int64 | np.int32]:
    if is_lane(column.type) or not isinstance(entities, Image):
        return _column_ranks(column, execution)
    return entities.derived(("ranks", name), lambda image: text_ranks(image.column(name), execution).astype(np.int32))


def _column_ranks(column: pa.Array, execution: Execution) -> Keys:
    return ascending(column) if is_lane(column.type) else text_ranks(column, execution)


def _order(digits: Sequence[_Digit], row_count: int) -> Indices:
    packed = _pack(digits)
    if not packed:
        return np.arange(row_count)
    found = _order_packed(packed, row_count)
    if found is not None:
        return found
    order = np.argsort(packed[0].values)
    if bool((np.diff(packed[0].values[order]) != 0).all()):
        return order
    packed = _pack([_narrowed(each, row_count) for each in packed])
    found = _order_packed(packed, row_count)
    return np.lexsort([each.values for each in reversed(packed)]) if found is None else found


def _order_packed(packed: Sequence[_Digit], row_count: int) -> Indices | None:
    """The order by one number per row; None when one is too narrow for the keys and the number of the row."""
    bits = max(row_count - 1, 1).bit_length()
    only = packed[0]
    if len(packed) > 1 or only.span is None or only.span << bits > _WIDEST:
        return None
    # The number of the row makes every key different, so that a sort need not be stable, nor remember where from.
    keys = (only.values << bits) | np.arange(row_count)
    keys.sort()
    return keys & ((1 << bits) - 1)


def _narrowed(digit: _Digit, row_count: int) -> _Digit:
    """Ranks in the place of numbers that are far apart."""
    if digit.span is not None and digit.span <= 2 * row_count:
        return digit
    found, ranks = np.unique(digit.values, return_inverse=True)
    return _Digit(ranks.astype(np.int64, copy=False), len(found))


def _pack(digits: Sequence[_Digit]) -> list[_Digit]:
    """The same order in fewer numbers."""
    packed: list[_Digit] = []
    for each in digits:
        last = packed[-1] if packed else None
        if last is None or last.span is None or each.span is None or last.span * each.span >= _WIDEST:
            packed.append(each)
        else:
            packed[-1] = _Digit(last.values * each.span + each.values, last.span * each.span)
    return packed


# ── the first rows ───────────────────────────────────────────────────────────────────────────────────────────────────


def _candidates(keys: Sequence[SortKey], frame: Frame, count: int, execution: Execution) -> Indices:
    """Rows among which the first ``count`` are, ascending: few more than that, unless the keys leave many equal.

    Key by key, rows that are surely among the first are set apart, and only those that are equal to the last of them
    go on to the next key.
    """
    rows, wanted = np.arange(frame.row_count), count
    sure: list[Indices] = []
    for key in keys:
        if len(rows) <= max(2 * wanted, _FEW):
            break
        part = frame if len(rows) == frame.row_count else frame.take(rows)
        chosen, equal = _choose(key, part, wanted, execution)
        sure.append(rows[chosen])
        rows, wanted = rows[equal], wanted - len(chosen)
    return np.sort(np.concatenate([*sure, rows]))


def _choose(key: SortKey, frame: Frame, wanted: int, execution: Execution) -> tuple[Indices, Indices]:
    """Fewer than ``wanted`` rows that come before all others, and rows that are equal to each other and come next."""
    execution.spending.check_time("Sort")
    nothing: Indices = np.zeros(0, dtype=np.int64)
    if isinstance(key.value, EntityRef):
        column = pa.array(frame.bound[key.value.variable].positions)
    else:
        column = value_column(key.value, frame, execution)
    valid = validity(column)
    if valid is None:
        return _choose_valid(key, column, wanted)
    known, unknown = np.flatnonzero(valid), np.flatnonzero(~valid)
    before = unknown if key.nulls_first else known
    if len(before) < wanted:
        if not key.nulls_first:
            return known, unknown
        chosen, equal = _choose_valid(key, column.drop_null(), wanted - len(unknown))
        return np.concatenate([unknown, known[chosen]]), known[equal]
    if key.nulls_first:
        return nothing, unknown
    chosen, equal = _choose_valid(key, column.drop_null(), wanted)
    return known[chosen], known[equal]


def _choose_valid(key: SortKey, column: pa.Array, wanted: int) -> tuple[Indices, Indices]:
    if len(column) <= wanted:
        return np.arange(0), np.arange(len(column))
    if not is_lane(column.type):
        return _choose_texts(key, column, wanted)
    values = ascending(column)
    if key.is_descending:
        values = ~values
    last = np.partition(values, wanted - 1)[wanted - 1]
    return np.flatnonzero(values < last), np.flatnonzero(values == last)


def _choose_texts(key: SortKey, texts: pa.Array, wanted: int) -> tuple[Indices, Indices]:
    select = pc.top_k_unstable if key.is_descending else pc.bottom_k_unstable
    last = texts[select(texts, wanted)[wanted - 1].as_py()]
    before = pc.greater if key.is_descending else pc.less
    return np.flatnonzero(truths(before(texts, last))), np.flatnonzero(truths(pc.equal(texts, last)))
