"""``BatchFile``: rows that are too many for memory, in a temporary file of this machine, mapped and not read.

The file has no name, so nothing is left of it when the process ends.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref

import pyarrow as pa


class BatchFile:
    """Batches of one schema: written one after the other, then looked at in any order."""

    def __init__(self, schema: pa.Schema) -> None:
        self._file = tempfile.TemporaryFile(prefix="omnigraph-rows-")  # noqa: SIM115 - lives until it is mapped
        weakref.finalize(self, self._file.close)
        self._writer = pa.ipc.new_file(self._file, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def map(self) -> pa.ipc.RecordBatchFileReader:
        """Everything that was added, mapped from the file; nothing can be added any more."""
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        return pa.ipc.open_file(pa.py_buffer(mapped))
