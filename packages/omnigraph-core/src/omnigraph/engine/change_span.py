"""``ChangeSpan``: commits of a branch that follow each other, whose changes any number of processes read.

    span = g.changes.span(cursor=stored)        here: which commits come next, as a value that pickles
    for part in span.split(8): part.read()      there, in any process that reaches the store: what they changed

It is the feed for those who share the work. Which commits there are is looked up when the span is made, and no row is
read for it. From then on a span asks for nothing but their versions: it reads the same however often, whatever happens
to the branch meanwhile. Its ``cursor`` is one of the feed, so the one can go on where the other ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pyarrow as pa

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.commit_changes import PHYSICAL, gaps_told, rows_between
from omnigraph.engine.diff import ARROW_SCHEMA, arrow_rows, facts_of
from omnigraph.engine.feed import FeedRequest, begin_at, feed_bindings
from omnigraph.engine.feed_bounds import MAX_SPAN, check_bound
from omnigraph.engine.row_changes import RowChanges
from omnigraph.engine.timestamps import batch_with_timestamps, timestamp_schema
from omnigraph.engine.wanted_changes import WantedChanges
from omnigraph.errors import ChangeCursorRejectedError, ChangeFeedGapError, ChangeSchemaBoundaryError, InvalidInputError
from omnigraph.history.branches import MAIN, BranchRef, resolve_branch
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.cursors import CommitPlace, Place, TokenKind, make_token, read_token
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.plugins import open_adapter
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.log import LogStore

Images = Literal["json", "columns"]
"""How rows before and after are told: as JSON texts, or as structs of the columns of their one type."""

COMMIT_FIELDS: Final = (
    pa.field("commit_id", pa.string(), nullable=False),
    pa.field("commit_version", pa.int64(), nullable=False),
    pa.field("commit_kind", pa.string(), nullable=False),
    pa.field("actor", pa.string()),
    pa.field("committed_at", pa.timestamp("us", tz="UTC"), nullable=False),
)
"""What every change says of its commit; the version grows along a branch, the time is for people."""

SPAN_SCHEMA: Final = pa.schema([*COMMIT_FIELDS, *ARROW_SCHEMA])
"""What ``ChangeSpan.read`` gives; ``before`` and ``after`` are JSON objects, or structs of columns."""

Telling = Callable[[TypeTable, RowChanges], pa.RecordBatch]

_SCHEMA_CHANGERS: Final = frozenset({CommitKind.SCHEMA, CommitKind.MERGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSpan:
    """Commits of a branch, oldest first. It pickles, with the options that the graph was opened with: mind who sees it.

    What the environment gave when the graph was opened, the environment of the process that reads has to give.

    Attributes:
        branch: the branch that was asked for.
        behind: the commit before the first one; None where that is the first of all.
        commits: the commits, each the child of the one before it; none where nothing came.
        caught_up: whether the newest commit of the branch was reached when the span was made.
        wanted: other changes are left out.
        bound_to: what the cursor is bound to.
    """

    uri: str
    options: Mapping[str, Any] = field(repr=False)
    branch: str
    behind: CommitPlace | None
    commits: tuple[Commit, ...]
    caught_up: bool
    wanted: WantedChanges = field(repr=False)
    bound_to: Mapping[str, str] = field(repr=False)

    @property
    def cursor(self) -> str:
        """Where to go on when all of it was read; the same for the same end, whoever made the span."""
        last = CommitPlace.of(self.commits[-1]) if self.commits else self.behind
        return make_token(TokenKind.FEED_CURSOR, Place(behind=last), self.bound_to)

    @property
    def telling(self) -> tuple[Commit, ...]:
        """The commits that may have changed rows; nothing is read of the others."""
        return tuple(each for each in self.commits if each.kind not in PHYSICAL)

    def split(self, commit_count: int) -> tuple[ChangeSpan, ...]:
        """The same in spans that follow each other, with at most so many commits each that may have changed rows.

        Raises:
            InvalidInputError: that is no number from 1.
        """
        check_bound("commit_count", commit_count, MAX_SPAN)
        groups: list[list[Commit]] = []
        telling_count = 0
        for commit in self.commits:
            is_telling = commit.kind not in PHYSICAL
            if not groups or (is_telling and telling_count == commit_count):
                groups.append([])
                telling_count = 0
            groups[-1].append(commit)
            telling_count += is_telling
        places = [self.behind, *(CommitPlace.of(each[-1]) for each in groups)]
        return tuple(
            replace(
                self,
                behind=behind,
                commits=tuple(group),
                caught_up=self.caught_up and group[-1] is self.commits[-1],
            )
            for behind, group in zip(places, groups, strict=False)
        )

    def read(self, *, images: Images = "json") -> Iterator[pa.RecordBatch]:
        """What the commits changed, in their order: nodes, then edges, each type by itself, rows by id.

        Batches are read as they are asked for and have at most 8,192 rows. With ``images="columns"`` the rows before
        and after are structs of the columns of their type, of which there must be one; the columns are those that the
        type had then.

        Raises:
            InvalidInputError: columns are asked for, and the span is of several types.
            ChangeFeedGapError: history was reclaimed since the span was made; raised while iterating.
            StorageError: the store did not answer; raised while iterating.
        """
        if images == "columns" and (self.wanted.types is None or len(self.wanted.types) != 1):
            raise InvalidInputError(
                "Rows of several types have no columns in common.",
                help='Ask for one type: types=["node:Film"]; or for JSON: images="json".',
            )
        return self._read(_column_rows if images == "columns" else arrow_rows)

    def _read(self, tell: Telling) -> Iterator[pa.RecordBatch]:
        if not self.telling:
            return
        with open_adapter(self.uri, mode="r", options=dict(self.options), verify=False) as adapter:
            tables = LanceTables(adapter)
            main = resolve_branch(adapter, MAIN)
            repository = Repository(adapter, main, tables, LogStore(adapter))
            behind, before = self.behind, None
            for commit in self.commits:
                place, after = CommitPlace.of(commit), None
                if commit.kind not in PHYSICAL:
                    with gaps_told(commit.id):
                        if before is None and behind is not None:
                            before = _state_after(repository, self.branch, behind)
                        after = _state_after(repository, self.branch, place)
                        for target, rows in rows_between(tables, before, after, self.wanted):
                            if len(rows):
                                yield _with_commit(commit, tell(target, rows))
                behind, before = place, after
            tables.close()


def plan_span(
    repository: Repository, request: FeedRequest, *, through: str | None = None, max_commits: int | None = None
) -> ChangeSpan:
    """The commits that come next for a consumer; no row is read.

    A commit that cannot be told ends a span before it, so that whatever can be delivered is delivered before the error.

    Args:
        repository: of the graph.
        request: where the consumer stands and what it wants; the bounds of pages are of no concern.
        through: a cursor; the span goes no further.
        max_commits: at most so many commits; None for as many as there are.

    Raises:
        InvalidInputError: a bound or a filter is wrong, or the start is no commit of the branch.
        NotFoundError: there is no such branch, type or commit.
        ChangeCursorRejectedError: a cursor belongs elsewhere, or ``through`` is before where the consumer stands.
        ChangeSchemaBoundaryError: the next commit changed the schema.
        ChangeFeedGapError: what the next commit changed was reclaimed.
    """
    if max_commits is not None:
        check_bound("max_commits", max_commits, MAX_SPAN)
    head = repository.newest(request.branch)
    wanted = WantedChanges.of(repository.snapshot(head).schema.tables, request.filter)
    bound_to = feed_bindings(repository, head, wanted)
    behind = begin_at(head, request, bound_to).behind
    newest = CommitPlace.of(head.state.head)
    end = newest if through is None else read_token(through, TokenKind.FEED_CURSOR, bound_to).behind
    commits = _commits_between(head, behind, end)[:max_commits]
    commits = commits[: _tellable_count(repository, request, behind, commits)]
    return ChangeSpan(
        uri=str(repository.adapter.root),
        options=dict(repository.adapter.explicit_options),
        branch=head.branch.name,
        behind=behind,
        commits=commits,
        caught_up=(CommitPlace.of(commits[-1]) if commits else behind) == newest,
        wanted=wanted,
        bound_to=bound_to,
    )


def _commits_between(head: ManifestLog, behind: CommitPlace | None, end: CommitPlace | None) -> tuple[Commit, ...]:
    """The commits after one up to another, oldest first.

    The history has them all at the price of one read, and those of late for nothing; to open version after version, as
    a page does, would cost more than a page has commits.
    """
    first, last = (0 if each is None else each.version for each in (behind, end))
    found = tuple(each for each in reversed(head.commits_since(first)) if each.manifest_version <= last)
    expected = None if behind is None else behind.commit_id
    for commit in found:
        check_cancelled()
        if commit.parent_id != expected:
            raise ChangeCursorRejectedError("position")
        expected = commit.id
    if first > last or expected != (None if end is None else end.commit_id):
        raise ChangeCursorRejectedError("position")
    return found


def _tellable_count(
    repository: Repository, request: FeedRequest, behind: CommitPlace | None, commits: tuple[Commit, ...]
) -> int:
    """How many of these commits come before one that cannot be told.

    Only a schema or a merge can change the schema. What was reclaimed is the oldest, so that the first one tells.

    Raises:
        ChangeSchemaBoundaryError, ChangeFeedGapError: none does.
    """
    is_first = True
    for count, commit in enumerate(commits):
        if commit.kind in _SCHEMA_CHANGERS or (is_first and commit.kind not in PHYSICAL):
            is_first = False
            try:
                _check_tellable(repository, request, behind, commit)
            except (ChangeSchemaBoundaryError, ChangeFeedGapError):
                if not count:
                    raise
                return count
        behind = CommitPlace.of(commit)
    return len(commits)


def _check_tellable(repository: Repository, request: FeedRequest, behind: CommitPlace | None, commit: Commit) -> None:
    with gaps_told(commit.id, cursor=request.cursor):
        before = None if behind is None else _state_after(repository, request.branch, behind)
        after = _state_after(repository, request.branch, CommitPlace.of(commit))
    if before is not None and before.schema.digest != after.schema.digest:
        raise ChangeSchemaBoundaryError(commit_id=commit.id)


def _state_after(repository: Repository, branch: str, place: CommitPlace) -> Snapshot:
    """The state that a commit made, whether the branch still exists or not.

    Raises:
        NotFoundError: its version was reclaimed.
        ChangeCursorRejectedError: its version was made by another commit.
    """
    log = repository.at_version(BranchRef.of_line(branch, place.line), place.version)
    if log.state.head.id != place.commit_id:
        raise ChangeCursorRejectedError("position")
    return repository.snapshot(log)


# ── rows to batches ──────────────────────────────────────────────────────────────────────────────────────────────────


def _column_rows(target: TypeTable, rows: RowChanges) -> pa.RecordBatch:
    """The same as ``arrow_rows`` with structs of the columns of the type instead of JSON."""
    facts, sides = facts_of(target, rows), [_structs(each) for each in (rows.before, rows.after)]
    fields = [each.with_type(sides[0].type) for each in list(ARROW_SCHEMA)[len(facts) :]]
    return pa.RecordBatch.from_arrays([*facts, *sides], schema=pa.schema([*list(ARROW_SCHEMA)[: len(facts)], *fields]))


def _structs(side: pa.StructArray) -> pa.StructArray:
    """Rows as structs with timestamps; null where there is no row."""
    columns = pa.RecordBatch.from_arrays([side.field(each.name) for each in side.type], schema=pa.schema(side.type))
    told = batch_with_timestamps(columns, timestamp_schema(columns.schema))
    # Where there is no row every column is null, whatever the type says of it.
    fields = [each.with_nullable(True).remove_metadata() for each in told.schema]
    return pa.StructArray.from_arrays(told.columns, fields=fields, mask=side.is_null())


def _with_commit(commit: Commit, changes: pa.RecordBatch) -> pa.RecordBatch:
    """Changes of a commit with what they say of it, as ``SPAN_SCHEMA`` has it."""
    facts = (commit.id, commit.manifest_version, str(commit.kind), commit.actor, commit.created_at)
    same = [
        pa.repeat(pa.scalar(fact, each.type), changes.num_rows) for fact, each in zip(facts, COMMIT_FIELDS, strict=True)
    ]
    return pa.RecordBatch.from_arrays([*same, *changes.columns], schema=pa.schema([*COMMIT_FIELDS, *changes.schema]))
