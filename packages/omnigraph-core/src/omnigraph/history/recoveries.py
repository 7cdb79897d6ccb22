"""``Recovery``: what was done about a write that was cut off, and the table that keeps all of them.

    _graph_commit_recoveries/<line of main>    one row for each write, however often its recovery was itself cut off

A recovery that rolled forward made the commit of the write, by whoever had begun it; so commits do not tell what was
recovered, and this table does. It is published to by compare-and-swap, like the manifest, and an operation that is in
it is not added again. Its name is that of the line of main, so a recovery of a graph that was removed, which goes on
late, tells nothing in the graph that was made at the same place.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from omnigraph.control_json import read_control_json
from omnigraph.errors import FormatError, StorageCondition, StorageError
from omnigraph.history.commits import to_micros
from omnigraph.history.log import Manifests
from omnigraph.tables.log import LogConflictError, LogRefusedError, LogTable
from omnigraph.tables.quarantine import quarantine_unreadable

RECOVERY_ACTOR: Final = "omnigraph:recovery"
"""Who finishes or discards the writes of others."""

RECOVERIES: Final = "_graph_commit_recoveries"

MAX_FRAGMENTS: Final = 16
"""So many small fragments are written together as one."""

_COLUMNS: Final = pa.schema(
    [
        pa.field("graph_commit_id", pa.string(), nullable=False),
        pa.field("recovery_kind", pa.string(), nullable=False),
        pa.field("recovery_for_actor", pa.string()),
        pa.field("operation_id", pa.string(), nullable=False),
        pa.field("sidecar_writer_kind", pa.string(), nullable=False),
        pa.field("branch", pa.string(), nullable=False),
        pa.field("per_table_outcomes_json", pa.string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)
_TRIES: Final = 100


class RecoveryKind(StrEnum):
    """What became of a write."""

    ROLLED_FORWARD = "RolledForward"
    """Its commit is in the history."""

    ROLLED_BACK = "RolledBack"
    """Nothing of it is visible; its tables show what is published again."""

    ORPHANED_BRANCH_DISCARDED = "OrphanedBranchDiscarded"
    """Its branch is gone, and it went with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutcome:
    """What a recovery found and left of one table.

    Attributes:
        table_key: ``node:Film``.
        found: the class of what lay there, such as ``RolledPastExpected``.
        from_version: the newest version before; None where there was none to look at.
        to_version: the version that the graph shows, and other readers of Lance with it.
    """

    table_key: str
    found: str
    from_version: int | None
    to_version: int | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "table_key": self.table_key,
            "found": self.found,
            "from_version": self.from_version,
            "to_version": self.to_version,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One write that was cut off, and what was done about it.

    Attributes:
        graph_commit_id: the commit that the write was to make. It exists if the write was rolled forward; a writer that
            was only stopped may still make it after it was rolled back, and lose nothing.
        published_version: of a write that was not rolled forward, the version of the manifest with which its writer
            published it all the same, looked up in the history when it is listed; else None.
        recovery_for_actor: who had begun the write.
        operation_id: names the write; a ULID.
        writer_kind: the verb, such as ``load``.
        tables: by table key.
        created_at: when it was settled, in UTC; the clock of whoever did it.
    """

    graph_commit_id: str
    kind: RecoveryKind
    recovery_for_actor: str | None
    operation_id: str
    writer_kind: str
    branch: str
    tables: tuple[TableOutcome, ...]
    created_at: datetime
    published_version: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "graph_commit_id": self.graph_commit_id,
            "recovery_kind": str(self.kind),
            "recovery_for_actor": self.recovery_for_actor,
            "actor": RECOVERY_ACTOR,
            "operation_id": self.operation_id,
            "writer_kind": self.writer_kind,
            "branch": self.branch,
            "tables": [each.to_dict() for each in self.tables],
            "created_at": to_micros(self.created_at),
            "published_version": self.published_version,
        }


def recoveries_location(manifests: Manifests) -> str:
    """The key of the table below the root of the graph."""
    return f"{RECOVERIES}/{manifests.main.physical}"


def read_recoveries(manifests: Manifests) -> tuple[Recovery, ...]:
    """Every recovery of a graph, the oldest first; one listing when there was none.

    Raises:
        FormatError: the table holds something else.
        StorageError: it could not be read.
    """
    table = _open(manifests)
    return () if table is None else _recoveries(table.read(range(len(table.fragment_rows))))


def record_recovery(manifests: Manifests, recovery: Recovery) -> bool:
    """Keep a recovery, durably; False when one of the same operation is kept already.

    Raises:
        StorageError: it is not known whether it is kept; the same again has no second effect.
    """
    for _ in range(_TRIES):
        try:
            made = _publish(manifests, recovery)
        except LogConflictError:
            continue
        except LogRefusedError as refused:
            raise refused.failure from refused
        return made
    raise StorageError(
        f"Others kept writing to {RECOVERIES}.", condition=StorageCondition.TRANSIENT, help="Open the graph again."
    )


def _publish(manifests: Manifests, recovery: Recovery) -> bool:
    table = _open_writable(manifests)
    row = _rows([recovery])
    if table is None:
        location = recoveries_location(manifests)
        staged = manifests.logs.stage_create(location, row)
        made = manifests.logs.create(
            location, schema=_COLUMNS, staged=staged, transaction_id=str(uuid.uuid4()), properties={}
        )
        made.sync()
        return True
    count = len(table.fragment_rows)
    there = table.read(range(count))
    if _has(there, recovery.operation_id):
        # Whoever told of it may not have lived to see it synced.
        table.sync()
        return False
    is_folded = count >= MAX_FRAGMENTS
    made = table.publish(
        keep=() if is_folded else range(count),
        staged=table.stage([pa.concat_tables([there.cast(_COLUMNS), row]) if is_folded else row]),
        metadata=table.metadata,
        transaction_id=str(uuid.uuid4()),
        properties={},
    )
    made.sync()
    return True


def _has(rows: pa.Table, operation_id: str) -> bool:
    return operation_id in rows["operation_id"].to_pylist()


def _open(manifests: Manifests) -> LogTable | None:
    try:
        return manifests.logs.open(recoveries_location(manifests))
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            return None
        raise


def _open_writable(manifests: Manifests) -> LogTable | None:
    """The table, without versions that a loss of power damaged; what they held is settled anew, and told again."""
    try:
        return _open(manifests)
    except StorageError as error:
        if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
            raise
        if not quarantine_unreadable(manifests.logs.adapter, recoveries_location(manifests), None, above=0):
            raise
    return _open(manifests)


def _rows(recoveries: Iterable[Recovery]) -> pa.Table:
    rows = [
        {
            "graph_commit_id": each.graph_commit_id,
            "recovery_kind": str(each.kind),
            "recovery_for_actor": each.recovery_for_actor,
            "operation_id": each.operation_id,
            "sidecar_writer_kind": each.writer_kind,
            "branch": each.branch,
            "per_table_outcomes_json": json.dumps([table.to_dict() for table in each.tables]),
            "created_at": each.created_at,
        }
        for each in recoveries
    ]
    return pa.Table.from_pylist(rows, schema=_COLUMNS)


def _recoveries(table: pa.Table) -> tuple[Recovery, ...]:
    try:
        found = [_recovery(row) for row in table.select(_COLUMNS.names).to_pylist()]
    except (KeyError, ValueError, TypeError) as error:
        raise FormatError(
            f"The table {RECOVERIES} is damaged ({error}).",
            help="Move it away: it tells what was recovered, and no read or write needs it.",
        ) from error
    return tuple(sorted(found, key=lambda each: (each.created_at, each.operation_id)))


def _recovery(row: dict[str, Any]) -> Recovery:
    return Recovery(
        graph_commit_id=row["graph_commit_id"],
        kind=RecoveryKind(row["recovery_kind"]),
        recovery_for_actor=row["recovery_for_actor"],
        operation_id=row["operation_id"],
        writer_kind=row["sidecar_writer_kind"],
        branch=row["branch"],
        tables=tuple(TableOutcome(**each) for each in read_control_json(row["per_table_outcomes_json"])),
        created_at=row["created_at"].astimezone(UTC),
    )
