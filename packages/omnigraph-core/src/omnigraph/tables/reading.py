"""Rows out of one version: streams, counts and look-ups by key.

A stream holds a few batches at a time. Blobs may be large, so a stream that carries them has small batches. What Lance
raises while a stream is read becomes a ``StorageError`` too, long after the call that made it returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset

from omnigraph.cancellation import check_cancelled
from omnigraph.tables.arrow_schema import is_blob, logical_schema
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error, translating
from omnigraph.tables.filters import ROW_ADDRESS, scan_batches
from omnigraph.tables.native_calls import each_waited_for
from omnigraph.tables.row_filters import OneOf, RowFilter

MAX_KEYS_IN_PREDICATE: Final = 10_000
"""Beyond this one pass over the key column is cheaper than a predicate that names every key."""

ADDRESS_FIELD: Final = pa.field(ROW_ADDRESS, pa.uint64(), nullable=False)

BATCH_ROWS: Final = 8_192
BLOB_BATCH_ROWS: Final = 32


def read_rows(
    dataset: LanceDataset,
    *,
    columns: Sequence[str] | None = None,
    predicate: RowFilter | None = None,
    with_address: bool = False,
    holding: object = None,
) -> pa.RecordBatchReader:
    """The rows of a version with the logical schema, as a stream that keeps ``holding`` alive."""
    schema = projected(logical_schema(dataset.schema), columns)
    with translating("read", dataset.uri):
        batches = scan_batches(dataset, schema.names, predicate, with_row_address=with_address, **scan_options(schema))
    return stream(batches, schema.append(ADDRESS_FIELD) if with_address else schema, dataset.uri, holding=holding)


def count_rows(dataset: LanceDataset, predicate: RowFilter | None = None) -> int:
    """How many rows of a version match; without a predicate the manifest knows."""
    with translating("count the rows of", dataset.uri):
        if predicate is None:
            return int(dataset.count_rows())
        return sum(len(batch) for batch in scan_batches(dataset, [], predicate, with_row_address=True))


def look_up(
    dataset: LanceDataset,
    keys: pa.Array,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    with_address: bool = False,
) -> pa.Table:
    """The rows with these keys, in no order."""
    schema = projected(logical_schema(dataset.schema), columns)
    given = schema.append(ADDRESS_FIELD) if with_address else schema
    if len(keys) == 0:
        return given.empty_table()
    if len(keys) <= MAX_KEYS_IN_PREDICATE:
        return read_rows(dataset, columns=columns, predicate=OneOf(key, keys), with_address=with_address).read_all()
    names = schema.names if key in schema.names else [*schema.names, key]
    found = [
        batch.filter(pc.is_in(batch[key], value_set=keys)).select(given.names)
        for batch in read_rows(dataset, columns=names, with_address=with_address)
    ]
    return pa.Table.from_batches(found, schema=given)


def addresses_matching(dataset: LanceDataset, predicate: RowFilter) -> pa.ChunkedArray:
    """Where the rows lie that match: fragment in the upper, offset in the lower 32 bits."""
    with translating("read", dataset.uri):
        batches = scan_batches(dataset, [], predicate, with_row_address=True)
        return pa.chunked_array([batch[ROW_ADDRESS] for batch in batches], pa.uint64())


def addresses_of_keys(dataset: LanceDataset, keys: pa.Array, *, key: str) -> pa.ChunkedArray:
    """Where the rows with these keys lie."""
    if len(keys) <= MAX_KEYS_IN_PREDICATE:
        return addresses_matching(dataset, OneOf(key, keys))
    with translating("read", dataset.uri):
        batches = dataset.scanner(columns=[key], with_row_address=True).to_reader()
        found = [batch.filter(pc.is_in(batch[key], value_set=keys))[ROW_ADDRESS] for batch in batches]
    return pa.chunked_array(found, pa.uint64())


def projected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """The fields of these columns, in the order asked for."""
    if columns is None:
        return schema
    return pa.schema([schema.field(each) for each in columns], metadata=schema.metadata)


def scan_options(schema: pa.Schema) -> dict[str, Any]:
    """How to scan columns of this logical schema in bounded memory."""
    if any(is_blob(each) for each in schema):
        return {
            "blob_handling": "all_binary",
            "batch_size": BLOB_BATCH_ROWS,
            "batch_readahead": 1,
            "fragment_readahead": 1,
        }
    return {"batch_size": BATCH_ROWS}


def stream(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, uri: str, *, holding: object = None
) -> pa.RecordBatchReader:
    """Batches of Lance under the logical schema, with Lance's exceptions translated as they come.

    ``holding`` stays alive as long as the stream.
    """
    waited = each_waited_for(batches)

    def translated(_: object) -> Iterator[pa.RecordBatch]:
        try:
            for batch in waited:
                check_cancelled()
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except LANCE_ERRORS as error:
            raise as_storage_error(error, "read", uri) from error

    return pa.RecordBatchReader.from_batches(schema, translated(holding))
