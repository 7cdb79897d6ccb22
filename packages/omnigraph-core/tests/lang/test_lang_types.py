"""The types that both languages share: how they are written, what goes with what, and their JSON form."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.lang import Scalar, ValueType, are_compatible
from omnigraph.lang.types import SCALAR_NAMES

NUMBERS = {Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.F32, Scalar.F64}
PLAIN = [each for each in Scalar if each is not Scalar.VECTOR]


def enum(*values: str, **more: bool) -> ValueType:
    return ValueType(Scalar.STRING, enum_values=values, **more)


def vector(dimension: int, **more: bool) -> ValueType:
    return ValueType(Scalar.VECTOR, dimension=dimension, **more)


# ── spelling ──


@pytest.mark.parametrize(
    ("value_type", "expected"),
    [
        (ValueType(Scalar.STRING), "String"),
        (ValueType(Scalar.STRING, is_nullable=True), "String?"),
        (ValueType(Scalar.STRING, is_list=True), "[String]"),
        (ValueType(Scalar.I64, is_list=True, is_nullable=True), "[I64]?"),
        (ValueType(Scalar.DATETIME), "DateTime"),
        (ValueType(Scalar.DATE), "Date"),
        (ValueType(Scalar.BLOB, is_nullable=True), "Blob?"),
        (enum("a", "b"), "enum(a, b)"),
        (enum("a", "b", is_nullable=True), "enum(a, b)?"),
        (vector(3), "Vector(3)"),
        (vector(3, is_nullable=True), "Vector(3)?"),
    ],
)
def test_a_type_is_shown_as_it_is_written(value_type, expected):
    assert str(value_type) == expected


def test_every_scalar_but_vector_is_known_by_its_name():
    assert SCALAR_NAMES.keys() == {
        "String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date",
    }  # fmt: skip
    assert all(str(scalar) == name for name, scalar in SCALAR_NAMES.items())


# ── kinds ──


@pytest.mark.parametrize("scalar", Scalar)
def test_numbers_are_integers_or_floats(scalar):
    assert scalar.is_numeric == (scalar in NUMBERS)
    assert scalar.is_integer == (scalar in {Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})
    assert scalar.is_float == (scalar in {Scalar.F32, Scalar.F64})


def test_a_list_of_numbers_is_no_number():
    assert ValueType(Scalar.F32).is_numeric
    assert not ValueType(Scalar.F32, is_list=True).is_numeric
    assert not vector(3).is_numeric


def test_an_enum_is_a_string_and_a_list_of_strings_is_none():
    assert ValueType(Scalar.STRING, is_nullable=True).is_plain_string
    assert enum("a").is_plain_string
    assert not ValueType(Scalar.STRING, is_list=True).is_plain_string
    assert not ValueType(Scalar.DATE).is_plain_string


def test_the_item_of_a_list_is_not_null_and_no_list():
    assert ValueType(Scalar.I32, is_list=True, is_nullable=True).item == ValueType(Scalar.I32)


def test_a_type_is_made_nullable_or_not():
    plain, nullable = ValueType(Scalar.I32), ValueType(Scalar.I32, is_nullable=True)
    assert plain.with_nullable(True) == nullable
    assert nullable.with_nullable(False) == plain
    assert plain.with_nullable(False) is plain


# ── what goes with what ──


@pytest.mark.parametrize(("left", "right"), list(itertools.product(PLAIN, PLAIN)), ids=str)
def test_types_go_together_when_they_are_equal_or_both_numeric(left, right):
    expected = left is right or (left in NUMBERS and right in NUMBERS)
    assert are_compatible(ValueType(left), ValueType(right)) == expected
    assert are_compatible(ValueType(left, is_list=True), ValueType(right, is_list=True)) == expected
    assert not are_compatible(ValueType(left, is_list=True), ValueType(right))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (ValueType(Scalar.STRING, is_nullable=True), ValueType(Scalar.STRING), True),
        (enum("a", "b"), ValueType(Scalar.STRING), True),
        (enum("a"), enum("b"), True),
        (ValueType(Scalar.STRING), ValueType(Scalar.DATE), False),
        (ValueType(Scalar.DATE), ValueType(Scalar.DATETIME), False),
        (ValueType(Scalar.BOOL), ValueType(Scalar.I32), False),
        (vector(3), vector(3), True),
        (vector(3), vector(4), False),
        (vector(3), ValueType(Scalar.F32, is_list=True), False),
    ],
)
def test_null_and_allowed_values_play_no_part_and_dimensions_do(left, right, expected):
    assert are_compatible(left, right) == expected
    assert are_compatible(right, left) == expected


def test_types_are_equal_when_scalar_null_list_and_values_are():
    assert enum("a", "b") == enum("a", "b")
    assert enum("a") != ValueType(Scalar.STRING)
    assert ValueType(Scalar.I32) != ValueType(Scalar.I32, is_nullable=True)
    assert ValueType(Scalar.I32) != ValueType(Scalar.I32, is_list=True)
    assert len({vector(3), vector(3), vector(4)}) == 2


# ── JSON ──


@pytest.mark.parametrize(
    ("value_type", "expected"),
    [
        (ValueType(Scalar.STRING), '{"scalar":"String","nullable":false,"list":false,"enum_values":null}'),
        (
            ValueType(Scalar.I64, is_list=True, is_nullable=True),
            '{"scalar":"I64","nullable":true,"list":true,"enum_values":null}',
        ),
        (enum("a", "sci-fi"), '{"scalar":"String","nullable":false,"list":false,"enum_values":["a","sci-fi"]}'),
        (vector(4), '{"scalar":{"Vector":4},"nullable":false,"list":false,"enum_values":null}'),
    ],
)
def test_the_json_form_has_its_fields_in_the_order_of_the_contract(value_type, expected):
    assert json.dumps(value_type.to_dict(), separators=(",", ":")) == expected


value_types = st.one_of(
    st.builds(ValueType, st.sampled_from(PLAIN), is_nullable=st.booleans(), is_list=st.booleans()),
    st.builds(vector, st.integers(1, 2_147_483_647), is_nullable=st.booleans()),
    st.builds(
        lambda values, null: enum(*sorted(values), is_nullable=null), st.sets(st.text(), min_size=1), st.booleans()
    ),
)


@given(value_types)
def test_every_type_comes_back_from_its_json_form(value_type):
    assert ValueType.from_dict(json.loads(json.dumps(value_type.to_dict()))) == value_type
