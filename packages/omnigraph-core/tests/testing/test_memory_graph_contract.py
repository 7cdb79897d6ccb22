"""A whole graph in memory keeps the contract."""

from __future__ import annotations

import secrets

import pytest

from omnigraph.storage.memory import MEMORY_BACKEND
from omnigraph.testing import GraphPlace, graph_contract_for


@graph_contract_for(MEMORY_BACKEND)
class TestMemoryGraph:
    @pytest.fixture
    def place(self) -> GraphPlace:
        return GraphPlace(uri=f"memory://graph-contract-{secrets.token_hex(8)}/graph")
