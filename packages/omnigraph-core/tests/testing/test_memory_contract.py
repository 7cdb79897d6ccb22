"""The reference backend keeps the whole contract."""

from __future__ import annotations

import secrets

import pytest

from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.storage.memory import MEMORY_BACKEND
from omnigraph.testing import contract_for


@contract_for(MEMORY_BACKEND)
class TestMemory:
    @pytest.fixture
    def adapter(self) -> StorageAdapter:
        return MEMORY_BACKEND.open(parse_uri(f"memory://contract-{secrets.token_hex(8)}/graph"))
