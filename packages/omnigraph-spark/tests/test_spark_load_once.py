"""Exactly once: whatever fails, and wherever, the rows of a load are in the graph once, in one commit with its name.

task fails, or its worker is killed     before or after it has written      Spark tries it again
executor is killed, or one is slow      in a cluster of this machine        Spark tries it again, elsewhere
driver is killed                        while tasks write, before and       whoever sends the load again
                                        after the publish
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_cluster import run_cluster
from spark_load_world import MANY, SCHEMA, cut_every, frames, judge_by, merge_by_tasks, sound_records, write_jsonl
from task_faults import stumbling

import omnigraph as og
import omnigraph_spark
from omnigraph import BulkAttempt, failpoints
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.testing.faults import FAILPOINTS_VARIABLE
from omnigraph.write.bulk import publishing
from omnigraph_spark import judge, loading, merging
from omnigraph_spark.tasks import write_rows

IS_FULL = os.environ.get("OMNIGRAPH_SPARK_FAULTS") == "full"
"""Workers, drivers and clusters take long to start; without it there are as few as will do."""

MODES = ("append", "merge", "overwrite")
LOAD_ID = "night-7"


class Scene:
    """A graph that has rows, a text to load in a mode, and the graph that one process makes of both."""

    def __init__(self, place: Path, mode: str) -> None:
        rng = random.Random(mode)
        before, then = sound_records(rng, 5), sound_records(rng, 7, prefix="q" if mode == "append" else "p")
        self.mode = mode
        self.records = then
        self.path = write_jsonl(place / "in.jsonl", then)
        self.graph, alone = (og.init(place / name, schema=SCHEMA) for name in ("spark.omni", "alone.omni"))
        self.graph.load(before, "append")
        alone.load(before, "append")
        self.before = list(alone.export())
        alone.load(then, mode)
        self.after = list(alone.export())
        self.mark = place / "mark"
        for name in ("stumbles", "done"):
            (self.mark / name).mkdir(parents=True)

    @property
    def stumbles(self) -> int:
        return len(list((self.mark / "stumbles").iterdir()))

    @property
    def done_again(self) -> int:
        """How often work was done that was done before."""
        done = [each.name for each in (self.mark / "done").iterdir()]
        return len(done) - len({each.partition(".")[0] for each in done})

    def send(self, spark: SparkSession, data: Any = None) -> og.LoadResult:
        given = self.path if data is None else data
        return omnigraph_spark.load(spark, self.graph, given, self.mode, load_id=LOAD_ID)

    def check(self, spark: SparkSession) -> None:
        """Rows are there once, in one commit, and to send the load once more changes nothing."""
        for _ in range(2):
            assert list(self.graph.export()) == self.after
            (commit,) = [each for each in self.graph.commits.list() if each.properties.get("load_id") == LOAD_ID]
            assert len(self.graph.commits.list()) == 3
            assert self.send(spark).commit == commit

    def litter(self) -> int:
        """How many data files no version of the newest commit names."""
        state, tables = self.graph._repository.newest().state, self.graph._repository.tables
        named, found = 0, 0
        for entry in state.entries.values():
            parts = tables.parts(tables.open_at(entry.pin))
            named += len({each.files for each in parts})
            found += len(list(Path(self.graph.uri, entry.pin.location).rglob("*.lance")))
        return found - named


@pytest.fixture
def scene(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> Scene:
    cut_every(600, monkeypatch.setattr)
    if mode == "merge":
        merge_by_tasks(monkeypatch.setattr)
    return Scene(tmp_path, mode)


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


STUMBLES = list(itertools.product(MODES, ("before", "after"), ("raise", "kill")))
if not IS_FULL:
    STUMBLES = [("append", "before", "kill"), ("merge", "after", "raise"), ("overwrite", "after", "kill")]


@pytest.mark.parametrize(("mode", "when", "how"), STUMBLES)
def test_a_task_that_fails_is_done_again_and_its_rows_are_there_once(
    spark: SparkSession, scene: Scene, when: str, how: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "write_ranges", stumbling(loading.write_ranges, scene.mark, how=how, when=when))
    assert scene.send(spark).total == len(scene.records)
    assert (scene.stumbles, scene.done_again) == (1, 0 if when == "before" else 1)
    if (scene.mode, when) == ("append", "after"):
        assert scene.litter() > 0
    scene.check(spark)


@pytest.mark.parametrize("mode", ["append"])
def test_a_task_that_writes_a_frame_is_done_again(spark: SparkSession, scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "write_rows", stumbling(loading.write_rows, scene.mark, how="kill", when="after"))
    assert scene.send(spark, frames(spark, scene.graph, scene.records)).total == len(scene.records)
    assert scene.stumbles == 1
    scene.check(spark)


@pytest.mark.parametrize("mode", ["append"])
def test_a_task_that_judges_is_done_again(spark: SparkSession, scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(publishing, "LIMITS", MANY)
    monkeypatch.setattr(judge, "answer", stumbling(judge.answer, scene.mark, how="kill", when="after"))
    scene.send(spark)
    assert scene.stumbles == 1
    scene.check(spark)


MERGES = list(itertools.product(("settle", "mark"), ("before", "after"), ("raise", "kill")))
if not IS_FULL:
    MERGES = [("settle", "after", "raise"), ("mark", "after", "kill")]


@pytest.mark.parametrize(("task", "when", "how"), MERGES)
@pytest.mark.parametrize("mode", ["merge"])
def test_a_task_that_merges_is_done_again_and_its_rows_are_there_once(
    spark: SparkSession, scene: Scene, task: str, when: str, how: str, monkeypatch: pytest.MonkeyPatch
):
    faulty = stumbling(getattr(merging, task), scene.mark, how=how, when=when, is_grouped=True)
    monkeypatch.setattr(merging, task, faulty)
    assert scene.send(spark).total == len(scene.records)
    assert scene.stumbles == 1
    scene.check(spark)


@pytest.mark.parametrize("mode", MODES if IS_FULL else ["overwrite"])
def test_a_load_whose_task_fails_every_time_leaves_the_graph_as_it_was_and_can_be_sent_again(
    spark: SparkSession, scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    faulty = stumbling(loading.write_ranges, scene.mark, how="raise", when="after", times=99)
    with monkeypatch.context() as patched:
        patched.setattr(loading, "write_ranges", faulty)
        with pytest.raises(PySparkException, match="stumbled"):
            scene.send(spark)
    assert scene.stumbles >= 3
    assert list(scene.graph.export()) == scene.before
    assert len(scene.graph.commits.list()) == 2
    assert list(Path(scene.graph.uri, "__loads").glob("*")) == []
    scene.send(spark)
    scene.check(spark)


MAKERS = {
    "texts": (loading, "write_ranges", "one task"),
    "frames": (loading, "write_rows", "one task"),
    "one task judges": (judge, "answer", "one task"),
    "tasks with keys judge": (judge, "compare_keys", "keys in tasks"),
    "shuffles judge": (judge, "read_pieces", "shuffle"),
}
"""Where the tasks of a load are made, and the way of judging in which they are."""
if not IS_FULL:
    MAKERS = {name: MAKERS[name] for name in ("texts", "shuffles judge")}


@pytest.mark.parametrize("mode", ["append"])
@pytest.mark.parametrize("maker", MAKERS)
def test_an_error_of_the_store_that_outlasts_every_attempt_is_told_as_what_it_is(
    spark: SparkSession, scene: Scene, maker: str, monkeypatch: pytest.MonkeyPatch
):
    module, name, way = MAKERS[maker]
    monkeypatch.setattr(publishing, "LIMITS", MANY)
    judge_by(way, monkeypatch.setattr)
    monkeypatch.setattr(module, name, stumbling(getattr(module, name), scene.mark, how="store", times=99))
    with pytest.raises(StorageError) as caught:
        scene.send(spark, frames(spark, scene.graph, scene.records) if maker == "frames" else None)
    told = caught.value
    assert (told.message, told.help, told.uri) == ("The store is busy.", "Try again later.", "s3://b/g")
    assert told.condition is StorageCondition.TRANSIENT
    assert told.__cause__ is None
    # As often as Spark was told to, and not given up at once.
    assert scene.stumbles >= 3
    assert list(scene.graph.export()) == scene.before


def test_of_a_task_that_was_done_twice_one_answer_is_published(tmp_path: Path):
    """What speculation comes to, without a cluster: Spark keeps the answer of one of the attempts."""
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    task = write_rows(graph.bulk(load_id=LOAD_ID), "Person")
    batches = pa.table({"handle": ["ann", "bo"]}).to_batches()
    (first,), (second,) = (task(batches), task(batches))
    assert first["answer"] != second["answer"]
    attempt = BulkAttempt.from_json(second["answer"][0].as_py())
    assert graph.bulk_publish([attempt], load_id=LOAD_ID).total == 2
    assert len(graph.table("Person")) == 2


# ── drivers and executors ────────────────────────────────────────────────────────────────────────────────────────────

KILLED = -signal.SIGKILL
LOCAL = {"master": "local[2,3]", "spark.sql.shuffle.partitions": "2"}
IMPATIENT = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.efficiency.enabled": "false",
}


def own_driver(
    scene: Scene, where: dict[str, str], *, fault: dict[str, str] | None = None, failpoint: str | None = None
) -> tuple[int, dict[str, Any] | None]:
    """Let another process make the load; how it ended, and what it told."""
    told = scene.path.with_name("told.json")
    job = {
        "config": where,
        "uri": scene.graph.uri,
        "path": str(scene.path),
        "mode": scene.mode,
        "load_id": LOAD_ID,
        "fault": None if fault is None else {"mark": str(scene.mark), **fault},
    }
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(scene.path.parent)}
    if failpoint is not None:
        environment[FAILPOINTS_VARIABLE] = f"{failpoint}=kill"
    words: Sequence[str | Path] = [sys.executable, Path(__file__).with_name("own_driver.py"), json.dumps(job), told]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=280)
    assert ended.returncode in (0, KILLED), ended.stderr
    # A session of ours says nothing of itself.
    assert "log level" not in ended.stderr
    return ended.returncode, json.loads(told.read_text()) if told.exists() else None


POINTS = {
    "while tasks write": (None, False),
    failpoints.LOAD_STAGED: (failpoints.LOAD_STAGED, False),
    failpoints.PUBLISH_BEFORE_COMMIT: (failpoints.PUBLISH_BEFORE_COMMIT, True),
    failpoints.PUBLISH_AFTER_COMMIT: (failpoints.PUBLISH_AFTER_COMMIT, True),
}
"""Where a driver dies: the failpoint, and whether the graph has the load without its being sent again."""


@pytest.mark.skipif(not IS_FULL, reason="a driver of its own takes long to start: tox run -e spark-faults")
@pytest.mark.parametrize(("mode", "point"), list(itertools.product(MODES, POINTS)))
def test_a_load_whose_driver_was_killed_is_sent_again_and_happens_once(spark: SparkSession, scene: Scene, point: str):
    failpoint, is_made = POINTS[point]
    fault = {"how": "kill driver", "when": "after"} if failpoint is None else None
    code, told = own_driver(scene, LOCAL, fault=fault, failpoint=failpoint)
    assert (code, told) == (KILLED, None)
    assert scene.stumbles == (0 if fault is None else 1)
    # Whoever opens the graph finishes what was cut off behind its last doubt, and nothing else.
    with og.open(scene.graph.uri) as anew:
        assert list(anew.export()) == (scene.after if is_made else scene.before)
    scene.graph.refresh()
    scene.send(spark)
    scene.check(spark)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with run_cluster(tmp_path_factory.mktemp("cluster")) as settings:
        yield settings


@pytest.mark.skipif(not IS_FULL, reason="a cluster takes a minute to start: tox run -e spark-faults")
@pytest.mark.parametrize("how", ["sleep", "kill executor"])
@pytest.mark.parametrize("mode", MODES)
def test_a_task_that_is_done_again_by_another_executor_counts_once(
    spark: SparkSession, cluster: dict[str, str], scene: Scene, how: str
):
    settings = {**cluster, **(IMPATIENT if how == "sleep" else {})}
    code, told = own_driver(scene, settings, fault={"how": how, "when": "after"})
    assert code == 0
    assert told is not None
    assert told["total"] == len(scene.records)
    assert scene.stumbles == 1
    assert scene.done_again >= 1
    scene.graph.refresh()
    if scene.mode == "append":
        assert scene.litter() > 0
    scene.check(spark)
