"""Two processes write while others are killed around them: no call fails, no commit is lost, none is half there."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from workers import Worker

import omnigraph as og
from omnigraph.failpoints import FAILPOINTS, PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED, GraphPlace, holds, model_of, person, rated
from omnigraph.testing.graph_contract.races import news, write_on
from omnigraph.testing.invariants import assert_graph_is_whole

LOADS = max(20, int(os.environ.get("OMNIGRAPH_GRAPH_LOADS", "20")))
"""How many loads each of the two makes; the long run makes 100."""


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def test_two_processes_lose_nothing_while_others_die_around_them(tmp_path: Path, worker: Worker):
    place = GraphPlace(uri=str(tmp_path / "graph"))
    with og.init(place.uri, schema=SCHEMA) as graph:
        graph.load(SEED, "append")
    killed: list[list[dict]] = []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(write_on, place, writer, LOADS) for writer in range(2)]
        # All that every load reaches.
        points = [
            name
            for name in FAILPOINTS
            if name.startswith(("load.", "publish.")) and name != PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
        ]
        while not all(each.done() for each in running):
            number = len(killed)
            records = [person(f"k{number}"), rated(f"k{number}", "F2", 1)]
            ended = worker.run(
                Path(place.uri), [("append", records)], failpoints=f"{points[number % len(points)]}=kill"
            )
            assert ended.is_killed, ended.printed
            killed.append(records)
        made = [each.result() for each in running]
    assert killed
    with og.open(place.uri) as graph:
        listed = [commit.id for commit in graph.commits.list()]
        assert {*made[0], *made[1]} <= set(listed)
        people = {row["id"] for row in graph.table("Person", columns=["id"])}
        landed = [records for records in killed if records[0]["data"]["name"] in people]
        assert len(listed) == 2 + 2 * LOADS + len(landed)
        written = [news(writer, number) for writer in range(2) for number in range(LOADS)]
        loads = [("append", records) for records in (SEED, *written, *landed)]
        assert holds(graph, model_of(*loads))
        assert_graph_is_whole(graph)
