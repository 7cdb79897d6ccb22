"""``check_history`` explains histories that are right, and tells each way in which one can be wrong.

The commits are real ones of a graph in memory, made by loads that do what the statements say; what the calls were told
is made up.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from publish_world import publish_bare

import omnigraph as og
from omnigraph.history.commits import CommitKind
from omnigraph.schema import compile_schema
from omnigraph.testing.histories import check_history
from omnigraph.testing.history_calls import Mutation
from omnigraph.testing.history_records import CallRecord, Outcome, read_records
from omnigraph.testing.model import ModelGraph
from omnigraph.testing.mutation_model import DeleteNodes, InsertNode, Statement, Update, Where

SCHEMA = """
node Person { name: String @key  age: I32?  @range(age, 0..99) }
edge Knows: Person -> Person
"""
SEED = ({"type": "Person", "data": {"name": "ann", "age": 1}},)


class Story:
    """A graph, the model of its beginning, and what writers were told."""

    def __init__(self, graph: og.Graph) -> None:
        self.graph = graph
        graph.load(SEED, "append")
        self.since = self.version
        self.model = ModelGraph(compile_schema(SCHEMA))
        self.model.load(SEED, "append")
        self.records: list[CallRecord] = []

    @property
    def version(self) -> int:
        return self.graph.snapshot().commit.manifest_version

    def insert(self, name: str, age: int | None = None, *, call: str | None = None) -> CallRecord:
        """An insert that was acknowledged."""
        call = call or f"call-{len(self.records)}"
        before = self.version
        commit = self.graph.load([person(name, age)], "merge", actor=call).commit
        return self.told(
            call,
            InsertNode(type="Person", values={"name": name, "age": age}),
            before=before,
            outcome=Outcome.ACKNOWLEDGED,
            commit_id=commit.id,
            affected=(1, 0),
        )

    def told(self, call: str, *statements: Statement, **facts: Any) -> CallRecord:
        facts = {"before": self.version, "after": self.version, **facts}
        record = CallRecord(call=call, work=Mutation(statements=statements), **facts)
        self.records.append(record)
        return record

    def change(self, number: int, **facts: Any) -> None:
        self.records[number] = replace(self.records[number], **facts)

    def problems(self) -> list[str]:
        return check_history(self.graph, self.model, self.records, since=self.since)


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def aged(age: int, name: str) -> Update:
    return Update(type="Person", values={"age": age}, where=Where(property="name", value=name))


@pytest.fixture
def story() -> Iterator[Story]:
    with og.init(f"memory://history-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        yield Story(graph)


def only(story: Story) -> str:
    (problem,) = story.problems()
    return problem


def test_a_history_without_calls_is_right(story: Story):
    assert story.problems() == []


def test_a_history_that_is_right_has_no_problems_and_leaves_the_model_alone(story: Story):
    before = story.model.content()
    story.insert("bo", 2)
    story.insert("ann")
    story.told("none", aged(5, "zed"), outcome=Outcome.NOTHING, affected=(0, 0))
    story.told("refused", aged(100, "bo"), outcome=Outcome.REFUSED, error="@range")
    story.insert("cy", 3)
    assert story.problems() == []
    assert story.model.content() == before


def test_a_commit_that_was_acknowledged_and_is_not_there_is_told(story: Story):
    story.insert("bo")
    story.told(
        "lost", aged(5, "bo"), outcome=Outcome.ACKNOWLEDGED, commit_id="01ARZ3NDEKTSV4RRFFQ69G5FAV", affected=(1, 0)
    )
    assert "lost" in only(story)
    assert "acknowledged as commit 01ARZ3NDEKTSV4RRFFQ69G5FAV, which is not there" in only(story)


def test_a_call_that_was_carried_out_twice_is_told(story: Story):
    first = story.insert("bo")
    story.graph.load([person("bo")], "merge", actor=first.call)
    assert any("call-0" in each and "made 2 commits" in each for each in story.problems())


def test_a_wrong_count_is_told(story: Story):
    story.insert("bo")
    story.change(0, affected=(2, 0))
    assert "was told of (2, 0) nodes and edges" in only(story)
    assert "affects (1, 0)" in only(story)


def test_a_refusal_that_no_state_explains_is_told(story: Story):
    story.insert("bo", 2)
    story.told("refused", aged(5, "bo"), outcome=Outcome.REFUSED, error="@range")
    assert "refused" in only(story)
    assert "no state from version 3 to 3 explains it: @range" in only(story)


def test_a_refusal_is_explained_by_a_state_that_came_and_went_while_the_call_ran(story: Story):
    before = story.version
    story.insert("bo")
    story.graph.load([person("ann", 1)], "overwrite", actor="gone")
    story.told(
        "gone", DeleteNodes(type="Person", where=Where(property="name", value="bo")), before=before + 1,
        outcome=Outcome.ACKNOWLEDGED, commit_id=story.graph.snapshot().commit.id, affected=(1, 0),
    )  # fmt: skip
    story.told("refused", aged(100, "bo"), before=before, outcome=Outcome.REFUSED, error="@range")
    assert story.problems() == []
    story.change(-1, before=before + 2)
    assert "no state from version 4 to 4 explains it" in only(story)


def test_a_call_that_should_have_matched_is_told(story: Story):
    story.insert("bo")
    story.told("stale", aged(5, "bo"), outcome=Outcome.NOTHING, affected=(0, 0))
    assert "ended as nothing, and no state from version 3 to 3 explains it" in only(story)
    # When it began, nobody was called so.
    story.change(-1, before=2)
    assert story.problems() == []
    story.change(-1, affected=(1, 0))
    assert "ended as nothing" in only(story)


def test_a_commit_that_nobody_made_is_told(story: Story):
    commit = story.graph.load([person("bo")], "merge", actor="stranger").commit
    assert any(f"no call made the data commit {commit.id} of stranger" in each for each in story.problems())


def test_a_call_that_failed_is_told_and_so_is_its_commit(story: Story):
    story.told("failed", aged(100, "bo"), outcome=Outcome.FAILED, error="StorageError: gone")
    assert "failed: StorageError: gone" in only(story)
    story.graph.load([person("ann", 1)], "merge", actor="failed")
    assert any("ended as failed, and made commit" in each for each in story.problems())


@pytest.mark.parametrize("outcome", [Outcome.NOTHING, Outcome.REFUSED, Outcome.CONFLICT])
def test_a_call_that_was_told_of_no_commit_and_made_one_is_told(story: Story, outcome: Outcome):
    story.insert("bo")
    story.change(0, outcome=outcome, affected=None, commit_id=None)
    assert any(f"ended as {outcome}, and made commit" in each for each in story.problems())


def test_a_call_that_never_answered_may_have_made_its_commit_or_not(story: Story):
    story.insert("bo")
    story.change(0, outcome=Outcome.UNKNOWN, after=None, commit_id=None, affected=None)
    story.told("killed", aged(100, "ann"), outcome=Outcome.UNKNOWN, after=None)
    assert story.problems() == []


def test_a_commit_outside_of_the_time_of_its_call_is_told(story: Story):
    story.insert("bo")
    story.insert("cy")
    story.change(0, before=3, after=4)
    assert "went from version 3 to 4, and its commit is version 3" in only(story)
    story.change(0, before=1, after=2)
    assert "went from version 1 to 2, and its commit is version 3" in only(story)
    # One that was not answered may be carried out later, but not before it began.
    story.change(0, outcome=Outcome.UNKNOWN)
    assert story.problems() == []
    story.change(0, before=3)
    assert "went from version 3 to None" in only(story)


def test_a_conflict_needs_somebody_who_was_faster(story: Story):
    before = story.version
    story.insert("bo")
    story.told("beaten", aged(5, "ann"), before=before, outcome=Outcome.CONFLICT, error="HeadMovedError")
    assert story.problems() == []
    story.change(-1, before=before + 1)
    assert "ended as conflict, and no state" in only(story)


def test_maintenance_explains_no_conflict_and_changes_nothing(story: Story):
    before = story.version
    publish_bare(story.graph._repository.newest(), kind=CommitKind.MAINTENANCE)
    assert story.problems() == []
    story.told("beaten", aged(5, "ann"), before=before, outcome=Outcome.CONFLICT, error="HeadMovedError")
    assert "ended as conflict, and no state" in only(story)


def test_maintenance_that_changes_rows_is_told(story: Story, monkeypatch: pytest.MonkeyPatch):
    story.insert("bo")
    commits = story.graph.commits.list()
    commits[0] = replace(commits[0], kind=CommitKind.MAINTENANCE)
    story.records.clear()

    class Listed:
        def list(self, branch: str) -> Any:
            return commits

    monkeypatch.setattr(og.Graph, "commits", property(lambda self: Listed()))
    assert "version 3 changed rows, and should change none" in story.problems()


def test_a_commit_that_breaks_a_rule_is_told(story: Story):
    before = story.version
    commit = story.graph.load([person("ann", 99)], "merge", actor="bad").commit
    story.told(
        "bad", aged(100, "ann"), before=before, outcome=Outcome.ACKNOWLEDGED, commit_id=commit.id, affected=(1, 0)
    )
    assert any("which breaks a rule" in each for each in story.problems())


def test_a_commit_that_affects_nothing_is_told(story: Story):
    before = story.version
    commit = story.graph.load([], "merge", actor="empty").commit
    story.told(
        "empty", aged(5, "zed"), before=before, outcome=Outcome.ACKNOWLEDGED, commit_id=commit.id, affected=(0, 0)
    )
    assert "which affects nothing" in only(story)


def test_rows_that_no_replay_gives_are_told_with_the_version_they_came_with(story: Story):
    story.insert("bo", 2)
    before = story.version
    commit = story.graph.load([person("bo", 7)], "merge", actor="wrong").commit
    story.told(
        "wrong", aged(6, "bo"), before=before, outcome=Outcome.ACKNOWLEDGED, commit_id=commit.id, affected=(1, 0)
    )
    story.insert("cy")
    problem = only(story)
    assert "first at version 4" in problem
    assert '"age": 7' in problem
    assert '"age": 6' in problem


def test_rows_too_many_or_too_few_are_told_at_every_version(story: Story):
    before = story.version
    commit = story.graph.load([person("bo"), person("cy")], "merge", actor="two").commit
    story.told(
        "two", InsertNode(type="Person", values={"name": "bo"}), before=before, outcome=Outcome.ACKNOWLEDGED,
        commit_id=commit.id, affected=(1, 0),
    )  # fmt: skip
    story.graph.load([person("ann", 1), person("bo")], "overwrite", actor="healed")
    healed = story.graph.snapshot().commit
    story.told(
        "healed", aged(1, "ann"), before=before + 1, outcome=Outcome.ACKNOWLEDGED, commit_id=healed.id, affected=(1, 0)
    )
    assert "version 3 has {'edge:Knows': 0, 'node:Person': 3} rows" in only(story)


# ── notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_notes_give_the_records_back_and_a_call_without_an_ending_is_unknown(tmp_path: Path):
    ended = CallRecord(
        call="a", work=Mutation(statements=(aged(5, "bo"),)), before=2, after=3, outcome=Outcome.ACKNOWLEDGED, commit_id="x",
        affected=(1, 0),
    )  # fmt: skip
    begun = CallRecord(call="b", work=Mutation(statements=(aged(6, "bo"),)), before=3)
    lines = [
        json.dumps(each)
        for each in (ended.intent(), ended.ending(), {"hit": "publish.before_commit", "during": "mutate"})
    ]
    file = tmp_path / "writer.jsonl"
    file.write_text("".join(f"{line}\n" for line in [*lines, json.dumps(begun.intent())]) + '{"ending": "b", "aft')
    assert read_records(file) == (ended, begun)
    assert read_records(file)[1].outcome is Outcome.UNKNOWN
    assert read_records(tmp_path / "none.jsonl") == ()
