"""``bulk_publish`` with a judge: the same commit and the same words as without, and time that judging takes is free."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bulk_attempts import named, verdict
from test_bulk_judges import Elsewhere

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import ConstraintError, ContentionError
from omnigraph.testing.faults import Call, armed
from omnigraph.write.bulk import publishing
from omnigraph.write.validation.row_sets import Found
from omnigraph.write.validation.sets import LIMITS

SCHEMA = """
node Person { handle: String @key  age: I32?  mail: String? @unique }
edge Knows: Person -> Person @card(0..2) { since: I32?  @unique(src, dst) }
"""
EVERYBODY = [f"p{number}" for number in range(6)]


def person(handle: str, **data: Any) -> str:
    return json.dumps({"type": "Person", "data": {"handle": handle, **data}})


def knows(src: str, dst: str, name: str) -> str:
    return json.dumps({"edge": "Knows", "from": src, "to": dst, "data": {"id": name}})


BEFORE = [*(person(each, mail=f"{each}@x") for each in EVERYBODY), knows("p0", "p1", "k0"), knows("p1", "p0", "k1")]
FINE = [person("q0"), person("q1", mail="q@x"), knows("p0", "q0", "k2"), knows("q0", "p0", "k3")]
CHANGED = [person("p0", age=7), person("p1", mail="new@x"), knows("p0", "p2", "k0"), knows("p2", "p0", "k4")]
WRONG = [
    person("p0"), person("q0", mail="p1@x"), person("q0"), knows("p0", "p1", "k1"), knows("p0", "p3", "k5"),
    knows("p0", "p4", "k6"), knows("nobody", "p4", "k7"),
]  # fmt: skip


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://judged-{uuid.uuid4().hex}", schema=SCHEMA) as made:
        made.load("\n".join(BEFORE), mode="append")
        yield made


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "LIMITS", replace(LIMITS, memory_rows=0, lookup_keys=0))


def attempts(graph: og.Graph, lines: list[str], branch: str = "main") -> list[og.BulkAttempt]:
    ticket = graph.bulk(branch=branch)
    return [ticket.attempt(named(line)) for line in lines]


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("mode", "lines"), [("append", FINE), ("merge", FINE), ("merge", CHANGED), ("overwrite", BEFORE + FINE)]
)
def test_a_judge_lets_through_what_a_load_lets_through(graph: og.Graph, mode: str, lines: list[str]):
    graph.branches.create("alone")
    graph.load("\n".join(lines), mode=mode, branch="alone")
    judge = Elsewhere(graph._repository.tables)
    done = graph.bulk_publish(attempts(graph, lines), mode, judge=judge)
    assert judge.asked
    assert done.total == len(lines)
    assert list(graph.export()) == list(graph.export(branch="alone"))


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_judge_refuses_what_a_load_refuses_in_the_same_words(graph: og.Graph, mode: str):
    with pytest.raises(ConstraintError) as expected:
        graph.load(named("\n".join(WRONG)), mode=mode)
    made = attempts(graph, WRONG)
    lines = {id(receipt): line for line, attempt in enumerate(made, 1) for receipt in attempt.receipts}
    judge = Elsewhere(graph._repository.tables)
    with pytest.raises(ConstraintError) as caught:
        graph.bulk_publish(made, mode, judge=judge, locate=lambda receipt, _: ("in.jsonl", lines[id(receipt)]))
    assert judge.asked
    assert verdict(caught.value) == verdict(expected.value)


@pytest.mark.usefixtures("few_are_many")
def test_the_judge_of_a_ticket_reads_the_files_by_itself(graph: og.Graph):
    ticket = graph.bulk()
    made = [ticket.attempt(named(line)) for line in FINE]
    with ticket.judge() as judge:
        assert graph.bulk_publish(made, judge=judge).total == len(FINE)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class SlowJudge(Elsewhere):
    """Takes longer over the first question than a write may go on against others."""

    def repeated(self, rows: Any, keep: int) -> Found:
        if not self.asked:
            time.sleep(1.2)
        return super().repeated(rows, keep)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    monkeypatch.setenv("OMNIGRAPH_WRITE_DEADLINE", "1.0")
    with og.init(f"memory://impatient-{uuid.uuid4().hex}", schema=SCHEMA) as made:
        yield made


class Rival:
    """Overtakes each staged load but its own, as often as it is told."""

    def __init__(self, uri: str, *, times: int, seconds: float = 0) -> None:
        self.commits: list[og.Commit] = []
        self.seconds = seconds
        self._graph, self._left, self._is_at_it = og.open(uri), times, False

    def __call__(self, _: str) -> None:
        if self._left and not self._is_at_it:
            self._left, self._is_at_it = self._left - 1, True
            self.commits.append(self._graph.load(person(f"rival{self._left}"), mode="append").commit)
            self._is_at_it = False
            time.sleep(self.seconds)


@pytest.mark.usefixtures("few_are_many")
def test_a_load_that_was_judged_for_longer_than_its_deadline_goes_on_against_a_rival(impatient: og.Graph):
    # A small write waits only when it was overtaken for the second time.
    rival = Rival(impatient.uri, times=2)
    made = attempts(impatient, [person("ann")])
    with armed({failpoints.LOAD_STAGED: Call(rival)}):
        done = impatient.bulk_publish(made, judge=SlowJudge(impatient._repository.tables))
    assert done.commit.parent_id == rival.commits[1].id
    assert sorted(row["id"] for row in impatient.table("Person")) == ["ann", "rival0", "rival1"]


@pytest.mark.usefixtures("few_are_many")
def test_the_deadline_still_ends_a_load_that_others_overtake_again_and_again(impatient: og.Graph):
    rival = Rival(impatient.uri, times=50, seconds=0.2)
    made = attempts(impatient, [person("ann")])
    with armed({failpoints.LOAD_STAGED: Call(rival)}), pytest.raises(ContentionError):
        impatient.bulk_publish(made, judge=Elsewhere(impatient._repository.tables))
    assert 2 <= len(rival.commits) < 50


@settings(max_examples=15)
@given(st.lists(st.booleans(), min_size=6, max_size=6), st.integers(1, 5))
def test_edges_with_and_without_ids_are_merged_together_as_by_a_load(have_ids: list[bool], first_count: int):
    people = [{"type": "Person", "data": {"handle": name}} for name in "abcdefz"]
    there = [{"edge": "Knows", "from": name, "to": "z", "data": {"id": f"k-{name}", "since": 0}} for name in "abc"]
    ids = [f"k-{name}" if has else None for name, has in zip("abcdef", have_ids, strict=True)]
    rows = pa.table({
        "id": pa.array(ids, pa.string()),
        "src": list("abcdef"),
        "dst": ["z"] * 6,
        "since": pa.array(range(1, 7), pa.int32()),
    })  # fmt: skip
    graphs = [og.init(f"memory://{uuid.uuid4().hex}/g", schema=SCHEMA) for _ in range(2)]
    for graph in graphs:
        graph.load(people + there, "append")
    ours, theirs = graphs
    ticket = ours.bulk(["Knows"])
    files = [rows.slice(0, first_count), rows.slice(first_count)]
    ours.bulk_publish([ticket.write("Knows", each).to_json() for each in files], "merge")
    theirs.load({"Knows": rows}, "merge")
    found = [graph.table("Knows").to_arrow().sort_by("src") for graph in graphs]
    assert found[0].drop_columns("id").equals(found[1].drop_columns("id"))
    named = [[each if len(each) < 5 else "minted" for each in table["id"].to_pylist()] for table in found]
    assert named[0] == named[1]
    # Known by their ends, whether they said so or not.
    assert named[0][:3] == ["k-a", "k-b", "k-c"]
    for graph in graphs:
        graph.close()
