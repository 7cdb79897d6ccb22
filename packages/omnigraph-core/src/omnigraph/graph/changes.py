"""``Changes``: what happened to a graph, as users ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.cancellation import TimeLimit
from omnigraph.engine.baseline import baseline_parts
from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.change_span import ChangeSpan, plan_span
from omnigraph.engine.commit_pages import CommitRequest, commit_changes
from omnigraph.engine.feed import FeedRequest, follow, poll
from omnigraph.engine.feed_bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS
from omnigraph.engine.feed_pages import CommitPage, FeedPage
from omnigraph.history.commits import Commit
from omnigraph.history.repository import Repository


class Changes:
    """The change feed of a graph. Calling it gives one page."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def __call__(
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
        """The next page of what happened to a branch, commit by commit, the oldest first.

        Args:
            branch: the branch.
            start: ``now``, which is the default: what comes from now on. ``beginning``: everything. ``after:`` with
                the id of a commit: what came after it.
            cursor: where an earlier page ended, instead of a start.
            page_token: the rest of a commit that an earlier page began, instead of both.
            kinds: ``node``, ``edge``; by default both.
            types: names of types; by default all.
            ops: ``insert``, ``update``, ``delete``; by default all.
            limit: at most so many changes, up to 8,192.
            max_bytes: at most so much JSON, up to 32 MiB; a single change that is larger comes alone.
            max_commits: at most so many commits, up to 512.
            deadline: seconds that a page may take; None is no bound.

        Raises:
            InvalidInputError: a bound or a filter is wrong.
            NotFoundError: there is no such branch, type or commit.
            ChangeCursorRejectedError: the cursor or page token belongs elsewhere.
            ChangeSchemaBoundaryError: the next commit changed the schema.
            ChangeFeedGapError: what the next commit changed was reclaimed.
            ClosedError: the graph was closed.
            DeadlineError: it took longer than ``deadline``; the same page can be asked for again.
        """
        with TimeLimit(deadline, "change feed"), self._repository.lifetime:
            return poll(
                self._repository,
                FeedRequest(
                    branch=branch,
                    start=start,
                    cursor=cursor,
                    page_token=page_token,
                    filter=ChangeFilter.of(kinds=kinds, types=types, ops=ops),
                    limit=limit,
                    max_bytes=max_bytes,
                    max_commits=max_commits,
                ),
            )

    def follow(
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
    ) -> Iterator[FeedPage]:
        """Page after page, until one has caught up with the branch; each is read when it is asked for.

        Store the ``cursor`` of a page, where it has one, when what was made of the page is stored. Arguments and errors
        are those of a single page.
        """
        request = FeedRequest(
            branch=branch,
            start=start,
            cursor=cursor,
            filter=ChangeFilter.of(kinds=kinds, types=types, ops=ops),
            limit=limit,
            max_bytes=max_bytes,
            max_commits=max_commits,
        )
        return self._repository.lifetime.each(follow(self._repository, request, deadline=deadline))

    def span(
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
        """The next commits of a branch, for other processes to read what they changed; no row is read here.

        Args:
            branch: the branch.
            start: as of a page.
            cursor: where an earlier span or page ended, instead of a start.
            through: the cursor of a later end; the span goes no further.
            kinds: as of a page.
            types: as of a page.
            ops: as of a page.
            max_commits: at most so many commits; by default all that there are.
            deadline: as of a page.

        Raises:
            InvalidInputError: a bound or a filter is wrong.
            NotFoundError: there is no such branch, type or commit.
            ChangeCursorRejectedError: a cursor belongs elsewhere.
            ChangeSchemaBoundaryError: the next commit changed the schema.
            ChangeFeedGapError: what the next commit changed was reclaimed.
            ClosedError: the graph was closed.
            DeadlineError: it took longer than ``deadline``.
        """
        with TimeLimit(deadline, "change feed"), self._repository.lifetime:
            request = FeedRequest(
                branch=branch,
                start=start,
                cursor=cursor,
                filter=ChangeFilter.of(kinds=kinds, types=types, ops=ops),
            )
            return plan_span(self._repository, request, through=through, max_commits=max_commits)

    def of(
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
        """What one commit changed against the commit before it, a page at a time. Arguments and errors as above."""
        with TimeLimit(deadline, "change feed"), self._repository.lifetime:
            return commit_changes(
                self._repository,
                CommitRequest(
                    commit_id=commit.id if isinstance(commit, Commit) else commit,
                    page_token=page_token,
                    filter=ChangeFilter.of(kinds=kinds, types=types, ops=ops),
                    limit=limit,
                    max_bytes=max_bytes,
                ),
            )

    def baseline(
        self, branch: str = "main", *, types: Sequence[str] | None = None, deadline: float | None = None
    ) -> Iterator[str]:
        """Everything that a branch holds as lines of an export, and a last line with the cursor to go on from.

        The last line is ``{"baseline": {"snapshot_commit_id": ..., "resume_cursor": ...}}``; where it is missing, the
        baseline was cut short. The cursor is for pages with the same ``types``. ``deadline`` is as of an export.

        Raises:
            NotFoundError: there is no such branch or type.
            ClosedError: the graph was closed.
            DeadlineError: it took longer than ``deadline``; raised while iterating too.
        """
        limit = TimeLimit(deadline, "baseline")
        with limit, self._repository.lifetime:
            parts = baseline_parts(self._repository, branch, types=types)
        return self._repository.lifetime.each_of(limit.each(parts))
