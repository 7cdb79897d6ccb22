"""``Commits``: the history of a graph as users ask for it."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError, StorageError
from omnigraph.history.branches import MAIN, is_of_one_branch, list_branch_names
from omnigraph.history.commit_drawing import draw_dot, draw_mermaid, draw_text
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import in_order, reachable
from omnigraph.history.recoveries import RECOVERY_ACTOR, RecoveryKind, read_recoveries
from omnigraph.history.repository import Repository
from omnigraph.history.tags import list_tags

DrawingFormat = Literal["text", "mermaid", "dot"]

_DRAWINGS: Final[Mapping[str, Callable[[Sequence[Commit], Mapping[str, Sequence[str]]], str]]] = {
    "text": draw_text,
    "mermaid": draw_mermaid,
    "dot": draw_dot,
}


class Commits:
    """The commits of a graph."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def list(
        self,
        branch: str = "main",
        *,
        actor: str | None = None,
        limit: int | None = None,
        before: str | Commit | None = None,
    ) -> builtins.list[Commit]:
        """What led to the newest state of a branch, merged commits too: each before its parents, else newest first.

        Args:
            branch: the branch.
            actor: only commits of this actor; those of ``omnigraph:recovery`` are the ones that it finished for others.
            limit: at most so many.
            before: go on after this one: the last commit of the page before.

        Raises:
            NotFoundError: there is no such branch, or ``before`` is no commit of it.
            InvalidInputError: the limit is no number of commits.
            ClosedError: the graph was closed.
        """
        if limit is not None and limit < 0:
            raise InvalidInputError(f"{limit} is no number of commits.", help="Give 0 or more, or leave it out.")
        with self._repository.lifetime:
            commits = self._history(branch)
            finished = self._finished() if actor == RECOVERY_ACTOR else frozenset[str]()
        rest = commits if before is None else _after(commits, before.id if isinstance(before, Commit) else before)
        found = [each for each in rest if actor in (None, each.actor) or each.id in finished]
        return found[:limit]

    def show(self, commit_id: str) -> Commit:
        """The commit of this id, on whatever branch it was made.

        Raises:
            NotFoundError: there is none.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            return self._repository.find_commit(commit_id)

    def graph(
        self, branches: Sequence[str] | None = None, *, form: DrawingFormat = "text", limit: int | None = None
    ) -> str:
        """The commits of some branches, by default of all, drawn as text, as a Mermaid chart or for Graphviz.

        With no branches given, those that cannot be read are left out: ``branches.list`` says which and why.

        Args:
            branches: whose history to draw.
            form: ``text``, ``mermaid`` or ``dot``.
            limit: the newest so many.

        Raises:
            NotFoundError: there is no such branch.
            InvalidInputError: there is no such form.
            ClosedError: the graph was closed.
        """
        if form not in _DRAWINGS:
            raise InvalidInputError(f"{form!r} is no form of a drawing.", help=f"Use {', '.join(_DRAWINGS)}.")
        with self._repository.lifetime:
            adapter = self._repository.adapter
            names = [MAIN, *list_branch_names(adapter)] if branches is None else branches
            labels: defaultdict[str, builtins.list[str]] = defaultdict(builtins.list)
            commits: dict[str, Commit] = {}
            for name in names:
                try:
                    found = self._history(name)
                    head = self._repository.newest(name).state.head.id
                except (NotFoundError, FormatError, StorageError) as error:
                    # Without main there is no graph.
                    if branches is not None or name == MAIN or not is_of_one_branch(error):
                        raise
                    continue
                commits |= {each.id: each for each in found}
                labels[head].append(name)
            for tag in list_tags(adapter):
                labels[tag.commit_id].append(f"tag: {tag.name}")
        return _DRAWINGS[form](in_order(commits.values())[:limit], labels)

    def _history(self, branch: str) -> tuple[Commit, ...]:
        log = self._repository.newest(branch)
        return in_order(reachable(log.state.head.id, log.lineage().values()))

    def _finished(self) -> frozenset[str]:
        recoveries = read_recoveries(self._repository.manifests)
        return frozenset(each.graph_commit_id for each in recoveries if each.kind is RecoveryKind.ROLLED_FORWARD)


def _after(commits: Sequence[Commit], commit_id: str) -> Sequence[Commit]:
    for place, each in enumerate(commits):
        if each.id == commit_id:
            return commits[place + 1 :]
    raise NotFoundError(
        f'The branch has no commit "{commit_id}" to go on after.',
        help="Give the id of the last commit of the page before.",
        details={"commit_id": commit_id},
    )
