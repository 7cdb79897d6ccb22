"""What the verbs on branches did or found, as results that can be printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchResult:
    """One branch; ``is_new`` when it was just made."""

    uri: str
    branch: Branch
    is_new: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "branch": self.branch.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesResult:
    """Every branch of a graph: main first, then by name."""

    uri: str
    branches: tuple[Branch, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "branches": [each.to_dict() for each in self.branches]}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedBranchResult:
    """A branch that is no more; ``head`` is the commit that was its newest, None where it could not be read."""

    uri: str
    name: str
    head: str | None

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "deleted": self.name, "head": self.head}
