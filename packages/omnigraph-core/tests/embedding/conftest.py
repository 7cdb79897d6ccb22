"""The stand-in server as a process, and one place on it for each test."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).with_name("embedding_stand_in.py")


@dataclass(frozen=True)
class StandIn:
    """A place on a running stand-in that no other test uses."""

    port: int
    name: str

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.name}/v1"

    def answers(self, *script: dict[str, Any]) -> None:
        self._ask("script", json.dumps(script).encode())

    def seen(self) -> list[dict[str, Any]]:
        return self._ask("seen")

    def _ask(self, verb: str, data: bytes | None = None) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/{verb}/{self.name}", data, timeout=60) as response:
            return json.load(response)


@contextlib.contextmanager
def running() -> Iterator[int]:
    """The port of a stand-in that lives as long as the block."""
    with subprocess.Popen(
        [sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture(scope="session")
def stand_in_port() -> Iterator[int]:
    with running() as port:
        yield port


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proxies of the machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def stand_in(stand_in_port: int) -> StandIn:
    return StandIn(stand_in_port, secrets.token_hex(8))


@pytest.fixture
def mortal_stand_in() -> Iterator[StandIn]:
    """One of its own, which a test may let die."""
    with running() as port:
        yield StandIn(port, "mortal")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited between attempts, in seconds; nobody really waits."""
    waited: list[float] = []
    monkeypatch.setattr("omnigraph.embedding.endpoint.time.sleep", waited.append)
    return waited


@pytest.fixture(scope="session")
def refused_port() -> int:
    """A port on which nobody listens."""
    with running() as port:
        pass
    return port
