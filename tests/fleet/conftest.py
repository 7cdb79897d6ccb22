"""Modules that are found by name, by processes of fleets too; and the S3 server that holds their graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.testing.s3_servers import S3Server, run_s3_server

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("fleet")
        yield server
