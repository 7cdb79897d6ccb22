"""Stage 1 of validation: required, enum, @range and @check, row by row."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from validation_world import LARGE, LIBRARY, SMALL, World, messages, table_of

from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation.sets import matches_pattern
from omnigraph.write.validation.values import check_values

NUMBERS = """
node Number {
    name: String @key
    i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    @range(i32, -3..5)  @range(i64, 0..9007199254740993)  @range(u32, 7..)  @range(u64, ..9223372036854775807)
    @range(f32, 0.1..0.5)  @range(f64, ..2.5)
}
"""


def number(**values: object) -> dict[str, object]:
    return {"id": "n", "name": "n", **values}


def film(**values: object) -> dict[str, object]:
    return {"id": "SF-1", "code": "SF-1", "title": "Orbit", "genre": "drama", "added": 0, **values}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"i32": -3},
        {"i32": 5},
        {"u32": 7},
        {"u32": 2**32 - 1},
        {"f64": -1e308},
        {"f64": 2.5},
        {"f64": -math.inf},
        # Both the value and the bound are the f64 2**53.
        {"i64": 2**53 + 1},
        {"i64": 2**53},
        # The bound is the f64 2**63.
        {"u64": 2**63},
        {"f32": 0.25},
    ],
)
def test_a_number_at_or_within_its_bounds_and_a_null_pass(values):
    world = World(NUMBERS)
    assert not world.judge(world.change("Number", "insert", [number(**values)]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"i32": -4}, "@range violation on Number.i32: -4 is below the minimum -3"),
        ({"i32": 6}, "@range violation on Number.i32: 6 is above the maximum 5"),
        ({"i64": 2**53 + 3}, "@range violation on Number.i64: 9007199254740995 is above the maximum 9007199254740993"),
        (
            {"u64": 2**64 - 1},
            "@range violation on Number.u64: 18446744073709551615 is above the maximum 9223372036854775807",
        ),
        ({"u32": 6}, "@range violation on Number.u32: 6 is below the minimum 7"),
        ({"f64": 2.5000001}, "@range violation on Number.f64: 2.5000001 is above the maximum 2.5"),
        ({"f64": math.nan}, "@range violation on Number.f64: nan is not within ..2.5"),
        ({"f64": math.inf}, "@range violation on Number.f64: inf is above the maximum 2.5"),
        ({"f32": 0.6}, "@range violation on Number.f32: 0.6 is above the maximum 0.5"),
    ],
)
def test_a_number_beyond_a_bound_is_told_with_value_and_bound(values, said):
    world = World(NUMBERS)
    problems = world.judge(world.change("Number", "insert", [number(**values)]))
    assert messages(problems) == [said]
    assert problems.counts == {"range": 1}


def test_an_f32_is_compared_as_the_f64_that_it_is():
    world = World("node Number { a: F32? @range(a, 0.7..)  b: F32? @range(b, 0.1..) }")
    # The F32 next to 0.7 is 0.699999988..., that next to 0.1 is 0.100000001...
    problems = world.judge(world.change("Number", "insert", [{"id": "1", "a": 0.7, "b": 0.1}]))
    assert [each.property for each in problems.kept] == ["a"]


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^[A-Z]{2}-[0-9]+$", ["SF-1"], ["SF-1\n", "xSF-1", "SF-", "", "sf-1"]),
        ("b+", ["abc", "b"], ["", "a"]),
        ("", ["", "x"], []),
        ("^$", [""], ["x", "\n"]),
        (r"\d", ["٣", "7"], ["x"]),
        (r"^\w+$", ["é", "_"], ["a b"]),
        ("(?i)é", ["É"], ["e"]),
        ("(?m)^b$", ["a\nb\nc"], ["ab"]),
        (".", ["x"], ["\n"]),
        ("[a-z&&[^b]]", ["c"], ["b"]),
        (r"\\", ["\\", "a\\b"], ["x"]),
        ("a_b", ["a_b", "xa_bx"], ["aXb"]),
        ("a%b", ["a%b"], ["aXb"]),
        ("^a_b$", ["a_b"], ["aXb"]),
        ("it's", ["it's"], ["its"]),
        ("^(foo|ba_)$", ["foo", "ba_"], ["bar", "foobar"]),
    ],
)
def test_a_pattern_is_searched_in_the_dialect_of_rust(pattern, matching, others):
    values = pa.array([*matching, *others, None])
    expected = [True] * len(matching) + [False] * len(others) + [None]
    assert matches_pattern(values, pattern).to_pylist() == expected


def test_a_text_that_does_not_match_is_told_with_its_pattern_and_a_null_passes():
    world = World('node Word { a: String? @check(a, "^x$") }')
    problems = world.judge(
        world.change("Word", "insert", [{"id": "1", "a": "y"}, {"id": "2", "a": None}, {"id": "3", "a": "x"}])
    )
    assert messages(problems) == ["@check violation on Word.a: value 'y' does not match the pattern ^x$"]
    (found,) = problems.kept
    assert (found.reason, found.type_key, found.property, found.id) == ("check", "node:Word", "a", "1")


def test_a_pattern_that_is_too_large_to_compile_refuses_every_value_and_says_why():
    # The schema takes it: its own bound on the size of patterns is a lower one.
    world = World(r'node Word { a: String? @check(a, "\\pL{250}") }')
    problems = world.judge(world.change("Word", "insert", [{"id": "1", "a": "y"}, {"id": "2"}]))
    assert problems.counts == {"check": 1}
    assert "cannot be used: CompiledTooBig" in messages(problems)[0]
    assert problems.kept[0].constraint == "@check(a)"


def test_an_enum_value_that_is_not_allowed_is_told_for_nodes_and_edges():
    world = World("node A { k: enum(b, a)? } edge E: A -> A { kind: enum(x, y) }", {"A": [{"id": "1"}]})
    problems = world.judge(
        world.change("A", "upsert", [{"id": "2", "k": "c"}, {"id": "3"}, {"id": "4", "k": "a"}]),
        world.change("E", "insert", [{"id": "e", "src": "1", "dst": "1", "kind": "z"}]),
    )
    assert messages(problems) == [
        "invalid enum value 'z' for E.kind; allowed: x, y",
        "invalid enum value 'c' for A.k; allowed: a, b",
    ]
    assert problems.counts == {"enum": 2}


@pytest.mark.parametrize("limits", [SMALL, LARGE])
def test_a_null_where_none_may_be_is_told_for_each_property(limits):
    world = World("node A { k: String  n: I32  v: Vector(2)? } edge E: A -> A")
    problems = world.judge(
        world.change("A", "insert", [{"id": "1", "k": "x"}, {"id": "2", "n": 1}]),
        world.change("E", "insert", [{"id": "e", "src": None, "dst": "1"}]),
        limits=limits,
    )
    assert sorted((each.reason, each.message, each.line) for each in problems.kept) == [
        ("required", "null in non-nullable property 'k'", 2),
        ("required", "null in non-nullable property 'n'", 1),
        ("required", "null in non-nullable property 'src'", 1),
    ]
    assert {(each.constraint, each.holders) for each in problems.kept} == {("required", ())}


def test_rows_in_files_are_read_again_only_for_columns_that_have_a_rule():
    world = World("node A { k: enum(a, b)  n: I32 }")
    problems = world.judge(world.change("A", "insert", [{"id": "1"}], is_written=True))
    assert [(each.reason, each.property) for each in problems.kept] == [("required", "k")]


def test_a_missing_list_or_vector_is_told_while_the_rows_are_in_memory():
    world = World("node A { tags: [String]  v: Vector(2) }")
    problems = world.judge(world.change("A", "insert", [{"id": "1"}]))
    assert {each.property for each in problems.kept} == {"tags", "v"}


@pytest.mark.parametrize("is_written", [False, True])
def test_every_problem_names_the_line_of_its_row(is_written):
    world = World(LIBRARY)
    records = [film(id=f"SF-{n}", code=f"SF-{n}", stars=9.0 if n in (3, 7) else 1.0) for n in range(10)]
    problems = world.judge(world.change("Film", "insert", records, is_written=is_written))
    assert [(each.id, each.source, each.line) for each in problems.kept] == [
        ("SF-3", "in.jsonl", 4),
        ("SF-7", "in.jsonl", 8),
    ]


def test_all_problems_are_counted_and_only_the_first_of_each_reason_are_kept():
    world = World(LIBRARY)
    records = [film(id=f"SF-{n}", code=f"SF-{n}", stars=9.0, genre="x") for n in range(30)]
    problems = world.judge(world.change("Film", "insert", records), keep=7)
    assert problems.counts == {"enum": 30, "range": 30}
    assert Counter(each.reason for each in problems.kept) == {"enum": 7, "range": 7}


def test_a_shortened_value_stands_for_one_that_no_message_can_hold():
    world = World(LIBRARY)
    problems = world.judge(world.change("Film", "insert", [film(genre="x" * 100_000)]))
    assert len(messages(problems)[0]) < 400


def test_rows_on_their_way_to_files_can_be_judged_chunk_by_chunk():
    world = World(LIBRARY)
    target = world.by_name["Film"]
    problems = ProblemLog()
    (batch,) = table_of(target, [film(stars=9.0)]).to_batches()
    check_values(target, batch, problems, first_row=41, place_of=lambda row: ("f", row + 1))
    assert [(each.reason, each.source, each.line) for each in problems.kept] == [("range", "f", 42)]
    assert not world.judge(world.change("Film", "insert", [film(stars=9.0)]), values_are_checked=True)
