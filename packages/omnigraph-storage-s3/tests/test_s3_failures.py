"""Wrong credentials, missing buckets and closed ports: the condition, the place and the next move, and no secret."""

from __future__ import annotations

import dataclasses
import logging
import socket
import traceback
from collections.abc import Callable

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import probe_create_if_absent
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

Open = Callable[..., S3Adapter]

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
    assert "Check that the store is up and reachable" in str(caught.value)


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
