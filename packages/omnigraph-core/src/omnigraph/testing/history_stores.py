"""``watch_stores``: every store that a writer opens fails as often as wanted, and what becomes of sidecars is noted.

    writer ──> notes: written, withdrawn, deleted ──> faults at random ──> the backend's own adapter

So it is known of every sidecar who wrote it, and whether it lay there when its writer was killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeVar

from omnigraph.storage import ObjectKey, StorageAdapter, StorageBackend
from omnigraph.testing.faults import FlakyAdapter, Verb, WrappedAdapter
from omnigraph.write.sidecar import RECOVERY_PREFIX

Note = Callable[[Mapping[str, Any]], None]
"""Writes facts down, at once."""

T = TypeVar("T")

BESIDE: Final = "-beside-"
"""Is in the names of graphs that writers make beside the one that they share, whose sidecars are not noted."""

_WRITTEN: Final = ("writing", "written")
_WORDS: Final[Mapping[Verb, tuple[str, str]]] = {
    "write": _WRITTEN,
    "write_if_absent": _WRITTEN,
    "write_if_match": _WRITTEN,
    "delete": ("deleting", "deleted"),
    "rename": ("withdrawing", "withdrawn"),
}


def watch_stores(note: Note, random: Random, fault_share: float) -> None:
    """Wrap every adapter that this process opens from now on."""
    open_bare = StorageBackend.open

    def open_wrapped(*arguments: Any) -> StorageAdapter:
        adapter = open_bare(*arguments)
        if fault_share > 0:
            adapter = FlakyAdapter(adapter, random, fault_share, struck=lambda what: note({"fault": what}))
        return adapter if BESIDE in str(adapter.root) else _NotingAdapter(adapter, note)

    # Set as what it is called, not as what it is typed: the class has no place for it on purpose.
    setattr(StorageBackend, "open", open_wrapped)  # noqa: B010


class _NotingAdapter(WrappedAdapter):
    """Notes what becomes of sidecars: before and after each is written, withdrawn or deleted."""

    def __init__(self, inner: StorageAdapter, note: Note) -> None:
        super().__init__(inner)
        self._note = note

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        words = _WORDS.get(verb)
        if words is None or not key.value.startswith(f"{RECOVERY_PREFIX}/"):
            return act()
        operation_id = key.value.removeprefix(f"{RECOVERY_PREFIX}/").partition(".")[0]
        facts = {"sidecar": operation_id, "pid": os.getpid()}
        self._note({**facts, "is": words[0], "at": time.monotonic()})
        result = act()
        self._note({**facts, "is": words[1], "at": time.monotonic()})
        return result
