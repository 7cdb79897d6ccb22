"""The local backend keeps the whole contract, with processes as the writers that race."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.testing import contract_for
from omnigraph_storage_local.plugin import omnigraph_storage_backends

(BACKEND,) = omnigraph_storage_backends()


@contract_for(BACKEND)
class TestLocal:
    @pytest.fixture(params=["plain path", "file URI"])
    def adapter(self, request: pytest.FixtureRequest, tmp_path: Path) -> StorageAdapter:
        root = tmp_path / "team graph #1 100%"
        return BACKEND.open(parse_uri(str(root) if request.param == "plain path" else root.as_uri()))

    def plant(self, adapter: StorageAdapter, name: str, data: bytes) -> None:
        path = Path(adapter.root.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def peek(self, adapter: StorageAdapter, name: str) -> bytes | None:
        path = Path(adapter.root.path, name)
        return path.read_bytes() if path.is_file() else None
