"""The parts of a version, and rows by their address: what a cache needs to follow a table from version to version.

A version is a list of immutable parts (Lance's fragments). What was written stays where it is: a commit adds parts,
gives parts another list of deleted rows, or drops them. So two versions are compared by the names of their files,
without a request, and a row is found again by its address: number of its part << 32 | offset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance import LanceDataset, LanceFragment

from omnigraph.errors import InternalError
from omnigraph.tables.arrow_schema import is_blob, logical_schema
from omnigraph.tables.failures import translating
from omnigraph.tables.filters import ROW_ADDRESS, addresses_filter, scan_batches
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.interface import TablePart
from omnigraph.tables.reading import ADDRESS_FIELD, projected, scan_options, stream
from omnigraph.tables.row_filters import RowFilter

SCAN_SHARE: Final = 8
"""When one row in so many is wanted, a pass over the parts is cheaper than fetching them."""

MAX_PARTS_IN_TURN: Final = 4
"""Rows of few parts are fetched part by part; of many by a filter, which Lance answers for all of them at once."""

MAX_ADDRESSES_IN_FILTER: Final = 2_000
"""A filter names every address, and takes longer to read than the rows when there are more."""

Addresses = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.uint32]
"""Offsets of rows in a part, ascending."""

_NONE: Final[Offsets] = np.empty(0, np.uint32)


def parts_of(snapshot: LanceSnapshot) -> tuple[TablePart, ...]:
    """What a version is made of, by ascending number; its manifest knows."""
    return snapshot.once("parts", _list)


def fragments_of(dataset: LanceDataset, numbers: Sequence[int]) -> list[LanceFragment]:
    """The parts with these numbers as Lance knows them, ascending.

    Raises:
        InternalError: one is none of this version.
    """
    found = []
    for number in sorted(set(numbers)):
        fragment = dataset.get_fragment(number)
        if fragment is None:
            raise InternalError(f"There is no part {number} in version {dataset.version} of {dataset.uri}.")
        found.append(fragment)
    return found


def read_parts(
    dataset: LanceDataset,
    *,
    columns: Sequence[str] | None,
    predicate: RowFilter | None,
    parts: Sequence[int] | None,
    with_address: bool,
    holding: object,
) -> pa.RecordBatchReader:
    """Rows of some parts or of all, with or without their addresses, as a stream that keeps ``holding`` alive."""
    schema = projected(logical_schema(dataset.schema), columns)
    options = scan_options(schema)
    if parts is not None:
        options["fragments"] = fragments_of(dataset, parts)
    given = schema.append(ADDRESS_FIELD) if with_address else schema
    with translating("read", dataset.uri):
        batches = scan_batches(dataset, schema.names, predicate, with_row_address=with_address, **options)
    return stream(batches, given, dataset.uri, holding=holding)


def take_rows(
    dataset: LanceDataset,
    addresses: pa.Array,
    columns: Sequence[str],
    *,
    deleted: Mapping[int, Offsets] = MappingProxyType({}),
) -> pa.Table:
    """The rows at these addresses, in the order asked for; ``deleted`` are the lists of parts that are known anyway.

    Raises:
        InternalError: no row is at one of them.
    """
    schema = projected(logical_schema(dataset.schema), columns)
    asked = np.asarray(addresses, np.uint64)
    if not len(asked):
        return schema.empty_table()
    wanted = np.unique(asked)
    with translating("read", dataset.uri):
        found = _rows_at(dataset, wanted, schema, deleted)
    if len(found) != len(wanted):
        raise InternalError(
            f"{len(wanted) - len(found)} of {len(wanted)} addresses have no row in version {dataset.version} of "
            f"{dataset.uri}."
        )
    if len(wanted) == len(asked) and np.array_equal(wanted, asked):
        return found
    return found.take(pa.array(np.searchsorted(wanted, asked)))


def _rows_at(dataset: LanceDataset, wanted: Addresses, schema: pa.Schema, deleted: Mapping[int, Offsets]) -> pa.Table:
    """The rows at these ascending addresses, in this order; those that are not there are left out."""
    fragments = fragments_of(dataset, [int(each) for each in np.unique(wanted >> np.uint64(32))])
    is_dense = len(wanted) * SCAN_SHARE >= sum(each.metadata.num_rows for each in fragments)
    can_take = bool(schema.names) and not any(is_blob(each) for each in schema)
    # Lance's take counts only rows that are there, so it has to be known which are not.
    is_known = all(each.metadata.deletion_file is None or each.fragment_id in deleted for each in fragments)
    is_plain = len(fragments) <= MAX_PARTS_IN_TURN and is_known
    if can_take and not is_dense and (is_plain or len(wanted) > MAX_ADDRESSES_IN_FILTER):
        return pa.concat_tables(_taken(dataset, each, wanted, schema, deleted) for each in fragments)
    options = scan_options(schema) | {"with_row_address": True, "fragments": fragments}
    predicate = None if is_dense else addresses_filter(wanted.tolist())
    kept = []
    for batch in scan_batches(dataset, schema.names, predicate, **options):
        rows = pa.RecordBatch.from_arrays(batch.columns[:-1], schema=schema)
        kept.append(rows.filter(pa.array(_among(batch[ROW_ADDRESS].to_numpy(), wanted))))
    return pa.Table.from_batches(kept, schema=schema)


def _taken(
    dataset: LanceDataset,
    fragment: LanceFragment,
    wanted: Addresses,
    schema: pa.Schema,
    deleted: Mapping[int, Offsets],
) -> pa.Table:
    """Rows of one part by Lance's own take, which counts only the rows that are there."""
    number = fragment.fragment_id
    first = np.uint64(number << 32)
    low, high = np.searchsorted(wanted, [first, first + np.uint64(1 << 32)])
    here = wanted[low:high]
    if fragment.metadata.deletion_file is None or number in deleted:
        offsets, gone = here - first, deleted.get(number, _NONE)
        offsets = offsets[(offsets < fragment.physical_rows) & ~_among(offsets, gone)]
        places = (offsets - np.searchsorted(gone, offsets).astype(np.uint64)).tolist()
    else:
        scanner = dataset.scanner(columns=[], with_row_address=True, fragments=[fragment])
        live = scanner.to_table()[ROW_ADDRESS].to_numpy()
        places = np.searchsorted(live, here[_among(here, live)]).tolist()
    return fragment.take(places, columns=schema.names).cast(schema) if places else schema.empty_table()


def _among(some: Addresses, ascending: Addresses | Offsets) -> npt.NDArray[np.bool_]:
    """For each number whether it is one of the others."""
    if not len(ascending):
        return np.zeros(len(some), np.bool_)
    return np.asarray(ascending[np.searchsorted(ascending, some).clip(max=len(ascending) - 1)] == some)


def _list(snapshot: LanceSnapshot) -> tuple[TablePart, ...]:
    return tuple(sorted((_part(each) for each in snapshot.dataset.get_fragments()), key=lambda part: part.number))


def _part(fragment: LanceFragment) -> TablePart:
    facts = fragment.metadata
    deletions = facts.deletion_file
    return TablePart(
        number=fragment.fragment_id,
        # Each look at ``path`` makes a class, and there may be hundreds of parts.
        files=" ".join(each._path for each in facts.files),  # noqa: SLF001
        # The name holds all that tells deletion files apart: part, version, a random number, the form.
        deletions=None if deletions is None else deletions.path(fragment.fragment_id),
        row_count=facts.physical_rows,
        live_count=facts.num_rows,
        byte_count=sum(each.file_size_bytes or 0 for each in facts.files),
    )
