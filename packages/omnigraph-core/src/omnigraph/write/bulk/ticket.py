"""``BulkTicket``: leave to write rows for one load, in any process that reaches the store.

    rows ── read ──> TypedRows ── ids, values judged ──> TypeBuffer ──> files beside the table ──> BulkAttempt

Each row is judged here by the rules that need no other row. What needs others is judged by whoever publishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.branches import refuse_other_graph
from omnigraph.history.commits import Commit
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.history.ulids import new_ulid
from omnigraph.plugins import open_adapter
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.write.buffers import SPILL_BYTES, TypeBuffer, spill_largest
from omnigraph.write.bulk.receipts import BulkAttempt, BulkReceipt, minted_rows
from omnigraph.write.forks import Forks
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records import LoadInput, TypedRows, TypedText, read_records
from omnigraph.write.records.arrow_input import find_target
from omnigraph.write.repeated_loads import find_load
from omnigraph.write.row_merging import MergeWork, RowsToMerge
from omnigraph.write.unmade_rows import UnmadeRows
from omnigraph.write.validation.change_rows import read_row_set
from omnigraph.write.validation.row_sets import BulkJudge, RowSet
from omnigraph.write.validation.stored_judge import StoredJudge
from omnigraph.write.validation.values import check_values

_REST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkTicket:
    """Leave to write rows for one load. It pickles, with the options that the graph was opened with; mind who reads it.

    What the environment gave when the graph was opened, the environment of the process that writes has to give.

    Attributes:
        load_id: names the load; in the receipts, and later in the commit.
        landed: the commit of an earlier load of this name; then there is nothing to write.
        pins: of the types that may be written, by table key: what the branch shows.
        bases: the versions that rows are written beside, by table key: the same, or forks of them.
        main: tells the graph from others at the same place.
    """

    uri: str
    options: Mapping[str, Any] = field(repr=False)
    load_id: str
    landed: Commit | None
    branch: str
    schema: GraphSchema = field(repr=False)
    pins: Mapping[str, TablePin] = field(repr=False)
    bases: Mapping[str, TablePin] = field(repr=False)
    manifest_version: int
    main: str = field(repr=False)

    def write(self, type_name: str, rows: Any) -> BulkReceipt:
        """Check rows and write them to files beside their table, in bounded memory; nothing becomes visible.

        Args:
            type_name: ``Film``, or ``node:Film`` and ``edge:Film`` where both exist.
            rows: an Arrow table, batch, reader, or anything with ``__arrow_c_stream__``.

        Raises:
            InvalidInputError: rows that are no rows of the type; nothing to publish was written.
            NotFoundError, BranchReplacedError: the graph was removed, or removed and made anew.
            ConstraintError: rows whose values break a rule of the schema; the same.
            EmbeddingError: the embedder of this process failed to make a vector that was left out.
            NotFoundError: the ticket is not for this type.
        """
        attempt = self.attempt({type_name: rows})
        attempt.raise_problems()
        if not any(each.row_count for each in attempt.receipts):
            raise InvalidInputError(f"There are no rows of {type_name} to write.", help="Leave out writes of nothing.")
        return attempt.receipts[0]

    def attempt(self, data: LoadInput | TypedText) -> BulkAttempt:
        """Write the rows of any input that ``load`` takes, and tell what is wrong with them instead of raising it.

        A ``TypedText`` is taken too: CSV, or JSONL without types.

        Rows whose values break a rule are written too, so that one run can tell everything; ``bulk_publish`` refuses
        them. Lines are counted from the beginning of what is given.

        Raises:
            InvalidInputError: the input as a whole cannot be read.
            EmbeddingError, NotFoundError: as ``write``.
        """
        unreadable, broken = ProblemLog(), ProblemLog()
        source, text = _counted(data)
        with self._tables() as tables:
            rows = _RowsOfTypes(self, tables, broken)
            for typed in read_records(source, self.schema, unreadable):
                # Rows of an input that is refused already need not be kept, but go on being read.
                if not unreadable:
                    rows.take(typed)
            receipts = () if unreadable else rows.write_out()
        if text is not None:
            text.count_rest()
        found = unreadable or broken
        return BulkAttempt(
            receipts=receipts,
            problems=tuple(found.kept),
            counts={str(reason): count for reason, count in found.counts.items()},
            is_readable=not unreadable,
            lines=None if text is None else text.lines,
        )

    def columns_of(self, type_name: str) -> list[str]:
        """The names of the columns of a type, as ``Graph.table`` has them."""
        return list(find_target(type_name, self.schema).schema.names)

    def lines_of(self, data: LoadInput | TypedText, type_key: str) -> npt.NDArray[np.int64]:
        """The lines of the records of one type in a text that ``attempt`` could read, in order."""
        every = read_records(data, self.schema, ProblemLog())
        found = [each.lines for each in every if each.target.key == type_key]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def read(self, rows: RowSet, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of some pieces of a set that a judge is asked about; see ``BulkJudge``."""
        with self._tables() as tables:
            yield from read_row_set(rows, numbers, tables)

    @contextmanager
    def judge(self) -> Iterator[BulkJudge]:
        """Who answers questions in this process, from the files."""
        with self._tables() as tables:
            yield StoredJudge(tables)

    @contextmanager
    def merge_work(self, asked: RowsToMerge) -> Iterator[MergeWork]:
        """What a merge of many rows needs done in this process; see ``BulkMerger``."""
        with self._tables() as tables:
            yield MergeWork(asked, tables)

    @contextmanager
    def _tables(self) -> Iterator[TableStorage]:
        with open_adapter(self.uri, options=dict(self.options), verify=False) as adapter:
            # What is written for a graph that was removed would only lie about at the place of the next one.
            refuse_other_graph(adapter, self.main)
            tables = LanceTables(adapter)
            try:
                yield tables
            finally:
                tables.close()


class _RowsOfTypes:
    """The rows of one attempt on their way into files."""

    def __init__(self, ticket: BulkTicket, tables: TableStorage, broken: ProblemLog) -> None:
        self._ticket = ticket
        self._tables = tables
        self._broken = broken
        self._buffers: dict[str, TypeBuffer] = {}
        self._unmade = UnmadeRows()

    def take(self, typed: TypedRows) -> None:
        """The next rows; those that wait for vectors come last."""
        if not self._unmade.take(typed):
            self._add(typed)

    def write_out(self) -> tuple[BulkReceipt, ...]:
        """Everything in files, with a receipt for each type that was named."""
        for typed in self._unmade.with_vectors():
            self._add(typed)
        return tuple(self._receipt(each) for _, each in sorted(self._buffers.items()))

    def _add(self, typed: TypedRows) -> None:
        target, lines, source = typed.target, typed.lines, typed.source
        buffer = self._buffers.get(target.key)
        if buffer is None:
            buffer = self._buffers[target.key] = self._buffer(target)
        rows = buffer.add(typed)
        check_values(target, rows, self._broken, first_row=0, place_of=lambda row: (source, int(lines[row])))
        spill_largest(self._buffers.values(), SPILL_BYTES)

    def _buffer(self, target: TypeTable) -> TypeBuffer:
        base = self._ticket.bases.get(target.key)
        if base is None:
            raise NotFoundError(
                f"This ticket is not for {target.key}.",
                help=f"It is for: {', '.join(sorted(self._ticket.pins))}. Ask for one with g.bulk(types=[...]).",
                details={"type": target.key},
            )
        return TypeBuffer(target, lambda: base, self._tables, waits_for_ids=False)

    def _receipt(self, buffer: TypeBuffer) -> BulkReceipt:
        ticket, key = self._ticket, buffer.target.key
        return BulkReceipt(
            load_id=ticket.load_id,
            schema_digest=ticket.schema.digest,
            type_key=key,
            pin=ticket.pins[key],
            written=buffer.write_out(),
            row_count=buffer.row_count,
            minted=buffer.minted,
            minted_rows=minted_rows(buffer.is_minted),
            staged_at=ticket.manifest_version,
        )


class _CountedText:
    """A file that counts the lines which were read of it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.name = getattr(file, "name", None)
        self.lines = 0

    def read(self, size: int) -> Any:
        block = self._file.read(size)
        self.lines += block.count("\n" if isinstance(block, str) else b"\n") if block else 0
        return block

    def count_rest(self) -> None:
        """Count the lines of what was not worth reading: other texts may begin where this one ends."""
        while self.read(_REST_BYTES):
            pass


def _counted(data: LoadInput | TypedText) -> tuple[LoadInput | TypedText, _CountedText | None]:
    """An input whose lines are counted as they are read, where it has lines."""
    if isinstance(data, TypedText):
        text = _CountedText(data.file)
        return replace(data, file=cast("IO[bytes]", text)), text
    if callable(getattr(data, "read", None)):
        text = _CountedText(data)
        return cast("IO[bytes]", text), text
    return data, None


def make_ticket(repository: Repository, types: Sequence[TypeTable], *, branch: str, load_id: str | None) -> BulkTicket:
    """A ticket for these types on the branch as it is now."""
    snapshot = repository.snapshot(repository.newest(branch))
    pins = {each.key: snapshot.entry(each).pin for each in types}
    landed = find_load(repository, branch, load_id)
    forks = Forks(repository)
    return BulkTicket(
        uri=str(repository.adapter.root),
        options=dict(repository.adapter.explicit_options),
        load_id=load_id or new_ulid(),
        landed=landed,
        branch=branch,
        schema=snapshot.schema,
        pins=pins,
        # The processes that write do not know of each other, so that none of them can make what all of them use.
        bases=pins if landed else {key: forks.base_of(snapshot.branch, pin) for key, pin in pins.items()},
        manifest_version=snapshot.state.version,
        main=repository.main.incarnation,
    )
