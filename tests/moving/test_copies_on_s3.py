"""A graph is copied from and to S3, and its branches are relocated there, on a real server."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, RelocationRequiredError
from omnigraph.storage import parse_uri
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

SCHEMA = "node Film { code: String @key  title: String? @index }\n"
HELD = {"main": ["m1", "m2"], "deep": ["deep", "m1", "review"], "fresh": ["m1"], "review": ["m1", "review"]}
BUCKET = "moving"


def film(code: str) -> dict[str, object]:
    return {"type": "Film", "data": {"code": code, "title": code}}


def place() -> str:
    return f"s3://{BUCKET}/a graph {secrets.token_hex(4)}/100%"


def make(uri: str, **options: object) -> str:
    with og.init(uri, schema=SCHEMA, **options) as graph:  # type: ignore[arg-type]
        graph.load([film("m1")], "append")
        graph.maintain.ensure_indices()
        graph.branches.create("review")
        graph.branches.create("fresh")
        graph.load([film("review")], "append", branch="review")
        graph.tags.create("reviewed", graph.branches.show("review").head)
        graph.branches.create("deep", "review")
        graph.load([film("deep")], "append", branch="deep")
        graph.load([film("m2")], "append")
    return uri


def check(uri: str | Path, options: dict[str, str] | None = None) -> None:
    with og.open(uri, options=options) as graph:
        names = [each.name for each in graph.branches.list()]
        held = {name: sorted(row["code"] for row in graph.table("Film", branch=name)) for name in names}
        assert held == HELD
        assert [row["code"] for row in graph.table("Film", snapshot="reviewed")] == ["m1", "review"]
        graph.load([film("m2")], "append", branch="fresh")
        graph.branches.merge("fresh", "deep")
        assert_graph_is_whole(graph)
        assert not any("__init_claim" in str(each) for each in graph._repository.adapter.list())


def remove(uri: str, options: dict[str, str]) -> None:
    with S3Adapter(parse_uri(uri), options) as adapter:
        adapter.delete_prefix(adapter.key("__manifest").parent)


def test_a_graph_on_disk_is_copied_to_s3(ministack: S3Server, tmp_path: Path):
    root, there, options = make(str(tmp_path / "graph")), place(), ministack.options()
    done = og.copy(root, there, options=options)
    assert (done.branches, done.tags, done.lost) == (("main", "deep", "fresh", "review"), ("reviewed",), ())
    with pytest.raises(AlreadyExistsError):
        og.copy(root, there, options=options)
    shutil.rmtree(root)
    check(there, options)


def test_a_graph_on_s3_is_copied_on_it_and_to_a_disk(ministack: S3Server, tmp_path: Path):
    here, beside, options = make(place(), options=ministack.options()), place(), ministack.options()
    first = og.copy(here, beside, source_options=options, options=options)
    remove(here, options)
    second = og.copy(beside, tmp_path / "back", source_options=options)
    assert first.files == second.files
    remove(beside, options)
    check(tmp_path / "back")


def test_files_that_were_synced_to_another_prefix_are_relocated(ministack: S3Server):
    options = ministack.options()
    here, there = make(place(), options=ministack.options()), place()
    with S3Adapter(parse_uri(here), options) as source, S3Adapter(parse_uri(there), options) as target:
        for key in source.list():
            target.write(target.key(str(key)), source.read(key))
    with og.open(here, options=options) as graph:
        graph.load([film("later")], "append", branch="review")
    with og.open(there, options=options) as graph:
        assert sorted(row["code"] for row in graph.table("Film")) == HELD["main"]
        for name in ("deep", "fresh", "review"):
            with pytest.raises(RelocationRequiredError, match=r"omnigraph repair .* --relocate"):
                graph.table("Film", branch=name)
        assert [each.name for each in graph.branches.list() if each.problem] == ["deep", "fresh", "review"]
        assert graph.maintain.repair(relocate=True).relocated == ("deep", "fresh", "review")
        assert sorted(row["code"] for row in graph.table("Film", branch="deep")) == HELD["deep"]
    remove(here, options)
    check(there, options)
