"""Where conformance is tested: memory, a directory, and a real S3 server on loopback, started at most once."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.testing.s3_servers import S3Server, run_s3_server

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))


@dataclass(frozen=True)
class Root:
    """A place for graphs: each name is a graph of its own."""

    uri: str
    options: dict[str, Any]

    def init(self, schema: str, name: str = "graph") -> og.Graph:
        return og.init(f"{self.uri}/{name}", schema=schema, options=self.options)

    def open(self, name: str = "graph", mode: str = "rw") -> og.Graph:
        return og.open(f"{self.uri}/{name}", mode=mode, options=self.options)


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("conformance")
        yield server


@pytest.fixture(params=["memory", "local", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    if request.param == "memory":
        return Root(f"memory://conformance-{secrets.token_hex(8)}", {})
    if request.param == "local":
        return Root(str(tmp_path), {})
    return Root(f"s3://conformance/{secrets.token_hex(8)}", request.getfixturevalue("ministack").options())


@pytest.fixture(params=["local", "s3"])
def shared_root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    """Places that other processes reach as well."""
    if request.param == "local":
        return Root(str(tmp_path), {})
    return Root(f"s3://conformance/{secrets.token_hex(8)}", request.getfixturevalue("ministack").options())
