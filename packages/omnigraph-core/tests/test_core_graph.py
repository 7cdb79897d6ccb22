"""``Graph``: what a user holds: what it takes, what it refuses and with which words, and how it travels."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import InvalidInputError, NotFoundError, OmnigraphError, ParseError, ReadOnlyError
from omnigraph.plugins import open_adapter
from omnigraph.storage import ROOT

SCHEMA = "node Film { code: String @key  title: String? }\nnode Note { text: String? }\nedge Cites: Film -> Film\n"


def place() -> str:
    return f"memory://graph-{uuid.uuid4().hex}"


@pytest.fixture
def graph() -> og.Graph:
    made = og.init(place(), schema=SCHEMA, actor="ann")
    made.load([film("f1"), film("f2"), {"edge": "Cites", "from": "f1", "to": "f2"}], "append")
    return made


def film(code: str, title: str | None = None) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code, "title": title}}


def codes(graph: og.Graph, **where: Any) -> list[str]:
    return sorted(row["code"] for row in graph.table("Film", ["code"], **where))


# ── init ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", [Path, str])
def test_a_schema_is_read_from_its_file(tmp_path: Path, form: Callable[[Path], Path | str]):
    file = tmp_path / "films.pg"
    file.write_text(SCHEMA)
    assert og.init(place(), schema=form(file)).schema.text == SCHEMA


@pytest.mark.parametrize("form", [Path, str])
def test_a_mistake_in_a_schema_is_told_with_its_file_and_nothing_is_written(
    tmp_path: Path, form: Callable[[Path], Path | str]
):
    file, uri = tmp_path / "films.pg", place()
    file.write_text("node Film {")
    with pytest.raises(ParseError, match=r"films\.pg:1:12"):
        og.init(uri, schema=form(file))
    assert not open_adapter(uri, mode="r").exists(ROOT)
    og.init(uri, schema=SCHEMA)


@pytest.mark.parametrize("schema", [None, 3, b"node Film"])
def test_what_is_no_schema_is_refused(schema: Any):
    with pytest.raises(InvalidInputError, match="no schema") as refused:
        og.init(place(), schema=schema)
    assert ".pg" in (refused.value.help or "")


def test_a_schema_file_that_is_not_there_is_named(tmp_path: Path):
    for missing in (tmp_path / "no.pg", str(tmp_path / "no.pg"), tmp_path):
        with pytest.raises(InvalidInputError, match=r"could not be read"):
            og.init(place(), schema=missing)


# ── names that a caller gives ────────────────────────────────────────────────────────────────────────────────────────

WRONG_NAMES = [3, b"ann", ["ann"], "half \ud800", ""]


@pytest.mark.parametrize("wrong", WRONG_NAMES)
def test_an_actor_or_a_load_id_that_cannot_be_kept_is_refused_before_anything_happens(graph: og.Graph, wrong: Any):
    commits = graph.commits.list()
    calls: list[Callable[[], object]] = [
        lambda: graph.load([], "append", actor=wrong),
        lambda: graph.load([], "append", load_id=wrong),
        lambda: graph.bulk(load_id=wrong),
        lambda: graph.bulk_publish([], load_id=wrong),
        lambda: graph.bulk_publish([], actor=wrong),
        lambda: og.open(graph.uri, actor=wrong),
        lambda: og.init(place(), schema=SCHEMA, actor=wrong),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match=r"is no (actor|load id)") as refused:
            call()
        assert refused.value.help
    assert graph.commits.list() == commits


def test_the_actor_of_a_call_goes_before_that_of_the_handle(graph: og.Graph):
    assert graph.load([], "append").commit.actor == "ann"
    assert graph.load([], "append", actor="bo").commit.actor == "bo"
    assert [each.actor for each in graph.commits.list(actor="bo")] == ["bo"]


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("columns", ["code", ["code", "code"], ["nope"], [3]])
def test_columns_that_cannot_be_read_are_refused_as_input(graph: og.Graph, columns: Any):
    with pytest.raises(InvalidInputError) as refused:
        graph.table("Film", columns=columns)
    assert "id, code, title" in (refused.value.help or "")


def test_columns_come_in_the_order_asked_for(graph: og.Graph):
    assert graph.table("Film", ["title", "id"]).columns == ("title", "id")


# ── moments ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_moment_is_named_by_commit_version_or_snapshot_on_every_handle(graph: og.Graph):
    then = graph.snapshot()
    graph.load([film("f3")], "append")
    for handle in (graph, og.open(graph.uri), og.open(graph.uri, mode="r")):
        for moment in (then, then.commit.id, then.commit.manifest_version, pickle.loads(pickle.dumps(then))):
            assert codes(handle, snapshot=moment) == ["f1", "f2"]
            assert handle.snapshot(at=moment).commit == then.commit
            assert len([*handle.export(snapshot=moment)]) == 3
        assert codes(handle) == ["f1", "f2", "f3"]


def test_a_snapshot_of_another_graph_is_refused(graph: og.Graph):
    """Its pins would find tables here, and the rows would be those of neither."""
    other = og.init(place(), schema=SCHEMA)
    other.load([film("x")], "append")
    for read in (
        lambda: graph.table("Film", snapshot=other.snapshot()),
        lambda: [*graph.export(snapshot=other.snapshot())],
        lambda: graph.snapshot(at=other.snapshot()),
    ):
        with pytest.raises(InvalidInputError, match="another graph"):
            read()


@pytest.mark.parametrize("moment", ["nope", 0, -1, 99, 2**63])
def test_a_moment_that_never_was_is_not_found(graph: og.Graph, moment: str | int):
    with pytest.raises(NotFoundError) as refused:
        graph.snapshot(at=moment)
    assert refused.value.help


# ── handles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_handle_pickles_as_its_place_its_mode_and_its_actor(graph: og.Graph, mode: Any):
    handle = og.open(graph.uri, mode=mode, actor="cy")
    copy = pickle.loads(pickle.dumps(handle))
    assert (copy.uri, copy.mode, copy.actor) == (graph.uri, mode, "cy")
    assert codes(copy) == ["f1", "f2"]


def test_a_handle_for_reading_refuses_every_write(graph: og.Graph):
    reader = og.open(graph.uri, mode="r")
    for write in (
        lambda: reader.load([], "append"),
        lambda: reader.bulk(),
        lambda: reader.bulk_publish([]),
    ):
        with pytest.raises(ReadOnlyError, match="opened for reading") as refused:
            write()
        assert 'mode="rw"' in (refused.value.help or "")


@pytest.mark.parametrize("branch", ["dev", "../main", ""])
def test_a_branch_that_is_not_there_is_refused_by_every_verb(graph: og.Graph, branch: str):
    calls: list[Callable[[], object]] = [
        lambda: graph.load([], "append", branch=branch),
        lambda: graph.bulk(branch=branch),
        lambda: graph.table("Film", branch=branch),
        lambda: graph.export(branch=branch),
        lambda: graph.snapshot(branch),
        lambda: graph.commits.list(branch),
    ]
    for call in calls:
        with pytest.raises(OmnigraphError) as refused:
            call()
        assert refused.value.kind in ("not_found", "invalid_input")
        assert refused.value.help
