"""What one commit changed, page by page, whatever branch it is on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.commit_changes import PHYSICAL, changes_between, gaps_told
from omnigraph.engine.diff import Change
from omnigraph.engine.feed_bounds import DEFAULT_BYTES, DEFAULT_CHANGES
from omnigraph.engine.feed_pages import ChangeCause, CommitPage, PageRoom
from omnigraph.engine.wanted_changes import WantedChanges
from omnigraph.errors import ChangeCursorRejectedError
from omnigraph.history.commits import Commit
from omnigraph.history.cursors import Place, RowMark, TokenKind, make_token, read_token
from omnigraph.history.repository import Repository
from omnigraph.history.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """Which changes of a commit somebody asks for; filters and bounds as ``FeedRequest`` has them."""

    commit_id: str
    page_token: str | None = None
    filter: ChangeFilter = field(default_factory=ChangeFilter)
    limit: int = DEFAULT_CHANGES
    max_bytes: int = DEFAULT_BYTES


def commit_changes(repository: Repository, request: CommitRequest) -> CommitPage:
    """A page of what a commit changed against its first parent; the first commit of all is compared with nothing.

    Raises:
        InvalidInputError: a bound or a filter is wrong.
        NotFoundError: there is no such commit or type.
        ChangeCursorRejectedError: the page token belongs elsewhere.
        ChangeSchemaBoundaryError: the commit changed the schema.
        ChangeFeedGapError: what it changed was reclaimed.
    """
    room = PageRoom(limit=request.limit, max_bytes=request.max_bytes)
    commit = repository.find_commit(request.commit_id)
    with gaps_told(commit.id):
        after = repository.snapshot(repository.at_commit(commit))
    wanted = WantedChanges.of(after.schema.tables, request.filter)
    bound_to = {"graph": repository.graph_id, "commit": commit.id, "filter": wanted.digest}
    mark = None
    if request.page_token is not None:
        mark = read_token(request.page_token, TokenKind.COMMIT_PAGE, bound_to).mark
        if mark is None:
            raise ChangeCursorRejectedError("position")
    with gaps_told(commit.id):
        taken = room.fill(_changes(repository, commit, after, wanted, mark))
    token = None if taken.is_all else make_token(TokenKind.COMMIT_PAGE, Place(mark=taken.mark), bound_to)
    return CommitPage(cause=ChangeCause.of(commit), changes=taken.changes, page_token=token)


def _changes(
    repository: Repository, commit: Commit, after: Snapshot, wanted: WantedChanges, mark: RowMark | None
) -> Iterator[tuple[Change, RowMark]]:
    if commit.kind in PHYSICAL:
        return
    parent = None if commit.parent_id is None else repository.find_commit(commit.parent_id)
    before = None if parent is None else repository.snapshot(repository.at_commit(parent))
    yield from changes_between(repository.tables, before, after, wanted, behind=mark)
