"""How the key of a node is spelled as its id. Expected spellings are those of the rule, or of numpy for F32."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.lang import Scalar, ValueType
from omnigraph.schema.ids import spell_id, spell_value

STRING, BOOL, F32, F64 = (ValueType(each) for each in (Scalar.STRING, Scalar.BOOL, Scalar.F32, Scalar.F64))


@pytest.mark.parametrize("text", ["SF-1", "", " a b ", "Ünïcode ☃", 'with "quotes"', "[1]", "true"])
def test_a_string_is_its_own_spelling(text):
    assert spell_id([(text, STRING)]) == text


def test_an_enum_is_spelled_as_its_value():
    assert spell_id([("sci-fi", ValueType(Scalar.STRING, enum_values=("drama", "sci-fi")))]) == "sci-fi"


@pytest.mark.parametrize("scalar", [Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64])
@pytest.mark.parametrize(("value", "expected"), [(0, "0"), (7, "7"), (2_147_483_647, "2147483647")])
def test_an_integer_is_decimal(scalar, value, expected):
    assert spell_id([(value, ValueType(scalar))]) == expected


def test_a_negative_integer_has_its_sign():
    assert spell_id([(-12, ValueType(Scalar.I64))]) == "-12"


@pytest.mark.parametrize(("value", "expected"), [(True, "true"), (False, "false")])
def test_a_bool_is_a_word(value, expected):
    assert spell_id([(value, BOOL)]) == expected


@pytest.mark.parametrize(
    ("scalar", "value", "expected"),
    [(Scalar.DATE, 18_322, "18322"), (Scalar.DATE, -1, "-1"), (Scalar.DATETIME, 1_767_225_600_000, "1767225600000")],
)
def test_a_date_is_its_days_and_a_point_in_time_its_milliseconds(scalar, value, expected):
    assert spell_id([(value, ValueType(scalar))]) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (1e21, "1000000000000000000000"),
        (-2.5, "-2.5"),
        (10.0, "10"),
        (0.0, "0"),
        (-0.0, "0"),
    ],
)
@pytest.mark.parametrize("of", [F32, F64], ids=str)
def test_a_float_is_positional_without_exponent_and_without_a_trailing_zero(of, value, expected):
    assert spell_id([(value, of)]) == expected


def test_a_float_has_the_shortest_digits_of_its_stored_width():
    assert spell_value(0.1 + 0.2, F64) == "0.30000000000000004"
    assert spell_value(0.1 + 0.2, F32) == "0.3"
    assert spell_value(16_777_216.0, F32) == "16777216"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_f32_is_spelled_as_numpy_does(value):
    expected = np.format_float_positional(np.float32(value), unique=True, trim="-")
    assert spell_value(value, F32) == ("0" if value == 0 else expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_f64_reads_back_as_itself(value):
    spelled = spell_value(value, F64)
    assert float(spelled) == value
    assert set(spelled) <= set("-.0123456789")
    assert not spelled.endswith(".0")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("of", [F32, F64], ids=str)
def test_a_float_that_is_not_finite_is_refused(of, value):
    with pytest.raises(ValueError, match="only finite numbers can be stored"):
        spell_value(value, of)


def test_a_number_too_large_for_f32_is_refused():
    with pytest.raises(ValueError, match="too large for an F32"):
        spell_value(1e39, F32)


def test_a_composite_key_is_a_compact_json_array_of_the_spellings():
    assert spell_id([(7, ValueType(Scalar.I32)), ("north", STRING)]) == '["7","north"]'
    assert spell_id([("ü☃", STRING), ('"\\', STRING), ("\n\x01", STRING)]) == '["ü☃","\\"\\\\","\\n\\u0001"]'
    assert spell_id([(True, BOOL), (0.5, F64)]) == '["true","0.5"]'
