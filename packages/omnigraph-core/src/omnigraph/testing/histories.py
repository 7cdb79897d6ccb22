"""``check_history``: whether what many writers were told can be explained by the one line of commits that they made.

    records (what each call was told) ──┐
    commits, oldest first ──────────────┼── check_history ──> problems, none for a history that is right
    model of the state before ──────────┘

Each call has a name, which it gives as the actor of its commit. So it is known which call made which commit, also of a
call that never answered. Replaying the calls in the order of their commits through the model must give the affected
counts that they were told and the rows that are there; a call that made no commit must be explained by a state that was
the newest one between its beginning and its end, and so must whatever was read. ``history_writers`` runs such writers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.history_check import broken_history
from omnigraph.testing.history_calls import (
    Creation,
    Load,
    Look,
    Mutation,
    change,
    digest_of_edges,
    digest_of_image,
    work_to_json,
)
from omnigraph.testing.history_records import CallRecord, Outcome
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export
from omnigraph.testing.mutation_model import Image

if TYPE_CHECKING:
    from omnigraph.graph import Graph

STILL: Final = (CommitKind.MAINTENANCE, CommitKind.FENCE)
"""Commits that change no row."""


def check_history(
    graph: Graph,
    model: ModelGraph,
    records: Iterable[CallRecord],
    *,
    since: int,
    branch: str = "main",
    stores_fail: bool = False,
) -> list[str]:
    """What cannot be explained about a history; nothing, if it is right.

    Args:
        graph: as it is after all calls ended, and written by nobody meanwhile.
        model: of the state that the calls began with; it stays as it is.
        records: every call that was made since.
        since: the manifest version of that state.
        branch: the branch that they wrote to.
        stores_fail: whether faults were injected, so that calls may be told of trouble with the store.
    """
    commits = graph.commits.list(branch)
    versions = {each.id: each.manifest_version for each in commits}
    replay = _Replay(model, {each.call: each for each in records}, since, versions)
    for commit in reversed(commits):
        if commit.manifest_version > since:
            replay.step(commit)
    problems = [*broken_history(commits[0].id, commits), *replay.problems]
    for record in replay.records.values():
        problems += _call_problems(record, replay, stores_fail)
    return [*problems, *_row_problems(graph, branch, replay)]


@dataclass(slots=True)
class _Replay:
    """The commits of a history, carried out one by one on the model.

    Attributes:
        versions: the manifest version of each commit.
        states: the rows after each manifest version.
        made: the commits of each call.
        still: versions that changed no row.
    """

    model: ModelGraph
    records: Mapping[str, CallRecord]
    since: int
    versions: Mapping[str, int]
    states: dict[int, Image] = field(default_factory=dict)
    made: dict[str, list[Commit]] = field(default_factory=dict)
    still: set[int] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    newest: int = 0

    def __post_init__(self) -> None:
        self.states[self.since] = self.model.rows
        self.newest = self.since

    def at(self, version: int) -> ModelGraph:
        """The model of the state after a version; may be changed."""
        return replace(self.model, rows=dict(self.states[version]))

    def between(self, first: int, last: int) -> list[int]:
        """The versions that were the newest one at some time in between, or at either end."""
        return [each for each in range(first, last + 1) if each in self.states]

    def step(self, commit: Commit) -> None:
        after = self.at(self.newest)
        record = self.records.get(commit.actor or "")
        if record is not None:
            self.made.setdefault(record.call, []).append(commit)
        if commit.kind in STILL:
            self.still.add(commit.manifest_version)
        else:
            self._carry_out(commit, record, after)
        self.newest = commit.manifest_version
        self.states[self.newest] = after.rows

    def _carry_out(self, commit: Commit, record: CallRecord | None, model: ModelGraph) -> None:
        if commit.kind is not CommitKind.DATA or record is None or not isinstance(record.work, Mutation | Load):
            self.problems.append(f"no call made the {commit.kind} commit {commit.id} of {commit.actor}")
            return
        try:
            affected = change(model, record.work)
        except ModelRefusalError as error:
            self.problems.append(f"{_named(record)} made commit {commit.id}, which breaks a rule: {error}")
            return
        if record.affected not in (None, affected):
            self.problems.append(
                f"{_named(record)} was told of {record.affected} nodes and edges, and commit {commit.id} "
                f"affects {affected}"
            )
        # A load without records makes a commit, a mutation that matches nothing makes none.
        if affected == (0, 0) and isinstance(record.work, Mutation):
            self.problems.append(f"{_named(record)} made commit {commit.id}, which affects nothing")


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _call_problems(record: CallRecord, replay: _Replay, stores_fail: bool) -> list[str]:
    """What is wrong with what one call was told."""
    problems = _commit_problems(record, replay.made.get(record.call, []))
    if record.outcome is Outcome.FAILED or (record.outcome is Outcome.TROUBLE and not stores_fail):
        problems.append(f"{_named(record)} failed: {record.error}")
    elif record.outcome is Outcome.SEEN:
        problems += _sight_problems(record, replay)
    elif isinstance(record.work, Creation) and record.outcome is Outcome.ACKNOWLEDGED:
        if record.digest != digest_of_image(replay.model.rows):
            problems.append(f"{_named(record)} made a graph that holds something else than its first load")
    elif not _is_explained(record, replay):
        problems.append(
            f"{_named(record)} ended as {record.outcome}, and no state from version {record.before} to {record.after} "
            f"explains it: {record.error or 'nothing matched'}"
        )
    return problems


def _commit_problems(record: CallRecord, made: Sequence[Commit]) -> list[str]:
    """Where the commits of a call are not those that it was told of."""
    problems = []
    if len(made) > 1:
        problems.append(f"{_named(record)} made {len(made)} commits: {', '.join(each.id for each in made)}")
    # Of a call that was not answered, a recovery may have made the commit long after.
    end = record.after if record.outcome is Outcome.ACKNOWLEDGED else None
    problems += [
        f"{_named(record)} went from version {record.before} to {end}, and its commit is version "
        f"{commit.manifest_version}"
        for commit in made
        if not record.before < commit.manifest_version <= (end or commit.manifest_version)
    ]
    ids = {each.id for each in made}
    if record.outcome is Outcome.ACKNOWLEDGED and not isinstance(record.work, Creation):
        if record.commit_id not in ids:
            problems.append(f"{_named(record)} was acknowledged as commit {record.commit_id}, which is not there")
    elif record.outcome is Outcome.UNKNOWN:
        if record.attempts == 1 and record.commit_id is not None and ids - {record.commit_id}:
            problems.append(f"{_named(record)} was told of commit {record.commit_id}, and made {made[0].id}")
    # What an attempt was told says nothing about the one before it, which never answered.
    elif made and record.attempts == 1:
        problems.append(f"{_named(record)} ended as {record.outcome}, and made commit {made[0].id}")
    return problems


def _sight_problems(record: CallRecord, replay: _Replay) -> list[str]:
    """Where what a call has read is not the state of the commit that it says, or that commit is too old."""
    version = replay.versions.get(record.commit_id or "")
    if version is None or record.after is None or not record.before <= version <= record.after:
        time = f"from version {record.before} to {record.after}"
        return [f"{_named(record)} went {time}, and has read commit {record.commit_id}, which is version {version}"]
    if record.digest is None or not isinstance(record.work, Look):
        return []
    state = replay.at(version)
    expected = digest_of_edges(state) if record.work.how == "query" else digest_of_image(state.rows)
    return [] if record.digest == expected else [f"{_named(record)} has read other rows than version {version} has"]


def _is_explained(record: CallRecord, replay: _Replay) -> bool:
    """Whether a call without a commit was told something that was true at some time while it ran."""
    work = record.work
    if record.after is None or not isinstance(work, Mutation | Load):
        return True
    seen = replay.between(record.before, record.after)
    match record.outcome:
        case Outcome.NOTHING:
            is_zero = record.affected in (None, (0, 0))
            return is_zero and any(_attempt(work, replay.at(version)) == (0, 0) for version in seen)
        case Outcome.REFUSED:
            return any(_attempt(work, replay.at(version)) is None for version in seen)
        case Outcome.CONFLICT:
            return any(version > record.before and version not in replay.still for version in seen)
    return True


def _attempt(work: Mutation | Load, model: ModelGraph) -> tuple[int, int] | None:
    """What a call affects on a state; None when it is refused."""
    try:
        return change(model, work)
    except ModelRefusalError:
        return None


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row_problems(graph: Graph, branch: str, replay: _Replay) -> list[str]:
    """Where what is stored is not what the replay gives: numbers of rows at every version, rows at some."""
    versions = sorted(replay.states)
    problems = [
        f"version {version} has {found} rows, and the replay gives {expected}"
        for version in versions
        if (found := _stored_counts(graph, branch, version)) != (expected := _counts(replay.states[version]))
    ]
    problems += [
        f"version {version} changed rows, and should change none"
        for version in sorted(replay.still)
        if _difference(graph, branch, replay.at(version), version)
    ]
    if _difference(graph, branch, replay.at(versions[-1]), versions[-1]):
        wrong = ((each, _difference(graph, branch, replay.at(each), each)) for each in versions)
        first, difference = next((version, found) for version, found in wrong if found)
        problems.append(f"the rows are others than those of the replay, first at version {first}: {difference}")
    return problems


def _stored_counts(graph: Graph, branch: str, version: int) -> dict[str, int]:
    types: Sequence[Mapping[str, Any]] = graph.snapshot(branch, at=version).to_dict()["types"]
    return {f"{each['kind']}:{each['name']}": each["count"] for each in types}


def _counts(image: Image) -> dict[str, int]:
    return {key: len(rows) for key, rows in sorted(image.items())}


def _difference(graph: Graph, branch: str, model: ModelGraph, version: int) -> str:
    """Rows that only one of the two has, of the first types that differ; empty when they hold the same."""
    stored = content_of_export(graph.export(branch=branch, snapshot=version), model)
    expected = model.content()
    different = [key for key in expected if stored[key] != expected[key]]
    return "; ".join(
        f"{key} stores {_few(stored[key] - expected[key])} instead of {_few(expected[key] - stored[key])}"
        for key in different[:3]
    )


def _few(rows: Counter[str]) -> str:
    return ", ".join([*rows][:3]) or "nothing"


def _named(record: CallRecord) -> str:
    return f"call {record.call} {json.dumps(work_to_json(record.work), ensure_ascii=False)[:300]}"
