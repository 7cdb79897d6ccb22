"""``LanceTables``: the table layer over Lance, one per open graph.

It owns what calls share: one Lance session (metadata and index caches) and the handles that were opened, by pin.
The work is done by the modules beside it: ``reading``, ``parts``, ``deletions``, ``searching``, ``coverage``,
``written``, ``staging``, ``merging``, ``replacing``, ``continuing``, ``deleting``, ``folding``, ``indexing``,
``committing``, ``recovering``, ``forking``, ``durability``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance import LanceDataset

from omnigraph.errors import InternalError, ReadOnlyError, StorageCondition, StorageError
from omnigraph.storage import StorageAdapter
from omnigraph.tables import (
    committing,
    coverage,
    deleting,
    deletions,
    durability,
    expecting,
    folding,
    forking,
    indexing,
    merging,
    ordering,
    reading,
    recovering,
    replacing,
    searching,
    staging,
)
from omnigraph.tables import parts as table_parts
from omnigraph.tables import written as written_files
from omnigraph.tables.arrow_schema import logical_schema
from omnigraph.tables.continuing import LanceMergeSteps
from omnigraph.tables.counting import note
from omnigraph.tables.handles import LanceSnapshot, RecentlyUsed, snapshot_of, staged_of
from omnigraph.tables.interface import (
    ExpectedVersion,
    FoldedRows,
    FoundVersion,
    IndexCoverage,
    IndexSpec,
    NewestVersion,
    SnapshotHandle,
    StagedHandle,
    TablePart,
    TablePin,
    TableState,
    WrittenRows,
)
from omnigraph.tables.metering import ReadMeter
from omnigraph.tables.native_calls import waits
from omnigraph.tables.native_memory import give_back
from omnigraph.tables.opening import Place, manifest_name, moved_to_session, open_dataset, place_of
from omnigraph.tables.probe import drop_table
from omnigraph.tables.quarantine import quarantine_unreadable
from omnigraph.tables.row_filters import RowFilter
from omnigraph.tables.sessions import Session, new_session
from omnigraph.tables.table_files import named_files
from omnigraph.tables.views import View, Views

KEPT_OF_LINE: Final = 8
"""How many versions of one line of a table stay open. Each commit makes one, and each describes the whole table."""

RENEW_AFTER: Final = 1_024
"""After so many versions were opened or made, Lance's caches are looked at."""

RENEW_ABOVE: Final = 16 * 1024**2
"""Caches that hold more bytes are begun anew then; those that hold less cannot have much of old indexes."""


class LanceTables(LanceMergeSteps):
    """Reads and staged writes of the tables below one root. Safe to share between threads."""

    def __init__(self, adapter: StorageAdapter, *, handle_cache: int = 256) -> None:
        self._adapter = adapter
        self._session = new_session()
        self._handles: RecentlyUsed[TablePin, LanceSnapshot] = RecentlyUsed(
            handle_cache, group_of=_line, group_limit=KEPT_OF_LINE
        )
        self._views = Views(adapter)
        self._meter = ReadMeter(self._session)
        self._seen = 0

    @property
    def session(self) -> Session:
        """The session that the datasets of all tables share; another one after some thousand versions."""
        return self._session

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def open_at(self, pin: TablePin) -> LanceSnapshot:
        return self._handles.get(pin) or self._open(pin)

    @waits("open", is_brief=True)
    def _open(self, pin: TablePin) -> LanceSnapshot:
        place = place_of(self._adapter, pin.location, pin.branch)
        dataset = open_dataset(place, version=pin.version, session=self._session)
        opened = LanceSnapshot(_pin=pin, place=place, dataset=dataset)
        self._meter.watch(place, dataset)
        self._handles.put(pin, opened)
        self._count()
        return opened

    def schema(self, handle: SnapshotHandle) -> pa.Schema:
        return logical_schema(snapshot_of(handle).dataset.schema)

    @waits("read")
    def read(
        self,
        handle: SnapshotHandle,
        *,
        columns: Sequence[str] | None = None,
        predicate: RowFilter | None = None,
        staged: Sequence[StagedHandle] = (),
        order_by_id: bool = False,
        parts: Sequence[int] | None = None,
        with_address: bool = False,
    ) -> pa.RecordBatchReader:
        note("read")
        view = self._view(handle, staged)
        dataset = view.dataset
        if not order_by_id:
            return table_parts.read_parts(
                dataset, columns=columns, predicate=predicate, parts=parts, with_address=with_address, holding=view
            )
        if parts is not None or with_address:
            raise InternalError("Rows by id are read from the whole version and without addresses.")
        schema = reading.projected(logical_schema(dataset.schema), columns)
        batches = ordering.batches_by_id(dataset, schema, predicate)
        return reading.stream(batches, schema, dataset.uri, holding=view)

    def parts(self, handle: SnapshotHandle) -> tuple[TablePart, ...]:
        return table_parts.parts_of(snapshot_of(handle))

    @waits("read")
    def deleted(self, handle: SnapshotHandle, parts: Sequence[int]) -> dict[int, npt.NDArray[np.uint32]]:
        return deletions.deleted_rows(self._adapter, snapshot_of(handle), parts)

    @waits("read")
    def take(self, handle: SnapshotHandle, addresses: pa.Array, columns: Sequence[str]) -> pa.Table:
        note("take")
        snapshot = snapshot_of(handle)
        known = deletions.known_lists(snapshot)
        return table_parts.take_rows(snapshot.dataset, addresses, columns, deleted=known)

    @waits("count the rows of")
    def count_rows(
        self,
        handle: SnapshotHandle,
        *,
        predicate: RowFilter | None = None,
        staged: Sequence[StagedHandle] = (),
    ) -> int:
        note("count")
        view = self._view(handle, staged)
        return reading.count_rows(view.dataset, predicate)

    @waits("read")
    def lookup(
        self,
        handle: SnapshotHandle,
        keys: pa.Array,
        *,
        key: str = "id",
        columns: Sequence[str] | None = None,
        with_address: bool = False,
    ) -> pa.Table:
        note("lookup")
        dataset = snapshot_of(handle).dataset
        return reading.look_up(dataset, keys, key=key, columns=columns, with_address=with_address)

    @waits("read")
    def read_written(self, written: WrittenRows, *, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        note("read_written")
        place = place_of(self._adapter, written.location, written.branch)
        if written.fragments and not written_files.holds_blobs(written, place):
            return written_files.read_files(written, place, columns=columns)
        newest = open_dataset(place, version=None, session=self._session, counted="open_newest")
        if not written.fragments:
            schema = reading.projected(logical_schema(newest.schema), columns)
            return pa.RecordBatchReader.from_batches(schema, iter(()))
        line = TablePin(location=written.location, branch=written.branch, version=newest.version)
        fragments = written_files.fragments_of([written], line)
        view = self._views.of_written(line, newest, fragments, place)
        return reading.read_rows(view.dataset, columns=columns, holding=view)

    @waits("read", is_brief=True)
    def newest(self, pin: TablePin) -> NewestVersion:
        return recovering.newest(place_of(self._adapter, pin.location, pin.branch))

    def table_state(self, handle: SnapshotHandle) -> TableState:
        snapshot = snapshot_of(handle)
        return _state(snapshot.place, snapshot.pin.version, reading.count_rows(snapshot.dataset))

    def named_files(self, handle: SnapshotHandle) -> Mapping[str, int | None]:
        return named_files(snapshot_of(handle))

    def expected(self, handle: SnapshotHandle, staged: Sequence[StagedHandle]) -> ExpectedVersion | None:
        base, steps = snapshot_of(handle), [staged_of(each) for each in staged]
        row_count = expecting.rows_after(base, steps[0]) if len(steps) == 1 else None
        if row_count is None:
            return None
        pin = replace(base.pin, version=base.pin.version + 1)
        return ExpectedVersion(pin=pin, state=_state(base.place, pin.version, row_count))

    def indexes(self, handle: SnapshotHandle) -> tuple[IndexSpec, ...]:
        return tuple(each.spec for each in self.coverage(handle))

    @waits("read the indexes of")
    def coverage(self, handle: SnapshotHandle) -> tuple[IndexCoverage, ...]:
        return coverage.coverage_of(snapshot_of(handle))

    @waits("read")
    def count_vectors(self, handle: SnapshotHandle, column: str) -> int:
        return coverage.count_vectors(snapshot_of(handle), column)

    @waits("search")
    def search_text(
        self,
        handle: SnapshotHandle,
        column: str,
        query: str,
        *,
        columns: Sequence[str],
        predicate: RowFilter | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        note("search_text")
        return searching.search_text(
            snapshot_of(handle), column, query, columns=columns, predicate=predicate, limit=limit
        )

    @waits("search")
    def nearest(
        self,
        handle: SnapshotHandle,
        column: str,
        vector: Sequence[float] | npt.NDArray[np.float32],
        count: int,
        *,
        columns: Sequence[str],
        predicate: RowFilter | None = None,
    ) -> pa.Table:
        note("nearest")
        return searching.nearest(snapshot_of(handle), column, vector, count, columns=columns, predicate=predicate)

    def read_counts(self) -> tuple[int, int]:
        return self._meter.counts()

    def kept_handles(self) -> tuple[int, int]:
        return len(self._handles), int(self._session.size_bytes())

    # ── staging ──────────────────────────────────────────────────────────────────────────────────────────────

    @waits("write to")
    def write_rows(self, pin: TablePin, rows: pa.Table | pa.RecordBatchReader, *, schema: pa.Schema) -> WrittenRows:
        note("write_rows")
        self._check_writable()
        target: LanceDataset | Place
        try:
            target = self.open_at(pin).dataset
        except StorageError as error:
            if error.condition is not StorageCondition.NOT_FOUND:
                raise
            target = place_of(self._adapter, pin.location, pin.branch)
        fragments = written_files.write_files(rows, target, schema=schema, session=self._session)
        staging.note_new_fragments(fragments, place_of(self._adapter, pin.location, pin.branch), schema)
        return written_files.written_rows(pin, fragments)

    @waits("write to")
    def stage_create(self, location: str, schema: pa.Schema, rows: pa.Table | None = None) -> StagedHandle:
        note("stage_create")
        self._check_writable()
        place = place_of(self._adapter, location, None)
        try:
            return staging.stage_create(location, place, schema, rows, session=self._session)
        except StorageError:
            # Lance looks for a table before it writes the files of one, and may find a damaged one.
            if not quarantine_unreadable(self._adapter, location, None, above=0):
                raise
        return staging.stage_create(location, place, schema, rows, session=self._session)

    @waits("write to")
    def stage_append(self, handle: SnapshotHandle, rows: pa.Table | Sequence[WrittenRows]) -> StagedHandle:
        note("stage_append")
        self._check_writable()
        return staging.stage_append(snapshot_of(handle), rows, session=self._session)

    @waits("write to")
    def stage_upsert(
        self, handle: SnapshotHandle, rows: pa.Table | pa.RecordBatchReader, *, key: str = "id"
    ) -> StagedHandle:
        note("stage_upsert")
        self._check_writable()
        return merging.stage_upsert(self._adapter, snapshot_of(handle), rows, key=key, session=self._session)

    @waits("write to")
    def stage_replace(
        self,
        handle: SnapshotHandle,
        rows: pa.Table | Sequence[WrittenRows],
        addresses: pa.Array,
        *,
        removed: pa.Array | None = None,
    ) -> StagedHandle:
        note("stage_replace")
        self._check_writable()
        return replacing.stage_replace(snapshot_of(handle), rows, addresses, removed=removed, session=self._session)

    @waits("write to")
    def stage_overwrite(self, handle: SnapshotHandle, rows: pa.Table | Sequence[WrittenRows]) -> StagedHandle:
        note("stage_overwrite")
        self._check_writable()
        return staging.stage_overwrite(snapshot_of(handle), rows, session=self._session)

    @waits("delete from")
    def stage_delete(self, handle: SnapshotHandle, predicate: RowFilter) -> StagedHandle | None:
        note("stage_delete")
        self._check_writable()
        return deleting.stage_delete(snapshot_of(handle), predicate)

    @waits("delete from")
    def stage_delete_keys(self, handle: SnapshotHandle, keys: pa.Array, *, key: str = "id") -> StagedHandle | None:
        note("stage_delete")
        self._check_writable()
        return deleting.stage_delete_keys(snapshot_of(handle), keys, key=key)

    @waits("delete from")
    def stage_delete_at(self, handle: SnapshotHandle, addresses: pa.Array) -> StagedHandle | None:
        note("stage_delete")
        self._check_writable()
        return deleting.stage_delete_at(snapshot_of(handle), addresses)

    @waits("fold")
    def fold_rows(self, handle: SnapshotHandle, parts: Sequence[int]) -> FoldedRows | None:
        note("fold_rows")
        self._check_writable()
        return folding.fold_rows(self._adapter, snapshot_of(handle), parts)

    @waits("fold")
    def stage_fold(
        self, handle: SnapshotHandle, folded: FoldedRows, specs: Sequence[IndexSpec]
    ) -> tuple[StagedHandle, ...]:
        note("stage_fold")
        self._check_writable()
        return folding.stage_fold(snapshot_of(handle), folded, specs)

    @waits("index")
    def stage_indexes(self, handle: SnapshotHandle, specs: Sequence[IndexSpec]) -> StagedHandle | None:
        note("stage_indexes")
        self._check_writable()
        return indexing.stage_indexes(snapshot_of(handle), specs)

    def sync_staged(self, staged: Sequence[StagedHandle]) -> None:
        durability.sync_staged(self._adapter, [staged_of(each) for each in staged])

    # ── committing ───────────────────────────────────────────────────────────────────────────────────────────

    @waits("commit to")
    def commit_create(self, staged: StagedHandle) -> SnapshotHandle:
        self._check_writable()
        # Not kept: Lance gives a new table a session of its own.
        return committing.commit_create(self._adapter, staged_of(staged))

    @waits("commit to")
    def commit_exact(
        self, handle: SnapshotHandle, staged: Sequence[StagedHandle], *, commit_id: str | None = None
    ) -> SnapshotHandle:
        self._check_writable()
        steps = [staged_of(each) for each in staged]
        made = committing.commit_exact(self._adapter, snapshot_of(handle), steps, commit_id=commit_id)
        ids = {each.transaction_id for each in steps}
        self._views.forget(lambda key: not ids.isdisjoint(key[2]))
        return self._keep(made)

    def sync_committed(self, handles: Sequence[SnapshotHandle]) -> None:
        durability.sync_committed(self._adapter, [snapshot_of(each) for each in handles])

    @waits("read")
    def find_committed(self, pin: TablePin, transaction_id: str, *, commit_id: str) -> FoundVersion:
        self._check_writable()
        note("find_committed")
        return recovering.find_committed(self.open_at(pin), transaction_id, commit_id)

    @waits("look at")
    def quarantine(self, pin: TablePin) -> None:
        self._check_writable()
        quarantine_unreadable(self._adapter, pin.location, pin.branch, above=pin.version)

    @waits("restore")
    def restore(self, pin: TablePin) -> int:
        self._check_writable()
        note("restore")
        return recovering.restore(self._adapter, self.open_at(pin))

    @waits("delete from")
    def drop(self, location: str) -> None:
        note("drop")
        self._check_writable()
        place = place_of(self._adapter, location, None)
        if place.has_files:
            self._adapter.delete_prefix(place.key)
        else:
            drop_table(self._adapter.lance_location(place.key))
        self._handles.forget(lambda pin: pin.location == location)
        self._views.forget(lambda key: key[0] == location)

    @waits("fork")
    def fork(self, handle: SnapshotHandle, branch: str) -> SnapshotHandle:
        self._check_writable()
        return self._keep(forking.fork(self._adapter, snapshot_of(handle), branch))

    def forget(self, leaves: Callable[[TablePin], bool]) -> None:
        self._handles.forget(leaves)

    def close(self) -> None:
        """Let go of every handle and of Lance's caches, and remove what was kept for reading only.

        What reads on, in a call that is under way or a result, has the old session until its end.
        """
        self._views.forget(lambda _: True)
        self._renew()

    def _keep(self, made: LanceSnapshot) -> LanceSnapshot:
        # Lance gives a fork a session of its own, and all versions that are made of it would share that one.
        made = replace(made, dataset=moved_to_session(made.dataset, made.place, self._session))
        self._meter.watch(made.place, made.dataset)
        self._handles.put(made.pin, made)
        self._count()
        return made

    def _count(self) -> None:
        """Begin with empty caches from time to time.

        Each fold makes indexes anew, and Lance keeps those that nobody will read until its cache is full. Nothing
        takes single ones out of a session, so all of it goes, and what is still needed is read once more.
        """
        self._seen += 1
        if self._seen % RENEW_AFTER == 0 and self._session.size_bytes() > RENEW_ABOVE:
            self._renew()
            give_back()

    def _renew(self) -> None:
        # What reads on has the old session until its end.
        self._handles.forget(lambda _: True)
        self._session = new_session()
        self._meter.close(self._session)

    def _view(self, handle: SnapshotHandle, staged: Sequence[StagedHandle]) -> LanceSnapshot | View:
        """What to read: the version itself, or with staged writes in it."""
        base = snapshot_of(handle)
        return self._views.of_staged(base, [staged_of(each) for each in staged]) if staged else base

    def _check_writable(self) -> None:
        if self._adapter.is_read_only:
            root = str(self._adapter.root)
            raise ReadOnlyError(
                f"{root} was opened for reading.", uri=root, help='Open it with mode="rw" to change it.'
            )


def _line(pin: TablePin) -> tuple[str, str | None]:
    return pin.location, pin.branch


def _state(place: Place, version: int, row_count: int) -> TableState:
    facts = {"manifest_path": place.file(manifest_name(version)).value, "naming_scheme": "V2"}
    return TableState(row_count=row_count, version_metadata=json.dumps(facts, separators=(",", ":")))
