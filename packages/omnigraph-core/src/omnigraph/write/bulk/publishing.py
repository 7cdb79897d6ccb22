"""``publish_receipts``: what tickets of one load wrote becomes one commit, or none.

    attempts ── problems? raised ──> receipts by type ──> Incoming ── judged together ──> one plan ── publish ──> commit

Rules about single rows were judged where they were written. Those that need other rows are judged here, or for many
rows by the ``BulkJudge`` that the publisher brings, in the words and by the rules of every other write.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InternalError, InvalidInputError
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.write.buffers import WaitingRows
from omnigraph.write.bulk.receipts import BulkAttempt, BulkReceipt, as_attempt, gathered
from omnigraph.write.changeset import NewRows
from omnigraph.write.load import (
    LoadMode,
    LoadRequest,
    LoadResult,
    publish_rows,
    result_of,
    schema_moved,
)
from omnigraph.write.repeated_loads import RepeatedLoadError, check_content, find_load
from omnigraph.write.row_merging import BulkMerger
from omnigraph.write.stage import AttemptFiles, Incoming, Judging
from omnigraph.write.validation.edge_ids import merge_tuple
from omnigraph.write.validation.row_sets import BulkJudge
from omnigraph.write.validation.sets import LIMITS

Locate = Callable[[BulkReceipt, int], tuple[str | None, int | None]]
"""From a receipt and the ordinal of one of its rows, 0-based, to the source and the line that the row came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPublish:
    """What is to be published, and how it is judged.

    Attributes:
        attempts: what the processes handed back, in any form and any order.
        judge: answers questions about many rows; None for this process.
        locate: says where a row came from; None when nobody knows.
        merger: merges many rows; None for this process.
    """

    attempts: Sequence[BulkAttempt | BulkReceipt | str]
    judge: BulkJudge | None = None
    locate: Locate | None = None
    merger: BulkMerger | None = None


def publish_receipts(repository: Repository, given: BulkPublish, request: LoadRequest) -> LoadResult:
    """Publish what tickets wrote, as one commit; a second time for the same load does nothing.

    Raises:
        InvalidInputError: records that are no rows, receipts of several loads, or one that is none.
        ConstraintError: the rows together break a rule of the schema; nothing is visible.
        HeadMovedError: the schema changed since the ticket was made.
    """
    attempts = [as_attempt(each) for each in given.attempts]
    receipts = [receipt for each in attempts for receipt in each.receipts]
    request = replace(request, load_id=_load_of(receipts, request))
    by_type: dict[str, list[BulkReceipt]] = defaultdict(list)
    for each in receipts:
        by_type[each.type_key].append(each)
    log = repository.known(request.branch)
    schema = repository.snapshot(log).schema
    counts = {schema.tables[key]: sum(each.row_count for each in own) for key, own in sorted(by_type.items())}
    earlier = find_load(repository, request.branch, request.load_id)
    if earlier is not None:
        check_content(earlier, branch=request.branch, content_digest=request.content_digest)
        return result_of(request, counts, earlier)
    gathered(attempts, are_readable=False).raise_invalid()
    if not all(each.is_readable for each in attempts):
        # Its rows are in no receipt: without this look they would be lost in silence.
        raise InternalError("A part of this load could not be read, and nobody says what is wrong with it.")
    _refuse_other_schema(receipts, schema, log)
    incoming = tuple(
        _incoming(repository, schema.tables[key], own, request, given.locate) for key, own in sorted(by_type.items())
    )
    try:
        published = publish_rows(
            repository,
            incoming,
            schema,
            request,
            _files(repository, receipts, log),
            start=log,
            staged_at=min((each.staged_at for each in receipts), default=log.version),
            judging=Judging(
                limits=replace(LIMITS, judge=given.judge),
                found=gathered(attempts, are_readable=True),
                merger=given.merger,
            ),
        )
    except RepeatedLoadError as again:
        return result_of(request, counts, again.commit)
    return result_of(request, counts, published.commit)


def _load_of(receipts: Sequence[BulkReceipt], request: LoadRequest) -> str:
    loads = sorted({each.load_id for each in receipts} | ({request.load_id} if request.load_id else set()))
    if len(loads) != 1:
        raise InvalidInputError(
            f"One bulk publish is for one load; these are {', '.join(loads) or 'no'} loads.",
            help="Publish the receipts of each ticket by themselves, with load_id as the ticket says.",
            details={"load_ids": loads},
        )
    return loads[0]


def _files(repository: Repository, receipts: Sequence[BulkReceipt], log: ManifestLog) -> AttemptFiles:
    files = AttemptFiles(repository)
    for each in receipts:
        for line in {rows.branch for rows in each.written}:
            base = replace(each.pin, branch=line)
            # A ticket of another branch wrote to that one's lines, and nothing may be built there.
            if log.branch.owns(base):
                files.forks.know(each.pin, base)
    return files


def _incoming(
    repository: Repository,
    target: TypeTable,
    receipts: Sequence[BulkReceipt],
    request: LoadRequest,
    locate: Locate | None,
) -> Incoming:
    row_count = sum(each.row_count for each in receipts)
    minted = sum(each.minted for each in receipts)
    rows = NewRows(written=tuple(file for each in receipts for file in each.written), row_count=row_count)
    if locate is not None:
        rows = replace(rows, place_of=_places(receipts, locate))
    waits = request.mode is LoadMode.MERGE and minted > 0 and merge_tuple(target) is not None
    if waits:
        rows = _without_ids(repository, target, rows, np.concatenate([each.is_minted for each in receipts]))
    return Incoming(
        target=target,
        mode=request.mode.change_mode,
        rows=rows,
        ids_are_fresh=minted == row_count and not waits,
        waits_for_ids=waits,
    )


def _places(receipts: Sequence[BulkReceipt], locate: Locate) -> Callable[[int], tuple[str | None, int | None]]:
    """From the ordinal of a row among all of its type to where it came from."""
    ends = list(accumulate(each.row_count for each in receipts))

    def place_of(row: int) -> tuple[str | None, int | None]:
        number = bisect.bisect_right(ends, row)
        first = ends[number - 1] if number else 0
        return locate(receipts[number], row - first)

    return place_of


def _without_ids(repository: Repository, target: TypeTable, rows: NewRows, is_minted: npt.NDArray[np.bool_]) -> NewRows:
    """The same rows, of which those with a minted id have it open: they take those of the edges that they replace."""
    waiting = WaitingRows(target.schema)
    first = 0
    for batch in rows.read(repository.tables, target.schema.names):
        is_open = pa.array(is_minted[first : first + batch.num_rows])
        ids = pc.if_else(is_open, pa.scalar(None, pa.string()), batch.column(0))
        waiting.add([batch.set_column(0, pa.field("id", pa.string()), ids)])
        first += batch.num_rows
    return replace(rows, table=waiting.map(), written=())


def _refuse_other_schema(receipts: Sequence[BulkReceipt], schema: GraphSchema, log: ManifestLog) -> None:
    other = next((each for each in receipts if each.schema_digest != schema.digest), None)
    if other is not None:
        raise schema_moved(log, other.staged_at, help="Ask for a new ticket and write the rows again.")
