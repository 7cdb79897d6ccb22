"""``LoadLease``: says of a bulk load that takes long where its files lie, so that nobody takes them for litter.

    __loads/<id>.json    there from before the first file is written until the load is published or given up

The files of a load are written by many processes, and no version names them before the publish. Whoever looks for
litter finds here which lines of which tables a load writes to, since which version of the manifest, and by its
heartbeat whether it lives: files below these lines that no version names, and that are not older than the lease, are
the load's. A lease whose writer is gone says the same of what the load left behind.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from omnigraph.errors import StorageError
from omnigraph.history.repository import Repository
from omnigraph.history.ulids import new_ulid
from omnigraph.history.whereabouts import Fate, Whereabouts, fate_of, whereabouts
from omnigraph.storage import MAX_OBJECT_BYTES, StorageAdapter
from omnigraph.storage.control_objects import read_control_object
from omnigraph.write.branching import confirm_ref
from omnigraph.write.bulk.ticket import BulkTicket
from omnigraph.write.lease_places import LEASE_FORMAT, LEASE_PREFIX, lease_key
from omnigraph.write.under_way import is_under_way, under_way

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLease:
    """A bulk load that is under way, or was cut off.

    Attributes:
        id: names the lease; a load that is sent twice at once has two.
        state: ``under_way`` in this process, ``cut_off`` when its process is gone, ``unknown`` when nothing can be told
            at once of a process elsewhere.
        writer: names its heartbeat.
        lines: by type, where its files lie below the root of the graph.
        manifest_version: what its ticket knew of the branch.
    """

    id: str
    load_id: str
    branch: str
    state: str
    writer: str
    started_at: datetime
    manifest_version: int
    lines: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        names = ("id", "load_id", "branch", "state", "writer", "manifest_version")
        facts = {name: getattr(self, name) for name in names}
        return facts | {"started_at": self.started_at.isoformat(), "lines": dict(self.lines)}


@contextmanager
def leased(repository: Repository, ticket: BulkTicket) -> Iterator[None]:
    """Hold a lease for the files of a ticket during the block, and show signs of life.

    Raises:
        StorageError: the lease could not be written; nothing was begun.
        NotFoundError, BranchReplacedError: the graph was removed, or removed and made anew.
    """
    lease = new_ulid()
    key = lease_key(repository.adapter, lease)
    facts = {
        "format": LEASE_FORMAT,
        "main": repository.main.incarnation,
        "load_id": ticket.load_id,
        "branch": ticket.branch,
        "writer": repository.heart.writer,
        "process": whereabouts().to_dict(),
        "started_at": datetime.now(UTC).isoformat(),
        "manifest_version": ticket.manifest_version,
        "lines": {each: _line(pin.location, pin.branch) for each, pin in sorted(ticket.bases.items())},
    }
    data = json.dumps(facts, ensure_ascii=False).encode()
    repository.adapter.write(key, data)
    confirm_ref(repository, key, data)
    with repository.heart.beating(), under_way(lease):
        try:
            yield
        finally:
            try:
                repository.adapter.delete(key)
            except StorageError as error:
                # What it says stays true: the load is over, and what it left is litter.
                _log.warning("The lease of load %s could not be removed: %s", ticket.load_id, error)


def list_leases(repository: Repository) -> list[LoadLease]:
    """Every lease of this graph, the oldest first. What is no lease of this form is passed over.

    Raises:
        StorageError: they could not be listed or read.
        NotFoundError, BranchReplacedError: the graph was removed, or removed and made anew.
    """
    adapter = repository.adapter
    names = sorted(key.name for key in adapter.list_dir(adapter.key(LEASE_PREFIX)))
    main = repository.main.incarnation
    read = [_read(adapter, name.removesuffix(".json"), main) for name in names if name.endswith(".json")]
    repository.refuse_replaced()
    return [each for each in read if each is not None]


def _read(adapter: StorageAdapter, lease: str, main: str) -> LoadLease | None:
    try:
        facts = read_control_object(adapter, lease_key(adapter, lease), max_bytes=MAX_OBJECT_BYTES)
        if facts is None:
            return None
        # One of another graph is of a load that began here before this graph was made.
        if facts["format"] != LEASE_FORMAT or facts["main"] != main:
            return None
        return LoadLease(
            id=lease,
            load_id=facts["load_id"],
            branch=facts["branch"],
            state=_state(lease, Whereabouts(**facts["process"])),
            writer=facts["writer"],
            started_at=datetime.fromisoformat(facts["started_at"]),
            manifest_version=facts["manifest_version"],
            lines=facts["lines"],
        )
    except (ValueError, KeyError, TypeError) as error:
        _log.warning("%s is no lease: %s", adapter.uri(lease_key(adapter, lease)), error)
        return None


def _state(lease: str, process: Whereabouts) -> str:
    fate = fate_of(process)
    if fate is Fate.HERE and is_under_way(lease):
        return "under_way"
    return "unknown" if fate is Fate.UNKNOWN else "cut_off"


def _line(location: str, branch: str | None) -> str:
    return location if branch is None else f"{location}/tree/{branch}"
