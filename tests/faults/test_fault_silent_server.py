"""An S3 server stops answering at some request of a call: the call ends by its deadline, or soon after it has none.

Every verb meets a server that accepts and never answers, from each of its requests on. It ends within its deadline and
one timeout with a typed error; nothing is half done; and the same handle works when the server answers again. The
timeout is short here, so that a run takes a second. How many requests are tried is a matter of the run: one of them in
the ordinary one, all of them with ``OMNIGRAPH_SILENT_SERVER=full``.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError, OutcomeUnknownError, StorageCondition, StorageError
from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault, run_fault_proxy, run_silent_server
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.s3_servers import S3Server, run_s3_server

T = TypeVar("T")

BUCKET = "silent-server"
IS_FULL = os.environ.get("OMNIGRAPH_SILENT_SERVER") == "full"

MOST_MOMENTS = 30
"""So many of the requests of a call are tried at most, evenly spread."""

TIMEOUT = 0.4
DEADLINE = 0.6
SLACK = 2.5
"""For a machine that has other things to do; without bounds each of these calls takes much longer."""

TIMEOUTS = {"read_timeout_seconds": TIMEOUT, "connect_timeout_seconds": TIMEOUT}

SCHEMA = """
node Film { code: String @key  title: String  year: I32? @index }
edge Follows: Film -> Film
"""
SEED = [
    *({"type": "Film", "data": {"code": f"f{number}", "title": f"t{number}", "year": number}} for number in range(20)),
    *({"edge": "Follows", "from": f"f{number}", "to": f"f{number + 1}"} for number in range(19)),
]


def film(code: str) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code, "title": "x"}}


READ = "query q() { match { $a: Film  $a follows $b } return { $a.code, $b.title } order { $a.code } }"
INSERT = 'query m() { insert Film { code: "CODE", title: "new" } }'

Act: TypeAlias = Callable[[og.Graph, str], object]
"""A call on a handle, with a name that was never used before."""


@dataclasses.dataclass(frozen=True)
class Silent:
    """One graph, reached through a proxy that falls silent, and directly."""

    uri: str
    options: dict[str, Any]
    direct: dict[str, Any]
    proxy: FaultProxy

    def open(self, mode: Any = "rw") -> og.Graph:
        return og.open(self.uri, mode=mode, options=self.options)

    def fall_silent_after(self, count: int) -> None:
        self.proxy.clear()
        self.proxy.inject(NetworkFault.FORWARD, times=count)
        self.proxy.inject(NetworkFault.HANG, times=10**9)

    def answer_again(self) -> None:
        self.proxy.clear()


@pytest.fixture(scope="session")
def _served() -> Iterator[tuple[S3Server, FaultProxy]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_TAIL_MAINTENANCE", "off")
        with run_s3_server("ministack") as server, run_fault_proxy(server.endpoint_url) as proxy:
            server.create_bucket(BUCKET)
            yield server, proxy


@pytest.fixture
def silent(_served: tuple[S3Server, FaultProxy]) -> Iterator[Silent]:
    server, proxy = _served
    proxy.clear()
    uri = f"s3://{BUCKET}/{secrets.token_hex(8)}"
    proxied = dataclasses.replace(server, endpoint_url=proxy.endpoint_url)
    made = Silent(uri, {**proxied.options(), **TIMEOUTS}, dict(server.options()), proxy)
    with og.init(uri, schema=SCHEMA, options=made.direct) as graph:
        graph.load(SEED, "append")
        graph.branches.create("side")
        graph.load([film("aside")], "append", branch="side")
        graph.tags.create("then")
    yield made
    proxy.clear()


WITH_DEADLINE: dict[str, Act] = {
    "query": lambda g, _: g.query(READ, budget=og.QueryBudget(deadline=DEADLINE)).rows(),
    "mutate": lambda g, name: g.mutate(INSERT.replace("CODE", name), deadline=DEADLINE),
    "load": lambda g, name: g.load([film(name)], "merge", deadline=DEADLINE),
    "merge": lambda g, _: g.branches.merge("side", deadline=DEADLINE),
    "diff": lambda g, _: list(g.diff("main", "side", deadline=DEADLINE)),
    "export": lambda g, _: list(g.export(deadline=DEADLINE)),
    "changes": lambda g, _: g.changes(start="beginning", deadline=DEADLINE),
    "ensure_indices": lambda g, _: g.maintain.ensure_indices(deadline=DEADLINE),
}
WITHOUT: dict[str, Act] = {
    "query": lambda g, _: g.query(READ).rows(),
    "mutate": lambda g, name: g.mutate(INSERT.replace("CODE", name)),
    "load": lambda g, name: g.load([film(name)], "merge"),
    "branches.create": lambda g, name: g.branches.create(name),
    "branches.list": lambda g, _: g.branches.list(),
    "branches.delete": lambda g, _: g.branches.delete("side"),
    "tags.create": lambda g, name: g.tags.create(name),
    "tags.list": lambda g, _: g.tags.list(),
    "commits.list": lambda g, _: g.commits.list(),
    "stats": lambda g, _: g.stats(),
    "refresh": lambda g, _: g.refresh(),
    "recoveries": lambda g, _: g.recoveries.pending(),
}


def moments(count: int) -> list[int]:
    """After how many of so many requests the server falls silent."""
    if not IS_FULL:
        return [count * 2 // 3]
    return sorted({number * count // min(count, MOST_MOMENTS) for number in range(min(count, MOST_MOMENTS))})


def requests_of(silent: Silent, act: Act) -> int:
    with again(silent.open) as graph:
        silent.proxy.clear()
        again(lambda: act(graph, f"n{secrets.token_hex(4)}"))
        return len(silent.proxy.requests)


def again(act: Callable[[], T]) -> T:
    """What a call gives whose server answers: on a busy machine it may need longer than these short timeouts."""
    ends = time.monotonic() + 30
    while True:
        try:
            return act()
        except StorageError as error:
            if not is_told(error) or time.monotonic() > ends:
                raise
            time.sleep(0.1)


def taken(act: Callable[[], object]) -> tuple[float, OmnigraphError | None]:
    """How long a call took, and how it ended."""
    began = time.monotonic()
    try:
        act()
    except OmnigraphError as error:
        return time.monotonic() - began, error
    return time.monotonic() - began, None


def is_told(error: OmnigraphError | None) -> bool:
    """Whether the error says that the store did not answer, and no more than is known."""
    if isinstance(error, OutcomeUnknownError):
        return True
    return isinstance(error, StorageError) and error.condition in (StorageCondition.TRANSIENT, StorageCondition.UNKNOWN)


def meet_silence(silent: Silent, name: str, act: Act, bound: float) -> None:
    count = requests_of(silent, act) if name not in ("merge", "branches.delete") else 6
    for number in moments(max(count, 1)):
        what = f"{name}, silent after {number} of {count} requests"
        with again(silent.open) as graph:
            used = f"s{secrets.token_hex(4)}"
            silent.fall_silent_after(number)
            seconds, error = taken(lambda used=used: act(graph, used))
            was_met = bool(silent.proxy.faults.get(NetworkFault.HANG))
            silent.answer_again()
            assert seconds < bound + SLACK, f"{what}: {seconds:.1f} s, {error!r}"
            assert is_told(error) or not was_met or error is None, f"{what}: {error!r}"
            # What was abandoned may still hold what it was given, for a timeout at most.
            assert again(lambda graph=graph: graph.query(READ).rows()), what
            again(lambda graph=graph, used=used: graph.load([film(f"after-{used}")], "merge"))
    with og.open(silent.uri, options=silent.direct) as graph:
        assert_graph_is_whole(graph)


@pytest.mark.parametrize("name", list(WITH_DEADLINE))
def test_a_call_ends_one_timeout_after_its_deadline(silent: Silent, name: str):
    meet_silence(silent, name, WITH_DEADLINE[name], DEADLINE + TIMEOUT)


ORDINARY = ["query", "mutate", "load", "branches.create", "branches.list", "tags.create"]


@pytest.mark.parametrize("name", list(WITHOUT) if IS_FULL else ORDINARY)
def test_a_call_without_a_deadline_ends_soon_after_the_server_fell_silent(silent: Silent, name: str):
    # The first request that is given up, listings of Lance twice as late, and one timeout for all that comes after it.
    meet_silence(silent, name, WITHOUT[name], 4 * TIMEOUT)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_an_open_ends(silent: Silent, mode: str):
    silent.proxy.clear()
    again(lambda: silent.open(mode)).close()
    for number in moments(len(silent.proxy.requests)):
        silent.fall_silent_after(number)
        seconds, error = taken(lambda: silent.open(mode).close())
        silent.answer_again()
        assert seconds < 4 * TIMEOUT + SLACK, (number, error)
        assert is_told(error), (number, error)
    again(lambda: silent.open(mode)).close()


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_an_open_of_a_server_that_never_answers_ends(mode: Any):
    with run_silent_server() as url:
        options = {"endpoint_url": url, "access_key_id": "a", "secret_access_key": "b", **TIMEOUTS}
        seconds, error = taken(lambda: og.open("s3://bucket/graph", mode=mode, options=options))
    assert seconds < 4 * TIMEOUT + SLACK
    assert is_told(error), error


def test_a_close_ends(silent: Silent):
    graph = again(silent.open)
    again(lambda: graph.query(READ).rows())
    silent.fall_silent_after(0)
    seconds, error = taken(graph.close)
    assert seconds < 4 * TIMEOUT + SLACK
    assert error is None


@pytest.mark.parametrize("fault", [NetworkFault.UNAVAILABLE, NetworkFault.TRICKLE_ANSWER])
@pytest.mark.parametrize("name", ["query", "mutate", "load"])
def test_a_server_that_refuses_or_trickles_holds_no_call_up(silent: Silent, name: str, fault: NetworkFault):
    with again(silent.open) as graph:
        silent.proxy.clear()
        silent.proxy.inject(fault, times=10**9, seconds=TIMEOUT / 2)
        seconds, error = taken(lambda: WITH_DEADLINE[name](graph, "slow"))
        silent.answer_again()
        assert seconds < DEADLINE + TIMEOUT + SLACK, error
        assert error is not None
        assert again(lambda: graph.query(READ).rows())


PROGRAM = """
import sys, omnigraph as og
from omnigraph.errors import OmnigraphError
uri, endpoint, timeout = sys.argv[1:]
options = {"endpoint_url": endpoint, "access_key_id": "TESTACCESSKEY", "secret_access_key": "x",
           "read_timeout_seconds": float(timeout), "connect_timeout_seconds": float(timeout)}
graph = og.open(uri, mode="r", options=options)
print("open", flush=True)
sys.stdin.readline()
try:
    graph.query("query q() { match { $a: Film } return { $a.code } }", budget=og.QueryBudget(deadline=0.3)).rows()
except OmnigraphError as error:
    print(type(error).__name__, flush=True)
    sys.exit(7)
"""
"""Opens, waits for a line, asks, and ends while Lance still waits for the server."""


def start_program(silent: Silent, timeout: float) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", PROGRAM, silent.uri, silent.proxy.endpoint_url, str(timeout)]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask_the_silent(program: subprocess.Popen[str], silent: Silent) -> None:
    assert program.stdout is not None
    assert program.stdin is not None
    assert program.stdout.readline() == "open\n"
    silent.fall_silent_after(0)
    program.stdin.write("\n")
    program.stdin.flush()


def test_a_process_ends_although_lance_still_waits(silent: Silent):
    with start_program(silent, TIMEOUT) as program:
        ask_the_silent(program, silent)
        told, _ = program.communicate(timeout=30)
    assert (program.returncode, told) == (7, "StorageError\n")


@pytest.mark.skipif(not IS_FULL, reason="starts a process; OMNIGRAPH_SILENT_SERVER=full")
def test_an_interrupt_ends_the_wait_for_a_silent_server(silent: Silent):
    with start_program(silent, 60.0) as program:
        ask_the_silent(program, silent)
        while not silent.proxy.faults.get(NetworkFault.HANG):
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        told, _ = program.communicate(timeout=30)
    assert (program.returncode, told) == (-signal.SIGINT, "")
