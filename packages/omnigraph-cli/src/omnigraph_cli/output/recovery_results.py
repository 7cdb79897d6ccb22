"""Writes that were cut off, as results that can be printed; the facts are those of ``omnigraph``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import DiscardedSidecar, LoadLease, PendingWrite, Recovery


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveriesResult:
    """Writes that are pending, those that were settled, and bulk loads that are not over.

    Attributes:
        none: what a person is told when there are none of these.
    """

    uri: str
    pending: tuple[PendingWrite, ...]
    recoveries: tuple[Recovery, ...]
    none: str
    loads: tuple[LoadLease, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "pending": [each.to_dict() for each in self.pending],
            "recoveries": [each.to_dict() for each in self.recoveries],
            "loads": [each.to_dict() for each in self.loads],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedResult:
    """A plan that was moved aside."""

    uri: str
    discarded: DiscardedSidecar

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, **self.discarded.to_dict()}
