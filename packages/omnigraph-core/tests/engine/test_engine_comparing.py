"""Comparisons of columns say what plain Python says of their values, which compares integers and floats exactly."""

from __future__ import annotations

import math
import operator as python
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.comparing import Adapted, adapt, compare, compare_values
from omnigraph.query.ast import Operator

ORDERINGS = {
    Operator.EQ: python.eq,
    Operator.NE: python.ne,
    Operator.LT: python.lt,
    Operator.LE: python.le,
    Operator.GT: python.gt,
    Operator.GE: python.ge,
}
RANGES = {
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
EDGES = [
    0,
    1,
    -1,
    2**24 + 1,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**63 + 1,
    2**64 - 1,
]
FLOATS = [0.0, -0.0, 1.5, -1.5, 0.1, 2.0**24, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), math.inf, -math.inf, math.nan]


def f32(number: float) -> float:
    if math.isinf(number):
        return number
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def numbers(kind: pa.DataType) -> st.SearchStrategy:
    if pa.types.is_float64(kind):
        return st.sampled_from(FLOATS) | st.floats()
    if pa.types.is_float32(kind):
        return (st.sampled_from(FLOATS) | st.floats(width=32)).map(f32)
    low, high = RANGES[kind]
    return st.sampled_from([each for each in EDGES if low <= each <= high]) | st.integers(low, high)


NUMERIC = [*RANGES, pa.float32(), pa.float64()]
kinds = st.sampled_from(NUMERIC)
literals = st.sampled_from(EDGES) | st.sampled_from(FLOATS) | st.floats() | st.integers(-(2**63), 2**64)


def expected(left: list, operator: Operator, right: list) -> list[bool]:
    pairs = zip(left, right, strict=True)
    return [a is not None and b is not None and ORDERINGS[operator](a, b) for a, b in pairs]


def sliced(values: list, kind: pa.DataType) -> pa.Array:
    """A column that does not begin where its memory begins."""
    return pa.array([None, values[0] if values else None, *values], kind)[2:]


def edges(kind: pa.DataType) -> list:
    if kind in RANGES:
        low, high = RANGES[kind]
        return [each for each in EDGES if low <= each <= high] + [None]
    return [f32(each) if pa.types.is_float32(kind) else each for each in [*FLOATS, 2.0**64 - 2048]] + [None]


@pytest.mark.parametrize("right_kind", NUMERIC, ids=str)
@pytest.mark.parametrize("left_kind", NUMERIC, ids=str)
def test_every_pair_of_numbers_at_the_edge_of_a_type_compares_by_value(left_kind, right_kind):
    pairs = [(one, other) for one in edges(left_kind) for other in edges(right_kind)]
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    for operator in ORDERINGS:
        found = compare(sliced(left, left_kind), operator, sliced(right, right_kind))
        assert found.tolist() == expected(left, operator, right), operator


@pytest.mark.parametrize("kind", NUMERIC, ids=str)
def test_every_value_at_the_edge_of_a_type_compares_with_columns(kind):
    column = edges(kind)
    for value in [*EDGES, *FLOATS, 2**53 - 1, 2**54 + 3, 2.0**31, 10**30, -(10**30)]:
        meant = f32(float(value)) if pa.types.is_float32(kind) else value
        for operator in ORDERINGS:
            wanted = expected(column, operator, [meant] * len(column))
            assert compare(pa.array(column, kind), operator, value).tolist() == wanted, (value, operator)


@given(kinds, kinds, st.sampled_from(list(ORDERINGS)), st.data())
def test_two_columns_of_numbers_compare_by_value_whatever_their_widths(left_kind, right_kind, operator, data):
    pairs = data.draw(st.lists(st.tuples(numbers(left_kind) | st.none(), numbers(right_kind) | st.none()), max_size=8))
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    found = compare(sliced(left, left_kind), operator, sliced(right, right_kind))
    assert found.tolist() == expected(left, operator, right)


@given(kinds, kinds, st.sampled_from(list(ORDERINGS)), st.integers(-(2**63), 2**64 - 1), st.data())
def test_numbers_that_are_close_to_each_other_compare_by_value(left_kind, right_kind, operator, middle, data):
    def near(kind):
        if kind in RANGES:
            low, high = RANGES[kind]
            return st.integers(-2, 2).map(lambda step: min(max(middle + step, low), high))
        narrow = f32 if pa.types.is_float32(kind) else float
        return st.integers(-2, 2).map(lambda step: narrow(float(middle + step)))

    left, right = [data.draw(near(left_kind))], [data.draw(near(right_kind))]
    assert compare(pa.array(left, left_kind), operator, pa.array(right, right_kind)).tolist() == expected(
        left, operator, right
    )


@given(kinds, st.sampled_from(list(ORDERINGS)), literals | st.none(), st.booleans(), st.data())
def test_a_value_compares_with_a_column_by_value_and_with_f32_after_rounding(kind, operator, value, is_left, data):
    column = data.draw(st.lists(numbers(kind) | st.none(), max_size=8))
    meant = value if value is None or not pa.types.is_float32(kind) else f32(float(value))
    values = [meant] * len(column)
    if is_left:
        assert compare(value, operator, sliced(column, kind)).tolist() == expected(values, operator, column)
    else:
        assert compare(sliced(column, kind), operator, value).tolist() == expected(column, operator, values)


@pytest.mark.parametrize(
    ("operator", "value", "found"),
    [
        (Operator.EQ, 2.7, []),
        (Operator.NE, 2.7, [1, 2, 3]),
        (Operator.GT, 1.5, [2, 3]),
        (Operator.GE, 1.5, [2, 3]),
        (Operator.LT, 2.5, [1, 2]),
        (Operator.LE, 2.0, [1, 2]),
        (Operator.GT, 2**40, []),
        (Operator.LT, 2**40, [1, 2, 3]),
        (Operator.GT, -math.inf, [1, 2, 3]),
        (Operator.EQ, math.nan, []),
        (Operator.NE, math.nan, [1, 2, 3]),
    ],
)
def test_a_value_that_an_i32_column_cannot_hold_is_compared_and_not_cast(operator, value, found):
    column = [1, 2, 3, None]
    mask = compare(pa.array(column, pa.int32()), operator, value)
    assert [each for each, is_true in zip(column, mask, strict=True) if is_true] == found


def test_an_f32_column_finds_the_decimal_that_was_stored_in_it():
    assert compare(pa.array([0.1, 0.25], pa.float32()), Operator.EQ, 0.1).tolist() == [True, False]
    assert compare(pa.array([0.1], pa.float32()), Operator.EQ, pa.array([0.1], pa.float64())).tolist() == [False]
    assert compare(pa.array([3e38], pa.float32()), Operator.LT, 1e300).tolist() == [True]


def test_comparisons_adapt_to_the_type_of_the_column_or_are_settled():
    assert adapt(pa.int32(), Operator.LT, 2.5) == Adapted(Operator.LE, 2)
    assert adapt(pa.uint64(), Operator.GE, -1) is True
    assert adapt(pa.float64(), Operator.EQ, 2**53 + 1) is False
    assert adapt(pa.float64(), Operator.GT, 10**400) == Adapted(Operator.GE, math.inf)


texts = st.text(st.sampled_from("ab\x00zé😀\uffff"), max_size=4)


@given(st.lists(st.tuples(texts | st.none(), texts | st.none()), max_size=8), st.sampled_from(list(ORDERINGS)))
def test_strings_compare_by_the_bytes_of_their_utf8(pairs, operator):
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    as_bytes = [[None if each is None else each.encode() for each in side] for side in (left, right)]
    columns = pa.array(left, pa.string()), pa.array(right, pa.string())
    assert compare(columns[0], operator, columns[1]).tolist() == expected(as_bytes[0], operator, as_bytes[1])
    if right:
        wanted = expected(as_bytes[0], operator, [as_bytes[1][0]] * len(left))
        assert compare(columns[0], operator, right[0]).tolist() == wanted


@given(st.lists(st.tuples(*[st.booleans() | st.none()] * 2), max_size=8), st.sampled_from(list(ORDERINGS)))
def test_false_is_less_than_true(pairs, operator):
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    found = compare(sliced(left, pa.bool_()), operator, sliced(right, pa.bool_()))
    assert found.tolist() == expected(left, operator, right)
    assert compare(sliced(left, pa.bool_()), operator, True).tolist() == expected(left, operator, [True] * len(left))


@pytest.mark.parametrize(("kind", "counts"), [(pa.date32(), pa.int32()), (pa.date64(), pa.int64())])
@given(data=st.data())
def test_dates_and_points_in_time_compare_as_counts_of_days_and_milliseconds(kind, counts, data):
    low, high = RANGES[counts]
    pairs = data.draw(st.lists(st.tuples(*[st.integers(low, high) | st.none()] * 2), max_size=6))
    operator = data.draw(st.sampled_from(list(ORDERINGS)))
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    columns = pa.array(left, counts).view(kind), pa.array(right, counts).view(kind)
    assert compare(columns[0], operator, columns[1]).tolist() == expected(left, operator, right)
    moment = data.draw(st.integers(low, high))
    assert compare(columns[0], operator, moment).tolist() == expected(left, operator, [moment] * len(left))


@given(st.lists(st.tuples(texts | st.none(), texts | st.none()), max_size=8), texts | st.none())
def test_contains_and_starts_with_take_columns_and_values_on_either_side(pairs, value):
    left, right = [each[0] for each in pairs], [each[1] for each in pairs]
    columns = pa.array(left, pa.string()), pa.array(right, pa.string())
    tests = {Operator.CONTAINS: python.contains, Operator.STARTS_WITH: str.startswith}
    values = [value] * len(pairs)
    for operator, test in tests.items():
        for sides, given_sides in (
            ((left, right), columns),
            ((left, values), (columns[0], value)),
            ((values, right), (value, columns[1])),
        ):
            wanted = [a is not None and b is not None and test(a, b) for a, b in zip(*sides, strict=True)]
            assert compare(given_sides[0], operator, given_sides[1]).tolist() == wanted


@given(kinds, kinds, st.data())
def test_a_list_contains_what_equals_one_of_its_items(item_kind, other_kind, data):
    items = st.lists(numbers(item_kind) | st.none(), max_size=4) | st.none()
    rows = data.draw(st.lists(st.tuples(items, numbers(other_kind) | st.none()), max_size=6))
    lists, others = [each[0] for each in rows], [each[1] for each in rows]

    def has(row, wanted):
        return row is not None and wanted is not None and any(each is not None and each == wanted for each in row)

    column = pa.array([[0], *lists], pa.list_(pa.field("item", item_kind)))[1:]
    found = compare(column, Operator.CONTAINS, pa.array(others, other_kind))
    assert found.tolist() == [has(row, wanted) for row, wanted in rows]
    value = data.draw(numbers(item_kind) | st.none())
    assert compare(column, Operator.CONTAINS, value).tolist() == [has(row, value) for row in lists]
    chosen = data.draw(st.lists(numbers(other_kind), max_size=4))
    among = compare(tuple(chosen), Operator.CONTAINS, pa.array(others, other_kind))
    assert among.tolist() == [each is not None and any(each == item for item in chosen) for each in others]


def test_a_list_of_strings_contains_an_item_and_not_a_part_of_one():
    column = pa.array([["space", "slow"], ["spaceship"], [], None, [None]], pa.list_(pa.string()))
    assert compare(column, Operator.CONTAINS, "space").tolist() == [True, False, False, False, False]


def test_values_alone_are_compared_by_the_same_rules():
    assert compare_values(2**63, Operator.GT, 2.0**63 - 1024) is True
    assert compare_values(None, Operator.NE, 1) is False
    assert compare_values("the great film", Operator.CONTAINS, "great") is True
    assert compare_values((1, None, 3), Operator.CONTAINS, 3.0) is True
    nan = math.nan
    assert compare_values((nan,), Operator.CONTAINS, nan) is False
    assert compare_values(nan, Operator.NE, nan) is True
