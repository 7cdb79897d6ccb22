"""``AsyncChanges``: the change feed of a graph, awaited. What its verbs do is said by ``Changes``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from omnigraph.engine.feed_bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS

if TYPE_CHECKING:
    from omnigraph.aio.handle import Ask
    from omnigraph.engine.change_span import ChangeSpan
    from omnigraph.engine.feed_pages import CommitPage, FeedPage
    from omnigraph.graph import Graph
    from omnigraph.history.commits import Commit


class AsyncChanges:
    """The change feed of a graph. Calling it gives one page."""

    def __init__(self, ask: Ask, lines: Callable[[Callable[[Graph], Iterator[str]]], AsyncIterator[str]]) -> None:
        self._ask = ask
        self._lines = lines

    async def __call__(
        self,
        branch: str = "main",
        *,
        start: str | None = None,
        cursor: str | None = None,
        page_token: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        deadline: float | None = None,
    ) -> FeedPage:
        """As ``Changes.__call__``."""
        return await self._ask(
            lambda g: g.changes(
                branch,
                start=start,
                cursor=cursor,
                page_token=page_token,
                kinds=kinds,
                types=types,
                ops=ops,
                limit=limit,
                max_bytes=max_bytes,
                max_commits=max_commits,
                deadline=deadline,
            )
        )

    async def follow(
        self,
        branch: str = "main",
        *,
        start: str | None = None,
        cursor: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        deadline: float | None = None,
    ) -> AsyncIterator[FeedPage]:
        """As ``Changes.follow``, for ``async for``; what is wrong is told with the first page."""
        pages = await self._ask(
            lambda g: g.changes.follow(
                branch,
                start=start,
                cursor=cursor,
                kinds=kinds,
                types=types,
                ops=ops,
                limit=limit,
                max_bytes=max_bytes,
                max_commits=max_commits,
                deadline=deadline,
            )
        )
        while (page := await self._ask(lambda _: next(pages, None))) is not None:
            yield page

    async def span(
        self,
        branch: str = "main",
        *,
        start: str | None = None,
        cursor: str | None = None,
        through: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        max_commits: int | None = None,
        deadline: float | None = None,
    ) -> ChangeSpan:
        """As ``Changes.span``."""
        return await self._ask(
            lambda g: g.changes.span(
                branch,
                start=start,
                cursor=cursor,
                through=through,
                kinds=kinds,
                types=types,
                ops=ops,
                max_commits=max_commits,
                deadline=deadline,
            )
        )

    async def of(
        self,
        commit: str | Commit,
        *,
        page_token: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        deadline: float | None = None,
    ) -> CommitPage:
        """As ``Changes.of``."""
        return await self._ask(
            lambda g: g.changes.of(
                commit,
                page_token=page_token,
                kinds=kinds,
                types=types,
                ops=ops,
                limit=limit,
                max_bytes=max_bytes,
                deadline=deadline,
            )
        )

    async def baseline(
        self, branch: str = "main", *, types: Sequence[str] | None = None, deadline: float | None = None
    ) -> AsyncIterator[str]:
        """As ``Changes.baseline``, for ``async for``; what is wrong is told with the first line."""
        async for line in self._lines(lambda g: g.changes.baseline(branch, types=types, deadline=deadline)):
            yield line
