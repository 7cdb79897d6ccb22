"""What the tests of recovery share: places, a process whose children die, and handles that fold only when told to."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent))

from other_processes import OtherProcesses
from recovery_world import BUCKET, SMALL_TAIL, Places, World, Worlds

from omnigraph.config import TAIL_MAINTENANCE
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph.write import fold_policy


@pytest.fixture(scope="module", autouse=True)
def _folding_when_told() -> Iterator[None]:
    """No fold in the background; one that is asked for finds two small parts worth it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TAIL_MAINTENANCE, "off")
        patch.setattr(fold_policy, "TAIL_PARTS", SMALL_TAIL)
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


@pytest.fixture(scope="session")
def places(request: pytest.FixtureRequest) -> Places:
    """Gives an empty place of a backend at each call."""

    def new(backend: str) -> tuple[str, dict]:
        name = secrets.token_hex(8)
        if backend == "memory":
            return f"memory://recovery-{name}/graph", {}
        if backend == "local":
            return str(request.getfixturevalue("local_directory") / name), {}
        return f"s3://{BUCKET}/{name}", request.getfixturevalue("ministack").options()

    return Places(new)


@pytest.fixture(scope="module")
def worlds(places: Places) -> Iterator[Worlds]:
    """The graphs of a module."""
    worlds = Worlds(places)
    yield worlds
    worlds.close()


@pytest.fixture
def world(worlds: Worlds) -> World:
    """A graph in memory in which nothing is left of what tests before did."""
    return worlds.at("memory")


@pytest.fixture
def local_world(worlds: Worlds) -> World:
    """The same in a directory, which other processes reach."""
    return worlds.at("local")


@pytest.fixture(scope="session")
def others() -> Iterator[OtherProcesses]:
    with OtherProcesses() as others:
        yield others
