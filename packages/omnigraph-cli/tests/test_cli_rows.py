"""Rows of a query as lines: the five forms of ``omnigraph query``."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa

from omnigraph import Result
from omnigraph_cli.output.rows import row_lines


def result(table: pa.Table) -> Result:
    return Result(table, branch="main", commit_id="c", query_name="q")


ROWS = pa.table(
    {
        "f.title": ['Or"bit', "Har,bor", "two\nlines", None],
        "n": pa.array([1, 2**63 - 1, None, -1], pa.int64()),
        "tags": pa.array([["a", "b"], [], None, [None]], pa.list_(pa.string())),
    }
)
EMPTY = ROWS.slice(0, 0)


def test_csv_quotes_what_needs_it_and_says_null_and_json() -> None:
    lines = "\n".join(row_lines(result(ROWS), "csv"))
    assert lines.startswith("f.title,n,tags\n")
    assert list(csv.reader(io.StringIO(lines)))[1:] == [
        ['Or"bit', "1", '["a","b"]'],
        ["Har,bor", "9223372036854775807", "[]"],
        ["two\nlines", "null", "null"],
        ["null", "-1", "[null]"],
    ]


def test_csv_tells_the_text_null_from_null() -> None:
    table = pa.table({"x": ["null", None, "nullable"], "l": pa.array([["null"], None, []], pa.list_(pa.string()))})
    assert list(row_lines(result(table), "csv")) == ["x,l", '"null","[""null""]"', "null,null", "nullable,[]"]


def test_what_is_for_the_eye_holds_no_control_character() -> None:
    controls = [*range(0x20), 0x7F, *range(0x80, 0xA0)]
    hostile = "a" + "".join(map(chr, controls)) + "z"
    written = {code: f"\\x{code:02x}" for code in controls} | {9: "\\t", 10: "\\n", 13: "\\r"}
    shown = f"a{''.join(written.values())}z"
    assert list(row_lines(result(pa.table({"x": [hostile]})), "kv"))[2:] == [f"x: {shown}"]
    for code in controls:
        rows = pa.table({"x": [f"é{chr(code)}\xa0."]})
        assert list(row_lines(result(rows), "table"))[3:] == [f"é{written[code]}\xa0."]
    # JSON spells only some of them by itself.
    lists = pa.table({"x": pa.array([["\x7f", "\x9b31m"]], pa.list_(pa.string()))})
    for shape in ("kv", "table"):
        assert list(row_lines(result(lists), shape))[-1].endswith('["\\x7f","\\x9b31m"]')


def test_jsonl_has_a_line_of_metadata_and_a_line_per_row() -> None:
    head, *rows = [json.loads(line) for line in row_lines(result(ROWS), "jsonl")]
    assert head == {
        "kind": "metadata",
        "query_name": "q",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 4,
        "columns": ["f.title", "n", "tags"],
        "graph_commit_id": "c",
    }
    assert rows[1] == {"f.title": "Har,bor", "n": 2**63 - 1, "tags": []}


def test_kv_has_a_block_per_row_with_a_blank_line_between() -> None:
    assert list(row_lines(result(ROWS.slice(0, 2)), "kv")) == [
        "2 rows from branch main via q",
        "row 1",
        'f.title: Or"bit',
        "n: 1",
        'tags: ["a","b"]',
        "",
        "row 2",
        "f.title: Har,bor",
        "n: 9223372036854775807",
        "tags: []",
    ]
    assert list(row_lines(result(EMPTY), "kv")) == ["0 rows from branch main via q", "(no rows)"]


def test_a_table_is_as_wide_as_its_longest_cell_and_shows_line_ends() -> None:
    assert list(row_lines(result(ROWS.select(["f.title", "n"]).slice(2)), "table")) == [
        "2 rows from branch main via q",
        "f.title    | n",
        "-----------+-----",
        "two\\nlines | null",
        "null       | -1",
    ]


def test_a_table_cuts_a_cell_of_more_than_80_characters() -> None:
    lines = list(row_lines(result(pa.table({"x": ["ä" * 80, "b" * 81]})), "table"))
    assert lines[-2:] == ["ä" * 80, "b" * 79 + "…"]


def test_a_table_without_rows_has_its_columns() -> None:
    assert list(row_lines(result(EMPTY), "table")) == [
        "0 rows from branch main via q",
        "f.title | n | tags",
        "--------+---+-----",
    ]


def test_a_late_wide_cell_is_cut_to_the_width_that_the_first_rows_gave() -> None:
    table = pa.table({"x": ["a"] * 1_000 + ["b" * 9]})
    assert list(row_lines(result(table), "table"))[-1] == "…"
