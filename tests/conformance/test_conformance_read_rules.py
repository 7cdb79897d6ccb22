"""Rules of reading (language reference, sections 7 to 11 and 15) that the conformance set has no case for."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from library import EVERYTHING, SCHEMA

import omnigraph as og
from omnigraph.errors import CompileError, InvalidInputError, NotFoundError

SAMPLES = """
node Sample {
    id_: String @key
    small: I32?
    big: I64?
    wide: U64?
    half: F32?
    full: F64?
    flag: Bool?
    day: Date?
    moment: DateTime?
    word: String?
    kind: enum(low-1, High)?
    words: [String]?
    longs: [I64]?
    vec: Vector(2)?
}
edge Links: Sample -> Sample { n: I32?  share: F32? }
"""

ROWS: list[dict[str, Any]] = [
    {
        "id_": "a", "small": 1, "big": 2**53 + 1, "wide": 2**64 - 1, "half": 0.1, "full": 9007199254740992.0,
        "flag": False, "day": "2026-02-01", "moment": "2026-02-01T00:00:00.001Z", "word": "Zebra", "kind": "High",
        "words": ["x", "y"], "longs": [1, 2**53 + 1], "vec": [1.0, 0.0],
    },
    {
        "id_": "b", "small": 2, "big": -1, "wide": 0, "half": 2.5, "full": -0.0, "flag": True, "day": "1969-12-31",
        "moment": "1969-12-31T23:59:59.999Z", "word": "zebra", "kind": "low-1", "words": [], "longs": [],
    },
    {"id_": "c", "full": 0.0, "word": "äpfel"},
    {"id_": "d", "word": "\U0001f600", "full": 0.5},
    {"id_": "e", "word": "\uffee"},
]  # fmt: skip
LINKS = [("a", "b", 1, 0.1), ("a", "b", 2, None), ("b", "c", 1, 0.5)]


@pytest.fixture(scope="module")
def library() -> Iterator[og.Graph]:
    with og.init(f"memory://rules-{secrets.token_hex(8)}/library", schema=SCHEMA) as graph:
        graph.load(EVERYTHING, "append")
        yield graph


@pytest.fixture(scope="module")
def samples() -> Iterator[og.Graph]:
    with og.init(f"memory://rules-{secrets.token_hex(8)}/samples", schema=SAMPLES) as graph:
        edges = [
            {"edge": "Links", "from": source, "to": target, "data": {"id": f"l{number}", "n": n, "share": share}}
            for number, (source, target, n, share) in enumerate(LINKS)
        ]
        graph.load([*({"type": "Sample", "data": row} for row in ROWS), *edges], "append")
        yield graph


def ask(graph: og.Graph, core: str, declared: str = "", **params: Any) -> list[dict[str, Any]]:
    return graph.query(f"query q({declared}) {{ {core} }}", params=params).rows()


def ids(graph: og.Graph, condition: str, declared: str = "", **params: Any) -> str:
    """The ids of the samples for which a condition holds, as one word."""
    rows = ask(graph, f"match {{ $s: Sample  {condition} }} return {{ $s }} order {{ s }}", declared, **params)
    return "".join(row["s"] for row in rows)


# ── 7: parameters ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("declared", "value", "condition", "expected"),
    [
        ("I64", "-1", "$s.big = $p", "b"),
        ("I32", 2, "$s.small = $p", "b"),
        ("U64", 0, "$s.wide = $p", "b"),
        ("F64", 2, "$s.small = $p", "b"),
        ("F32", 0.1, "$s.half = $p", "a"),
        ("Bool", True, "$s.flag = $p", "b"),
        ("String", "High", "$s.kind = $p", "a"),
        ("String", "none", "$s.kind != $p", "ab"),
        ("Date", "2026-02-01", "$s.day = $p", "a"),
        ("Date", date(2026, 2, 1), "$s.day = $p", "a"),
        ("DateTime", "2026-02-01T01:00:00.001+01:00", "$s.moment = $p", "a"),
        ("DateTime", datetime(1970, 1, 1, tzinfo=UTC), "$s.moment < $p", "b"),
    ],
)
def test_a_parameter_takes_what_its_type_accepts(samples, declared: str, value: Any, condition: str, expected: str):
    assert ids(samples, condition, f"$p: {declared}", p=value) == expected


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("I64", 5.0),
        ("I32", 2**31),
        ("U64", 2**64),
        ("U64", -1),
        ("F64", "1.5"),
        ("Bool", 1),
        ("String", 1),
        ("Date", "2026-02-30"),
        ("DateTime", "2026-02-01T00:00Z"),
        ("[I64]", [1, None]),
        ("Vector(2)", [1.0]),
        ("String", None),
    ],
)
def test_a_parameter_refuses_everything_else_and_says_its_name(samples: og.Graph, declared: str, value: Any):
    with pytest.raises(InvalidInputError, match=r"\$p expects"):
        ask(samples, "match { $s: Sample } return { $s, $p }", f"$p: {declared}", p=value)


@pytest.mark.parametrize("use", ["{ word: $p }", "$s.word = $p", "not { $s.word = $p }"])
def test_a_missing_parameter_is_told_before_anything_runs(samples: og.Graph, use: str):
    core = f"match {{ $s: Sample  {use} }}" if "$s" in use else f"match {{ $s: Sample {use} }}"
    with pytest.raises(InvalidInputError, match="parameter 'p' not provided"):
        ask(samples, f"{core} return {{ $s }}", "$p: String")


def test_an_undeclared_parameter_is_told(samples: og.Graph):
    with pytest.raises(InvalidInputError, match="is not a parameter of q"):
        ask(samples, "match { $s: Sample } return { $s }", "", x=1)


def test_null_matches_nothing_wherever_it_is_compared(samples: og.Graph):
    for operator in ("=", "!=", "<", "<=", ">", ">=", "contains", "starts_with"):
        assert ids(samples, f"$s.word {operator} $p", "$p: String?") == ""
    assert ids(samples, "$s.words contains $p", "$p: String?", p=None) == ""
    assert ids(samples, "not { $s.word = $p }", "$p: String?") == "abcde"
    assert ids(samples, "search($s.word, $p)", "$p: String?") == ""


def test_a_parameter_wins_over_a_variable_of_its_name(samples: og.Graph):
    core = "match { $s: Sample  $s.word = $s } return { $s, $s.word }"
    assert ask(samples, core, "$s: String", s="Zebra") == [{"s": "Zebra", "s.word": "Zebra"}]


def test_now_is_one_instant_and_is_now(samples: og.Graph):
    before = time.time_ns() // 1_000_000
    core = "match { $s: Sample  $s.moment < now() } return { $s, now(), now() as again } order { s }"
    rows = ask(samples, core)
    after = time.time_ns() // 1_000_000
    assert [row["s"] for row in rows] == ["a", "b"]
    moments = {row["now"] for row in rows} | {row["again"] for row in rows}
    assert len(moments) == 1
    assert before <= datetime.fromisoformat(moments.pop()).timestamp() * 1000 <= after


# ── 8 and 9: conditions ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # A literal has the precision of an F32 that it is compared with.
        ("$s.half = 0.1", "a"),
        ("0.1 = $s.half", "a"),
        ("$s.half > 0.1", "b"),
        ("$s.half = 0.10000000149011612", "a"),
        # Everything else is compared by value.
        ("$s.small = 2.7", ""),
        ("$s.small < 2.7", "ab"),
        ("$s.small >= 1.5", "b"),
        ("$s.big = 9007199254740993", "a"),
        ("$s.big = 9007199254740992.0", ""),
        ("$s.big > $s.full", "a"),
        ("$s.full = $s.big", ""),
        ("$s.wide > 9223372036854775807", "a"),
        ("$s.wide > $s.big", "ab"),
        ("$s.full = 0", "bc"),
        ("$s.longs contains 9007199254740993", "a"),
        ("$s.longs contains 9007199254740992.0", ""),
        ("[1, 2.5] contains $s.half", "b"),
        # Strings by code point, false before true.
        ('$s.word < "a"', "a"),
        ('$s.word > "\uffed"', "de"),
        ('$s.word > "\uffee"', "d"),
        ("$s.flag < true", "a"),
        ("$s.flag >= false", "ab"),
        # Parts of texts: exact, and operands are positional.
        ('$s.word contains "ebr"', "ab"),
        ('$s.word starts_with "z"', "b"),
        ('$s.word starts_with ""', "abcde"),
        ('"a Zebra" contains $s.word', "a"),
        ('$s.word contains "_"', ""),
        ('$s.word contains "%"', ""),
        # Lists.
        ('$s.words contains "x"', "a"),
        ('$s.words contains ""', ""),
        # An enum compares as text, and a filter may name what it has not.
        ('$s.kind < "a"', "a"),
        ('$s.kind = "none"', ""),
        ('date("1970-01-01") > $s.day', "b"),
        ('$s.moment = datetime("1969-12-31T23:59:59.999Z")', "b"),
        # Constant conditions.
        ("1 = 1", "abcde"),
        ('"a" > "b"', ""),
        # Nothing is equal to null, null included.
        ("$s.small = $s.small", "ab"),
        ("$s.small != $s.big", "ab"),
    ],
)
def test_conditions(samples: og.Graph, condition: str, expected: str):
    assert ids(samples, condition) == expected


def test_inline_matches_conjoin(samples: og.Graph):
    assert ids(samples, '$s: Sample { words: "x", flag: false }  $s: Sample { kind: "High" }') == "a"
    assert ids(samples, '$s: Sample { words: "x", flag: true }') == ""


def test_edge_properties_are_compared_by_value(samples: og.Graph):
    core = "match {{ $a $e:links $b  {} }} return {{ $a, $b, $e.n }} order {{ $e.n desc }}"
    assert ask(samples, core.format("$e.n > 1.5")) == [{"a": "a", "b": "b", "e.n": 2}]
    assert ask(samples, core.format("$e.share = 0.1")) == [{"a": "a", "b": "b", "e.n": 1}]
    assert ask(samples, core.format("$e.n = $a.small  $b.small = 2")) == [{"a": "a", "b": "b", "e.n": 1}]


def test_a_nameless_end_counts_and_a_nameless_edge_does_not(samples: og.Graph):
    assert ask(samples, "match { $a: Sample  $a links $_ } return { $a }") == [{"a": "a"}, {"a": "b"}]
    assert ask(samples, "match { $a: Sample  $a $_:links $b } return { count($a) as n }") == [{"n": 2}]
    assert ask(samples, "match { $a: Sample  $a $e:links $_ } return { count($a) as n }") == [{"n": 3}]
    assert ask(samples, "match { $_ links $_ } return { count(1) as n }") == [{"n": 2}]


# ── 11 and 15: results ───────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_have_the_names_of_what_they_hold(samples: og.Graph):
    core = 'match { $s: Sample } return { $s.word $s $p "x" $s.small as n } limit 0'
    result = samples.query(f"query q($p: I64?) {{ {core} }}")
    assert result.columns == ("s.word", "s", "p", "literal", "n")
    assert result.rows() == []
    grouped = samples.query("query q() { match { $s: Sample } return { count($s), avg($s.small), max($s.word) as m } }")
    assert grouped.columns == ("s", "s.small", "m")


@pytest.mark.parametrize("shown", ["$s, $s", "$s.word, $s.small as n, $s.big as n", "$s, count($s)", "1, 2"])
def test_two_columns_of_one_name_are_refused(samples: og.Graph, shown: str):
    with pytest.raises(CompileError, match="two columns are called"):
        ask(samples, f"match {{ $s: Sample }} return {{ {shown} }}")


def test_cells_are_json_and_columns_are_arrow(samples: og.Graph):
    names = [each for each in ROWS[0] if each != "id_"]
    shown = ", ".join(f"$s.{name} as {name}" for name in names)
    result = samples.query(f'query q() {{ match {{ $s: Sample {{ id_: "a" }} }} return {{ {shown} }} }}')
    (row,) = result.rows()
    assert row == {name: ROWS[0][name] for name in names} | {"half": 0.10000000149011612}
    types = {name: result.to_arrow().schema.field(name).type for name in ("small", "wide", "half", "day", "moment")}
    assert types == {
        "small": pa.int32(), "wide": pa.uint64(), "half": pa.float32(), "day": pa.date32(),
        "moment": pa.timestamp("ms", tz="UTC"),
    }  # fmt: skip
    empty = samples.query(f'query q() {{ match {{ $s: Sample {{ id_: "-" }} }} return {{ {shown} }} }}')
    assert empty.to_arrow().schema == result.to_arrow().schema


def test_parameters_and_literals_are_columns(samples: og.Graph):
    declared = "$f: F32, $d: Date, $l: [I64], $v: Vector(2), $n: Bool?"
    core = 'match { $s: Sample { id_: "a" } } return { $f, $d, $l, $v, $n, true as t, [1, 2] as two, 0.1 as x }'
    given = {"f": 0.1, "d": "2020-02-29", "l": ["7", 8], "v": [1, 0.1]}
    assert ask(samples, core, declared, **given) == [
        {
            "f": 0.10000000149011612, "d": "2020-02-29", "l": [7, 8], "v": [1.0, 0.10000000149011612], "n": None,
            "t": True, "two": [1, 2], "x": 0.1,
        }
    ]  # fmt: skip


def test_aggregates_leave_nulls_out(samples: og.Graph):
    core = """match { $s: Sample }
        return { count($s), count($s.small) as counted, sum($s.small) as total, avg($s.small) as mean,
                 min($s.word) as first, max($s.word) as last, min($s) as low, max($s.half) as half,
                 count(1) as ones }"""
    assert ask(samples, core) == [
        {
            "s": 5, "counted": 2, "total": 3.0, "mean": 1.5, "first": "Zebra", "last": "\U0001f600", "low": "a",
            "half": 2.5, "ones": 5,
        }
    ]  # fmt: skip


def test_no_rows_make_one_group_without_a_key_and_none_with_one(samples: og.Graph):
    none = 'match { $s: Sample { word: "-" } }'
    rows = ask(samples, f"{none} return {{ count($s), sum($s.small), min($s.word) as m, max($s) as i }}")
    assert rows == [{"s": 0, "s.small": None, "m": None, "i": None}]
    assert ask(samples, f"{none} return {{ $s.kind, count($s) as n }}") == []
    assert ask(samples, f"{none} return {{ $p, count($s) as n }}", "$p: I64", p=1) == []


def test_null_keys_are_one_group_and_zeros_are_one(samples: og.Graph):
    rows = ask(samples, "match { $s: Sample } return { $s.kind, count($s) as n } order { $s.kind }")
    assert rows == [{"s.kind": None, "n": 3}, {"s.kind": "High", "n": 1}, {"s.kind": "low-1", "n": 1}]
    rows = ask(samples, "match { $s: Sample  $s.full < 0.1 } return { $s.full, count($s) as n }")
    assert rows == [{"s.full": 0.0, "n": 2}]


def test_the_sum_of_a_node_is_an_error_that_says_so(samples: og.Graph):
    with pytest.raises((InvalidInputError, CompileError)):
        ask(samples, "match { $s: Sample } return { sum($s) as n }")


def test_nulls_are_smallest_and_ties_go_by_the_ids_of_the_variables_by_name(samples: og.Graph):
    def order(keys: str) -> str:
        return "".join(row["s"] for row in ask(samples, f"match {{ $s: Sample }} return {{ $s }} order {{ {keys} }}"))

    assert order("$s.small") == "cdeab"
    assert order("$s.small desc") == "bacde"
    assert order("$s.flag desc, s desc") == "baedc"
    assert order("$s.word") == "abced"
    pairs = "match { $b: Sample  $a: Sample } return { $a, $b } order { $a.kind, $b.kind } limit 4"
    # Of the pairs without any kind, the ids of $a come before those of $b, though $b stands first.
    assert [row["a"] + row["b"] for row in ask(samples, pairs)] == ["cc", "cd", "ce", "dc"]


def test_rows_without_an_order_come_in_the_same_one_each_time(samples: og.Graph):
    core = "query q() { match { $a links $b  $c: Sample } return { $a, $b, $c } }"
    assert samples.query(core).rows() == samples.query(core).rows()


def test_a_limit_cuts_groups_too_and_may_be_0(samples: og.Graph):
    core = "match { $s: Sample } return { $s.kind, count($s) as n } order { n desc } limit"
    assert ask(samples, f"{core} 1") == [{"s.kind": None, "n": 3}]
    assert ask(samples, f"{core} 0") == []


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_query_is_chosen_by_name_and_read_from_a_file(library: og.Graph, tmp_path: Path):
    text = "query a() { match { $f: Film } return { count($f) as n } } query b() { match { $p: Person } return { $p } }"
    (tmp_path / "some.gq").write_text(text, encoding="utf-8")
    assert library.query(text, "a").rows() == [{"n": 3}]
    assert library.query(tmp_path / "some.gq", "a").rows() == [{"n": 3}]
    assert library.query(str(tmp_path / "some.gq"), name="a").query_name == "a"
    for name in (None, "c"):
        with pytest.raises(CompileError, match=r"queries|no query"):
            library.query(text, name)


def test_a_mutation_is_no_read(library: og.Graph):
    with pytest.raises(InvalidInputError, match="changes the graph"):
        library.query('query q() { delete Person where handle = "ann" }')
    assert library.query("query q() { match { $p: Person } return { count($p) as n } }").rows() == [{"n": 3}]


def test_a_query_reads_the_moment_it_is_told():
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    with og.init(f"memory://rules-{secrets.token_hex(8)}/moments", schema=SCHEMA) as graph:
        first = graph.load(EVERYTHING, "append").commit
        kept = graph.snapshot()
        second = graph.load([{"type": "Person", "data": {"handle": "dee"}}], "append").commit
        assert (graph.query(count).rows(), graph.query(count).commit_id) == ([{"n": 4}], second.id)
        for moment in (first.id, first.manifest_version, kept):
            result = graph.query(count, snapshot=moment)
            assert (result.rows(), result.commit_id, result.snapshot) == ([{"n": 3}], first.id, first.id)
        assert graph.query(count, branch="main").branch == "main"
        with pytest.raises(NotFoundError):
            graph.query(count, branch="nowhere")
