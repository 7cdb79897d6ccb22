"""Readers while a writer commits: no error, and every result is the state of one commit, the one that it names."""

from __future__ import annotations

import multiprocessing
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from reader_steps import PATIENCE_SECONDS, SCHEMA, check, read_in_process, read_until, step, write_steps

from omnigraph.testing.graph_contract import GraphPlace
from omnigraph.testing.s3_servers import run_s3_server


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphPlace]:
    """A graph at which the first step is made."""
    kind = getattr(request, "param", "local")
    if kind == "s3":
        with run_s3_server("ministack") as server:
            server.create_bucket("readers")
            place = GraphPlace(uri="s3://readers/graph", options=server.options())
            yield seeded(place)
    else:
        uri = f"memory://readers-{secrets.token_hex(8)}/graph" if kind == "memory" else str(tmp_path / "graph")
        yield seeded(GraphPlace(uri=uri))


def seeded(place: GraphPlace) -> GraphPlace:
    with place.init(SCHEMA) as graph:
        graph.load(step(1), "append")
    return place


@pytest.mark.parametrize(
    ("place", "readers", "last", "is_shared"),
    [("memory", 16, 8, True), ("local", 16, 6, False), ("local", 16, 6, True), ("s3", 4, 5, False)],
    indirect=["place"],
)
def test_threads_on_one_handle_see_whole_commits(place: GraphPlace, readers: int, last: int, is_shared: bool):
    """The writer has a handle of its own, or shares that of the readers."""
    with place.open() as graph, place.open() as other:
        ready = threading.Semaphore(0)
        with ThreadPoolExecutor(readers) as threads:
            running = [threads.submit(read_until, graph, last, is_ready=ready.release) for _ in range(readers)]
            for _ in range(readers):
                assert ready.acquire(timeout=PATIENCE_SECONDS)
            numbers = write_steps(graph if is_shared else other, last)
            observed = [each.result(timeout=PATIENCE_SECONDS) for each in running]
    check(observed, numbers)
    assert len({commit for each in observed for commit, _ in each}) > 2


@pytest.mark.parametrize(("place", "readers", "last"), [("local", 8, 6), ("s3", 2, 5)], indirect=["place"])
def test_processes_on_one_graph_see_whole_commits(place: GraphPlace, readers: int, last: int, tmp_path: Path):
    # Each reader is forked from one process that has imported everything, and has opened nothing.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reader_steps", "omnigraph.graph", "omnigraph.engine.run", "datafusion"])
    signs = [tmp_path / f"reader-{number}" for number in range(readers)]
    with ProcessPoolExecutor(readers, mp_context=context) as processes, place.open() as graph:
        running = [processes.submit(read_in_process, place, last, sign) for sign in signs]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not all(sign.exists() for sign in signs):
            assert time.monotonic() < deadline, [each.exception(timeout=0) for each in running if each.done()]
            time.sleep(0.02)
        numbers = write_steps(graph, last)
        observed = [each.result(timeout=PATIENCE_SECONDS) for each in running]
    check(observed, numbers)
    assert len({commit for each in observed for commit, _ in each}) > 2
