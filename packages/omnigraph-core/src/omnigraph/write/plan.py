"""``PublishPlan``: everything a write is about to do to a graph, and everything it relied on.

    PublishPlan (staged writes, open tables) ── announced ──> AnnouncedPlan (facts) ── ``sidecar`` ──> an object

A writer fills a plan and hands it to ``publish``, which alone makes changes visible. What is announced is data, and
whoever finds it after a crash can finish or discard the write without guessing: it names the transactions and the
commit by ids that were chosen before anything happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from omnigraph.errors import InternalError
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.schemas import TypeTable
from omnigraph.history.state import GraphState
from omnigraph.history.whereabouts import Whereabouts
from omnigraph.tables.interface import StagedHandle, TablePin

LOAD_ID: Final = "load_id"
"""Commit property: what the caller calls a load. A branch has at most one commit of each name."""

CONTENT_DIGEST: Final = "content_digest"
"""Commit property: of a load with a name, the digest of what it was given; not there where nobody made one."""


class WriterKind(StrEnum):
    """Which verb a plan belongs to."""

    LOAD = "load"
    MUTATION = "mutation"
    ENSURE_INDICES = "ensure_indices"
    FOLD = "fold"
    BRANCH_MERGE = "branch_merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIntent:
    """The commit to be: chosen once, the same in every attempt.

    Attributes:
        id: a ULID; by it the write finds itself in the log after a lost answer.
        properties: kept with the commit.
    """

    id: str
    kind: CommitKind
    actor: str | None
    created_at: datetime
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """What a write relied on: it may be published only while this is so.

    Attributes:
        pins: of every table read or written, by table key.
        schema_digest: the schema that rows were checked against.
        incarnation: the branch, told from others of the same name.
        if_commit: the caller's commit: nothing but maintenance may have come after it. None for any.
    """

    pins: Mapping[str, TablePin]
    schema_digest: str
    incarnation: str
    if_commit: str | None = None

    def moved_in(self, state: GraphState) -> tuple[str, ...]:
        """Which members are not so any more, by name."""
        moved = [
            f"pin:{key}"
            for key, pin in sorted(self.pins.items())
            if (entry := state.entries.get(key)) is None or entry.pin != pin
        ]
        if state.schema_digest != self.schema_digest:
            moved.append("schema")
        return tuple(moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """What is announced of one table.

    Attributes:
        identity: stable table id and incarnation.
        pin: the version that the branch shows.
        fork: the line that was made of it for this write; None where the branch has its own.
        transaction_id: by which the version is known that will be the exact child of ``base``.
    """

    key: str
    identity: tuple[int, int]
    pin: TablePin
    fork: str | None = None
    transaction_id: str

    @property
    def base(self) -> TablePin:
        """The version that it is built on: the pin, or the same rows on the fork."""
        return self.pin if self.fork is None else replace(self.pin, branch=self.fork)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedTable:
    """A type of which the branch is to show a version of another branch as it is, without one of its own.

    Attributes:
        identity: stable table id and incarnation.
        pin: the version that the branch shows.
        to: the version that it is to show.
        row_count: of that version; ``version_metadata`` is what its own branch recorded of it.
    """

    key: str
    identity: tuple[int, int]
    pin: TablePin
    to: TablePin
    row_count: int
    version_metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedHead:
    """What a merge takes in: a branch at one commit.

    Attributes:
        branch: as it was when it was looked at; it may go on, or go, meanwhile.
        base_id: the common ancestor that the merge went by.
    """

    branch: BranchRef
    commit_id: str
    manifest_version: int
    base_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Whose a plan is.

    Attributes:
        id: names its heartbeat.
        process: where it runs.
    """

    id: str
    process: Whereabouts


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedPlan:
    """A plan as everybody can read it while it is carried out.

    Attributes:
        operation_id: a ULID, the name of the sidecar.
        graph: the id of the graph, the same as long as it lives.
        base_version: the version of the manifest that it was built on.
        tables: in the order of table keys; a plan without any still publishes its commit.
        adopted: the same; types in ``tables`` are not among them.
        merged: what a merge takes in; None for all other writes.
    """

    operation_id: str
    graph: str
    kind: WriterKind
    writer: Writer
    branch: BranchRef
    base_version: int
    intent: CommitIntent
    read_set: ReadSet
    tables: tuple[PlannedTable, ...]
    adopted: tuple[AdoptedTable, ...] = ()
    merged: MergedHead | None = None

    @property
    def moved_pins(self) -> dict[str, TablePin]:
        """The versions that it is built on, of the types that it changes, by table key."""
        return {each.key: each.pin for each in self.tables}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEffect:
    """What happens to one table: staged writes that become one exact child of its base.

    Attributes:
        pin: the version that the branch shows.
        base: the version that the writes are staged on: the pin, or a fork of it; see ``forks``.
    """

    target: TypeTable
    pin: TablePin
    base: TablePin
    staged: tuple[StagedHandle, ...]

    @property
    def planned(self) -> PlannedTable:
        """The same as a fact."""
        return PlannedTable(
            key=self.target.key,
            identity=self.target.identity,
            pin=self.pin,
            fork=None if self.base == self.pin else self.base.branch,
            transaction_id=self.staged[-1].transaction_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPlan:
    """One write, ready.

    Attributes:
        operation_id: a ULID, the name of the sidecar.
        base: the log that the plan was built on.
        effects: in the order of table keys; a plan without any still publishes its commit.
        adopted: as in ``AnnouncedPlan``, and so is ``merged``.
    """

    operation_id: str
    writer: WriterKind
    intent: CommitIntent
    base: ManifestLog
    read_set: ReadSet
    effects: tuple[TableEffect, ...]
    adopted: tuple[AdoptedTable, ...] = ()
    merged: MergedHead | None = None

    def __post_init__(self) -> None:
        """Refuse a plan that could take back what others did: it must rely on all that it changes, as its base has it.

        Raises:
            InternalError: it does not.
        """
        pins = [(each.target.key, each.pin) for each in self.effects]
        pins += [(each.key, each.pin) for each in self.adopted]
        keys = [key for key, _ in pins]
        if len(set(keys)) != len(keys):
            raise InternalError(f"A plan changes a table twice: {', '.join(keys)}.")
        loose = [key for key, pin in pins if self.read_set.pins.get(key) != pin]
        if loose:
            raise InternalError(f"A plan changes tables that are not in its read set: {', '.join(loose)}.")
        moved = self.read_set.moved_in(self.base.state)
        if moved or self.read_set.incarnation != self.base.branch.incarnation:
            raise InternalError(f"A plan relies on what its base does not have: {', '.join(moved) or 'its branch'}.")

    def announced(self, *, graph: str, writer: Writer) -> AnnouncedPlan:
        """What the sidecar says of this plan."""
        return AnnouncedPlan(
            operation_id=self.operation_id,
            graph=graph,
            kind=self.writer,
            writer=writer,
            branch=self.base.branch,
            base_version=self.base.version,
            intent=self.intent,
            read_set=self.read_set,
            tables=tuple(each.planned for each in self.effects),
            adopted=self.adopted,
            merged=self.merged,
        )
