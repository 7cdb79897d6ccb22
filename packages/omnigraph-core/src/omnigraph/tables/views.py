"""Read-your-writes: what a version would be with staged writes in it, as a detached version that nobody else sees.

Lance reads parts of a manifest late, so a view's file stays as long as somebody reads through the view. It is removed
by a later call of this class once the view is out of use; never by the garbage collector, which may come at any moment.
Where tables are no files of the adapter it stays. So it does when a process dies, and cleanup removes it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from lance import LanceDataset
from lance.fragment import FragmentMetadata

from omnigraph.storage import StorageAdapter
from omnigraph.tables.committing import detached_view, detached_view_of_fragments, remove_detached
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, RecentlyUsed
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import Place

KEPT: Final = 8
"""How many views are kept for the next read of the same staged writes."""

ViewKey = tuple[str, str | None, tuple[str, ...]]
"""Location, branch, and what is in the view: transaction ids or file names."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class View:
    """A dataset for reading. Whoever reads through it holds it."""

    place: Place
    dataset: LanceDataset
    detached: tuple[int, ...]


@dataclass(slots=True)
class Views:
    """The views of one graph. Safe to share between threads."""

    adapter: StorageAdapter
    _kept: RecentlyUsed[ViewKey, View] = field(default_factory=lambda: RecentlyUsed(KEPT))
    _retired: list[tuple[weakref.ref[View], Place, tuple[int, ...]]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of_staged(self, base: LanceSnapshot, staged: Sequence[LanceStaged]) -> View:
        """The base with the staged writes in it, in their order."""
        pin = base.pin
        key = pin.location, pin.branch, (str(pin.version), *(each.transaction_id for each in staged))
        return self._get(key, base.place, lambda: detached_view(base, staged))

    def of_written(
        self, line: TablePin, newest: LanceDataset, fragments: Sequence[FragmentMetadata], place: Place
    ) -> View:
        """Written rows alone, as if they were the table."""
        key = line.location, line.branch, tuple(file.path for each in fragments for file in each.files)
        return self._get(key, place, lambda: detached_view_of_fragments(newest, fragments, place))

    def forget(self, leaves: Callable[[ViewKey], bool]) -> None:
        """Let go of views that will not be asked for again."""
        self._retire(self._kept.forget(leaves))

    def _get(self, key: ViewKey, place: Place, make: Callable[[], tuple[LanceDataset, tuple[int, ...]]]) -> View:
        found = self._kept.get(key)
        if found is not None:
            return found
        dataset, detached = make()
        view = View(place, dataset, detached)
        self._retire(self._kept.put(key, view))
        return view

    def _retire(self, leaving: Iterable[View]) -> None:
        with self._lock:
            self._retired.extend((weakref.ref(each), each.place, each.detached) for each in leaving)
            del leaving
            unused = [each for each in self._retired if each[0]() is None]
            self._retired = [each for each in self._retired if each[0]() is not None]
        for _, place, detached in unused:
            remove_detached(self.adapter, place, detached)
