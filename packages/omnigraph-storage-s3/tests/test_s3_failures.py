"""Wrong credentials, missing buckets and closed ports: the condition, the place and the next move, and no secret."""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import probe_create_if_absent
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

Open = Callable[..., S3Adapter]

pytestmark = pytest.mark.usefixtures("short_pauses")

VERBS: dict[str, Callable[[S3Adapter], object]] = {
    "read": lambda store: store.read(store.key("one")),
    "read_if_exists": lambda store: store.read_if_exists(store.key("one")),
    "read_versioned": lambda store: store.read_versioned(store.key("one")),
    "write": lambda store: store.write(store.key("one"), b"1"),
    "write_if_absent": lambda store: store.write_if_absent(store.key("one"), b"1"),
    "write_if_match": lambda store: store.write_if_match(store.key("one"), b"1", '"token"'),
    "exists": lambda store: store.exists(store.key("one")),
    "list": lambda store: list(store.list()),
    "list_dir": lambda store: store.list_dir(),
    "rename": lambda store: store.rename(store.key("one"), store.key("two")),
    "delete": lambda store: store.delete(store.key("one")),
    "delete_prefix": lambda store: store.delete_prefix(store.key("one")),
    "probe": probe_create_if_absent,
}

every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))


@every_verb
def test_a_missing_bucket_is_not_a_missing_object(
    open_s3: Open, ministack: S3Server, verb: Callable[[S3Adapter], object]
):
    with pytest.raises(StorageError, match="NoSuchBucket") as caught:
        verb(open_s3(ministack, "s3://no-such-bucket/graph"))
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.help == "Create the bucket, or correct its name."
    assert (caught.value.uri or "").startswith("s3://no-such-bucket/graph")


@every_verb
@pytest.mark.parametrize("wrong", ["access_key_id", "secret_access_key"])
def test_refused_credentials_raise_and_are_never_an_answer(
    open_s3: Open, rclone: S3Server, wrong: str, verb: Callable[[S3Adapter], object]
):
    with pytest.raises(StorageError, match="HTTP status 403") as caught:
        verb(open_s3(rclone, **{wrong: "wrong"}))
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert "Check the credentials" in str(caught.value)
    assert caught.value.details["status"] == 403


@pytest.mark.parametrize("verb", ["read_if_exists", "write", "write_if_absent", "write_if_match", "exists", "list"])
def test_a_closed_port_is_a_transient_failure(open_s3: Open, ministack: S3Server, verb: str):
    with socket.socket() as taken:
        # Bound and not listening, so that nobody else opens it meanwhile.
        taken.bind(("127.0.0.1", 0))
        nobody = dataclasses.replace(ministack, endpoint_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        adapter = open_s3(nobody)
        with pytest.raises(StorageError) as caught:
            VERBS[verb](adapter)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert (caught.value.uri or "").startswith(str(adapter.root))
    assert f"{nobody.endpoint_url} does not answer." in caught.value.message
    assert "Check that the store is up and reachable" in str(caught.value)


def failure_of(adapter: S3Adapter) -> StorageError:
    with pytest.raises(StorageError) as caught:
        adapter.read(adapter.key("one"))
    assert caught.value.uri == adapter.uri(adapter.key("one"))
    return caught.value


def test_missing_credentials_are_named_with_the_place_and_the_next_move(tmp_path: Path):
    # In a process of its own: botocore looks for credentials in the environment and in the home directory.
    script = (
        "from omnigraph.plugins import open_adapter\n"
        "store = open_adapter('s3://bucket/graph', options={'endpoint_url': 'http://127.0.0.1:9'}, mode='r')\n"
        "try: store.read(store.key('one'))\n"
        "except Exception as error: print(error.condition, error.message, error.help, sep='\\n')"
    )
    nowhere = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true", "PATH": os.environ["PATH"]}
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=nowhere, timeout=60
    )
    condition, message, move = shown.stdout.splitlines()
    assert condition == "configuration"
    assert message == "Could not read s3://bucket/graph/one: no credentials were found for http://127.0.0.1:9."
    assert move.startswith("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or")


def test_tls_with_a_server_that_has_none_says_to_write_http(open_s3: Open, ministack: S3Server):
    secure = ministack.endpoint_url.replace("http://", "https://")
    error = failure_of(open_s3(ministack, endpoint_url=secure))
    assert error.condition is StorageCondition.CONFIGURATION
    assert error.message.endswith(f": the TLS handshake with {secure} failed.")
    assert "write its endpoint as http://" in (error.help or "")


def test_a_host_that_nobody_knows_is_named(open_s3: Open, ministack: S3Server, monkeypatch: pytest.MonkeyPatch):
    async def know_nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    # Asked of no name server: the answer is the same for everybody.
    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", know_nobody)
    error = failure_of(open_s3(ministack, endpoint_url="http://store.invalid:9000/gateway"))
    assert error.condition is StorageCondition.TRANSIENT
    assert error.message.endswith(": the host of http://store.invalid:9000 is not known.")
    assert "endpoint_url" in (error.help or "")


def test_a_proxy_that_is_not_there_is_told_from_a_store_that_is_not(
    open_s3: Open, ministack: S3Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HTTP_PROXY", "http://somebody:hush@127.0.0.1:9")
    monkeypatch.setattr("botocore.utils.should_bypass_proxies", lambda url: False)
    error = failure_of(open_s3(ministack))
    assert error.condition is StorageCondition.TRANSIENT
    assert error.message.endswith(f": the proxy on the way to {ministack.endpoint_url} made no connection.")
    assert "NO_PROXY" in (error.help or "")
    assert "hush" not in f"{error} {error.to_dict()}"


SECRETS = {
    "access_key_id": "SENTINEL-KEY-ID",
    "secret_access_key": "SENTINEL-SECRET-KEY",
    "session_token": "SENTINEL-SESSION-TOKEN",
}


@pytest.mark.parametrize(("server_name", "root"), [("ministack", "s3://no-such-bucket/graph"), ("rclone", None)])
def test_no_secret_reaches_an_error_its_causes_or_a_log(
    open_s3: Open, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, server_name: str, root: str | None
):
    caplog.set_level(logging.DEBUG)
    adapter = open_s3(request.getfixturevalue(server_name), root, **SECRETS)
    shown = [repr(adapter), repr(adapter._settings), repr(adapter.lance_location(adapter.key("t.lance")))]
    for verb in VERBS.values():
        with pytest.raises(StorageError) as caught:
            verb(adapter)
        shown += [*traceback.format_exception(caught.value), str(caught.value.to_dict())]
    everything = "\n".join(shown)
    assert "StorageError" in everything
    assert not [secret for secret in SECRETS.values() if secret in everything]
    # Not even where botocore writes out whole requests. The key id is a name, and stays readable there.
    assert "x-amz-security-token" in caplog.text
    assert not [name for name in ("secret_access_key", "session_token") if SECRETS[name] in caplog.text]
