"""``load``: DataFrames and files become one commit, through tasks that write and one driver that publishes.

    inputs ── tasks: cast, check, write files ──> attempts ── judged by shuffle ──> one plan ── publish ──> one commit

Tasks write through a bulk ticket, and what they hand back is plain JSON. Nothing is visible until the one publish at
the end, so a load that fails, or whose driver dies, leaves files that nobody names and no trace in the graph. The name
of the load rides in the publish: sent again, it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import omnigraph
from omnigraph import BulkAttempt, LoadProgress
from omnigraph.errors import AlreadyExistsError, InvalidInputError
from omnigraph_spark.file_ranges import FileRange
from omnigraph_spark.handing_over import unweighed_batches
from omnigraph_spark.inputs import Inputs, TypedInput, sort_inputs
from omnigraph_spark.judge import SparkJudge
from omnigraph_spark.merging import SparkMerger
from omnigraph_spark.schema import arrow_schema_for
from omnigraph_spark.side_by_side import run_side_by_side
from omnigraph_spark.spreading import one_by_one
from omnigraph_spark.task_errors import plain_errors
from omnigraph_spark.tasks import (
    ANSWER,
    FAILURE,
    QUOTES,
    count_quotes_of,
    raise_failure,
    write_ranges,
    write_rows,
)
from omnigraph_spark.text_ranges import open_text, with_quotes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph import BulkReceipt, BulkTicket, Graph, LoadResult

MODES: Final = ("append", "merge", "overwrite")
ON_ERROR: Final = ("report", "stop")
Progress = Callable[[LoadProgress], None]


def load(
    spark: SparkSession,
    graph: str | Graph,
    data: Any,
    mode: str,
    *,
    branch: str = "main",
    base: str | None = None,
    actor: str | None = None,
    load_id: str | None = None,
    on_error: str = "report",
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Load data as one commit: all of it, or none.

    Args:
        spark: the session whose executors do the work; they reach the graph by its URI.
        graph: where it is, or the graph opened for writing.
        data: ``{"Person": df, "Knows": "knows.parquet", "City": "cities.csv"}``, for each type a DataFrame, or Parquet,
            CSV or JSONL files, a path or several; or JSONL files of records of any types, a path or several.
        mode: ``append``: ids must be new. ``merge``: rows of equal id are replaced whole. ``overwrite``: what is
            loaded is all there is of its types.
        branch: the branch to load to.
        base: make the branch from this one if it is missing; it stays when the load fails.
        actor: who loads; kept with the commit.
        load_id: names this load; repeating it under the same name does nothing, however far the first one came.
        on_error: ``report`` judges every rule, and one error tells all that is wrong, or, where values do not fit their
            types, all of those; ``stop`` does not judge what needs other rows when values are wrong already.
        options: of the storage backend, for a graph that is given by its URI.
        progress: is called as the load goes on.

    Raises:
        InvalidInputError: records that are no rows of the schema, of files with their line; or an argument is wrong.
        ConstraintError: rows that break a rule of the schema, told the same way.
        HeadMovedError: the graph moved on while an overwrite was under way, or the schema changed.
        NotFoundError: there is no such branch or type.
        StorageError: something could not be read or written, however often Spark tried; nothing is visible.
    """
    # Before anything is read: jobs may take hours.
    for name, word, words in (("mode", mode, MODES), ("on_error", on_error, ON_ERROR)):
        if word not in words:
            raise InvalidInputError(
                f"There is no {name}={word!r}.", help=f"Use one of: {', '.join(words)}.", details={name: str(word)}
            )
    with _opened(graph, actor, options) as opened:
        # What was loaded already may be gone.
        inputs = Inputs() if _has_landed(opened, branch, load_id) else sort_inputs(spark, data)
        created = base is not None and _ensure_branch(opened, branch, base)
        ticket = opened.bulk(inputs.types, branch=branch, load_id=load_id)
        # What an earlier load of this name made is there; nothing will be written.
        with plain_errors(), nullcontext() if ticket.landed else opened.bulk_lease(ticket):
            written = Written() if ticket.landed else _write(spark, ticket, inputs, progress)
            if on_error == "stop":
                BulkAttempt.together(written.attempts).raise_problems()
            done = opened.bulk_publish(
                written.attempts,
                mode,
                branch=branch,
                actor=actor,
                load_id=ticket.load_id,
                judge=SparkJudge(spark, ticket),
                merger=SparkMerger(spark, ticket),
                locate=written.locate(ticket),
                progress=progress,
            )
    return replace(done, base_branch=base, branch_created=created)


def write(
    df: DataFrame,
    uri: str,
    type: str,  # noqa: A002 - the word that users say
    *,
    mode: str = "append",
    branch: str = "main",
    actor: str | None = None,
    load_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> LoadResult:
    """Write a DataFrame as rows of one type, as one commit: ``load`` for one type. Arguments and errors as there."""
    return load(df.sparkSession, uri, {type: df}, mode, branch=branch, actor=actor, load_id=load_id, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What all tasks of a load wrote.

    Attributes:
        attempts: in the order of the input, frames before files.
        ranges: for each of the last of them, the range of a file that it was read from and how many lines stand before
            it; frames have none.
    """

    attempts: tuple[BulkAttempt, ...] = ()
    ranges: tuple[tuple[FileRange, int], ...] = ()

    def locate(self, ticket: BulkTicket) -> Callable[[BulkReceipt, int], tuple[str | None, int | None]]:
        """From a receipt and the ordinal of one of its rows to its file and line; frames have neither."""
        of_files = self.attempts[len(self.attempts) - len(self.ranges) :]
        places = {
            id(receipt): place
            for attempt, place in zip(of_files, self.ranges, strict=True)
            for receipt in attempt.receipts
        }
        return _Lines(ticket, places)


@dataclass(slots=True)
class _Lines:
    """Looks rows up in the files that they came from; text is read again only when something is wrong with them."""

    ticket: BulkTicket
    places: dict[int, tuple[FileRange, int]]
    known: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)

    def __call__(self, receipt: BulkReceipt, row: int) -> tuple[str | None, int | None]:
        place = self.places.get(id(receipt))
        if place is None:
            return None, None
        piece, before = place
        if piece.is_parquet:
            return piece.path, before + row + 1
        lines = self.known.get(id(receipt))
        if lines is None:
            with open_text(piece) as text:
                lines = self.known[id(receipt)] = self.ticket.lines_of(text, receipt.type_key)
        return piece.path, before + int(lines[row])


def _write(spark: SparkSession, ticket: BulkTicket, inputs: Inputs, progress: Progress | None) -> Written:
    attempts: list[BulkAttempt] = []
    with unweighed_batches(spark, [each.frame for each in inputs.frames]):
        for own in run_side_by_side(spark, [partial(_write_frame, ticket, each) for each in inputs.frames]):
            attempts += own
            _report(progress, attempts)
    if not inputs.ranges:
        return Written(attempts=tuple(attempts))
    ranges = _settle_quotes(spark, inputs.ranges)
    found = _answers(one_by_one(spark, len(ranges)).mapInArrow(write_ranges(ticket, ranges), ANSWER))
    places: list[tuple[FileRange, int]] = []
    before = 0
    for piece, attempt in zip(ranges, found, strict=True):
        before = before if piece.start else 0
        attempts.append(attempt.moved(before))
        places.append((piece, before))
        before += attempt.lines or 0
    _report(progress, attempts)
    return Written(attempts=tuple(attempts), ranges=tuple(places))


def _write_frame(ticket: BulkTicket, given: TypedInput) -> list[BulkAttempt]:
    # Columns that are wrong are told once, and no task sees them. A frame without rows names its type too: to
    # overwrite with one empties the type.
    named = ticket.attempt({given.type_name: arrow_schema_for(given.frame.schema).empty_table()})
    if not named.is_readable:
        return [named]
    return _answers(given.frame.mapInArrow(write_rows(ticket, given.type_name), ANSWER)) or [named]


def _settle_quotes(spark: SparkSession, ranges: Sequence[FileRange]) -> list[FileRange]:
    """Ranges of CSV that know whether they begin within quotes: which takes a look at all that is before them."""
    cut = {each.path for each in ranges if each.start and each.delimiter is not None}
    if not cut:
        return list(ranges)
    asked = [number for number, each in enumerate(ranges) if each.path in cut]
    count_quotes = count_quotes_of([ranges[number] for number in asked])
    answers = one_by_one(spark, len(asked)).mapInArrow(count_quotes, QUOTES).collect()
    for each in answers:
        raise_failure(each[FAILURE])
    counts = dict.fromkeys(range(len(ranges)), 0) | {asked[each["number"]]: each["quotes"] for each in answers}
    return with_quotes(ranges, [counts[number] for number in range(len(ranges))])


def _answers(answers: DataFrame) -> list[BulkAttempt]:
    """What the tasks of one job handed back, in the order of their input."""
    rows = sorted(answers.collect(), key=lambda each: int(each["number"]))
    for each in rows:
        raise_failure(each[FAILURE])
    return [BulkAttempt.from_json(each["answer"]) for each in rows]


def _report(progress: Progress | None, attempts: Sequence[BulkAttempt]) -> None:
    if progress is not None:
        records = sum(receipt.row_count for each in attempts for receipt in each.receipts)
        progress(LoadProgress(phase="reading", records=records))


def _opened(graph: str | Graph, actor: str | None, options: Mapping[str, Any] | None) -> AbstractContextManager[Graph]:
    if isinstance(graph, str):
        return omnigraph.open(graph, actor=actor, options=dict(options or {}))
    if options is not None:
        raise InvalidInputError("An open graph has its options.", help="Give options with the URI of a graph only.")
    return nullcontext(graph)


def _has_landed(graph: Graph, branch: str, load_id: str | None) -> bool:
    """Whether the branch has a commit of this load."""
    if load_id is None or not _has_branch(graph, branch):
        return False
    return graph.bulk([], branch=branch, load_id=load_id).landed is not None


def _has_branch(graph: Graph, branch: str) -> bool:
    return any(each.name == branch for each in graph.branches.list())


def _ensure_branch(graph: Graph, branch: str, base: str) -> bool:
    """Make a branch if it is missing; whether it was."""
    if _has_branch(graph, branch):
        return False
    try:
        graph.branches.create(branch, base)
    except AlreadyExistsError:
        return False
    return True
