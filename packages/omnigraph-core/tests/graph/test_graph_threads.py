"""One handle in many threads: reads, writes, statistics and refreshes at a time, and a dict that knows the outcome."""

from __future__ import annotations

import random
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.testing.invariants import assert_graph_is_whole

THREADS = 8
STEPS = 30
SCHEMA = "node Stock { code: String @key  amount: I64 }\nedge Near: Stock -> Stock\n"
PUT = "query put($code: String, $amount: I64) { insert Stock { code: $code, amount: $amount } }"
OWN = "query own($prefix: String) { match { $s: Stock  $s.code >= $prefix } return { $s.code, $s.amount } }"


def work(graph: Graph, number: int, meet: threading.Barrier) -> dict[str, int]:
    """Random steps on rows that are this thread's own, whose effects it sees at once; the rows at the end."""
    chance, model = random.Random(number), dict[str, int]()
    meet.wait()
    for step in range(STEPS):
        choice = chance.random()
        if choice < 0.2:
            code = f"t{number}-{chance.randrange(3)}"
            model[code] = step
            assert graph.mutate(PUT, params={"code": code, "amount": step}).affected_nodes == 1
        elif choice < 0.4:
            model[f"t{number}-{chance.randrange(3)}"] = step
            rows = [{"type": "Stock", "data": {"code": code, "amount": amount}} for code, amount in model.items()]
            assert graph.load(rows, "merge").total == len(model)
        elif choice < 0.8:
            found = {row["s.code"]: row["s.amount"] for row in graph.query(OWN, params={"prefix": f"t{number}-"})}
            assert {code: found[code] for code in found if code.startswith(f"t{number}-")} == model
        elif choice < 0.9:
            assert graph.stats().reads.failures == 0
        else:
            assert graph.refresh().branch == "main"
    return model


def test_threads_that_share_a_handle_see_what_they_wrote_and_lose_nothing():
    graph = og.init(f"memory://threads-{uuid.uuid4().hex}", schema=SCHEMA)
    meet = threading.Barrier(THREADS, timeout=60)
    with ThreadPoolExecutor(THREADS) as threads:
        models = [*threads.map(lambda number: work(graph, number, meet), range(THREADS))]
    expected = {code: amount for model in models for code, amount in model.items()}
    for handle in (graph, og.open(graph.uri)):
        assert {row["code"]: row["amount"] for row in handle.table("Stock")} == expected
    assert_graph_is_whole(graph)
    loads = [each for each in graph.commits.list() if each.kind == "data"]
    assert sorted(each.manifest_version for each in loads) == list(range(2, len(loads) + 2))
