"""Rows that take the place of others, whose addresses are known: nothing of the table is searched or read for it.

    new file    the rows that replace, then those that are new
    marks       the rows that they replace, and others that go, are marked as deleted, by address
    row ids     the rows that replace keep the stable ids of those they replace

Lance's own merge looks for every key in every part that no index covers; one row into a table of a thousand small
parts takes a thousand reads. Whoever knows where a row lies pays for its part only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.fragment import FragmentMetadata, RowIdSequence

from omnigraph.errors import InternalError
from omnigraph.tables.arrow_schema import logical_schema
from omnigraph.tables.deleting import Addresses, distinct_addresses, mark_deleted
from omnigraph.tables.failures import translating
from omnigraph.tables.filters import ROW_ADDRESS, addresses_filter
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import WrittenRows
from omnigraph.tables.parts import MAX_ADDRESSES_IN_FILTER, fragments_of
from omnigraph.tables.sessions import Session
from omnigraph.tables.staging import blob_directories, data_files, deletion_files, new_fragments, planned

if TYPE_CHECKING:
    # Only Lance's stubs know it by this name.
    from lance.lance.schema import LanceField

_ROW_ID: Final = "_rowid"
_WITH_THE_ROWS: Final = '"Column"'
"""What a part says of its row ids when they are a column of its files."""

_PART_BITS: Final = np.uint64(32)
_OFFSETS: Final = np.uint64(0xFFFF_FFFF)


def stage_replace(
    base: LanceSnapshot,
    rows: pa.Table | Sequence[WrittenRows],
    addresses: pa.Array,
    *,
    removed: pa.Array | None,
    session: Session,
) -> LanceStaged:
    """Rows of which the first take the places of those at the addresses, in this order; the others are new.

    Rows at the addresses ``removed`` go with those that are replaced.

    Raises:
        InternalError: there are more addresses than rows, one comes twice, or there is no row at one.
    """
    replaced = distinct_addresses(addresses)
    gone_too = pa.array([], pa.uint64()) if removed is None else removed
    leaving = distinct_addresses(pa.concat_arrays([addresses.cast(pa.uint64()), gone_too]))
    fragments = new_fragments(base, rows, session=session)
    if len(replaced) > sum(each.physical_rows for each in fragments):
        raise InternalError(f"{len(replaced)} rows cannot be replaced by fewer.")
    with translating("write", base.place.uri):
        changed, gone = mark_deleted(base.dataset, leaving)
        written = _with_row_ids(fragments, _row_ids(base.dataset, replaced))
    return staged_update(base, written, changed, gone)


def staged_update(
    base: LanceSnapshot, new: Sequence[FragmentMetadata], changed: Sequence[FragmentMetadata], gone: Sequence[int]
) -> LanceStaged:
    """New parts, some of whose rows replace others, parts with marks on those, and the numbers of parts that go."""
    dataset, place = base.dataset, base.place
    operation = LanceOperation.Update(
        removed_fragment_ids=list(gone),
        updated_fragments=list(changed),
        new_fragments=list(new),
        # Lance lets an index of a column that is not named here cover the new part by what it knows of the old rows.
        fields_for_preserving_frag_bitmap=_column_numbers(dataset.lance_schema.fields()),
        update_mode="rewrite_rows",
    )
    return LanceStaged(
        kind=StagedKind.UPSERT,
        location=base.pin.location,
        place=place,
        base=base.pin,
        transaction=planned(StagedKind.UPSERT, operation, read_version=base.pin.version),
        files=(*data_files(new, place), *deletion_files(changed, place)),
        blob_directories=blob_directories(new, place, logical_schema(dataset.schema)),
    )


def _column_numbers(fields: Iterable[LanceField]) -> list[int]:
    """The numbers of columns and of all that is nested in them."""
    return [number for each in fields for number in (each.id(), *_column_numbers(each.children()))]


def _row_ids(dataset: LanceDataset, addresses: Addresses) -> list[int]:
    """The stable ids of the rows at these addresses, in their order."""
    found = np.empty(len(addresses), np.uint64)
    numbers = addresses >> _PART_BITS
    for fragment in fragments_of(dataset, np.unique(numbers).tolist()):
        here = numbers == fragment.fragment_id
        found[here] = _ids_in(dataset, fragment, addresses[here])
    return [int(each) for each in found]


def _ids_in(dataset: LanceDataset, fragment: LanceFragment, addresses: Addresses) -> Addresses:
    """The stable ids of rows of one part: the manifest knows them, or they lie with the rows."""
    meta = fragment.metadata.row_id_meta
    if meta is None:
        raise InternalError(f"Part {fragment.fragment_id} of {dataset.uri} has no stable row ids.")
    if meta.json() != _WITH_THE_ROWS:
        return np.asarray(RowIdSequence.from_inline_metadata(meta).to_pyarrow().to_numpy()[addresses & _OFFSETS])
    # Lance reads them as a whole, once, and keeps them in its session.
    wanted = addresses_filter(addresses.tolist()) if len(addresses) <= MAX_ADDRESSES_IN_FILTER else None
    rows = dataset.scanner(
        columns=[], filter=wanted, with_row_id=True, with_row_address=True, fragments=[fragment]
    ).to_table()
    known, ids = rows[ROW_ADDRESS].to_numpy(), rows[_ROW_ID].to_numpy()
    order = np.argsort(known)
    return np.asarray(ids[order[np.searchsorted(known, addresses, sorter=order)]])


def _with_row_ids(fragments: Sequence[FragmentMetadata], ids: Sequence[int]) -> list[FragmentMetadata]:
    """New parts whose first rows have these ids; the others get theirs with the commit."""
    made, taken = [], 0
    for each in fragments:
        own = ids[taken : taken + each.physical_rows]
        taken += len(own)
        made.append(dataclasses.replace(each, row_id_meta=RowIdSequence(own).to_inline_metadata()) if own else each)
    return made
