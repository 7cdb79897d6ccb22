"""Values: what JSON each type takes, what is stored for it, and how each misfit is told."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum

import numpy as np
import pytest
from load_world import load, node, odd_node

from omnigraph.write.records.reasons import MEANINGS, Reason

NOON = 1_767_614_400_000
"""2026-01-05T12:00:00Z, by ``date -d 2026-01-05T12:00:00Z +%s``."""
DAY = 20_458
"""2026-01-05, the same divided by the seconds of a day."""

ACCEPTED = [
    ("text", '""', ""),
    ("text", '"a\\u0000\\ud83d\\ude00\\"\\\\/\\n"', 'a\x00😀"\\/\n'),
    ("text", '"héllo ☃"', "héllo ☃"),
    ("kind", '"red"', "red"),
    ("kind", '"no such value is not judged here"', "no such value is not judged here"),
    ("flag", "true", True),
    ("flag", "false", False),
    ("i32", "2147483647", 2**31 - 1),
    ("i32", "-2147483648", -(2**31)),
    ("i32", "-0", 0),
    ("i64", "9223372036854775807", 2**63 - 1),
    ("i64", "-9223372036854775808", -(2**63)),
    ("u32", "0", 0),
    ("u32", "4294967295", 2**32 - 1),
    ("u64", "18446744073709551615", 2**64 - 1),
    ("f32", "4", 4.0),
    ("f32", "0.1", 0.10000000149011612),
    ("f32", "3.4028235e38", 3.4028234663852886e38),
    ("f32", "1e-400", 0.0),
    # Read as F64 first: halfway between two F32, of which the even one is taken.
    ("f32", "1.00000017881393432617187499", 1.0000002384185791),
    ("f64", "7", 7.0),
    ("f64", "1e308", 1e308),
    ("f64", "5e-324", 5e-324),
    ("f64", "1000000000000000000000000000000", 1e30),
    ("f64", "9007199254740993", 9007199254740992.0),
    ("day", '"2026-01-05"', DAY),
    ("day", '"20260105"', DAY),
    ("day", '"2026-1-5"', DAY),
    ("day", '"+12345-01-01"', 3_789_391),
    ("day", '"-0044-03-15"', -735_525),
    ("day", '"0000-01-01"', -719_528),
    ("day", '"9999-12-31"', 2_932_896),
    ("day", '"2026-01-05T23:30:00-02:00"', DAY + 1),
    ("day", "20458", DAY),
    ("day", "-1", -1),
    ("time", '"2026-01-05"', DAY * 86_400_000),
    ("time", '"2026-01-05T12:00:00Z"', NOON),
    ("time", '"2026-01-05t12:00:00"', NOON),
    ("time", '"2026-01-05 120000"', NOON),
    ("time", '"2026-01-05T14:00:00+02:00"', NOON),
    ("time", '"2026-01-05T14:00:00+0200"', NOON),
    ("time", '"2026-01-05T04:00:00 -08"', NOON),
    ("time", '"2026-01-05T12:00:00.5Z"', NOON + 500),
    ("time", '"2026-01-05T12:00:00.1239999Z"', NOON + 123),
    ("time", '"1969-12-31T23:59:59.9999Z"', -1),
    ("time", "1767614400000", NOON),
    ("time", "-1", -1),
    ("vec", "[1, 2.5, -3e2]", [1.0, 2.5, -300.0]),
    ("vec", "[16777217, 0, 0]", [16777216.0, 0.0, 0.0]),
    ("texts", "[]", []),
    ("texts", '["", "b"]', ["", "b"]),
    ("flags", "[true, false]", [True, False]),
    ("counts", "[1, -2]", [1, -2]),
    ("floats", "[1, 0.5]", [1.0, 0.5]),
    ("days", '["2026-01-05", "1970-01-01"]', [DAY, 0]),
    ("times", '["2026-01-05T12:00:00Z", "1970-01-01T00:00:00.001Z"]', [NOON, 1]),
    ("days", "[1, 2]", [1, 2]),
    ("body", '"base64:"', b""),
    ("body", '"base64:AAEC/w=="', b"\x00\x01\x02\xff"),
    *((name, "null", None) for name in ("text", "flag", "i32", "f32", "day", "time", "vec", "body", "texts")),
]

OUT = "out_of_range"
WRONG = "wrong_type"
REFUSED = [
    ("text", "5", WRONG, "Thing.text expects String?, got 5"),
    ("text", "true", WRONG, "expects String?, got true"),
    ("text", "[]", WRONG, "expects String?, got []"),
    ("text", "{}", WRONG, "expects String?, got an object"),
    ("text", '"\\ud800"', "bad_text", "surrogate"),
    ("text", '"a\\udc00b"', "bad_text", "surrogate"),
    ("kind", "1", WRONG, "expects enum(blue, red)?, got 1"),
    ("flag", "1", WRONG, "expects Bool?, got 1"),
    ("flag", '"true"', WRONG, 'expects Bool?, got "true"'),
    ("i32", "2147483648", OUT, "expects I32?, got 2147483648: outside -2147483648 to 2147483647"),
    ("i32", "-2147483649", OUT, "outside"),
    ("i32", "3.0", WRONG, "expects I32?, got 3.0: write it without a fraction"),
    ("i32", "3.5", WRONG, "expects I32?, got 3.5"),
    ("i32", "1e2", WRONG, "expects I32?"),
    ("i32", '"1"', WRONG, 'expects I32?, got "1"'),
    ("i32", "true", WRONG, "expects I32?, got true"),
    ("i32", "1000000000000000000000000000000", OUT, "outside"),
    ("i64", "9223372036854775808", OUT, "outside"),
    ("i64", "-9223372036854775809", OUT, "outside"),
    ("u32", "-1", OUT, "expects U32?, got -1: outside 0 to 4294967295"),
    ("u32", "4294967296", OUT, "outside"),
    ("u64", "-1", OUT, "outside"),
    ("u64", "18446744073709551616", OUT, "outside 0 to 18446744073709551615"),
    ("f32", "3.5e38", OUT, "too large for F32"),
    ("f32", "-1e39", OUT, "too large for F32"),
    ("f64", "1e400", OUT, "only finite numbers"),
    ("f64", "1" + "0" * 400, OUT, "too large for F64"),
    ("f64", '"1.5"', WRONG, 'expects F64?, got "1.5"'),
    ("f64", "false", WRONG, "expects F64?, got false"),
    ("f64", "NaN", "malformed_json", "NaN is no JSON number"),
    ("f64", "Infinity", "malformed_json", "Infinity is no JSON number"),
    ("f64", "-Infinity", "malformed_json", "-Infinity is no JSON number"),
    ("day", '"2026-02-30"', "bad_date", "there is no day 30 in February 2026"),
    ("day", '"2026-13-01"', "bad_date", "there is no month 13"),
    ("day", '"yesterday"', "bad_date", "is not a Date"),
    ("day", '""', "bad_date", "it is empty"),
    ("day", '" 2026-01-05"', "bad_date", "blanks"),
    ("day", "1.5", WRONG, "expects Date?, got 1.5"),
    ("day", "99999999999", OUT, "the year must be between"),
    ("day", "true", WRONG, "expects Date?"),
    ("time", '"2026-01-05T12:00Z"', "bad_date", "the seconds are missing"),
    ("time", '"2026-01-05T12:00"', "bad_date", "the seconds are missing"),
    ("time", '"2026-01-05T12+02:00"', "bad_date", "is not a DateTime"),
    ("time", '"2026-01-05T24:00:00Z"', "bad_date", "there is no hour 24"),
    ("time", '"2026-01-05T23:59:60Z"', "bad_date", "leap seconds"),
    ("time", "9223372036854775807", OUT, "the year must be between"),
    ("vec", "[1, 2]", "bad_vector", "Thing.vec expects 3 dimensions, got 2"),
    ("vec", "[]", "bad_vector", "expects 3 dimensions, got 0"),
    ("vec", '[1, "2", 3]', "bad_vector", 'element 2 is "2": elements must be numeric'),
    ("vec", "[1, null, 3]", "bad_vector", "element 2 is null: elements must be numeric"),
    ("vec", "[1, true, 3]", "bad_vector", "elements must be numeric"),
    ("vec", "[1, 2, 1e39]", "bad_vector", "element 3"),
    ("vec", '"1,2,3"', WRONG, "expects Vector(3)?"),
    ("vec", "1", WRONG, "expects Vector(3)?, got 1"),
    ("texts", '"a"', WRONG, 'expects [String]?, got "a"'),
    ("texts", '["a", null]', "bad_item", "item 2 is null"),
    ("texts", '["a", 1]', "bad_item", "item 2 expects String, got 1"),
    ("texts", '[["a"]]', "bad_item", "item 1 expects String, got ["),
    ("counts", "[1, 2.0]", "bad_item", "item 2 expects I32, got 2.0"),
    ("counts", "[1, 2147483648]", "bad_item", "item 2"),
    ("floats", "[1, 1e39]", "bad_item", "item 2"),
    ("days", '["2026-01-05", "x"]', "bad_item", "item 2"),
    ("times", '["2026-01-05T12:00"]', "bad_item", "item 1"),
    ("body", '"https://x.org/a.png"', "external_uri", 'give the bytes as "base64:..."'),
    ("body", '"AAEC"', "external_uri", "expects Blob?"),
    ("body", '"base64:AAE"', "bad_base64", "standard alphabet"),
    ("body", '"base64:AA-_"', "bad_base64", "standard alphabet"),
    ("body", '"base64:AA EC"', "bad_base64", "standard alphabet"),
    ("body", '"base64:AAEC/x=="', "bad_base64", "bits behind its end"),
    ("body", '"base64:AAEC===="', "bad_base64", "standard alphabet"),
    ("body", '"base64:é"', "bad_base64", "standard alphabet"),
    ("body", "5", WRONG, "expects Blob?, got 5"),
]


@pytest.mark.parametrize("form", [node, odd_node])
@pytest.mark.parametrize(("name", "text", "stored"), ACCEPTED)
def test_a_json_value_is_stored_as_the_type_of_its_property_says(form, name, text, stored):
    loaded = load(form("Thing", f'{{"name":"a","{name}":{text}}}'))
    assert not loaded.log
    (row,) = loaded.rows["node:Thing"]
    assert row[name] == stored
    assert type(row[name]) is type(stored)
    assert {other: value for other, value in row.items() if other not in ("id", "name", name)} == dict.fromkeys(
        row.keys() - {"id", "name", name}
    )


@pytest.mark.parametrize(("name", "text", "stored"), ACCEPTED)
def test_a_python_record_is_stored_as_the_line_with_the_same_values(name, text, stored):
    loaded = load([{"type": "Thing", "data": {"name": "a", name: json.loads(text)}}])
    assert not loaded.log
    assert loaded.rows["node:Thing"][0][name] == stored


@pytest.mark.parametrize("form", [node, odd_node])
@pytest.mark.parametrize(("name", "text", "reason", "message"), REFUSED)
def test_a_value_that_does_not_fit_is_told_with_line_property_and_reason(form, name, text, reason, message):
    lines = ["", form("Thing", '{"name":"good"}'), form("Thing", f'{{"name":"bad","{name}":{text}}}')]
    loaded = load("\n".join(lines))
    assert [row["id"] for row in loaded.rows["node:Thing"]] == ["good"]
    assert message in loaded.problem.message
    assert (loaded.problem.line, loaded.problem.reason) == (3, reason)
    if reason != "malformed_json":
        assert (loaded.problem.type_key, loaded.problem.property) == ("node:Thing", name)


@pytest.mark.parametrize("form", [node, odd_node])
def test_zero_keeps_the_sign_of_a_float_and_has_none_as_an_integer(form):
    loaded = load("\n".join(form("Thing", f'{{"name":"{name}","f64":{name}}}') for name in ("-0.0", "-0", "0.0")))
    values = [row["f64"] for row in loaded.rows["node:Thing"]]
    assert [np.signbit(each) for each in values] == [True, False, False]


@pytest.mark.parametrize("name", ["f64", "floats", "vec", "f32"])
def test_a_zero_without_fraction_is_the_same_in_a_block_and_alone(name):
    value = {"floats": "[-0]", "vec": "[-0, 1, 2]"}.get(name, "-0")
    block, alone = (load(form("Thing", f'{{"name":"a","{name}":{value}}}')) for form in (node, odd_node))
    read = [np.signbit(np.ravel(each.rows["node:Thing"][0][name])[0]) for each in (block, alone)]
    assert read == [False, False]


def test_python_dates_bytes_and_arrays_are_values_too():
    class Colour(StrEnum):
        RED = "red"

    offset = timezone(timedelta(hours=2))
    loaded = load(
        [
            {
                "type": "Thing",
                "data": {
                    "name": "a",
                    "kind": Colour.RED,
                    "flag": np.bool_(True),
                    "i32": np.int64(7),
                    "f64": np.float32(0.5),
                    "day": datetime(2026, 1, 6, 1, 30, tzinfo=offset),
                    "time": datetime(2026, 1, 5, 14, 0, 0, 1999, tzinfo=offset),
                    "days": [date(2026, 1, 5)],
                    "times": (datetime(2026, 1, 5, 12),),
                    "vec": np.array([1, 2, 3]),
                    "body": b"\x00",
                    "texts": ("a", "b"),
                },
            },
            {"type": "Thing", "data": {"name": "b", "time": date(2026, 1, 5), "body": bytearray(b"x")}},
        ]
    )
    assert not loaded.log
    first, second = loaded.rows["node:Thing"]
    expected = {
        "kind": "red", "flag": True, "i32": 7, "f64": 0.5, "day": DAY, "time": NOON + 1, "days": [DAY],
        "times": [NOON], "vec": [1.0, 2.0, 3.0], "body": b"\x00", "texts": ["a", "b"],
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert (second["time"], second["body"]) == (DAY * 86_400_000, b"x")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("f64", float("nan"), OUT),
        ("f64", float("inf"), OUT),
        ("vec", [0.0, float("nan"), 0.0], "bad_vector"),
        ("floats", [float("-inf")], "bad_item"),
        ("text", b"bytes", WRONG),
        ("text", object(), WRONG),
        pytest.param("text", "\ud800", "bad_text", id="half-a-pair"),
        pytest.param("i32", 10**5000, OUT, id="five-thousand-digits"),
        pytest.param("body", "base64:\ud800", "bad_base64", id="half-a-pair-in-base64"),
        ("time", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))), OUT),
    ],
)
def test_python_values_that_json_has_not_are_refused(name, value, reason):
    loaded = load([{"type": "Thing", "data": {"name": "a", name: value}}])
    assert loaded.problems == [(1, reason, name)]
    assert loaded.problem.message.isprintable()
    loaded.problem.message.encode()


def test_a_long_value_is_shown_short():
    loaded = load(node("Thing", json.dumps({"name": "a", "i32": "x" * 100_000})))
    assert len(loaded.problem.message) < 200


def test_a_large_blob_keeps_every_byte():
    content = bytes(range(256)) * 8_000
    loaded = load(node("Thing", json.dumps({"name": "a", "body": f"base64:{base64.b64encode(content).decode()}"})))
    assert loaded.rows["node:Thing"][0]["body"] == content


def test_all_that_is_wrong_with_a_record_is_told_at_once():
    loaded = load(node("Thing", '{"i32":"x","day":"y","colour":1,"id":5}'))
    assert sorted(loaded.problems) == [
        (1, "bad_date", "day"),
        (1, "missing_required", "name"),
        (1, "unknown_field", "colour"),
        (1, WRONG, "i32"),
        (1, WRONG, "id"),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{}", "missing required property 'text' of Memo"),
        ('{"text":null}', "non-nullable property 'text' of Memo is null"),
    ],
)
@pytest.mark.parametrize("form", [node, odd_node])
def test_a_required_property_must_have_a_value(form, data, message):
    loaded = load(form("Memo", data))
    assert loaded.problems == [(1, "missing_required", "text")]
    assert loaded.problem.message == message


def test_dates_of_python_are_in_utc_when_they_have_no_zone():
    loaded = load([{"type": "Thing", "data": {"name": "a", "time": datetime(2026, 1, 5, 12, tzinfo=UTC)}},
                   {"type": "Thing", "data": {"name": "b", "time": datetime(2026, 1, 5, 12)}}])  # fmt: skip
    assert [row["time"] for row in loaded.rows["node:Thing"]] == [NOON, NOON]


def test_every_reason_has_a_meaning_of_one_line():
    assert list(MEANINGS) == list(Reason)
    assert all(text.endswith(".") and "\n" not in text for text in MEANINGS.values())
