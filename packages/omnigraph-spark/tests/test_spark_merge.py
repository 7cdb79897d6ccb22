"""A merge that tasks do comes to the rows, row ids, versions of rows and answers of indexes of one by one process."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from spark_load_world import WAYS, merge_by_tasks

import omnigraph as og
import omnigraph_spark
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.handles import snapshot_of
from omnigraph_spark import loading
from omnigraph_spark.merging import SparkMerger

SCHEMA = """
node Person { handle: String @key }
node Note { text: String @index }
edge Knows: Person -> Person { since: I32? }
"""
STAMPS = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
MERGING_WAYS = ("keys in tasks", "shuffle")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    merge_by_tasks(monkeypatch.setattr)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[og.Graph, og.Graph]:
    """Two graphs of the same rows, which came in several commits, with indexes over the first of them."""
    made = tuple(og.init(tmp_path / name, schema=SCHEMA) for name in ("tasks.omni", "driver.omni"))
    for graph in made:
        graph.load(people([1, 2]) + notes(range(10), 0) + known(f"k{each}" for each in range(10)), "append")
        graph.maintain.ensure_indices()
        graph.load(notes(range(10, 14), 0), "append")
        graph.load(notes(range(3, 6), 1), "merge")
    return made


def people(numbers: Iterable[int]) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"handle": f"p{each}"}} for each in numbers]


def notes(numbers: Iterable[int], round_: int) -> list[dict[str, Any]]:
    return [{"type": "Note", "data": {"id": f"n{each}", "text": f"note {each} of {round_}"}} for each in numbers]


def known(names: Iterable[str]) -> list[dict[str, Any]]:
    """Edges of these ids, each of which says its place among them."""
    return [
        {"edge": "Knows", "from": "p1", "to": "p2", "data": {"id": name, "since": since}}
        for since, name in enumerate(names)
    ]


def frame(spark: SparkSession, given: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of one type as a frame of one partition, so that rows that replace and new ones lie in one file."""
    ends = [{"src": each["from"], "dst": each["to"]} if "edge" in each else {} for each in given]
    rows = [tuple({**end, **each["data"]}.values()) for end, each in zip(ends, given, strict=True)]
    name = given[0].get("edge") or given[0]["type"]
    words = {"Note": "id string, text string", "Knows": "src string, dst string, id string, since int"}
    return {name: spark.createDataFrame(rows, words[name]).coalesce(1)}


def stored(graph: og.Graph, name: str) -> dict[str, tuple[Any, ...]]:
    """What Lance knows of each row, by id; ids that it gave to new rows are told by whether they are new."""
    snapshot = graph.snapshot()
    entry = snapshot.entry(snapshot.schema.tables[name])
    dataset = snapshot_of(graph._repository.tables.open_at(entry.pin)).dataset
    found = dataset.to_table(columns=["id", *STAMPS]).to_pylist()
    return {each["id"]: tuple(each[stamp] for stamp in STAMPS) for each in found}


def by(way: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loading, "SparkMerger", partial(SparkMerger, limits=WAYS[way]))


@pytest.mark.parametrize("way", MERGING_WAYS)
def test_rows_row_ids_and_stamps_are_those_of_a_merge_by_one_process(
    spark: SparkSession, pair: tuple[og.Graph, og.Graph], way: str, monkeypatch: pytest.MonkeyPatch
):
    by(way, monkeypatch)
    ours, theirs = pair
    # New rows come last, so that both sides number them alike.
    given = notes([12, 4, 0, 7, 13, 20, 21], 2)
    with count_table_calls() as counts:
        omnigraph_spark.load(spark, ours, frame(spark, given), "merge")
    assert (counts["stage_marked"], counts["stage_upsert"]) == (1, 0)
    theirs.load(given, "merge")
    assert list(ours.export()) == list(theirs.export())
    assert stored(ours, "node:Note") == stored(theirs, "node:Note")
    text = 'query q() { match { $n: Note  search($n.text, "2") } return { $n } }'
    answers = [sorted(str(each) for each in graph.query(text).rows()) for graph in pair]
    assert answers[0] == answers[1]
    assert len(answers[0]) >= len(given)
    ours.maintain.ensure_indices()
    assert sorted(str(each) for each in ours.query(text).rows()) == answers[0]


def test_of_several_rows_of_one_id_the_last_counts(spark: SparkSession, pair: tuple[og.Graph, og.Graph]):
    rng, ours, theirs = random.Random(1), *pair
    given = known(f"k{rng.randrange(8, 18)}" for _ in range(40))
    omnigraph_spark.load(spark, ours, frame(spark, given), "merge")
    theirs.load(given, "merge")
    assert list(ours.export()) == list(theirs.export())


def test_rows_that_are_all_new_are_appended_as_they_were_written(spark: SparkSession, pair: tuple[og.Graph, og.Graph]):
    ours, theirs = pair
    with count_table_calls() as counts:
        omnigraph_spark.load(spark, ours, frame(spark, notes(range(30, 34), 5)), "merge")
    assert (counts["stage_append"], counts["stage_marked"], counts["stage_upsert"]) == (1, 0, 0)
    theirs.load(notes(range(30, 34), 5), "merge")
    assert list(ours.export()) == list(theirs.export())


def test_a_merge_on_a_branch_leaves_the_others_alone(spark: SparkSession, pair: tuple[og.Graph, og.Graph]):
    ours, theirs = pair
    before, given = list(ours.export()), notes([2, 3, 50], 6)
    omnigraph_spark.load(spark, ours, frame(spark, given), "merge", branch="work", base="main")
    theirs.load(given, "merge", branch="work", base="main")
    assert list(ours.export(branch="work")) == list(theirs.export(branch="work"))
    assert list(ours.export()) == before


def test_a_merge_that_lost_a_race_replaces_what_the_other_wrote(
    spark: SparkSession, pair: tuple[og.Graph, og.Graph], tmp_path: Path
):
    ours, theirs = pair
    seen: list[str] = []

    def meanwhile(progress: og.LoadProgress) -> None:
        if progress.phase == "publishing" and not seen:
            seen.append(progress.phase)
            with og.open(tmp_path / "tasks.omni") as other:
                other.load(notes([4, 60], 8), "merge")

    given = notes([4, 5, 61], 9)
    omnigraph_spark.load(spark, ours, frame(spark, given), "merge", progress=meanwhile)
    assert seen
    theirs.load(notes([4, 60], 8), "merge")
    theirs.load(given, "merge")
    assert list(ours.export()) == list(theirs.export())
