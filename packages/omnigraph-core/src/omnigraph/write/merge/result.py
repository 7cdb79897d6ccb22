"""``MergeResult``: what a merge did, or would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.errors import MergeConflict
from omnigraph.history.commits import Commit

if TYPE_CHECKING:
    import pyarrow as pa

Outcome = Literal["already_up_to_date", "fast_forward", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge did, or of a dry run, what it would do.

    Attributes:
        outcome: ``already_up_to_date``: there was nothing to merge. ``fast_forward``: the target had done nothing
            since the branches parted. ``merged``: both had.
        source: the branch that was merged, as it was at ``source_commit``.
        into: the branch that took it in.
        base_commit: where the two had parted.
        commit: the commit that was made; None when there was nothing to merge, and of a dry run.
        branch_deleted: whether the source was deleted afterwards.
        branch_delete_error: why it was not, where that was asked for.
        changes: of a dry run, what would change on the target: a row for each node or edge, as ``Diff.to_arrow``.
        conflicts: of a dry run, what speaks against it.
        resolved: how many conflicts the strategy decided.
    """

    outcome: Outcome
    source: str
    into: str
    source_commit: str
    base_commit: str
    commit: Commit | None = None
    branch_deleted: bool = False
    branch_delete_error: str | None = None
    changes: pa.Table | None = None
    conflicts: tuple[MergeConflict, ...] = ()
    resolved: int = 0

    def conflict_table(self) -> pa.Table:
        """The conflicts as Arrow, a row for each; ``base``, ``source`` and ``target`` are JSON objects."""
        from omnigraph.write.merge.tables import conflict_table

        return conflict_table(self.conflicts)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from omnigraph.write.merge.tables import change_dicts

        return {
            "outcome": self.outcome,
            "source": self.source,
            "into": self.into,
            "source_commit": self.source_commit,
            "base_commit": self.base_commit,
            "commit": None if self.commit is None else self.commit.to_dict(),
            "branch_deleted": self.branch_deleted,
            "branch_delete_error": self.branch_delete_error,
            "changes": None if self.changes is None else change_dicts(self.changes),
            "conflicts": [each.to_dict() for each in self.conflicts],
            "resolved": self.resolved,
        }
