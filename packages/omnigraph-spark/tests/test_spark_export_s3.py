"""Exports to S3: the same files, by options that travel with the tasks and not by what their environment holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import omnigraph
import omnigraph_spark
from omnigraph.errors import AlreadyExistsError, StorageError
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph_spark.export_target import ExportTarget, _s3_settings

SCHEMA = "node Person { handle: String @key }\nedge Knows: Person -> Person\n"
PEOPLE = [{"type": "Person", "data": {"handle": name}} for name in ("ann", "bo", "cy")]
KNOWS = [{"edge": "Knows", "from": "ann", "to": "bo", "data": {"id": "k"}}]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as running:
        running.create_bucket("exports")
        yield running


def test_a_graph_on_s3_is_exported_to_s3_by_the_same_options(spark: Any, server: S3Server):
    options = server.options()
    with omnigraph.init("s3://exports/graph.omni", schema=SCHEMA, options=options) as graph:
        graph.load([*PEOPLE, *KNOWS], mode="append")
        expected = sorted(graph.export())
    done = omnigraph_spark.export(
        spark, "s3://exports/graph.omni", "s3://exports/deep/out", format="jsonl", options=options
    )
    out = ExportTarget.of("s3://exports/deep/out", options).open()
    assert set(out.files()) == {*done.files, "_export.json"}
    lines = [line for name in done.files for line in read(out, name).decode().split("\n")[:-1]]
    assert sorted(lines) == expected
    assert json.loads(read(out, "_export.json")) == done.to_dict()

    with pytest.raises(AlreadyExistsError):
        omnigraph_spark.export(spark, "s3://exports/graph.omni", "s3://exports/deep/out", options=options)
    parquet = omnigraph_spark.export(
        spark, "s3://exports/graph.omni", "s3://exports/deep/out", types=["Knows"], options=options, overwrite=True
    )
    assert set(out.files()) == {*parquet.files, "_export.json"} == {"edges/Knows/part-00000.parquet", "_export.json"}


def read(out: Any, name: str) -> bytes:
    with out._files.open_input_stream(out._at(name)) as stream:
        return stream.read()


def test_a_store_that_refuses_is_told_by_what_was_to_be_done_and_without_its_secrets(server: S3Server):
    options = server.options() | {"secret_access_key": "no-such-secret-at-all"}
    refused = pytest.raises(StorageError, match="Could not write s3://no-such-bucket-here/out/x")
    out = ExportTarget.of("s3://no-such-bucket-here/out", options).open()
    with refused as caught, out.writing("x") as stream:
        stream.write(b"x")
    assert "no-such-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("reached_by", "expected"),
    [
        ({}, {}),
        ({"aws_region": "eu-west-1"}, {"region": "eu-west-1"}),
        (
            {
                "aws_access_key_id": "a",
                "aws_secret_access_key": "s",
                "aws_session_token": "",
                "aws_endpoint": "http://127.0.0.1:9000",
                "aws_virtual_hosted_style_request": "false",
            },
            {"access_key": "a", "secret_key": "s", "endpoint_override": "127.0.0.1:9000", "scheme": "http"},
        ),
        (
            {"aws_endpoint": "https://bucket.store.example", "aws_virtual_hosted_style_request": "true"},
            {"endpoint_override": "store.example", "scheme": "https", "force_virtual_addressing": True},
        ),
    ],
)
def test_a_bucket_is_reached_as_lance_reaches_it(reached_by: dict[str, str], expected: dict[str, Any]):
    assert _s3_settings("bucket", reached_by) == expected
