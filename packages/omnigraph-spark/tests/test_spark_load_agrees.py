"""A load by Spark and one by a single process come to the same graph or the same problems, in whatever way judged."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_load_world import (
    MANY,
    SCHEMA,
    WAYS,
    cut_every,
    edge,
    frames,
    judge_by,
    node,
    outcome,
    person,
    sound_records,
    verdict,
    wild_records,
    write_jsonl,
)

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import ConstraintError
from omnigraph.write.bulk import publishing

ALL_STEPS = ("overwrite", "append", "merge", "wild merge", "wild append")
SEEDS = int(os.environ.get("OMNIGRAPH_SPARK_SEEDS", "0"))
"""How often everything is done that makes questions; without it the two ways that differ most are shown once, because
each question is a job of Spark."""

CASES = [(way, ALL_STEPS, seed) for way in WAYS for seed in range(SEEDS)] or [
    ("one task", ("wild append",), 0),
    ("shuffle", ("wild append",), 0),
]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every question go to Spark, however few rows it is about."""
    monkeypatch.setattr(publishing, "LIMITS", MANY)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[og.Graph, og.Graph]:
    """Two graphs for the same data."""
    return og.init(tmp_path / "spark.omni", schema=SCHEMA), og.init(tmp_path / "alone.omni", schema=SCHEMA)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(("way", "steps", "seed"), CASES, ids=[f"{way}-{seed}" for way, _, seed in CASES])
def test_random_records_come_to_the_same_graph_or_the_same_problems(
    spark: SparkSession,
    pair: tuple[og.Graph, og.Graph],
    tmp_path: Path,
    way: str,
    steps: tuple[str, ...],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
):
    rng, (ours, theirs) = random.Random(f"{way} {seed}"), pair
    cut_every(600, monkeypatch.setattr)
    judge_by(way, monkeypatch.setattr)
    if steps[0] != "overwrite":
        before = sound_records(rng, 9)
        ours.load(before, "append")
        theirs.load(before, "append")
    for step in steps:
        mode = step.removeprefix("wild ")
        prefix = "q" if mode == "append" else "p"
        records = wild_records(rng, 14) if step.startswith("wild") else sound_records(rng, 9, prefix=prefix)
        path = write_jsonl(tmp_path / f"{step}.jsonl", records)
        got = outcome(ours, lambda p=path, m=mode: omnigraph_spark.load(spark, ours, p, m))
        assert got == outcome(theirs, lambda p=path, m=mode: theirs.load(p, m))
        assert isinstance(got, tuple) == step.startswith("wild")


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_frames_come_to_the_same_graph(spark: SparkSession, pair: tuple[og.Graph, og.Graph], mode: str):
    rng, (ours, theirs) = random.Random(mode), pair
    before, then = sound_records(rng, 6), sound_records(rng, 9, prefix="q" if mode == "append" else "p")
    for graph in pair:
        graph.load(before, "append")
    done = omnigraph_spark.load(spark, ours, frames(spark, ours, then), mode, actor="ann")
    assert done.to_dict() == {**theirs.load(then, mode).to_dict(), "commit": done.commit.to_dict()}
    assert done.commit.actor == "ann"
    assert list(ours.export()) == list(theirs.export())


def test_rows_without_ids_get_some_and_are_else_the_same(spark: SparkSession, pair: tuple[og.Graph, og.Graph]):
    records = [person("a"), person("b"), node("Note", text="x"), node("Note", text="y"), edge("Knows", "a", "b")]
    for graph, load in ((pair[0], lambda g, d, m: omnigraph_spark.load(spark, g, d, m)), (pair[1], og.Graph.load)):
        load(graph, frames(spark, graph, records) if graph is pair[0] else records, "append")
        # Merged again, an edge is known by its unique ends and keeps its id; notes are known by nothing.
        load(graph, frames(spark, graph, records) if graph is pair[0] else records, "merge")
    ours, theirs = ([graph.table(name).to_arrow() for name in ("Person", "Note", "Knows")] for graph in pair)
    for one, other in zip(ours, theirs, strict=True):
        names = [name for name in one.column_names if name != "id"]
        order = [(name, "ascending") for name in names]
        assert one.select(names).sort_by(order).equals(other.select(names).sort_by(order))
        assert len(set(one["id"].to_pylist())) == one.num_rows


def test_what_is_wrong_with_frames_is_told_by_id_in_the_same_words(
    spark: SparkSession, pair: tuple[og.Graph, og.Graph]
):
    rng, (ours, theirs) = random.Random(3), pair
    for graph in pair:
        graph.load([person("p0"), person("p1", mail="p1@x")], "append")
    records = wild_records(rng, 40)
    with pytest.raises(ConstraintError) as expected:
        theirs.load(records, "append")
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, ours, frames(spark, ours, records), "append")
    assert verdict(caught.value, with_places=False)[:3] == verdict(expected.value, with_places=False)[:3]
    assert len(ours.commits.list()) == 2
