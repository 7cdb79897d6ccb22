"""The S3 backend keeps the contract: on moto what does not race, on an atomic server what does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph import testing
from omnigraph.storage import StorageAdapter
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.plugin import S3_BACKEND


class PlainStore:
    capabilities = S3_BACKEND.capabilities

    @pytest.fixture
    def adapter(self, open_s3: Callable[..., StorageAdapter], plain_server: S3Server) -> StorageAdapter:
        return open_s3(plain_server)


class RacingStore:
    capabilities = S3_BACKEND.capabilities

    @pytest.fixture
    def adapter(self, open_s3: Callable[..., StorageAdapter], racing_server: S3Server) -> StorageAdapter:
        return open_s3(racing_server)


class TestRequired(PlainStore, testing.StorageAdapterContract):
    pass


class TestWriteIfMatch(PlainStore, testing.WriteIfMatchContract):
    pass


class TestRaces(RacingStore, testing.StorageRaceContract):
    pass


class TestWriteIfMatchRaces(RacingStore, testing.WriteIfMatchRaceContract):
    pass


class TestSharedBetweenProcesses(RacingStore, testing.SharedBetweenProcessesContract):
    pass
