"""``TypeScan``: the rows of one type at one commit, to be read by any number of processes.

    scan = g.scan("Film", ["id", "title"])             here: what to read, as a value that pickles
    scan.read(parts=[0, 3])                            there, in any process that reaches the store: rows of some parts

A scan holds the place, the pinned version and the schema, and nothing open. However the graph moves on, every reader
sees the same rows, and the parts together are all of them, each once. Each process keeps open what it reads from.

Conditions are triples of a column, an operator and a value; ``read`` gives no fewer rows than those for which all are
true, and exactly these where ``takes`` says so of each. True is meant as in SQL: of null nothing is true but
``is null``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from omnigraph.engine.export import spell_rows
from omnigraph.engine.pushdown import encode, encode_membership, encode_null_test
from omnigraph.engine.timestamps import batch_with_timestamps, timestamp_schema
from omnigraph.engine.type_names import check_columns
from omnigraph.errors import InvalidInputError, StorageError
from omnigraph.history.branches import refuse_other_graph, tell_if_gone
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plugins import open_adapter
from omnigraph.query.ast import Operator
from omnigraph.tables.handles import RecentlyUsed
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_filters import RowFilter, all_of

MAX_PLACES: Final = 8
"""Of so many graphs a process keeps open what its scans read from."""

Condition = tuple[str, str, object]
"""A column, an operator and a value: ``("year", ">=", 1990)``; a date is one of Python's or its text, a point in time
is one of Python's with a zone, the value of a null test is None."""

_COMPARISONS: Final = {
    "=": Operator.EQ,
    "!=": Operator.NE,
    "<": Operator.LT,
    "<=": Operator.LE,
    ">": Operator.GT,
    ">=": Operator.GE,
    "starts with": Operator.STARTS_WITH,
}
_NULL_TESTS: Final = {"is null": True, "is not null": False}
OPERATORS: Final = (*_COMPARISONS, "in", *_NULL_TESTS)

_SIEVES_OF_FLOATS: Final = ("=", "<", "<=")
_ID: Final = ValueType(Scalar.STRING)
_EPOCH: Final = date(1970, 1, 1)
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPart:
    """A part of a scan, the least that is read by itself.

    Attributes:
        number: what ``read`` is given.
        row_count: rows that are there.
        byte_count: what all columns take in storage; 0 where that is not known.
    """

    number: int
    row_count: int
    byte_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeScan:
    """Rows of one type at one commit. It pickles, with the options that the graph was opened with; mind who reads it.

    What the environment gave when the graph was opened, the environment of the process that reads has to give.

    Attributes:
        uri: the graph, without credentials.
        type_key: the type, such as ``node:Film``.
        branch: the branch that was asked for.
        commit_id: the commit whose state is read.
        main: tells the graph from others at the same place.
        schema: of the batches that ``read`` gives: as ``Graph.table`` gives them.
        parts: what there is to read, by ascending number.
    """

    uri: str
    type_key: str
    branch: str
    commit_id: str
    schema: pa.Schema = field(repr=False)
    parts: tuple[ScanPart, ...] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    pin: TablePin = field(repr=False)
    main: str = field(repr=False)
    types: Mapping[str, ValueType] = field(repr=False)

    @property
    def row_count(self) -> int:
        """All rows of the type."""
        return sum(each.row_count for each in self.parts)

    def takes(self, condition: Condition) -> bool:
        """Whether ``read`` judges this condition exactly; where not, whoever reads has to judge the rows again.

        Raises:
            InvalidInputError: the type has no such column, or there is no such operator.
        """
        return self._encode(condition)[1]

    def read(self, parts: Sequence[int] | None = None, where: Sequence[Condition] = ()) -> pa.RecordBatchReader:
        """The rows of these parts, by default of all, as a stream.

        Raises:
            InvalidInputError: there is no such part, column or operator.
            StorageError: the store failed, or the version was reclaimed.
            NotFoundError, BranchReplacedError: the graph was removed, or removed and made anew.
            ForkedProcessError: this process was forked from one that had used a graph.
        """
        if parts is not None:
            self._check_parts(parts)
        filters = [each for each, _ in map(self._encode, where) if each is not None]
        stored = self._stored(parts, columns=self.schema.names, predicate=all_of(filters))
        batches = (batch_with_timestamps(each, self.schema) for each in stored)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def lines(self, parts: Sequence[int] | None = None) -> Iterator[Sequence[str]]:
        """The lines of ``Graph.export`` for the rows of these parts, by default of all, some at a time, in no order.

        Raises:
            InvalidInputError: there is no such part, or this scan leaves columns out; raised by the call.
            StorageError, NotFoundError, BranchReplacedError, ForkedProcessError: as ``read``, while iterating too.
        """
        if parts is not None:
            self._check_parts(parts)
        if self.schema.names != [*self.types]:
            raise InvalidInputError(
                f"A line has every column of {self.type_key}, and this scan leaves some out.",
                help="Scan without naming columns.",
                details={"type": self.type_key},
            )
        return (lines for batch in self._stored(parts) for lines in spell_rows(self.type_key, batch))

    def _stored(
        self, parts: Sequence[int] | None, *, columns: Sequence[str] | None = None, predicate: RowFilter | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The stored rows of these parts; opened by the call."""
        with self._telling_if_gone():
            tables = _tables_at(self.uri, self.options)
            stored = tables.read(tables.open_at(self.pin), columns=columns, predicate=predicate, parts=parts)
        return self._each_of(stored)

    def _each_of(self, stored: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._telling_if_gone():
            yield from stored

    @contextmanager
    def _telling_if_gone(self) -> Iterator[None]:
        """Whoever reads may do so long after the scan was made, and know nothing of the graph."""
        try:
            yield
        except StorageError as error:
            with open_adapter(self.uri, mode="r", options=self.options, verify=False) as adapter:
                tell_if_gone(error, lambda: refuse_other_graph(adapter, self.main))
            raise

    def _check_parts(self, parts: Sequence[int]) -> None:
        unknown = sorted(set(parts) - {each.number for each in self.parts})
        if unknown:
            raise InvalidInputError(
                f"There is no part {unknown[0]} of {self.type_key} at commit {self.commit_id}.",
                help="Take the numbers from scan.parts.",
                details={"type": self.type_key, "part": unknown[0]},
            )

    def _encode(self, condition: Condition) -> tuple[RowFilter | None, bool]:
        """A condition as a filter that loses no row, None for no filter, and whether it says exactly the same."""
        column, operator, value = condition
        of = self.types.get(column)
        if of is None or operator not in OPERATORS:
            what = f"{self.type_key} has no column {column!r}" if of is None else f"There is no operator {operator!r}"
            known = ", ".join(self.types) if of is None else ", ".join(OPERATORS)
            raise InvalidInputError(f"{what}.", help=f"Known are: {known}.", details={"type": self.type_key})
        if operator in _NULL_TESTS:
            is_null = _NULL_TESTS[operator]
            if not is_null and not of.is_nullable:
                return None, True
            encoded = encode_null_test(column, of, is_null=is_null)
        elif operator == "in":
            values = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
            encoded = encode_membership(column, of, [_plain(each, of) for each in values])
        elif operator == "starts with" and of.scalar is not Scalar.STRING:
            encoded = None
        elif of.scalar.is_float:
            # Storage and Arrow differ in whether NaN is above all numbers, so only what NaN is never true of is asked.
            is_safe = operator in _SIEVES_OF_FLOATS and _is_exactly(value, of.scalar)
            return (encode(column, of, _COMPARISONS[operator], value) if is_safe else None), False
        else:
            encoded = encode(column, of, _COMPARISONS[operator], _plain(value, of))
        return encoded, encoded is not None


def make_scan(repository: Repository, snapshot: Snapshot, target: TypeTable, columns: Sequence[str] | None) -> TypeScan:
    """A scan of a type at a snapshot.

    Raises:
        InvalidInputError: the type has no such column, or none is asked for.
        NotFoundError: there was no such type yet.
    """
    if columns is not None:
        check_columns(target, columns)
        if not columns:
            raise InvalidInputError(
                "No column was asked for.", help=f"The columns of {target.name} are: {', '.join(target.schema.names)}."
            )
    tables, pin = repository.tables, snapshot.entry(target).pin
    handle = tables.open_at(pin)
    stored = tables.schema(handle)
    properties = {each.name: each.type for each in target.ir.properties}
    return TypeScan(
        uri=str(repository.adapter.root),
        type_key=target.key,
        branch=snapshot.branch.name,
        commit_id=snapshot.commit.id,
        schema=timestamp_schema(stored if columns is None else pa.schema([stored.field(each) for each in columns])),
        parts=tuple(
            ScanPart(number=each.number, row_count=each.live_count, byte_count=each.byte_count)
            for each in tables.parts(handle)
        ),
        options=dict(repository.adapter.explicit_options),
        pin=pin,
        main=repository.main.incarnation,
        types={name: properties.get(name, _ID) for name in stored.names},
    )


def _plain(value: object, of: ValueType) -> object:
    """A value as the encoder takes it: dates, or their texts, are days since 1970, points in time milliseconds."""
    if of.scalar is Scalar.DATETIME:
        return _milliseconds(value)
    if of.scalar is not Scalar.DATE:
        return value
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return None
    return (value - _EPOCH).days if isinstance(value, date) and not isinstance(value, datetime) else None


def _milliseconds(value: object) -> int | None:
    """A point in time; None for one without a zone, which may be meant in any, and between two milliseconds."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    whole, rest = divmod(value - _START, timedelta(milliseconds=1))
    return None if rest else whole


def _is_exactly(value: object, scalar: Scalar) -> bool:
    """Whether a number is one of a float type, so that to compare with it is not to compare with its neighbour."""
    if not isinstance(value, float):
        return False
    return scalar is Scalar.F64 or pa.scalar(value, pa.float32()).as_py() == value


_open_places: Final[RecentlyUsed[tuple[Any, ...], TableStorage]] = RecentlyUsed(MAX_PLACES)
os.register_at_fork(after_in_child=_open_places.renew_lock)


def _tables_at(uri: str, options: Mapping[str, Any]) -> TableStorage:
    """The tables of a graph, opened for reading; many tasks of one process share them, and their handles."""
    key = (uri, *sorted(options.items()))
    found = _open_places.get(key)
    if found is None:
        found = LanceTables(open_adapter(uri, mode="r", options=options))
        _open_places.put(key, found)
    return found
