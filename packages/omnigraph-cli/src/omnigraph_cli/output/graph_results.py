"""What the verbs on graphs did or found, as results that can be printed.

The facts are those of ``omnigraph``: each has a ``to_dict``, to which a command line adds the place that it was asked
about. Text and JSON are made from the same facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import Branch, Commit, Explanation, IndexReport, LoadResult, MutationResult, Recovery, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class InitResult:
    """A graph that was made; ``snapshot`` is its first state."""

    uri: str
    snapshot: Snapshot

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "commit": self.snapshot.commit.to_dict(), "types": self.snapshot.to_dict()["types"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedResult:
    """What a load did.

    Attributes:
        repeated: the name of the load when one of this name was there before, for people; ``load`` then has that one's
            commit, and counts nothing.
    """

    uri: str
    load: LoadResult
    repeated: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, **self.load.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatedResult:
    """What a mutation did.

    Attributes:
        actor: who asked for it, also where there is no commit to say so.
    """

    uri: str
    actor: str | None
    mutation: MutationResult

    def to_dict(self) -> dict[str, Any]:
        facts = self.mutation.to_dict()
        commit = facts.pop("commit")
        return {"uri": self.uri, **facts, "actor_id": self.actor, "commit": commit}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotResult:
    """A graph at one moment."""

    uri: str
    snapshot: Snapshot

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, **self.snapshot.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsResult:
    """The history of a branch, newest first."""

    uri: str
    branch: str
    commits: tuple[Commit, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "branch": self.branch, "commits": [each.to_dict() for each in self.commits]}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """One commit, and how a recovery finished it, if its writer was cut off."""

    uri: str
    commit: Commit
    recoveries: tuple[Recovery, ...]

    def to_dict(self) -> dict[str, Any]:
        recoveries = [each.to_dict() for each in self.recoveries]
        return {"uri": self.uri, "commit": self.commit.to_dict(), "recoveries": recoveries}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesResult:
    """The branches of a graph: main first, then by name."""

    uri: str
    branches: tuple[Branch, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "branches": [each.to_dict() for each in self.branches]}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchResult:
    """One branch.

    Attributes:
        is_new: whether it was just made, for people.
    """

    uri: str
    branch: Branch
    is_new: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "branch": self.branch.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDeletedResult:
    """A branch that is gone.

    Attributes:
        head: the id of its newest commit, by which it can be made anew.
    """

    uri: str
    name: str
    head: str

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "name": self.name, "head": self.head}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedResult:
    """What was indexed, and what could not be."""

    uri: str
    report: IndexReport

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, **self.report.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationResult:
    """How a query is run on a graph."""

    uri: str
    query_path: str
    explanation: Explanation

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "query_path": self.query_path, **self.explanation.to_dict()}
