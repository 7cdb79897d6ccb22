"""Arrow data by type name becomes rows of these types, batch by batch, without a copy where types agree.

A table, a batch, a reader or a data frame is read as a stream. Its columns are the properties by name, ``id`` where
ids are given, and for an edge type ``src`` and ``dst``, or ``from`` and ``to``. What is wrong with the columns is told
once, what is wrong with rows by their ordinal, from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.errors import InvalidInputError
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.changes import Embedding
from omnigraph.write.embedding import optional_vectors
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.arrow_streams import ArrowStream, open_stream
from omnigraph.write.records.columns import FittedColumn, Misfits, fit_column
from omnigraph.write.records.envelopes import ENDS, EnvelopeReader
from omnigraph.write.records.ids import derive_ids
from omnigraph.write.records.numpy_views import Lines, Mask, true_rows
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.sources import ArrowSource
from omnigraph.write.records.typed_rows import (
    Fault,
    TypedRows,
    batch_of,
    check_given_ids,
    describe,
    missing_text,
    only_true,
    report_faults,
    vector_bytes,
)
from omnigraph.write.records.values import shown

_ID: Final = ValueType(Scalar.STRING)
Note = Callable[[str, pa.RecordBatch], None]
"""What is given each batch of a type, by the name that the type was given by."""

Fit = Callable[[pa.Array, pa.DataType, ValueType], FittedColumn]
"""What makes of a column that was given the one of a property; see ``fit_column``."""


def read_arrow(
    source: ArrowSource,
    schema: GraphSchema,
    problems: ProblemLog,
    *,
    chunk_rows: int,
    chunk_bytes: int,
    note: Note | None = None,
) -> Iterator[TypedRows]:
    """The rows of all types, one type after another, in batches within both bounds where a single row is.

    A type that is named and has no rows gives one batch without rows: an overwrite empties it. ``note`` is given each
    batch as it comes, after one without rows.
    """
    for name, data in source.data.items():
        try:
            target = find_target(name, schema)
        except Misfit as misfit:
            problems.add(Problem(reason=misfit.reason, message=misfit.text))
            continue
        stream = open_stream(name, data)
        if note is not None:
            stream = _noted(name, stream, note)
        layout = lay_out(target, [*stream.reader.schema.names, *stream.unreadable], problems)
        misfits = [*_column_misfits(target, stream)]
        for each in misfits:
            problems.add(_column_problem(target, each))
        if layout is None or misfits:
            continue
        ordinal = 1
        for batch in _cut_batches(stream.reader, layout, name, chunk_rows=chunk_rows, chunk_bytes=chunk_bytes):
            lines = np.arange(ordinal, ordinal + batch.num_rows)
            rows = read_batch(layout, batch, lines, problems)
            ordinal += batch.num_rows
            if rows is not None:
                yield rows


def find_target(name: Any, schema: GraphSchema) -> TypeTable:
    """The type of a name: ``Film``, or ``node:Film`` and ``edge:Film`` where both exist.

    Raises:
        Misfit: there is none, or there are two.
    """
    if not isinstance(name, str):
        raise Misfit(Reason.UNKNOWN_TYPE, f"Arrow data is given by the name of its type, and {shown(name)} is none")
    envelopes = EnvelopeReader(schema)
    kind, colon, bare = name.partition(":")
    if colon and kind in ("node", "edge"):
        return envelopes.find_node(bare) if kind == "node" else envelopes.find_edge(bare)
    edge = schema.catalog.find_edge(name)
    if name in schema.catalog.nodes:
        if edge is not None and edge.name == name:
            text = f'{name} is a node type and an edge type; say "node:{name}" or "edge:{name}"'
            raise Misfit(Reason.AMBIGUOUS_TYPE, text)
        return schema.node(name)
    if edge is not None:
        return schema.edge(edge.name)
    choices = [*schema.catalog.nodes, *schema.catalog.edges]
    guess = closest(name, choices)
    hint = f', did you mean "{guess}"?' if guess else f"; there are: {listed(choices)}"
    raise Misfit(Reason.UNKNOWN_TYPE, f'there is no node type or edge type "{name}"{hint}')


def _noted(name: str, stream: ArrowStream, note: Note) -> ArrowStream:
    """The same stream, of which each batch is noted as it is read."""
    schema = stream.reader.schema

    def noted() -> Iterator[pa.RecordBatch]:
        note(name, pa.RecordBatch.from_pylist([], schema=schema))
        for batch in stream.reader:
            note(name, batch)
            yield batch

    return replace(stream, reader=pa.RecordBatchReader.from_batches(schema, noted()))


def _cut_batches(
    reader: pa.RecordBatchReader, layout: Layout, name: str, *, chunk_rows: int, chunk_bytes: int
) -> Iterator[pa.RecordBatch]:
    is_empty = True
    added_bytes = vector_bytes(layout.target, [column for column, place in layout.places.items() if place is None])
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            break
        except pa.ArrowException as error:
            raise InvalidInputError(f"The Arrow data of {name} cannot be read: {error}.") from error
        row_bytes = batch.nbytes // max(1, batch.num_rows) + added_bytes + 1
        step = max(1, min(chunk_rows, chunk_bytes // row_bytes))
        is_empty = is_empty and not batch.num_rows
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)
    if is_empty:
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the columns of a type stand in the batches of a stream; None where they do not.

    Attributes:
        unmade: the vectors among the latter that can be made from a column that is there.
    """

    target: TypeTable
    places: dict[str, int | None]
    unmade: tuple[Embedding, ...]


def lay_out(
    target: TypeTable,
    given: Sequence[str],
    problems: ProblemLog,
    *,
    source: str | None = None,
    line: int | None = None,
) -> Layout | None:
    """The place of every column; None when the columns are wrong, which is told, of a text with its place."""
    found: list[Misfit] = []
    for name, count in Counter(given).items():
        if count > 1:
            found.append(Misfit(Reason.DUPLICATE_MEMBER, f'the column "{name}" occurs {count} times', name=name))
    known = {"id", *target.type.by_name}
    places: dict[str, int | None] = {}
    if target.kind == "edge":
        for end, names in ENDS.items():
            known.update(names)
            at = [given.index(name) for name in names if name in given]
            places[end] = at[0] if len(at) == 1 else None
            if len(at) != 1:
                what = "both are there" if at else "neither is there"
                text = f'an edge needs a column "{names[0]}" or "{names[1]}", and {what}'
                found.append(Misfit(Reason.BAD_ENVELOPE, text, name=names[1]))
    for name in target.schema.names:
        if name not in places:
            places[name] = given.index(name) if name in given else None
    found += [_unknown(target, name) for name in dict.fromkeys(given) if name not in known]
    unmade = {
        name: each
        for name, each in optional_vectors(target).items()
        # A source that must be there and is not is told by itself.
        if places[name] is None
        and (places[each.source] is not None or not target.type.by_name[each.source].type.is_nullable)
    }
    for owned in target.type.properties:
        if places[owned.name] is None and not owned.type.is_nullable and owned.name not in unmade:
            text = missing_text(target, owned, is_null=False)
            found.append(Misfit(Reason.MISSING_REQUIRED, text, name=owned.name))
    for misfit in found:
        problems.add(_column_problem(target, misfit, source, line))
    return None if found else Layout(target, places, tuple(unmade.values()))


def _column_misfits(target: TypeTable, stream: ArrowStream) -> Iterator[Misfit]:
    """The columns whose Arrow type can be that of no value of their property; all batches have these types."""
    for name, reason in stream.unreadable.items():
        if name in target.type.by_name:
            wanted = target.type.by_name[name].type
            text = f"expects {wanted}, got a column of values that have no Arrow type in common ({reason})"
            yield Misfit(Reason.WRONG_TYPE, describe(target, name, text), name=name)
    ends = {name: end for end, names in ENDS.items() for name in names} if target.kind == "edge" else {}
    for given in stream.reader.schema:
        name = ends.get(given.name, given.name)
        if name not in target.schema.names:
            continue
        owned = target.type.by_name.get(name)
        of = _ID if owned is None else owned.type
        try:
            fit_column(pa.array([], given.type), target.schema.field(name).type, of)
        except Misfit as misfit:
            yield Misfit(misfit.reason, describe(target, name, misfit.text), name=name)
        except pa.ArrowNotImplementedError:
            # Of a union not even an empty column can be made.
            text = f"expects {of}, got an Arrow column of {given.type}"
            yield Misfit(Reason.WRONG_TYPE, describe(target, name, text), name=name)


def _unknown(target: TypeTable, name: str) -> Misfit:
    guess = closest(name, target.type.by_name)
    hint = f', did you mean "{guess}"?' if guess else f"; its properties are: {listed(target.type.by_name)}"
    return Misfit(Reason.UNKNOWN_FIELD, f'unknown input field "{name}" of {target.name}{hint}', name=name)


def _column_problem(target: TypeTable, misfit: Misfit, source: str | None = None, line: int | None = None) -> Problem:
    return Problem(
        reason=misfit.reason,
        message=misfit.text,
        type_key=target.key,
        property=misfit.name,
        source=source,
        line=line,
    )


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_batch(
    layout: Layout,
    batch: pa.RecordBatch,
    lines: Lines,
    problems: ProblemLog,
    *,
    source: str | None = None,
    fit: Fit = fit_column,
) -> TypedRows | None:
    """The good rows of a batch; the others are told.

    Raises:
        Misfit: no column of this Arrow type can be one of the property.
    """
    target = layout.target
    columns: dict[str, pa.Array] = {}
    faults: list[Fault] = []
    for name, place in layout.places.items():
        owned = target.type.by_name.get(name)
        wanted = target.schema.field(name).type
        if place is None:
            columns[name] = pa.nulls(batch.num_rows, wanted)
            continue
        try:
            fitted = fit(batch.column(place), wanted, _ID if owned is None else owned.type)
        except Misfit as misfit:
            raise Misfit(misfit.reason, describe(target, name, misfit.text), name=name) from None
        columns[name] = fitted.values
        faults += _faults_of(target, name, fitted)
    unmade: dict[str, Mask] = {}
    for each in layout.unmade:
        unmade[each.property] = columns[each.source].is_valid().to_numpy(zero_copy_only=False)
        faults += _faults_of_unmade(target, each, unmade[each.property], faults)
    if faults:
        # Ids come of keys, so rows that are wrong go first.
        id_of = partial(_id_of, target, columns, {(each.property, row) for each in faults for row in each.rows})
        report_faults(faults, problems, target=target, lines=lines, source=source, id_of=id_of)
        columns, unmade, lines = _keep_good(columns, unmade, lines, faults)
    columns["id"], faults = check_given_ids(target, columns, columns["id"])
    if faults:
        report_faults(faults, problems, target=target, lines=lines, source=source)
        columns, unmade, lines = _keep_good(columns, unmade, lines, faults)
    if not len(lines) and batch.num_rows:
        return None
    rows = batch_of(target, columns)
    return TypedRows(target=target, rows=rows, lines=lines, source=source, unmade=only_true(unmade))


def _id_of(
    target: TypeTable, columns: Mapping[str, pa.Array], faulty: Collection[tuple[str, int]], row: int
) -> str | None:
    """The id of a row of which something is wrong; None where that is what its id is made of, or it gives none."""
    names = target.key_columns or ("id",)
    own = {name: columns[name].slice(row, 1) for name in names}
    if any((name, row) in faulty or each.null_count for name, each in own.items()):
        return None
    ids = derive_ids(target, own) if target.key_columns else own["id"]
    return str(ids[0].as_py())


def _faults_of(target: TypeTable, name: str, fitted: FittedColumn) -> list[Fault]:
    found = [_fault(target, name, each) for each in fitted.misfits]
    owned = target.type.by_name.get(name)
    is_required = name != "id" if owned is None else not owned.type.is_nullable
    if is_required and fitted.values.null_count:
        text = f"{target.name}.{name} is null" if owned is None else missing_text(target, owned, is_null=True)
        # A value that does not fit may have become null; it is told already.
        nulls = np.setdiff1d(true_rows(fitted.values.is_null()), [row for each in found for row in each.rows])
        found.append(Fault(nulls, Reason.MISSING_REQUIRED, lambda _: text, name))
    return found


def _faults_of_unmade(target: TypeTable, of: Embedding, has_text: Mask, found: list[Fault]) -> list[Fault]:
    """The rows whose vector is required and has no text to be made from."""
    owned = target.type.by_name[of.property]
    if owned.type.is_nullable or has_text.all():
        return []
    text = missing_text(target, owned, is_null=False)
    # A text that does not fit may have become null; it is told already.
    told = [row for each in found if each.property == of.source for row in each.rows]
    rows = np.setdiff1d(np.flatnonzero(~has_text), told)
    return [Fault(rows, Reason.MISSING_REQUIRED, lambda _: text, of.property)]


def _fault(target: TypeTable, name: str, misfits: Misfits) -> Fault:
    return Fault(misfits.rows, misfits.reason, lambda row: describe(target, name, misfits.tell(row)), name)


def _keep_good(
    columns: dict[str, pa.Array], unmade: dict[str, Mask], lines: Lines, faults: list[Fault]
) -> tuple[dict[str, pa.Array], dict[str, Mask], Lines]:
    good = np.delete(np.arange(len(lines)), np.unique(np.concatenate([each.rows for each in faults])))
    chosen = pa.array(good)
    return (
        {name: values.take(chosen) for name, values in columns.items()},
        {name: mask[good] for name, mask in unmade.items()},
        lines[good],
    )
