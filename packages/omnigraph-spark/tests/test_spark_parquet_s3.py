"""Parquet on a server is found, cut and read by Arrow alone, with what the environment gives: no jar, and no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import omnigraph as og
from omnigraph.errors import InvalidInputError
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph_spark.inputs import Inputs, sort_inputs
from omnigraph_spark.tasks import written_range


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as running:
        running.create_bucket("spark-parquet")
        yield running


def uri(server: S3Server, key: str) -> str:
    where = server.endpoint_url.removeprefix("http://")
    return f"s3://spark-parquet/{key}?scheme=http&region={server.region}&endpoint_override={where}"


@pytest.fixture
def files(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two files of two row groups each, in a directory."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_access_key)
    for number in range(2):
        store, path = pafs.FileSystem.from_uri(uri(server, f"people/part-{number}.parquet"))
        table = pa.table({"name": [f"p{number}-{row}" for row in range(6)]})
        pq.write_table(table, path, filesystem=store, row_group_size=3)
    return [uri(server, f"people/part-{number}.parquet") for number in range(2)]


def sort(data: object) -> Inputs:
    """Inputs that Spark has no part in."""
    return sort_inputs(cast("SparkSession", None), data)


def test_a_directory_and_its_files_on_a_server_are_read(server: S3Server, files: list[str], tmp_path: Path):
    with og.init(tmp_path / "g", schema="node Person { name: String @key }") as graph:
        for given in (uri(server, "people"), files):
            ticket = graph.bulk(["Person"])
            ranges = sort({"Person": given}).ranges
            assert [each.path for each in ranges] == files
            graph.bulk_publish([written_range(ticket, each) for each in ranges], "overwrite", load_id=ticket.load_id)
            names = sorted(row["name"] for row in graph.table("Person").rows())
            assert names == [f"p{number}-{row}" for number in range(2) for row in range(6)]


def test_what_is_wrong_on_a_server_is_told_with_file_and_row(server: S3Server, files: list[str], tmp_path: Path):
    with og.init(tmp_path / "g", schema='node Person { name: String @key  @check(name, "^p.-[0-4]$") }') as graph:
        ticket = graph.bulk(["Person"])
        attempts = [written_range(ticket, each) for each in sort({"Person": files}).ranges]
    assert [(each.source, each.line) for attempt in attempts for each in attempt.problems] == [
        (files[0], 6),
        (files[1], 6),
    ]


def test_a_file_that_went_from_a_server_is_told(files: list[str], tmp_path: Path):
    ranges = sort({"Person": files}).ranges
    store, path = pafs.FileSystem.from_uri(files[1])
    store.delete_file(path)
    with og.init(tmp_path / "g", schema="node Person { name: String @key }") as graph:
        ticket = graph.bulk(["Person"])
        written_range(ticket, ranges[0])
        with pytest.raises(InvalidInputError, match=r"part-1\.parquet.* cannot be read"):
            written_range(ticket, ranges[1])
