"""The bulk door: rows written by other processes, published by one.

    ticket = g.bulk()                         here: what to write to, as a value that pickles
    receipt = ticket.write("Film", batches)   there, in any number of processes: files, checked row by row
    g.bulk_publish(receipts)                  here: judged together, one plan, one commit

A ticket holds the pins, the schema and the place. A receipt is plain JSON. What was written and never published is
litter that the receipt's load id attributes; no version knows of it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.history.ulids import new_ulid
from omnigraph.plugins import open_adapter
from omnigraph.tables.interface import TablePin, TableStorage, WrittenRows
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.write.buffers import SPILL_BYTES, TypeBuffer, WaitingRows, spill_largest
from omnigraph.write.changeset import NewRows
from omnigraph.write.forks import Forks
from omnigraph.write.load import (
    LoadMode,
    LoadRequest,
    LoadResult,
    RepeatedLoadError,
    find_load,
    publish_rows,
    result_of,
    schema_moved,
)
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records import read_records
from omnigraph.write.stage import AttemptFiles, Incoming
from omnigraph.write.unmade_rows import UnmadeRows
from omnigraph.write.validation.edge_ids import merge_tuple

RECEIPT_FORMAT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkReceipt:
    """What one ``ticket.write`` wrote.

    Attributes:
        load_id: names the load that it belongs to.
        schema_digest: the schema by which the rows were checked.
        pin: the version of the type that the branch showed when the ticket was made.
        written: the files, in order; they lie below the line of that version, or of a fork of it.
        minted: how many of the rows got their id there.
        staged_at: the manifest version that the ticket knew; a fence since then voids the files.
    """

    load_id: str
    schema_digest: str
    type_key: str
    pin: TablePin
    written: tuple[WrittenRows, ...]
    row_count: int
    minted: int
    staged_at: int

    def to_json(self) -> str:
        return json.dumps({"format": RECEIPT_FORMAT, **asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> BulkReceipt:
        """The receipt whose ``to_json`` this is.

        Raises:
            InvalidInputError: it is none.
        """
        try:
            facts = json.loads(text)
            is_ours = facts.pop("format") == RECEIPT_FORMAT
            written = tuple(
                WrittenRows(**(each | {"fragments": tuple(each["fragments"])})) for each in facts.pop("written")
            )
            receipt = cls(**facts | {"pin": TablePin(**facts["pin"])}, written=written)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_receipt(str(error)) from error
        if not is_ours:
            raise _no_receipt("it has another format")
        return receipt


def _no_receipt(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"This is no receipt of a bulk write: {why}.",
        help="Pass what ticket.write returned, or its to_json(), unchanged.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkTicket:
    """Leave to write rows for one load. It pickles, with the options that reach the store; mind who reads it.

    Attributes:
        load_id: names the load; in the receipts, and later in the commit.
        pins: of the types that may be written, by table key: what the branch shows.
        bases: the versions that rows are written beside, by table key: the same, or forks of them.
    """

    uri: str
    options: Mapping[str, Any] = field(repr=False)
    load_id: str
    branch: str
    schema: GraphSchema = field(repr=False)
    pins: Mapping[str, TablePin] = field(repr=False)
    bases: Mapping[str, TablePin] = field(repr=False)
    manifest_version: int

    def write(self, type_name: str, rows: Any) -> BulkReceipt:
        """Check rows and write them to files beside their table, in bounded memory; nothing becomes visible.

        Args:
            type_name: ``Film``, or ``node:Film`` and ``edge:Film`` where both exist.
            rows: an Arrow table, batch, reader, or anything with ``__arrow_c_stream__``.

        Raises:
            InvalidInputError: rows that are no rows of the type; nothing to publish was written.
            EmbeddingError: the embedder of this process failed to make a vector that was left out.
            NotFoundError: the ticket is not for this type.
        """
        problems = ProblemLog()
        with open_adapter(self.uri, options=dict(self.options), verify=False) as adapter:
            tables: TableStorage = LanceTables(adapter)
            buffer: TypeBuffer | None = None
            unmade = UnmadeRows()
            for typed in read_records({type_name: rows}, self.schema, problems):
                buffer = buffer or self._buffer(typed.target, tables)
                if not problems and not unmade.take(typed):
                    buffer.add(typed)
                    spill_largest([buffer], SPILL_BYTES)
            problems.raise_invalid()
            if buffer is not None:
                for typed in unmade.with_vectors():
                    buffer.add(typed)
                    spill_largest([buffer], SPILL_BYTES)
            if buffer is None or not buffer.row_count:
                raise InvalidInputError(
                    f"There are no rows of {type_name} to write.", help="Leave out writes of nothing."
                )
            written = buffer.write_out()
        return BulkReceipt(
            load_id=self.load_id,
            schema_digest=self.schema.digest,
            type_key=buffer.target.key,
            pin=self.pins[buffer.target.key],
            written=written,
            row_count=buffer.row_count,
            minted=buffer.minted,
            staged_at=self.manifest_version,
        )

    def _buffer(self, target: TypeTable, tables: TableStorage) -> TypeBuffer:
        base = self.bases.get(target.key)
        if base is None:
            raise NotFoundError(
                f"This ticket is not for {target.key}.",
                help=f"It is for: {', '.join(sorted(self.pins))}. Ask for one with g.bulk(types=[...]).",
                details={"type": target.key},
            )
        return TypeBuffer(target, lambda: base, tables, waits_for_ids=False)


def make_ticket(repository: Repository, types: Sequence[TypeTable], *, branch: str, load_id: str | None) -> BulkTicket:
    """A ticket for these types on the branch as it is now."""
    snapshot = repository.snapshot(repository.newest(branch))
    pins = {each.key: snapshot.entry(each).pin for each in types}
    forks = Forks(repository)
    return BulkTicket(
        uri=str(repository.adapter.root),
        options=dict(repository.adapter.options),
        load_id=load_id or new_ulid(),
        branch=branch,
        schema=snapshot.schema,
        pins=pins,
        # The processes that write do not know of each other, so that none of them can make what all of them use.
        bases={key: forks.base_of(snapshot.branch, pin) for key, pin in pins.items()},
        manifest_version=snapshot.state.version,
    )


def publish_receipts(repository: Repository, receipts: Sequence[BulkReceipt | str], request: LoadRequest) -> LoadResult:
    """Publish what tickets wrote, as one commit; a second time for the same load does nothing.

    Raises:
        InvalidInputError: receipts of several loads, or one that is none.
        ConstraintError: the rows together break a rule of the schema; nothing is visible.
        HeadMovedError: the schema changed since the ticket was made.
    """
    kept = [BulkReceipt.from_json(each) if isinstance(each, str) else each for each in receipts]
    loads = sorted({each.load_id for each in kept} | ({request.load_id} if request.load_id else set()))
    if len(loads) != 1:
        raise InvalidInputError(
            f"One bulk publish is for one load; these are {', '.join(loads) or 'no'} loads.",
            help="Publish the receipts of each ticket by themselves, with load_id as the ticket says.",
            details={"load_ids": loads},
        )
    request = LoadRequest(mode=request.mode, branch=request.branch, actor=request.actor, load_id=loads[0])
    by_type: dict[str, list[BulkReceipt]] = defaultdict(list)
    for each in kept:
        by_type[each.type_key].append(each)
    log = repository.known(request.branch)
    schema = repository.snapshot(log).schema
    counts = {schema.tables[key]: sum(each.row_count for each in own) for key, own in sorted(by_type.items())}
    earlier = find_load(repository, request)
    if earlier is not None:
        return result_of(request, counts, earlier)
    _refuse_other_schema(kept, schema, log)
    incoming = tuple(_incoming(repository, schema.tables[key], own, request) for key, own in sorted(by_type.items()))
    files = AttemptFiles(repository)
    for each in kept:
        for line in {rows.branch for rows in each.written}:
            base = replace(each.pin, branch=line)
            # A ticket of another branch wrote to that one's lines, and nothing may be built there.
            if log.branch.owns(base):
                files.forks.know(each.pin, base)
    staged_at = min(each.staged_at for each in kept)
    try:
        published = publish_rows(repository, incoming, schema, request, files, start=log, staged_at=staged_at)
    except RepeatedLoadError as again:
        return result_of(request, counts, again.commit)
    return result_of(request, counts, published.commit)


def _incoming(
    repository: Repository, target: TypeTable, receipts: Sequence[BulkReceipt], request: LoadRequest
) -> Incoming:
    row_count = sum(each.row_count for each in receipts)
    minted = sum(each.minted for each in receipts)
    rows = NewRows(written=tuple(file for each in receipts for file in each.written), row_count=row_count)
    waits = request.mode is LoadMode.MERGE and minted > 0 and merge_tuple(target) is not None
    if waits:
        if minted != row_count:
            raise InvalidInputError(
                f"Of the {row_count:,} edges of {target.name}, {minted:,} have no id and the others have one.",
                help="A bulk merge by @unique needs ids for all edges of a type or for none.",
                details={"type": target.key},
            )
        rows = _without_ids(repository, target, rows)
    return Incoming(
        target=target,
        mode=request.mode.change_mode,
        rows=rows,
        ids_are_fresh=minted == row_count and not waits,
        waits_for_ids=waits,
    )


def _without_ids(repository: Repository, target: TypeTable, rows: NewRows) -> NewRows:
    """The same rows with open ids, so that they can take those of the edges that they replace."""
    waiting = WaitingRows(target.schema)
    for batch in rows.read(repository.tables, target.schema.names):
        waiting.add([batch.set_column(0, "id", pa.nulls(batch.num_rows, pa.string()))])
    return NewRows(table=waiting.map(), row_count=rows.row_count)


def _refuse_other_schema(receipts: Sequence[BulkReceipt], schema: GraphSchema, log: ManifestLog) -> None:
    other = next((each for each in receipts if each.schema_digest != schema.digest), None)
    if other is not None:
        raise schema_moved(log, other.staged_at, help="Ask for a new ticket and write the rows again.")
