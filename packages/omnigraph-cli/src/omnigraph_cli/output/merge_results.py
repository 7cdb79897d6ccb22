"""What a merge did, or would do, as a result that can be printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import MergeResult


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedResult:
    """A merge that was done, or thought through."""

    uri: str
    merge: MergeResult
    is_dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "dry_run": self.is_dry_run, **self.merge.to_dict()}
