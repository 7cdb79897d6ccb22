"""Credentials: explicit ones reach the tasks, the environment's stay where they are, and nobody is shown any."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph_spark.source import OmnigraphSource

FILMS = "node Film { code: String @key }"
CODES = "query codes() { match { $f: Film } return { $f.code } }"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as running:
        running.create_bucket("spark-secrets")
        yield running


@pytest.fixture
def uri(server: S3Server) -> str:
    made = f"s3://spark-secrets/{secrets.token_hex(8)}"
    with og.init(made, schema=FILMS, options=server.options()) as graph:
        graph.load([{"type": "Film", "data": {"code": "f1"}}], "append")
    return made


def test_explicit_options_reach_tasks_and_are_shown_nowhere(
    spark: SparkSession, server: S3Server, uri: str, capfd: pytest.CaptureFixture[str]
):
    read = omnigraph_spark.read(spark, uri, "Film", options=server.options())
    asked = omnigraph_spark.query(spark, uri, CODES, options=server.options())
    for frame in (read.where("code = 'f1'"), asked):
        assert [row[0] for row in frame.collect()] == ["f1"]
        for mode in ("extended", "formatted", "cost"):
            frame.explain(mode=mode)
    printed = capfd.readouterr()
    assert "omnigraph" in printed.out
    assert server.secret_access_key not in printed.out + printed.err


def test_an_error_of_a_task_or_planner_shows_no_secret(
    spark: SparkSession, server: S3Server, uri: str, capfd: pytest.CaptureFixture[str]
):
    options = {f"storage.{name}": value for name, value in server.options().items()}
    wrong = {**options, "storage.secret_access_key": "hush-hush-hush", "storage.session_token": "hush-again"}
    with pytest.raises(Exception, match=r"Film|s3") as caught:
        spark.read.format("omnigraph").options(uri=f"{uri}-gone", type="Film", **wrong).load().collect()
    printed = capfd.readouterr()
    assert "hush" not in str(caught.value) + printed.out + printed.err


def test_what_the_environment_gave_is_not_carried_along(server: S3Server, uri: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_REGION": server.region,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
    }.items():
        monkeypatch.setenv(name, value)
    source = OmnigraphSource({"uri": uri, "type": "Film"})
    reader = source.reader(source.schema())
    asked = OmnigraphSource({"uri": uri, "query": CODES})
    asked.schema()
    for each in (source, reader, asked):
        assert server.secret_access_key.encode() not in pickle.dumps(each)
    # The environment of whoever reads gives them anew.
    found = [batch for each in reader.partitions() for batch in pickle.loads(pickle.dumps(reader)).read(each)]
    assert [row for batch in found for row in batch["code"].to_pylist()] == ["f1"]


def test_no_form_of_a_source_shows_its_options(server: S3Server, uri: str):
    options = {f"storage.{name}": str(value) for name, value in server.options().items()}
    source = OmnigraphSource({"uri": uri, "type": "Film", **options})
    reader = source.reader(source.schema())
    for each in (source.given, source.__dict__, reader.__dict__, reader.scan, reader.partitions()):
        assert server.secret_access_key not in repr(each)
