"""The change feed: what happened to a branch, commit by commit, for a consumer that remembers where it stands.

    cursor ── poll ──> FeedPage(blocks, cursor) ── store what was made of it, and the cursor ── poll ──> ...

The feed keeps nothing about anybody. A poll looks at the head of the branch once, walks at most so many commits from
where the cursor stands towards it, and tells each against its first parent, maintenance included, which changed
nothing. A consumer that dies before it stored a cursor gets the same again: delivery is at least once.

A commit that cannot be told, because the schema changed there or its history was reclaimed, is an error where it comes
first, and otherwise where a page ends; so whatever can be delivered is delivered before the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from omnigraph.cancellation import TimeLimit, check_cancelled
from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.commit_changes import PHYSICAL, changes_between, gaps_told
from omnigraph.engine.diff import Change
from omnigraph.engine.feed_bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS, MAX_COMMITS, check_bound
from omnigraph.engine.feed_pages import ChangeBlock, ChangeCause, FeedPage, PageRoom
from omnigraph.engine.wanted_changes import WantedChanges
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    ChangeSchemaBoundaryError,
    InvalidInputError,
    NotFoundError,
)
from omnigraph.history.commit_walk import CommitWalk
from omnigraph.history.commits import Commit
from omnigraph.history.cursors import CommitPlace, Place, RowMark, TokenKind, make_token, read_token
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository

NOW, BEGINNING, AFTER = "now", "beginning", "after:"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRequest:
    """What a consumer asks for.

    Attributes:
        start: ``now``: what comes from now on. ``beginning``: everything. ``after:<commit>``: what came after it.
        cursor: where an earlier page ended, instead of a start.
        page_token: the rest of a block that an earlier page began, instead of both.
        filter: other changes are left out, and count as delivered.
        limit: at most so many changes.
        max_bytes: at most so much JSON, except for a single change that is larger.
        max_commits: at most so many commits.
    """

    branch: str = "main"
    start: str | None = None
    cursor: str | None = None
    page_token: str | None = None
    filter: ChangeFilter = field(default_factory=ChangeFilter)
    limit: int = DEFAULT_CHANGES
    max_bytes: int = DEFAULT_BYTES
    max_commits: int = DEFAULT_COMMITS

    def __post_init__(self) -> None:
        given = [each for each in ("start", "cursor", "page_token") if getattr(self, each) is not None]
        if len(given) > 1:
            raise InvalidInputError(
                f"{' and '.join(given)} say where to begin, each in its own way.", help=f"Give {given[-1]} alone."
            )
        start: object = self.start
        if start is not None and not (isinstance(start, str) and (start in (NOW, BEGINNING) or _is_after(start))):
            raise InvalidInputError(
                f"{start!r} is no start of a feed.",
                help='Use "now", "beginning" or "after:" with the id of a commit behind it.',
                details={"start": str(start)},
            )
        check_bound("max_commits", self.max_commits, MAX_COMMITS)


def poll(repository: Repository, request: FeedRequest) -> FeedPage:
    """The next page.

    Raises:
        InvalidInputError: a bound or a filter is wrong, or the start is no commit of the branch.
        NotFoundError: there is no such branch, type or commit.
        ChangeCursorRejectedError: the cursor or page token belongs elsewhere.
        ChangeSchemaBoundaryError: the next commit changed the schema.
        ChangeFeedGapError: what the next commit changed was reclaimed.
    """
    head = repository.newest(request.branch)
    wanted = WantedChanges.of(repository.snapshot(head).schema.tables, request.filter)
    bound_to = feed_bindings(repository, head, wanted)
    place = begin_at(head, request, bound_to)
    room = PageRoom(limit=request.limit, max_bytes=request.max_bytes)
    walk = CommitWalk(repository, head, place.behind)
    blocks: list[ChangeBlock] = []
    for commit in islice(walk.commits(), request.max_commits):
        check_cancelled()
        if place.mark is not None and place.mark.commit_id != commit.id:
            raise ChangeCursorRejectedError("position")
        try:
            with gaps_told(commit.id, cursor=request.cursor):
                taken = room.fill(_changes(repository, walk, place, commit, wanted))
        except (ChangeSchemaBoundaryError, ChangeFeedGapError):
            if not blocks:
                raise
            break
        if not taken.changes and not taken.is_all:
            break
        blocks.append(ChangeBlock(cause=ChangeCause.of(commit), changes=taken.changes, is_complete=taken.is_all))
        if not taken.is_all:
            place = Place(behind=place.behind, mark=taken.mark)
            break
        place = Place(behind=CommitPlace.of(commit))
        if room.is_full:
            break
    if place.mark is not None and not blocks:
        raise ChangeCursorRejectedError("position")
    is_inside = place.mark is not None
    token = make_token(TokenKind.FEED_PAGE if is_inside else TokenKind.FEED_CURSOR, place, bound_to)
    return FeedPage(
        branch=head.branch.name,
        head=head.state.head,
        blocks=tuple(blocks),
        cursor=None if is_inside else token,
        page_token=token if is_inside else None,
        caught_up=place == Place(behind=CommitPlace.of(head.state.head)),
    )


def follow(repository: Repository, request: FeedRequest, *, deadline: float | None = None) -> Iterator[FeedPage]:
    """Page after page, until one has caught up with the head; each is read when it is asked for. Raises as ``poll``.

    ``deadline`` is the seconds that each page may take.
    """
    while True:
        with TimeLimit(deadline, "change feed"):
            page = poll(repository, request)
        yield page
        if page.caught_up:
            return
        request = replace(request, start=None, cursor=page.cursor, page_token=page.page_token)


def feed_bindings(repository: Repository, head: ManifestLog, wanted: WantedChanges) -> dict[str, str]:
    """What the tokens of a feed are bound to."""
    return {
        "graph": repository.graph_id,
        "branch": head.branch.name,
        "incarnation": head.branch.incarnation,
        "filter": wanted.digest,
    }


def begin_at(head: ManifestLog, request: FeedRequest, bound_to: Mapping[str, str]) -> Place:
    """Where a consumer stands.

    Raises:
        NotFoundError: it starts after a commit that there is not.
        InvalidInputError: it starts after a commit that came by a merge.
        ChangeCursorRejectedError: its cursor or page token belongs elsewhere.
    """
    if request.cursor is not None:
        return read_token(request.cursor, TokenKind.FEED_CURSOR, bound_to)
    if request.page_token is not None:
        return read_token(request.page_token, TokenKind.FEED_PAGE, bound_to)
    match request.start or NOW:
        case "now":
            return Place(behind=CommitPlace.of(head.state.head))
        case "beginning":
            return Place()
        case after:
            return Place(behind=CommitPlace.of(_first_parent(head, after.removeprefix(AFTER))))


def _first_parent(head: ManifestLog, commit_id: str) -> Commit:
    """The commit of this id, which led to the head by first parents.

    Raises:
        NotFoundError: there is no such commit.
        InvalidInputError: it came by a merge.
    """
    found = head.find_commit(commit_id)
    if found is None:
        raise NotFoundError(
            f'The history of {head.branch.name} has no commit "{commit_id}".',
            help="List what there is: omnigraph commit list, or g.commits.list().",
            details={"commit_id": commit_id, "branch": head.branch.name},
        )
    # The commits of one line follow each other.
    if found.line != head.branch.physical and all(each.id != found.id for each in head.commits()):
        raise InvalidInputError(
            f"Commit {commit_id} came to {head.branch.name} by a merge: the feed tells the merge and not its parts.",
            help=f"Start after a commit of {head.branch.name} itself.",
            details={"commit_id": commit_id, "branch": head.branch.name},
        )
    return found


def _changes(
    repository: Repository, walk: CommitWalk, place: Place, commit: Commit, wanted: WantedChanges
) -> Iterator[tuple[Change, RowMark]]:
    """What a commit of the walk changed; the states are opened only where rows may have changed."""
    if commit.kind in PHYSICAL:
        return
    before = None if place.behind is None else repository.snapshot(walk.state_after(place.behind))
    after = repository.snapshot(walk.state_after(CommitPlace.of(commit)))
    yield from changes_between(repository.tables, before, after, wanted, behind=place.mark)


def _is_after(start: str) -> bool:
    return start.startswith(AFTER) and len(start) > len(AFTER)
