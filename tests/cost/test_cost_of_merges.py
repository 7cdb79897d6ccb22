"""What merges and diffs of one row cost at an S3 server (DESIGN 18): they open only what they are about, at any size.

What is read of a type is the rows that differ: of a new row its file, of one that was replaced or deleted the footer of
the file that it lies in, 64 KiB, and a few pages. Where the rows lie that a merge replaces or removes it knows from the
base, so it looks for none of them. No other type is read but those at the ends of new edges, and edges at nodes that
go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from cost_counts import CountedPlace, Spent

SCHEMA = """
node Person { name: String @key  age: I32?  text: String? }
node Film { code: String @key }
node Note { text: String @key }
edge Knows: Person -> Person { since: I32? }
edge Rated: Person -> Film { stars: I32? }
"""
FEW, MANY = 10, 10_000
TEXT_BYTES = 500
FOOTER_BYTES = 64 * 1024

SIDECAR = {"LIST": 1, "PUT": 1, "DELETE": 1}
"""A look for those of others, and the own one."""

PUBLISHED = {"LIST": 2, "GET": 2, "PUT": 3, "PUT?": 1}
"""Both manifests are looked at and that of the source is read; state, history, transaction and version follow."""


def people(numbers: range, *, older: int = 0) -> dict[str, pa.Table]:
    """Rows with long texts of which no two are the same."""
    marks = (f"{each * 2_654_435_761 % 2**32:08x}" for each in numbers)
    return {
        "Person": pa.table(
            {
                "name": [f"p{each:08}" for each in numbers],
                "age": pa.array([each + older for each in numbers], pa.int32()),
                "text": [each * (TEXT_BYTES // len(each)) for each in marks],
            }
        )
    }


def knows(first: int, second: int, name: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{first:08}", "to": f"p{second:08}", "data": {"id": name}}


BRANCHES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda graph: None,
    "update": lambda graph: graph.load(people(range(5, 6), older=1), "merge", branch="update"),
    "insert": lambda graph: graph.load(people(range(900_000, 900_001)), "append", branch="insert"),
    "delete": lambda graph: graph.mutate('query d() { delete Note where text = "n1" }', branch="delete"),
    "connect": lambda graph: graph.load([knows(1, 2, "new")], "append", branch="connect"),
    "drop": lambda graph: graph.mutate('query d() { delete Person where name = "p00000007" }', branch="drop"),
    "release": lambda graph: None,
}
"""What branches are called, and what they did."""


class Sized:
    """A graph with some people, and branches of it that differ from it in one row or not at all.

    Attributes:
        loaded: what it cost to load the people.
        homes: where the table of each type lies, by its key.
    """

    def __init__(self, place: CountedPlace, count: int, *branches: str) -> None:
        self.place = place
        with place.init(SCHEMA) as graph:
            self.loaded = place.spent(lambda: graph.load(people(range(count)), "append"))
            notes = ({"type": "Note", "data": {"text": f"n{number}"}} for number in range(3))
            graph.load([{"type": "Film", "data": {"code": "f1"}}, *notes, knows(1, 3, "k1")], "append")
            for name in branches:
                graph.branches.create(name)
                BRANCHES[name](graph)
            self.homes = {key: entry.pin.location for key, entry in graph.snapshot().state.entries.items()}

    def spent(self, act: Callable[[Any], object]) -> Spent:
        """What an act costs a handle that was just opened, and has looked at nothing."""
        with self.place.open() as fresh:
            return self.place.spent(lambda: act(fresh))

    def merge(self, source: str, into: str = "main", *, dry_run: bool = False) -> Spent:
        return self.spent(lambda fresh: fresh.branches.merge(source, into, dry_run=dry_run))

    def touched(self, *keys: str) -> frozenset[str]:
        return frozenset(self.homes[key] for key in keys)


@pytest.fixture(scope="module")
def few(new_place: Callable[[], CountedPlace]) -> Sized:
    """Nothing of it is merged for good."""
    return Sized(new_place(), FEW, *BRANCHES)


@pytest.fixture(scope="module")
def many(new_place: Callable[[], CountedPlace]) -> Sized:
    """Nothing of it is merged for good."""
    return Sized(new_place(), MANY, *BRANCHES)


# ── what is opened ───────────────────────────────────────────────────────────────────────────────────────────────────

TYPES = {
    "nothing": [],
    "update": ["node:Person"],
    "insert": ["node:Person"],
    "delete": ["node:Note"],
    "connect": ["edge:Knows", "node:Person"],
    # Edges may be left there; an edge type without edges is not opened.
    "drop": ["node:Person", "edge:Knows"],
}


@pytest.mark.parametrize("change", TYPES)
def test_a_merge_opens_the_types_that_it_is_about_and_no_others(few: Sized, many: Sized, change: str):
    for graph in (few, many):
        spent = graph.merge(change, dry_run=True)
        assert spent.tables == graph.touched(*TYPES[change]), str(spent)
        assert spent.writes == 0, str(spent)


@pytest.mark.parametrize("change", [each for each in TYPES if each != "drop"])
def test_a_diff_of_one_row_reads_that_row_and_nothing_else(few: Sized, many: Sized, change: str):
    costs = [each.spent(lambda fresh: [*fresh.diff("main", change)]) for each in (few, many)]
    for graph, spent in zip((few, many), costs, strict=True):
        assert spent.tables == graph.touched(*TYPES[change][:1]), str(spent)
        assert spent.writes == 0, str(spent)
        assert spent.by_part["manifest"] == {"LIST": 2, "GET": 2}, str(spent)
        assert spent.received_from_tables["data"] < 3 * FOOTER_BYTES, str(spent)
    # Of a large file the footer and the pages of each column are read one by one.
    assert costs[1].total <= costs[0].total + (7 if change == "update" else 0), [str(each) for each in costs]


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_merge_of_a_new_row_costs_the_same_for_any_number_of_rows(new_place: Callable[[], CountedPlace]):
    small, large = (Sized(new_place(), count, "insert").merge("insert") for count in (FEW, MANY))
    assert small.by_part == {
        "sidecar": SIDECAR,
        # The branch that is merged, and after the swap the one that took it in.
        "branches": {"GET": 2},
        "manifest": PUBLISHED,
        # Two versions of the type, and the file of the row; then rows, transaction and version.
        "tables": {"HEAD": 2, "GET": 3, "PUT": 2, "LIST": 1, "PUT?": 1},
    }, str(small)
    assert large.by_part == small.by_part, str(large)
    for part in ("data", "_versions"):
        assert large.received_from_tables[part] <= small.received_from_tables[part] + 100, str(large)
        assert large.sent_to_tables[part] <= small.sent_to_tables[part] + 100, str(large)


def test_a_merge_of_a_replaced_row_costs_a_few_requests_for_any_number_of_rows(new_place: Callable[[], CountedPlace]):
    small, large = (Sized(new_place(), count, "update").merge("update") for count in (FEW, MANY))
    assert small.total <= 25, str(small)
    # A small file is read at once.
    assert large.total <= small.total + 8, str(large)
    for spent in (small, large):
        assert spent.by_part["manifest"] == PUBLISHED, str(spent)
        written = {verb: count for verb, count in spent.by_part["tables"].items() if verb not in ("GET", "HEAD")}
        # The row, the mark on the one that it replaces, transaction and version.
        assert written == {"PUT": 3, "LIST": 1, "PUT?": 1}, str(spent)


def test_a_branch_that_only_points_to_what_it_merges_writes_nothing_to_any_table(many: Sized):
    spent = many.merge("update", "release")
    assert set(spent.by_part["tables"]) == {"HEAD", "GET"}, str(spent)
    # The sidecar comes and goes, and four objects of the manifest come.
    assert spent.writes == 6, str(spent)
    assert spent.received_from_tables["data"] < 3 * FOOTER_BYTES, str(spent)


def test_a_merge_that_has_nothing_to_do_reads_two_manifests(few: Sized):
    assert few.merge("nothing").by_part == {
        "sidecar": {"LIST": 1},
        "branches": {"GET": 1},
        "manifest": {"LIST": 2, "GET": 2},
    }


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_merge_reads_the_rows_that_differ_and_nothing_else(many: Sized):
    whole = many.loaded.sent_to_tables["data"]
    differing = many.spent(lambda fresh: [*fresh.diff("main", "update")]).received_from_tables["data"]
    # One row of each version, of all columns: a footer and some pages, whatever the type holds.
    assert differing < 3 * FOOTER_BYTES < whole / 4
    assert many.merge("update", dry_run=True).received_from_tables["data"] == differing


def test_what_main_did_meanwhile_and_what_indexes_hold_is_not_read(new_place: Callable[[], CountedPlace]):
    graph = Sized(new_place(), MANY, "update")
    with graph.place.open() as writer:
        writer.maintain.ensure_indices()
        writer.load(people(range(200, 5_000), older=1), "merge")

    def merge(fresh: Any) -> None:
        # As if it had so many rows that their ids are not kept in memory.
        fresh._repository.warm.max_rows = 0
        fresh.branches.merge("update")

    spent = graph.spent(merge)
    assert spent.received_from_tables["data"] < 3 * FOOTER_BYTES, str(spent)
    assert spent.received_from_tables["_indices"] == 0, str(spent)
