"""``check_history``: whether what many writers were told can be explained by the one line of commits that they made.

    records (what each call was told) ──┐
    commits, oldest first ──────────────┼── check_history ──> problems, none for a history that is right
    model of the state before ──────────┘

Each call has a name, which it gives as the actor of its commit. So it is known which call made which commit, also of a
call that never answered. Replaying the calls in the order of their commits through the model must give the affected
counts that they were told and the rows that are there; a call that made no commit must be explained by a state that was
the newest one between its beginning and its end. ``history_writers`` runs such writers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from omnigraph.history.commits import Commit, CommitKind
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export
from omnigraph.testing.mutation_model import Image, Statement, mutate, statements_of_json, statements_to_json
from omnigraph.write.integrity import broken_history

if TYPE_CHECKING:
    from omnigraph.graph import Graph

STILL: Final = (CommitKind.MAINTENANCE, CommitKind.FENCE)
"""Commits that change no row."""


class Outcome(StrEnum):
    """How a call ended."""

    ACKNOWLEDGED = "acknowledged"
    NOTHING = "nothing"
    """Nothing matched, so there is no commit."""
    REFUSED = "refused"
    """It would break a rule of the schema."""
    CONFLICT = "conflict"
    """The graph moved on meanwhile."""
    UNKNOWN = "unknown"
    """It never answered, or said that it does not know."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of a writer.

    Attributes:
        call: its name, and the actor of its commit.
        before: the newest manifest version right before the call began.
        after: the newest one right after it ended; None when it never did.
        commit_id: of the commit that was acknowledged.
        affected: nodes and edges, as they were acknowledged.
        error: the message that it ended with.
    """

    call: str
    statements: tuple[Statement, ...]
    before: int
    after: int | None = None
    outcome: Outcome = Outcome.UNKNOWN
    commit_id: str | None = None
    affected: tuple[int, int] | None = None
    error: str | None = None

    def intent(self) -> dict[str, Any]:
        """What is written down before the call begins, as JSON."""
        statements = statements_to_json(self.statements)
        return {"intent": self.call, "before": self.before, "statements": statements}

    def ending(self) -> dict[str, Any]:
        """What is written down when it has ended, as JSON."""
        return {
            "ending": self.call,
            "after": self.after,
            "outcome": str(self.outcome),
            "commit_id": self.commit_id,
            "affected": self.affected,
            "error": self.error,
        }


def read_records(path: Path) -> tuple[CallRecord, ...]:
    """The calls of a file of intents and endings, in the order in which they began."""
    records: dict[str, CallRecord] = {}
    for facts in read_lines(path):
        if "intent" in facts:
            call = facts["intent"]
            records[call] = CallRecord(
                call=call, statements=statements_of_json(facts["statements"]), before=facts["before"]
            )
        elif "ending" in facts:
            affected = facts["affected"]
            records[facts["ending"]] = replace(
                records[facts["ending"]],
                after=facts["after"],
                outcome=Outcome(facts["outcome"]),
                commit_id=facts["commit_id"],
                affected=None if affected is None else (affected[0], affected[1]),
                error=facts["error"],
            )
    return tuple(records.values())


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file of JSON objects, without a last one that was cut off; none of a file that is not there."""
    data = path.read_bytes() if path.exists() else b""
    for line in data.split(b"\n")[:-1]:
        yield json.loads(line)


# ── checking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_history(
    graph: Graph, model: ModelGraph, records: Iterable[CallRecord], *, since: int, branch: str = "main"
) -> list[str]:
    """What cannot be explained about a history; nothing, if it is right.

    Args:
        graph: as it is after all calls ended, and written by nobody meanwhile.
        model: of the state that the calls began with; it stays as it is.
        records: every call that was made since.
        since: the manifest version of that state.
        branch: the branch that they wrote to.
    """
    commits = graph.commits.list(branch)
    replay = _Replay(model, {each.call: each for each in records}, since)
    for commit in reversed(commits):
        if commit.manifest_version > since:
            replay.step(commit)
    problems = [*broken_history(commits), *replay.problems]
    for record in replay.records.values():
        problems += _call_problems(record, replay)
    return [*problems, *_row_problems(graph, branch, replay)]


@dataclass(slots=True)
class _Replay:
    """The commits of a history, carried out one by one on the model.

    Attributes:
        states: the rows after each manifest version.
        made: the commits of each call.
        still: versions that changed no row.
    """

    model: ModelGraph
    records: Mapping[str, CallRecord]
    since: int
    states: dict[int, Image] = field(default_factory=dict)
    made: dict[str, list[Commit]] = field(default_factory=dict)
    still: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states[self.since] = self.model.rows

    def at(self, version: int) -> ModelGraph:
        """The model of the state after a version; may be changed."""
        return replace(self.model, rows=dict(self.states[version]))

    def step(self, commit: Commit) -> None:
        after = self.at(max(self.states))
        if commit.kind in STILL:
            self.still.append(commit.manifest_version)
        else:
            self._carry_out(commit, after)
        self.states[commit.manifest_version] = after.rows

    def _carry_out(self, commit: Commit, model: ModelGraph) -> None:
        record = self.records.get(commit.actor or "")
        if commit.kind is not CommitKind.DATA or record is None:
            self.problems.append(f"no call made the {commit.kind} commit {commit.id} of {commit.actor}")
            return
        self.made.setdefault(record.call, []).append(commit)
        try:
            affected = mutate(model, record.statements)
        except ModelRefusalError as error:
            self.problems.append(f"{_named(record)} made commit {commit.id}, which breaks a rule: {error}")
            return
        if record.affected not in (None, affected):
            self.problems.append(
                f"{_named(record)} was told of {record.affected} nodes and edges, and commit {commit.id} "
                f"affects {affected}"
            )
        if affected == (0, 0):
            self.problems.append(f"{_named(record)} made commit {commit.id}, which affects nothing")


def _call_problems(record: CallRecord, replay: _Replay) -> list[str]:
    """What is wrong with what one call was told."""
    made = replay.made.get(record.call, [])
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
    if record.outcome is Outcome.ACKNOWLEDGED:
        if record.commit_id not in {each.id for each in made}:
            problems.append(f"{_named(record)} was acknowledged as commit {record.commit_id}, which is not there")
    elif record.outcome is not Outcome.UNKNOWN and made:
        problems.append(f"{_named(record)} ended as {record.outcome}, and made commit {made[0].id}")
    if record.outcome is Outcome.FAILED:
        problems.append(f"{_named(record)} failed: {record.error}")
    elif not _is_explained(record, replay):
        problems.append(
            f"{_named(record)} ended as {record.outcome}, and no state from version {record.before} to {record.after} "
            f"explains it: {record.error or 'nothing matched'}"
        )
    return problems


def _is_explained(record: CallRecord, replay: _Replay) -> bool:
    """Whether a call without a commit was told something that was true at some time while it ran."""
    if record.after is None:
        return True
    seen = [version for version in replay.states if record.before <= version <= record.after]
    match record.outcome:
        case Outcome.NOTHING:
            is_zero = record.affected in (None, (0, 0))
            return is_zero and any(_attempt(record, replay.at(version)) == (0, 0) for version in seen)
        case Outcome.REFUSED:
            return any(_attempt(record, replay.at(version)) is None for version in seen)
        case Outcome.CONFLICT:
            return any(version > record.before and version not in replay.still for version in seen)
    return True


def _attempt(record: CallRecord, model: ModelGraph) -> tuple[int, int] | None:
    """What a call affects on a state; None when it is refused."""
    try:
        return mutate(model, record.statements)
    except ModelRefusalError:
        return None


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
        for version in replay.still
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
    return f"call {record.call} {json.dumps(statements_to_json(record.statements), ensure_ascii=False)[:300]}"
