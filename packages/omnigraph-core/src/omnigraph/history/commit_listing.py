"""``Commits``: the history of a graph as users ask for it."""

from __future__ import annotations

from omnigraph.errors import InvalidInputError
from omnigraph.history.commits import Commit
from omnigraph.history.recoveries import RECOVERY_ACTOR, RecoveryKind, read_recoveries
from omnigraph.history.repository import Repository


class Commits:
    """The commits of a graph."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def list(self, branch: str = "main", *, actor: str | None = None, limit: int | None = None) -> list[Commit]:
        """What led to the newest state of a branch, newest first.

        Args:
            branch: the branch.
            actor: only commits of this actor; those of ``omnigraph:recovery`` are the ones that it finished for others.
            limit: at most so many.

        Raises:
            NotFoundError: there is no such branch.
            ClosedError: the graph was closed.
        """
        if limit is not None and limit < 0:
            raise InvalidInputError(f"{limit} is no number of commits.", help="Give 0 or more, or leave it out.")
        with self._repository.lifetime:
            commits = self._repository.newest(branch).commits()
            finished = self._finished() if actor == RECOVERY_ACTOR else frozenset[str]()
        found = (each for each in commits if actor in (None, each.actor) or each.id in finished)
        return [each for _, each in zip(range(limit), found, strict=False)] if limit is not None else [*found]

    def show(self, commit_id: str) -> Commit:
        """The commit of this id.

        Raises:
            NotFoundError: there is none.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            return self._repository.find_commit(commit_id)

    def _finished(self) -> frozenset[str]:
        recoveries = read_recoveries(self._repository.logs)
        return frozenset(each.graph_commit_id for each in recoveries if each.kind is RecoveryKind.ROLLED_FORWARD)
