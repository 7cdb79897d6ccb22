"""An HTTP proxy on loopback that fails on demand, between a client and a real server.

    client ──> FaultProxy ──> server          client <── FaultProxy <── server
          reset, refuse, hang: never sent on        lose, hide, delay, trickle, cut: the effect has happened

Tests script it one fault at a time: ``inject`` says which of the next requests go wrong and how. Or they let chance
decide: ``disturb`` says which share of all requests goes wrong. Every request that arrives is recorded, so a test can
also count what a verb costs.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

_CONNECTION_HEADERS: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class NetworkFault(StrEnum):
    """What happens to a request."""

    FORWARD = "forward"
    """Nothing goes wrong; for a rule that only wants ``after_effect``, or to spare the first few."""

    RESET = "reset"
    """The connection is reset; the server never hears of the request."""

    UNAVAILABLE = "unavailable"
    """503 without an effect."""

    CONFLICT = "conflict"
    """409 without an effect."""

    FORBIDDEN = "forbidden"
    """403 without an effect."""

    LOSE_ANSWER = "lose_answer"
    """The server does what was asked; then the connection is reset."""

    HIDE_ANSWER = "hide_answer"
    """The server does what was asked; the client is told 500."""

    DELAY_ANSWER = "delay_answer"
    """The server does what was asked; the answer comes ``seconds`` later."""

    HANG = "hang"
    """Nothing happens at all, without an effect; the connection stays open for as long as the client waits."""

    TRICKLE_ANSWER = "trickle_answer"
    """The server does what was asked; its answer's body comes byte by byte, each ``seconds`` after the last."""

    CUT_ANSWER = "cut_answer"
    """The server does what was asked; the connection is reset in the middle of the answer's body."""


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """A request as it arrived. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str] = field(repr=False)


@dataclass(slots=True)
class _Rule:
    fault: NetworkFault
    method: str | None = None
    times: int = 1
    seconds: float = 0.0
    after_effect: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class _Weather:
    """What goes wrong by chance, where no rule says otherwise."""

    random: Random
    shares: Mapping[NetworkFault, float]
    seconds: float

    def draw(self) -> _Rule | None:
        lot = self.random.random()
        for fault, share in self.shares.items():
            lot -= share
            if lot < 0:
                return _Rule(fault, seconds=self.random.uniform(0, self.seconds))
        return None


class FaultProxy:
    """The proxy's script and its memory; threads may share it.

    Attributes:
        endpoint_url: where clients connect instead of the server.
    """

    def __init__(self, endpoint_url: str, *, keeps_requests: bool = True) -> None:
        self.endpoint_url = endpoint_url
        self._keeps_requests = keeps_requests
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []
        self._weather: _Weather | None = None
        self._requests: list[ProxiedRequest] = []
        self._faults: Counter[NetworkFault] = Counter()
        self._stopped = threading.Event()

    def inject(
        self,
        fault: NetworkFault,
        *,
        method: str | None = None,
        times: int = 1,
        seconds: float = 0.0,
        after_effect: Callable[[], None] | None = None,
    ) -> None:
        """Let the next ``times`` requests of this method go wrong; several injections are used up in their order.

        Args:
            fault: what goes wrong.
            method: of the requests that are meant; None for all.
            times: how many of them.
            seconds: how long ``DELAY_ANSWER`` waits, and ``TRICKLE_ANSWER`` before each byte.
            after_effect: called once the server has answered and before the client learns anything.
        """
        with self._lock:
            self._rules.append(_Rule(fault, method, times, seconds, after_effect))

    def disturb(self, random: Random, shares: Mapping[NetworkFault, float], *, seconds: float = 0.0) -> None:
        """Let requests go wrong by chance from now on, until ``clear``; ``inject`` goes first.

        Args:
            random: decides which of them; the same again from the same seed and the same order of arrival.
            shares: of all requests, by what goes wrong with them; together at most 1.
            seconds: how long ``DELAY_ANSWER`` waits at most.
        """
        with self._lock:
            self._weather = _Weather(random, dict(shares), seconds)

    def clear(self) -> None:
        """Forget the script, the requests and the faults."""
        with self._lock:
            self._rules.clear()
            self._weather = None
            self._requests.clear()
            self._faults.clear()

    @property
    def faults(self) -> Mapping[NetworkFault, int]:
        """How often each fault happened since ``clear``."""
        with self._lock:
            return dict(self._faults)

    @property
    def requests(self) -> tuple[ProxiedRequest, ...]:
        """What has arrived since ``clear``, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of ``requests``."""
        return tuple(request.method for request in self.requests)

    def _next_rule(self, request: ProxiedRequest) -> _Rule | None:
        with self._lock:
            if self._keeps_requests:
                self._requests.append(request)
            found = next(
                (each for each in self._rules if each.times > 0 and each.method in (None, request.method)), None
            )
            if found is not None:
                found.times -= 1
            elif self._weather is not None:
                found = self._weather.draw()
            if found is not None:
                self._faults[found.fault] += 1
            return found


@contextmanager
def run_silent_server() -> Iterator[str]:
    """Run a server that accepts every connection and never answers, for as long as the block lasts; its URL."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    kept.append(listening.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in kept:
                each.close()


@contextmanager
def run_fault_proxy(upstream_url: str, *, keeps_requests: bool = True) -> Iterator[FaultProxy]:
    """Run a proxy in front of a plain HTTP server for as long as the block lasts.

    Without ``keeps_requests`` it forgets each request at once, for runs in which there are very many.
    """
    upstream = urlsplit(upstream_url)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.upstream = (upstream.hostname or "", upstream.port or 80)
    server.proxy = FaultProxy(f"http://127.0.0.1:{server.server_address[1]}", keeps_requests=keeps_requests)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.proxy
    finally:
        server.proxy._stopped.set()  # noqa: SLF001  # both ends of one object
        server.shutdown()
        thread.join()
        server.disconnect_clients()
        server.server_close()


class _Server(ThreadingHTTPServer):
    # Handlers are waited for in server_close, which leaves no socket open behind a test.
    daemon_threads = False
    block_on_close = True

    upstream: tuple[str, int]
    proxy: FaultProxy

    def __init__(self, *args: Any) -> None:
        self._clients: set[socket.socket] = set()
        self._clients_lock = threading.Lock()
        super().__init__(*args)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self._clients_lock:
            self._clients.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            with self._clients_lock:
                self._clients.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or a server that does, is the everyday business of this proxy."""

    def disconnect_clients(self) -> None:
        with self._clients_lock:
            for client in self._clients:
                # One that is gone already is no reason to leave the others connected.
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Answers are small and written in two steps; waiting for acknowledgements would cost 40 ms each.
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_args: Any) -> None:
        """Silence: what arrived is in ``FaultProxy.requests``."""

    def _proxy(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ProxiedRequest(self.command, self.path, headers)
        body = self.rfile.read(int(headers.get("content-length", "0")))
        rule = self.server.proxy._next_rule(request)  # noqa: SLF001  # both ends of one object
        fault = rule.fault if rule else None
        if fault is NetworkFault.RESET:
            self._reset()
        elif fault is NetworkFault.HANG:
            self.server.proxy._stopped.wait()  # noqa: SLF001
            self._reset()
        elif fault is NetworkFault.UNAVAILABLE:
            self._refuse(503, "ServiceUnavailable")
        elif fault is NetworkFault.CONFLICT:
            self._refuse(409, "ConditionalRequestConflict")
        elif fault is NetworkFault.FORBIDDEN:
            self._refuse(403, "AccessDenied")
        else:
            status, answered, data = self._forward(body)
            if rule and rule.after_effect:
                rule.after_effect()
            if fault is NetworkFault.LOSE_ANSWER:
                self._reset()
            elif fault is NetworkFault.HIDE_ANSWER:
                self._refuse(500, "InternalError")
            else:
                if rule and fault is NetworkFault.DELAY_ANSWER:
                    self.server.proxy._stopped.wait(rule.seconds)  # noqa: SLF001
                if rule and fault is NetworkFault.TRICKLE_ANSWER:
                    self._trickle(status, answered, data, rule.seconds)
                else:
                    self._answer(status, answered, data, is_cut=fault is NetworkFault.CUT_ANSWER)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _proxy  # noqa: N815  # http.server's names

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Send the request on, its Host header included, because signatures cover it."""
        connection = http.client.HTTPConnection(*self.server.upstream, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.putheader("Connection", "close")
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _CONNECTION_HEADERS]
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
            return answer.status, [*kept, ("Content-Length", length or "0")], data
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, *, is_cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if is_cut else data)
        if is_cut:
            self._reset()

    def _trickle(self, status: int, headers: list[tuple[str, str]], data: bytes, seconds: float) -> None:
        self._answer(status, headers, b"")
        for byte in data:
            if self.server.proxy._stopped.wait(seconds):  # noqa: SLF001
                return
            self.wfile.write(bytes([byte]))

    def _refuse(self, status: int, code: str) -> None:
        document = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>".encode()
        data = b"" if self.command == "HEAD" else document
        self._answer(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(data)))], data)

    def _reset(self) -> None:
        self.close_connection = True
        # With no time to linger, closing sends a reset instead of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The two file objects keep the socket open until they are closed as well.
        with suppress(OSError):
            self.wfile.close()
        self.rfile.close()
        self.connection.close()

    def finish(self) -> None:
        with suppress(OSError, ValueError):
            super().finish()
