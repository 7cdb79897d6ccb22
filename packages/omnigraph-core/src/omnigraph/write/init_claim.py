"""The claim of an init: what tells others that one is under way, and what is done when it has made its graph.

The claim is written before anything else and removed at the end. An init that dies leaves it; the next one goes on with
``force``, and opening a graph whose init died right after it made it removes the claim.
"""

from __future__ import annotations

import contextlib
import json
import logging
from functools import partial
from typing import Final, Literal

from omnigraph.errors import AlreadyExistsError, NotFoundError, StorageError
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import ObjectKey, StorageAdapter

CLAIM: Final = "__init_claim.json"
SCHEMA_COPY: Final = "_schema.pg"
"""The newest schema of main as a plain file, for people; no code reads it."""

_VERB_COPY: Final = json.dumps({"verb": "copy"}).encode()[1:-1]
_log: Final = logging.getLogger(__name__)


def take_claim(adapter: StorageAdapter, *, force: bool, verb: Literal["init", "copy"] = "init") -> ObjectKey:
    """Say that an init is under way here, or a copy to here; the object that says so.

    Raises:
        AlreadyExistsError: another one is, and ``force`` does not say that it is dead.
        StorageError: it could not be written.
    """
    key = adapter.key(CLAIM)
    payload = json.dumps({"version": 1, "attempt_id": new_ulid(), "verb": verb}).encode()
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


def refuse_cut_off(adapter: StorageAdapter) -> None:
    """Raise when an init left its claim: there is no graph yet, whatever else lies there.

    Raises:
        NotFoundError: it did.
    """
    key = adapter.key(CLAIM)
    claim = adapter.read_if_exists(key)
    if claim is not None:
        verb, what = ("copy", "a copy to there") if _VERB_COPY in claim else ("init", "an init")
        raise NotFoundError(
            f"There is no graph at {adapter.root}, but {what} is under way, or was cut off.",
            help=f"Wait for it. If you know that it is dead, repeat it with --force ({verb}(..., force=True)).",
            details={"uri": str(adapter.root), "claim": adapter.uri(key)},
        )


def finish_init(repository: Repository, log: ManifestLog) -> None:
    """Do what an init that was cut off right after it made the graph left undone.

    Asks for nothing once there is a second commit: whoever opened the graph to make that came by here.
    """
    claim = repository.adapter.key(CLAIM)
    if log.version == 1 and repository.adapter.exists(claim):
        _finish(repository.adapter, claim, repository.schema(log.state.schema_digest).source)


def finish_copy(adapter: StorageAdapter) -> None:
    """Remove the claim of a copy that was cut off right after it made the graph; failing at it is a warning."""
    claim = adapter.key(CLAIM)
    try:
        if adapter.exists(claim):
            adapter.delete(claim)
    except StorageError as error:
        _log.warning("The graph at %s is whole, but the claim of the copy stays: %s", adapter.root, error)


def _finish(adapter: StorageAdapter, claim: ObjectKey, source: str) -> None:
    """What is left to do when the graph exists; failing at it is a warning, because nothing depends on it."""
    copy_schema = partial(adapter.write, adapter.key(SCHEMA_COPY), source.encode())
    for what, step in ((f"write {SCHEMA_COPY}", copy_schema), ("remove the claim", partial(adapter.delete, claim))):
        try:
            step()
        except StorageError as error:
            _log.warning("The graph at %s is made, but init could not %s: %s", adapter.root, what, error)
