"""``Commit``: one step in the history of a graph, and its row in the manifest.

Commits are facts that ride in the publish that makes them visible, so a commit exists exactly if its data does. Their
total order, in listings and wherever one must be chosen, is (manifest version, time, id).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from omnigraph.history.rows import GRAPH_COMMIT, MERGED_COMMIT, ManifestRow, compact_json, damaged


class CommitKind(StrEnum):
    """What a commit did. Only ``MAINTENANCE`` and ``FENCE`` leave every row as it was."""

    DATA = "data"
    SCHEMA = "schema"
    MERGE = "merge"
    MAINTENANCE = "maintenance"
    FENCE = "fence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit.

    Attributes:
        id: a ULID.
        parent_id: the commit before it on its branch; None for the first commit of a graph.
        merged_parent_id: of a merge, the head of the branch that was merged in.
        branch: the branch that it was made on.
        line: the physical line of the manifest that it was made on.
        manifest_version: the version of the manifest that it made, on its line; time travel uses both.
        created_at: when it was begun, in UTC, to the microsecond; the clock of the writer, for people only.
        properties: what the writer noted beside it, such as the id of a load.
    """

    id: str
    parent_id: str | None
    merged_parent_id: str | None = None
    branch: str
    line: str
    manifest_version: int
    kind: CommitKind
    actor: str | None = None
    created_at: datetime
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def order(self) -> tuple[int, datetime, str]:
        return self.manifest_version, self.created_at, self.id

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "id": self.id,
            "parent_id": self.parent_id,
            "merged_parent_id": self.merged_parent_id,
            "branch": self.branch,
            "manifest_version": self.manifest_version,
            "kind": str(self.kind),
            "actor": self.actor,
            "created_at": to_micros(self.created_at),
            "properties": dict(self.properties),
        }

    def to_row(self, *, merged_at: int | None = None) -> ManifestRow:
        """Its row on its own line; with ``merged_at`` the one on another line that merged it by that version."""
        return ManifestRow(
            object_id=self.id,
            object_type=GRAPH_COMMIT if merged_at is None else MERGED_COMMIT,
            seq=self.manifest_version if merged_at is None else merged_at,
            table_version=self.manifest_version,
            table_branch=self.branch,
            metadata=compact_json(
                {
                    "parent": self.parent_id,
                    "merged_parent": self.merged_parent_id,
                    "line": self.line,
                    "kind": str(self.kind),
                    "actor": self.actor,
                    "created_at": to_micros(self.created_at),
                    "properties": dict(self.properties) or None,
                }
            ),
        )

    @classmethod
    def of_row(cls, row: ManifestRow) -> Commit:
        """The commit that a row holds; remembered, because each state has mostly the commits of the one before it.

        Raises:
            FormatError: the row holds none.
        """
        return _commit_of(row)

    @classmethod
    def _read(cls, row: ManifestRow) -> Commit:
        facts = row.facts
        try:
            return cls(
                id=row.object_id,
                parent_id=facts.get("parent"),
                merged_parent_id=facts.get("merged_parent"),
                branch=row.table_branch or "main",
                line=facts["line"],
                # ManifestRow.check saw to it that it is there.
                manifest_version=int(row.table_version or 0),
                kind=CommitKind(facts["kind"]),
                actor=facts.get("actor"),
                created_at=from_micros(facts["created_at"]),
                properties=MappingProxyType(dict(facts.get("properties") or {})),
            )
        # A time too large for a date is an OverflowError, or an OSError of the C library.
        except (KeyError, ValueError, TypeError, OverflowError, OSError) as error:
            raise damaged(f"the commit {row.object_id} cannot be read ({error})") from error

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy does not pickle.
        return Commit.of_row, (self.to_row(),)


@lru_cache(maxsize=1_024)
def _commit_of(row: ManifestRow) -> Commit:
    return Commit._read(row)  # noqa: SLF001 - of this module


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, exactly."""
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """The moment so many microseconds after 1970, in UTC."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
