"""``QueryVectors``: the vectors of texts that were searched for lately, so that a repeated query asks nobody.

Bounded by bytes; what was not used for longest leaves first. Shared by the threads of a process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from omnigraph.embedding.vectors import Vector

MAX_BYTES: Final = 8 * 1024**2

_ENTRY_BYTES: Final = 500
"""What an entry takes beside its vector and its text, roughly."""


class QueryVectors:
    """Vectors by whatever they depend on: embedder, model, dimension and the text itself."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self.start()

    def start(self) -> None:
        """Keep nothing, as at first."""
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Vector, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Vector | None:
        """The vector, if it is kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, key: Hashable, vector: Vector, *, text_bytes: int) -> None:
        """Keep a vector; one that is larger than the bound is not kept."""
        size = vector.nbytes + text_bytes + _ENTRY_BYTES
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = (vector, size)
            self._bytes += size - before
            while self._bytes > self._max_bytes:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone

    @property
    def nbytes(self) -> int:
        """What is kept, in bytes."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)
