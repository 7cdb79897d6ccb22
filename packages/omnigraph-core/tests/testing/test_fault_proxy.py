"""The proxy lets chance decide which requests go wrong: as often as it was told, the same again from the same seed."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest

from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault, run_fault_proxy, run_silent_server

REQUESTS = 200
SHARES = {
    NetworkFault.RESET: 0.1,
    NetworkFault.UNAVAILABLE: 0.1,
    NetworkFault.CONFLICT: 0.1,
    NetworkFault.LOSE_ANSWER: 0.1,
    NetworkFault.HIDE_ANSWER: 0.1,
    NetworkFault.CUT_ANSWER: 0.1,
    NetworkFault.DELAY_ANSWER: 0.1,
}
UNDONE = (NetworkFault.RESET, NetworkFault.UNAVAILABLE, NetworkFault.CONFLICT)


class CountingServer(ThreadingHTTPServer):
    count = 0


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_GET(self) -> None:
        self.server.count += 1
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[CountingServer]:
    with CountingServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(upstream: CountingServer) -> Iterator[FaultProxy]:
    with run_fault_proxy(f"http://127.0.0.1:{upstream.server_address[1]}", keeps_requests=False) as proxy:
        yield proxy


def ask(proxy: FaultProxy) -> str:
    """What a client meets: a status, or that the connection ended before or within the answer."""
    host, _, port = proxy.endpoint_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        try:
            answer.read()
        except ConnectionResetError:
            return "cut"
        return str(answer.status)
    except http.client.IncompleteRead:
        return "cut"
    except ConnectionError:
        return "reset"
    finally:
        connection.close()


def met(proxy: FaultProxy, seed: int) -> list[str]:
    proxy.clear()
    proxy.disturb(Random(seed), SHARES, seconds=0.001)
    return [ask(proxy) for _ in range(REQUESTS)]


def test_every_fault_happens_as_often_as_it_was_told_and_the_same_again_from_a_seed(
    proxy: FaultProxy, upstream: CountingServer
):
    first = met(proxy, 1)
    faults = dict(proxy.faults)
    assert set(faults) == set(SHARES)
    assert all(5 <= count <= 50 for count in faults.values())
    assert upstream.count == REQUESTS - sum(faults[each] for each in UNDONE)
    assert met(proxy, 1) == first
    assert met(proxy, 2) != first
    assert {"200", "409", "500", "503", "reset", "cut"} == set(first)


def test_what_was_injected_goes_first_and_clear_ends_all_of_it(proxy: FaultProxy):
    proxy.disturb(Random(1), {NetworkFault.UNAVAILABLE: 1.0})
    proxy.inject(NetworkFault.CONFLICT)
    assert [ask(proxy), ask(proxy)] == ["409", "503"]
    assert proxy.faults == {NetworkFault.CONFLICT: 1, NetworkFault.UNAVAILABLE: 1}
    assert proxy.requests == ()
    proxy.clear()
    assert ask(proxy) == "200"
    assert proxy.faults == {}


def ask_briefly(url: str, seconds: float) -> bytes | None:
    """The body of an answer; None when none came within so many seconds of silence."""
    connection = http.client.HTTPConnection(*url.removeprefix("http://").split(":"), timeout=seconds)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    except TimeoutError:
        return None
    finally:
        connection.close()


def test_a_request_that_hangs_never_reaches_the_server_and_holds_no_other_one_up(
    proxy: FaultProxy, upstream: CountingServer
):
    proxy.inject(NetworkFault.HANG)
    assert ask_briefly(proxy.endpoint_url, 0.1) is None
    assert upstream.count == 0
    assert ask_briefly(proxy.endpoint_url, 30) == b"0123456789"
    assert proxy.faults == {NetworkFault.HANG: 1}


def test_an_answer_trickles_to_its_end(proxy: FaultProxy):
    proxy.inject(NetworkFault.TRICKLE_ANSWER, seconds=0.01)
    assert ask_briefly(proxy.endpoint_url, 30) == b"0123456789"
    proxy.inject(NetworkFault.TRICKLE_ANSWER, seconds=30)
    assert ask_briefly(proxy.endpoint_url, 0.1) is None


def test_a_silent_server_accepts_and_never_answers():
    with run_silent_server() as url:
        assert ask_briefly(url, 0.1) is None
        assert ask_briefly(url, 0.1) is None
