"""Batches are gathered to what core takes at once, whatever Spark hands over."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.write.records.reading import CHUNK_ROWS
from omnigraph_spark.tasks import GATHERED_BYTES, gather

SPARKS_OWN = 10_000
"""How many rows Spark hands over at a time, where nobody says otherwise."""


def test_no_batch_that_is_gathered_of_those_of_spark_is_cut_again_by_core():
    batches = [pa.record_batch({"n": pa.array(range(SPARKS_OWN))})] * 13
    found = [each.num_rows for each in gather(batches)]
    assert found == [60_000, 60_000, 10_000]
    assert max(found) <= CHUNK_ROWS < max(found) + SPARKS_OWN


def test_wide_rows_are_gathered_by_their_bytes():
    batches = [pa.record_batch({"b": [bytes(GATHERED_BYTES // 4)]})] * 9
    assert [each.num_rows for each in gather(batches)] == [4, 4, 1]
