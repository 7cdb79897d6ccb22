"""What branches cost at an S3 server (DESIGN 18): making one takes the same few requests for any graph.

Every write pays for a look at its branch after its swap. A write to another branch than main pays for one more before
it begins; the first one also for the lines of its types. A warm read pays for the look and for the probe that a read of
main makes.
"""

from __future__ import annotations

from typing import Any

import pytest
from cost_counts import CountedPlace, Spent

CREATE_BUDGET = 11
PEOPLE = 12
TYPES = 30
SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: I32? }\n"
WIDE = SCHEMA + "\n".join(f"node T{number} {{ name: String @key }}" for number in range(TYPES))
QUERIES = """
query add($name: String) { insert Person { name: $name } }
query grow($name: String) { update Person set { age: 7 } where name = $name }
"""

CREATED = {"manifest": {"LIST": 2, "HEAD": 3, "GET": 1, "PUT": 1, "PUT?": 2}, "branches": {"PUT?": 1, "GET": 1}}
"""A probe of the parent's newest version, Lance's fork of the manifest, the object of the branch, a look at main's."""

FORK = {"LIST": 1, "HEAD": 3, "GET": 1, "PUT": 1, "PUT?": 2}
"""The same fork of the table of a type, without the probe."""


def person(number: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number}", "age": number}}


def knows(number: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{number % PEOPLE}", "to": f"p{number * 5 % PEOPLE}", "data": {"since": number}}


@pytest.fixture
def graph(place: CountedPlace) -> Any:
    """A warm handle on a graph with some people."""
    with place.init(SCHEMA) as made:
        made.load([person(number) for number in range(PEOPLE)], "append")
        yield made


def less(spent: Spent, other: Spent) -> dict[str, dict[str, int]]:
    """What one act costs beyond another one."""
    more = {
        part: {verb: count - other.by_part.get(part, {}).get(verb, 0) for verb, count in verbs.items()}
        for part, verbs in spent.by_part.items()
    }
    return {part: left for part, verbs in more.items() if (left := {verb: n for verb, n in verbs.items() if n})}


# ── making and deleting ──────────────────────────────────────────────────────────────────────────────────────────────


def test_making_a_branch_costs_the_same_few_requests_for_any_graph(place: CountedPlace, graph: Any):
    small = place.spent(lambda: graph.branches.create("small"))
    assert small.total <= CREATE_BUDGET, str(small)
    assert small.by_part == CREATED, str(small)
    for number in range(40):
        graph.load([person(100 + number), knows(number)], "append")
    graph.load([person(1_000 + number) for number in range(10_000)], "append")
    assert place.spent(lambda: graph.branches.create("large")).by_part == CREATED
    old = graph.commits.list()[3]
    then = place.spent(lambda: graph.branches.create("then", at=old))
    # The old version is opened instead of a probe of the newest.
    assert then.total <= CREATE_BUDGET + 2, str(then)


def test_a_branch_of_a_branch_costs_the_look_at_its_parent_and_lance_s_own_at_the_parent_s_line(
    place: CountedPlace, graph: Any
):
    graph.branches.create("parent")
    graph.load([person(99)], "append", branch="parent")
    spent = place.spent(lambda: graph.branches.create("child", "parent"))
    assert spent.by_part == {
        "manifest": CREATED["manifest"] | {"HEAD": 3 + 2, "GET": 1 + 1},
        "branches": {"GET": 2, "PUT?": 1},
    }, str(spent)


def test_making_a_branch_of_many_types_costs_no_more(place: CountedPlace):
    with place.init(WIDE) as graph:
        graph.load([{"type": f"T{number}", "data": {"name": "a"}} for number in range(TYPES)], "append")
        spent = place.spent(lambda: graph.branches.create("dev"))
        assert spent.by_part == CREATED, str(spent)


def test_deleting_a_branch_costs_two_requests(place: CountedPlace, graph: Any):
    graph.branches.create("dev")
    graph.load([person(99), knows(1)], "append", branch="dev")
    spent = place.spent(lambda: graph.branches.delete("dev"))
    assert spent.by_part == {"branches": {"GET": 1, "DELETE": 1}}, str(spent)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["add", "grow"])
def test_a_later_write_to_a_branch_costs_what_one_to_main_does_and_a_look_before_it_begins(
    place: CountedPlace, graph: Any, name: str
):
    graph.branches.create("dev")
    names = iter(range(6))

    def write(branch: str) -> Spent:
        who = f"new{next(names)}" if name == "add" else "p1"
        return place.spent(lambda: graph.mutate(QUERIES, name, params={"name": who}, branch=branch))

    for branch in ("main", "dev", "main", "dev"):
        write(branch)
    on_main, on_dev = write("main"), write("dev")
    assert less(on_dev, on_main) == {"branches": {"GET": 1}}, str(on_dev)
    assert on_dev.total == on_main.total + 1


def test_the_first_write_to_a_branch_costs_the_fork_of_its_own_type_beside_that(place: CountedPlace):
    with place.init(WIDE) as graph:
        graph.load([person(number) for number in range(PEOPLE)], "append")
        graph.branches.create("dev")
        graph.snapshot("dev")
        first = place.spent(lambda: graph.mutate(QUERIES, "add", params={"name": "a"}, branch="dev"))
        later = place.spent(lambda: graph.mutate(QUERIES, "add", params={"name": "b"}, branch="dev"))
        more = less(first, later)
        # Of the fork; and the version that it begins with is opened.
        assert set(more) == {"tables"}, str(first)
        assert sum(more["tables"].values()) <= sum(FORK.values()) + 2, str(first)
        on_own_lines = [each for each in graph.snapshot("dev").to_dict()["types"] if each["physical_branch"]]
        assert [each["name"] for each in on_own_lines] == ["Person"]


def test_a_write_to_a_branch_makes_no_write_to_its_parent_dearer(place: CountedPlace, graph: Any):
    graph.load([knows(1)], "append")
    usual = place.spent(lambda: graph.load([knows(2)], "append"))
    graph.branches.create("dev")
    graph.load([knows(3)], "append", branch="dev")
    after = place.spent(lambda: graph.load([knows(4)], "append"))
    assert after.by_part == usual.by_part, str(after)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_warm_read_of_a_branch_is_one_look_at_the_branch_and_one_probe(place: CountedPlace, graph: Any):
    graph.branches.create("dev")
    graph.load([knows(1)], "append", branch="dev")
    query = "query q() { match { $p: Person  $p knows $other } return { $other.name } }"
    graph.query(query, branch="dev")
    expected = {"branches": {"GET": 1}, "manifest": {"LIST": 1}}
    for act in (
        lambda: graph.snapshot("dev"),
        lambda: graph.branches.show("dev"),
        lambda: graph.query(query, branch="dev"),
    ):
        spent = place.spent(act)
        assert spent.by_part == expected, str(spent)


def test_the_first_read_of_a_branch_opens_its_manifest_and_no_table_that_is_open_already(
    place: CountedPlace, graph: Any
):
    query = "query q() { match { $p: Person } return { $p.name } }"
    graph.query(query)
    graph.branches.create("dev")
    spent = place.spent(lambda: graph.query(query, branch="dev"))
    assert spent.by_part == {"branches": {"GET": 1}, "manifest": {"LIST": 1, "GET": 2}}, str(spent)


def test_listing_branches_costs_a_listing_and_what_each_of_them_costs(place: CountedPlace, graph: Any):
    for number in range(3):
        graph.branches.create(f"b{number}")
        graph.snapshot(f"b{number}")
    spent = place.spent(lambda: graph.branches.list())
    assert spent.by_part == {"branches": {"LIST": 1, "GET": 3}, "manifest": {"LIST": 4}}, str(spent)
