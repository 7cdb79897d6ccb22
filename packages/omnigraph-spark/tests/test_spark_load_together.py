"""Spark loads beside others: two at once, on branches, by name, on a server, and over Spark Connect."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_load_world import MANY, SCHEMA, edge, judge_by, person, write_jsonl

import omnigraph as og
import omnigraph_spark
from omnigraph import failpoints
from omnigraph.errors import ConstraintError, HeadMovedError, InvalidInputError, NotFoundError
from omnigraph.testing.faults import Barrier, Call, Once, armed
from omnigraph.testing.s3_servers import run_s3_server
from omnigraph.write.bulk import publishing
from omnigraph_spark import loading


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema=SCHEMA)
    made.load([person("old")], "append")
    return made


def family(name: str) -> list[Any]:
    return [person(f"{name}1"), person(f"{name}2"), edge("Knows", f"{name}1", "old", id=f"k{name}")]


def handles(graph: og.Graph, branch: str = "main") -> list[str]:
    return sorted(row["id"] for row in graph.table("Person", branch=branch))


# ── two at once ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("branches", [("main", "main"), ("one", "two")], ids=["one branch", "two branches"])
def test_two_loads_at_once_both_happen(spark: SparkSession, graph: og.Graph, tmp_path: Path, branches: tuple[str, str]):
    paths = {name: write_jsonl(tmp_path / f"{name}.jsonl", family(name)) for name in ("a", "b")}
    for each in {*branches} - {"main"}:
        graph.branches.create(each)

    def load(name: str, branch: str) -> og.LoadResult:
        return omnigraph_spark.load(spark, graph.uri, paths[name], "append", branch=branch, load_id=name)

    # Both have judged and staged on the same state before one of them publishes.
    with armed({failpoints.LOAD_STAGED: Barrier(2)}), ThreadPoolExecutor(2) as pool:
        done = list(pool.map(load, paths, branches))
    assert [each.total for each in done] == [3, 3]
    assert done[0].commit.id != done[1].commit.id
    for branch in {*branches}:
        own = [name for name, each in zip(paths, branches, strict=True) if each == branch]
        found = [each.properties.get("load_id") for each in graph.commits.list(branch)]
        assert sorted(each for each in found if each) == own
        assert handles(graph, branch) == sorted(["old", *(f"{name}{number}" for name in own for number in (1, 2))])
        assert len(graph.table("Knows", branch=branch)) == len(own)


def test_two_loads_of_one_name_at_once_happen_once(spark: SparkSession, graph: og.Graph, tmp_path: Path):
    path = write_jsonl(tmp_path / "a.jsonl", family("a"))

    def load(_: int) -> og.LoadResult:
        return omnigraph_spark.load(spark, graph.uri, path, "append", load_id="night")

    with armed({failpoints.LOAD_STAGED: Barrier(2)}), ThreadPoolExecutor(2) as pool:
        one, other = pool.map(load, range(2))
    assert one.commit == other.commit
    assert handles(graph) == ["a1", "a2", "old"]
    assert len(graph.commits.list()) == 3


def test_a_load_that_is_overtaken_is_judged_against_what_overtook_it(
    spark: SparkSession, graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(publishing, "LIMITS", MANY)
    judge_by("keys in tasks", monkeypatch.setattr)
    path, rival = write_jsonl(tmp_path / "a.jsonl", [person("a1"), person("a2", mail="m@x")]), og.open(graph.uri)

    def overtake(mail: str) -> Call:
        return Call(lambda _: rival.load([person(f"rival{mail[0]}", mail=mail)], "append"))

    with armed({failpoints.LOAD_STAGED: Once(overtake("m@x"))}), pytest.raises(ConstraintError, match="held by"):
        omnigraph_spark.load(spark, graph, path, "append")
    rival.mutate('query gone() { delete Person where handle = "rivalm" }')
    with armed({failpoints.LOAD_STAGED: Once(overtake("n@x"))}):
        omnigraph_spark.load(spark, graph, path, "append")
    assert handles(graph) == ["a1", "a2", "old", "rivaln"]


def test_an_overwrite_that_is_overtaken_is_a_conflict_and_changes_nothing(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
):
    path, rival = write_jsonl(tmp_path / "a.jsonl", [person("new")]), og.open(graph.uri)

    def overtake(_: str) -> None:
        rival.load([person("rival")], "append")

    with armed({failpoints.LOAD_STAGED: Once(Call(overtake))}), pytest.raises(HeadMovedError):
        omnigraph_spark.load(spark, graph, path, "overwrite")
    assert handles(graph) == ["old", "rival"]
    assert list(Path(graph.uri, "__loads").glob("*")) == []


# ── branches and names ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_is_made_from_its_base_and_stays_when_the_load_fails(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
):
    path = write_jsonl(tmp_path / "a.jsonl", family("a"))
    with pytest.raises(NotFoundError):
        omnigraph_spark.load(spark, graph, path, "append", branch="night")
    with pytest.raises(InvalidInputError):
        omnigraph_spark.load(spark, graph, write_jsonl(tmp_path / "b.jsonl", ["{"]), "append", branch="x", base="main")
    assert sorted(each.name for each in graph.branches.list()) == ["main", "x"]
    done = omnigraph_spark.load(spark, graph, path, "append", branch="night", base="main")
    assert (done.branch, done.base_branch, done.branch_created) == ("night", "main", True)
    again = omnigraph_spark.load(spark, graph, path, "merge", branch="night", base="main")
    assert (again.base_branch, again.branch_created) == ("main", False)
    assert handles(graph) == ["old"]
    assert handles(graph, "night") == ["a1", "a2", "old"]


def test_a_branch_that_another_makes_at_the_same_time_is_taken(
    spark: SparkSession, graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write_jsonl(tmp_path / "a.jsonl", family("a"))

    with monkeypatch.context() as patched:
        patched.setattr(type(graph.branches), "create", _racing(type(graph.branches).create, graph.uri))
        done = omnigraph_spark.load(spark, graph, path, "append", branch="night", base="main")
    assert not done.branch_created
    assert handles(graph, "night") == ["a1", "a2", "old"]


def test_a_load_that_is_repeated_starts_no_job(
    spark: SparkSession, graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write_jsonl(tmp_path / "a.jsonl", family("a"))
    done = omnigraph_spark.load(spark, graph, path, "append", load_id="night")
    monkeypatch.setattr(loading, "_write", None)
    again = omnigraph_spark.load(spark, graph, path, "append", load_id="night")
    assert (again.commit, again.total) == (done.commit, 0)
    assert len(graph.commits.list()) == 3


def test_what_a_load_cannot_take_is_refused_with_what_it_can(spark: SparkSession, graph: og.Graph, tmp_path: Path):
    frame = spark.createDataFrame(pa.table({"handle": ["a"]}))
    with pytest.raises(NotFoundError, match="Ghost"):
        omnigraph_spark.load(spark, graph, {"Ghost": frame}, "append")
    with pytest.raises(InvalidInputError, match="no mode='upsert'"):
        omnigraph_spark.load(spark, graph, {"Person": frame}, "upsert", branch="x", base="main")
    for data in (7, [], {"Person": 7}, {"Person": [frame, "people.csv"]}, tmp_path / "gone.jsonl"):
        with pytest.raises(InvalidInputError) as caught:
            omnigraph_spark.load(spark, graph, data, "append", branch="x", base="main")
        assert caught.value.help
    with pytest.raises(InvalidInputError, match="has its options"):
        omnigraph_spark.load(spark, graph, {"Person": frame}, "append", options={"a": 1})
    assert len(graph.commits.list()) == 2
    assert [each.name for each in graph.branches.list()] == ["main"]


# ── elsewhere ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_graph_on_a_server_is_loaded_with_explicit_options_that_nobody_is_shown(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(publishing, "LIMITS", MANY)
    path = write_jsonl(tmp_path / "a.jsonl", [person("old"), *family("a")])
    seen: list[str] = []
    monkeypatch.setattr(loading, "_answers", _explaining(loading._answers, seen))
    with run_s3_server("ministack") as server:
        uri = f"s3://{server.create_bucket('spark-load')}/{secrets.token_hex(8)}"
        with og.init(uri, schema=SCHEMA, options=server.options()) as made:
            done = omnigraph_spark.load(spark, uri, path, "append", options=server.options())
            assert (done.nodes, done.edges) == ({"Person": 3}, {"Knows": 1})
            assert handles(made) == ["a1", "a2", "old"]
        printed = capfd.readouterr()
        assert "MapInArrow" in "".join(seen)
        assert server.secret_access_key not in "".join(seen) + printed.out + printed.err


def _explaining(answers: Any, seen: list[str]) -> Any:
    """The same, with a note of the plan."""

    def explained(frame: Any) -> Any:
        from contextlib import redirect_stdout
        from io import StringIO

        with redirect_stdout(StringIO()) as shown:
            for mode in ("extended", "formatted"):
                frame.explain(mode=mode)
        seen.append(shown.getvalue())
        return answers(frame)

    return explained


def _racing(create: Any, uri: str) -> Any:
    """The same, right after another process made the branch."""

    def raced(branches: Any, name: str, base: str) -> Any:
        with og.open(uri) as other:
            create(other.branches, name, base)
        return create(branches, name, base)

    return raced


CONNECT = """
import json, sys
import pyarrow as pa
import pyarrow.parquet as pq
from omnigraph_spark.java import use_java
use_java(only_bundled=True)
from pyspark.sql import SparkSession
import omnigraph_spark
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.write.bulk import publishing
from omnigraph_spark import loading
from omnigraph_spark.task_errors import telling
from omnigraph_spark.judge import JudgeLimits, SparkJudge
from omnigraph_spark.merging import SparkMerger
from dataclasses import replace
from functools import partial

uri, path = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
publishing.LIMITS = replace(publishing.LIMITS, memory_rows=0, lookup_keys=0)
loading.SparkJudge = partial(SparkJudge, limits=JudgeLimits(rows_in_task=0, keys_in_task=0))
done = omnigraph_spark.load(spark, uri, path, "append")
frame = spark.createDataFrame(pa.table({"handle": ["c1"]}))
edges = spark.createDataFrame(pa.table({"src": ["c1"], "dst": ["old"]}))
# Two frames, so that jobs run side by side in threads of the client.
both = omnigraph_spark.load(spark, uri, {"Person": frame, "Knows": edges}, "append")
pq.write_table(pa.table({"handle": ["d1"]}), path + ".parquet")
by_path = omnigraph_spark.load(spark, uri, {"Person": path + ".parquet"}, "append")
read = omnigraph_spark.read(spark, uri, "Person", columns=["handle"])
found = sorted(row.handle for row in read.collect())
# By tasks: a row that replaces another, and a new one.
loading.SparkMerger = partial(SparkMerger, limits=JudgeLimits(rows_in_task=0, keys_in_task=0))
again = spark.createDataFrame(pa.table({"handle": ["c1", "c2"]}))
omnigraph_spark.load(spark, uri, {"Person": again}, "merge")

def busy(batches):
    raise StorageError("The store is busy. " + "x" * 5_000, condition=StorageCondition.TRANSIENT, help="Wait.")
    yield

loading.write_ranges = lambda ticket, ranges: telling(busy)
try:
    omnigraph_spark.load(spark, uri, path, "merge")
except StorageError as error:
    told = [error.message[:18], len(error.message), error.condition, error.help]
print(json.dumps([type(spark).__module__, done.total + both.total + by_path.total, found, told]))
spark.stop()
"""


@pytest.mark.skipif(
    os.environ.get("OMNIGRAPH_SPARK_FAULTS") != "full", reason="it starts a server: tox run -e spark-faults"
)
def test_a_load_over_spark_connect_is_as_any_other(graph: og.Graph, tmp_path: Path):
    path = write_jsonl(tmp_path / "a.jsonl", family("a"))
    words = [sys.executable, "-c", CONNECT, graph.uri, str(path)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(words, capture_output=True, text=True, timeout=280, env=environment)
    assert ended.returncode == 0, ended.stderr
    module, total, found, told = json.loads(ended.stdout.splitlines()[-1])
    assert module.startswith("pyspark.sql.connect")
    assert (total, found) == (3 + 2 + 1, ["a1", "a2", "c1", "d1", "old"])
    assert told == ["The store is busy.", 5_019, "transient", "Wait."]
    graph.refresh()
    assert handles(graph) == sorted([*found, "c2"])
