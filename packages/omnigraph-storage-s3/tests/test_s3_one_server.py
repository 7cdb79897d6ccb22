"""Whatever the environment and the AWS configuration say, control objects and tables go where the options point."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.plugins import open_adapter
from omnigraph.storage import ROOT, StorageAdapter, parse_uri
from omnigraph.testing.fault_proxy import FaultProxy
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3 import client
from omnigraph_storage_s3.adapter import S3Adapter

Open = Callable[..., S3Adapter]

pytestmark = pytest.mark.usefixtures("short_pauses", "fresh_sessions")


@pytest.fixture
def fresh_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The AWS configuration is read anew; a session keeps what it has read."""
    monkeypatch.setattr(client, "_sessions", {})


@pytest.fixture
def decoy() -> Iterator[str]:
    """The URL of a port that is bound and not open."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def assert_both_clients_arrive(store: StorageAdapter, server: S3Server, open_s3: Open) -> None:
    """Write an object and a table, and find both at the server by way of an adapter that is told everything."""
    store.write(store.key("object"), b"1")
    place = store.lance_location(store.key("t.lance"))
    lance.write_dataset(pa.table({"x": [1, 2]}), place.uri, storage_options=dict(place.storage_options))
    witness = open_s3(server, str(store.root))
    assert witness.read(witness.key("object")) == b"1"
    assert witness.exists(witness.key("t.lance"))


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"])
def test_an_endpoint_of_the_options_outdoes_the_variable(
    open_s3: Open, ministack: S3Server, monkeypatch: pytest.MonkeyPatch, decoy: str, variable: str
):
    monkeypatch.setenv(variable, decoy)
    assert_both_clients_arrive(open_s3(ministack), ministack, open_s3)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_ACCESS_KEY_ID", "of-somebody-else"),
        ("AWS_SECRET_ACCESS_KEY", "of-somebody-else"),
        ("AWS_SESSION_TOKEN", "of-somebody-else"),
        ("AWS_REGION", "eu-west-3"),
        ("AWS_DEFAULT_REGION", "eu-west-3"),
        ("AWS_PROFILE", "no-such-profile"),
        ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true"),
    ],
)
def test_options_outdo_the_variables_of_somebody_else(
    open_s3: Open, rclone: S3Server, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
):
    # rclone checks signatures; a foreign token or region would not pass.
    monkeypatch.setenv(variable, value)
    assert_both_clients_arrive(open_s3(rclone), rclone, open_s3)


def test_a_session_token_of_the_environment_is_not_sent_with_keys_of_the_options(
    open_s3: Open, proxied: S3Server, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-somebody-else")
    assert_both_clients_arrive(open_s3(proxied), proxied, open_s3)
    tokens = [request.headers.get("x-amz-security-token", "") for request in proxy.requests]
    assert len(tokens) > 4
    assert set(tokens) == {""}


def test_an_endpoint_of_the_aws_configuration_is_followed_by_neither_client(
    open_s3: Open, ministack: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, decoy: str
):
    config = tmp_path / "config"
    config.write_text(f"[default]\nendpoint_url = {decoy}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert_both_clients_arrive(open_s3(ministack), ministack, open_s3)
    # With no endpoint in the options it is AWS that would be called. It is not: tests stay on this machine.
    keys = {"access_key_id": "id", "secret_access_key": "secret", "region": "eu-west-3"}
    with S3Adapter(parse_uri("s3://omnigraph-tests/graph"), keys) as adapter:
        assert adapter._client._connection()._open().meta.endpoint_url == "https://s3.eu-west-3.amazonaws.com"
        assert not {"aws_endpoint", "aws_endpoint_url_s3"} & set(adapter.lance_location(ROOT).storage_options)


def test_an_empty_endpoint_is_refused_where_a_variable_names_another(monkeypatch: pytest.MonkeyPatch, decoy: str):
    # Lance would follow the variable and its companion would not.
    monkeypatch.setenv("AWS_ENDPOINT_URL", decoy)
    with pytest.raises(InvalidInputError, match="is not the URL of a server"):
        open_adapter("s3://bucket/graph", options={"endpoint_url": ""}, mode="r")


PROFILE = """\
[default]
aws_access_key_id = {server.access_key_id}
aws_secret_access_key = {server.secret_access_key}
aws_session_token = SENTINEL-TOKEN-OF-THE-PROFILE
"""


def test_a_session_token_of_a_profile_does_not_reach_a_log(
    ministack: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    credentials = tmp_path / "credentials"
    credentials.write_text(PROFILE.format(server=ministack))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    caplog.set_level(logging.DEBUG)
    options = {"endpoint_url": ministack.endpoint_url}
    with open_adapter("s3://omnigraph-tests/profile", options=options) as store:
        store.write(store.key("object"), b"1")
        assert store.read(store.key("object")) == b"1"
    assert "x-amz-security-token" in caplog.text.lower()
    shown = [record.name for record in caplog.records if "SENTINEL-TOKEN" in record.getMessage()]
    assert shown == []
    assert "Signature=" not in caplog.text
