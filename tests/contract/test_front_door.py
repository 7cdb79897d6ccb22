"""Every installed backend through the door that users take: found by its scheme, probed, and opened."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.plugins import PluginStatus, installed_plugins, open_adapter
from omnigraph.storage import StorageBackend
from omnigraph.testing import CountingAdapter
from omnigraph.testing.s3_servers import S3Server, run_s3_server

ROOT = Path(__file__).parents[2]

CONTRACT_OF = {
    "memory": "packages/omnigraph-core/tests/testing/test_memory_contract.py",
    "local": "packages/omnigraph-storage-local/tests/test_local_contract.py",
    "s3": "packages/omnigraph-storage-s3/tests/test_s3_contract.py",
    "example": "examples/omnigraph-storage-example/tests/test_contract.py",
}
"""Where each backend's contract runs; a backend without one is not finished."""

BACKENDS = {backend.name: backend for _, backend in installed_plugins().backends()}


@pytest.fixture(scope="module")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("front-door")
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """A fresh URI of the backend that a test asks for, with the options that reach it."""
    name = request.param
    if name == "s3":
        return f"s3://front-door/{secrets.token_hex(8)}", request.getfixturevalue("ministack").options()
    uris = {
        "memory": (f"memory://front-door-{secrets.token_hex(8)}/graph", {}),
        "local": (str(tmp_path / "graph"), {}),
        "example": ("example://front-door/graph", {"directory": str(tmp_path)}),
    }
    return uris[name]


def test_every_plugin_of_this_environment_is_loaded():
    # Spark's brings verbs and no backend.
    assert {info.name: info.status for info in installed_plugins().infos} == dict.fromkeys(
        (*CONTRACT_OF, "spark"), PluginStatus.LOADED
    )


@pytest.mark.parametrize("name", BACKENDS)
def test_every_installed_backend_runs_the_contract(name: str):
    """That it runs the clauses of all that it declares is a clause itself."""
    text = (ROOT / CONTRACT_OF[name]).read_text("utf-8")
    assert "@contract_for(" in text or "testing.StorageAdapterContract)" in text


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
def test_a_place_opens_by_its_uri_and_is_empty_after_the_probe(place: tuple[str, dict[str, Any]]):
    uri, options = place
    with open_adapter(uri, options=options) as adapter:
        assert list(adapter.list()) == []
        adapter.write(adapter.key("a/b"), b"1")
    with open_adapter(uri, options=options, mode="r") as again:
        assert again.read(again.key("a/b")) == b"1"


@pytest.mark.parametrize("place", BACKENDS, indirect=True)
def test_one_uri_in_two_spellings_is_one_place(place: tuple[str, dict[str, Any]]):
    uri, options = place
    with open_adapter(uri, options=options) as adapter, open_adapter(f"{uri}/x/../", options=options) as again:
        adapter.write(adapter.key("object"), b"1")
        assert again.read(again.key("object")) == b"1"


def test_a_lying_server_is_refused_and_keeps_nothing():
    with run_s3_server("rclone") as server:
        bucket = server.create_bucket("liar")
        for _ in range(2):
            with pytest.raises(StorageError, match="does not honour create-if-absent") as caught:
                open_adapter(f"s3://{bucket}/graph", options=server.options())
            assert caught.value.condition is StorageCondition.CONFIGURATION
            assert server.secret_access_key not in str(caught.value)
        with open_adapter(f"s3://{bucket}/", options=server.options(), mode="r") as reader:
            assert list(reader.list()) == []


def test_opening_for_reading_asks_the_store_nothing(monkeypatch: pytest.MonkeyPatch):
    opened: list[CountingAdapter] = []
    open_backend = StorageBackend.open

    def open_counted(self: StorageBackend, *arguments: Any) -> CountingAdapter:
        opened.append(CountingAdapter(open_backend(self, *arguments)))
        return opened[-1]

    monkeypatch.setattr(StorageBackend, "open", open_counted)
    uri = f"memory://front-door-{secrets.token_hex(8)}/graph"
    open_adapter(uri, mode="r")
    assert opened[-1].calls == {}
    open_adapter(uri)
    assert opened[-1].calls == {"write_if_absent": 2, "delete": 1}
    open_adapter(uri)
    assert opened[-1].calls == {}
