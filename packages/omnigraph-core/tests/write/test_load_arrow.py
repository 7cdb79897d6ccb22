"""Arrow data by type name: columns are matched by name, cast without loss, and told row by row where they cannot be."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_world import SCHEMA, load

import omnigraph as og
from omnigraph.errors import InvalidInputError
from omnigraph.history.ulids import new_ulid
from omnigraph.lang.dates import parse_date, parse_datetime
from omnigraph.lang.types import Scalar
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records.date_columns import parse_texts
from omnigraph.write.records.reading import read_records

NOON = 1_767_614_400_000
DAY = 20_458


def load_column(name, values):
    """One column of Thing beside its key."""
    return load({"Thing": pa.table({"name": [f"t{row}" for row in range(len(values))], name: values})})


ACCEPTED = [
    ("text", pa.array(["a", None, ""]), ["a", None, ""]),
    ("text", pa.array(["a", None], pa.large_string()), ["a", None]),
    ("text", pa.array(["a", None, "longer than twelve"], pa.string_view()), ["a", None, "longer than twelve"]),
    ("text", pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
    ("text", pa.array(["a", "a", "b"], pa.large_string()).dictionary_encode(), ["a", "a", "b"]),
    ("text", pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), ["a", "a", "b"]),
    ("text", pa.nulls(2), [None, None]),
    ("kind", pa.array(["red"]).dictionary_encode(), ["red"]),
    ("flag", pa.array([True, None]), [True, None]),
    ("i32", pa.array([2**31 - 1, -(2**31), None], pa.int64()), [2**31 - 1, -(2**31), None]),
    ("i32", pa.array([1], pa.uint8()), [1]),
    ("i64", pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
    ("u64", pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
    ("u64", pa.array([0, 5], pa.int8()), [0, 5]),
    (
        "u64",
        pa.array([decimal.Decimal(2**64 - 1), None, decimal.Decimal(0)], pa.decimal128(20, 0)),
        [2**64 - 1, None, 0],
    ),
    ("i64", pa.array([decimal.Decimal(-(2**63))], pa.decimal256(40, 0)), [-(2**63)]),
    ("u32", pa.array([decimal.Decimal(700)], pa.decimal128(5, -2)), [700]),
    ("i32", pa.array([decimal.Decimal(-1), None], pa.decimal32(5, 0)), [-1, None]),
    ("counts", pa.array([[decimal.Decimal(7)], None], pa.list_(pa.decimal64(12, 0))), [[7], None]),
    ("f32", pa.array([0.1, None], pa.float64()), [0.10000000149011612, None]),
    ("f32", pa.array([2**24, -(2**24)], pa.int64()), [16777216.0, -16777216.0]),
    ("f64", pa.array([0.1], pa.float32()), [0.10000000149011612]),
    ("f64", pa.array([np.float16(0.5)], pa.float16()), [0.5]),
    ("f64", pa.array([2**53], pa.uint64()), [float(2**53)]),
    ("f64", pa.array([-0.0]), [-0.0]),
    ("day", pa.array([DAY, None], pa.int32()).cast(pa.date32()), [DAY, None]),
    ("day", pa.array([NOON, -1, None], pa.int64()).view(pa.date64()), [DAY, -1, None]),
    ("day", pa.array([NOON * 1000 + 1, -1, None], pa.int64()).cast(pa.timestamp("us", "UTC")), [DAY, -1, None]),
    ("day", pa.array([DAY, None], pa.int64()), [DAY, None]),
    ("day", pa.array(["2026-01-05", "2026-1-5", None]), [DAY, DAY, None]),
    ("time", pa.array([NOON, None], pa.int64()).view(pa.date64()), [NOON, None]),
    ("time", pa.array([DAY], pa.int32()).cast(pa.date32()), [DAY * 86_400_000]),
    ("time", pa.array([NOON // 1000], pa.timestamp("s")), [NOON]),
    ("time", pa.array([NOON], pa.timestamp("ms", "America/New_York")), [NOON]),
    ("time", pa.array([NOON * 1000 + 999, -1, None], pa.timestamp("us")), [NOON, -1, None]),
    ("time", pa.array([NOON * 1_000_000 + 999_999, -1], pa.timestamp("ns", "UTC")), [NOON, -1]),
    ("time", pa.array([NOON], pa.int64()), [NOON]),
    ("time", pa.array(["2026-01-05T12:00:00Z", None, "2026-01-05T12:00:00Z"], pa.large_string()), [NOON, None, NOON]),
    ("vec", pa.array([[1, 2, 3], None], pa.list_(pa.float32(), 3)), [[1, 2, 3], None]),
    ("vec", pa.array([[1, 2, 3]], pa.list_(pa.float64(), 3)), [[1, 2, 3]]),
    ("vec", pa.array([[1, 2, 3], None, [4, 5, 6]], pa.list_(pa.float32())), [[1, 2, 3], None, [4, 5, 6]]),
    ("vec", pa.array([[1, 2, 3]], pa.large_list(pa.int64())), [[1, 2, 3]]),
    ("vec", pa.array([None, [1, 2, 3]], pa.list_view(pa.float64())), [None, [1, 2, 3]]),
    ("texts", pa.array([["a"], [], None], pa.list_(pa.large_string())), [["a"], [], None]),
    ("texts", pa.array([["a", "b"]], pa.large_list(pa.string())), [["a", "b"]]),
    ("texts", pa.array([["a", "b"], None], pa.list_(pa.string(), 2)), [["a", "b"], None]),
    ("texts", pa.array([["a"], None, []], pa.list_view(pa.string_view())), [["a"], None, []]),
    ("counts", pa.array([[1], None], pa.list_(pa.int64())), [[1], None]),
    ("floats", pa.array([[0.5]], pa.list_(pa.float64())), [[0.5]]),
    ("days", pa.array([["2026-01-05"], []]), [[DAY], []]),
    ("times", pa.array([[NOON], None], pa.list_(pa.timestamp("ms"))), [[NOON], None]),
    ("flags", pa.array([[True]]), [[True]]),
    ("body", pa.array([b"\x00", b"", None], pa.binary()), [b"\x00", b"", None]),
    ("body", pa.array([b"\x00"], pa.large_binary()), [b"\x00"]),
    ("body", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
    ("body", pa.array([b"a", None], pa.binary_view()), [b"a", None]),
]


@pytest.mark.parametrize(("name", "values", "stored"), ACCEPTED, ids=lambda value: str(getattr(value, "type", "")))
def test_a_column_is_cast_to_the_type_of_its_property(name, values, stored):
    loaded = load_column(name, values)
    assert not loaded.log
    assert [row[name] for row in loaded.rows["node:Thing"]] == stored


@pytest.mark.parametrize(("name", "values", "stored"), ACCEPTED, ids=lambda value: str(getattr(value, "type", "")))
def test_a_slice_is_read_as_what_it_shows(name, values, stored):
    padded = pa.concat_arrays([values, values]).slice(1, len(values))
    loaded = load_column(name, padded)
    assert not loaded.log
    assert [row[name] for row in loaded.rows["node:Thing"]] == (stored + stored)[1 : len(stored) + 1]


OUT = "out_of_range"
BAD_ROWS = [
    ("i32", pa.array([1, 2**31, None, -(2**31) - 1], pa.int64()), {2: OUT, 4: OUT}, "got 2147483648: outside"),
    ("i32", pa.array([2**63], pa.uint64()), {1: OUT}, "outside"),
    ("u32", pa.array([-1, 0], pa.int8()), {1: OUT}, "got -1: outside 0 to 4294967295"),
    ("u64", pa.array([-1, 0], pa.int64()), {1: OUT}, "outside"),
    ("u64", pa.array([decimal.Decimal(2**64), None, decimal.Decimal(-1), decimal.Decimal(5)], pa.decimal128(20, 0)),
     {1: OUT, 3: OUT}, "got 18446744073709551616: outside 0 to 18446744073709551615"),
    ("i32", pa.array([decimal.Decimal(2**31)], pa.decimal256(60, 0)), {1: OUT}, "got 2147483648: outside"),
    ("f32", pa.array([1e39, 1.0, float("nan")]), {1: OUT, 3: OUT}, "too large for F32"),
    ("f64", pa.array([1.0, float("inf"), None, float("nan")]), {2: OUT, 4: OUT}, "only finite numbers"),
    ("f64", pa.array([1, 2**53 + 1], pa.int64()), {2: OUT}, "got 9007199254740993"),
    ("f32", pa.array([2**24 + 1], pa.int32()), {1: OUT}, "got 16777217"),
    ("day", pa.array([2**31 - 1, 0], pa.int32()).view(pa.date32()), {1: OUT}, "got 2147483647: the year"),
    ("day", pa.array(["x", "2026-01-05"]), {1: "bad_date"}, 'expects Date?: "x" is not a Date'),
    ("time", pa.array([2**62, 0], pa.int64()).view(pa.date64()), {1: OUT}, "the year must be between"),
    ("time", pa.array([2**62, -(2**63), 0], pa.int64()).view(pa.timestamp("s")), {1: OUT, 2: OUT}, "the year"),
    ("time", pa.array(["2026-01-05T12:00Z"]), {1: "bad_date"}, "the seconds are missing"),
    ("vec", pa.array([[1, 2], [1, 2, 3], None]), {1: "bad_vector"}, "expects 3 dimensions, got 2"),
    ("vec", pa.array([[1.0, None, 3.0], [1.0, 2.0, 3.0]]), {1: "bad_vector"}, "element 2 is null: elements must"),
    ("vec", pa.array([[1.0, 2.0, 3.0], [1.0, 2.0, 1e39]]), {2: "bad_vector"}, "element 3 is 1e+39: must stay finite"),
    ("vec", pa.array([[1.0, 2.0, float("nan")]], pa.list_(pa.float32(), 3)), {1: "bad_vector"}, "element 3 is NaN"),
    ("vec", pa.array([[1.0], [1.0, 2.0, float("nan")]]), {1: "bad_vector", 2: "bad_vector"}, "got 1"),
    ("texts", pa.array([["a"], ["a", None]]), {2: "bad_item"}, "item 2 is null"),
    ("counts", pa.array([[1, 2**31], None, [2**31]]), {1: "bad_item", 3: "bad_item"}, "item 2 expects I32, got"),
    ("days", pa.array([["2026-01-05", "x"]]), {1: "bad_item"}, "item 2 expects Date"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "bad", "message"), BAD_ROWS)
def test_rows_that_do_not_fit_are_told_by_their_ordinal_and_left_out(name, values, bad, message):
    loaded = load_column(name, values)
    assert {each.line: each.reason for each in loaded.log.kept} == bad
    assert {(each.property, each.type_key, each.source) for each in loaded.log.kept} == {(name, "node:Thing", None)}
    assert [each.place for each in loaded.log.kept] == [f"record {each.line} of Thing" for each in loaded.log.kept]
    assert message in loaded.log.kept[0].message
    good = [row for row in range(1, len(values) + 1) if row not in bad]
    assert loaded.lines.get("node:Thing", []) == good


WRONG = "wrong_type"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("text", pa.array([1])),
        ("text", pa.array([b"a"])),
        ("flag", pa.array([1])),
        ("i32", pa.array([1.0])),
        ("i32", pa.array(["1"])),
        ("i32", pa.array([True])),
        ("i32", pa.array([decimal.Decimal("1.0")])),
        ("u64", pa.array([decimal.Decimal("1.5")])),
        ("f64", pa.array(["1"])),
        ("f64", pa.array([decimal.Decimal("1.5")])),
        ("day", pa.array([1.5])),
        ("time", pa.array([dt.time(12)])),
        ("vec", pa.array([1.5])),
        ("vec", pa.array([["a", "b", "c"]])),
        ("texts", pa.array(["a"])),
        ("texts", pa.array([[1]])),
        ("counts", pa.array([[1.5]])),
        ("body", pa.array(["base64:AA=="])),
    ],
)
def test_a_column_of_another_type_is_told_once(name, values):
    loaded = load_column(name, pa.concat_arrays([values] * 5))
    assert loaded.problems == [(None, WRONG, name)]
    assert loaded.problem.message.startswith(f"Thing.{name} expects ")
    assert str(values.type) in loaded.problem.message or "list" in str(values.type)
    assert not loaded.batches


def test_texts_that_are_not_utf8_are_told_by_row():
    bad = pa.array([b"ok", b"\xff", None]).view(pa.string())
    loaded = load_column("text", bad)
    assert loaded.problems == [(2, "invalid_utf8", "text")]


def test_what_lies_under_a_null_does_not_matter():
    nan = pa.Array.from_buffers(
        pa.float64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1.0, np.nan]))], null_count=1
    )
    offsets = pa.array([0, 1, 3], pa.int32())
    items = pa.array(["a", None, "c"])
    lists = pa.ListArray.from_arrays(offsets, items, mask=pa.array([False, True]))
    loaded = load({"Thing": pa.table({"name": ["a", "b"], "f64": nan, "texts": lists})})
    assert not loaded.log
    assert [(row["f64"], row["texts"]) for row in loaded.rows["node:Thing"]] == [(1.0, ["a"]), (None, None)]


def test_columns_that_fit_are_not_copied():
    table = pa.table({"name": ["a", "b"], "f64": [1.0, 2.0], "i32": pa.array([1, 2], pa.int32())})
    (typed,) = load({"Thing": table}).batches
    for name in ("name", "f64", "i32"):
        given_buffers = table[name].chunk(0).buffers()
        assert [each and each.address for each in typed.rows[name].buffers()] == [
            each and each.address for each in given_buffers
        ]
    assert typed.rows["id"].buffers()[2].address == table["name"].chunk(0).buffers()[2].address


# ── nodes and edges ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_missing_columns_are_null_and_ids_come_of_keys():
    loaded = load({"Seat": pa.table({"row": [7, 8], "place": ["a", "b"]}), "node:Memo": pa.table({"text": ["m"]})})
    assert loaded.rows == {
        "node:Seat": [
            {"id": '["a","7"]', "note": None, "place": "a", "row": 7},
            {"id": '["b","8"]', "note": None, "place": "b", "row": 8},
        ],
        "node:Memo": [{"id": None, "stars": None, "text": "m"}],
    }


def test_given_ids_are_kept_or_held_against_the_key():
    loaded = load(
        {
            "node:Memo": pa.table({"id": ["x", None], "text": ["m", "n"]}),
            "Thing": pa.table({"id": ["a", "wrong", None], "name": ["a", "b", "c"]}),
        }
    )
    assert [row["id"] for row in loaded.rows["node:Memo"]] == ["x", None]
    assert [row["id"] for row in loaded.rows["node:Thing"]] == ["a", "c"]
    assert loaded.problems == [(2, "id_mismatch", "id")]


@pytest.mark.parametrize("ends", [("src", "dst"), ("from", "to"), ("src", "to")])
def test_an_edge_has_two_ends_under_either_name(ends):
    loaded = load({"Likes": pa.table({ends[0]: ["a"], ends[1]: ["b"], "note": ["n"]})})
    assert loaded.rows == {"edge:Likes": [{"id": None, "src": "a", "dst": "b", "note": "n", "since": None}]}


def test_an_edge_without_an_end_is_told_by_row():
    loaded = load({"Likes": pa.table({"src": ["a", None], "dst": ["b", "c"]})})
    assert loaded.problems == [(2, "missing_required", "src")]
    assert loaded.lines == {"edge:Likes": [1]}


@pytest.mark.parametrize(
    ("name", "table", "problem", "message"),
    [
        ("Likes", pa.table({"dst": ["b"]}), ("bad_envelope", "from"), "neither is there"),
        ("Likes", pa.table({"src": ["a"], "from": ["a"], "dst": ["b"]}), ("bad_envelope", "from"), "both are there"),
        ("Rates", pa.table({"src": ["a"], "dst": ["b"]}), ("missing_required", "stars"), "property 'stars' of Rates"),
        ("Thing", pa.table({"name": ["a"], "colour": [1]}), ("unknown_field", "colour"), "unknown input field"),
        ("Thing", pa.table({"name": ["a"], "src": ["x"]}), ("unknown_field", "src"), "unknown input field"),
        ("Thing", pa.table({"name": ["a"], "texd": [1]}), ("unknown_field", "texd"), 'did you mean "text"?'),
        ("Thingy", pa.table({"name": ["a"]}), ("unknown_type", None), 'did you mean "Thing"?'),
        ("node:Likes", pa.table({"name": ["a"]}), ("unknown_type", None), "it is an edge type"),
        ("Memo", pa.table({"text": ["a"]}), ("ambiguous_type", None), '"node:Memo" or "edge:Memo"'),
        (
            "Thing",
            pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["name", "name"]),
            ("duplicate_member", "name"),
            "occurs 2 times",
        ),
    ],
)
def test_columns_that_are_wrong_are_told_once(name, table, problem, message):
    loaded = load({name: pa.concat_tables([table] * 3)})
    assert loaded.problems == [(None, *problem)]
    assert message in loaded.problem.message
    assert not loaded.batches


def test_nulls_in_a_required_column_are_told_by_row():
    loaded = load({"node:Memo": pa.table({"text": ["a", None, "c"]})})
    assert loaded.problems == [(2, "missing_required", "text")]
    assert loaded.problem.message == "non-nullable property 'text' of Memo is null"


@pytest.mark.parametrize(
    "texts",
    [
        pa.RunEndEncodedArray.from_arrays([1, 3], pa.array(["a", None])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", None])),
    ],
)
def test_nulls_within_an_encoding_are_nulls(texts):
    loaded = load({"node:Memo": pa.table({"text": texts})})
    assert loaded.problems == [(2, "missing_required", "text"), (3, "missing_required", "text")]


def test_a_row_without_its_key_is_told_and_the_others_get_their_ids():
    loaded = load({"Weight": pa.table({"grams": [1.0, None, float("nan"), 2.0]})})
    assert [each.line for each in loaded.log.kept] == [2, 3]
    assert [row["id"] for row in loaded.rows["node:Weight"]] == ["1", "2"]


def test_a_row_that_does_not_fit_is_told_with_its_id_where_that_can_be_known():
    wrong = {"name": ["a", "b", None, "d"], "i32": pa.array([1, 2**31, 2**31, 2**40], pa.int64())}
    loaded = load({"Thing": pa.table(wrong)})
    told = [(each.line, each.property, each.id) for each in loaded.log.kept]
    assert sorted(told) == [(2, "i32", "b"), (3, "i32", None), (3, "name", None), (4, "i32", "d")]
    grams = load({"Weight": pa.table({"grams": [1.0, None, float("nan")]})})
    assert [each.id for each in grams.log.kept] == [None, None]


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Frame:
    """What a data frame of another library shows of itself."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Batch:
    """The same of a single batch."""

    def __init__(self, table):
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


TABLE = pa.table({"name": [f"t{row}" for row in range(10)], "i32": pa.array([*range(9), 2**40])})


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)]),
        lambda: TABLE.combine_chunks().to_batches()[0],
        lambda: TABLE.to_reader(max_chunksize=4),
        lambda: Frame(TABLE),
        lambda: Batch(TABLE),
    ],
    ids=["table", "chunks", "batch", "reader", "frame", "batch-like"],
)
@pytest.mark.parametrize("chunk_rows", [1, 3, 1_000])
def test_every_kind_of_arrow_data_gives_the_same(make, chunk_rows):
    loaded = load({"Thing": make()}, chunk_rows=chunk_rows)
    assert [row["id"] for row in loaded.rows["node:Thing"]] == [f"t{row}" for row in range(9)]
    assert loaded.lines["node:Thing"] == list(range(1, 10))
    assert loaded.problems == [(10, OUT, "i32")]
    assert max(each.rows.num_rows for each in loaded.batches) <= chunk_rows


def test_batches_are_bounded_by_bytes_too():
    table = pa.table({"name": [f"t{row}" for row in range(8)], "body": [b"x" * 1_000] * 8})
    loaded = load({"Thing": table}, chunk_bytes=2_500)
    assert [each.rows.num_rows for each in loaded.batches] == [2, 2, 2, 2]


def test_a_reader_is_not_read_ahead():
    asked = 0

    def batches():
        nonlocal asked
        for _ in range(5):
            asked += 1
            yield TABLE.slice(0, 2).combine_chunks().to_batches()[0]

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    next(read_records({"Thing": reader}, SCHEMA, ProblemLog()))
    assert asked == 1


def test_a_stream_that_breaks_is_told():
    def batches():
        yield TABLE.combine_chunks().to_batches()[0]
        raise pa.ArrowInvalid("damaged")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(InvalidInputError, match="The Arrow data of Thing cannot be read"):
        load({"Thing": reader})


def test_an_empty_table_gives_one_batch_without_rows_so_that_its_type_is_known():
    ends = pa.schema({"src": pa.string(), "dst": pa.null()})
    loaded = load({"Thing": TABLE.slice(0, 0), "Likes": pa.RecordBatchReader.from_batches(ends, [])})
    assert (loaded.rows, loaded.log.total) == ({"node:Thing": [], "edge:Likes": []}, 0)
    assert len(loaded.batches) == 2


def test_a_batch_without_rows_between_others_gives_nothing():
    parts = [TABLE.slice(0, 0), TABLE.slice(0, 1), TABLE.slice(0, 0), TABLE.slice(1, 1)]
    batches = [
        pa.RecordBatch.from_arrays([c.combine_chunks() for c in each.columns], schema=TABLE.schema) for each in parts
    ]
    loaded = load({"Thing": pa.RecordBatchReader.from_batches(TABLE.schema, batches)})
    assert loaded.lines == {"node:Thing": [1, 2]}
    assert len(loaded.batches) == 2


def test_an_empty_table_of_a_type_that_no_column_can_have_is_refused_as_input():
    union = pa.schema({"name": pa.dense_union([pa.field("a", pa.int8())])})
    problem = load({"Thing": pa.RecordBatchReader.from_batches(union, [])}).problem
    assert problem.message.startswith("Thing.name expects String, got an Arrow column of dense_union")


@pytest.mark.parametrize("name", [3, None, ("node", "Thing"), b"Thing"])
def test_a_type_is_named_by_text(name: object):
    problem = load({name: TABLE}).problem
    assert (problem.reason, "by the name of its type" in problem.message) == ("unknown_type", True)


def test_all_types_are_read_and_all_problems_told():
    loaded = load({"Thing": TABLE, "Nope": TABLE, "Likes": pa.table({"from": ["a"], "to": ["b"]})})
    assert loaded.lines == {"node:Thing": list(range(1, 10)), "edge:Likes": [1]}
    assert loaded.log.counts == {OUT: 1, "unknown_type": 1}


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────────────

DATE_TEXT = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda value: value.isoformat() + "Z"),
    st.datetimes().map(str),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda value: value.isoformat(timespec="milliseconds")),
    st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
        r"([T ][0-2][0-9](:[0-6][0-9]){0,2}(\.[0-9]{0,4})?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?",
        fullmatch=True,
    ),
    st.text("0123456789-:TZ +.", max_size=12),
)  # fmt: skip


@pytest.mark.parametrize(("scalar", "parse"), [(Scalar.DATE, parse_date), (Scalar.DATETIME, parse_datetime)])
def test_columns_of_dates_are_read_as_single_dates_are(scalar, parse):
    def expected(text):
        try:
            return parse(text)
        except ValueError as error:
            return str(error)

    @given(st.lists(DATE_TEXT | st.none(), max_size=3))
    def check(texts):
        counts, wrong = parse_texts(pa.array(texts, pa.string()), scalar)
        read = [wrong.get(row, count) for row, count in enumerate(counts.to_pylist())]
        assert read == [None if text is None else expected(text) for text in texts]

    check()


# ── several wrong columns ────────────────────────────────────────────────────────────────────────────────────────────

WRONG_COLUMNS = """
node Meter { code: String @key  count: I32?  share: F64?  day: Date?  on: Bool? }
edge Near: Meter -> Meter { since: Date? }
"""


def problems_of(data: Any) -> list[tuple[str, str | None, str | None, str]]:
    graph = og.init(f"memory://{new_ulid()}", schema=WRONG_COLUMNS)
    with pytest.raises(InvalidInputError) as caught:
        graph.load(data, "append")
    return [
        (each["reason"], each.get("type_key"), each.get("property"), each["message"])
        for each in caught.value.details["problems"]
    ]


@pytest.mark.parametrize("make", ["pandas", "polars", "table"])
def test_every_column_of_a_wrong_type_is_told_with_what_it_expects(make: str) -> None:
    columns: dict[str, Any] = {"code": ["a"], "count": ["x"], "share": ["y"], "day": [1.5], "on": [True]}
    found = problems_of({"Meter": _frame(make, columns)})
    assert [each[:3] for each in found] == [
        ("wrong_type", "node:Meter", "count"),
        ("wrong_type", "node:Meter", "share"),
        ("wrong_type", "node:Meter", "day"),
    ]  # fmt: skip
    assert [each[3].split(",")[0] for each in found] == [
        "Meter.count expects I32?", "Meter.share expects F64?", "Meter.day expects Date?",
    ]  # fmt: skip


@pytest.mark.parametrize("make", ["pandas", "polars", "table"])
def test_unknown_columns_are_told_beside_missing_ones_and_those_of_a_wrong_type(make: str) -> None:
    columns: dict[str, Any] = {"cod": ["a"], "count": ["x"], "shares": [1.0], "on": ["yes"]}
    assert problems_of({"Meter": _frame(make, columns)})[:2] == [
        ("unknown_field", "node:Meter", "cod", 'unknown input field "cod" of Meter, did you mean "code"?'),
        ("unknown_field", "node:Meter", "shares", 'unknown input field "shares" of Meter, did you mean "share"?'),
    ]
    rest = problems_of({"Meter": _frame(make, columns)})[2:]
    assert [(each[0], each[2]) for each in rest] == [
        ("missing_required", "code"), ("wrong_type", "count"), ("wrong_type", "on"),
    ]  # fmt: skip


def test_columns_of_a_frame_that_hold_values_of_several_types_are_all_told() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"code": ["a", "b"], "count": [1, "x"], "share": [1.0, b"s"], "colour": ["blue", 7], "day": [1.5, 2.5]}
    )
    found = problems_of({"Meter": frame})
    assert [(each[0], each[2]) for each in found] == [
        ("unknown_field", "colour"), ("wrong_type", "count"), ("wrong_type", "share"), ("wrong_type", "day"),
    ]  # fmt: skip
    expected = "Meter.count expects I32?, got a column of values that have no Arrow type in common"
    assert found[1][3].startswith(expected)


def test_wrong_columns_of_several_types_are_all_told() -> None:
    found = problems_of(
        {
            "Meter": pa.table({"code": [1.5], "count": [[1]]}),
            "Near": pa.table({"from": [1.5], "dst": ["a"], "since": [True], "sinse": [1]}),
        }
    )
    assert [(each[0], each[1], each[2]) for each in found] == [
        ("wrong_type", "node:Meter", "code"), ("wrong_type", "node:Meter", "count"),
        ("unknown_field", "edge:Near", "sinse"), ("wrong_type", "edge:Near", "src"),
        ("wrong_type", "edge:Near", "since"),
    ]  # fmt: skip


def _frame(make: str, columns: Mapping[str, Any]) -> Any:
    if make == "table":
        return pa.table(columns)
    return pytest.importorskip(make).DataFrame(columns)
