"""What opening and reading cost at an S3 server (DESIGN 14, 18): little when cold, one probe when warm, no write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cost_counts import CountedPlace

from omnigraph.storage import honesty

TYPES = 50
OPEN_BUDGET = 6
PER_TABLE = 2
MANY_TYPES = "\n".join(
    f"node T{number} {{ name: String @key }}" if number % 2 == 0 else f"edge E{number}: T{number - 1} -> T0"
    for number in range(TYPES)
)


def node(type_number: int, name: str) -> dict[str, Any]:
    return {"type": f"T{type_number}", "data": {"name": name}}


@pytest.fixture(scope="module")
def _wide(new_place: Callable[[], CountedPlace]) -> CountedPlace:
    place = new_place()
    with place.init(MANY_TYPES) as graph:
        graph.load([node(number, "a") for number in (0, 2, 4)], "append")
    return place


@pytest.fixture
def wide(_wide: CountedPlace, monkeypatch: pytest.MonkeyPatch) -> CountedPlace:
    """A graph of fifty types, all but a few of them empty, and a process that never asked this server anything."""
    monkeypatch.setattr(honesty, "_honest", set())
    return _wide


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_cold_open_of_fifty_types_is_within_six_requests(wide: CountedPlace, mode: Any):
    spent = wide.spent(lambda: wide.open(mode).close())
    assert spent.total <= OPEN_BUDGET, str(spent)
    # Opening for writing looks for writes that were cut off.
    looked = {"sidecar": {"LIST": 1}} if mode == "rw" else {}
    opened = {"branches": {"GET": 1}, "manifest": {"LIST": 1, "GET": 2}, "schema": {"GET": 1}}
    assert spent.by_part == opened | looked, str(spent)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_each_table_touched_adds_two_requests_and_its_rows(wide: CountedPlace, mode: Any):
    def read(*numbers: int) -> Any:
        with wide.open(mode) as graph:
            return [graph.table(f"T{number}").to_arrow() for number in numbers]

    empty = wide.spent(lambda: read(6, 8, 10, 12, 14))
    assert empty.total <= OPEN_BUDGET + 5 * (PER_TABLE + 1), str(empty)
    assert empty.by_part["tables"] == {"HEAD": 5, "GET": 5}, str(empty)
    filled = wide.spent(lambda: read(0, 2, 4))
    assert filled.by_part["tables"] == {"HEAD": 3, "GET": 3 + 3}, str(filled)


def test_a_warm_read_of_what_did_not_change_is_one_probe(wide: CountedPlace):
    with wide.open() as graph:
        graph.table("T0").to_arrow()
        assert wide.spent(graph.snapshot).requests == (("manifest", "LIST"),)
        again = wide.spent(lambda: graph.table("T0").to_arrow())
        assert again.by_part["manifest"] == {"LIST": 1}, str(again)
        assert "HEAD" not in again.by_part.get("tables", {}), str(again)
        assert again.by_part.get("tables", {}).get("GET", 0) <= 1, str(again)


def test_a_read_after_a_commit_of_another_handle_costs_the_new_state_and_the_table_that_moved(wide: CountedPlace):
    with wide.open() as reader, wide.open() as writer:
        for number in (20, 22):
            reader.table(f"T{number}").to_arrow()
        writer.load([node(20, "b")], "append")
        spent = wide.spent(lambda: reader.table("T20").to_arrow())
        assert spent.by_part["manifest"] == {"LIST": 2, "GET": 2}, str(spent)
        assert spent.by_part["tables"] == {"HEAD": 1, "GET": 2}, str(spent)
        assert wide.spent(lambda: reader.table("T22").to_arrow()).by_part == {"manifest": {"LIST": 1}}


def test_a_handle_that_was_opened_for_reading_writes_nothing(wide: CountedPlace):
    with wide.open() as graph:
        first = graph.load([node(24, "c")], "append").commit

    def read_everything() -> None:
        with wide.open("r") as graph:
            graph.table("T0").to_arrow()
            graph.snapshot(at=first.id)
            graph.snapshot(at=1)
            graph.commits.list()
            graph.commits.show(first.id)
            graph.refresh()
            list(graph.export())

    spent = wide.spent(read_everything)
    assert spent.total > 0
    assert spent.writes == 0, str(spent)


def test_a_cold_open_costs_the_same_after_many_commits(place: CountedPlace):
    with place.init("node T0 { name: String @key }") as graph:
        graph.load([node(0, "a")], "append")
        early = place.spent(lambda: place.open().close())
        for number in range(40):
            graph.load([node(0, f"n{number}")], "append")
    late = place.spent(lambda: place.open().close())
    assert late.by_part == early.by_part, str(late)
    assert late.received.total() <= 2 * early.received.total(), (str(early), str(late))
