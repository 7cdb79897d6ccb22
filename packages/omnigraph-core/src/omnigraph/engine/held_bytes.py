"""``HeldBytes``: what a call gathers in memory where it cannot stream, counted against a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph.config import MAX_HELD_BYTES
from omnigraph.errors import ResourceLimitError

RESOURCE: Final = "held_bytes"


@dataclass(slots=True)
class HeldBytes:
    """The bytes that one call holds so far.

    Attributes:
        what: they are, for the message; such as "a diff as one table".
        limit: how many it may hold.
    """

    what: str
    limit: int
    held: int = 0

    def add(self, size: int) -> None:
        """Count bytes that are about to be kept.

        Raises:
            ResourceLimitError: they are too many.
        """
        self.held += size
        if self.held > self.limit:
            raise ResourceLimitError(
                f"{self.what} takes more than the {self.limit:,} bytes that one call may hold in memory.",
                resource=RESOURCE,
                limit=self.limit,
                actual=self.held,
                help=f"Do it in smaller parts, or give more: {MAX_HELD_BYTES} in the environment.",
            )

    def each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, each counted before it is kept. Raises as ``add``."""
        for batch in batches:
            self.add(batch.nbytes)
            yield batch
