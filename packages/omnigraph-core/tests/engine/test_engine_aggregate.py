"""Groups and their measures are what plain Python makes of the same rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.config import Settings
from omnigraph.engine.aggregate import aggregate
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.sums import group_sums
from omnigraph.errors import InvalidInputError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Aggregate, Measure, OneRow
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import Constant, EntityRef, ParameterRef, Projection, PropertyRef
from omnigraph.tables.arrow_schema import arrow_type

COUNT, SUM, AVG, MIN, MAX = AggregateFunction
I64, F64 = ValueType(Scalar.I64), ValueType(Scalar.F64, is_nullable=True)
TEXT = ValueType(Scalar.STRING, is_nullable=True)
NODE = EntityRef("x", "Thing")


def execution(**parameters: Any) -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters=parameters,
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=cast("Any", None),
    )


def frame_of(positions: list[int], **columns: pa.Array) -> Frame:
    count = len(next(iter(columns.values())))
    ids = pa.array([f"{index:06}" for index in range(count)], pa.string())
    held = HeldRows("node:Thing", pa.table({"id": ids, **columns}))
    return Frame(row_count=len(positions)).binding("x", held, np.array(positions, dtype=np.int64))


def of(name: str, type_: ValueType) -> PropertyRef:
    return PropertyRef("x", name, type_)


def run(frame: Frame, keys: list, measures: list[Measure], **parameters: Any) -> dict[str, list]:
    groups = tuple(Projection(f"key{index}", each) for index, each in enumerate(keys))
    found = aggregate(Aggregate(OneRow(), groups, tuple(measures)), frame, execution(**parameters))
    assert not found.bound
    assert {len(each) for each in found.columns.values()} <= {found.row_count}
    return {name: each.to_pylist() for name, each in found.columns.items()}


def plain(value):
    """What makes two keys one group."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return tuple(plain(each) for each in value) if isinstance(value, list) else value


def grouped(rows: list[tuple[Any, Any]]) -> list[tuple[Any, list]]:
    groups: dict[Any, tuple[Any, list]] = {}
    for key, value in rows:
        groups.setdefault(plain(key), (key, []))[1].append(value)
    return list(groups.values())


def same(one, other) -> bool:
    return plain(one) == plain(other)


KEYS = {
    Scalar.I32: st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1]),
    Scalar.U64: st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    Scalar.F32: st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf]),
    Scalar.F64: st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.inf]),
    Scalar.BOOL: st.booleans(),
    Scalar.STRING: st.sampled_from(["", "a", "b", "é"]),
}


@given(st.sampled_from(list(KEYS)), st.booleans(), st.data())
def test_groups_come_in_the_order_of_their_first_rows_with_null_as_one(scalar, is_list, data):
    values = KEYS[scalar] | st.none()
    stored = data.draw(
        st.lists((st.lists(values, max_size=3) | st.none()) if is_list else values, min_size=1, max_size=8)
    )
    kind = ValueType(scalar, is_nullable=True, is_list=is_list)
    positions = data.draw(st.lists(st.integers(0, len(stored) - 1), max_size=20))
    frame = frame_of(positions, key=pa.array([None, *stored], arrow_type(kind))[1:])
    found = run(frame, [of("key", kind)], [Measure("n", COUNT, NODE, I64), Measure("m", COUNT, of("key", kind), I64)])
    wanted = grouped([(stored[at], at) for at in positions])
    assert found["n"] == [len(rows) for _, rows in wanted]
    assert found["m"] == [0 if key is None else len(rows) for key, rows in wanted]
    assert all(same(one, key) for one, (key, _) in zip(found["key0"], wanted, strict=True))


@given(st.data())
def test_several_keys_group_by_all_of_them(data):
    rows = st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.sampled_from(["a", "b"]), st.none() | st.floats()
    )
    stored = data.draw(st.lists(rows, min_size=1, max_size=6))
    positions = data.draw(st.lists(st.integers(0, len(stored) - 1), max_size=15))
    kinds = [ValueType(Scalar.I64, is_nullable=True), TEXT, F64]
    columns = [pa.array([row[index] for row in stored], arrow_type(kind)) for index, kind in enumerate(kinds)]
    frame = frame_of(positions, a=columns[0], b=columns[1], c=columns[2])
    keys = [of(name, kind) for name, kind in zip("abc", kinds, strict=True)]
    found = run(frame, [*keys, NODE], [Measure("n", COUNT, NODE, I64)])
    assert found["n"] == [len(rows) for _, rows in grouped([((*map(plain, stored[at]), at), at) for at in positions])]
    found = run(frame, keys, [Measure("n", COUNT, NODE, I64)])
    assert found["n"] == [len(rows) for _, rows in grouped([(tuple(map(plain, stored[at])), at) for at in positions])]


ARGUMENTS = {
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1]),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1) | st.just(2**64 - 1),
    Scalar.F32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Scalar.F64: st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e16, 1.0, 1e-16, -1e16, 1e308, -1e308, 5e-324]),
}


def rounded(total: Fraction) -> float:
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(st.sampled_from(list(ARGUMENTS)), st.data())
def test_sum_and_avg_round_the_exact_sum_once_and_leave_nulls_out(scalar, data):
    rows = st.tuples(st.integers(0, 2), st.none() | ARGUMENTS[scalar])
    stored = data.draw(st.lists(rows, min_size=1, max_size=12))
    kind = ValueType(scalar, is_nullable=True)
    numbers = pa.array([each[1] for each in stored], arrow_type(kind))
    frame = frame_of(list(range(len(stored))), key=pa.array([each[0] for each in stored]), v=numbers)
    functions = (SUM, AVG, MIN, MAX, COUNT)
    types = (F64, F64, kind, kind, I64)
    measures = [Measure(str(f), f, of("v", kind), t) for f, t in zip(functions, types, strict=True)]
    found = run(frame, [of("key", I64)], measures)
    for index, (_, values) in enumerate(grouped(stored)):
        known = [each for each in values if each is not None]
        total = rounded(sum(map(Fraction, known), Fraction())) if known else None
        assert found["sum"][index] == total
        assert found["avg"][index] == (None if total is None else total / len(known))
        assert found["min"][index] == min(known, default=None)
        assert found["max"][index] == max(known, default=None)
        assert found["count"][index] == len(known)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats()), max_size=12), st.randoms())
def test_sums_do_not_depend_on_the_order_of_rows(rows, random):
    shuffled = rows[:]
    random.shuffle(shuffled)

    def sums(given_rows):
        codes = np.array([each[0] for each in given_rows], dtype=np.int64)
        return group_sums(np.array([each[1] for each in given_rows], dtype=np.float64), codes, 4)

    np.testing.assert_array_equal(sums(rows), sums(shuffled))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1e16, 1.0, 1e-16], 1e16 + 2),
        ([1e16, 1.0, -1e-16], 1e16),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308, 1.0], math.inf),
        ([math.inf, 1.0, -math.inf], math.nan),
        ([-math.inf, 1e308], -math.inf),
        ([0.1] * 10, 1.0),
        ([5e-324, 5e-324], 1e-323),
    ],
)
def test_a_sum_is_the_float_that_is_nearest_to_the_exact_one(values, wanted):
    found = group_sums(np.array(values), np.zeros(len(values), dtype=np.int64), 1)
    np.testing.assert_array_equal(found, [wanted])


def test_many_numbers_of_every_size_add_up_exactly():
    random = np.random.default_rng(7)
    values = random.standard_normal(5_000) * 10.0 ** random.integers(-200, 200, 5_000)
    codes = random.integers(0, 50, 5_000)
    wanted = [math.fsum(values[codes == code].tolist()) for code in range(50)]
    assert group_sums(values, codes, 50).tolist() == wanted


@given(
    st.lists(st.tuples(st.integers(0, 2), st.none() | st.sampled_from(["b", "", "é", "z", "\uffff", "😀"])), min_size=1)
)
def test_least_and_greatest_texts_are_by_bytes(stored):
    frame = frame_of(
        list(range(len(stored))),
        key=pa.array([each[0] for each in stored]),
        v=pa.array([each[1] for each in stored], pa.string()),
    )
    found = run(
        frame, [of("key", I64)], [Measure("lo", MIN, of("v", TEXT), TEXT), Measure("hi", MAX, of("v", TEXT), TEXT)]
    )
    for index, (_, values) in enumerate(grouped(stored)):
        known = [each for each in values if each is not None]
        assert found["lo"][index] == min(known, key=str.encode, default=None)
        assert found["hi"][index] == max(known, key=str.encode, default=None)


def test_measures_of_a_node_are_about_rows_and_ids():
    frame = frame_of([2, 0, 2, 1], key=pa.array(["a", "b", "a"]))
    measures = [Measure("n", COUNT, NODE, I64), Measure("lo", MIN, NODE, TEXT), Measure("hi", MAX, NODE, TEXT)]
    assert run(frame, [of("key", TEXT)], measures) == {
        "key0": ["a", "b"],
        "n": [3, 1],
        "lo": ["000000", "000001"],
        "hi": ["000002", "000001"],
    }
    assert run(frame, [NODE], measures[:1]) == {"key0": ["000002", "000000", "000001"], "n": [2, 1, 1]}


def test_without_keys_there_is_one_group_also_of_no_rows():
    frame = frame_of([], v=pa.array([1.5]), t=pa.array(["a"]))
    measures = [
        Measure("n", COUNT, NODE, I64),
        Measure("c", COUNT, of("v", F64), I64),
        Measure("s", SUM, of("v", F64), F64),
        Measure("a", AVG, of("v", F64), F64),
        Measure("lo", MIN, of("v", F64), F64),
        Measure("hi", MAX, of("t", TEXT), TEXT),
        Measure("id", MIN, NODE, TEXT),
    ]
    wanted = {"n": [0], "c": [0], "s": [None], "a": [None], "lo": [None], "hi": [None], "id": [None]}
    assert run(frame, [], measures) == wanted
    assert run(frame, [of("t", TEXT)], measures) == {"key0": [], **{name: [] for name in wanted}}
    assert run(frame, [ParameterRef("p", I64)], measures, p=1) == {"key0": [], **{name: [] for name in wanted}}


def test_columns_have_the_types_of_the_language_also_without_rows():
    frame = frame_of(
        [], v=pa.array([1], pa.uint32()), t=pa.array([["a"]], arrow_type(ValueType(Scalar.STRING, is_list=True)))
    )
    small = ValueType(Scalar.U32)
    groups = (
        Projection("k", of("v", small)),
        Projection("t", of("t", ValueType(Scalar.STRING, is_list=True))),
        Projection("x", NODE),
    )
    measures = (
        Measure("n", COUNT, NODE, I64),
        Measure("s", SUM, of("v", small), F64),
        Measure("a", AVG, of("v", small), F64),
        Measure("lo", MIN, of("v", small), small),
        Measure("id", MAX, NODE, TEXT),
    )
    for keys in (groups, ()):
        columns = aggregate(Aggregate(OneRow(), keys, measures), frame, execution()).columns
        kinds = {name: each.type for name, each in columns.items()}
        assert [kinds[name] for name in ("n", "s", "a", "lo", "id")] == [
            pa.int64(),
            pa.float64(),
            pa.float64(),
            pa.uint32(),
            pa.string(),
        ]
    assert [kinds.get(name) for name in "ktx"] == [None] * 3


def test_parameters_are_constant_keys_and_arguments():
    frame = frame_of([0, 1, 1], key=pa.array(["a", "b"]))
    wide = ValueType(Scalar.I64, is_nullable=True)
    found = run(
        frame,
        [of("key", TEXT), ParameterRef("p", wide)],
        [
            Measure("s", SUM, ParameterRef("p", wide), F64),
            Measure("c", COUNT, ParameterRef("q", wide), I64),
            Measure("lo", MIN, Constant("x", TEXT), TEXT),
        ],
        p=2**53 + 1,
        q=None,
    )
    assert found == {
        "key0": ["a", "b"],
        "key1": [2**53 + 1] * 2,
        "s": [float(2**53 + 1), float(2 * (2**53 + 1))],
        "c": [0, 0],
        "lo": ["x", "x"],
    }


def test_vectors_are_keys_by_their_items():
    kind = ValueType(Scalar.VECTOR, dimension=2, is_nullable=True)
    vectors = pa.array([[1.0, 2.0], [1.0, -0.0], None, [1.0, 0.0], [1.0, 2.0]], arrow_type(kind))
    found = run(frame_of([0, 1, 2, 3, 4, 2], v=vectors), [of("v", kind)], [Measure("n", COUNT, NODE, I64)])
    assert found == {"key0": [[1.0, 2.0], [1.0, -0.0], None], "n": [2, 2, 2]}


@pytest.mark.parametrize("function", [SUM, AVG])
@pytest.mark.parametrize("rows", [[], [0]])
def test_adding_up_nodes_is_refused_with_the_way_out(function, rows):
    frame = frame_of(rows, v=pa.array([1]))
    with pytest.raises(InvalidInputError, match=rf"{function}\(\$x\) adds up numbers, and \$x is a node of type Thing"):
        run(frame, [], [Measure("s", function, NODE, F64)])
