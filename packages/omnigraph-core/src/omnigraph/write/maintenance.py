"""``Maintenance``: the verbs that change how a graph is stored and never what is in it."""

from __future__ import annotations

from omnigraph.cancellation import TimeLimit
from omnigraph.errors import InvalidInputError
from omnigraph.history.repository import Repository
from omnigraph.write.indices import IndexReport, ensure_indices
from omnigraph.write.recovery.sweep import heal
from omnigraph.write.relocation import RepairReport
from omnigraph.write.relocation import relocate as relocate_graph


class Maintenance:
    """Maintenance of one open graph."""

    def __init__(self, repository: Repository, *, actor: str | None = None) -> None:
        self._repository = repository
        self._actor = actor

    def ensure_indices(self, branch: str = "main", *, deadline: float | None = None) -> IndexReport:
        """Build every index that the schema declares and that is missing or does not cover every row.

        One commit for all of them; none when there is nothing to do. Reads are right without it, and slower.
        ``deadline`` is the seconds that the call may take; the building of one index is not cut off.

        Raises:
            NotFoundError: there is no such branch.
            ReadOnlyError: the graph was opened for reading.
            ClosedError: the graph was closed.
            DeadlineError: it took longer than ``deadline``; nothing was written.
        """
        with TimeLimit(deadline, "building of indexes"), self._repository.lifetime:
            heal(self._repository)
            return ensure_indices(self._repository, branch, actor=self._actor)

    def repair(self, *, relocate: bool = False, deadline: float | None = None) -> RepairReport:
        """Put right what other tools did to the files of the graph.

        Args:
            relocate: the files were moved or copied, so that every branch names the place where they were. Let them
                name the place where they are. Nothing else changes and no commit is made; repeating it does no harm.
            deadline: seconds that the call may take. What it has done stays, and the same again does the rest.

        Raises:
            InvalidInputError: nothing was asked for.
            FormatError: a version of a branch is damaged; all others are done.
            ReadOnlyError: the graph was opened for reading.
            ClosedError: the graph was closed.
            DeadlineError: it took longer than ``deadline``.
        """
        if not relocate:
            raise InvalidInputError(
                "Nothing to repair was named.",
                help="Say what is to be put right: repair(relocate=True), or --relocate.",
            )
        with TimeLimit(deadline, "repair"), self._repository.lifetime:
            self._repository.check_writable()
            return relocate_graph(self._repository)
