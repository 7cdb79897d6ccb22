"""``Memory``: what an open graph keeps decoded between queries, in one bound of bytes.

Everything in it is made of immutable versions and named by them, so an entry is right or absent, never stale.
Entries belong to families ("types", "endpoints", "adjacency", ...) that share the bound: whatever was used least
recently leaves first. One value is built once, however many threads ask for it, and no lock is held meanwhile. Whoever
holds a value keeps it; leaving only means that the next one who asks builds it again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from omnigraph.cancellation import cancellable_wait

T = TypeVar("T")

MAX_LINES: Final = 4_096
"""How many lines of versions, and how many counts, are remembered."""

MAX_VERSIONS: Final = 8
"""How many values of one line of versions are kept, where who remembers them does not say."""

_Name = tuple[str, Hashable]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyStats:
    """What one family holds now, and what happened to it since the graph was opened.

    Attributes:
        bytes: what its entries take together.
        hits: how often a value was there when it was asked for; who waited for another's build counts as one.
        builds: values that were made, extensions among them.
        extensions: values that were made of an older version and what changed since.
        evictions: values that left for others, or because they had grown too large.
    """

    entries: int = 0
    bytes: int = 0
    hits: int = 0
    misses: int = 0
    builds: int = 0
    extensions: int = 0
    evictions: int = 0


@dataclass(slots=True)
class _Entry:
    value: Any
    nbytes: Callable[[Any], int]
    size: int


@dataclass(slots=True)
class _Flight:
    """One build under way. Without ``is_landed`` it failed, and those who waited try themselves."""

    done: threading.Event = field(default_factory=threading.Event)
    is_landed: bool = False
    value: Any = None


@dataclass(slots=True)
class _Counts:
    entries: int = 0
    bytes: int = 0
    hits: int = 0
    misses: int = 0
    builds: int = 0
    extensions: int = 0
    evictions: int = 0


class Memory:
    """A bounded cache of several families. Safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most so many bytes; with 0 nothing is kept, and everything works."""
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[_Name, _Entry] = OrderedDict()
        self._flights: dict[_Name, _Flight] = {}
        self._lines: OrderedDict[_Name, OrderedDict[Hashable, None]] = OrderedDict()
        self._asked: OrderedDict[Hashable, int] = OrderedDict()
        self._counts: dict[str, _Counts] = {}
        self._bytes = 0

    def get(self, family: str, key: Hashable) -> Any | None:
        """The value, as one that was just used; None when it is not there."""
        with self._lock:
            found = self._use(family, key)
            counts = self._of(family)
            if found is None:
                counts.misses += 1
                return None
            counts.hits += 1
            return found.value

    def holds(self, family: str, key: Hashable) -> bool:
        """Whether a value is there; neither a use nor counted."""
        with self._lock:
            return (family, key) in self._entries

    def get_or_build(self, family: str, key: Hashable, build: Callable[[], T], nbytes: Callable[[T], int]) -> T:
        """The value, built now where it is not there.

        While one thread builds, others who ask for the same value wait for it; when the build raises, that thread
        gets the error, nothing is kept, and the others build themselves. A value that is larger than the bound is
        returned and not kept.

        Args:
            family: for the statistics.
            key: names the value in its family.
            build: makes it. Called without a lock; it may ask this memory for other values.
            nbytes: what a value takes; asked again by ``recount``.
        """
        name = (family, key)
        while True:
            with self._lock:
                found = self._use(family, key)
                if found is not None:
                    self._of(family).hits += 1
                    return cast("T", found.value)
                flight = self._flights.get(name)
                is_mine = flight is None
                if flight is None:
                    flight = self._flights[name] = _Flight()
                    self._of(family).misses += 1
            if is_mine:
                return self._build(name, flight, build, nbytes)
            cancellable_wait(None, flight.done.wait)
            if flight.is_landed:
                with self._lock:
                    self._of(family).hits += 1
                return cast("T", flight.value)

    def newest(self, family: str, lineage: Hashable) -> Any | None:
        """The value that was last remembered of a line of versions, while it is there. Counted as no hit or miss."""
        with self._lock:
            line = self._lines.get((family, lineage))
            found = self._use(family, next(reversed(line))) if line else None
            return None if found is None else found.value

    def holds_line(self, family: str, lineage: Hashable) -> bool:
        """Whether ``newest`` would give a value; no use of it."""
        with self._lock:
            line = self._lines.get((family, lineage))
            return (family, next(reversed(line))) in self._entries if line else False

    def remember(self, family: str, lineage: Hashable, key: Hashable, *, keep: int = MAX_VERSIONS) -> None:
        """Say which value of a line of versions is the one to extend from.

        Of those that were remembered before, ``keep - 1`` stay: each commit makes a version, and old ones of a busy
        line would fill the bound although nobody asks for them any more.
        """
        with self._lock:
            line = self._lines.setdefault((family, lineage), OrderedDict())
            self._lines.move_to_end((family, lineage))
            line[key] = None
            line.move_to_end(key)
            while len(line) > keep:
                left = (family, line.popitem(last=False)[0])
                if left in self._entries:
                    self._evict(left)
            if len(self._lines) > MAX_LINES:
                self._lines.popitem(last=False)

    def recount(self, family: str, key: Hashable) -> None:
        """Ask a value again what it takes, because it grew or shrank; others may have to leave for it."""
        with self._lock:
            entry = self._entries.get((family, key))
        if entry is None:
            return
        size = entry.nbytes(entry.value)
        with self._lock:
            if self._entries.get((family, key)) is entry:
                self._resize((family, key), entry, size)

    def note_extension(self, family: str) -> None:
        """Count a build that was an extension."""
        with self._lock:
            self._of(family).extensions += 1

    def count_asked(self, name: Hashable) -> int:
        """How often this was called with this name, now included; names that are long unused are forgotten."""
        with self._lock:
            count = self._asked.get(name, 0) + 1
            self._asked[name] = count
            self._asked.move_to_end(name)
            if len(self._asked) > MAX_LINES:
                self._asked.popitem(last=False)
            return count

    def stats(self) -> dict[str, FamilyStats]:
        """What each family holds and what happened to it."""
        with self._lock:
            return {
                name: FamilyStats(**{each: getattr(counts, each) for each in FamilyStats.__dataclass_fields__})
                for name, counts in sorted(self._counts.items())
            }

    def clear(self) -> None:
        """Let go of every value; the statistics go on."""
        with self._lock:
            for name in [*self._entries]:
                self._remove(name)
            self._lines.clear()
            self._asked.clear()

    def _build(self, name: _Name, flight: _Flight, build: Callable[[], T], nbytes: Callable[[T], int]) -> T:
        try:
            value = build()
            size = nbytes(value)
            flight.value, flight.is_landed = value, True
        finally:
            with self._lock:
                if flight.is_landed:
                    self._of(name[0]).builds += 1
                    self._keep(name, _Entry(value, nbytes, 0), size)
                del self._flights[name]
            flight.done.set()
        return value

    def _keep(self, name: _Name, entry: _Entry, size: int) -> None:
        if size <= self.max_bytes and self.max_bytes > 0:
            self._entries[name] = entry
            self._of(name[0]).entries += 1
            self._resize(name, entry, size)

    def _resize(self, name: _Name, entry: _Entry, size: int) -> None:
        self._of(name[0]).bytes += size - entry.size
        self._bytes += size - entry.size
        entry.size = size
        if size > self.max_bytes:
            # It would push out everything else first, and then itself.
            self._evict(name)
        else:
            self._entries.move_to_end(name)
        while self._bytes > self.max_bytes:
            self._evict(next(iter(self._entries)))

    def _evict(self, name: _Name) -> None:
        self._remove(name)
        self._of(name[0]).evictions += 1

    def _remove(self, name: _Name) -> None:
        entry = self._entries.pop(name)
        counts = self._of(name[0])
        counts.entries -= 1
        counts.bytes -= entry.size
        self._bytes -= entry.size

    def _use(self, family: str, key: Hashable) -> _Entry | None:
        found = self._entries.get((family, key))
        if found is not None:
            self._entries.move_to_end((family, key))
        return found

    def _of(self, family: str) -> _Counts:
        return self._counts.setdefault(family, _Counts())
