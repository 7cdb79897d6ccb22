"""``init_graph``: from an empty place and a schema to a graph with one commit.

    claim ──> schema objects ──> an empty table per type ──> the manifest ──> the object of main ──> claim removed

The graph exists from the moment the object of main does, and is complete at that moment. That object is created if
absent, so of several concurrent inits one makes the graph. The claim lets the others know early; it is not taken over,
because its owner may only be slow. Every directory of a graph has a random name, so what an init leaves that dies, or a
graph that was removed, is in the way of nothing; only the claim has to be overridden.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled, uncancellable
from omnigraph.errors import (
    AlreadyExistsError,
    FormatError,
    InternalError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import reach
from omnigraph.history.branches import MAIN, BranchRef, branch_key, resolve_branch, spell_ref
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog, create_manifest, refuse_older_format, stage_manifest
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable, schema_key, write_schema
from omnigraph.history.state import pin_row, registration_row, schema_row
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import StorageAdapter
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.log import LogConflictError, LogRefusedError, LogStore
from omnigraph.write.deadlines import pause
from omnigraph.write.init_claim import finish_init, take_claim
from omnigraph.write.opening import repository_at
from omnigraph.write.publish import SETTLING_LOOKS

_THREADS: Final = 8

_log: Final = logging.getLogger(__name__)


def init_graph(adapter: StorageAdapter, source: str, *, actor: str | None = None, force: bool = False) -> Repository:
    """Make a graph.

    Args:
        adapter: an empty place.
        source: the text of the schema.
        actor: who makes it; kept with the first commit.
        force: go on although the claim of another init lies there; right only when that init is dead.

    Raises:
        CompileError: the schema is wrong; nothing was written.
        AlreadyExistsError: there is a graph, or another init is under way.
        NotFoundError: the place was removed meanwhile.
        OutcomeUnknownError: the store stopped answering when the graph was about to exist; the claim stays.
        StorageError: it could not be written.
    """
    schema = GraphSchema.new(source, new_ulid())
    _refuse_graph(adapter)
    check_cancelled()
    # With the claim something lies there that only going on removes, so from here on it cannot be given up.
    with uncancellable():
        return _make_graph(adapter, schema, actor=actor, force=force)


def _make_graph(adapter: StorageAdapter, schema: GraphSchema, *, actor: str | None, force: bool) -> Repository:
    repository = repository_at(adapter, BranchRef.new_main(new_ulid(), created_at=datetime.now(UTC)))
    claim = take_claim(adapter, force=force)
    made: list[str] = []
    try:
        reach(failpoints.INIT_CLAIMED)
        # Another init may have finished between the look and the claim.
        _refuse_graph(adapter)
        write_schema(adapter, schema)
        reach(failpoints.INIT_SCHEMA_WRITTEN)
        handles = _create_tables(repository, schema, made)
        log = _create_genesis(repository, schema, handles, actor, made)
        _create_main(repository, log.state.head.id)
    except OutcomeUnknownError:
        raise
    except OmnigraphError:
        # No object of main names what was made, so there is no graph, and the next init may begin anew.
        _remove(repository, made)
        with contextlib.suppress(StorageError):
            adapter.delete(claim)
        raise
    # Not above: from here on a graph is there, and nothing of it is removed.
    _confirm_place(repository, schema)
    reach(failpoints.INIT_AFTER_GENESIS)
    repository.adopt_schemas({schema.digest: schema})
    repository.remember(log)
    finish_init(repository, log)
    return repository


def _refuse_graph(adapter: StorageAdapter) -> None:
    uri = str(adapter.root)
    try:
        found = resolve_branch(adapter, MAIN)
    except NotFoundError:
        found = None
    except FormatError as error:
        raise _unreadable(uri, error) from error
    if found is None:
        try:
            refuse_older_format(LogStore(adapter))
        except FormatError as error:
            raise _unreadable(uri, error) from error
        return
    raise AlreadyExistsError(
        f"There is a graph at {uri} already.",
        help="Open it, or choose another place.",
        details={"uri": uri, "incarnation": found.incarnation},
    )


def _unreadable(uri: str, error: FormatError) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"There is a graph at {uri} already, which this release cannot read: {error.message}",
        help="Choose another place, or move that graph away first.",
        details={"uri": uri},
    )


def _create_tables(repository: Repository, schema: GraphSchema, made: list[str]) -> dict[str, SnapshotHandle]:
    """An empty table per type, several at a time, all durable on return; ``made`` lists where they lie."""

    def create(table: TypeTable) -> SnapshotHandle:
        staged = repository.tables.stage_create(table.location, table.schema)
        made.append(table.location)
        handle = repository.tables.commit_create(staged)
        reach(failpoints.INIT_TABLE_CREATED)
        return handle

    tables = tuple(schema.tables.values())
    with ThreadPoolExecutor(max_workers=_THREADS) as threads:
        handles = list(threads.map(create, tables))
    repository.tables.sync_committed(handles)
    return {table.key: handle for table, handle in zip(tables, handles, strict=True)}


def _create_genesis(
    repository: Repository,
    schema: GraphSchema,
    handles: dict[str, SnapshotHandle],
    actor: str | None,
    made: list[str],
) -> ManifestLog:
    """The first version of the manifest, durable, on a line that nothing names yet."""
    commit = Commit(
        id=new_ulid(),
        parent_id=None,
        branch=MAIN,
        line=repository.main.physical,
        manifest_version=1,
        kind=CommitKind.SCHEMA,
        actor=actor,
        created_at=datetime.now(UTC),
    )
    rows = [schema_row(schema.digest, 1)]
    for key, table in schema.tables.items():
        state = repository.tables.table_state(handles[key])
        rows += [registration_row(key, table.identity, 1), pin_row(key, table.identity, handles[key].pin, state, 1)]
    made.append(repository.manifests.location)
    try:
        staged = stage_manifest(repository.manifests, commit, rows)
        reach(failpoints.INIT_BEFORE_GENESIS)
        log = create_manifest(repository.manifests, staged)
    except LogConflictError as error:
        raise InternalError(f"The line {repository.main.physical} is not new.") from error
    except LogRefusedError as refused:
        raise refused.failure from refused
    log.table.sync()
    reach(failpoints.INIT_MANIFEST_CREATED)
    return log


def _create_main(repository: Repository, commit_id: str) -> None:
    """Write the object of main, with which the graph exists; after a lost answer, look whether it does.

    Raises:
        AlreadyExistsError: another init made the graph.
        OutcomeUnknownError: it is not there, or cannot be read; a request may still be under way.
        StorageError: the system refused it; nothing happened.
    """
    adapter, ref = repository.adapter, repository.main
    try:
        is_ours = adapter.write_if_absent(branch_key(adapter, MAIN), spell_ref(ref))
    except StorageError as error:
        is_ours = _is_made(adapter, ref, commit_id, error)
    if not is_ours:
        uri = str(adapter.root)
        raise AlreadyExistsError(
            f"Another init made the graph at {uri} first.", help="Open that graph.", details={"uri": uri}
        )


def _confirm_place(repository: Repository, schema: GraphSchema) -> None:
    """Look, after the object of main, for what was written first, and take that object back if the place was removed.

    Without this look a graph would exist whose files are gone. The schema has a name that no other graph uses.

    Raises:
        NotFoundError: the place was removed meanwhile; there is no graph.
    """
    adapter, key = repository.adapter, branch_key(repository.adapter, MAIN)
    try:
        if adapter.exists(schema_key(adapter, schema.digest)):
            return
        if adapter.read_if_exists(key) == spell_ref(repository.main):
            adapter.delete(key)
    except StorageError as error:
        _log.warning("It could not be looked whether the graph at %s is still there: %s", adapter.root, error)
        return
    uri = str(adapter.root)
    raise NotFoundError(
        f"The files of the graph that was being made at {uri} were removed meanwhile.",
        help="Repeat the init.",
        details={"uri": uri},
    )


def _is_made(adapter: StorageAdapter, ref: BranchRef, commit_id: str, error: StorageError) -> bool:
    """Whether the graph whose making was not answered is there; false when it is another one.

    Raises:
        OutcomeUnknownError, StorageError: as ``_create_main``.
    """
    for look in range(1, SETTLING_LOOKS + 1):
        try:
            return resolve_branch(adapter, MAIN).incarnation == ref.incarnation
        except NotFoundError:
            # A refusal by the file system of this machine is its last word; one by a server may answer a repetition.
            if error.condition is StorageCondition.CONFIGURATION:
                raise error from None
            break
        except (StorageError, FormatError) as another:
            error.add_note(f"Looking for it failed as well: {another}")
        pause(look)
    raise OutcomeUnknownError(
        f"It is not known whether the graph at {adapter.root} was made: the store did not answer.",
        commit_id=commit_id,
        help="When the store answers again, open it. If there is no graph, repeat with --force.",
    ) from error


def _remove(repository: Repository, locations: Iterable[str]) -> None:
    """Remove what this init made and nothing names; what cannot be removed is in the way of nothing."""
    for each in locations:
        try:
            repository.tables.drop(each)
        except StorageError as error:
            _log.debug("%s stays at %s: %s", each, repository.adapter.root, error)
