"""``AsyncCommits``, ``AsyncBranches``, ``AsyncTags``: histories, awaited. What the verbs do is said by their models."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.aio.handle import Ask
    from omnigraph.history.branches import Branch
    from omnigraph.history.commit_listing import DrawingFormat
    from omnigraph.history.commits import Commit
    from omnigraph.history.repository import SnapshotLike
    from omnigraph.history.tags import Tag
    from omnigraph.write.merge import MergeResult, Strategy


class AsyncCommits:
    """The commits of a graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def list(
        self,
        branch: str = "main",
        *,
        actor: str | None = None,
        limit: int | None = None,
        before: str | Commit | None = None,
    ) -> builtins.list[Commit]:
        """As ``Commits.list``."""
        return await self._ask(lambda g: g.commits.list(branch, actor=actor, limit=limit, before=before))

    async def show(self, commit_id: str) -> Commit:
        """As ``Commits.show``."""
        return await self._ask(lambda g: g.commits.show(commit_id))

    async def graph(
        self, branches: Sequence[str] | None = None, *, form: DrawingFormat = "text", limit: int | None = None
    ) -> str:
        """As ``Commits.graph``."""
        return await self._ask(lambda g: g.commits.graph(branches, form=form, limit=limit))


class AsyncBranches:
    """The branches of a graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def create(self, name: str, base: str = "main", *, at: SnapshotLike | None = None) -> Branch:
        """As ``Branches.create``."""
        return await self._ask(lambda g: g.branches.create(name, base, at=at))

    async def list(self) -> builtins.list[Branch]:
        """As ``Branches.list``."""
        return await self._ask(lambda g: g.branches.list())

    async def show(self, name: str) -> Branch:
        """As ``Branches.show``."""
        return await self._ask(lambda g: g.branches.show(name))

    async def delete(self, name: str) -> None:
        """As ``Branches.delete``."""
        return await self._ask(lambda g: g.branches.delete(name))

    async def merge(
        self,
        source: str,
        into: str = "main",
        *,
        strategy: Strategy = "fail",
        dry_run: bool = False,
        expect_head: str | Commit | None = None,
        delete_branch: bool = False,
        actor: str | None = None,
        deadline: float | None = None,
    ) -> MergeResult:
        """As ``Branches.merge``; a callable strategy is called in the thread of the call."""
        return await self._ask(
            lambda g: g.branches.merge(
                source,
                into,
                strategy=strategy,
                dry_run=dry_run,
                expect_head=expect_head,
                delete_branch=delete_branch,
                actor=actor,
                deadline=deadline,
            )
        )


class AsyncTags:
    """The tags of a graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def create(
        self, name: str, at: SnapshotLike | None = None, *, branch: str = "main", actor: str | None = None
    ) -> Tag:
        """As ``Tags.create``."""
        return await self._ask(lambda g: g.tags.create(name, at, branch=branch, actor=actor))

    async def list(self) -> builtins.list[Tag]:
        """As ``Tags.list``."""
        return await self._ask(lambda g: g.tags.list())

    async def show(self, name: str) -> Tag:
        """As ``Tags.show``."""
        return await self._ask(lambda g: g.tags.show(name))

    async def delete(self, name: str) -> None:
        """As ``Tags.delete``."""
        return await self._ask(lambda g: g.tags.delete(name))
