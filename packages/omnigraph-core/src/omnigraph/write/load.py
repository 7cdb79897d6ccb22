"""``load``: from records to one commit.

    records ──> TypedRows ──> TypeBuffer ──> NewRows ──> ChangeSet ── validate ──> staged ──> plan ── publish ──> commit
                    └─ UnmadeRows ─┘ where vectors are left out

Every record is read before anything is embedded or judged, so one run tells everything that is wrong; nothing is
visible, whatever happens, until the one publish at the end. Preparing again after a lost race judges again and reuses
the files that are written already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled
from omnigraph.config import DEFAULT_MAX_HELD_BYTES, DEFAULT_WRITE_SECONDS
from omnigraph.errors import HeadMovedError, InvalidInputError
from omnigraph.failpoints import reach
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.ulids import new_ulid
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.buffers import SPILL_BYTES, TypeBuffer, spill_largest
from omnigraph.write.changeset import ChangeMode
from omnigraph.write.deadlines import Deadline
from omnigraph.write.forks import Forks
from omnigraph.write.own_files import own_files
from omnigraph.write.plan import CONTENT_DIGEST, CommitIntent, PublishPlan, ReadSet, WriterKind
from omnigraph.write.problems import ProblemLog
from omnigraph.write.publish import Published
from omnigraph.write.records import LoadInput, TypedRows, read_records
from omnigraph.write.records.content import ContentDigest, digest_of
from omnigraph.write.rejudging import Judged
from omnigraph.write.repeated_loads import (
    RepeatedLoadError,
    check_content,
    find_load,
    load_properties,
    refuse_repetition,
)
from omnigraph.write.stage import AttemptFiles, Incoming, Judging, StagedChanges, prepare_changes
from omnigraph.write.unmade_rows import UnmadeRows
from omnigraph.write.validation.edge_ids import merge_tuple

BRIEF_ROWS: Final = 1_000
"""A load of so many records keeps others of this process waiting rather than race with them."""


class LoadMode(StrEnum):
    """How loaded rows meet those that are there; per type, and only types that occur in the input are touched."""

    APPEND = "append"
    MERGE = "merge"
    OVERWRITE = "overwrite"

    @property
    def change_mode(self) -> ChangeMode:
        return _CHANGE_MODES[self]


_CHANGE_MODES: Final = {
    LoadMode.APPEND: ChangeMode.INSERT,
    LoadMode.MERGE: ChangeMode.UPSERT,
    LoadMode.OVERWRITE: ChangeMode.REPLACE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """How far a load is.

    Attributes:
        phase: ``reading``, ``embedding``, ``checking`` or ``publishing``.
        records: how many were read; in the phase ``embedding``, how many have the vectors that they left out.
    """

    phase: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What a load did.

    Attributes:
        base_branch: what the branch was to be made from if it was missing; None when nothing was said.
        branch_created: whether it was.
        nodes: records of the input by node type, in order of names.
        edges: the same by edge type.
        commit: the one commit that made them visible.
    """

    branch: str
    base_branch: str | None
    branch_created: bool
    mode: str
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    total: int
    commit: Commit

    def to_dict(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "base_branch": self.base_branch,
            "branch_created": self.branch_created,
            "mode": self.mode,
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "total": self.total,
            "commit": self.commit.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """What a caller asks for beside the data.

    Attributes:
        base_branch: what the branch was to be made from if it was missing.
        branch_created: whether it was made for this load.
        load_id: a name of the caller's; a second load of the same name on the branch does nothing and gives the first
            one's commit, with no counts.
        content_digest: of what is loaded, where it is known before the load; of a load with a name it is made on the
            way.
        spill_bytes: how much is held in memory, all types together, before it goes to files.
        max_held_bytes: how much of one type may be held where it cannot go to files.
    """

    mode: LoadMode
    branch: str = "main"
    base_branch: str | None = None
    branch_created: bool = False
    actor: str | None = None
    load_id: str | None = None
    content_digest: str | None = None
    progress: Callable[[LoadProgress], None] | None = None
    spill_bytes: int = SPILL_BYTES
    deadline_seconds: float = DEFAULT_WRITE_SECONDS
    max_held_bytes: int = DEFAULT_MAX_HELD_BYTES

    def report(self, phase: str, records: int) -> None:
        if self.progress is not None:
            self.progress(LoadProgress(phase=phase, records=records))


def parse_mode(mode: str) -> LoadMode:
    """The mode of this name.

    Raises:
        InvalidInputError: there is none.
    """
    try:
        return LoadMode(mode)
    except ValueError:
        raise InvalidInputError(
            f"There is no load mode {mode!r}.", help="Use append, merge or overwrite.", details={"mode": str(mode)}
        ) from None


def load(repository: Repository, data: LoadInput, request: LoadRequest) -> LoadResult:
    """Load records as one commit; an input without records commits too.

    Raises:
        InvalidInputError: records that are no rows of the schema; every one is told, up to a bound.
        LoadIdReusedError: a load of the same name had other content.
        ConstraintError: rows that break a rule of the schema.
        EmbeddingError: the embedder failed to make a vector that was left out.
        HeadMovedError: the graph moved on under an overwrite, or the schema changed.
        ContentionError: the deadline passed while others kept publishing first.
        BranchReplacedError: the branch was made anew.
        ConflictError: garbage collection may have removed what was written on the way.
        NotFoundError: there is no such branch.
        ReadOnlyError: the graph was opened for reading.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    with own_files(repository, request.branch, request.load_id):
        return _load(repository, data, request)


def _load(repository: Repository, data: LoadInput, request: LoadRequest) -> LoadResult:
    log = repository.known(request.branch)
    repeated = find_load(repository, request.branch, request.load_id)
    if repeated is not None:
        if CONTENT_DIGEST in repeated.properties:
            check_content(repeated, branch=request.branch, content_digest=digest_of(data))
        return result_of(request, {}, repeated)
    snapshot = repository.snapshot(log)
    files = AttemptFiles(repository)
    digest = None if request.load_id is None else ContentDigest()
    incoming = _read(repository, data, snapshot, request, files.forks, digest)
    if digest is not None:
        request = replace(request, content_digest=digest.hexdigest())
    try:
        published = publish_rows(
            repository, incoming, snapshot.schema, request, files, start=log, staged_at=log.version
        )
    except RepeatedLoadError as again:
        return result_of(request, {}, again.commit)
    counts = {each.target: each.rows.row_count for each in incoming}
    return result_of(request, counts, published.commit)


def publish_rows(
    repository: Repository,
    incoming: tuple[Incoming, ...],
    schema: GraphSchema,
    request: LoadRequest,
    files: AttemptFiles,
    *,
    start: ManifestLog,
    staged_at: int,
    judging: Judging | None = None,
) -> Published:
    """Judge rows, stage them and publish them as one commit.

    ``schema`` is the one that they were read by, ``files`` what was written on the way, ``start`` what is known of the
    branch, and ``staged_at`` a manifest version from before the first file was written and before a load of the same
    name was looked for. ``judging`` says how rows are judged, where that is not as usual.

    Raises:
        RepeatedLoadError: a load of the same name landed since then.
    """
    intent = CommitIntent(
        id=new_ulid(),
        kind=CommitKind.DATA,
        actor=request.actor,
        created_at=datetime.now(UTC),
        properties=load_properties(request.load_id, request.content_digest),
    )
    total = sum(each.rows.row_count for each in incoming)
    is_brief = total <= BRIEF_ROWS
    deadline = Deadline(seconds=request.deadline_seconds)
    last: list[StagedChanges] = []
    how = replace(judging or Judging(), max_held_bytes=request.max_held_bytes)

    def prepare(log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        nonlocal how
        refuse_repetition(log, load_id=request.load_id, content_digest=request.content_digest, since=staged_at)
        if snapshot.schema.digest != schema.digest:
            raise schema_moved(log, staged_at, "Repeat the load: its records are read anew, by the new schema.")
        request.report("checking", total)
        # Judging and merging millions of rows takes longer than others may be fought; doing few of them over and over
        # is the fight.
        with deadline.stopped() if not (is_brief and last) else nullcontext():
            staged = prepare_changes(repository, snapshot, incoming, files, is_void=is_void, judging=how)
        how = replace(how, earlier=Judged(snapshot=snapshot, read_keys=staged.read_keys))
        last[:] = [staged]
        reach(failpoints.LOAD_STAGED)
        request.report("publishing", total)
        pins = staged.read_pins(snapshot)
        return PublishPlan(
            operation_id=new_ulid(),
            writer=WriterKind.LOAD,
            intent=intent,
            base=log,
            read_set=ReadSet(pins=pins, schema_digest=schema.digest, incarnation=log.branch.incarnation),
            effects=staged.effects,
        )

    return run_write(
        repository,
        WriteRequest(
            branch=request.branch,
            types=frozenset(each.target.key for each in incoming),
            is_strict=request.mode is LoadMode.OVERWRITE,
            is_brief=is_brief,
            start=start,
            deadline=deadline,
            staged_at=staged_at,
            after=lambda published: last[0].keep_warm(repository, published.log.state),
        ),
        prepare,
    )


def result_of(request: LoadRequest, counts: Mapping[TypeTable, int] | Mapping[Any, int], commit: Commit) -> LoadResult:
    """What a load gives back: input records by type, and the commit."""
    nodes = {target.name: count for target, count in counts.items() if target.kind == "node"}
    edges = {target.name: count for target, count in counts.items() if target.kind == "edge"}
    return LoadResult(
        branch=request.branch,
        base_branch=request.base_branch,
        branch_created=request.branch_created,
        mode=str(request.mode),
        nodes=dict(sorted(nodes.items())),
        edges=dict(sorted(edges.items())),
        total=sum(counts.values()),
        commit=commit,
    )


def _read(
    repository: Repository,
    data: LoadInput,
    snapshot: Snapshot,
    request: LoadRequest,
    forks: Forks,
    digest: ContentDigest | None,
) -> tuple[Incoming, ...]:
    """Every record of the input, by type, with the vectors that records leave out.

    Raises:
        InvalidInputError: with everything that is wrong.
        EmbeddingError: as ``load``.
    """
    problems = ProblemLog()
    buffers: dict[str, TypeBuffer] = {}
    unmade = UnmadeRows()

    def keep(typed: TypedRows) -> None:
        buffer = buffers.get(typed.target.key)
        if buffer is None:
            buffer = buffers[typed.target.key] = TypeBuffer(
                typed.target,
                partial(forks.base_of, snapshot.branch, snapshot.entry(typed.target).pin),
                repository.tables,
                waits_for_ids=request.mode is LoadMode.MERGE and merge_tuple(typed.target) is not None,
            )
        buffer.add(typed)
        spill_largest(buffers.values(), request.spill_bytes)

    records = 0
    request.report("reading", 0)
    for typed in read_records(data, snapshot.schema, problems, digest=digest):
        # Rows of an input that is refused already need not be kept, but go on being read.
        if not problems and not unmade.take(typed):
            keep(typed)
        check_cancelled()
        records += typed.rows.num_rows
        request.report("reading", records)
    problems.raise_invalid()
    embedded = 0
    for typed in unmade.with_vectors():
        keep(typed)
        check_cancelled()
        embedded += typed.rows.num_rows
        request.report("embedding", embedded)
    return tuple(
        Incoming(
            target=buffer.target,
            mode=request.mode.change_mode,
            rows=buffer.finish(),
            ids_are_fresh=buffer.ids_are_fresh,
            waits_for_ids=buffer.waits_for_ids,
        )
        for _, buffer in sorted(buffers.items())
    )


def schema_moved(log: ManifestLog, since: int, help: str) -> HeadMovedError:
    """That rows were read by the schema of the manifest version ``since``, and a log has another one."""
    after = log.commits_since(since)
    return HeadMovedError(
        branch=log.branch.name,
        # The parent of the first commit after it; a receipt may also be of a version that this log does not know yet.
        expected=after[-1].parent_id if after else None,
        actual=log.state.head.id,
        members=("schema",),
        help=help,
    )
