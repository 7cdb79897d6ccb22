"""``PublishPlan``: everything a write is about to do to a graph, and everything it relied on.

A writer fills one and hands it to ``publish``, which alone makes changes visible. The plan is data: its durable form is
the sidecar, and whoever finds that after a crash can finish or discard the write without guessing, because the plan
names the transactions and the commit by ids that were chosen before anything happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from omnigraph.errors import InternalError
from omnigraph.history.commits import CommitKind, to_micros
from omnigraph.history.log import ManifestLog
from omnigraph.history.schemas import TypeTable
from omnigraph.history.state import GraphState
from omnigraph.tables.interface import StagedHandle, TablePin

LOAD_ID: Final = "load_id"
"""Commit property: what the caller calls a load. A branch has at most one commit of each name."""


class WriterKind(StrEnum):
    """Which verb a plan belongs to."""

    LOAD = "load"
    MUTATION = "mutation"
    ENSURE_INDICES = "ensure_indices"
    FOLD = "fold"


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

    def to_dict(self) -> dict[str, Any]:
        return {
            "pins": [{"table_key": key, **_pin_dict(pin)} for key, pin in sorted(self.pins.items())],
            "schema_digest": self.schema_digest,
            "incarnation": self.incarnation,
            "if_commit": self.if_commit,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEffect:
    """What happens to one table: staged writes that become one exact child of its pin."""

    target: TypeTable
    pin: TablePin
    staged: tuple[StagedHandle, ...]

    def to_dict(self) -> dict[str, Any]:
        stable_table_id, table_incarnation_id = self.target.identity
        return {
            "table_key": self.target.key,
            "stable_table_id": stable_table_id,
            "table_incarnation_id": table_incarnation_id,
            **_pin_dict(self.pin),
            "transaction_id": self.staged[-1].transaction_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPlan:
    """One write, ready.

    Attributes:
        operation_id: a ULID, the name of the sidecar.
        base: the log that the plan was built on.
        effects: in the order of table keys; a plan without any still publishes its commit.
    """

    operation_id: str
    writer: WriterKind
    intent: CommitIntent
    base: ManifestLog
    read_set: ReadSet
    effects: tuple[TableEffect, ...]

    def __post_init__(self) -> None:
        """Refuse a plan that could take back what others did: it must rely on all that it changes, as its base has it.

        Raises:
            InternalError: it does not.
        """
        keys = [each.target.key for each in self.effects]
        if len(set(keys)) != len(keys):
            raise InternalError(f"A plan changes a table twice: {', '.join(keys)}.")
        loose = [each.target.key for each in self.effects if self.read_set.pins.get(each.target.key) != each.pin]
        if loose:
            raise InternalError(f"A plan changes tables that are not in its read set: {', '.join(loose)}.")
        moved = self.read_set.moved_in(self.base.state)
        if moved or self.read_set.incarnation != self.base.branch.incarnation:
            raise InternalError(f"A plan relies on what its base does not have: {', '.join(moved) or 'its branch'}.")

    @property
    def moved_pins(self) -> dict[str, TablePin]:
        """The versions that it is built on, of the types that it changes, by table key."""
        return {each.target.key: each.pin for each in self.effects}

    def to_dict(self) -> dict[str, Any]:
        """The durable form."""
        branch = self.base.branch
        return {
            "schema_version": 1,
            "operation_id": self.operation_id,
            "writer_kind": str(self.writer),
            "branch": {"name": branch.name, "physical": branch.physical, "incarnation": branch.incarnation},
            "base_manifest_version": self.base.version,
            "commit": {
                "id": self.intent.id,
                "kind": str(self.intent.kind),
                "actor": self.intent.actor,
                "created_at": to_micros(self.intent.created_at),
                "properties": dict(self.intent.properties),
            },
            "read_set": self.read_set.to_dict(),
            "tables": [each.to_dict() for each in self.effects],
        }


def _pin_dict(pin: TablePin) -> dict[str, Any]:
    return {"location": pin.location, "branch": pin.branch, "version": pin.version}
