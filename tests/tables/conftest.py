"""The backends that tables are tested on: memory, a directory with a blank in its name, and a real S3 server."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph_storage_local.adapter import LocalAdapter
from omnigraph_storage_s3.adapter import S3Adapter

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("tables")
        yield server


@pytest.fixture(params=["memory", "local", "s3"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorageAdapter]:
    name = secrets.token_hex(6)
    match request.param:
        case "memory":
            made: StorageAdapter = MemoryAdapter(parse_uri(f"memory://backends-{name}"))
        case "local":
            made = LocalAdapter(parse_uri(str(tmp_path / "a graph")))
        case _:
            server: S3Server = request.getfixturevalue("ministack")
            made = S3Adapter(parse_uri(f"s3://tables/{name}"), server.options())
    with made:
        yield made


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalAdapter]:
    with LocalAdapter(parse_uri(str(tmp_path / "a graph"))) as made:
        yield made


@pytest.fixture
def tables(adapter: StorageAdapter) -> LanceTables:
    return LanceTables(adapter)
