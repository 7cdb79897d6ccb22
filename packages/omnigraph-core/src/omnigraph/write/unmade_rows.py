"""``UnmadeRows``: rows that leave vectors out, held until every record is read, and then given their vectors.

    TypedRows ──> held: in memory while they are few, in a temporary file beyond that ──> embedded ──> TypedRows

An embedder costs time and money, so nobody is asked for an input that is refused in the end. Nulls in a column of
vectors take the space of vectors; rows are held without that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.history.schemas import TypeTable
from omnigraph.plan.changes import Embedding
from omnigraph.write.buffers import WaitingRows
from omnigraph.write.embedding import embed_documents, embeddings_of
from omnigraph.write.records.numpy_views import Mask, raw_values
from omnigraph.write.records.typed_rows import TypedRows, rows_within

HELD_BYTES: Final = 16 * 1024 * 1024
"""How much is held in memory, all types together."""

WINDOW_ROWS: Final = 1_024
WINDOW_BYTES: Final = 8 * 1024 * 1024
"""How many rows get their vectors at once, and what these vectors take."""

_LINE: Final = "its line"
_FOLDED: Final = pa.list_(pa.float32())


class UnmadeRows:
    """Rows of one load that wait for vectors. Not shared between threads."""

    def __init__(self) -> None:
        self._types: dict[str, _HeldRows] = {}

    @property
    def held_bytes(self) -> int:
        """What is in memory."""
        return sum(each.held_bytes for each in self._types.values())

    def take(self, typed: TypedRows) -> bool:
        """Whether the rows are held here: those that leave vectors out, and all of their type that come behind them.

        So the rows of a type stay in the order of the input.
        """
        held = self._types.get(typed.target.key)
        if held is None:
            if not typed.unmade:
                return False
            held = self._types[typed.target.key] = _HeldRows(typed.target, typed.source)
        held.add(typed)
        if self.held_bytes > HELD_BYTES:
            max(self._types.values(), key=lambda each: each.held_bytes).spill()
        return True

    def with_vectors(self) -> Iterator[TypedRows]:
        """The rows that were held, type by type in the order of the input, in small batches; to be asked for once.

        Raises:
            InvalidInputError, EmbeddingError: as ``embed_documents``.
        """
        while self._types:
            held = self._types.pop(next(iter(self._types)))
            yield from held.with_vectors()


class _HeldRows:
    """Rows of one type, each with its line and, for each vector that has a source, whether that is to be made."""

    def __init__(self, target: TypeTable, source: str | None) -> None:
        self._target = target
        self._source = source
        self._embeddings = embeddings_of(target)
        self._schema = self._held_schema()
        self.held_bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._file: WaitingRows | None = None

    def _held_schema(self) -> pa.Schema:
        schema = self._target.schema
        for each in self._embeddings:
            schema = schema.set(schema.get_field_index(each.property), pa.field(each.property, _FOLDED))
        # No property has a blank in its name.
        flags = [pa.field(f"makes {each.property}", pa.bool_()) for each in self._embeddings]
        return pa.schema([*schema, pa.field(_LINE, pa.int64()), *flags])

    def add(self, typed: TypedRows) -> None:
        columns = dict(zip(typed.rows.schema.names, typed.rows.columns, strict=True))
        for each in self._embeddings:
            columns[each.property] = _fold(columns[each.property])
        nothing = np.zeros(typed.rows.num_rows, dtype=bool)
        flags = [pa.array(typed.unmade.get(each.property, nothing)) for each in self._embeddings]
        arrays = [*columns.values(), pa.array(typed.lines), *flags]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._batches.append(batch)
        self.held_bytes += batch.nbytes

    def spill(self) -> None:
        """Write what is in memory to the temporary file."""
        self._file = self._file or WaitingRows(self._schema)
        self._file.add(self._batches)
        self._batches, self.held_bytes = [], 0

    def with_vectors(self) -> Iterator[TypedRows]:
        if self._file is not None:
            self.spill()
        batches = self._batches if self._file is None else self._file.map().to_batches()
        step = min(WINDOW_ROWS, rows_within(self._target, WINDOW_BYTES))
        for batch in batches:
            for start in range(0, batch.num_rows, step):
                yield self._made(batch.slice(start, step))

    def _made(self, held: pa.RecordBatch) -> TypedRows:
        columns = {name: held.column(name) for name in self._target.schema.names}
        for each in self._embeddings:
            columns[each.property] = self._make(each, held)
        arrays = [columns[name] for name in self._target.schema.names]
        return TypedRows(
            target=self._target,
            rows=pa.RecordBatch.from_arrays(arrays, schema=self._target.schema),
            lines=held.column(_LINE).to_numpy(),
            source=self._source,
        )

    def _make(self, embedding: Embedding, held: pa.RecordBatch) -> pa.Array:
        wanted = self._target.schema.field(embedding.property).type
        is_made: Mask = held.column(f"makes {embedding.property}").to_numpy(zero_copy_only=False)
        texts = held.column(embedding.source).filter(pa.array(is_made)).to_pylist()
        vectors = embed_documents(texts, embedding, type_name=self._target.name)
        given = held.column(embedding.property)
        is_given: Mask = given.is_valid().to_numpy(zero_copy_only=False)
        spread = np.zeros((len(given), wanted.list_size), dtype=np.float32)
        spread[is_given] = raw_values(given.flatten()).reshape(-1, wanted.list_size)
        if vectors:
            spread[is_made] = vectors
        is_null = ~(is_given | is_made)
        return pa.FixedSizeListArray.from_arrays(pa.array(spread.ravel()), type=wanted, mask=pa.array(is_null))


def _fold(vectors: pa.Array) -> pa.Array:
    """The same vectors as lists, of which null ones take no space."""
    is_given: Mask = vectors.is_valid().to_numpy(zero_copy_only=False)
    ends = np.cumsum(is_given, dtype=np.int32) * np.int32(vectors.type.list_size)
    offsets = pa.array(np.concatenate([np.zeros(1, dtype=np.int32), ends]))
    return pa.ListArray.from_arrays(offsets, vectors.flatten(), type=_FOLDED, mask=pa.array(~is_given))
