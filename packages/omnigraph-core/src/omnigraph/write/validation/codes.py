"""Rows in memory as numbers: equal tuples have equal numbers, so that numpy can find what repeats and what meets.

The way of the set operations for few rows: no session, no plan, some microseconds. Columns hold no nulls and are
comparable (``change_rows.comparable``): equal values are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Codes = npt.NDArray[np.int64]


def tuple_codes(tables: Sequence[pa.Table], columns: Sequence[str]) -> list[Codes]:
    """A number for each row of each table; two rows have the same one when all these columns are equal."""
    combined: Codes = np.zeros(sum(each.num_rows for each in tables), np.int64)
    for name in columns:
        column = pa.concat_tables([each.select([name]) for each in tables]).column(0)
        encoded = pa.array(column.combine_chunks()) if column.num_chunks != 1 else column.chunk(0)
        encoded = encoded.dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False)
        # Numbered anew after each column, so that the product stays small.
        combined = np.unique(combined * (len(encoded.dictionary) + 1) + numbers, return_inverse=True)[1]
    return np.split(combined, np.cumsum([each.num_rows for each in tables])[:-1])


def repeats(codes: Codes) -> tuple[Codes, Codes]:
    """The places of all rows whose tuple occurred before, and for each the place where it occurred first."""
    _, first, group = np.unique(codes, return_index=True, return_inverse=True)
    firsts = first[group]
    later = np.flatnonzero(firsts != np.arange(len(codes)))
    return later, firsts[later]


def overtaken(codes: Codes) -> Codes:
    """The places of all rows whose tuple occurs again later."""
    _, from_end = np.unique(codes[::-1], return_index=True)
    is_last = np.zeros(len(codes), bool)
    is_last[len(codes) - 1 - from_end] = True
    return np.flatnonzero(~is_last)


def meetings(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    """Every pair of places, one on each side, that have the same tuple."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    start = np.searchsorted(ordered, left, "left")
    count = np.searchsorted(ordered, left, "right") - start
    lefts = np.repeat(np.arange(len(left)), count)
    steps = np.arange(len(lefts)) - np.repeat(np.cumsum(count) - count, count)
    return lefts, order[np.repeat(start, count) + steps]
