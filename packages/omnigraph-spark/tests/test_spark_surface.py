"""What Spark does that we rely on, or work around: when one of these fails, Spark has changed, and we may too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import omnigraph as og

FILMS = "node Film { code: String @key  year: I64? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "films.omni", schema=FILMS)
    made.load([{"type": "Film", "data": {"code": f"f{year}", "year": year}} for year in range(10)], "append")
    return made


def test_spark_uses_the_last_reader_that_took_filters_for_every_read_of_a_frame(spark: SparkSession, graph: og.Graph):
    """So push-down is off unless it is asked for. Right would be [10, 2, 10] and 5."""
    frame = spark.read.format("omnigraph").options(uri=graph.uri, type="Film", pushDown=True).load()
    assert [frame.count(), frame.where("year > 7").count(), frame.count()] == [10, 2, 2]
    assert frame.where("year > 7").union(frame.where("year < 3")).count() == 6


def test_a_view_keeps_the_source_that_it_was_made_with(spark: SparkSession, graph: og.Graph):
    """So it shows one snapshot, as a frame does."""
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW films USING omnigraph OPTIONS (uri '{graph.uri}', type 'Film')")
    counts = []
    for code in ("late", "later"):
        counts.append(spark.table("films").count())
        graph.load([{"type": "Film", "data": {"code": code}}], "append")
    assert counts == [10, 10]
