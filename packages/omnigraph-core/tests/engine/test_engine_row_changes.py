"""What differs between two versions of a table: the same whichever way it is found, and found by reading little."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_change_world import WAYS, Lines

from omnigraph.engine import differing_rows, moved_rows
from omnigraph.engine.row_changes import MAX_CHANGES
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import TablePin

NAN = float("nan")

FIRST = [f"f{number:02d}" for number in range(12)]
IDS = [*FIRST[::3], "", "a", "z", "é", "\uffff", "\U0001d11e", "f", "f000"]
THINGS: dict[str, list[Any]] = {
    "_row_x": [None, 0, 1],
    "f32": [None, 0.0, -0.0, NAN],
    "f64": [None, 0.0, -0.0, NAN],
    "numbers": [None, [], [None], [0.0], [-0.0], [NAN, 1.0]],
    "picture": [None, b"", b"x", b"x" * 5_000],
    "tags": [None, [], [""], [None], ["a", "b"]],
    "text": [None, "", "a"],
    "vector": [None, [0.0, 1.0], [-0.0, 1.0], [NAN, 1.0]],
}
LINKS: dict[str, list[Any]] = {
    "src": ["a", "b"],
    "dst": ["a", "b"],
    "since": [None, 0, 1],
    "u64": [None, 0, 2**64 - 1],
    "when": [None, 0, 1],
}
VALUES = {"node:Thing": THINGS, "edge:Link": LINKS}


def things(key: str, ids: list[str], seed: int) -> list[dict[str, Any]]:
    """Rows of which a neighbouring seed changes few values, or none."""
    columns = [*enumerate(VALUES[key].items())]
    return [
        {"id": each} | {name: values[(seed // (1 + at) + place) % len(values)] for at, (name, values) in columns}
        for place, each in enumerate(ids)
    ]


def plain(**numbers: int | None) -> list[dict[str, Any]]:
    return [{"id": key, "key": key, "n": number} for key, number in numbers.items()]


def many(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"k{each:05d}", "key": f"k{each:05d}", "n": each} for each in range(start, start + count)]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "upsert", "upsert", "delete", "delete", "overwrite", "fold", "fork"]),
        st.integers(0, 2),
        st.lists(st.sampled_from(IDS), min_size=1, max_size=5, unique=True),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=25)
@given(key=st.sampled_from([*VALUES]), steps=STEPS, data=st.data())
def test_every_way_finds_what_two_full_reads_tell_apart(
    key: str, steps: list[tuple[str, int, list[str], int]], data: st.DataObject
) -> None:
    lines = Lines(key, things(key, FIRST, 0))
    for kind, line, ids, seed in steps:
        line %= len(lines.heads)
        if kind == "append":
            there = lines.contents(lines.heads[line])
            fresh = [each for each in ids if each not in there]
            if fresh:
                lines.append(things(key, fresh, seed), line)
        elif kind == "upsert":
            lines.upsert(things(key, ids, seed), line)
        elif kind == "overwrite":
            lines.overwrite(things(key, [*FIRST[:4], *(each for each in ids if each not in FIRST[:4])], seed), line)
        elif kind == "delete":
            lines.delete(ids, line)
        elif kind == "fold":
            lines.fold(line)
        else:
            lines.fork(line)
    numbers = st.sampled_from([None, *range(len(lines.versions))])
    drawn = data.draw(numbers), data.draw(numbers)
    for before, after in [(0, lines.heads[0]), (lines.heads[0], lines.heads[-1]), drawn]:
        for one, other in [(before, after), (after, before)]:
            expected = lines.expected(one, other)
            for name, memory_bytes in WAYS.items():
                assert lines.changes(one, other, memory_bytes) == expected, name


@pytest.mark.parametrize("way", WAYS)
def test_an_insert_an_update_and_a_delete_are_told_apart(way: str) -> None:
    lines = Lines("node:Plain", plain(a=1, b=2, c=3))
    lines.upsert(plain(b=20, d=4))
    lines.delete(["c"])
    found = [*lines.batches(0, 2, WAYS[way])]
    assert [key for each in found for key in each.ids.to_pylist()] == ["b", "c", "d"]
    assert [row for each in found for row in each.before.to_pylist()] == [*plain(b=2, c=3), None]
    assert [row for each in found for row in each.after.to_pylist()] == [*plain(b=20), None, *plain(d=4)]
    assert sum(map(len, found)) == 3


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_only_moved_are_no_change(way: str) -> None:
    lines = Lines("node:Thing", things("node:Thing", FIRST, 3))
    lines.append(things("node:Thing", ["x", "y"], 4))
    lines.fold()
    lines.upsert(things("node:Thing", FIRST, 3))
    lines.overwrite([*things("node:Thing", ["x", "y"], 4), *things("node:Thing", FIRST, 3)])
    assert [each.number for each in lines.tables.parts(lines.head())] != [0, 1]
    for version in (2, 3, 4):
        assert lines.changes(1, version, WAYS[way]) == {}
        assert lines.changes(version, 1, WAYS[way]) == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("column", THINGS)
def test_every_column_of_a_row_counts(column: str, way: str) -> None:
    row = {name: values[-1] for name, values in THINGS.items()}
    values = THINGS[column][:-1]
    lines = Lines("node:Thing", [row | {"id": f"{place}"} for place in range(len(values))])
    lines.overwrite([row | {"id": f"{place}", column: value} for place, value in enumerate(values)])
    assert len(lines.changes(0, 1, WAYS[way])) == len(values)
    assert lines.changes(0, 1, WAYS[way]) == lines.expected(0, 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_table_that_is_not_there_is_all_inserts_or_all_deletes(way: str) -> None:
    lines = Lines("node:Plain", plain(b=1, a=2))
    (made,) = lines.batches(None, 0, WAYS[way])
    assert made.ids.to_pylist() == ["a", "b"]
    assert made.before.to_pylist() == [None, None]
    assert made.after.to_pylist() == plain(a=2, b=1)
    (dropped,) = lines.batches(0, None, WAYS[way])
    assert dropped.before.to_pylist() == plain(a=2, b=1)
    assert dropped.after.null_count == 2
    assert [*lines.batches(None, None, WAYS[way])] == []
    empty = Lines("node:Plain")
    assert [*empty.batches(None, 0, WAYS[way])] == []


def test_the_same_delete_on_two_branches_is_no_difference() -> None:
    lines = Lines("node:Plain", plain(a=1, b=2, c=3))
    fork = lines.fork()
    lines.delete(["b"])
    lines.delete(["b"], fork)
    assert lines.tables.parts(lines.head()) != lines.tables.parts(lines.head(fork))
    assert lines.changes(lines.heads[0], lines.heads[fork]) == {}


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", WAYS)
def test_changes_come_in_bounded_batches_in_one_order(way: str) -> None:
    count = 2 * MAX_CHANGES
    lines = Lines("node:Plain", [each for each in many(count) if each["n"] % 3])
    lines.overwrite([each | {"n": each["n"] - each["n"] % 2} for each in many(count) if each["n"] % 5])
    found = [*lines.batches(0, 1, WAYS[way])]
    assert max(map(len, found)) <= MAX_CHANGES
    was_there, is_there = {*range(count)} - {*range(0, count, 3)}, {*range(count)} - {*range(0, count, 5)}
    is_other = {*range(1, count, 2)} | (was_there ^ is_there)
    expected = sorted(f"k{number:05d}" for number in (was_there | is_there) & is_other)
    assert [key for each in found for key in each.ids.to_pylist()] == expected


@pytest.mark.parametrize("way", WAYS)
def test_rows_with_blobs_come_few_at_a_time(way: str) -> None:
    rows = [{"id": f"{number:03d}", "picture": bytes([number])} for number in range(100)]
    lines = Lines("node:Thing", rows)
    lines.overwrite([each | {"picture": each["picture"] * 2} for each in rows])
    found = [*lines.batches(0, 1, WAYS[way])]
    assert max(map(len, found)) <= 32
    assert [image["picture"] for each in found for image in each.after.to_pylist()] == [
        bytes([number, number]) for number in range(100)
    ]


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Meter:
    """How many rows the table layer handed out."""

    def __init__(self, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        plain_read, plain_take = type(lines.tables).read, type(lines.tables).take

        def read(tables: Any, handle: Any, **options: Any) -> Any:
            given = plain_read(tables, handle, **options).read_all()
            self.rows += len(given)
            return given.to_reader()

        def take(tables: Any, handle: Any, addresses: Any, columns: Any) -> Any:
            self.rows += len(addresses)
            return plain_take(tables, handle, addresses, columns)

        monkeypatch.setattr(type(lines.tables), "read", read)
        monkeypatch.setattr(type(lines.tables), "take", take)


@pytest.fixture
def forty() -> Lines:
    """Forty parts of a hundred rows."""
    lines = Lines("node:Plain", many(100))
    for number in range(1, 40):
        lines.append(many(100, 100 * number))
    return lines


def test_one_changed_row_among_many_parts_is_all_that_is_read(forty: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    start = forty.heads[0]
    forty.upsert([{"id": "k01234", "key": "k01234", "n": -1}])
    with monkeypatch.context() as patch:
        meter = Meter(forty, patch)
        with count_table_calls() as counts:
            assert len(forty.changes(start, forty.heads[0])) == 1
    # The row as it was, the row as it is, and which rows its part has lost.
    assert meter.rows == 2
    assert counts == {"read_deleted": 1, "read": 1, "take": 1}


def test_the_cost_of_one_changed_row_does_not_grow_with_the_table(forty: Lines) -> None:
    small = Lines("node:Plain", many(100))
    small.append(many(100, 100))
    costs = []
    for lines in (small, forty):
        start = lines.heads[0]
        lines.upsert([{"id": "k00123", "key": "k00123", "n": -1}])
        lines.tables.open_at(lines.pin(start))
        requests, size = lines.tables.read_counts()
        assert len(lines.changes(start, lines.heads[0])) == 1
        after = lines.tables.read_counts()
        costs.append((after[0] - requests, after[1] - size))
    (few_requests, few_bytes), (requests, size) = costs
    assert requests <= few_requests + 2
    assert size <= 2 * few_bytes


def test_equal_pins_ask_nothing() -> None:
    lines = Lines("node:Plain", plain(a=1))
    nowhere = TablePin(location="nodes/none", branch=None, version=7)
    lines.versions[0] = type("Handle", (), {"pin": nowhere})()
    with count_table_calls() as counts:
        assert lines.changes(0, 0) == {}
    assert counts == {}


def test_a_fork_that_nobody_wrote_to_reads_no_rows() -> None:
    lines = Lines("node:Plain", plain(a=1))
    lines.fork()
    with count_table_calls() as counts:
        assert lines.changes(0, 1) == {}
    assert counts["read"] == counts["take"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_deletions_are_looked_at_and_rows_fetched_some_at_a_time(
    way: str, forty: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_rows, "_ROWS_AT_ONCE", 1_000)
    monkeypatch.setattr(differing_rows, "_TAKEN_ROWS", 3)
    start = forty.heads[0]
    gone = [f"k{number:05d}" for number in range(50, 4_000, 100)]
    forty.delete(gone)
    with count_table_calls() as counts:
        assert [*forty.changes(start, forty.heads[0], WAYS[way])] == gone
    # Of each part its list; four times ten of them, of which ten rows are gone.
    assert counts == {"read_deleted": 40, "take": 16}
    assert [*forty.changes(forty.heads[0], start, WAYS[way])] == gone
