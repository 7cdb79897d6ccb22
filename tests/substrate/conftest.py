"""Where the facts about Lance are tested: a directory, Lance's shared memory, and a real S3 server on loopback.

The server is started at most once. ``OMNIGRAPH_TEST_S3_ENDPOINT`` puts another one in its place, except where requests
are counted: those go through a proxy to the server that is started here. Of the AWS configuration of whoever runs the
tests nothing is used but what that other server needs.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.testing.fault_proxy import FaultProxy, run_fault_proxy
from omnigraph.testing.s3_servers import EXTERNAL_ENDPOINT, S3Server, external_s3_server, run_s3_server

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))

from substrate_steps import Place

BUCKET = "omnigraph-substrate"
PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
NEEDED_BY_EXTERNAL = PROXIES | {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_CA_BUNDLE",
}  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _no_configuration_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Variables and profiles that would send requests elsewhere or sign them as somebody else."""
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
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(params=["local", "shared-memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty root at each of the three places in turn."""
    if request.param == "local":
        return Place(str(tmp_path), {})
    if request.param == "shared-memory":
        return Place(f"shared-memory://substrate-{secrets.token_hex(8)}", {})
    external = external_s3_server()
    if external is not None:
        return s3_place(external, external.create_bucket(BUCKET))
    return s3_place(request.getfixturevalue("ministack"), BUCKET)


@pytest.fixture
def disk(tmp_path: Path) -> Place:
    """For facts about files and for what does not depend on the place."""
    return Place(str(tmp_path), {})


@pytest.fixture(scope="session")
def _counted_ministack(ministack: S3Server) -> Iterator[tuple[S3Server, FaultProxy]]:
    with run_fault_proxy(ministack.endpoint_url) as proxy:
        yield dataclasses.replace(ministack, endpoint_url=proxy.endpoint_url), proxy


@pytest.fixture
def proxy(_counted_ministack: tuple[S3Server, FaultProxy]) -> FaultProxy:
    """What counts the requests of ``counted``."""
    _counted_ministack[1].clear()
    return _counted_ministack[1]


@pytest.fixture
def counted(_counted_ministack: tuple[S3Server, FaultProxy]) -> Place:
    """An empty root at the server, reached through ``proxy``."""
    return s3_place(_counted_ministack[0], BUCKET)


def s3_place(server: S3Server, bucket: str) -> Place:
    options = {
        "aws_access_key_id": server.access_key_id,
        "aws_secret_access_key": server.secret_access_key,
        "aws_region": server.region,
        "aws_endpoint": server.endpoint_url,
        "allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }
    if server.session_token is not None:
        options["aws_session_token"] = server.session_token
    return Place(f"s3://{bucket}/roots/{secrets.token_hex(8)}", options)
