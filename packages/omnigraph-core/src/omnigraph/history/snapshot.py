"""``Snapshot``: one graph state with its schema. Every read of one query uses one, and it never changes.

Names are those of the schema; tables are found by identity. So a snapshot read with a later schema finds what a type
was before it was renamed, and does not take a new type for an old one of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.errors import NotFoundError
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.history.stamp import STAMP
from omnigraph.history.state import GraphState, TableEntry


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Snapshot:
    """A graph as it was after one commit; holds no resources and costs no request."""

    branch: BranchRef
    state: GraphState
    schema: GraphSchema

    def __repr__(self) -> str:
        return f"<Snapshot of {self.branch.name} at commit {self.commit.id}, version {self.state.version}>"

    @property
    def commit(self) -> Commit:
        """The commit that this is the state after."""
        return self.state.head

    def entry(self, target: TypeTable) -> TableEntry:
        """The table of a type at this snapshot.

        Raises:
            NotFoundError: the type did not exist yet.
        """
        found = self.state.entries.get(target.key)
        if found is None or found.identity != target.identity:
            found = next((each for each in self.state.entries.values() if each.identity == target.identity), None)
        if found is None:
            raise NotFoundError(
                f"There was no {target.kind} type {target.name} at commit {self.commit.id}.",
                help="Read a later commit, or ask for another type.",
                details={"type": target.key, "commit_id": self.commit.id},
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the branch, the versions and every type with its pin and its number of rows."""
        return {
            "branch": self.branch.name,
            "manifest_version": self.state.version,
            "internal_schema_version": STAMP,
            "commit_id": self.commit.id,
            "types": [
                {
                    "kind": key.partition(":")[0],
                    "name": key.partition(":")[2],
                    "count": entry.row_count,
                    "location": entry.pin.location,
                    "version": entry.pin.version,
                    "physical_branch": entry.pin.branch,
                }
                for key, entry in self.state.entries.items()
            ],
        }
