"""What the tests of copies and moves share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.testing.s3_servers import S3Server, run_s3_server

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("moving")
        yield server
