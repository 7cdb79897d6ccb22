"""``mutate``: from the text of a mutation to one commit, or to none when nothing matched.

    text ── compile ──> plan ── bind values ──> statements ── run on a snapshot ──> changes ── judge, stage ──> plan
                                                                                       publish ──> commit

Compiling and binding need no snapshot and are done once, so whatever is wrong with a mutation is told before anything
is read. The rest is done again when the graph moved on: for inserts on any state, for updates and deletes only if
nothing but maintenance came between, because they are about rows that their caller has seen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from omnigraph import failpoints
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.reader import QuerySource, Reader
from omnigraph.errors import CompileError, InvalidInputError
from omnigraph.failpoints import reach
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.ulids import new_ulid
from omnigraph.plan.changes import MutationPlan
from omnigraph.query.params import bind_parameters
from omnigraph.write.attempts import WriteRequest, refuse_other_head, run_write
from omnigraph.write.committed import CommittedRows
from omnigraph.write.deadlines import Deadline
from omnigraph.write.mutation import BoundMutation, Outcome, bind_mutation, run_statements
from omnigraph.write.mutation.statements import AGAIN
from omnigraph.write.own_files import own_files
from omnigraph.write.plan import CommitIntent, PublishPlan, ReadSet, WriterKind
from omnigraph.write.problems import ProblemLog
from omnigraph.write.publish import Published
from omnigraph.write.stage import AttemptFiles, StagedChanges, stage_changes
from omnigraph.write.validation import validate_changes

OnConflict = Literal["fail", "retry"]

ON_CONFLICT: Final = ("fail", "retry")


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationResult:
    """What a mutation did.

    Attributes:
        affected_nodes: inserted, updated and deleted ones, summed over statements.
        affected_edges: the same of edges, with those that went because a node did.
        commit: the one commit that made it visible; None when nothing matched, and nothing was written.
    """

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    commit: Commit | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "commit": None if self.commit is None else self.commit.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationRequest:
    """What a caller asks for beside the text.

    Attributes:
        if_commit: the mutation happens only if this is the newest commit of the branch, but for maintenance.
        on_conflict: what becomes of an update or a delete when others changed what it is about: ``fail`` with a
            conflict, or ``retry`` on the state as it is then.
    """

    name: str | None = None
    params: Mapping[str, Any] | None = None
    branch: str = "main"
    actor: str | None = None
    if_commit: str | None = None
    on_conflict: OnConflict = "fail"

    def __post_init__(self) -> None:
        if self.on_conflict not in ON_CONFLICT:
            raise InvalidInputError(
                f"{self.on_conflict!r} says nothing about conflicts.", help='Use on_conflict="fail" or "retry".'
            )
        given: object = self.if_commit
        if given is not None and (not isinstance(given, str) or not given):
            raise InvalidInputError(
                f"{self.if_commit!r} is no id of a commit.", help="Give the commit_id of a result, or a commit's id."
            )


def mutate(repository: Repository, reader: Reader, source: QuerySource, request: MutationRequest) -> MutationResult:
    """Run a mutation as one commit; without one when nothing matched.

    Raises:
        CompileError: the mutation is wrong; every mistake is told.
        InvalidInputError: a value is wrong, or the query is a read.
        ConstraintError: the graph would break a rule of the schema.
        ConflictError: others changed what an update or delete is about, ``if_commit`` is not the newest commit any
            more, or the deadline passed.
        ResourceLimitError: an update holds more in memory than the budget of queries allows.
        NotFoundError: there is no such branch.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    with own_files(repository, request.branch):
        return _mutate(repository, reader, source, request)


def _mutate(repository: Repository, reader: Reader, source: QuerySource, request: MutationRequest) -> MutationResult:
    call = _Call(repository, reader, source, request)
    start = repository.known(request.branch)
    bound = call.bound_on_newest(repository.snapshot(start).schema)
    try:
        published = run_write(
            repository,
            WriteRequest(
                branch=request.branch,
                types=bound.written_types,
                is_strict=bound.is_strict and request.on_conflict == "fail",
                is_brief=True,
                if_commit=request.if_commit,
                start=start,
                starts_newest=bound.is_strict,
                after=call.keep_warm,
                deadline=Deadline(seconds=reader.settings.write_deadline),
            ),
            call.prepare,
        )
    except _NothingMatchedError:
        return call.result(None)
    return call.result(published.commit)


class _NothingMatchedError(Exception):
    """The statements changed nothing, so there is nothing to publish."""


@dataclass(slots=True)
class _Call:
    """One call, through however many attempts."""

    repository: Repository
    reader: Reader
    source: QuerySource
    request: MutationRequest
    now: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    intent: CommitIntent = field(init=False)
    _bound: BoundMutation | None = None
    _outcome: Outcome | None = None
    _staged: StagedChanges | None = None
    _files: AttemptFiles = field(init=False)

    def __post_init__(self) -> None:
        self._files = AttemptFiles(self.repository)
        self.intent = CommitIntent(
            id=new_ulid(), kind=CommitKind.DATA, actor=self.request.actor, created_at=datetime.now(UTC)
        )

    def bound(self, schema: GraphSchema) -> BoundMutation:
        """The statements, by a schema; made again only if that is another one than before."""
        if self._bound is None or self._bound.schema.digest != schema.digest:
            with self._spending().limit:
                plan = self.reader.plan(self.source, self.request.name, schema)
            if not isinstance(plan, MutationPlan):
                raise InvalidInputError(
                    f"{plan.name} only reads, so it cannot be run as a mutation.",
                    help="Run it with query: g.query(...), or omnigraph query.",
                    details={"query": plan.name},
                )
            self._bound = bind_mutation(plan, schema, bind_parameters(plan, self.request.params), now=self.now)
        return self._bound

    def bound_on_newest(self, schema: GraphSchema) -> BoundMutation:
        """The statements by a schema that may be old; what is wrong with them is said of the newest one."""
        try:
            return self.bound(schema)
        except (CompileError, InvalidInputError):
            newest = self.repository.snapshot(self.repository.newest(self.request.branch)).schema
            if newest.digest == schema.digest:
                raise
            return self.bound(newest)

    def prepare(self, log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        repository, bound = self.repository, self.bound(snapshot.schema)
        if is_void:
            self._files.forget()
        committed = CommittedRows(snapshot, repository.tables, repository.warm)
        spending = self._spending()
        with spending.limit:
            outcome = self._outcome = run_statements(bound, committed, spending)
        if outcome.is_empty:
            reach(failpoints.MUTATION_POST_NO_EFFECT_PRE_GATE)
            if self.request.if_commit is not None:
                # Nothing is swapped that would find out.
                refuse_other_head(repository.newest(self.request.branch), self.request.if_commit)
            raise _NothingMatchedError
        problems = ProblemLog(again=AGAIN)
        validate_changes(outcome.changes, snapshot.schema, committed, problems)
        problems.raise_violated()
        staged = self._staged = stage_changes(repository, outcome.changes, committed, self._files)
        reach(failpoints.MUTATION_POST_STAGE_PRE_EFFECT_GATE)
        return PublishPlan(
            operation_id=new_ulid(),
            writer=WriterKind.MUTATION,
            intent=self.intent,
            base=log,
            read_set=ReadSet(
                pins=staged.read_pins(snapshot),
                schema_digest=snapshot.schema.digest,
                incarnation=log.branch.incarnation,
                if_commit=self.request.if_commit,
            ),
            effects=staged.effects,
        )

    def _spending(self) -> Spending:
        return Spending(QueryBudget.of(self.reader.settings), is_given=False)

    def keep_warm(self, published: Published) -> None:
        if self._staged is not None:
            self._staged.keep_warm(self.repository, published.log.state)

    def result(self, commit: Commit | None) -> MutationResult:
        outcome, bound = self._outcome, self._bound
        return MutationResult(
            branch=self.request.branch,
            query_name="" if bound is None else bound.name,
            affected_nodes=0 if outcome is None else outcome.affected_nodes,
            affected_edges=0 if outcome is None else outcome.affected_edges,
            commit=commit,
        )
