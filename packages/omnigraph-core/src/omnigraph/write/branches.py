"""``Branches``: the branches of a graph as users ask for them."""

from __future__ import annotations

import builtins

from omnigraph.cancellation import TimeLimit, patient
from omnigraph.config import Settings
from omnigraph.errors import FormatError, NotFoundError, RelocationRequiredError, StorageError
from omnigraph.history.branches import MAIN, Branch, is_of_one_branch, list_branch_names, resolve_branch
from omnigraph.history.commits import Commit
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository, SnapshotLike
from omnigraph.write.branching import delete_branch, make_branch
from omnigraph.write.deadlines import Deadline
from omnigraph.write.merge import MergeRequest, MergeResult, Strategy, merge_branch, plan_merge
from omnigraph.write.names import check_name
from omnigraph.write.recovery.sweep import heal


class Branches:
    """The branches of a graph; ``main`` is always there."""

    def __init__(self, repository: Repository, *, actor: str | None, settings: Settings) -> None:
        self._repository = repository
        self._actor = actor
        self._settings = settings

    def create(self, name: str, base: str = MAIN, *, at: SnapshotLike | None = None) -> Branch:
        """Make a branch that begins as another one is now, or as it was at a moment.

        It shares everything with it until one of the two is written to, so this takes as long for any graph.

        Args:
            name: text; slashes may part it: ``review/2026``.
            base: the branch that it begins as.
            at: a commit or its id, a snapshot, or a version of the manifest of ``base``.

        Raises:
            AlreadyExistsError: there is one of this name.
            InvalidInputError: a branch cannot be called so.
            NotFoundError: there is no such base, or no such moment.
        """
        with patient(), self._repository.lifetime:
            self._repository.check_writable()
            return make_branch(self._repository, name, self._repository.log_of(base, at))

    def list(self) -> builtins.list[Branch]:
        """Every branch: main first, then by name. One that cannot be read is there with its ``problem`` and no head.

        Raises:
            NotFoundError: there is no graph any more.
            StorageError: the store did not answer.
        """
        with patient(), self._repository.lifetime:
            names = (MAIN, *list_branch_names(self._repository.adapter))
            return [each for name in names if (each := self._listed(name)) is not None]

    def _listed(self, name: str) -> Branch | None:
        """A branch for the listing; None when it was deleted since its name was found."""
        try:
            return self._of(self._repository.newest(name))
        except NotFoundError:
            if name == MAIN:
                raise
            problem = "Its commits are missing: the graph holds nothing at the place that the branch names."
        except (FormatError, StorageError) as error:
            if not is_of_one_branch(error):
                raise
            # What is said of a moved graph names the one command that helps every branch of it.
            problem = str(error) if isinstance(error, RelocationRequiredError) else error.message
        try:
            ref = resolve_branch(self._repository.adapter, name)
        except NotFoundError:
            return None
        except FormatError:
            return Branch(name=name, head=None, base_commit=None, created_at=None, problem=problem)
        return Branch(name=name, head=None, base_commit=ref.base_commit, created_at=ref.created_at, problem=problem)

    def show(self, name: str) -> Branch:
        """The branch of this name.

        Raises:
            NotFoundError: there is none.
            FormatError: it is damaged, written in another format, or names another place than that of its graph.
            StorageError: it cannot be read.
        """
        with patient(), self._repository.lifetime:
            return self._of(self._repository.newest(name))

    def delete(self, name: str) -> None:
        """Delete a branch at once, a damaged one too. Whoever writes to it at that moment is told that it is gone.

        What was merged from it stays. Its own commits can be read by their ids until they are reclaimed. A branch that
        cannot be read can be deleted.

        Raises:
            NotFoundError: there is no such branch.
            InvalidInputError: it is main.
        """
        with patient(), self._repository.lifetime:
            self._repository.check_writable()
            delete_branch(self._repository, name)

    def merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        strategy: Strategy = "fail",
        dry_run: bool = False,
        expect_head: str | Commit | None = None,
        delete_branch: bool = False,
        actor: str | None = None,
        deadline: float | None = None,
    ) -> MergeResult:
        """Do to a branch what another one did since they parted, as one commit with two parents; or nothing.

        Args:
            source: the branch to merge, as it is now; it may move on meanwhile.
            into: the branch that takes it in.
            strategy: what becomes of nodes and edges that both changed: ``fail``, or the row of one side: ``ours`` is
                that of ``into``, ``theirs`` that of ``source``; or a callable that is given each conflict and says
                ``"ours"``, ``"theirs"`` or None. What breaks a rule of the schema stays a conflict.
            dry_run: write nothing, and tell what would change and what speaks against it.
            expect_head: merge only if this is the newest commit of ``into``; maintenance after it does not count.
            delete_branch: delete the source afterwards; if that fails, the result says so, and the merge stands.
            actor: who merges, where it is not who opened the graph.
            deadline: seconds that the call may take; None is no bound. A call that has announced its commit goes on to
                its end.

        Raises:
            MergeConflictError: the branches contradict each other; every conflict is told, and nothing was merged.
            HeadMovedError: ``expect_head`` is not the newest commit.
            NotFoundError: there is no such branch.
            InvalidInputError: a branch into itself, or no such strategy.
            ConflictError: their schemas differ, or others kept publishing first.
            ResourceLimitError: the conflicts, or the changes of a dry run, take more memory than one call may hold.
            DeadlineError: it took longer than ``deadline``; nothing was written.
        """
        check_name(actor, "actor")
        repository = self._repository
        with TimeLimit(deadline, "merge"), repository.lifetime:
            request = MergeRequest(
                source=source,
                into=into,
                strategy=strategy,
                expect_head=expect_head.id if isinstance(expect_head, Commit) else expect_head,
                delete_branch=delete_branch,
                actor=actor or self._actor,
                deadline=Deadline(seconds=self._settings.write_deadline),
                max_held_bytes=self._settings.max_held_bytes,
            )
            if dry_run:
                return plan_merge(repository, request)
            repository.check_writable()
            heal(repository)
            return merge_branch(repository, request)

    @staticmethod
    def _of(log: ManifestLog) -> Branch:
        ref = log.branch
        return Branch(name=ref.name, head=log.state.head.id, base_commit=ref.base_commit, created_at=ref.created_at)
