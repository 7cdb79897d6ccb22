"""A digest of what a load was given, by which two loads of one name are told apart.

    jsonl-sha256      the bytes of a file, a text or a stream, however they are cut into blocks
    records-sha256    records of Python, one after the other, each as JSON with its members in order of name
    arrow-sha256      Arrow data: for each type and column the values of all batches in turn, however rows are cut

It is made while the input is read for the load; where the load is known already, the input is read for the digest
alone and nothing of it is judged. The same rows in another form have another digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, time
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cancellation import check_cancelled
from omnigraph.write.records.arrow_streams import open_stream
from omnigraph.write.records.sources import ArrowSource, LoadInput, RecordSource, TextSource, open_source

Source = TextSource | RecordSource | ArrowSource

_t = pa.types
_SEPARATORS: Final = (",", ":")


class ContentDigest:
    """The digest of one input while it is read. Not shared between threads."""

    def __init__(self) -> None:
        self._form = "jsonl"
        self._hash = hashlib.sha256()
        self._columns: dict[tuple[str, ...], Any] = {}

    def watching(self, source: Source) -> Source:
        """The same source, noted as it is read; batches of Arrow are noted by ``add_batch``."""
        if isinstance(source, TextSource):
            return replace(source, blocks=self._noted_blocks(source.blocks))
        if isinstance(source, RecordSource):
            self._form = "records"
            return RecordSource(self._noted_records(source.records))
        self._form = "arrow"
        return source

    def add_batch(self, name: str, batch: pa.RecordBatch) -> None:
        """Note the rows of a batch of a type; one without rows notes its columns."""
        for column, values in zip(batch.schema, batch.columns, strict=True):
            self._add_array((name, column.name), values)

    def hexdigest(self) -> str:
        """The digest of all that was read, with the form that it was read in."""
        for path, part in sorted(self._columns.items()):
            self._hash.update(json.dumps([*path, part.hexdigest()]).encode())
        self._columns = {}
        return f"{self._form}-sha256:{self._hash.hexdigest()}"

    def _noted_blocks(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self._hash.update(block)
            yield block

    def _noted_records(self, records: Iterator[Any]) -> Iterator[Any]:
        for record in records:
            self._hash.update(_spelled_record(record))
            yield record

    def _add_array(self, path: tuple[str, ...], values: pa.Array) -> None:
        """Note values in parts that are plain sequences, so that the cuts between batches leave no trace."""
        values = _plain(values)
        kind = values.type
        self._add((*path, "valid"), values.is_valid().to_numpy(zero_copy_only=False))
        if _t.is_list(kind) or _t.is_large_list(kind) or _t.is_fixed_size_list(kind):
            lengths = pc.list_value_length(values).cast(pa.int64()).fill_null(-1)
            self._add((*path, "lengths"), lengths.to_numpy())
            self._add_array((*path, "items"), pc.list_flatten(values))
        elif _t.is_large_binary(kind):
            filled = values.fill_null(b"")
            self._add((*path, "lengths"), pc.binary_length(filled).cast(pa.int64()).to_numpy())
            self._add((*path, "bytes"), _joined(filled))
        elif _t.is_integer(kind) or _t.is_floating(kind) or _t.is_boolean(kind):
            zero = pa.scalar(0).cast(kind)
            self._add((*path, str(kind)), values.fill_null(zero).to_numpy(zero_copy_only=False))
        else:
            # Of types that no property has only the texts of their values are compared.
            self._add((*path, str(kind)), "".join(f"{each!r}\n" for each in values.to_pylist()).encode())

    def _add(self, path: tuple[str, ...], part: Any) -> None:
        found = self._columns.get(path)
        if found is None:
            found = self._columns[path] = hashlib.sha256()
        found.update(np.ascontiguousarray(part).data if isinstance(part, np.ndarray) else part)


def digest_of(data: LoadInput) -> str:
    """The digest of an input, which is read for nothing else; what can be read only once is used up.

    Raises:
        InvalidInputError: the input as a whole cannot be read.
        StorageError: a file could not be read.
    """
    digest = ContentDigest()
    source = digest.watching(open_source(data))
    if isinstance(source, TextSource):
        for _ in source.blocks:
            check_cancelled()
    elif isinstance(source, RecordSource):
        for _ in source.records:
            check_cancelled()
    else:
        for name, each in source.data.items():
            reader = open_stream(name, each).reader
            digest.add_batch(name, pa.RecordBatch.from_pylist([], schema=reader.schema))
            for batch in reader:
                check_cancelled()
                digest.add_batch(name, batch)
    return digest.hexdigest()


def _spelled_record(record: Any) -> bytes:
    try:
        return json.dumps(record, sort_keys=True, separators=_SEPARATORS, default=_spelled).encode() + b"\n"
    except (TypeError, ValueError, RecursionError):
        # No record of the schema: the load refuses it.
        return f"{type(record).__name__}\n".encode()


def _spelled(value: Any) -> Any:
    """What JSON has no form for, as texts and lists."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": base64.b64encode(value).decode()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _plain(values: pa.Array) -> pa.Array:
    """Values without an encoding that only saves space; texts and bytes as bytes, dates and times as integers."""
    while _is_wrapped(values.type):
        if _t.is_dictionary(values.type):
            values = values.dictionary_decode()
        elif _t.is_run_end_encoded(values.type):
            values = pc.run_end_decode(values)
        else:
            values = values.storage
    kind = values.type
    if _t.is_null(kind):
        return values.cast(pa.bool_())
    if _t.is_string(kind) or _t.is_large_string(kind) or _t.is_string_view(kind):
        return values.cast(pa.large_string()).cast(pa.large_binary())
    if _t.is_binary(kind) or _t.is_binary_view(kind) or _t.is_fixed_size_binary(kind):
        return values.cast(pa.large_binary())
    if _t.is_date32(kind):
        return values.cast(pa.int32())
    if _t.is_timestamp(kind) or _t.is_date64(kind):
        return values.cast(pa.int64())
    return values


def _is_wrapped(kind: pa.DataType) -> bool:
    return bool(_t.is_dictionary(kind) or _t.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType))


def _joined(values: pa.Array) -> bytes:
    """All values, one after the other; none of them is null."""
    ends = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    return b"" if data is None or not len(values) else bytes(memoryview(data)[ends[0] : ends[-1]])
