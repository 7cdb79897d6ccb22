"""Where costs are counted: a real S3 server on loopback behind a proxy that records every request.

The server is started at most once. Of the AWS configuration of whoever runs the tests nothing is used. Each test gets a
root of its own, so that it counts what it did itself.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnigraph.testing.fault_proxy import FaultProxy, run_fault_proxy
from omnigraph.testing.s3_servers import S3Server, run_s3_server

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))

from cost_counts import CountedPlace

BUCKET = "omnigraph-cost"
OF_THE_DEVELOPER = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})


@pytest.fixture(scope="session", autouse=True)
def _no_configuration_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Variables and profiles that would send requests elsewhere or sign them as somebody else."""
    nowhere = tmp_path_factory.mktemp("no-aws-configuration")
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            if name.upper().startswith("AWS_") or name.upper() in OF_THE_DEVELOPER:
                patch.delenv(name)
        patch.setenv("AWS_CONFIG_FILE", str(nowhere / "config"))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(nowhere / "credentials"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_maintenance_meanwhile() -> Iterator[None]:
    """What happens in the background after a commit is counted where a test waits for it, and nowhere else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_TAIL_MAINTENANCE", "off")
        yield


@pytest.fixture(scope="session")
def _counted_server() -> Iterator[tuple[S3Server, FaultProxy]]:
    with run_s3_server("ministack") as server, run_fault_proxy(server.endpoint_url) as proxy:
        server.create_bucket(BUCKET)
        yield dataclasses.replace(server, endpoint_url=proxy.endpoint_url), proxy


@pytest.fixture(scope="session")
def new_place(_counted_server: tuple[S3Server, FaultProxy]) -> Callable[[], CountedPlace]:
    """Makes empty roots on the server."""
    server, proxy = _counted_server
    return lambda: CountedPlace(f"s3://{BUCKET}/{secrets.token_hex(8)}", server, proxy)


@pytest.fixture
def place(new_place: Callable[[], CountedPlace]) -> CountedPlace:
    """An empty root on the server."""
    return new_place()
