"""Real S3 servers for the tests of this package, each started at most once, and adapters on roots of their own.

``OMNIGRAPH_TEST_S3_ENDPOINT`` puts another server in the place of moto and ministack. Tests that need faults, or a
server with a certain flaw, keep their own.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from omnigraph.storage import parse_uri
from omnigraph.testing.fault_proxy import FaultProxy, run_fault_proxy
from omnigraph.testing.s3_servers import S3Server, external_s3_server, run_s3_server
from omnigraph_storage_s3.adapter import S3Adapter

BUCKET = "omnigraph-tests"

Open = Callable[..., S3Adapter]


@pytest.fixture(scope="session")
def external_server() -> S3Server | None:
    return external_s3_server()


@pytest.fixture(scope="session")
def plain_server(external_server: S3Server | None) -> Iterator[S3Server]:
    """A server for everything but races."""
    if external_server is not None:
        external_server.create_bucket(BUCKET)
        yield external_server
        return
    with run_s3_server("moto") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(scope="session")
def racing_server(external_server: S3Server | None, request: pytest.FixtureRequest) -> S3Server:
    """A server whose conditional writes are atomic."""
    server: S3Server = external_server or request.getfixturevalue("ministack")
    server.create_bucket(BUCKET)
    return server


@pytest.fixture(scope="session")
def rclone() -> Iterator[S3Server]:
    """A server that checks signatures and ignores conditions."""
    with run_s3_server("rclone") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(scope="session")
def _proxied_ministack(ministack: S3Server) -> Iterator[tuple[S3Server, FaultProxy]]:
    with run_fault_proxy(ministack.endpoint_url) as proxy:
        yield dataclasses.replace(ministack, endpoint_url=proxy.endpoint_url), proxy


@pytest.fixture
def proxy(_proxied_ministack: tuple[S3Server, FaultProxy]) -> Iterator[FaultProxy]:
    """The proxy in front of ministack, with nothing injected and nothing recorded."""
    _, proxy = _proxied_ministack
    proxy.clear()
    yield proxy
    proxy.clear()


@pytest.fixture
def proxied(_proxied_ministack: tuple[S3Server, FaultProxy], proxy: FaultProxy) -> S3Server:
    """ministack as seen through ``proxy``."""
    return _proxied_ministack[0]


@pytest.fixture
def open_s3() -> Iterator[Open]:
    """Opens adapters of a server, by default each on an empty root of its own, and closes them."""
    opened: list[S3Adapter] = []

    def open_one(server: S3Server, root: str | None = None, **options: Any) -> S3Adapter:
        if root is None:
            root = f"s3://{server.bucket or BUCKET}/roots/{secrets.token_hex(8)}"
        adapter = S3Adapter(parse_uri(root), server.options() | options)
        opened.append(adapter)
        return adapter

    yield open_one
    for adapter in opened:
        adapter.close()
