"""``RowReader``: records, one by one, become rows of their types; everything wrong with one is told with its place.

The exact way: ``values`` judges every value. Records from Python come this way, and lines of text that ``json_blocks``
could not take as a block, which is where problems get their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.schema import Property
from omnigraph.write.embedding import optional_vectors
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.envelopes import EnvelopeReader, RowForm, read_id
from omnigraph.write.records.numpy_views import Mask
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.typed_rows import (
    TypedRows,
    batch_of,
    check_given_ids,
    describe,
    missing_text,
    only_true,
    report_faults,
    rows_within,
    stored_column,
)
from omnigraph.write.records.values import converter_of, shown

_ENDS: Final = frozenset({"src", "dst", "from", "to"})


class RowReader:
    """Gathers the rows of records until they are asked for. Not shared between threads.

    ``forms`` reads the outer form of each. ``batch_bytes`` is what the vectors of one batch may take, whether they are
    given or not.
    """

    def __init__(
        self, forms: EnvelopeReader | RowForm, problems: ProblemLog, source: str | None, *, batch_bytes: int
    ) -> None:
        self.row_count = 0
        self._batch_bytes = batch_bytes
        self._forms = forms
        self._problems = problems
        self._source = source
        self._types: dict[str, TypeRows] = {}

    def add(self, record: Any, line: int) -> None:
        """Take a record, or tell what is wrong with it."""
        try:
            target, data, src, dst = self._forms.read(record)
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
                yield from rows.finish(self._problems, self._source, batch_bytes=self._batch_bytes)


class TypeRows:
    """Rows of one type as lists of stored values: id, ends of an edge, properties in the order of columns.

    Attributes:
        lines: of the rows so far.
    """

    def __init__(self, target: TypeTable) -> None:
        self.target = target
        self.lines: list[int] = []
        self._rows: list[list[Any]] = []
        sources = {name: target.type.by_name[each.source] for name, each in optional_vectors(target).items()}
        self._unmade: dict[str, list[int]] = {name: [] for name in sources}
        self._known = {"id", *target.type.by_name}
        self._properties = [
            (name, converter_of(owned.type), owned.type.is_nullable, sources.get(name))
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
        for name, convert, is_nullable, source in self._properties:
            value = data.get(name)
            if value is not None:
                try:
                    row.append(convert(value))
                except Misfit as misfit:
                    misfits.append(self._wrong(name, misfit))
            elif source is not None and name not in data and _has_text(data, source):
                row.append(None)
                self._unmade[name].append(len(self._rows))
            elif is_nullable:
                row.append(None)
            else:
                misfits.append(self._missing(name, is_null=name in data))
        if misfits:
            for rows in self._unmade.values():
                if rows and rows[-1] == len(self._rows):
                    rows.pop()
            return misfits
        self._rows.append(row)
        self.lines.append(line)
        return None

    def finish(
        self, problems: ProblemLog, source: str | None, *, batch_bytes: int | None = None
    ) -> Iterator[TypedRows]:
        """The rows as Arrow, without those whose id is not the one that their key makes.

        They come in batches whose vectors, given or not, take at most ``batch_bytes``; None for a single batch.
        """
        step = (len(self.lines) or 1) if batch_bytes is None else rows_within(self.target, batch_bytes)
        unmade = {name: np.isin(np.arange(len(self.lines)), rows) for name, rows in self._unmade.items() if rows}
        for start in range(0, len(self.lines), step):
            part = slice(start, start + step)
            yield from self._finish_part(part, {name: mask[part] for name, mask in unmade.items()}, problems, source)

    def _finish_part(
        self, part: slice, unmade: Mapping[str, Mask], problems: ProblemLog, source: str | None
    ) -> Iterator[TypedRows]:
        names = self.target.schema.names
        columns = {
            name: self._column(list(values), name)
            for name, values in zip(names, zip(*self._rows[part], strict=True), strict=True)
        }
        lines = np.array(self.lines[part], dtype=np.int64)
        columns["id"], faults = check_given_ids(self.target, columns, columns["id"])
        rows = batch_of(self.target, columns)
        if faults:
            report_faults(faults, problems, target=self.target, lines=lines, source=source)
            good = np.delete(np.arange(len(lines)), np.concatenate([each.rows for each in faults]))
            rows, lines = rows.take(pa.array(good)), lines[good]
            unmade = {name: mask[good] for name, mask in unmade.items()}
        if rows.num_rows:
            yield TypedRows(target=self.target, rows=rows, lines=lines, source=source, unmade=only_true(unmade))

    def value(self, name: str, value: Any) -> pa.Array:
        """One value of a property, as a column of one row.

        Raises:
            Misfit: the property cannot hold it.
        """
        _, convert, is_nullable, _ = next(each for each in self._properties if each[0] == name)
        if value is None:
            if not is_nullable:
                raise self._missing(name, is_null=True)
            return self._column([None], name)
        try:
            return self._column([convert(value)], name)
        except Misfit as misfit:
            raise self._wrong(name, misfit) from None

    def _column(self, values: list[Any], name: str) -> pa.Array:
        wanted = self.target.schema.field(name).type
        owned = self.target.type.by_name.get(name)
        return pa.array(values, wanted) if owned is None else stored_column(values, wanted, owned.type)

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

    def _missing(self, name: str, *, is_null: bool) -> Misfit:
        text = missing_text(self.target, self.target.type.by_name[name], is_null=is_null)
        return Misfit(Reason.MISSING_REQUIRED, text, name=name)


def _has_text(data: Mapping[str, Any], source: Property) -> bool:
    # A source that must be there and is not is told by itself.
    return data.get(source.name) is not None or not source.type.is_nullable
