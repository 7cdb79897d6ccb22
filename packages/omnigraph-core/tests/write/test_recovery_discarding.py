"""``discard_sidecar``: only what nobody can act on is moved aside, and nothing else is touched."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import InvalidInputError, NotFoundError, RecoveryRequiredError
from omnigraph.failpoints import PUBLISH_SIDECAR_WRITTEN
from omnigraph.history.ulids import new_ulid
from omnigraph.plugins import open_adapter
from omnigraph.storage import StorageAdapter
from omnigraph.testing.faults import Call, armed

SCHEMA = "node Book { isbn: String @key }"


def books(*isbns: str) -> list[dict[str, Any]]:
    return [{"type": "Book", "data": {"isbn": each}} for each in isbns]


def new_graph() -> str:
    uri = f"memory://discarding-{new_ulid()}"
    with og.init(uri, schema=SCHEMA) as graph:
        graph.load(books("b1"), "append")
    return uri


def recovery_objects(store: StorageAdapter) -> dict[str, bytes]:
    return {key.name: store.read(key) for key in store.list_dir(store.key("__recovery"))}


def whole_sidecar(uri: str) -> tuple[str, bytes]:
    """The name and text of a sidecar as a load wrote it; the load is over, and the object is gone."""
    seen: list[dict[str, bytes]] = []
    with (
        og.open(uri, actor="ann") as graph,
        open_adapter(uri) as store,
        armed({PUBLISH_SIDECAR_WRITTEN: Call(lambda _: seen.append(recovery_objects(store)))}),
    ):
        graph.load(books("b2"), "append")
    ((name, text),) = seen[0].items()
    return name, text


def put(uri: str, name: str, data: bytes) -> None:
    with open_adapter(uri) as store:
        store.write(store.key(f"__recovery/{name}"), data)


def everything(uri: str) -> dict[str, bytes]:
    with open_adapter(uri) as store:
        return {str(key): store.read(key) for key in store.list()}


def changed(text: bytes, **members: Any) -> bytes:
    return json.dumps(json.loads(text) | members).encode()


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "damaged": (lambda text: text[:-10], "it is not JSON"),
    "empty": (lambda text: b"", "it is not JSON"),
    "of a newer release": (lambda text: changed(text, schema_version=3), "its form is version 3"),
    "of another graph": (lambda text: changed(text, graph=new_ulid()), "it belongs to another graph"),
    "of another operation": (
        lambda text: changed(text, operation_id=new_ulid()),
        "it says that it is another operation",
    ),
    "contradicting itself": (
        lambda text: changed(text, tables=json.loads(text)["tables"] * 2),
        "its tables are not in",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_plan_that_cannot_be_acted_on_is_moved_aside_and_the_graph_opens_again(damage: str):
    uri = new_graph()
    name, text = whole_sidecar(uri)
    spoil, reason = DAMAGES[damage]
    put(uri, name, spoil(text))
    operation_id = name.removesuffix(".json")
    if damage == "of another graph":
        # Nothing of this graph depends on it, so it is in nobody's way.
        og.open(uri).close()
    else:
        with pytest.raises(RecoveryRequiredError) as refused:
            og.open(uri)
        assert refused.value.operation_id == operation_id
    discarded = og.discard_sidecar(uri, operation_id)
    assert discarded.reason.startswith(reason)
    assert discarded.moved_to == (f"{uri}/__quarantine/__recovery/{name}",)
    assert discarded.to_dict()["operation_id"] == operation_id
    with og.open(uri) as graph:
        assert graph.recoveries.pending() == graph.recoveries.list() == graph.recoveries.settled() == []
        assert sorted(row["isbn"] for row in graph.table("Book")) == ["b1", "b2"]
        graph.load(books("b3"), "append")


def test_nothing_but_the_plan_moves():
    uri = new_graph()
    put(uri, "notes.txt", b"do not touch")
    before = everything(uri)
    og.discard_sidecar(uri, "notes.txt")
    before["__quarantine/__recovery/notes.txt"] = before.pop("__recovery/notes.txt")
    assert everything(uri) == before


@pytest.mark.parametrize("name", ["notes.txt", "x.json", "x.withdrawn.json"])
def test_an_object_that_is_no_sidecar_is_named_as_it_lies_there(name: str):
    uri = new_graph()
    put(uri, name, b"{}")
    with og.open(uri, mode="r") as graph:
        (pending,) = graph.recoveries.pending()
    assert (pending.operation_id, pending.state, pending.reason) == (name, "refused", "its name is no operation")
    with pytest.raises(RecoveryRequiredError, match=f"__recovery/{name}, cannot be acted on"):
        og.open(uri)
    assert og.discard_sidecar(uri, name).moved_to == (f"{uri}/__quarantine/__recovery/{name}",)
    og.open(uri).close()


def test_all_that_lies_there_of_an_operation_is_moved():
    uri, operation_id = new_graph(), new_ulid()
    put(uri, f"{operation_id}.json", b"a")
    put(uri, f"{operation_id}.withdrawn.json", b"b")
    discarded = og.discard_sidecar(uri, operation_id)
    assert [each.rpartition("/")[2] for each in discarded.moved_to] == [
        f"{operation_id}.json",
        f"{operation_id}.withdrawn.json",
    ]
    og.open(uri).close()


def test_one_that_was_moved_before_is_not_written_over():
    uri, operation_id = new_graph(), new_ulid()
    for text in (b"first", b"second"):
        put(uri, f"{operation_id}.json", text)
        og.discard_sidecar(uri, operation_id)
    kept = {name: data for name, data in everything(uri).items() if name.startswith("__quarantine/")}
    assert kept == {
        f"__quarantine/__recovery/{operation_id}.json": b"first",
        f"__quarantine/__recovery/{operation_id}.json.2": b"second",
    }


@pytest.mark.parametrize("ending", [".json", ".withdrawn.json"])
def test_a_whole_plan_is_for_a_recovery_and_stays(ending: str):
    uri = new_graph()
    name, text = whole_sidecar(uri)
    operation_id = name.removesuffix(".json")
    put(uri, operation_id + ending, text)
    before = everything(uri)
    with pytest.raises(InvalidInputError, match="is whole") as refused:
        og.discard_sidecar(uri, operation_id)
    assert f"omnigraph recovery run {uri}" in (refused.value.help or "")
    assert everything(uri) == before
    with og.open(uri) as graph:
        (settled,) = graph.recoveries.settled()
        assert (settled.operation_id, settled.recovery_for_actor) == (operation_id, "ann")
        assert graph.recoveries.list() == [settled]
        assert graph.recoveries.pending() == []
    with og.open(uri) as again:
        assert again.recoveries.settled() == []


def test_a_plan_under_way_is_whole():
    uri = new_graph()
    told: list[InvalidInputError] = []

    def try_to_discard(_: str) -> None:
        (pending,) = og.open(uri, mode="r").recoveries.pending()
        assert pending.state == "under_way"
        with pytest.raises(InvalidInputError) as refused:
            og.discard_sidecar(uri, pending.operation_id)
        told.append(refused.value)

    with og.open(uri) as graph, armed({PUBLISH_SIDECAR_WRITTEN: Call(try_to_discard)}):
        graph.load(books("b2"), "append")
    assert len(told) == 1


def test_what_is_not_there_is_not_found():
    uri = new_graph()
    with pytest.raises(NotFoundError, match="There is no plan of a write") as missing:
        og.discard_sidecar(uri, new_ulid())
    assert f"omnigraph recovery list {uri}" in (missing.value.help or "")
    with pytest.raises(NotFoundError, match="no graph"):
        og.discard_sidecar(f"memory://nowhere-{new_ulid()}", new_ulid())


def test_an_open_handle_writes_on_beside_a_plan_that_is_refused(caplog: pytest.LogCaptureFixture):
    uri = new_graph()
    with og.open(uri) as graph:
        put(uri, "notes.txt", b"in the way")
        with caplog.at_level(logging.WARNING, "omnigraph"):
            graph.load(books("b2"), "append")
        assert "omnigraph recovery discard" in caplog.text
        assert len(graph.table("Book")) == 2
