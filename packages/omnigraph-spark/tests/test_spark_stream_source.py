"""The change feed as a stream of Spark: what it gives, how it goes on after a failure, and what it says of errors."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from stream_world import Drain, busy_graph, fed, forget_commit, person, run, stream, told

import omnigraph as og


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return busy_graph(tmp_path / "graph")


class Failing(Drain):
    """A consumer that fails when it has a batch of this number."""

    def __init__(self, batch_id: int) -> None:
        super().__init__()
        self.batch_id = batch_id

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        super().__call__(frame, batch_id)
        if batch_id == self.batch_id:
            raise RuntimeError("the power failed")


def test_available_now_gives_every_change_once_in_as_many_batches_as_the_rate_allows_through_a_failure(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    frame = stream(spark, graph, maxCommitsPerTrigger=2, commitsPerPartition=1)
    failing, drain = Failing(1), Drain()
    with pytest.raises(StreamingQueryException, match="the power failed"):
        run(frame, tmp_path / "check", failing)
    run(frame, tmp_path / "check", drain)
    assert [*failing.batches] == [0, 1]
    assert [*drain.batches] == [1, 2]
    assert drain.batches[1] == failing.batches[1] != []
    drain.batches |= failing.batches
    assert told(drain.rows) == fed(graph)
    commits = [block.cause.commit_id for block in graph.changes(start="beginning").blocks]
    for number, rows in drain.batches.items():
        assert {row["commit_id"] for row in rows} <= set(commits[2 * number : 2 * number + 2])


def test_a_stream_of_one_type_has_its_columns_and_its_last_batch_comes_again_unchanged(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    frame = stream(spark, graph, nodeType="Person", ops="insert,delete").select("op", "before.marks", "after")
    first, again = Drain(), Drain()
    run(frame, tmp_path / "check", first)
    assert [(row["op"], row["marks"], row["after"] and row["after"]["age"]) for row in first.rows] == [
        ("insert", None, 3),
        ("insert", None, None),
        ("insert", None, None),
        ("insert", None, None),
        ("delete", [Decimal(2**64 - 1)], None),
    ]
    forget_commit(tmp_path / "check", 0)
    graph.load([person("ed")], "append")
    run(frame, tmp_path / "check", again)
    assert again.batches[0] == first.batches[0]
    assert [row["after"]["id"] for row in again.batches[1]] == ["ed"]


def test_a_checkpoint_of_another_graph_is_refused_and_the_error_of_spark_says_what_to_do(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    run(stream(spark, graph, start="now"), tmp_path / "check", Drain())
    other = busy_graph(tmp_path / "other")
    with pytest.raises(StreamingQueryException) as caught:
        run(stream(spark, other, start="now"), tmp_path / "check", Drain())
    for words in ("ChangeCursorRejectedError", "it is of another graph", "another checkpointLocation"):
        assert words in str(caught.value)
