"""A store that refuses or falls silent: at every request of an init, and a disk that is full or closed at every step.

Whatever the error says is so: after a ``StorageError`` nothing of the write is visible, after ``OutcomeUnknownError``
it may be, and the next attempt, through the same handle or another, works.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from workers import Worker

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, NotFoundError, OmnigraphError, OutcomeUnknownError, StorageError
from omnigraph.failpoints import FAILPOINTS
from omnigraph.storage import StorageAdapter, StorageBackend
from omnigraph.testing import CountingAdapter, Fault, FaultyAdapter
from omnigraph.testing.faults import Verb
from omnigraph.testing.graph_contract.clauses import SCHEMA, STORY, holds, model_of
from omnigraph.testing.invariants import assert_graph_is_whole

NOBODY = 65534
LOAD_POINTS = [name for name in FAILPOINTS if name.startswith(("load.", "publish."))]


@pytest.fixture(params=["memory", "local"])
def new_uri(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Gives an empty place at each call."""
    if request.param == "memory":
        return lambda: f"memory://faults-{secrets.token_hex(8)}/graph"
    return lambda: str(tmp_path / secrets.token_hex(8))


@pytest.fixture
def wrap(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[StorageAdapter], StorageAdapter] | None], None]:
    """From the call on, every adapter that is opened is wrapped so; by None, not at all."""
    opened = StorageBackend.open

    def use(wrapper: Callable[[StorageAdapter], StorageAdapter] | None) -> None:
        def open_wrapped(*arguments: Any) -> StorageAdapter:
            return wrapper(opened(*arguments)) if wrapper else opened(*arguments)

        monkeypatch.setattr(StorageBackend, "open", open_wrapped)

    return use


# ── every request of an init ─────────────────────────────────────────────────────────────────────────────────────────


def requests_of_an_init(uri: str, wrap: Callable[..., None]) -> dict[str, int]:
    counting: list[CountingAdapter] = []

    def count(adapter: StorageAdapter) -> StorageAdapter:
        counting.append(CountingAdapter(adapter))
        return counting[-1]

    wrap(count)
    og.init(uri, schema=SCHEMA).close()
    wrap(None)
    (counts,) = counting
    return dict(counts.calls)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_init_whose_store_fails_at_any_request_is_over_or_can_be_repeated(
    new_uri: Callable[[], str], wrap: Callable[..., None], moment: Any
):
    for verb, count in sorted(requests_of_an_init(new_uri(), wrap).items()):
        for skip in range(count):
            uri, what = new_uri(), f"{moment} {verb} number {skip}"
            fault = Fault(verb=cast("Verb", verb), error=OSError(errno.EIO, "no"), moment=moment, skip=skip)
            wrap(lambda adapter, fault=fault: FaultyAdapter(adapter, fault))
            error = error_of(lambda uri=uri: og.init(uri, schema=SCHEMA).close())
            wrap(None)
            check_after_init(uri, error, what)


def check_after_init(uri: str, error: OmnigraphError | None, what: str) -> None:
    found = error_of(lambda: og.open(uri).close())
    assert found is None or isinstance(found, NotFoundError), f"{what}: {found!r}"
    if error is None:
        assert found is None, what
    if found is not None:
        again = error_of(lambda: og.init(uri, schema=SCHEMA).close())
        if again is not None:
            assert isinstance(again, AlreadyExistsError), f"{what}: {again!r}"
            assert "force=True" in str(again), what
            og.init(uri, schema=SCHEMA, force=True).close()
    with og.open(uri) as graph:
        graph.load(STORY[0][1], "append")
        assert holds(graph, model_of(STORY[0])), what
        assert_graph_is_whole(graph)


def error_of(act: Callable[[], object]) -> OmnigraphError | None:
    try:
        act()
    except OmnigraphError as error:
        return error
    return None


# ── the disk ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A graph with the first load of the story, in a place that every user may enter, owned by one without power."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        root = Path(name) / "made"
        with og.init(root, schema=SCHEMA) as graph:
            graph.load(STORY[0][1], "append")
        yield root


def copied(made: Path) -> Path:
    root = shutil.copytree(made, made.with_name(secrets.token_hex(8)))
    if os.getuid() == 0:
        for directory, _, files in os.walk(root):
            for each in (directory, *(os.path.join(directory, file) for file in files)):
                os.chown(each, NOBODY, NOBODY)
    return root


@pytest.mark.parametrize("trouble", ["full disk", "closed directories"])
@pytest.mark.parametrize("name", LOAD_POINTS)
def test_a_disk_that_fails_at_any_step_of_a_load_leaves_what_the_error_says(
    worker: Worker, made: Path, trouble: str, name: str
):
    root = copied(made)
    outcome = worker.stumble(root, STORY[1], trouble=trouble, at=name)
    kind = outcome.get("error", {}).get("kind")
    assert kind in (None, StorageError.kind, OutcomeUnknownError.kind), outcome
    if kind != OutcomeUnknownError.kind:
        assert outcome["is_new"] == (kind is None), outcome
    if kind == StorageError.kind:
        # Its plan was withdrawn: no recovery carries out what was reported as failed.
        assert not outcome["is_there"], outcome
    with og.open(root) as graph:
        assert len(graph.commits.list()) == 3
        assert holds(graph, model_of(*STORY[:2]))
        assert_graph_is_whole(graph)
