"""Several processes change one graph in every way there is, and are killed while stores fail: nothing is lost.

Short here. ``tox run -e soak`` makes the long runs; these variables say how long they are, and what they print is one
line of JSON for each:

    OMNIGRAPH_SOAK_SEED                  of the first run; each further one takes the next
    OMNIGRAPH_SOAK_LOCAL_RUNS            runs on a local disk; OMNIGRAPH_SOAK_S3_RUNS the same on an S3 server
    OMNIGRAPH_SOAK_LOCAL_OPERATIONS      calls of each, at least; OMNIGRAPH_SOAK_S3_OPERATIONS the same
    OMNIGRAPH_SOAK_SECONDS               after which a run begins no further call
    OMNIGRAPH_SOAK_WRITERS               processes
    OMNIGRAPH_SOAK_HITS                  how often each failpoint kills a writer in each run on a local disk, at least

A seed decides what each process does and what goes wrong; how processes meet is the machine's.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from soak_runs import EVERYWHERE, IN_FOLDS, SoakPlace, SoakPlan, run_soak

from omnigraph.failpoints import PUBLISH_AFTER_COMMIT, PUBLISH_TABLES_DURABLE
from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault, run_fault_proxy
from omnigraph.testing.history_crew import Chaos
from omnigraph.testing.history_life import seeded
from omnigraph.testing.s3_servers import S3Server, run_s3_server


def number(name: str, otherwise: int) -> int:
    return int(os.environ.get(f"OMNIGRAPH_SOAK_{name}", otherwise))


SEED = number("SEED", 1)
LOCAL_SEEDS = range(SEED, SEED + number("LOCAL_RUNS", 1))
S3_SEEDS = range(SEED, SEED + number("S3_RUNS", 1))
HITS = number("HITS", 0)
BUCKET = "soak"

SHORT = Chaos(
    kills_per_second=0.5,
    stops_per_second=1.0,
    stop_seconds=0.3,
    failpoints=(PUBLISH_TABLES_DURABLE, PUBLISH_AFTER_COMMIT),
    hits=1,
    life_calls=8,
)
LONG = Chaos(
    kills_per_second=0.5,
    stops_per_second=0.5,
    # Longer than a writer is waited for that shows no sign of life.
    stop_seconds=2.0,
    pause_share=0.6,
    failpoints=EVERYWHERE,
    fold_failpoints=IN_FOLDS,
    hits=HITS,
    aimed_share=0.6,
    life_calls=30,
)
NETWORK_SHARES = {
    NetworkFault.LOSE_ANSWER: 0.006,
    NetworkFault.HIDE_ANSWER: 0.006,
    NetworkFault.CUT_ANSWER: 0.003,
    NetworkFault.DELAY_ANSWER: 0.004,
    NetworkFault.UNAVAILABLE: 0.002,
    NetworkFault.CONFLICT: 0.002,
    NetworkFault.RESET: 0.002,
}
"""Of all requests to the server; a small write makes about twenty."""


def plan_of(seed: int, operations: int, chaos: Chaos) -> SoakPlan:
    return SoakPlan(
        seed=seed,
        operations=operations,
        seconds=number("SECONDS", 1200),
        writers=number("WRITERS", 4 if HITS else 2),
        chaos=chaos,
        is_long=HITS > 0,
    )


@pytest.mark.parametrize("seed", LOCAL_SEEDS)
def test_nothing_is_lost_or_partial_on_a_local_disk(tmp_path: Path, seed: int):
    chaos = replace(LONG if HITS else SHORT, fault_share=0.003)
    plan = plan_of(seed, number("LOCAL_OPERATIONS", 24), chaos)
    notes = tmp_path / "notes"
    notes.mkdir()
    run, report = run_soak(SoakPlace(name="local", uri=str(tmp_path / "graph")), plan, notes)
    assert report.total >= plan.operations or report.seconds >= plan.seconds
    assert [name for name in chaos.failpoints if run.hits_at(name) < chaos.hits] == []
    assert [name for name in chaos.fold_failpoints if run.hits_at(name, is_fold=True) < chaos.hits] == []


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture
def proxy(server: S3Server) -> Iterator[FaultProxy]:
    with run_fault_proxy(server.endpoint_url, keeps_requests=False) as proxy:
        yield proxy


@pytest.mark.parametrize("seed", S3_SEEDS)
def test_nothing_is_lost_or_partial_on_an_s3_server_that_fails(
    tmp_path: Path, server: S3Server, proxy: FaultProxy, seed: int
):
    place = SoakPlace(
        name="ministack",
        uri=f"s3://{BUCKET}/{secrets.token_hex(8)}",
        options=replace(server, endpoint_url=proxy.endpoint_url).options(),
        direct=server.options(),
        is_passing=True,
    )
    # A call takes several times as long as on a disk.
    chaos = replace(LONG, hits=0, kills_per_second=0.15, stops_per_second=0.15) if HITS else SHORT
    plan = plan_of(seed, number("S3_OPERATIONS", 8), chaos)
    proxy.disturb(seeded(seed, -2), NETWORK_SHARES, seconds=0.3)
    _, report = run_soak(place, plan, tmp_path, network=proxy)
    assert report.total >= plan.operations or report.seconds >= plan.seconds
