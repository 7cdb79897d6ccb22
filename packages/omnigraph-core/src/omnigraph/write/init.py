"""``init_graph``: from an empty place and a schema to a graph with one commit.

    claim ──> schema objects ──> an empty table per type ──> the manifest, in one commit ──> claim removed

The claim makes exactly one of several concurrent inits go on; it is never taken over, because its owner may only be
slow. The graph exists from the moment its manifest does, and is complete at that moment. What an init leaves when it
dies before that are empty tables and schema objects under random names, which no graph refers to. Only its claim is in
the way of the next init, which says what to do.
"""

from __future__ import annotations

import contextlib
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Final

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled, uncancellable
from omnigraph.errors import (
    AlreadyExistsError,
    FormatError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import reach
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import (
    MANIFEST,
    ManifestLog,
    StagedVersion,
    create_manifest,
    open_manifest,
    stage_manifest,
)
from omnigraph.history.repository import Repository
from omnigraph.history.rows import damaged
from omnigraph.history.schemas import GraphSchema, TypeTable, write_schema
from omnigraph.history.state import pin_row, registration_row, schema_row
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.log import LogConflictError, LogRefusedError, LogStore
from omnigraph.tables.quarantine import quarantine_unreadable
from omnigraph.write.deadlines import pause
from omnigraph.write.publish import SETTLING_LOOKS

CLAIM: Final = "__init_claim.json"
SCHEMA_COPY: Final = "_schema.pg"
"""The newest schema of main as a plain file, for people; nothing reads it."""

_THREADS: Final = 8

_log: Final = logging.getLogger(__name__)


def init_graph(repository: Repository, source: str, *, actor: str | None = None, force: bool = False) -> ManifestLog:
    """Make a graph.

    Args:
        repository: an empty place.
        source: the text of the schema.
        actor: who makes it; kept with the first commit.
        force: go on although the claim of another init lies there; right only when that init is dead.

    Raises:
        CompileError: the schema is wrong; nothing was written.
        AlreadyExistsError: there is a graph, or another init is under way.
        OutcomeUnknownError: the store stopped answering when the graph was about to exist; the claim stays.
        StorageError: it could not be written.
    """
    schema = GraphSchema.new(source, new_ulid())
    _refuse_graph(repository, force=force)
    check_cancelled()
    # With the claim something lies there that only going on removes, so from here on nobody can give this up.
    with uncancellable():
        return _make_graph(repository, schema, actor=actor, force=force)


def _make_graph(repository: Repository, schema: GraphSchema, *, actor: str | None, force: bool) -> ManifestLog:
    adapter = repository.adapter
    claim = _claim(adapter, force=force)
    try:
        reach(failpoints.INIT_CLAIMED)
        # Another init may have finished between the look and the claim.
        _refuse_graph(repository, force=force)
        write_schema(adapter, schema)
        reach(failpoints.INIT_SCHEMA_WRITTEN)
        handles = _create_tables(repository, schema)
        log = _create_genesis(repository, schema, handles, actor)
    except OutcomeUnknownError:
        raise
    except OmnigraphError:
        # No manifest was made, so there is no graph, and the next init may begin anew.
        with contextlib.suppress(StorageError):
            _drop_tables(repository, schema)
        with contextlib.suppress(StorageError):
            adapter.delete(claim)
        raise
    reach(failpoints.INIT_AFTER_GENESIS)
    _finish(adapter, claim, schema.source)
    repository.adopt_schemas({schema.digest: schema})
    return repository.remember(log)


def _refuse_graph(repository: Repository, *, force: bool) -> None:
    uri = str(repository.adapter.root)
    try:
        found = _look_for_graph(repository, force=force)
    except FormatError as error:
        raise AlreadyExistsError(
            f"There is a graph at {uri} already, which this release cannot read: {error.message}",
            help="Choose another place, or move that graph away first.",
            details={"uri": uri},
        ) from error
    if found is not None:
        raise AlreadyExistsError(
            f"There is a graph at {uri} already, at commit {found.state.head.id}.",
            help="Open it, or choose another place.",
            details={"uri": uri, "commit_id": found.state.head.id},
        )


def _look_for_graph(repository: Repository, *, force: bool) -> ManifestLog | None:
    """The graph that is there already, if one is.

    A first version that cannot be read, below a claim, is what a loss of power leaves of an init: it was never
    acknowledged. With ``force`` it is moved out of the way.

    Raises:
        FormatError: there is one, and it cannot be read.
        StorageError: the store did not answer.
    """
    adapter = repository.adapter
    try:
        return open_manifest(repository.logs)
    except NotFoundError:
        return None
    except StorageError as error:
        if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
            raise
        is_abandoned = force and adapter.exists(adapter.key(CLAIM))
        if not (is_abandoned and quarantine_unreadable(adapter, MANIFEST, None, above=0)):
            raise damaged("its newest version cannot be read") from error
    try:
        # A cache may hold what is gone.
        return open_manifest(LogStore(adapter))
    except NotFoundError:
        return None


def _claim(adapter: StorageAdapter, *, force: bool) -> ObjectKey:
    key = adapter.key(CLAIM)
    payload = json.dumps({"version": 1, "attempt_id": new_ulid()}).encode()
    if force:
        adapter.write(key, payload)
        return key
    try:
        is_ours = adapter.write_if_absent(key, payload)
    except StorageError:
        # The answer may be all that was lost.
        with contextlib.suppress(StorageError):
            if adapter.read_if_exists(key) == payload:
                return key
        raise
    if not is_ours:
        raise AlreadyExistsError(
            f"Another init of {adapter.root} is under way, or was cut off: its claim {adapter.uri(key)} lies there.",
            help="Wait for it. If you know that it is dead, repeat with --force (init(..., force=True)).",
            details={"uri": str(adapter.root), "claim": adapter.uri(key)},
        )
    return key


def finish_init(repository: Repository, log: ManifestLog) -> None:
    """Do what an init that was cut off right after it made the graph left undone.

    Asks for nothing once there is a second commit: whoever opened the graph to make that came by here.
    """
    claim = repository.adapter.key(CLAIM)
    if log.version == 1 and repository.adapter.exists(claim):
        _finish(repository.adapter, claim, repository.schema(log.state.schema_digest).source)


def _finish(adapter: StorageAdapter, claim: ObjectKey, source: str) -> None:
    """What is left to do when the graph exists; failing at it is a warning, because nothing depends on it."""
    copy_schema = partial(adapter.write, adapter.key(SCHEMA_COPY), source.encode())
    for what, step in ((f"write {SCHEMA_COPY}", copy_schema), ("remove the claim", partial(adapter.delete, claim))):
        try:
            step()
        except StorageError as error:
            _log.warning("The graph at %s is made, but init could not %s: %s", adapter.root, what, error)


def _drop_tables(repository: Repository, schema: GraphSchema) -> None:
    """Remove the tables that this init made: their incarnations are random, so no other graph or init has them."""
    for table in schema.tables.values():
        repository.tables.drop(table.location)


def _create_tables(repository: Repository, schema: GraphSchema) -> dict[str, SnapshotHandle]:
    """An empty table per type, several at a time, all durable on return."""

    def create(table: TypeTable) -> SnapshotHandle:
        staged = repository.tables.stage_create(table.location, table.schema)
        handle = repository.tables.commit_create(staged)
        reach(failpoints.INIT_TABLE_CREATED)
        return handle

    tables = tuple(schema.tables.values())
    with ThreadPoolExecutor(max_workers=_THREADS) as threads:
        handles = list(threads.map(create, tables))
    repository.tables.sync_committed(handles)
    return {table.key: handle for table, handle in zip(tables, handles, strict=True)}


def _create_genesis(
    repository: Repository, schema: GraphSchema, handles: dict[str, SnapshotHandle], actor: str | None
) -> ManifestLog:
    """The commit with which the graph exists; after a lost answer, the look whether it does."""
    commit = Commit(
        id=new_ulid(),
        parent_id=None,
        branch="main",
        manifest_version=1,
        kind=CommitKind.SCHEMA,
        actor=actor,
        created_at=datetime.now(UTC),
    )
    rows = [schema_row(schema.digest, 1)]
    for key, table in schema.tables.items():
        state = repository.tables.table_state(handles[key])
        rows += [registration_row(key, table.identity, 1), pin_row(key, table.identity, handles[key].pin, state, 1)]
    try:
        staged = stage_manifest(repository.logs, commit, rows)
        reach(failpoints.INIT_BEFORE_GENESIS)
        return _commit_genesis(repository, staged)
    except LogConflictError as error:
        raise _made_by_another(repository) from error
    except LogRefusedError as refused:
        raise refused.failure from refused


def _commit_genesis(repository: Repository, staged: StagedVersion) -> ManifestLog:
    try:
        log = create_manifest(repository.logs, staged)
        log.table.sync()
    except StorageError as error:
        return _find_genesis(repository, staged.commit, error)
    return log


def _find_genesis(repository: Repository, commit: Commit, error: StorageError) -> ManifestLog:
    """The graph whose making was not answered.

    Raises:
        AlreadyExistsError: another init made it.
        OutcomeUnknownError: it is not there, or cannot be read; a request may still be under way.
    """
    for look in range(1, SETTLING_LOOKS + 1):
        try:
            log = open_manifest(repository.logs, version=1)
            if log.state.head.id != commit.id:
                raise _made_by_another(repository) from error
            log.table.sync()
        except NotFoundError:
            break
        except (StorageError, FormatError) as another:
            error.add_note(f"Looking for it failed as well: {another}")
        else:
            return log
        pause(look)
    raise OutcomeUnknownError(
        f"It is not known whether the graph at {repository.adapter.root} was made: the store did not answer.",
        commit_id=commit.id,
        help="When the store answers again, open it. If there is no graph, repeat with --force.",
    ) from error


def _made_by_another(repository: Repository) -> AlreadyExistsError:
    uri = str(repository.adapter.root)
    return AlreadyExistsError(
        f"Another init made the graph at {uri} first.", help="Open that graph.", details={"uri": uri}
    )
