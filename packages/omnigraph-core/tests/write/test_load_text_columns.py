"""Columns of texts: every type converted from its spelling, every cell that does not fit told, both ways alike."""

from __future__ import annotations

import base64
import json
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_world import SCHEMA, plain_rows

from omnigraph.write.records import text_columns
from omnigraph.write.records.columns import FittedColumn
from omnigraph.write.records.text_columns import fit_one_by_one, fit_text_column

THING = SCHEMA.node("Thing")
DAY = 19_844
NOON = DAY * 86_400_000 + 43_200_000


def fit(name: str, cells: list[str | None]) -> FittedColumn:
    """The column of a property of Thing, from texts that are part of a longer column."""
    padded = pa.array(["before", *cells, "behind"], pa.string())
    wanted = THING.schema.field(name).type
    return fit_text_column(padded.slice(1, len(cells)), wanted, THING.type.by_name[name].type)


def values_of(fitted: FittedColumn, name: str) -> list[object]:
    batch = pa.record_batch([fitted.values], schema=pa.schema([THING.schema.field(name)]))
    return [row[name] for row in plain_rows(batch)]


ACCEPTED = [
    ("text", ["a", None, "", " b ", "null", "1"], ["a", None, "", " b ", "null", "1"]),
    ("kind", ["red", None, "", "green"], ["red", None, None, "green"]),
    ("flag", ["true", "False", "TRUE", None, ""], [True, False, True, None, None]),
    ("i32", ["1", "-2147483648", "2147483647", None, ""], [1, -(2**31), 2**31 - 1, None, None]),
    ("i32", ["+5", "007", "-0", "0" * 5000 + "7"], [5, 7, 0, 7]),
    ("i64", ["-9223372036854775808", "9223372036854775807"], [-(2**63), 2**63 - 1]),
    ("u32", ["0", "4294967295", "-0"], [0, 2**32 - 1, 0]),
    ("u64", ["18446744073709551615", None], [2**64 - 1, None]),
    ("f64", ["1", "1.", ".5", "-1.5e-3", "1E5", None, ""], [1.0, 1.0, 0.5, -0.0015, 100000.0, None, None]),
    ("f64", ["1.7976931348623157e308", "5e-324", "+1"], [1.7976931348623157e308, 5e-324, 1.0]),
    ("f32", ["0.1", "3.4028234663852886e38"], [0.10000000149011612, 3.4028234663852886e38]),
    ("day", ["2024-05-01", "20240501", "2024-05-01T23:00:00-02:00", None, ""], [DAY, DAY, DAY + 1, None, None]),
    ("time", ["2024-05-01T12:00:00Z", "2024-05-01", None], [NOON, NOON - 43_200_000, None]),
    ("vec", ["[1, 2.5, -3e0]", None, "", " [1,2,3]"], [[1.0, 2.5, -3.0], None, None, [1.0, 2.0, 3.0]]),
    ("body", ["aGk=", "base64:aGk=", "base64:", None, ""], [b"hi", b"hi", b"", None, None]),
    ("texts", ['["a", "b"]', "[]", None, "", '["{x}\\n"]'], [["a", "b"], [], None, None, ["{x}\n"]]),
    ("flags", ["[true, false]"], [[True, False]]),
    ("counts", ["[1, -2]", "[]"], [[1, -2], []]),
    ("floats", ["[0.5, 1]"], [[0.5, 1.0]]),
    ("days", ['["2024-05-01", 19844]'], [[DAY, DAY]]),
    ("times", ['["2024-05-01T12:00:00Z"]'], [[NOON]]),
]


@pytest.mark.parametrize(("name", "cells", "stored"), ACCEPTED)
def test_texts_become_values_of_their_property(name, cells, stored):
    fitted = fit(name, cells)
    assert not fitted.misfits
    assert fitted.values.type == THING.schema.field(name).type
    assert values_of(fitted, name) == stored


@pytest.mark.parametrize("name", [each for each in THING.schema.names if each in THING.type.by_name])
def test_a_column_without_cells_and_one_of_nothing_are_null(name):
    assert values_of(fit(name, [None, None]), name) == [None, None]
    assert values_of(fit(name, []), name) == []


def test_a_float_that_is_zero_keeps_its_sign():
    assert [math.copysign(1, each) for each in values_of(fit("f64", ["-0", "-0.0", "0"]), "f64")] == [-1, -1, 1]


REFUSED = [
    ("flag", "1", "wrong_type", 'expects Bool?, got "1": write true or false'),
    ("flag", "ja", "wrong_type", "write true or false"),
    ("flag", "fal\u017fe", "wrong_type", "write true or false"),
    ("i32", "2147483648", "out_of_range", "expects I32?, got 2147483648: outside -2147483648 to 2147483647"),
    ("i32", "-" + "9" * 6000, "out_of_range", "...: outside"),
    ("i32", "3.0", "wrong_type", 'got "3.0": write it without a fraction'),
    ("i32", "1e3", "wrong_type", "write it without a fraction"),
    ("i32", "0x1F", "wrong_type", 'got "0x1F": an integer is digits only'),
    ("i32", " 5", "wrong_type", 'got " 5": an integer is digits only'),
    ("i32", "1_000", "wrong_type", "digits only"),
    ("i32", "٣", "wrong_type", "digits only"),
    ("i32", "--1", "wrong_type", "digits only"),
    ("i64", "9223372036854775808", "out_of_range", "outside"),
    ("u32", "-1", "out_of_range", "got -1: outside 0 to 4294967295"),
    ("u64", "18446744073709551616", "out_of_range", "outside"),
    ("f64", "NaN", "out_of_range", 'got "NaN": only finite numbers can be stored'),
    ("f64", "-Infinity", "out_of_range", "only finite numbers"),
    ("f64", "1e400", "out_of_range", "expects F64?, got 1e400: too large for F64"),
    ("f64", "1,5", "wrong_type", 'got "1,5": a number has a point'),
    ("f64", "1 ", "wrong_type", "no blanks"),
    ("f64", "0x1p3", "wrong_type", "a number has"),
    ("f32", "1e39", "out_of_range", "got 1e39: too large for F32"),
    ("day", "yesterday", "bad_date", '"yesterday" is not a Date'),
    ("day", "19844", "bad_date", "is not a Date"),
    ("time", "2024-05-01T12:00Z", "bad_date", "the seconds are missing"),
    ("vec", "[1, 2]", "bad_vector", "expects 3 dimensions, got 2"),
    ("vec", "[1, 2, null]", "bad_vector", "element 3 is null"),
    ("vec", "[1, 2, 1e39]", "bad_vector", "must stay finite as F32"),
    ("vec", "1;2;3", "wrong_type", 'got "1;2;3": a list is written as a JSON array'),
    ("vec", "[1, 2, NaN]", "wrong_type", "JSON array"),
    ("vec", "null", "wrong_type", "JSON array"),
    ("body", "aGk", "bad_base64", "in the standard alphabet with padding"),
    ("body", "https://example.org/x", "bad_base64", "standard alphabet"),
    ("texts", "a", "wrong_type", "JSON array"),
    ("texts", '{"a": 1}', "wrong_type", "JSON array"),
    ("texts", '["a"], "cell": ["b"]', "wrong_type", "JSON array"),
    ("texts", '["a"]}\n{"cell": ["b"]', "wrong_type", "JSON array"),
    ("texts", "[" * 100_000, "wrong_type", "JSON array"),
    ("texts", '["a", 1]', "bad_item", "item 2 expects String, got 1"),
    ("counts", "[1, 2147483648]", "bad_item", "item 2 expects I32, got 2147483648"),
    ("counts", "[null]", "bad_item", "item 1 is null"),
    ("days", '["x"]', "bad_item", "item 1 expects Date"),
]
FITTING = {name: cells[0] for name, cells, _ in reversed(ACCEPTED)}


@pytest.mark.parametrize(("name", "text", "reason", "words"), REFUSED)
def test_a_cell_that_does_not_fit_is_told_and_those_around_it_stay(name, text, reason, words):
    cells = [FITTING[name], text, None, text, FITTING[name]]
    fitted = fit(name, cells)
    (misfits,) = fitted.misfits
    assert (misfits.rows.tolist(), str(misfits.reason)) == ([1, 3], reason)
    assert words in misfits.tell(1)
    assert misfits.tell(3) == misfits.tell(1)
    stored = values_of(fitted, name)
    (expected,) = values_of(fit(name, [FITTING[name]]), name)
    assert [stored[0], stored[2], stored[4]] == [expected, None, expected]


@pytest.mark.parametrize("name", ["text", "i32", "day", "vec"])
def test_bytes_that_are_no_text_are_told_for_every_type(name):
    good = FITTING[name].encode()
    cells = pa.array([good, b"\xff", None], pa.binary()).view(pa.string())
    fitted = fit_text_column(cells, THING.schema.field(name).type, THING.type.by_name[name].type)
    (misfits,) = fitted.misfits
    assert (misfits.rows.tolist(), misfits.reason) == ([1], "invalid_utf8")
    assert values_of(fitted, name)[0] == values_of(fit(name, [FITTING[name]]), name)[0]


INTEGERS = st.integers(-(2**70), 2**70).map(str)
NUMBERS = st.floats().map(str) | INTEGERS
ANY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
ODD = st.text('+-0123456789.eExXnaif []{},:"\\\n\t', min_size=1, max_size=8)
SPELLED = {
    "flag": st.sampled_from(["true", "FALSE", "True", "0", "yes"]),
    "i32": INTEGERS | st.integers(-(2**31), 2**31 - 1).map(str),
    "u64": INTEGERS | st.integers(0, 2**64 - 1).map(str),
    "f32": NUMBERS,
    "f64": NUMBERS,
    "body": st.binary(max_size=4).map(lambda content: base64.b64encode(content).decode() or "base64:"),
    "vec": st.lists(st.floats() | st.integers(-3, 3), max_size=4).map(json.dumps),
    "texts": st.lists(st.text(max_size=3) | st.none(), max_size=3).map(json.dumps),
    "counts": st.lists(st.integers(-(2**33), 2**33) | st.booleans(), max_size=3).map(json.dumps),
    "floats": st.lists(st.floats() | st.integers(-3, 3), max_size=3).map(json.dumps),
    "times": st.lists(st.sampled_from(["2024-05-01", "x", "2024-05-01T10:00:00Z"]), max_size=2).map(json.dumps),
}


@given(st.data(), st.sampled_from(sorted(SPELLED)))
def test_whole_columns_are_converted_as_cells_one_by_one(data, name):
    cells = data.draw(st.lists(SPELLED[name] | ANY_TEXT | ODD | st.none(), max_size=5))
    of, wanted = THING.type.by_name[name].type, THING.schema.field(name).type
    quick, exact = fit(name, cells), fit_one_by_one(pa.array(cells, pa.string()), wanted, of)
    told = [sorted((row, str(each.reason), each.tell(row)) for each in one.misfits for row in each.rows.tolist())
            for one in (quick, exact)]  # fmt: skip
    assert told[0] == told[1]
    assert repr(values_of(quick, name)) == repr(values_of(exact, name))


ENDED = st.sampled_from(
    ['["a"]', '["a"]}', '{"cell":["b"]', '{"cell":["b"]}', "}", "\n", ",", "[", '["', '"]', "{", " "]
)


@given(st.lists(st.lists(ENDED, min_size=1, max_size=5).map("".join), min_size=1, max_size=4))
def test_no_cell_ends_where_another_begins(cells):
    of, wanted = THING.type.by_name["texts"].type, THING.schema.field("texts").type
    exact = fit_one_by_one(pa.array(cells), wanted, of)
    quick = fit("texts", cells)
    assert values_of(quick, "texts") == values_of(exact, "texts")
    assert [each.rows.tolist() for each in quick.misfits] == [each.rows.tolist() for each in exact.misfits]


@pytest.mark.parametrize("name", ["flag", "i32", "i64", "u32", "u64", "f32", "f64", "vec", "texts", "counts", "floats"])
def test_the_usual_spelling_is_converted_a_whole_column_at_a_time(name, monkeypatch):
    monkeypatch.setattr(text_columns, "fit_one_by_one", None)
    assert not fit(name, [FITTING[name], None, "", FITTING[name]]).misfits
