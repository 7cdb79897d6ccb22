"""A whole graph on a local disk keeps the contract, with processes as writers too."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.testing import GraphPlace, graph_contract_for
from omnigraph_storage_local.plugin import omnigraph_storage_backends

(BACKEND,) = omnigraph_storage_backends()


@graph_contract_for(BACKEND)
class TestLocalGraph:
    @pytest.fixture
    def place(self, tmp_path: Path) -> GraphPlace:
        return GraphPlace(uri=str(tmp_path / "my gräph #1 100%.omni"))
