"""The example backend keeps the storage contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import testing
from omnigraph.plugins import find_backend, installed_plugins, open_adapter
from omnigraph.storage import StorageAdapter, parse_uri

URI = "example://contract/graph"


class ExampleStore:
    capabilities = find_backend(parse_uri(URI), installed_plugins())[1].capabilities

    @pytest.fixture
    def adapter(self, tmp_path: Path) -> Iterator[StorageAdapter]:
        with open_adapter(URI, options={"directory": str(tmp_path)}) as adapter:
            yield adapter


class TestRequired(ExampleStore, testing.StorageAdapterContract):
    pass


class TestRaces(ExampleStore, testing.StorageRaceContract):
    race_place = "processes"


class TestWriteIfMatch(ExampleStore, testing.WriteIfMatchContract):
    pass


class TestWriteIfMatchRaces(ExampleStore, testing.WriteIfMatchRaceContract):
    race_place = "processes"


class TestAtomicRename(ExampleStore, testing.AtomicRenameContract):
    pass


class TestShared(ExampleStore, testing.SharedBetweenProcessesContract):
    pass
