"""What the tests of graphs that were removed share: places on a disk, on an S3 server and of a plugin."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))

from remade_world import Place

from omnigraph.config import TAIL_MAINTENANCE
from omnigraph.testing.s3_servers import S3Server, run_s3_server

BUCKET = "remade"


@pytest.fixture(scope="session", autouse=True)
def _folding_when_told() -> Iterator[None]:
    """No fold in the background: what changes is what a verb changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TAIL_MAINTENANCE, "off")
        yield


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(scope="session")
def local_directory() -> Iterator[Path]:
    """Where graphs of this run lie: in a file system in memory where there is one, for it is not the disk we test."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def new_place(request: pytest.FixtureRequest) -> Callable[[str], Place]:
    """Gives an empty place of a backend at each call."""

    def new(backend: str) -> Place:
        name = secrets.token_hex(8)
        if backend == "local":
            return Place(str(request.getfixturevalue("local_directory") / name))
        return Place(f"s3://{BUCKET}/{name}", request.getfixturevalue("ministack").options())

    return new
