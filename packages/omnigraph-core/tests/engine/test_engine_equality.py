"""Two columns hold the same value in a row only if nothing tells the two apart: no bit, no null, no length."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.equality import equal_cells

NAN = float("nan")
PAIR = pa.list_(pa.field("item", pa.float32()), 2)


def bits(*patterns: int, wide: bool = False) -> pa.Array:
    """Floats of these bits."""
    numbers = np.array(patterns, np.uint64 if wide else np.uint32)
    return pa.array(numbers.view(np.float64 if wide else np.float32))


# In each column no value is the same as another one.
DISTINCT: dict[str, pa.Array] = {
    "text": pa.array([None, "", "a", "A", "a ", "ä", "a\u0308", "\x00", "null"], pa.string()),
    "truth": pa.array([None, False, True]),
    "i32": pa.array([None, 0, -1, 1, 2**31 - 1], pa.int32()),
    "i64": pa.array([None, 0, 2**53, 2**53 + 1, -(2**63)], pa.int64()),
    "u64": pa.array([None, 0, 2**64 - 1, 2**63], pa.uint64()),
    "date": pa.array([None, 0, -1], pa.date32()),
    "when": pa.array([None, 0, 1, -1, 86_400_000], pa.date64()),
    # 0.0, -0.0, 1.0, quiet NaNs of two payloads and of two signs, infinity.
    "f32": bits(0, 0x8000_0000, 0x3F80_0000, 0x7FC0_0000, 0x7FC0_0001, 0xFFC0_0000, 0x7F80_0000),
    "f64": bits(0, 1 << 63, 0x3FF0 << 48, 0x7FF8 << 48, (0x7FF8 << 48) + 1, 0xFFF8 << 48, 0x7FF0 << 48, wide=True),
    "nullable f32": pa.array([None, 0.0, 1.5], pa.float32()),
    "blob": pa.array([None, b"", b"\x00", b"a", b"ab"], pa.large_binary()),
    "texts": pa.array(
        [None, [], [None], [""], ["a"], ["a", None], [None, "a"], ["a", "b"], ["b", "a"], ["ab"]], pa.list_(pa.string())
    ),
    "floats": pa.array([None, [], [0.0], [-0.0], [NAN], [NAN, 0.0], [None]], pa.list_(pa.float64())),
    "vector": pa.array([None, [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [None, 1.0], [NAN, 1.0]], PAIR),
    "vectors": pa.array([None, [], [None], [[0.0, 1.0]], [[0.0, 1.0]] * 2, [[0.0, -1.0]]], pa.list_(PAIR)),
}


@pytest.mark.parametrize("name", DISTINCT)
def test_each_value_is_the_same_as_itself_and_as_no_other(name: str) -> None:
    values = DISTINCT[name]
    pairs = [*itertools.product(range(len(values)), repeat=2)]
    left, right = (values.take(pa.array(side, pa.int64())) for side in zip(*pairs, strict=True))
    assert equal_cells(left, right).tolist() == [one == other for one, other in pairs]


@pytest.mark.parametrize("name", DISTINCT)
def test_a_slice_of_a_column_compares_as_the_values_that_it_shows(name: str) -> None:
    values = DISTINCT[name]
    count = len(values) - 1
    assert equal_cells(values[1:], values[1:]).tolist() == [True] * count
    assert equal_cells(values[1:], values[:-1]).tolist() == [False] * count
    assert equal_cells(values[:0], values[:0]).tolist() == []


@pytest.mark.parametrize("column", [[None], [[]], [None, []], [[], ["a"], None, [], ["b", "c"], []]], ids=str)
def test_empty_lists_beside_others_compare_by_themselves(column: list[Any]) -> None:
    values = pa.array(column, pa.list_(pa.string()))
    assert equal_cells(values, values).all()
    assert not equal_cells(values, pa.array([["z"]] * len(column), pa.list_(pa.string()))).any()
