"""``check_history`` explains histories that are right, and tells each way in which one can be wrong.

The commits are real ones of a graph in memory, made by loads that do what the statements say; what the calls were told
is made up.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from publish_world import publish_bare

import omnigraph as og
from omnigraph.history.commits import CommitKind
from omnigraph.schema import compile_schema
from omnigraph.testing.histories import check_history
from omnigraph.testing.history_calls import (
    Creation,
    How,
    Load,
    Look,
    Mutation,
    Upkeep,
    Work,
    digest_of_export,
    digest_of_traversal,
    traversal,
)
from omnigraph.testing.history_records import CallRecord, Outcome
from omnigraph.testing.model import Mode, ModelGraph, Record
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
        return self.noted(call, Mutation(statements=statements), **facts)

    def noted(self, call: str, work: Work, **facts: Any) -> CallRecord:
        facts = {"before": self.version, "after": self.version, **facts}
        record = CallRecord(call=call, work=work, **facts)
        self.records.append(record)
        return record

    def load(self, records: Sequence[Record], mode: Mode, *, call: str, **facts: Any) -> CallRecord:
        """A load that was acknowledged."""
        before = self.version
        commit = self.graph.load(list(records), mode, actor=call).commit
        work = Load(mode=mode, records=tuple(records), is_named=True)
        ended = {"before": before, "outcome": Outcome.ACKNOWLEDGED, "commit_id": commit.id, **facts}
        return self.noted(call, work, **ended)

    def look(self, how: How, **facts: Any) -> CallRecord:
        """A read of the newest state."""
        if how == "query":
            digest = digest_of_traversal(self.graph.query(traversal(self.model.catalog)).rows())
        else:
            digest = digest_of_export(self.graph.export())
        seen = {"outcome": Outcome.SEEN, "commit_id": self.graph.snapshot().commit.id, "digest": digest, **facts}
        return self.noted(f"look-{len(self.records)}", Look(how=how), **seen)

    def change(self, number: int, **facts: Any) -> None:
        self.records[number] = replace(self.records[number], **facts)

    def problems(self) -> list[str]:
        return check_history(self.graph, self.model, self.records, since=self.since)


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target}


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


def test_loads_of_every_mode_are_replayed(story: Story):
    story.load([person("bo"), knows("ann", "bo")], "append", call="append", affected=(1, 1))
    story.load([person("ann", 9)], "merge", call="merge", affected=(1, 0))
    story.load([knows("bo", "bo")], "overwrite", call="overwrite", affected=(0, 1))
    story.load([], "merge", call="empty", affected=(0, 0))
    story.noted("twice", Load(mode="append", records=(person("bo"),)), outcome=Outcome.REFUSED, error="twice")
    assert story.problems() == []
    story.change(-1, work=Load(mode="append", records=(person("cy"),)))
    assert "ended as refused, and no state" in only(story)
    story.change(-1, work=Load(mode="append", records=(person("bo"),)))
    story.change(1, affected=(2, 0))
    assert "was told of (2, 0) nodes and edges" in only(story)


def test_a_load_that_was_repeated_made_one_commit_whatever_its_attempts_were_told(story: Story):
    story.load([person("bo")], "append", call="again", attempts=2)
    assert story.problems() == []
    # The second attempt found what the first had left to a recovery, which came later.
    story.change(0, outcome=Outcome.REFUSED, commit_id=None, error="twice")
    assert story.problems() == []
    story.graph.load([person("bo")], "merge", actor="again")
    assert any("made 2 commits" in each for each in story.problems())


def test_a_call_whose_outcome_is_unknown_has_made_the_commit_that_it_was_told_of_or_none(story: Story):
    made = story.insert("bo")
    story.change(0, outcome=Outcome.UNKNOWN)
    assert story.problems() == []
    story.change(0, commit_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert f"was told of commit 01ARZ3NDEKTSV4RRFFQ69G5FAV, and made {made.commit_id}" in only(story)


def test_upkeep_makes_its_own_commits_and_no_others(story: Story):
    before = story.version
    story.graph.actor = "upkeep"
    commit = story.graph.maintain.ensure_indices().commit
    story.graph.actor = None
    assert commit is not None
    story.noted("upkeep", Upkeep(), before=before, outcome=Outcome.ACKNOWLEDGED, commit_id=commit.id)
    story.noted("none", Upkeep(), outcome=Outcome.NOTHING)
    assert story.problems() == []
    story.change(0, outcome=Outcome.NOTHING, commit_id=None)
    assert "ended as nothing, and made commit" in only(story)
    story.change(0, outcome=Outcome.ACKNOWLEDGED, commit_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert "which is not there" in only(story)


@pytest.mark.parametrize("how", ["export", "query"])
def test_what_was_read_is_the_state_of_the_commit_that_was_read(story: Story, how: How):
    story.load([person("bo"), knows("ann", "bo")], "append", call="first")
    story.look(how)
    story.load([knows("bo", "bo")], "append", call="second")
    assert story.problems() == []
    newest = story.graph.snapshot().commit
    story.change(1, commit_id=newest.id, after=story.version)
    assert f"has read other rows than version {newest.manifest_version} has" in only(story)


def test_a_read_of_what_was_old_when_it_began_is_told(story: Story):
    story.look("refresh", digest=None)
    story.insert("bo")
    assert story.problems() == []
    story.change(0, before=story.version, after=story.version)
    assert "went from version 3 to 3, and has read commit" in only(story)
    story.change(0, commit_id="01ARZ3NDEKTSV4RRFFQ69G5FAV", before=2)
    assert "which is version None" in only(story)


def test_a_graph_that_was_made_beside_holds_the_first_load(story: Story):
    digest = digest_of_export(story.graph.export())
    story.noted("made", Creation(), outcome=Outcome.ACKNOWLEDGED, digest=digest)
    assert story.problems() == []
    story.change(0, digest="0")
    assert "made a graph that holds something else than its first load" in only(story)


def test_trouble_with_the_store_is_a_problem_only_where_stores_do_not_fail_on_purpose(story: Story):
    story.told("trouble", aged(5, "ann"), outcome=Outcome.TROUBLE, error="StorageError: no")
    assert "failed: StorageError: no" in only(story)
    assert check_history(story.graph, story.model, story.records, since=story.since, stores_fail=True) == []
    story.insert("bo")
    story.change(1, outcome=Outcome.TROUBLE, commit_id=None, affected=None, error="StorageError: no")
    (problem,) = check_history(story.graph, story.model, story.records, since=story.since, stores_fail=True)
    assert "ended as trouble, and made commit" in problem
