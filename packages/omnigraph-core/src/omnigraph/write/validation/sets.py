"""Rows as sets: streams that can be read again, and the small layer over DataFusion that joins them.

Validators describe both sides of a question as ``Rows``; ``run`` answers it in SQL. One side becomes the hash table of
a join, the other only passes by it: so memory grows with the former alone, and where that is too large, ``plan_table``
says in how many parts to ask. Columns have neutral names here (``row``, ``id``, ``k0``, ``k1``, …), because
names of properties may be anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from omnigraph.cancellation import check_cancelled
from omnigraph.errors import ResourceLimitError
from omnigraph.errors.panics import translating_panics
from omnigraph.write.validation.row_sets import BulkJudge, Found, RowSet

if TYPE_CHECKING:
    from datafusion import SessionContext

BATCH_ROWS: Final = 65_536
PARTITIONS: Final = 8
"""The hash table of each is small enough for the cache of a processor. More are no faster, and each holds rows."""

_JOINED_ROWS: Final = 8_192
"""Each partition gathers so many rows before it goes on."""

_INLINE_BYTES: Final = 12
"""Arrow's views hold texts up to this length within themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From which size on a check goes another way; the answers are the same.

    Attributes:
        lookup_keys: up to so many keys, committed rows are looked up; beyond, they are read as a stream.
        memory_rows: up to so many rows, both sides together, Arrow answers without DataFusion.
        build_rows: how many rows the hash table of a join holds at most; more are taken in parts.
        build_bytes: the same in bytes of their columns.
        hash_rows: how many hashes are sorted at once.
        pool_bytes: what DataFusion may take for one question; aggregations beyond it go through files.
        judge: who answers questions about more than ``memory_rows`` rows that lie in storage; None for this process.
    """

    lookup_keys: int = 10_000
    memory_rows: int = 50_000
    build_rows: int = 1_000_000
    build_bytes: int = 128 * 1024 * 1024
    hash_rows: int = 8_000_000
    pool_bytes: int = 768 * 1024 * 1024
    judge: BulkJudge | None = None


LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows that can be read as often as needed.

    Attributes:
        row_count: how many there are at most; where they have a column ``row``, its numbers are below this.
        open: a new stream over them, in the same order each time.
        table: all of them, when they are in memory.
        origin: says where they lie, when that is storage and all of them count.
    """

    schema: pa.Schema
    row_count: int
    open: Callable[[], Iterator[pa.RecordBatch]]
    table: pa.Table | None = None
    origin: Callable[[], RowSet | None] | None = None

    @classmethod
    def of(cls, table: pa.Table, *, row_count: int | None = None) -> Rows:
        """Rows that are in memory; ``row_count`` where their numbers come from a larger whole."""
        count = table.num_rows if row_count is None else row_count
        return cls(schema=table.schema, row_count=count, open=lambda: iter(table.to_batches()), table=table)

    def described(self) -> RowSet | None:
        """Where they lie, for who reads them elsewhere; None where that cannot be said."""
        if self.origin is not None:
            return self.origin()
        is_empty = self.table is not None and not self.table.num_rows
        return RowSet(schema=self.schema, columns=(), row_count=0, pieces=()) if is_empty else None

    def read_all(self) -> pa.Table:
        return self.table if self.table is not None else pa.Table.from_batches(self.open(), schema=self.schema)


def gather(batches: Iterable[pa.RecordBatch], schema: pa.Schema, keep: int) -> Found:
    """Count rows as they come, in any order, and hold on to the first ones."""
    count = pending = 0
    held: list[pa.Table] = [schema.empty_table()]
    for batch in batches:
        count += batch.num_rows
        pending += batch.num_rows
        held.append(pa.Table.from_batches([batch.cast(schema)]))
        if pending > BATCH_ROWS + keep:
            held, pending = [_first(held, keep)], 0
    return Found(count=count, first=_first(held, keep))


def _first(tables: Sequence[pa.Table], keep: int) -> pa.Table:
    every = [(name, "ascending") for name in tables[0].column_names]
    return pa.concat_tables(tables).sort_by(every).slice(0, keep)


def chain(sides: Sequence[Rows], columns: Sequence[str]) -> Rows:
    """Some columns of several sets, one after the other."""
    schema = pa.schema([sides[0].schema.field(name) for name in columns])

    def open_rows() -> Iterator[pa.RecordBatch]:
        return (batch.select(schema.names) for side in sides for batch in side.open())

    return Rows(schema=schema, row_count=sum(each.row_count for each in sides), open=open_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashTable:
    """How to make a hash table of a set.

    Attributes:
        parts: in how many parts, so that each is within bounds.
        has_short_keys: texts are so short that comparing them where they lie is cheaper than following references.
    """

    parts: int
    has_short_keys: bool


def plan_table(rows: Rows, limits: Limits) -> HashTable:
    """The plan for a set whose rows are as wide as its first ones."""
    first = next((batch for batch in rows.open() if batch.num_rows), None)
    width = 0.0 if first is None else first.nbytes / first.num_rows
    parts = max(math.ceil(rows.row_count / limits.build_rows), math.ceil(rows.row_count * width / limits.build_bytes))
    texts = [] if first is None else [column for column in first.columns if pa.types.is_string(column.type)]
    is_short = all(pc.max(pc.binary_length(each)).as_py() <= _INLINE_BYTES for each in texts)
    return HashTable(parts=max(parts, 1), has_short_keys=is_short)


def part_of(name: str, columns: Sequence[str], number: int, parts: int) -> str:
    """SQL for a part of a named set: rows of equal values are in parts of the same number."""
    if parts == 1:
        return name
    # The remainder of a negative number is negative.
    hashed = f"xxhash64({', '.join(columns)}) % {parts}"
    return f"(SELECT * FROM {name} WHERE {hashed} IN ({number}, {number - parts})) {name}"  # noqa: S608 - neutral names


def run(
    sql: str,
    inputs: dict[str, Rows],
    limits: Limits,
    *,
    is_ordered: bool = False,
    has_hashes: bool = False,
    as_views: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Answer a question about named sets, as a stream.

    What stands on the left of a join becomes a hash table, what stands on the right passes by it. What reading a stream
    raises comes out unchanged. With ``is_ordered`` the rows of a stream keep their order, on one thread; with
    ``has_hashes`` the question may use ``xxhash64``; with ``as_views`` texts of streams are handed over as views.

    Raises:
        ResourceLimitError: the hash table does not fit, because rows are far wider than the first ones were.
    """
    context = session(limits, partitions=1 if is_ordered else PARTITIONS)
    if has_hashes:
        # These functions follow Spark and shadow others, so only questions about hashes see them.
        context.enable_spark_functions()
    failures: list[Exception] = []
    for name, rows in inputs.items():
        register(context, name, rows, failures, as_views=as_views)
    try:
        with translating_panics("check the rows of this write"):
            for batch in context.sql(sql).execute_stream():
                check_cancelled()
                yield batch.to_pyarrow()
    except Exception as error:
        if failures:
            raise failures[0] from None
        if "Resources exhausted" in str(error):
            raise ResourceLimitError(
                "Checking the rows of this write takes more memory than it may.",
                resource="validation_bytes",
                limit=limits.pool_bytes,
                actual=limits.pool_bytes + 1,
                help="Write in smaller portions, or shorten the ids.",
            ) from error
        raise


def session(limits: Limits = LIMITS, *, partitions: int = PARTITIONS) -> SessionContext:
    """A session with bounded memory, and as many threads as there are processors."""
    # Loading DataFusion takes longer than a small write, and most of those need it not at all.
    from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

    config = SessionConfig().with_batch_size(_JOINED_ROWS).with_target_partitions(partitions)
    runtime = RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(limits.pool_bytes)
    return SessionContext(config, runtime)


def register(
    context: SessionContext, name: str, rows: Rows, failures: list[Exception], *, as_views: bool = False
) -> None:
    """Make a set known by a name."""
    if rows.table is None:
        context.register_dataset(name, StreamedRows(_viewed(rows) if as_views else rows, failures))
        return
    batches = rows.table.to_batches(max_chunksize=BATCH_ROWS)
    context.register_record_batches(name, [batches or [pa.RecordBatch.from_pylist([], schema=rows.schema)]])


def _viewed(rows: Rows) -> Rows:
    fields = [field.with_type(pa.string_view()) if pa.types.is_string(field.type) else field for field in rows.schema]
    schema = pa.schema(fields)
    return Rows(schema=schema, row_count=rows.row_count, open=lambda: (each.cast(schema) for each in rows.open()))


class StreamedRows(ds.Dataset):  # type: ignore[misc]
    """A stream in the only form in which DataFusion takes one from Python: as a dataset of one fragment.

    DataFusion asks a dataset for ``schema``, ``scanner`` and ``get_fragments``, and a fragment for a ``scanner``;
    pyarrow's own in-memory dataset would read the whole stream first.

    Attributes:
        failures: what reading raised; DataFusion makes a text of it.
    """

    def __init__(self, rows: Rows, failures: list[Exception]) -> None:
        self.rows = rows
        self.failures = failures

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def get_fragments(self, filter: Any = None) -> list[StreamedRows]:  # noqa: A002 - the scanner applies it
        return [self]

    def scanner(
        self,
        *_schema: pa.Schema,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 - DataFusion says it by this name
        batch_size: int | None = None,
    ) -> _Scanner:
        return _Scanner(self, self.schema.names if columns is None else list(columns), filter)


class _Scanner:
    """One pass over a stream, with some of its columns."""

    def __init__(self, owner: StreamedRows, columns: list[str], predicate: Any) -> None:
        self.owner = owner
        self.columns = columns
        self.predicate = predicate
        self.projected_schema = pa.schema([owner.schema.field(name) for name in columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self.owner.rows.open():
                wanted = batch if self.predicate is None else batch.filter(self.predicate)
                yield wanted.select(self.columns)
        except Exception as error:
            self.owner.failures.append(error)
            raise


def matches_pattern(values: pa.Array, pattern: str) -> pa.Array:
    """For each text, whether the pattern, in the dialect of Rust, matches somewhere in it; null for null.

    Raises:
        ValueError: the pattern compiles to more than the dialect allows.
    """
    from datafusion import col, functions, lit

    context = session(partitions=1)
    # This rule turns patterns of plain characters into LIKE, and loses backslashes on the way.
    context.remove_optimizer_rule("simplify_expressions")
    frame = context.create_dataframe([[pa.record_batch({"v": values})]])
    try:
        with translating_panics("match the pattern"):
            found = frame.select(functions.regexp_like(col("v"), lit(pattern)).alias("m")).to_arrow_table()["m"]
    except Exception as error:
        if "Regular expression did not compile" in str(error):
            raise ValueError(str(error).rpartition("did not compile: ")[2]) from None
        raise
    return found.combine_chunks()
