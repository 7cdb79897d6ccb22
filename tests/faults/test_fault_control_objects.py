"""Whatever lies where a control object should lie: it is refused by name, and a verb takes it away."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

import omnigraph as og
from omnigraph.errors import ErrorKind, FormatError, NotFoundError, RecoveryRequiredError
from omnigraph.history.branches import branch_key
from omnigraph.history.heartbeats import Observer, heartbeat_key
from omnigraph.history.tags import tag_key
from omnigraph.history.ulids import new_ulid
from omnigraph.plugins import open_adapter
from omnigraph.storage import ObjectKey
from omnigraph.write.bulk.leases import LEASE_PREFIX

SCHEMA: Final = "node Film { code: String @key }"
FILM: Final = [{"type": "Film", "data": {"code": "f1"}}]

CONTENTS: Final[dict[str, Callable[[], bytes]]] = {
    "a megabyte of brackets": lambda: b"[" * 1_000_000,
    "brackets below the bound of size": lambda: b"[" * 60_000,
    "objects in objects": lambda: b'{"a":' * 5_000,
    "100 MB": lambda: b" " * 100_000_000,
    "a list": lambda: b"[]",
    "null": lambda: b"null",
    "an empty object": lambda: b"{}",
    "a number that JSON does not have": lambda: b'{"name": NaN}',
    "no UTF-8": lambda: b'{"name": "\xff"}',
    "nothing": lambda: b"",
}


@pytest.fixture(params=["memory", "local"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://{uuid.uuid4().hex}" if request.param == "memory" else str(tmp_path / "graph")


@pytest.fixture
def graph(uri: str) -> Iterator[og.Graph]:
    with og.init(uri, schema=SCHEMA) as g:
        yield g


@pytest.fixture(params=CONTENTS)
def content(request: pytest.FixtureRequest) -> bytes:
    return CONTENTS[request.param]()


def put(uri: str, name: str | Callable[[object], ObjectKey], content: bytes) -> str:
    """Lay an object down as something else than OmniGraph would, without the bound of what we write; its URI."""
    with open_adapter(uri) as adapter:
        key = adapter.key(name) if isinstance(name, str) else name(adapter)
        adapter._write(key, content)
        return adapter.uri(key)


def test_a_damaged_branch_is_refused_by_name_and_can_be_deleted(graph: og.Graph, content: bytes):
    graph.branches.create("review")
    where = put(graph.uri, lambda adapter: branch_key(adapter, "review"), content)
    for ask in (
        lambda: graph.snapshot("review"),
        lambda: graph.load(FILM, "append", branch="review"),
        lambda: graph.branches.merge("review"),
    ):
        with pytest.raises(FormatError) as told:
            ask()
        assert told.value.kind == ErrorKind.FORMAT
        assert where in told.value.message
        assert f'omnigraph branch delete {graph.uri} "review"' in str(told.value.help)
    assert graph.load(FILM, "append").total == 1
    main, marked = graph.branches.list()
    assert (main.name, main.problem, marked.name, marked.head) == ("main", None, "review", None)
    assert where in str(marked.problem)
    graph.branches.delete("review")
    with pytest.raises(NotFoundError):
        graph.branches.delete("review")
    assert [each.name for each in graph.branches.list()] == ["main"]
    graph.branches.create("review")
    assert graph.load(FILM, "merge", branch="review").total == 1


def test_a_damaged_tag_is_refused_by_name_and_can_be_deleted(graph: og.Graph, content: bytes):
    graph.tags.create("v1")
    where = put(graph.uri, lambda adapter: tag_key(adapter, "v1"), content)
    for ask in (graph.tags.list, lambda: graph.tags.show("v1"), lambda: graph.snapshot(at="v1")):
        with pytest.raises(FormatError) as told:
            ask()
        assert where in told.value.message
        assert f'omnigraph tag delete {graph.uri} "v1"' in str(told.value.help)
    graph.tags.delete("v1")
    assert graph.tags.list() == []
    graph.tags.create("v1")
    assert graph.tags.show("v1").name == "v1"


@pytest.mark.parametrize("ending", [".json", ".withdrawn.json"])
def test_a_damaged_plan_of_a_write_is_refused_by_name_and_can_be_discarded(
    graph: og.Graph, content: bytes, ending: str
):
    operation = new_ulid()
    where = put(graph.uri, f"__recovery/{operation}{ending}", content)
    # Reading and writing go on, and say in the log what lies there.
    assert graph.load(FILM, "append").total == 1
    assert [(each.operation_id, each.state) for each in graph.recoveries.pending()] == [(operation, "refused")]
    with pytest.raises(RecoveryRequiredError) as told:
        og.open(graph.uri)
    assert where in told.value.message
    assert f"omnigraph recovery discard {graph.uri} {operation}" in str(told.value.help)
    og.discard_sidecar(graph.uri, operation)
    with og.open(graph.uri) as again:
        assert again.recoveries.pending() == []


def test_what_is_no_lease_of_a_load_is_passed_over(graph: og.Graph, content: bytes):
    put(graph.uri, f"{LEASE_PREFIX}/{new_ulid()}.json", content)
    assert graph.recoveries.loads() == []


def test_a_heartbeat_that_no_writer_wrote_is_the_one_of_a_dead_writer(graph: og.Graph, content: bytes):
    writer = new_ulid()
    put(graph.uri, lambda adapter: heartbeat_key(adapter, writer), content)
    now = iter(range(0, 1000, 30))
    with open_adapter(graph.uri) as adapter:
        observer = Observer(adapter, patience=20.0, now=lambda: float(next(now)))
        assert [observer.is_alive("one", writer) for _ in range(3)] == [None, None, False]
