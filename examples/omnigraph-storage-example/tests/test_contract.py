"""The example backend keeps the storage contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.plugins import find_backend, installed_plugins, open_adapter
from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.testing import contract_for

URI = "example://contract/graph"


@contract_for(find_backend(parse_uri(URI), installed_plugins())[1])
class TestExample:
    @pytest.fixture
    def adapter(self, tmp_path: Path) -> Iterator[StorageAdapter]:
        with open_adapter(URI, options={"directory": str(tmp_path)}) as adapter:
            yield adapter
