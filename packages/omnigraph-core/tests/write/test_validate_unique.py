"""Stages 2 and 3 of validation: keys, ids and @unique, within the input and against what is committed."""

from __future__ import annotations

import pytest
from validation_world import FOLLOWS, LARGE, LIBRARY, RENTED, SMALL, STORED, World, messages

BOTH = pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
EVERY_MODE = pytest.mark.parametrize("mode", ["insert", "upsert", "replace"])


def person(handle: str, mail: str | None = None) -> dict[str, object]:
    return {"id": handle, "handle": handle, "mail": mail}


# ── keys and ids ─────────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
@EVERY_MODE
def test_two_records_of_one_key_are_a_violation_in_every_mode(limits, mode):
    world = World(LIBRARY)
    problems = world.judge(world.change("Person", mode, [person("x"), person("y"), person("x")]), limits=limits)
    assert messages(problems) == ["@unique violation on Person.handle: value 'x' held by 'x' and 'x'"]
    (found,) = problems.kept
    assert (found.reason, found.type_key, found.property, found.id, found.line) == (
        "unique",
        "node:Person",
        "handle",
        "x",
        3,
    )


@BOTH
def test_a_composite_key_is_told_by_its_columns_in_order_of_names(limits):
    world = World("node Shelf { row: I32  hall: String  @key(row, hall) }")
    record = {"id": '["north","7"]', "row": 7, "hall": "north"}
    problems = world.judge(world.change("Shelf", "upsert", [record, record]), limits=limits)
    quoted = '\'["north","7"]\''
    assert messages(problems) == [
        f"@unique violation on Shelf.(hall, row): value (north, 7) held by {quoted} and {quoted}"
    ]
    assert problems.kept[0].property is None


@BOTH
@pytest.mark.parametrize("mode", ["insert", "replace"])
def test_an_id_twice_in_the_input_is_a_conflict_where_rows_are_only_added(limits, mode):
    world = World("node A { n: I32? }")
    problems = world.judge(world.change("A", mode, [{"id": "x"}, {"id": "y"}, {"id": "x"}, {"id": "x"}]), limits=limits)
    assert messages(problems) == ["A 'x': another record already has this id"] * 2
    assert [(each.reason, each.line) for each in problems.kept] == [("key_conflict", 3), ("key_conflict", 4)]


@BOTH
@pytest.mark.parametrize("name", ["A", "E"])
def test_of_records_of_one_id_the_last_wins_in_a_merge(limits, name):
    # What counts is the last record: the first ones would break @unique, @card and an endpoint.
    world = World(
        "node A { n: I32? @unique } edge E: A -> A @card(0..1) { n: I32? @unique }",
        {"A": [{"id": "1", "n": 1}, {"id": "2"}], "E": [{"id": "e", "src": "1", "dst": "1", "n": 1}]},
    )
    ends = {"src": "2", "dst": "1"}
    records = [
        {"id": "x", "n": 1, "src": "no", "dst": "no"},
        {"id": "x", "n": 7, "src": "1", "dst": "2"},
        {"id": "x", "n": 2, **ends},
    ]
    assert not world.judge(world.change(name, "upsert", records), limits=limits)


@BOTH
def test_an_id_that_is_committed_cannot_be_inserted(limits):
    world = World(LIBRARY, STORED)
    problems = world.judge(
        world.change("Person", "insert", [person("new"), person("bo")]),
        world.change("Follows", "insert", [{"id": "f2", "src": "bo", "dst": "bo"}]),
        limits=limits,
    )
    assert messages(problems) == [
        "Person 'bo': a committed node already has this id",
        "Follows 'f2': a committed edge already has this id",
    ]
    assert problems.counts == {"key_conflict": 2}


@BOTH
@pytest.mark.parametrize("mode", ["upsert", "replace"])
def test_an_id_that_is_committed_may_be_written_again(limits, mode):
    world = World("node A { n: I32? }", {"A": [{"id": "x"}]})
    assert not world.judge(world.change("A", mode, [{"id": "x"}]), limits=limits)


@BOTH
def test_ids_that_were_minted_for_this_write_are_not_looked_for(limits):
    world = World("node A { n: I32? }", {"A": [{"id": "x"}]})
    world.judge(world.change("A", "insert", [{"id": "y"}], is_fresh=True), limits=limits)
    assert world.committed.accesses == []


# ── @unique within the input ─────────────────────────────────────────────────────────────────────────────────────


@BOTH
@EVERY_MODE
def test_two_records_of_one_tuple_are_a_violation_even_with_the_same_id(limits, mode):
    world = World("node A { n: I32? @unique }")
    records = [{"id": "x", "n": 1}, {"id": "x", "n": 1}, {"id": "y", "n": 1}]
    problems = world.judge(world.change("A", mode, records), limits=limits)
    assert [each.message for each in problems.kept if each.reason == "unique"] == [
        "@unique violation on A.n: value '1' held by 'x' and 'x'",
        "@unique violation on A.n: value '1' held by 'x' and 'y'",
    ]


@BOTH
def test_a_null_in_any_column_exempts_a_row(limits):
    world = World("node A { p: I32?  q: String?  @unique(p, q) }", {"A": [{"id": "0", "p": 1}]})
    records = [{"id": "1", "p": 1}, {"id": "2", "p": 1}, {"id": "3", "q": "x"}, {"id": "4", "q": "x"}, {"id": "5"}]
    assert not world.judge(world.change("A", "insert", records), limits=limits)


@BOTH
def test_members_of_a_tuple_are_compared_one_by_one(limits):
    world = World("node A { p: String  q: String  @unique(p, q) }", {"A": [{"id": "0", "p": "a, b", "q": "c"}]})
    records = [{"id": "1", "p": "a", "q": "b, c"}, {"id": "2", "p": "a, b, c", "q": ""}]
    assert not world.judge(world.change("A", "insert", records), limits=limits)


@BOTH
@pytest.mark.parametrize(
    ("scalar", "value", "spelled"),
    [
        ("I64", -(2**63), "-9223372036854775808"),
        ("U32", 2**32 - 1, "4294967295"),
        ("U64", 2**64 - 1, "18446744073709551615"),
        ("Bool", False, "false"),
        ("Date", 19_782, "19782"),
        ("DateTime", 1_709_251_200_500, "1709251200500"),
        ("F32", 0.1, "0.1"),
        ("F64", 1e21, "1000000000000000000000"),
        ("F64", 1e-7, "0.0000001"),
        ("String", "é'\n", "é'\n"),
        ("enum(a, b)", "b", "b"),
    ],
)
def test_values_are_spelled_as_in_keys(limits, scalar, value, spelled):
    world = World(f"node A {{ p: {scalar}? @unique }}", {"A": [{"id": "0", "p": value}]})
    problems = world.judge(
        world.change("A", "insert", [{"id": "1", "p": value}, {"id": "2", "p": value}]), limits=limits
    )
    assert messages(problems) == [
        f"@unique violation on A.p: value '{spelled}' held by '1' and '2'",
        f"@unique violation on A.p: value '{spelled}' held by '0' and '1'",
        f"@unique violation on A.p: value '{spelled}' held by '0' and '2'",
    ]


@BOTH
@pytest.mark.parametrize("scalar", ["F32", "F64"])
def test_both_zeros_are_one_value(limits, scalar):
    world = World(f"node A {{ p: {scalar}? @unique }}", {"A": [{"id": "0", "p": -0.0}]})
    problems = world.judge(world.change("A", "insert", [{"id": "1", "p": 0.0}]), limits=limits)
    assert messages(problems) == ["@unique violation on A.p: value '0' held by '0' and '1'"]
    problems = World(world.schema).judge(
        world.change("A", "insert", [{"id": "1", "p": 0.0}, {"id": "2", "p": -0.0}]), limits=limits
    )
    assert problems.counts == {"unique": 1}


@BOTH
def test_what_the_key_tells_already_is_told_once(limits):
    world = World("node A { k: String @key  n: I32?  @unique(k)  @unique(k, n) }", {"A": [{"id": "x", "k": "x"}]})
    problems = world.judge(
        world.change("A", "upsert", [{"id": "x", "k": "x", "n": 1}, {"id": "x", "k": "x", "n": 1}]), limits=limits
    )
    assert problems.counts == {"unique": 1}


# ── @unique against what is committed ────────────────────────────────────────────────────────────────────────────


@BOTH
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_value_that_a_committed_row_holds_is_taken(limits, mode):
    # Case 20 of the conformance set.
    world = World(LIBRARY, STORED)
    problems = world.judge(world.change("Person", mode, [person("dee", "ann@x.org")]), limits=limits)
    assert messages(problems) == ["@unique violation on Person.mail: value 'ann@x.org' held by 'ann' and 'dee'"]


@BOTH
def test_a_row_that_is_inserted_once_more_is_told_by_its_id_only(limits):
    world = World(LIBRARY, STORED)
    problems = world.judge(world.change("Person", "insert", [person("ann", "ann@x.org")]), limits=limits)
    assert problems.counts == {"key_conflict": 1}


@BOTH
def test_a_row_that_is_written_again_may_keep_its_value(limits):
    world = World(LIBRARY, STORED)
    assert not world.judge(world.change("Person", "upsert", [person("ann", "ann@x.org")]), limits=limits)


@BOTH
def test_a_value_that_this_write_frees_may_be_used_again(limits):
    world = World(LIBRARY, STORED)
    swap = [person("ann", "new@x.org"), person("bo", "ann@x.org")]
    assert not world.judge(world.change("Person", "upsert", swap), limits=limits)


@BOTH
def test_rows_that_are_replaced_as_a_whole_hold_nothing(limits):
    world = World(LIBRARY, {"Person": STORED["Person"]})
    assert not world.judge(world.change("Person", "replace", [person("dee", "ann@x.org")]), limits=limits)


@BOTH
def test_a_second_edge_between_two_nodes_names_the_columns_in_order(limits):
    # Case 21 of the conformance set.
    world = World(LIBRARY, STORED)
    edge = {"id": "r9", "src": "ann", "dst": "SF-1"}
    problems = world.judge(world.change("Rented", "insert", [edge], is_fresh=True), limits=limits)
    assert messages(problems) == ["@unique violation on Rented.(dst, src): value (SF-1, ann) held by 'r1' and 'r9'"]


@BOTH
def test_edges_that_are_appended_again_are_refused_where_they_are_unique_and_doubled_where_not(limits):
    # Cases 26 (append) and 27 of the conformance set.
    world = World(LIBRARY, STORED)
    rented = [{**each, "id": f"new-{each['id']}"} for each in RENTED]
    follows = [{**each, "id": f"new-{each['id']}"} for each in FOLLOWS]
    problems = world.judge(
        world.change("Rented", "insert", rented, is_fresh=True),
        world.change("Follows", "insert", follows, is_fresh=True),
        limits=limits,
    )
    assert problems.counts == {"unique": 3}
    assert all(each.message.startswith("@unique violation on Rented.(dst, src)") for each in problems.kept)
    assert not world.judge(world.change("Follows", "upsert", follows, is_fresh=True), limits=limits)


@BOTH
def test_many_violations_are_all_counted_and_those_of_the_first_records_are_kept(limits):
    world = World("node A { n: I32? @unique }", {"A": [{"id": f"c{n}", "n": n} for n in range(40)]})
    records = [{"id": f"n{n}", "n": n % 50} for n in range(100)]
    problems = world.judge(world.change("A", "insert", records), limits=limits, keep=60)
    # 50 values occur twice in the input, and 40 of them, 80 records, are committed too.
    assert problems.counts == {"unique": 50 + 80}
    # Records 51 to 90 break the rule twice: by a record before them, and by a committed row.
    twice = [line for line in range(51, 61) for _ in range(2)]
    assert sorted(each.line for each in problems.kept) == [*range(1, 41), *twice]


@pytest.mark.parametrize("repetitions", [2, 6])
def test_repetitions_far_apart_are_found_with_their_first_record(repetitions):
    # More distinct tuples than one piece holds, each repeated far behind its first record.
    world = World("node A { n: I32? @unique }")
    records = [{"id": f"{again}-{n}", "n": n} for again in range(repetitions) for n in range(20)]
    problems = world.judge(world.change("A", "insert", records), limits=LARGE)
    assert problems.counts == {"unique": 20 * (repetitions - 1)}
    assert messages(problems)[-1] == (f"@unique violation on A.n: value '19' held by '0-19' and '{repetitions - 1}-19'")
