"""From a node or edge type to the Arrow schema of its table: the *logical* schema, which all callers see.

    node   id, then the properties in ascending byte order of name
    edge   id, src, dst, then the properties in the same order

Each property field carries its stable number, so that a rename changes a name and nothing else. A Blob is
``large_binary`` here; ``physical_schema`` turns it into Lance's own blob column, the functions of this module are the
only ones that know both forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import lance
import pyarrow as pa
from lance.blob import BlobType

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema.ir_types import EdgeIR, NodeIR, PropertyIR

PROPERTY_ID: Final = b"omnigraph.stable_property_id"
"""Field metadata: the number of the property that a column holds."""

BLOB_MARK: Final = b"omnigraph.blob"
"""Field metadata of a Blob column; what tells it from other binary data."""

_SCALARS: Final[dict[Scalar, pa.DataType]] = {
    Scalar.STRING: pa.string(),
    Scalar.BLOB: pa.large_binary(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATETIME: pa.date64(),
    Scalar.DATE: pa.date32(),
}

ID: Final = pa.field("id", pa.string(), nullable=False)
SRC: Final = pa.field("src", pa.string(), nullable=False)
DST: Final = pa.field("dst", pa.string(), nullable=False)


def node_schema(node: NodeIR) -> pa.Schema:
    """The logical schema of a node type's table."""
    return pa.schema([ID, *_properties(node.properties)])


def edge_schema(edge: EdgeIR) -> pa.Schema:
    """The logical schema of an edge type's table."""
    return pa.schema([ID, SRC, DST, *_properties(edge.properties)])


def arrow_type(value: ValueType) -> pa.DataType:
    """The Arrow type of a property's values; the items of a list or vector may be null."""
    if value.scalar is Scalar.VECTOR:
        item = pa.list_(pa.field("item", pa.float32()), value.dimension)
    else:
        item = _SCALARS[value.scalar]
    return pa.list_(pa.field("item", item)) if value.is_list else item


def is_blob(field: pa.Field) -> bool:
    """Whether a field of a logical schema is a Blob column."""
    return field.metadata is not None and BLOB_MARK in field.metadata


def _properties(properties: Sequence[PropertyIR]) -> Iterator[pa.Field]:
    for each in sorted(properties, key=lambda found: found.name.encode()):
        metadata = {PROPERTY_ID: str(each.property_id).encode()}
        if each.type.scalar is Scalar.BLOB:
            metadata[BLOB_MARK] = b"true"
        yield pa.field(each.name, arrow_type(each.type), nullable=each.type.is_nullable, metadata=metadata)


# ── logical and physical ─────────────────────────────────────────────────────────────────────────────────────────


def physical_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that Lance stores: Blob columns in its blob format, all else as it is."""
    return pa.schema([_physical_field(each) for each in schema], metadata=schema.metadata)


def logical_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that callers see of what Lance stores."""
    return pa.schema([_logical_field(each) for each in schema], metadata=schema.metadata)


def physical_batch(batch: pa.RecordBatch, schema: pa.Schema, physical: pa.Schema) -> pa.RecordBatch:
    """Rows of a logical schema in the form that Lance stores."""
    columns = [
        _blob_column(column) if is_blob(field) else column for field, column in zip(schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=physical)


def _physical_field(field: pa.Field) -> pa.Field:
    if not is_blob(field):
        return field
    return lance.blob_field(field.name, nullable=field.nullable).with_metadata(field.metadata)


def _logical_field(field: pa.Field) -> pa.Field:
    if not isinstance(field.type, BlobType):
        return field
    metadata = {BLOB_MARK: b"true", **(field.metadata or {})}
    return pa.field(field.name, pa.large_binary(), nullable=field.nullable, metadata=metadata)


def _blob_column(column: pa.Array) -> pa.ExtensionArray:
    """Bytes as Lance's blob values. The mask keeps null apart from empty."""
    kind = BlobType()
    fields = [kind.storage_type.field(index) for index in range(kind.storage_type.num_fields)]
    parts = [column if each.name == "data" else pa.nulls(len(column), each.type) for each in fields]
    storage = pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    return pa.ExtensionArray.from_storage(kind, storage)
