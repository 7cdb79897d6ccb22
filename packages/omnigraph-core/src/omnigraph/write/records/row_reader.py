"""``RowReader``: records, one by one, become rows of their types; everything wrong with one is told with its place.

The exact way: ``values`` judges every value. Records from Python come this way, and lines of text that ``json_blocks``
could not take as a block, which is where problems get their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.lang.types import Scalar
from omnigraph.schema import Property
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.envelopes import EnvelopeReader, read_id
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.typed_rows import (
    TypedRows,
    batch_of,
    check_given_ids,
    describe,
    missing_text,
    report_faults,
)
from omnigraph.write.records.values import converter_of, shown

_ENDS: Final = frozenset({"src", "dst", "from", "to"})
_STORAGE: Final = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}
"""What Python integers are read as, where Arrow does not take them for the type itself."""


class RowReader:
    """Gathers the rows of records until they are asked for. Not shared between threads."""

    def __init__(self, schema: GraphSchema, problems: ProblemLog, source: str | None) -> None:
        self.row_count = 0
        self._envelopes = EnvelopeReader(schema)
        self._problems = problems
        self._source = source
        self._types: dict[str, TypeRows] = {}

    def add(self, record: Any, line: int) -> None:
        """Take a record, or tell what is wrong with it."""
        try:
            target, data, src, dst = self._envelopes.read(record)
        except Misfit as misfit:
            self.refuse(misfit, line)
            return
        rows = self._types.get(target.key)
        if rows is None:
            rows = self._types[target.key] = TypeRows(target)
        misfits = rows.add(data, src, dst, line)
        if misfits is None:
            self.row_count += 1
            return
        for each in misfits:
            self.refuse(each, line, target)

    def refuse(self, wrong: Misfit, line: int, target: TypeTable | None = None) -> None:
        """Note what is wrong with the record of a line."""
        self._problems.add(
            Problem(
                reason=wrong.reason,
                message=wrong.text,
                type_key=None if target is None else target.key,
                property=wrong.name,
                source=self._source,
                line=line,
            )
        )

    def take(self) -> Iterator[TypedRows]:
        """The rows so far, type by type in the order in which types appeared; the reader is empty again."""
        types, self._types, self.row_count = self._types, {}, 0
        for rows in types.values():
            if rows.lines:
                yield from rows.finish(self._problems, self._source)


class TypeRows:
    """Rows of one type as lists of stored values: id, ends of an edge, properties in the order of columns.

    Attributes:
        lines: of the rows so far.
    """

    def __init__(self, target: TypeTable) -> None:
        self.target = target
        self.lines: list[int] = []
        self._rows: list[list[Any]] = []
        self._known = {"id", *target.type.by_name}
        self._properties = [
            (name, converter_of(owned.type), owned)
            for name in target.schema.names
            if (owned := target.type.by_name.get(name)) is not None
        ]

    def add(self, data: Mapping[str, Any], src: str, dst: str, line: int) -> list[Misfit] | None:
        """Take a row; or leave it, and return everything that is wrong with it."""
        misfits: list[Misfit] = []
        row: list[Any] = [None] if self.target.kind == "node" else [None, src, dst]
        if not data.keys() <= self._known:
            misfits += [self._unknown(name) for name in data if name not in self._known]
        if "id" in data:
            try:
                row[0] = read_id(data["id"])
            except Misfit as misfit:
                misfits.append(self._wrong("id", misfit))
        for name, convert, owned in self._properties:
            value = data.get(name)
            if value is not None:
                try:
                    row.append(convert(value))
                except Misfit as misfit:
                    misfits.append(self._wrong(name, misfit))
            elif owned.type.is_nullable:
                row.append(None)
            else:
                misfits.append(self._missing(owned, is_null=name in data))
        if misfits:
            return misfits
        self._rows.append(row)
        self.lines.append(line)
        return None

    def finish(self, problems: ProblemLog, source: str | None) -> Iterator[TypedRows]:
        """The rows as Arrow, without those whose id is not the one that their key makes."""
        names = self.target.schema.names
        columns = {
            name: self._column(list(values), name)
            for name, values in zip(names, zip(*self._rows, strict=True), strict=True)
        }
        lines = np.array(self.lines, dtype=np.int64)
        columns["id"], faults = check_given_ids(self.target, columns, columns["id"])
        rows = batch_of(self.target, columns)
        if faults:
            report_faults(faults, problems, target=self.target, lines=lines, source=source)
            good = np.delete(np.arange(len(lines)), np.concatenate([each.rows for each in faults]))
            rows, lines = rows.take(pa.array(good)), lines[good]
        if rows.num_rows:
            yield TypedRows(target=self.target, rows=rows, lines=lines, source=source)

    def value(self, name: str, value: Any) -> pa.Array:
        """One value of a property, as a column of one row.

        Raises:
            Misfit: the property cannot hold it.
        """
        _, convert, owned = next(each for each in self._properties if each[0] == name)
        if value is None:
            if not owned.type.is_nullable:
                raise self._missing(owned, is_null=True)
            return self._column([None], name)
        try:
            return self._column([convert(value)], name)
        except Misfit as misfit:
            raise self._wrong(name, misfit) from None

    def _column(self, values: list[Any], name: str) -> pa.Array:
        wanted = self.target.schema.field(name).type
        owned = self.target.type.by_name.get(name)
        storage = None if owned is None else _STORAGE.get(owned.type.scalar)
        if owned is None or storage is None:
            return pa.array(values, wanted)
        return pa.array(values, pa.list_(storage) if owned.type.is_list else storage).cast(wanted)

    def _unknown(self, name: Any) -> Misfit:
        target = self.target
        text = f"unknown input field {shown(name)} of {target.name}"
        if target.kind == "edge" and name in _ENDS:
            text += '; the ends of an edge are "from" and "to", beside data'
        elif guess := closest(str(name), target.type.by_name):
            text += f', did you mean "{guess}"?'
        else:
            text += f"; its properties are: {listed(target.type.by_name)}"
        return Misfit(Reason.UNKNOWN_FIELD, text, name=str(name))

    def _wrong(self, name: str, value: Misfit) -> Misfit:
        return Misfit(value.reason, describe(self.target, name, value.text), name=name)

    def _missing(self, owned: Property, *, is_null: bool) -> Misfit:
        return Misfit(Reason.MISSING_REQUIRED, missing_text(self.target, owned, is_null=is_null), name=owned.name)
