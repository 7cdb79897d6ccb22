"""``df.write.format("omnigraph")`` and ``omnigraph_spark.write``: the rows of one type, as one commit or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph_spark.source import OmnigraphSource
from omnigraph_spark.writer import TypeWriter

SCHEMA = "node Person { name: String @key  age: I32?  @range(age, 0..150) }\nedge Knows: Person -> Person"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    with og.init(tmp_path / "g", schema=SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": "ann", "age": 1}}], mode="append")
    return str(tmp_path / "g")


@pytest.fixture
def people(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("ann", 30), ("bo", 40)], "name string, age int")


def ages(uri: str) -> dict[str, int]:
    with og.open(uri, mode="r") as graph:
        return {row["name"]: row["age"] for row in graph.table("Person")}


def test_a_frame_is_appended_merged_and_put_in_the_place_of_all_rows(uri: str, people: DataFrame):
    writer = people.write.format("omnigraph").option("uri", uri).option("nodeType", "Person")
    with pytest.raises(PySparkException, match="a committed node already has this id"):
        writer.mode("append").save()
    assert ages(uri) == {"ann": 1}
    writer.mode("append").option("writeMode", "merge").option("actor", "cy").option("loadId", "one").save()
    assert ages(uri) == {"ann": 30, "bo": 40}
    people.where("name = 'bo'").write.format("omnigraph").mode("overwrite").option("type", "Person").save(uri)
    assert ages(uri) == {"bo": 40}
    writer.mode("append").option("writeMode", "merge").option("loadId", "one").save()
    assert ages(uri) == {"bo": 40}, "a load of this name was there"
    with og.open(uri, mode="r") as graph:
        assert [each.actor for each in graph.commits.list()] == [None, "cy", None, None]


def test_write_gives_back_what_was_done_and_raises_what_is_wrong(uri: str, people: DataFrame):
    done = omnigraph_spark.write(people, uri, "Person", mode="merge", actor="ann", load_id="two")
    assert (done.nodes, done.commit.actor, done.commit.properties["load_id"]) == ({"Person": 2}, "ann", "two")
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.write(people, uri, "Person")
    assert caught.value.details["counts"] == {"key_conflict": 2}
    assert ages(uri) == {"ann": 30, "bo": 40}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Which type is to be written"),
        ({"type": "Person", "writeMode": "upsert"}, "no writeMode 'upsert'"),
        ({"type": "Person", "columns": "name"}, '"columns" is for read'),
    ],
)
def test_what_is_asked_for_wrongly_is_told_before_anything_is_written(uri: str, options: dict[str, str], message: str):
    source = OmnigraphSource({"uri": uri, **options})
    with pytest.raises(InvalidInputError, match=message):
        TypeWriter(source.given, overwrite=False)
