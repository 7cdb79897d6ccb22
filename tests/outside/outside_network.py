"""A network that fails: a proxy between a writer and an S3 server, in a process of its own.

Each request meets one fault or none, by what the script said last:

    hang            it is never sent on and never answered; the connection stays open
    swallow         the server does what was asked, and nothing is ever answered
    reset           the connection is reset, and the server never hears of it
    lose            the server does what was asked; then the connection is reset
    unavailable     503 SlowDown without an effect
    fail            500 without an effect
    hide            the server does what was asked, and 500 is answered
    slow            it is late, before or after the server has it
    cut             the answer ends in the middle of its body
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from outside_children import start

FAULTS = ("hang", "swallow", "reset", "lose", "unavailable", "fail", "hide", "slow", "cut")
_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "expect")


@dataclass(slots=True)
class Weather:
    """What goes wrong from now on.

    Attributes:
        shares: of all requests, by fault.
        after: so many requests pass before ``fault`` meets ``times`` of them.
    """

    random: Random
    shares: Mapping[str, float] = field(default_factory=dict)
    fault: str | None = None
    after: int = 0
    times: int = 0
    requests: int = 0

    def draw(self) -> str | None:
        self.requests += 1
        if self.fault is not None and self.after < self.requests <= self.after + self.times:
            return self.fault
        lot = self.random.random()
        for fault, share in self.shares.items():
            lot -= share
            if lot < 0:
                return fault
        return None


class Network:
    """The proxy, in its own process."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "", parts.port or 80)
        self._lock = threading.Lock()
        self._weather = Weather(Random(0))
        self._busy = 0
        self._counts: Counter[str] = Counter()

    def set(self, weather: Weather) -> None:
        with self._lock:
            self._weather = weather

    def facts(self) -> dict[str, Any]:
        with self._lock:
            return {"busy": self._busy, "requests": self._weather.requests, "counts": dict(self._counts)}

    def serve(self, listener: socket.socket) -> None:
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        upstream = http.client.HTTPConnection(*self._upstream, timeout=60)
        with client, contextlib.closing(upstream), contextlib.suppress(OSError, http.client.HTTPException):
            reader = client.makefile("rb")
            while True:
                request = _read_request(reader, client)
                if request is None or not self._pass(request, client, upstream):
                    return

    def _pass(self, request: _Request, client: socket.socket, upstream: http.client.HTTPConnection) -> bool:
        """Answer one request, or not; whether the connection is good for another one."""
        with self._lock:
            fault = self._weather.draw()
            delay = self._weather.random.uniform(0.1, 1.8)
            is_late_to_server = self._weather.random.random() < 0.5
            self._counts[fault or "fine"] += 1
        if fault == "hang":
            _hold(client)
        elif fault == "reset":
            _reset(client)
        elif fault in ("unavailable", "fail"):
            client.sendall(_refusal(503 if fault == "unavailable" else 500))
        if fault in ("hang", "reset", "unavailable", "fail"):
            return fault in ("unavailable", "fail")
        if fault == "slow" and is_late_to_server:
            time.sleep(delay)
        answer = self._forward(request, upstream)
        if fault == "slow" and not is_late_to_server:
            time.sleep(delay)
        if fault == "swallow":
            _hold(client)
        elif fault == "lose":
            _reset(client)
        elif fault == "hide":
            client.sendall(_refusal(500))
        elif fault == "cut":
            client.sendall(answer.head + answer.body[: len(answer.body) // 2])
        else:
            client.sendall(answer.head + answer.body)
        return fault in (None, "slow", "hide")

    def _forward(self, request: _Request, upstream: http.client.HTTPConnection) -> _Answer:
        with self._lock:
            self._busy += 1
        try:
            upstream.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in _HOP:
                    upstream.putheader(name, value)
            upstream.putheader("Content-Length", str(len(request.body)))
            upstream.endheaders(request.body)
            response = upstream.getresponse()
            body = response.read()
            length = response.headers.get("content-length") if request.method == "HEAD" else str(len(body))
            lines = [f"HTTP/1.1 {response.status} {response.reason}"]
            lines += [f"{name}: {value}" for name, value in response.getheaders() if name.lower() not in _HOP]
            lines += [] if length is None or response.status == 204 else [f"Content-Length: {length}"]
            return _Answer("\r\n".join([*lines, "", ""]).encode("latin-1"), body)
        finally:
            with self._lock:
                self._busy -= 1


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Answer:
    head: bytes
    body: bytes


def _read_request(reader: Any, client: socket.socket) -> _Request | None:
    first = reader.readline()
    if not first.strip():
        return None
    method, target, _ = first.decode("latin-1").split()
    headers = []
    while (line := reader.readline().decode("latin-1").rstrip("\r\n")) != "":
        name, _, value = line.partition(":")
        headers.append((name, value.strip()))
    known = {name.lower(): value for name, value in headers}
    if known.get("expect", "").lower() == "100-continue":
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if known.get("transfer-encoding", "").lower() == "chunked":
        raise OSError("chunked requests are not sent by the clients of this run")
    return _Request(method, target, headers, reader.read(int(known.get("content-length", 0))))


def _refusal(status: int) -> bytes:
    code, reason = ("SlowDown", "Service Unavailable") if status == 503 else ("InternalError", "Internal Server Error")
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>by the network of the run</Message></Error>"
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def _hold(client: socket.socket) -> None:
    """Until the other side goes away."""
    while True:
        select.select([client], [], [])
        if not client.recv(1 << 16):
            return


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# ── the parent's end ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Proxy:
    """Where writers connect, and how the script says what goes wrong."""

    url: str
    _send: int
    _receive: Any

    def set(self, seed: int, **weather: Any) -> dict[str, Any]:
        """Change the weather; what happened so far."""
        return self._ask({"seed": seed, **weather})

    def quiet(self, seconds: float = 30.0) -> None:
        """Wait until the server has nothing more to do for anybody."""
        until = time.monotonic() + seconds
        while self._ask({"seed": 0})["busy"] and time.monotonic() < until:
            time.sleep(0.05)

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        os.write(self._send, json.dumps(order).encode() + b"\n")
        facts: dict[str, Any] = json.loads(self._receive.readline())
        return facts


@contextmanager
def failing_network(upstream: str, directory: Path) -> Iterator[Proxy]:
    """Run the proxy for as long as the block lasts; without faults at first."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    order_read, order_write = os.pipe()
    facts_read, facts_write = os.pipe()

    def work(_: int) -> None:
        os.close(order_write)
        network = Network(upstream)
        threading.Thread(target=network.serve, args=(listener,), daemon=True).start()
        with os.fdopen(order_read) as orders:
            for line in orders:
                order = json.loads(line)
                facts = network.facts()
                network.set(Weather(Random(order.pop("seed")), **order))
                os.write(facts_write, json.dumps(facts).encode() + b"\n")

    child = start(work, directory / "network.log")
    os.close(order_read)
    os.close(facts_write)
    port = listener.getsockname()[1]
    listener.close()
    try:
        with os.fdopen(facts_read) as facts:
            yield Proxy(f"http://127.0.0.1:{port}", order_write, facts)
    finally:
        child.kill()
        os.close(order_write)
