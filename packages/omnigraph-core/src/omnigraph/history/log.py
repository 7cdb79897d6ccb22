"""``ManifestLog``: the manifest of one branch at one version, and the state that it amounts to.

    open_manifest ──> ManifestLog ── stage(rows) ──> StagedVersion ── publish ──> ManifestLog, or LogConflictError

The line of main is a table of its own below ``__manifest``, begun empty, so it names no place outside itself; the lines
of other branches are forks that lie below it. Two graphs that are made at one place, one after the other, share none.

A log never changes: who holds one reads its state without a request, asks ``is_newest`` for the price of one, and
publishes on it or learns that another came first. Publishing one staged version again has no second effect, which is
how a lost answer is settled. The format stamp is checked wherever a version is opened.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph.errors import (
    FormatError,
    InternalError,
    NotFoundError,
    RelocationRequiredError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit
from omnigraph.history.layout import HISTORY_KEY, next_layout
from omnigraph.history.rows import (
    GRAPH_COMMIT,
    MANIFEST_COLUMNS,
    ManifestRow,
    damaged,
    rows_from_arrow,
    rows_to_arrow,
)
from omnigraph.history.stamp import REQUIRES_KEY, STAMP, STAMP_KEY, check_stamp, spell_features
from omnigraph.history.state import GraphState, head_row
from omnigraph.tables.log import LogStore, LogTable, StagedFragments
from omnigraph.tables.quarantine import is_on_server, newest_was_cut_off, quarantine_newest
from omnigraph.tables.staging import COMMIT_PROPERTY

MANIFEST: Final = "__manifest"
ENDPOINT_KEY: Final = "omnigraph:endpoint"
"""Schema metadata: the store that was found honest when the graph was made."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """The lines of one graph's manifest.

    Attributes:
        main: the branch that the graph began with; the lines of all others lie below its line.
    """

    logs: LogStore
    main: BranchRef

    @property
    def location(self) -> str:
        """The key of the main line below the graph's root."""
        return f"{MANIFEST}/{self.main.physical}"

    def fork_of(self, branch: BranchRef) -> str | None:
        """The fork of the main line that holds a branch; None for main itself."""
        return None if branch.physical == self.main.physical else branch.physical

    def open(self, branch: BranchRef, version: int | None) -> LogTable:
        """The line of a branch at a version, by default the newest. Raises as ``LogStore.open``."""
        return self.logs.open(self.location, branch=self.fork_of(branch), version=version)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedVersion:
    """A version that is written, durable and not published.

    Attributes:
        commit: its head.
        keep: positions of the fragments that it takes over.
        fragments: those that are new.
        transaction_id: tells this publish from every other one.
    """

    commit: Commit
    state: GraphState
    keep: tuple[int, ...] = ()
    fragments: StagedFragments
    metadata: Mapping[str, str]
    transaction_id: str


@dataclass(frozen=True, slots=True)
class ManifestLog:
    """One version of a branch's manifest."""

    branch: BranchRef
    table: LogTable
    state: GraphState

    @property
    def version(self) -> int:
        return self.state.version

    def is_newest(self) -> bool:
        """Whether nothing was published after this version; one request."""
        return self.table.latest_version() == self.version

    def commits(self) -> tuple[Commit, ...]:
        """The line of commits that leads to this version, newest first, without merged ones; reads the history."""
        own = [each for row, each in self._history() if row.object_type == GRAPH_COMMIT]
        return tuple(sorted((*own, *self.state.recent), key=lambda each: each.order, reverse=True))

    def lineage(self) -> Mapping[str, Commit]:
        """Every commit that this version knows by id, merged ones too, in no order; reads the history."""
        return {each.id: each for each in (*(commit for _, commit in self._history()), *self.state.recent)}

    def _history(self) -> list[tuple[ManifestRow, Commit]]:
        rows = rows_from_arrow(self.table.read(range(_history_fragments(self.table))))
        return [(each, Commit.of_row(each)) for each in rows]

    def commits_since(self, version: int) -> tuple[Commit, ...]:
        """The commits after a manifest version, newest first; reads the history only for one that is long past."""
        if version >= self.state.recent[0].manifest_version - 1:
            return tuple(each for each in reversed(self.state.recent) if each.manifest_version > version)
        return tuple(each for each in self.commits() if each.manifest_version > version)

    def find_commit(self, commit_id: str) -> Commit | None:
        """The commit of this id, if this version knows it; reads the history only for an old one."""
        for commit in self.state.recent:
            if commit.id == commit_id:
                return commit
        return self.lineage().get(commit_id)

    def stage(self, commit: Commit, rows: Sequence[ManifestRow], *, merged: Sequence[Commit] = ()) -> StagedVersion:
        """Write the next version: this state, changed by the rows, with the commit as its head. Nobody sees it yet.

        Args:
            commit: its manifest version is this one's plus one.
            rows: pins that move, tables that appear, the schema; all with that version as ``seq``.
            merged: commits of other lines that become part of this history.

        Raises:
            FormatError: the rows contradict the state; nothing was written.
            StorageError: it could not be written.
        """
        news = (*rows, commit.to_row(), head_row(commit, self.branch.incarnation))
        version = self.version + 1
        for row in news:
            row.check()
            if row.seq != version:
                raise InternalError(f"A row of version {row.seq} cannot be published as version {version}.")
        history = self.table.fragment_rows[: _history_fragments(self.table)]
        layout = next_layout(history, len(self.state.recent) + 1, merged=len(merged))
        moved = [each.to_row() for each in self.state.recent] if layout.moves else []
        state = self.state.advanced(news, version, forgetting=[row.object_id for row in moved])
        moved += [each.to_row(merged_at=version) for each in merged]
        new = [rows_to_arrow(state.rows)]
        if layout.grows:
            new.insert(0, pa.concat_tables([self.table.read(layout.merge), rows_to_arrow(moved)]))
        return StagedVersion(
            commit=commit,
            state=state,
            keep=layout.keep,
            fragments=self.table.stage(new),
            metadata=self.table.metadata | {HISTORY_KEY: str(layout.history_fragments)},
            transaction_id=str(uuid.uuid4()),
        )

    def publish(self, staged: StagedVersion) -> ManifestLog:
        """Make a staged version the next one, by compare-and-swap. Not yet synced.

        Raises:
            LogConflictError: another publish came first.
            LogRefusedError: the system refused it; nothing happened.
            StorageError: it is not known whether this one happened; the same again has no second effect.
        """
        table = self.table.publish(
            keep=staged.keep,
            staged=staged.fragments,
            metadata=staged.metadata,
            transaction_id=staged.transaction_id,
            properties={COMMIT_PROPERTY: staged.commit.id},
        )
        return ManifestLog(self.branch, table, staged.state)


def open_manifest(manifests: Manifests, branch: BranchRef, *, version: int | None = None) -> ManifestLog:
    """The manifest of a branch, by default at its newest version: a listing, its description and one small file.

    Raises:
        NotFoundError: there is no graph here, or no such version of it.
        FormatError: another format, or damaged.
        RelocationRequiredError: the graph was moved or copied with other tools, and the line names the old place.
        StorageError: it could not be read.
    """
    uri = str(manifests.logs.adapter.root)
    try:
        table = manifests.open(branch, version)
    except RelocationRequiredError as error:
        raise RelocationRequiredError(branch.name, uri=uri, found=error.found, branch=branch.name) from error
    except StorageError as error:
        if error.condition is not StorageCondition.NOT_FOUND:
            raise
        if version is None:
            raise NotFoundError(
                f"{uri} has no manifest of {branch.name}: its files were removed.",
                help="Open the graph again. If that fails as well, restore it from a copy.",
                details={"uri": uri, "branch": branch.name},
            ) from error
        raise NotFoundError(
            f"{uri} has no manifest version {version} on {branch.name}: it was never made, or has been reclaimed.",
            help="List what there is: omnigraph commit list.",
            details={"uri": uri, "manifest_version": version},
        ) from error
    check_stamp(table.metadata, uri)
    if [(each.name, each.type) for each in table.schema] != [(each.name, each.type) for each in MANIFEST_COLUMNS]:
        raise damaged(f"its columns are {', '.join(f'{each.name} {each.type}' for each in table.schema)}")
    state_fragments = range(_history_fragments(table), len(table.fragment_rows))
    return ManifestLog(branch, table, GraphState.of(rows_from_arrow(table.read(state_fragments)), table.version))


def refuse_older_format(logs: LogStore) -> None:
    """Raise when a graph of format 1 lies here: it had its manifest where this format has only a directory.

    Raises:
        FormatError: one does.
        StorageError: the store did not answer.
    """
    try:
        found = logs.open(MANIFEST)
    except StorageError as error:
        if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
            raise
        # What cannot be opened there does not make a graph.
        return
    check_stamp(found.metadata, str(logs.adapter.root))


def move_damage_away(manifests: Manifests, branch: BranchRef, error: StorageError) -> None:
    """Let the newest version of a branch that can be read be its newest, where ``error`` kept it from being opened.

    What a loss of power damaged is moved out of the way: by the order in which publishes are synced no such version was
    ever acknowledged. The very first one is never moved. Caches may still hold what is gone.

    Raises:
        StorageError: it is no damage, and raised again: the store did not answer, or is one that loses no power.
        FormatError: the graph was opened for reading, or there is no version that can be read.
    """
    adapter = manifests.logs.adapter
    if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION) or is_on_server(adapter):
        raise error
    if adapter.is_read_only and newest_was_cut_off(adapter, manifests.location, manifests.fork_of(branch)):
        raise FormatError(
            f"The newest version of {branch.name} at {adapter.root} cannot be read, most likely after a loss of power.",
            help="Open it once for writing: a version that was never acknowledged is then moved out of the way.",
            details={"uri": str(adapter.root), "branch": branch.name},
        ) from error
    if adapter.is_read_only or not quarantine_newest(adapter, manifests.location, manifests.fork_of(branch)):
        raise damaged(f"the newest version of {branch.name} cannot be read") from error


def fork_manifest(log: ManifestLog, branch: BranchRef) -> None:
    """Begin the line of a branch with a version, durably; nobody sees it until an object names it.

    Raises:
        StorageError: it could not be made.
    """
    log.table.fork(branch.physical)


def stage_manifest(manifests: Manifests, commit: Commit, rows: Sequence[ManifestRow]) -> StagedVersion:
    """The first version of a graph, written: every table, the schema and the first commit. Nothing exists yet.

    Raises:
        LogConflictError: the line of main is not new.
        StorageError: it could not be written.
    """
    everything = (*rows, commit.to_row(), head_row(commit, manifests.main.incarnation))
    state = GraphState.of(everything, commit.manifest_version)
    return StagedVersion(
        commit=commit,
        state=state,
        fragments=manifests.logs.stage_create(manifests.location, rows_to_arrow(state.rows)),
        metadata={
            STAMP_KEY: str(STAMP),
            REQUIRES_KEY: spell_features(frozenset()),
            HISTORY_KEY: "0",
            ENDPOINT_KEY: manifests.logs.adapter.endpoint,
        },
        transaction_id=str(uuid.uuid4()),
    )


def create_manifest(manifests: Manifests, staged: StagedVersion) -> ManifestLog:
    """Begin the line of main with its staged first version. Not yet synced; the graph exists when an object names it.

    Raises:
        LogConflictError: the line is not new.
        LogRefusedError: the system refused it; nothing happened.
        StorageError: it is not known whether it was made.
    """
    table = manifests.logs.create(
        manifests.location,
        schema=MANIFEST_COLUMNS.with_metadata(dict(staged.metadata)),
        staged=staged.fragments,
        transaction_id=staged.transaction_id,
        properties={COMMIT_PROPERTY: staged.commit.id},
    )
    return ManifestLog(manifests.main, table, staged.state)


def _history_fragments(table: LogTable) -> int:
    raw = table.metadata.get(HISTORY_KEY, "")
    # int() would take digits of other scripts, and str.isdigit() digits that int() does not take.
    if not (raw.isascii() and raw.isdigit() and len(raw) < 10) or int(raw) >= len(table.fragment_rows):
        raise FormatError(
            "The graph's manifest does not say which of its fragments are history.",
            help="Open an older commit, or restore the graph from a copy.",
            details={"found": raw},
        )
    return int(raw)
