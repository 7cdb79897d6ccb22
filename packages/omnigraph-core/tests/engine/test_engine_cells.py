"""Arrow columns to JSON cells: each type as the language says, both forms equal, and numbers to the last bit."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.cells import cells, json_objects, json_texts
from omnigraph.errors import InternalError
from omnigraph.lang.dates import MAX_DAYS, MAX_MILLISECONDS, MIN_DAYS, MIN_MILLISECONDS, parse_date, parse_datetime

# A type, values of it as Arrow takes them, and the cells that the language asks for.
BY_TYPE: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "String": (pa.string(), ["", "Orbit", "naïve 🎬", 'a"b\\c\n\t\x00\x1f', None], None),
    "String, wide": (pa.large_string(), ["Orbit", None], None),
    "String, as a view": (pa.string_view(), ["Orbit", 'say "hi"', None], None),
    "Bool": (pa.bool_(), [True, False, None], None),
    "I32": (pa.int32(), [-(2**31), 0, 2**31 - 1, None], None),
    "I64": (pa.int64(), [-(2**63), 0, 2**63 - 1, None], None),
    "U32": (pa.uint32(), [0, 2**32 - 1, None], None),
    "U64": (pa.uint64(), [0, 2**64 - 1, None], None),
    "F32": (
        pa.float32(),
        [0.1, 4.5, -0.0, 3.4028234663852886e38, 1e-45, None],
        [0.10000000149011612, 4.5, -0.0, 3.4028234663852886e38, 1.401298464324817e-45, None],
    ),
    "F64": (pa.float64(), [0.1, 3.0, -0.0, 1e21, 5e-324, 1.7976931348623157e308, 123456789.125, None], None),
    "F64, not finite": (
        pa.float64(),
        [math.nan, math.inf, -math.inf, 1.5, None],
        ["NaN", "Infinity", "-Infinity", 1.5, None],
    ),
    "Date": (
        pa.date32(),
        [0, -1, 19_723, None, MIN_DAYS, MAX_DAYS, -719_529, 2_932_897],
        [
            "1970-01-01", "1969-12-31", "2024-01-01", None, "-262143-01-01", "+262142-12-31", "-0001-12-31",
            "+10000-01-01",
        ],
    ),
    "DateTime": (
        pa.date64(),
        [0, -1, 1_767_398_400_500, None, MIN_MILLISECONDS, MAX_MILLISECONDS],
        [
            "1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-01-03T00:00:00.500Z", None,
            "-262143-01-01T00:00:00.000Z", "+262142-12-31T23:59:59.999Z",
        ],
    ),
    "Vector(2)": (pa.list_(pa.float32(), 2), [[0.5, -0.0], None, [1.0, None]], None),
    "[String]": (pa.list_(pa.string()), [[], ["a", 'b"'], None, [None, ""]], None),
    "[I64]": (pa.list_(pa.int64()), [[2**63 - 1], [], None], None),
    "[F64]": (pa.list_(pa.float64()), [[0.1, math.nan], None], [[0.1, "NaN"], None]),
    "[Date]": (pa.list_(pa.date32()), [[0, None], [MAX_DAYS]], [["1970-01-01", None], ["+262142-12-31"]]),
    "[DateTime]": (pa.list_(pa.date64()), [[0], []], [["1970-01-01T00:00:00.000Z"], []]),
    "[Bool]": (pa.list_(pa.bool_()), [[True, None]], None),
    "Blob": (pa.large_binary(), [b"", b"\x00\xff", b"abc", None], ["base64:", "base64:AP8=", "base64:YWJj", None]),
    "null": (pa.null(), [None, None], None),
}  # fmt: skip

EVERY_TYPE = pytest.mark.parametrize(("kind", "values", "expected"), BY_TYPE.values(), ids=BY_TYPE)


def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Dates are given as counts."""
    if pa.types.is_list(kind) and pa.types.is_date(kind.value_type):
        counts = pa.int32() if pa.types.is_date32(kind.value_type) else pa.int64()
        return pa.array(values, pa.list_(counts)).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return pa.array(values, kind)


def as_bits(value: Any) -> Any:
    """A value that compares equal to another one only if it is the same, sign of zero included."""
    if isinstance(value, list):
        return [as_bits(each) for each in value]
    return (type(value), struct.pack("<d", value)) if isinstance(value, float) else (type(value), value)


@EVERY_TYPE
def test_each_type_has_the_cells_that_the_language_gives_it(kind: pa.DataType, values: list, expected: list | None):
    found = cells(column(kind, values))
    assert as_bits(found) == as_bits(values if expected is None else expected)


@EVERY_TYPE
def test_the_json_text_of_a_cell_reads_back_as_the_cell(kind: pa.DataType, values: list, expected: list | None):
    texts = json_texts(column(kind, values))
    assert texts.null_count == 0
    read = [json.loads(text) for text in texts.to_pylist()]
    assert as_bits(read) == as_bits(values if expected is None else expected)


@EVERY_TYPE
def test_a_part_of_a_column_has_the_cells_of_that_part(kind: pa.DataType, values: list, expected: list | None):
    whole = column(kind, values)
    assert cells(whole[1:]) == cells(whole)[1:]
    assert json_texts(whole[1:]).to_pylist() == json_texts(whole).to_pylist()[1:]
    assert cells(whole[:0]) == []
    assert json_texts(whole[:0]).to_pylist() == []


@EVERY_TYPE
def test_a_column_in_chunks_has_the_cells_of_the_whole(kind: pa.DataType, values: list, expected: list | None):
    whole = column(kind, values)
    assert cells(pa.chunked_array([whole[:1], whole[1:]])) == cells(whole)
    assert cells(pa.chunked_array([], kind)) == []


def test_texts_are_compact_and_keep_letters_as_they_are():
    assert json_texts(pa.array([["é", "a, b"], []])).to_pylist() == ['["é","a, b"]', "[]"]


def test_a_whole_float_keeps_its_point():
    assert json_texts(pa.array([3.0, -0.0, 1e20])).to_pylist() == ["3.0", "-0.0", "1e+20"]


def test_rows_are_objects_with_the_names_of_their_columns():
    found = json_objects({"a": pa.array([1, None]), 'b"': pa.array(["x\n", ""])}, 2)
    assert [json.loads(each) for each in found.to_pylist()] == [{"a": 1, 'b"': "x\n"}, {"a": None, 'b"': ""}]
    assert found[1].as_py() == '{"a":null,"b\\"":""}'
    assert json_objects({}, 2).to_pylist() == ["{}", "{}"]


def test_a_type_that_no_property_has_is_a_mistake_of_ours():
    with pytest.raises(InternalError, match="duration"):
        cells(pa.array([1], pa.duration("s")))
    with pytest.raises(InternalError, match="duration"):
        json_texts(pa.array([1], pa.duration("s")))


# ── any value ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_any_finite_float_reads_back_bit_by_bit(values: list[float]):
    texts = json_texts(pa.array(values, pa.float64())).to_pylist()
    assert as_bits([json.loads(each) for each in texts]) == as_bits(values)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_any_finite_f32_reads_back_bit_by_bit(values: list[float]):
    texts = json_texts(pa.array(values, pa.float32())).to_pylist()
    # Python's floats are wide; rounding one to F32 and back gives what Arrow held.
    assert as_bits([json.loads(each) for each in texts]) == as_bits(values)


ODD_TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\x00\x1f\x7f\x85\u2028\u2029'))


@given(st.lists(ODD_TEXT))
def test_any_text_reads_back_and_is_one_line_to_every_tool(values: list[str]):
    texts = json_texts(pa.array(values, pa.string())).to_pylist()
    assert [json.loads(each) for each in texts] == values
    assert all(len(each.splitlines()) == 1 for each in texts)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"))))
def test_any_other_text_is_spelled_as_the_json_module_spells_it(values: list[str]):
    assert json_texts(pa.array(values, pa.string())).to_pylist() == [
        json.dumps(each, ensure_ascii=False) for each in values
    ]


@given(st.lists(st.integers(MIN_DAYS, MAX_DAYS)))
def test_any_date_reads_back_as_the_same_day(days: list[int]):
    texts = cells(pa.array(days, pa.int32()).cast(pa.date32()))
    assert [parse_date(each) for each in texts] == days


@given(st.lists(st.integers(MIN_MILLISECONDS, MAX_MILLISECONDS)))
def test_any_point_in_time_reads_back_to_the_millisecond(moments: list[int]):
    texts = cells(pa.array(moments, pa.int64()).cast(pa.date64()))
    assert [parse_datetime(each) for each in texts] == moments


@given(st.lists(st.none() | st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))))
def test_any_list_keeps_its_items_its_nulls_and_its_length(values: list):
    lists = pa.array(values, pa.list_(pa.int64()))
    assert cells(lists) == values
    assert [json.loads(each) for each in json_texts(lists).to_pylist()] == values
