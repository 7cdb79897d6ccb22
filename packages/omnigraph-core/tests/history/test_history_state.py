"""``GraphState``: what rows amount to, whatever their order, and what no rows may amount to."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import FormatError
from omnigraph.history.commits import Commit, CommitKind, from_micros
from omnigraph.history.rows import ManifestRow
from omnigraph.history.state import GraphState, head_row, pin_row, registration_row, schema_row
from omnigraph.tables.interface import TablePin, TableState


def commit(version: int, **facts: object) -> Commit:
    return Commit(
        **{
            "id": f"c{version}",
            "parent_id": f"c{version - 1}" if version > 1 else None,
            "branch": "main",
            "line": "b0",
            "manifest_version": version,
            "kind": CommitKind.DATA,
            "created_at": from_micros(version),
        }
        | facts
    )


def pin(name: str, number: int, *, version: int, seq: int, branch: str | None = None) -> ManifestRow:
    location = f"nodes/{number:016x}-{1:016x}"
    state = TableState(row_count=10 * version, version_metadata="{}")
    return pin_row(f"node:{name}", (number, 1), TablePin(location=location, branch=branch, version=version), state, seq)


def table(name: str, number: int, *, seq: int) -> ManifestRow:
    return registration_row(f"node:{name}", (number, 1), seq)


def commits(*versions: int) -> list[ManifestRow]:
    return [commit(each).to_row() for each in versions]


HISTORY = [
    schema_row("aa", 1),
    schema_row("bb", 4),
    table("Film", 1, seq=1),
    table("Human", 2, seq=1),
    table("Person", 2, seq=4),
    pin("Film", 1, version=1, seq=1),
    pin("Film", 1, version=9, seq=2),
    # A merge may adopt a smaller number from another line.
    pin("Film", 1, version=3, seq=5, branch="b1"),
    pin("Human", 2, version=1, seq=1),
    pin("Human", 2, version=2, seq=3),
    *commits(1, 2, 3, 4, 5),
    *(head_row(commit(each), "main") for each in range(1, 6)),
]


def test_of_rows_with_one_name_the_greatest_seq_counts():
    state = GraphState.of(HISTORY, 5)
    assert state.version == 5
    assert state.schema_digest == "bb"
    assert list(state.entries) == ["node:Film", "node:Person"]
    film, person = state.entries.values()
    assert film.pin == TablePin(location=f"nodes/{1:016x}-{1:016x}", branch="b1", version=3)
    assert (film.row_count, film.seq, film.identity) == (30, 5, (1, 1))
    assert (person.pin.version, person.row_count, person.seq) == (2, 20, 3)
    assert person.pin.location == f"nodes/{2:016x}-{1:016x}"
    assert state.head == commit(5)
    assert list(state.recent) == [commit(each) for each in range(1, 6)]


def test_a_state_holds_the_newest_row_of_each_thing_and_no_other():
    state = GraphState.of(HISTORY, 5)
    assert len(state.rows) == 1 + 2 + 2 + 5 + 1
    assert [each.object_id for each in state.rows] == sorted({each.object_id for each in HISTORY})
    assert GraphState.of(state.rows, 5) == state


@given(st.permutations(HISTORY))
def test_order_plays_no_part(rows):
    assert GraphState.of(rows, 5) == GraphState.of(HISTORY, 5)


@given(st.permutations(HISTORY), st.data())
def test_a_state_can_be_reached_in_any_number_of_steps(rows, data):
    cut = data.draw(st.integers(0, len(HISTORY)))
    first = sorted(HISTORY, key=lambda each: each.seq)
    start = GraphState.of([each for each in first if each.seq <= 2], 2)
    rest = [each for each in rows if each.seq > 2]
    middle = rest[:cut]
    # Only whole publishes make states; rows themselves may come in any order.
    assert start.advanced([*middle, *rest[cut:]], 5) == GraphState.of(HISTORY, 5)
    stepwise = start
    for version in (3, 4, 5):
        stepwise = stepwise.advanced([each for each in rest if each.seq == version], version)
    assert stepwise == GraphState.of(HISTORY, 5)


def test_a_row_that_comes_twice_is_one_row():
    assert GraphState.of(HISTORY * 2, 5) == GraphState.of(HISTORY, 5)


CONTRADICTIONS = {
    "two contents of one row": [*HISTORY, pin("Film", 1, version=4, seq=5)],
    "a pin of a table that nobody registered": [*HISTORY, pin("Ghost", 7, version=1, seq=5)],
    "two tables of one name": [*HISTORY, table("Film", 3, seq=5), pin("Film", 3, version=1, seq=5)],
    "a table without a version": [*HISTORY, table("Ghost", 7, seq=5)],
    "no schema": [each for each in HISTORY if each.object_type != "schema"],
    "no head": [each for each in HISTORY if each.object_type != "graph_head"],
    "a head that is not there": [each for each in HISTORY if each.object_id != "c5"],
    "a row of the future": [*HISTORY, pin("Film", 1, version=4, seq=6)],
    "a commit that cannot be read": [*HISTORY, dataclasses.replace(commit(5).to_row(), object_id="x", metadata="{}")],
    "nothing at all": [],
}  # fmt: skip


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
@settings(max_examples=5)
@given(data=st.data())
def test_rows_that_contradict_each_other_are_damage(contradiction, data):
    rows = CONTRADICTIONS[contradiction]
    with pytest.raises(FormatError, match="damaged"):
        GraphState.of(data.draw(st.permutations(rows)), 5)


def test_a_branch_shows_the_head_of_its_parent_until_it_has_its_own():
    forked = GraphState.of(HISTORY, 5)
    assert forked.head == commit(5)
    own = commit(6, branch="dev", id="d6", parent_id="c5")
    after = forked.advanced([own.to_row(), head_row(own, "i1")], 6)
    assert after.head == own
    assert [each.object_id for each in after.rows if each.object_type == "graph_head"] == [
        "graph_head:i1",
        "graph_head:main",
    ]


def test_commits_can_be_forgotten_except_the_head():
    after = GraphState.of(HISTORY, 5).advanced([], 5, forgetting=["c1", "c2", "c3", "c4"])
    assert after.recent == (commit(5),)
    with pytest.raises(FormatError):
        after.advanced([], 5, forgetting=["c5"])
