"""``open_repository``: from a URI to a graph that can be read or written.

Reading asks as little as it can and writes nothing. Opening for writing trusts the verdict about the store that is kept
from init, unless the graph was moved elsewhere since; it moves a newest version that cannot be read out of the way,
because by the order in which publishes are synced no such version was ever acknowledged; and it finishes or takes back
what writers that died left half done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from omnigraph.errors import NotFoundError, StorageError
from omnigraph.history.branches import MAIN, BranchRef, resolve_branch
from omnigraph.history.log import (
    ENDPOINT_KEY,
    ManifestLog,
    move_damage_away,
    open_manifest,
    refuse_older_format,
)
from omnigraph.history.repository import Repository
from omnigraph.plugins import open_adapter, verify_place
from omnigraph.storage import StorageAdapter
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.log import LogStore
from omnigraph.tables.new_files import are_on_disk
from omnigraph.write.init_claim import finish_copy, finish_init, refuse_cut_off
from omnigraph.write.own_files import remove_files_of_the_dead
from omnigraph.write.recovery.sweep import sweep


def open_repository(
    uri: str | Path, *, mode: Literal["r", "rw"] = "rw", options: Mapping[str, Any] | None = None
) -> Repository:
    """Open the graph at a URI.

    Raises:
        NotFoundError: there is none.
        FormatError: another format, or damaged.
        RecoveryRequiredError: for writing, and a write was cut off whose plan cannot be acted on.
        InvalidInputError, StorageError: as ``open_adapter``.
    """
    adapter = open_adapter(uri, mode=mode, options=options, verify=False)
    try:
        repository = repository_at(adapter, find_main(adapter))
        log = _open_newest(repository)
        repository.look_for_lost_version(log, for_writing=mode == "rw")
        if mode == "rw" and log.table.metadata.get(ENDPOINT_KEY) != adapter.endpoint:
            # It was made elsewhere, and came here by a copy or another tool.
            verify_place(adapter)
            finish_copy(adapter)
        repository.schema(log.state.schema_digest)
        repository.remember(log)
        if mode == "rw":
            finish_init(repository, log)
            repository.settled = sweep(repository)
            if are_on_disk(adapter):
                remove_files_of_the_dead(repository)
    except BaseException:
        with contextlib.suppress(StorageError):
            adapter.close()
        raise
    return repository


def repository_at(adapter: StorageAdapter, main: BranchRef) -> Repository:
    """What stands behind one open graph, which is known by its first branch."""
    tables = LanceTables(adapter)
    return Repository(adapter, main, tables, LogStore(adapter))


def find_main(adapter: StorageAdapter) -> BranchRef:
    """The branch that makes a graph exist; one request.

    Raises:
        NotFoundError: there is no graph.
        FormatError: there is one of an older format, or the object of its main branch is damaged.
        StorageError: the store did not answer.
    """
    try:
        return resolve_branch(adapter, MAIN)
    except NotFoundError as error:
        refuse_older_format(LogStore(adapter))
        refuse_cut_off(adapter)
        uri = str(adapter.root)
        raise NotFoundError(
            f"There is no graph at {uri}.",
            help="Make one: omnigraph init --schema SCHEMA.pg URI, or omnigraph.init(uri, schema=...).",
            details={"uri": uri},
        ) from error


def _open_newest(repository: Repository) -> ManifestLog:
    try:
        return open_manifest(repository.manifests, repository.main)
    except StorageError as error:
        move_damage_away(repository.manifests, repository.main, error)
    # The caches of the session may hold what is gone.
    fresh = repository_at(repository.adapter, repository.main)
    repository.logs, repository.tables = fresh.logs, fresh.tables
    return open_manifest(repository.manifests, repository.main)
