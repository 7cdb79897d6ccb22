"""The S3 backend keeps the contract on three servers; on moto all but the races, in which moto is not atomic.

``OMNIGRAPH_TEST_S3_ENDPOINT`` puts one server of any make in the place of all three.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from botocore.config import Config
from botocore.session import Session

from omnigraph import testing
from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.testing.s3_recipes import S3ServerName
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.plugin import S3_BACKEND


@dataclass(frozen=True)
class Place:
    """A server, and a plain client of it by which the contract goes behind the adapter's back."""

    server: S3Server
    bucket: str
    client: Any


@pytest.fixture(scope="module")
def place_on(server_called: Callable[[S3ServerName], S3Server]) -> Iterator[Callable[[S3ServerName], Place]]:
    """The places by the names of their servers."""
    known: dict[str, Place] = {}

    def find(name: S3ServerName) -> Place:
        if name not in known:
            server = server_called(name)
            client = Session().create_client(
                "s3",
                endpoint_url=server.endpoint_url,
                region_name=server.region,
                aws_access_key_id=server.access_key_id,
                aws_secret_access_key=server.secret_access_key,
                aws_session_token=server.session_token,
                config=Config(read_timeout=10, s3={"addressing_style": "path"}),
            )
            known[name] = Place(server, server.create_bucket("contract"), client)
        return known[name]

    yield find
    for place in known.values():
        place.client.close()


class S3Store:
    capabilities = S3_BACKEND.capabilities
    # Each writer has connections of its own anyway; processes race in test_s3_conditional.
    race_place = "threads"
    server_name: ClassVar[S3ServerName]

    @pytest.fixture
    def adapter(self, place_on: Callable[[S3ServerName], Place]) -> Iterator[StorageAdapter]:
        self.place = place_on(self.server_name)
        root = parse_uri(f"s3://{self.place.bucket}/{secrets.token_hex(8)}/team graph")
        with S3_BACKEND.open(root, self.place.server.options()) as adapter:
            yield adapter

    def plant(self, adapter: StorageAdapter, name: str, data: bytes) -> None:
        self.place.client.put_object(Bucket=self.place.bucket, Key=f"{adapter.root.path}/{name}", Body=data)

    def peek(self, adapter: StorageAdapter, name: str) -> bytes | None:
        try:
            answer = self.place.client.get_object(Bucket=self.place.bucket, Key=f"{adapter.root.path}/{name}")
        except self.place.client.exceptions.NoSuchKey:
            return None
        return bytes(answer["Body"].read())


class OnMoto(S3Store):
    server_name = "moto"


class OnMinistack(S3Store):
    server_name = "ministack"


class OnSeaweedfs(S3Store):
    server_name = "seaweedfs"
    # It lets contending writers wait for seconds in each round.
    race_rounds = max(1, testing.StorageRaceContract.race_rounds // 10)


class TestMotoRequired(OnMoto, testing.StorageAdapterContract):
    pass


class TestMotoWriteIfMatch(OnMoto, testing.WriteIfMatchContract):
    pass


class TestMotoShared(OnMoto, testing.SharedBetweenProcessesContract):
    pass


class TestMinistackRequired(OnMinistack, testing.StorageAdapterContract):
    pass


class TestMinistackRaces(OnMinistack, testing.StorageRaceContract):
    pass


class TestMinistackWriteIfMatch(OnMinistack, testing.WriteIfMatchContract):
    pass


class TestMinistackWriteIfMatchRaces(OnMinistack, testing.WriteIfMatchRaceContract):
    pass


class TestMinistackShared(OnMinistack, testing.SharedBetweenProcessesContract):
    pass


class TestSeaweedfsRequired(OnSeaweedfs, testing.StorageAdapterContract):
    pass


class TestSeaweedfsRaces(OnSeaweedfs, testing.StorageRaceContract):
    pass


class TestSeaweedfsWriteIfMatch(OnSeaweedfs, testing.WriteIfMatchContract):
    pass


class TestSeaweedfsWriteIfMatchRaces(OnSeaweedfs, testing.WriteIfMatchRaceContract):
    pass


class TestSeaweedfsShared(OnSeaweedfs, testing.SharedBetweenProcessesContract):
    pass
