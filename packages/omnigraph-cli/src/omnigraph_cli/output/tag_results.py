"""What the verbs on tags did or found, as results that can be printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class TagResult:
    """A tag that was made."""

    uri: str
    tag: Tag

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "tag": self.tag.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsResult:
    """Every tag of a graph, by name."""

    uri: str
    tags: tuple[Tag, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "tags": [each.to_dict() for each in self.tags]}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTagResult:
    """A tag that is no more."""

    uri: str
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "deleted": self.name}
