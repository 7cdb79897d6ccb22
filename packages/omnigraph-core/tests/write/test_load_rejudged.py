"""A load that others overtook is judged again only as far as they may have made it wrong, with the same verdict."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError
from omnigraph.failpoints import LOAD_STAGED
from omnigraph.testing.failpoint_actions import Call, armed
from omnigraph.write import rejudging, stage
from omnigraph.write.changeset import ChangeSet

SCHEMA = """
node Person { name: String @key  mail: String? @unique }
node Note { text: String }
edge Knows: Person -> Person @card(0..2) { since: I32?  @unique(src, dst) }
edge Wrote: Person -> Note @card(2..)
"""
MINE = {
    "Person": pa.table({"name": ["ann", "bo", "cy"], "mail": ["a@x", None, "c@x"]}),
    "Knows": pa.table({"src": ["ann", "ann", "old"], "dst": ["bo", "old", "ann"]}),
}
Rival = Callable[[og.Graph], object]


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://rejudged-{uuid.uuid4().hex}", schema=SCHEMA) as graph:
        graph.load(
            [
                {"type": "Person", "data": {"name": "old", "mail": "o@x"}},
                {"type": "Person", "data": {"name": "older"}},
                {"edge": "Knows", "from": "old", "to": "older", "data": {"id": "k1"}},
            ],
            mode="append",
        )
        yield graph


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[ChangeSet | None]:
    """What was judged again each time; small loads are taken for large ones."""
    kept: list[ChangeSet | None] = []

    def watched(*args: Any) -> ChangeSet | None:
        kept.append(rejudging.touched_changes(*args))
        return kept[-1]

    monkeypatch.setattr(rejudging, "FEW_ROWS", 0)
    monkeypatch.setattr(stage, "touched_changes", watched)
    return kept


def overtaken(graph: og.Graph, data: dict[str, pa.Table], rival: Rival, mode: str = "append") -> og.LoadResult:
    """A load between whose judgement and publish somebody else commits, once."""
    with og.open(graph.uri) as other:
        waiting = [rival]

        def commit_first(_name: str) -> None:
            if waiting:
                waiting.pop()(other)

        with armed({LOAD_STAGED: Call(commit_first)}):
            ticket = graph.bulk(list(data))
            return graph.bulk_publish([ticket.write(name, rows) for name, rows in data.items()], mode)


def load(*records: dict[str, Any], mode: str = "append") -> Rival:
    return lambda graph: graph.load(list(records), mode=mode)


def person(name: str, mail: str | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "mail": mail}}


def knows(source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": data}


def forget(graph: og.Graph, name: str) -> None:
    graph.mutate("query q($n: String) { delete Person where name = $n }", params={"n": name})


def rows_of(changes: ChangeSet | None) -> dict[str, int]:
    assert changes is not None
    return {each.target.name: each.rows.row_count for each in changes.changes}


def test_rows_that_nobody_touched_are_not_judged_again(graph: og.Graph, seen: list[ChangeSet | None]):
    done = overtaken(graph, MINE, load(person("dee", "d@x"), knows("older", "dee")))
    assert done.total == 6
    assert [rows_of(each) for each in seen] == [{}]
    assert len(graph.table("Person")) == 6
    assert len(graph.table("Knows")) == 5


@pytest.mark.parametrize(
    ("rival", "reason", "touched"),
    [
        (load(person("bo")), "key_conflict", {"Person": 1}),
        (load(person("dee", "c@x")), "unique", {"Person": 1}),
        (lambda graph: forget(graph, "old"), "endpoint", {"Knows": 3, "Person": 2}),
        (load(person("ann2"), knows("old", "ann2")), "cardinality", {"Knows": 1, "Person": 1}),
        (load(knows("old", "ann3"), person("ann3")), "cardinality", {"Knows": 1, "Person": 1}),
    ],
    ids=["id", "unique", "endpoint", "cardinality", "order"],
)  # fmt: skip
def test_what_others_made_wrong_is_found_and_little_else_is_looked_at(
    graph: og.Graph, seen: list[ChangeSet | None], rival: Rival, reason: str, touched: dict[str, int]
):
    before = len(graph.commits.list())
    with pytest.raises(ConstraintError) as caught:
        overtaken(graph, MINE, rival)
    assert caught.value.details["counts"].keys() == {reason}
    assert rows_of(seen[0]) == touched
    assert len(graph.commits.list()) == before + 1


def test_edges_of_a_source_are_counted_together_when_one_of_them_was_touched(
    graph: og.Graph, seen: list[ChangeSet | None]
):
    """Two notes are the least that an author has; of hers, only one edge meets the rival, who took its id and went."""
    notes = pa.table({"id": ["n1", "n2", "n3"], "text": ["x", "y", "z"]})
    wrote = pa.table(
        {"id": ["w1", "w2", "w3", "w4"], "src": ["old", "old", "older", "older"], "dst": ["n1", "n2", "n3", "n1"]}
    )

    def take_an_id(other: og.Graph) -> None:
        nodes = [{"type": "Note", "data": {"id": f"o{number}", "text": "t"}} for number in (1, 2)]
        ends = zip(("w1", "o9"), ("o1", "o2"), strict=True)
        edges = [{"edge": "Wrote", "from": "older", "to": note, "data": {"id": edge}} for edge, note in ends]
        other.load([*nodes, *edges], mode="append")

    with pytest.raises(ConstraintError) as caught:
        overtaken(graph, {"Note": notes, "Wrote": wrote}, take_an_id)
    assert caught.value.details["counts"] == {"key_conflict": 1}
    assert rows_of(seen[0]) == {"Wrote": 4, "Note": 3}


def test_maintenance_of_others_touches_no_row(graph: og.Graph, seen: list[ChangeSet | None]):
    assert overtaken(graph, MINE, lambda other: other.maintain.ensure_indices()).total == 6
    assert all(rows_of(each) == {} for each in seen)


def test_a_merge_is_judged_as_a_whole(graph: og.Graph, seen: list[ChangeSet | None]):
    assert overtaken(graph, MINE, load(person("bo", "b@x")), mode="merge").total == 6
    assert seen == [None]
    assert {row["name"]: row["mail"] for row in graph.table("Person")}["bo"] is None


def test_more_than_a_bound_of_changes_is_not_held_against_each_row(
    graph: og.Graph, seen: list[ChangeSet | None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rejudging, "MAX_DIFFERING", 1)
    assert overtaken(graph, MINE, load(person("dee"), person("eve"))).total == 6
    assert seen == [None]


@pytest.mark.parametrize("seed", range(12))
def test_the_verdict_is_the_same_as_of_judging_everything_again(
    seed: int, seen: list[ChangeSet | None], monkeypatch: pytest.MonkeyPatch
):
    """Random loads and rivals: published or refused alike, with the same problems and the same rows in the end."""
    outcomes = []
    for bound in (0, 10**9):
        monkeypatch.setattr(rejudging, "FEW_ROWS", bound)
        chance = random.Random(seed)
        names = [f"p{number}" for number in range(8)]
        with og.init(f"memory://alike-{uuid.uuid4().hex}", schema=SCHEMA) as graph:
            graph.load([person(name, f"{name}@x") for name in names[:4]], mode="append")
            mine = {
                "Person": pa.table({"name": chance.sample(names[4:], 2), "mail": [None, f"{chance.choice(names)}@y"]}),
                "Knows": pa.table(
                    {"id": ["m1", "m2"], "src": chance.choices(names[:4], k=2), "dst": chance.choices(names[:4], k=2)}
                ),
            }
            rivals = [
                load(person(chance.choice(names[4:]), f"{chance.choice(names)}@y")),
                load(knows(*chance.choices(names[:4], k=2), id=chance.choice(["m1", "r1"]))),
                partial(forget, name=chance.choice(names[:4])),
                lambda other: other.maintain.ensure_indices(),
            ]
            chosen = chance.sample(rivals, 2)
            try:
                overtaken(graph, mine, lambda other, chosen=chosen: [each(other) for each in chosen])
                verdict: Any = "published"
            except ConstraintError as error:
                verdict = (error.details["counts"], [each["message"] for each in error.details["problems"]])
            outcomes.append((verdict, list(graph.export())))
    assert outcomes[0] == outcomes[1]
