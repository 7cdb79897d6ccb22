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

from omnigraph.errors import FormatError, NotFoundError, StorageError
from omnigraph.history.branches import MAIN
from omnigraph.history.log import ENDPOINT_KEY, ManifestLog, move_damage_away, open_manifest
from omnigraph.history.repository import Repository
from omnigraph.plugins import open_adapter, verify_place
from omnigraph.storage import StorageAdapter
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.log import LogStore
from omnigraph.write.init import CLAIM, finish_init
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
        repository = repository_at(adapter)
        log = _open_newest(repository)
        if mode == "rw" and log.table.metadata.get(ENDPOINT_KEY) != adapter.endpoint:
            verify_place(adapter)
        repository.schema(log.state.schema_digest)
        repository.remember(log)
        if mode == "rw":
            finish_init(repository, log)
            repository.settled = sweep(repository)
    except BaseException:
        with contextlib.suppress(StorageError):
            adapter.close()
        raise
    return repository


def repository_at(adapter: StorageAdapter) -> Repository:
    """What stands behind one open graph."""
    tables = LanceTables(adapter)
    return Repository(adapter, tables, LogStore(adapter, tables.session))


def _refuse_cut_off(adapter: StorageAdapter) -> None:
    """Raise when an init left its claim: there is no graph yet, whatever else lies there.

    Raises:
        NotFoundError: it did.
    """
    key = adapter.key(CLAIM)
    if adapter.exists(key):
        raise NotFoundError(
            f"There is no graph at {adapter.root}, but an init is under way there, or was cut off.",
            help="Wait for it. If you know that it is dead, repeat it with --force (init(..., force=True)).",
            details={"uri": str(adapter.root), "claim": adapter.uri(key)},
        )


def _open_newest(repository: Repository) -> ManifestLog:
    adapter = repository.adapter
    try:
        return open_manifest(repository.logs)
    except NotFoundError:
        _refuse_cut_off(adapter)
        raise
    except StorageError as error:
        try:
            move_damage_away(adapter, MAIN, error)
        except FormatError:
            if not adapter.is_read_only:
                _refuse_cut_off(adapter)
            raise
    # The caches of the session may hold what is gone.
    fresh = repository_at(adapter)
    repository.logs, repository.tables = fresh.logs, fresh.tables
    return open_manifest(repository.logs)
