"""What a copy and a repair did, as results that can be printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import CopyResult, RepairReport


@dataclass(frozen=True, slots=True)
class CopiedResult:
    """A graph that was copied."""

    copy: CopyResult

    def to_dict(self) -> dict[str, Any]:
        return self.copy.to_dict()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedResult:
    """What was put right."""

    uri: str
    report: RepairReport

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, **self.report.to_dict()}
