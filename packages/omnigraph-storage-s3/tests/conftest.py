"""Real S3 servers for the tests of this package, each started at most once, and adapters on roots of their own.

``OMNIGRAPH_TEST_S3_ENDPOINT`` puts another server in the place of moto, ministack and seaweedfs. Tests that need
faults, or a server with a certain flaw, keep their own. Of the AWS configuration of whoever runs the tests nothing is
used but what that other server needs.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from omnigraph.storage import parse_uri
from omnigraph.testing.fault_proxy import FaultProxy, run_fault_proxy
from omnigraph.testing.s3_recipes import S3ServerName
from omnigraph.testing.s3_servers import EXTERNAL_ENDPOINT, S3Server, external_s3_server, run_s3_server
from omnigraph_storage_s3 import client
from omnigraph_storage_s3.adapter import S3Adapter

BUCKET = "omnigraph-tests"

Open = Callable[..., S3Adapter]
StartServer = Callable[[S3ServerName], S3Server]


PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
NEEDED_BY_EXTERNAL = PROXIES | {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_CA_BUNDLE",
}  # fmt: skip
"""Who the tests are at that server, and the way to it; in upper case, as all names here."""


@pytest.fixture(scope="session", autouse=True)
def _no_configuration_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Variables, profiles and proxies that would send requests elsewhere or sign them as somebody else."""
    kept = NEEDED_BY_EXTERNAL if os.environ.get(EXTERNAL_ENDPOINT) else frozenset[str]()
    nowhere = tmp_path_factory.mktemp("no-aws-configuration")
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            is_theirs = name.upper().startswith("AWS_") or name.upper() in PROXIES
            if is_theirs and name.upper() not in kept:
                patch.delenv(name)
        patch.setenv("AWS_CONFIG_FILE", str(nowhere / "config"))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(nowhere / "credentials"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def own_server() -> Iterator[StartServer]:
    """Servers by name, each started when first asked for, with the bucket of the tests in it."""
    running: dict[str, S3Server] = {}
    with ExitStack() as stack:

        def start(name: S3ServerName) -> S3Server:
            if name not in running:
                running[name] = stack.enter_context(run_s3_server(name))
                running[name].create_bucket(BUCKET)
            return running[name]

        yield start


@pytest.fixture(scope="session")
def server_called(own_server: StartServer) -> StartServer:
    """As ``own_server``; the external server, if one is given, stands in for all of them."""
    external = external_s3_server()
    if external is None:
        return own_server
    external.create_bucket(BUCKET)
    return lambda _: external


@pytest.fixture(scope="session")
def plain_server(server_called: StartServer) -> S3Server:
    """A server for everything but races."""
    return server_called("moto")


@pytest.fixture(scope="session")
def racing_server(server_called: StartServer) -> S3Server:
    """A server whose conditional writes are atomic."""
    return server_called("ministack")


@pytest.fixture(scope="session")
def ministack(own_server: StartServer) -> S3Server:
    return own_server("ministack")


@pytest.fixture(scope="session")
def rclone(own_server: StartServer) -> S3Server:
    """A server that checks signatures and ignores conditions."""
    return own_server("rclone")


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
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats come quickly, for tests in which every one of them is foreseen."""
    monkeypatch.setattr(client, "FIRST_PAUSE_SECONDS", 0.005)


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
