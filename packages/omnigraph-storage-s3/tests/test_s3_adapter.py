"""What S3 adds to the contract: pages, markers, empty objects, other buckets, and what each verb costs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.plugins import open_adapter
from omnigraph.storage import ROOT, parse_uri
from omnigraph.testing.fault_proxy import FaultProxy
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3 import adapter as adapter_module
from omnigraph_storage_s3.adapter import S3Adapter
from omnigraph_storage_s3.conditional import NONCE

Open = Callable[..., S3Adapter]


class Backdoor:
    """The bucket as a client that shares no code with the adapter sees it."""

    def __init__(self, client: Any, adapter: S3Adapter) -> None:
        self._client, self._bucket, self._top = client, adapter.root.authority, adapter.root.path

    def put(self, name: str, data: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=f"{self._top}/{name}", Body=data)

    def head(self, name: str) -> Any:
        return self._client.head_object(Bucket=self._bucket, Key=f"{self._top}/{name}")

    def names(self) -> set[str]:
        found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=f"{self._top}/").get("Contents", ())
        return {entry["Key"].removeprefix(f"{self._top}/") for entry in found}


@pytest.fixture
def store(open_s3: Open, plain_server: S3Server) -> S3Adapter:
    return open_s3(plain_server)


@pytest.fixture
def backdoor(plain_server: S3Server, store: S3Adapter) -> Iterator[Backdoor]:
    client = botocore.session.Session().create_client(
        "s3",
        endpoint_url=plain_server.endpoint_url,
        region_name=plain_server.region,
        aws_access_key_id=plain_server.access_key_id,
        aws_secret_access_key=plain_server.secret_access_key,
        aws_session_token=plain_server.session_token,
        config=Config(s3={"addressing_style": "path"}),
    )
    yield Backdoor(client, store)
    client.close()


def test_names_in_the_bucket_are_the_root_and_the_key(store: S3Adapter, backdoor: Backdoor):
    names = {"refs/a b.json", "refs/100%25.json", "refs/what?.json", "refs/no#1x.json", "refs/Zoë 日本+&.json"}
    for name in names:
        store.write(store.key(name), name.encode())
    assert backdoor.names() == names
    assert {str(key) for key in store.list()} == names
    assert {store.read_text(key) for key in store.list_dir(store.key("refs"))} == names


def test_an_empty_object_is_read_with_its_token(store: S3Adapter, backdoor: Backdoor):
    backdoor.put("empty", b"")
    found = store.read_versioned(store.key("empty"))
    assert found.data == b""
    assert found.token == backdoor.head("empty")["ETag"]
    assert store.write_if_match(store.key("empty"), b"full", found.token) is not None


def test_a_token_is_the_etag_of_the_bytes_that_were_read(store: S3Adapter, backdoor: Backdoor):
    backdoor.put("one", b"bytes")
    assert store.read_versioned(store.key("one")).token == backdoor.head("one")["ETag"]


def test_a_write_carries_a_nonce_of_its_own(store: S3Adapter, backdoor: Backdoor):
    key = store.key("one")

    def nonce() -> str:
        return str(backdoor.head("one")["Metadata"][NONCE])

    store.write_if_absent(key, b"created")
    created = nonce()
    store.write(key, b"written")
    written = nonce()
    store.write_if_match(key, b"replaced", store.read_versioned(key).token)
    assert len({created, written, nonce()}) == 3


def test_a_listing_goes_through_all_pages(store: S3Adapter, monkeypatch: pytest.MonkeyPatch):
    names = {f"many/{number:02}" for number in range(7)}
    for name in names:
        store.write(store.key(name), b"")
    pages = store._keys_below(store.key("many"), page_keys=3)
    assert {str(key) for key in store._own_keys(pages)} == names
    monkeypatch.setattr(adapter_module, "PAGE_KEYS", 3)
    store.delete_prefix(store.key("many"))
    assert list(store.list()) == []


def test_directory_markers_and_strangers_names_are_passed_over(store: S3Adapter, backdoor: Backdoor):
    for name in ("dir/", "dir/sub/", "dir/file", "dir//double", "dir/temp#12"):
        backdoor.put(name, b"")
    assert [str(key) for key in store.list()] == ["dir/file"]
    assert [str(key) for key in store.list_dir(store.key("dir"))] == ["dir/file"]


def test_a_directory_marker_alone_does_not_exist(store: S3Adapter, backdoor: Backdoor):
    backdoor.put("dir/", b"")
    assert not store.exists(store.key("dir"))
    backdoor.put("dir/file", b"")
    assert store.exists(store.key("dir"))


def test_delete_prefix_leaves_nothing_not_even_strangers_names(store: S3Adapter, backdoor: Backdoor):
    for name in ("dir", "dir/", "dir/file", "dir/temp#12", "dir_log/file"):
        backdoor.put(name, b"")
    store.delete_prefix(store.key("dir"))
    assert backdoor.names() == {"dir_log/file"}


def test_a_batch_that_was_deleted_in_part_is_a_failure(store: S3Adapter, monkeypatch: pytest.MonkeyPatch):
    store.write(store.key("dir/held"), b"")
    send = store._client.send

    def refuse_batches(request: Callable[..., Any], **options: Any) -> Any:
        if "delete_objects" in request.__code__.co_names:
            return {"Errors": [{"Key": "dir/held", "Code": "AccessDenied", "Message": "locked"}]}
        return send(request, **options)

    monkeypatch.setattr(store._client, "send", refuse_batches)
    with pytest.raises(StorageError, match="AccessDenied") as caught:
        store.delete_prefix(store.key("dir"))
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_a_root_may_be_the_whole_bucket(open_s3: Open, plain_server: S3Server):
    bucket = plain_server.bucket or plain_server.create_bucket("omnigraph-whole")
    whole = open_s3(plain_server, f"s3://{bucket}")
    key = whole.key("whole/object")
    whole.write(key, b"1")
    assert key in set(whole.list())
    assert whole.exists(ROOT)
    assert whole.lance_location(whole.key("whole/t.lance")).uri == f"s3://{bucket}/whole/t.lance"
    whole.delete_prefix(whole.key("whole"))


@pytest.mark.parametrize("name", ["s3://another-bucket/object", "s3://another-bucket", "", "/", "file:///object"])
def test_another_bucket_or_an_empty_key_is_refused(store: S3Adapter, name: str):
    with pytest.raises(StorageError) as caught:
        store.key(name)
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_an_adapter_pickles_as_its_root_and_options(store: S3Adapter):
    store.write(store.key("one"), b"bytes")
    with pickle.loads(pickle.dumps(store)) as again:
        assert again.root == store.root
        assert again.read(again.key("one")) == b"bytes"


def test_endpoints_differ_by_server_and_bucket_and_not_by_root(open_s3: Open, plain_server: S3Server):
    def endpoint(root: str, **options: Any) -> str:
        return open_s3(plain_server, root, **options).endpoint

    assert endpoint("s3://bucket/a") == endpoint("s3://bucket/b")
    assert endpoint("s3://bucket/a") != endpoint("s3://other/a")
    assert endpoint("s3://bucket/a") != endpoint("s3://bucket/a", endpoint_url="http://127.0.0.1:9")
    assert S3Adapter(parse_uri("s3://bucket/a"), {}).endpoint == "https://s3.amazonaws.com/bucket"


def test_a_malformed_option_is_refused_when_the_adapter_is_opened():
    with pytest.raises(InvalidInputError, match="is not the URL of a server"):
        open_adapter("s3://bucket/graph", options={"endpoint_url": "minio"}, mode="r")


def test_the_front_door_opens_s3(plain_server: S3Server, store: S3Adapter):
    with open_adapter(str(store.root), options=plain_server.options()) as adapter:
        adapter.write(adapter.key("one"), b"bytes")
    assert store.read(store.key("one")) == b"bytes"


COSTS: list[tuple[str, Callable[[S3Adapter], object], str]] = [
    ("read", lambda store: store.read(store.key("there")), "GET"),
    ("read empty", lambda store: store.read(store.key("empty")), "GET GET"),
    ("read_if_exists missing", lambda store: store.read_if_exists(store.key("missing")), "GET"),
    ("read_versioned", lambda store: store.read_versioned(store.key("there")), "GET"),
    ("write", lambda store: store.write(store.key("new"), b"1"), "PUT"),
    ("write_if_absent won", lambda store: store.write_if_absent(store.key("new"), b"1"), "PUT"),
    ("write_if_absent lost", lambda store: store.write_if_absent(store.key("there"), b"1"), "PUT"),
    ("write_if_match lost", lambda store: store.write_if_match(store.key("there"), b"1", '"stale"'), "PUT"),
    ("exists", lambda store: store.exists(store.key("there")), "HEAD"),
    ("exists missing", lambda store: store.exists(store.key("missing")), "HEAD GET"),
    ("list", lambda store: list(store.list()), "GET"),
    ("list_dir", lambda store: store.list_dir(), "GET"),
    ("delete", lambda store: store.delete(store.key("there")), "DELETE"),
    ("rename", lambda store: store.rename(store.key("there"), store.key("new")), "PUT DELETE"),
    ("delete_prefix", lambda store: store.delete_prefix(store.key("dir")), "GET POST DELETE"),
]


@pytest.mark.parametrize(
    ("verb", "requests"), [(verb, requests) for _, verb, requests in COSTS], ids=[c[0] for c in COSTS]
)
def test_a_verb_costs_these_requests(
    open_s3: Open, proxied: S3Server, proxy: FaultProxy, verb: Callable[[S3Adapter], object], requests: str
):
    store = open_s3(proxied)
    for name, data in (("there", b"1"), ("empty", b""), ("dir/a", b""), ("dir/b", b"")):
        store.write(store.key(name), data)
    proxy.clear()
    verb(store)
    assert " ".join(proxy.methods) == requests


def test_a_bounded_read_asks_for_no_more_than_its_bound(open_s3: Open, proxied: S3Server, proxy: FaultProxy):
    store = open_s3(proxied)
    store.write(store.key("big"), b"x" * 5000)
    proxy.clear()
    assert len(store.read(store.key("big"), max_bytes=5000)) == 5000
    assert proxy.requests[0].headers["range"] == "bytes=0-5000"
