"""A whole graph on S3 keeps the contract, on a server whose conditional writes are atomic."""

from __future__ import annotations

import secrets

import pytest

from omnigraph.testing import GraphContract, GraphPlace, graph_contract_for
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.plugin import S3_BACKEND


@graph_contract_for(S3_BACKEND)
class TestS3Graph:
    # Each request is a round trip.
    loads_per_writer = max(2, GraphContract.loads_per_writer * 3 // 10)

    @pytest.fixture
    def place(self, racing_server: S3Server) -> GraphPlace:
        bucket = racing_server.bucket or "omnigraph-tests"
        uri = f"s3://{bucket}/graphs/{secrets.token_hex(8)}/team graph"
        return GraphPlace(uri=uri, options=racing_server.options())
