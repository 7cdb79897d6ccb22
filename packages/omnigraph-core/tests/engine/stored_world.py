"""A graph in memory whose stored types a test changes one by one, without a writer that would check what it does.

So edges may lack their ends, be written twice, or go while their nodes stay; and a snapshot can pin any versions.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.config import Settings
from omnigraph.engine.memory import Memory
from omnigraph.engine.source import Source
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import GraphState, head_row, pin_row, registration_row, schema_row
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables

MAIN = BranchRef.of_line("main", "b0")

Row = Mapping[str, Any]


class StoredWorld:
    """The newest handle of each type; every change makes another one."""

    def __init__(self, schema: str, rows: Mapping[str, Iterable[Row]] | None = None) -> None:
        self.tables = LanceTables(MemoryAdapter(parse_uri(f"memory://stored-{secrets.token_hex(8)}")))
        self.schema = GraphSchema.new(schema, "0" * 26)
        self.memory = Memory(1 << 30)
        self.handles: dict[str, SnapshotHandle] = {}
        for key, target in self.schema.tables.items():
            first = self._table(key, (rows or {}).get(key, ()))
            self.handles[key] = self.tables.commit_create(
                self.tables.stage_create(target.location, target.schema, first)
            )

    def append(self, key: str, rows: Iterable[Row]) -> None:
        self._commit(key, self.tables.stage_append(self.handles[key], self._table(key, rows)))

    def merge(self, key: str, rows: Iterable[Row]) -> None:
        self._commit(key, self.tables.stage_upsert(self.handles[key], self._table(key, rows)))

    def overwrite(self, key: str, rows: Iterable[Row]) -> None:
        self._commit(key, self.tables.stage_overwrite(self.handles[key], self._table(key, rows)))

    def delete(self, key: str, ids: Iterable[str]) -> None:
        self._commit(key, self.tables.stage_delete_keys(self.handles[key], pa.array(list(ids), pa.string())))

    def fork(self, branch: str) -> dict[str, SnapshotHandle]:
        """The handles of a branch that starts here."""
        return {key: self.tables.fork(handle, branch) for key, handle in self.handles.items()}

    def source(self, memory: Memory | None = None, *, settings: Settings | None = None) -> Source:
        """The newest state, read through this memory or the one of the world."""
        chosen = Settings() if settings is None else settings
        return Source(self.snapshot(), self.tables, self.memory if memory is None else memory, chosen)

    def fresh(self) -> Source:
        """The newest state, read by somebody who remembers nothing."""
        return self.source(Memory(1 << 30))

    def snapshot(self) -> Snapshot:
        commit = Commit(
            id="01J",
            parent_id=None,
            branch="main",
            line="b0",
            manifest_version=1,
            kind=CommitKind.DATA,
            created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        )
        facts = [commit.to_row(), head_row(commit, MAIN.incarnation), schema_row(self.schema.digest, 1)]
        for key, target in self.schema.tables.items():
            handle = self.handles[key]
            state = self.tables.table_state(handle)
            facts += [registration_row(key, target.identity, 1), pin_row(key, target.identity, handle.pin, state, 1)]
        return Snapshot(branch=MAIN, state=GraphState.of(facts, 1), schema=self.schema)

    def _table(self, key: str, rows: Iterable[Row]) -> pa.Table:
        return pa.Table.from_pylist([dict(each) for each in rows], self.schema.tables[key].schema)

    def _commit(self, key: str, staged: Any) -> None:
        if staged is not None:
            self.handles[key] = self.tables.commit_exact(self.handles[key], [staged])
