"""What the table layer hands out to be handed back: nobody above it looks inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from omnigraph._sealed import Sealed
from omnigraph.tables.facts import TablePin


class SnapshotHandle(Sealed, ABC):
    """One table at one version; opaque, immutable, safe to share between threads."""

    @property
    @abstractmethod
    def pin(self) -> TablePin:
        """The version that this handle shows."""


class StagedHandle(Sealed, ABC):
    """Data that is written and belongs to no version yet; dropping it loses nothing but space."""

    @property
    @abstractmethod
    def transaction_id(self) -> str:
        """The id by which recovery recognises this write in a table's history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVersion:
    """What became of a planned write to a table.

    Attributes:
        handle: the exact child of its pin; None when there is none.
        is_misplaced: it began, and only a version with other writers' rows in it is there, or one that is damaged.
    """

    handle: SnapshotHandle | None
    is_misplaced: bool = False
