"""``merge_branch``: one branch into another, as one commit with two parents; or nothing at all.

    source, captured once ──┐
                            ├── candidate ── staged ──> plan ── publish ──> commit
    target, per attempt  ───┘

The source may move on meanwhile: what was captured is what is merged. When the target moves on in what the merge relied
on, the merge is thought through again on the newer state; it never takes back what others did. A merge that has nothing
to write still makes its commit, which says that the histories met.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa

from omnigraph import failpoints
from omnigraph.cancellation import uncancellable
from omnigraph.config import DEFAULT_MAX_HELD_BYTES
from omnigraph.engine.diff import ARROW_SCHEMA, arrow_rows, type_order
from omnigraph.engine.held_bytes import HeldBytes
from omnigraph.engine.row_changes import RowChanges
from omnigraph.errors import BranchReplacedError, ConflictError, MergeConflictError, OmnigraphError
from omnigraph.failpoints import reach
from omnigraph.history.commits import CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.ulids import new_ulid
from omnigraph.write.attempts import WriteRequest, refuse_other_head, run_write
from omnigraph.write.branching import delete_branch
from omnigraph.write.committed import CommittedRows
from omnigraph.write.deadlines import Deadline
from omnigraph.write.merge.candidate import Candidate, make_candidate
from omnigraph.write.merge.heads import MergeHeads, find_heads, refuse_itself
from omnigraph.write.merge.result import MergeResult, Outcome
from omnigraph.write.merge.strategies import RESOLVED_PROPERTY, STRATEGY_PROPERTY, Strategy, resolver, strategy_name
from omnigraph.write.merge.three_way import Resolve
from omnigraph.write.plan import CommitIntent, MergedHead, PublishPlan, ReadSet, WriterKind
from omnigraph.write.publish import Published
from omnigraph.write.read_sets import QUIET
from omnigraph.write.stage import AttemptFiles, StagedChanges, stage_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """What a caller asks for.

    Attributes:
        strategy: what becomes of rows that both branches changed; see ``strategies``.
        expect_head: the commit that must be the newest of the target, but for maintenance; None for any.
        delete_branch: delete the source afterwards, unless it moved on meanwhile.
        max_held_bytes: what conflicts may take in memory, and what a dry run shows.
    """

    source: str
    into: str
    strategy: Strategy = "fail"
    expect_head: str | None = None
    delete_branch: bool = False
    actor: str | None = None
    deadline: Deadline = field(default_factory=Deadline)
    max_held_bytes: int = DEFAULT_MAX_HELD_BYTES

    def conflicts_held(self) -> HeldBytes:
        """Where the bytes of conflicts are counted."""
        return HeldBytes(f"What {self.source} and {self.into} contradict each other in", self.max_held_bytes)


def merge_branch(repository: Repository, request: MergeRequest) -> MergeResult:
    """Merge a branch into another one.

    Raises:
        MergeConflictError: they contradict each other; all conflicts are told, and nothing was merged.
        HeadMovedError: ``expect_head`` is not the newest commit of the target.
        NotFoundError: there is no such branch, or the state at which they parted was reclaimed.
        InvalidInputError: a branch into itself, or no such strategy.
        ConflictError: their schemas differ, or they have no commit in common.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    refuse_itself(request.source, request.into)
    resolve = resolver(request.strategy)
    merge = _Merge(repository, request, resolve, repository.newest(request.source))
    reach(failpoints.BRANCH_MERGE_POST_AUTHORITY_CAPTURE)
    write = WriteRequest(
        branch=request.into,
        # Among rivals it is in line from its first attempt on, and does not keep coming before those who are there.
        is_brief=True,
        starts_newest=True,
        if_commit=request.expect_head,
        deadline=request.deadline,
        after=merge.keep_warm,
    )
    try:
        published = run_write(repository, write, merge.prepare)
    except _UpToDateError as found:
        result = _result(request, found.heads, "already_up_to_date")
    else:
        result = merge.result(published)
    return _without_source(repository, request, merge.source, result) if request.delete_branch else result


def plan_merge(repository: Repository, request: MergeRequest) -> MergeResult:
    """What ``merge_branch`` would do on the heads as they are now; nothing is written. Raises the same."""
    refuse_itself(request.source, request.into)
    resolve = resolver(request.strategy)
    heads = find_heads(repository.newest(request.source), repository.newest(request.into))
    refuse_other_head(heads.target, request.expect_head)
    if heads.is_up_to_date:
        return replace(_result(request, heads, "already_up_to_date"), changes=ARROW_SCHEMA.empty_table())
    told: list[tuple[TypeTable, pa.RecordBatch]] = []
    held = HeldBytes("What the merge would change", request.max_held_bytes)

    def tell(target: TypeTable, rows: RowChanges) -> None:
        shown = arrow_rows(target, rows)
        held.add(shown.nbytes)
        told.append((target, shown))

    committed = CommittedRows(repository.snapshot(heads.target), repository.tables, repository.warm)
    candidate = make_candidate(repository, heads, committed, resolve, held=request.conflicts_held(), tell=tell)
    told.sort(key=lambda each: type_order(each[0]))
    return replace(
        _result(request, heads, "fast_forward" if heads.is_fast_forward else "merged"),
        changes=pa.Table.from_batches([rows for _, rows in told], ARROW_SCHEMA),
        conflicts=candidate.conflicts,
        resolved=candidate.resolved,
    )


class _UpToDateError(Exception):
    """The target has all of the source already, so there is nothing to publish."""

    def __init__(self, heads: MergeHeads) -> None:
        super().__init__(heads.base.id)
        self.heads = heads


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What the last attempt was about, for the result and for what this process keeps warm."""

    heads: MergeHeads
    resolved: int
    staged: StagedChanges


@dataclass(slots=True)
class _Merge:
    """One merge, through however many attempts.

    Attributes:
        source: as it was when the merge began.
    """

    repository: Repository
    request: MergeRequest
    resolve: Resolve
    source: ManifestLog
    intent: CommitIntent = field(init=False)
    _files: AttemptFiles = field(init=False)
    _last: list[_Prepared] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._files = AttemptFiles(self.repository)
        self.intent = CommitIntent(
            id=new_ulid(), kind=CommitKind.MERGE, actor=self.request.actor, created_at=datetime.now(UTC)
        )

    def prepare(self, log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        if is_void:
            self._files.forget()
        heads = find_heads(self.source, log)
        if heads.is_up_to_date:
            raise _UpToDateError(heads)
        committed = CommittedRows(snapshot, self.repository.tables, self.repository.warm)
        candidate = make_candidate(self.repository, heads, committed, self.resolve, held=self.request.conflicts_held())
        if candidate.conflicts:
            raise MergeConflictError(candidate.conflicts, source=self.request.source, branch=self.request.into)
        reach(failpoints.BRANCH_MERGE_POST_CANDIDATE_VALIDATION)
        staged = stage_changes(self.repository, candidate.changes, committed, self._files)
        self._last[:] = [_Prepared(heads=heads, resolved=candidate.resolved, staged=staged)]
        source = self.source
        return PublishPlan(
            operation_id=new_ulid(),
            writer=WriterKind.BRANCH_MERGE,
            intent=replace(self.intent, properties=self._properties(candidate)),
            base=log,
            read_set=ReadSet(
                pins=staged.read_pins(snapshot),
                schema_digest=snapshot.schema.digest,
                incarnation=log.branch.incarnation,
                if_commit=self.request.expect_head,
            ),
            effects=staged.effects,
            adopted=candidate.adopted,
            merged=MergedHead(
                branch=source.branch,
                commit_id=source.state.head.id,
                manifest_version=source.version,
                base_id=heads.base.id,
            ),
        )

    def _properties(self, candidate: Candidate) -> dict[str, str]:
        if not candidate.resolved:
            return {}
        name = strategy_name(self.request.strategy)
        return {STRATEGY_PROPERTY: name, RESOLVED_PROPERTY: str(candidate.resolved)}

    def keep_warm(self, published: Published) -> None:
        self._last[0].staged.keep_warm(self.repository, published.log.state)

    def result(self, published: Published) -> MergeResult:
        last = self._last[0]
        is_forward = published.commit.parent_id == last.heads.base.id
        return replace(
            _result(self.request, last.heads, "fast_forward" if is_forward else "merged"),
            commit=published.commit,
            resolved=last.resolved,
        )


def _result(request: MergeRequest, heads: MergeHeads, outcome: Outcome) -> MergeResult:
    return MergeResult(
        outcome=outcome,
        source=request.source,
        into=request.into,
        source_commit=heads.source.state.head.id,
        base_commit=heads.base.id,
    )


def _without_source(
    repository: Repository, request: MergeRequest, source: ManifestLog, result: MergeResult
) -> MergeResult:
    """Delete the branch that was merged; that it cannot be is no failure of the merge."""
    try:
        # The commit is made, so the call goes on to its end.
        with uncancellable():
            _refuse_unmerged(source, repository.newest(request.source))
            delete_branch(repository, request.source)
    except OmnigraphError as error:
        return replace(result, branch_delete_error=error.message)
    return replace(result, branch_deleted=True)


def _refuse_unmerged(merged: ManifestLog, now: ManifestLog) -> None:
    """Raise when a branch has more than was merged of it: whoever wrote that does not know that it is to go.

    Raises:
        ConflictError: it has.
        BranchReplacedError: it was made anew.
    """
    name, expected, actual = now.branch.name, merged.branch.incarnation, now.branch.incarnation
    if expected != actual:
        raise BranchReplacedError(branch=name, expected=expected, actual=actual)
    if any(each.kind not in QUIET for each in now.commits_since(merged.version)):
        raise ConflictError(
            f"{name} has commits that were not merged.",
            expected=merged.state.head.id,
            actual=now.state.head.id,
            help="Merge it again, then delete it.",
        )
