"""Conditional writes when the answer is late, lost or wrong: one winner, no doubt that is not named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ObjectKey, verify_honesty
from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault
from omnigraph.testing.races import run_race
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3 import adapter as adapter_module
from omnigraph_storage_s3 import client
from omnigraph_storage_s3.adapter import S3Adapter
from omnigraph_storage_s3.client import S3Client
from omnigraph_storage_s3.conditional import NONCE

Open = Callable[..., S3Adapter]

pytestmark = pytest.mark.usefixtures("short_pauses")

LOST = [NetworkFault.LOSE_ANSWER, NetworkFault.HIDE_ANSWER]
"""The effect has happened and the client does not know."""

UNDONE = [NetworkFault.RESET, NetworkFault.UNAVAILABLE]
"""Nothing has happened and the client does not know."""


@pytest.fixture
def store(open_s3: Open, proxied: S3Server, proxy: FaultProxy) -> S3Adapter:
    """An adapter whose requests go through the proxy, on a warm connection."""
    adapter = open_s3(proxied)
    adapter.write(adapter.key("old"), b"old")
    proxy.clear()
    return adapter


@pytest.fixture
def hasty(store: S3Adapter, open_s3: Open, proxied: S3Server) -> S3Adapter:
    """The same writer with little patience: a delayed answer is one that it does not wait for."""
    return open_s3(proxied, str(store.root), read_timeout_seconds=1.0)


@pytest.fixture
def other(store: S3Adapter, open_s3: Open, ministack: S3Server) -> S3Adapter:
    """Another writer at the same root, who meets no faults."""
    return open_s3(ministack, str(store.root))


def assert_unsettled(error: StorageError, store: S3Adapter, key: ObjectKey) -> None:
    assert error.condition is StorageCondition.UNKNOWN
    assert error.uri == store.uri(key)
    assert error.help == "It may have been made already. Read the object and decide."


# ── races ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("contest", ["create", "replace"])
def test_of_racing_processes_exactly_one_wins(open_s3: Open, racing_server: S3Server, contest: str):
    report = run_race(open_s3(racing_server), contest, writers=4, rounds=5, place="processes")  # type: ignore[arg-type]
    assert report.is_exact, report.summary()


def test_a_server_that_ignores_conditions_is_refused_and_left_clean(open_s3: Open, rclone: S3Server):
    adapter = open_s3(rclone)
    with pytest.raises(StorageError, match="does not honour create-if-absent") as caught:
        verify_honesty(adapter)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert list(adapter.list()) == []


# ── one request, once ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", [*LOST, *UNDONE, NetworkFault.CUT_ANSWER])
@pytest.mark.parametrize("operation", ["put_object", "get_object", "delete_object"])
def test_a_request_is_sent_once_whatever_happens_to_it(
    store: S3Adapter, proxy: FaultProxy, fault: NetworkFault, operation: str
):
    place = store._place(store.key("old"))
    proxy.inject(fault, times=5)

    async def send(s3: object) -> None:
        answer = await getattr(s3, operation)(**place)
        if operation == "get_object":
            try:
                await answer["Body"].read()
            finally:
                answer["Body"].close()

    # The connection is warm: libraries like to repeat what fails on a kept connection.
    if fault is NetworkFault.CUT_ANSWER and operation != "get_object":
        store._client.send(send)
    else:
        with pytest.raises(Exception):  # noqa: B017, PT011
            store._client.send(send)
    assert len(proxy.requests) == 1


# ── the answer to a create is lost ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", LOST)
def test_a_create_whose_answer_is_lost_has_won_and_says_so(store: S3Adapter, proxy: FaultProxy, fault: NetworkFault):
    proxy.inject(fault, method="PUT")
    assert store.write_if_absent(store.key("new"), b"mine") is True
    assert proxy.methods == ("PUT", "HEAD")
    assert store.read(store.key("new")) == b"mine"


def test_a_create_whose_answer_does_not_come_in_time_has_won_and_says_so(hasty: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.DELAY_ANSWER, method="PUT", seconds=4)
    assert hasty.write_if_absent(hasty.key("new"), b"mine") is True
    assert proxy.methods == ("PUT", "HEAD")


@pytest.mark.parametrize("fault", UNDONE)
def test_a_create_that_had_no_effect_is_sent_again(store: S3Adapter, proxy: FaultProxy, fault: NetworkFault):
    proxy.inject(fault, method="PUT")
    assert store.write_if_absent(store.key("new"), b"mine") is True
    assert proxy.methods == ("PUT", "HEAD", "PUT")
    assert store.read(store.key("new")) == b"mine"


def test_a_create_that_was_first_refused_and_then_lands_unseen_has_won(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.UNAVAILABLE, method="PUT")
    proxy.inject(NetworkFault.LOSE_ANSWER, method="PUT")
    assert store.write_if_absent(store.key("new"), b"mine") is True
    assert proxy.methods == ("PUT", "HEAD", "PUT", "HEAD")


def test_a_create_that_lands_late_meets_its_own_object_and_has_won(
    store: S3Adapter, other: S3Adapter, proxy: FaultProxy
):
    key = store.key("new")

    def land_first_attempt() -> None:
        nonce = proxy.requests[0].headers[f"x-amz-meta-{NONCE}"]
        place = other._place(key)
        other._client.send(lambda s3: s3.put_object(**place, Body=b"mine", Metadata={NONCE: nonce}))

    # The first PUT is still on its way when the client gives up on it, looks and finds nothing; it lands before the
    # second one, which finds the first one's object in its way.
    proxy.inject(NetworkFault.RESET, method="PUT")
    proxy.inject(NetworkFault.FORWARD, method="HEAD", after_effect=land_first_attempt)
    assert store.write_if_absent(key, b"mine") is True
    assert proxy.methods == ("PUT", "HEAD", "PUT", "HEAD")


@pytest.mark.parametrize("fault", LOST)
def test_a_lost_answer_to_a_create_over_somebody_elses_object_is_in_doubt(
    store: S3Adapter, other: S3Adapter, proxy: FaultProxy, fault: NetworkFault
):
    key = store.key("new")
    proxy.inject(fault, method="PUT", after_effect=lambda: other.write(key, b"theirs"))
    with pytest.raises(StorageError) as caught:
        store.write_if_absent(key, b"mine")
    assert_unsettled(caught.value, store, key)
    assert proxy.methods == ("PUT", "HEAD")
    assert store.read(key) == b"theirs"


def test_a_create_that_was_refused_first_and_lost_then_has_lost(store: S3Adapter, other: S3Adapter, proxy: FaultProxy):
    key = store.key("new")
    proxy.inject(NetworkFault.UNAVAILABLE, method="PUT")
    # Between the look after the first attempt and the second one, somebody else creates the object.
    proxy.inject(NetworkFault.FORWARD, method="HEAD", after_effect=lambda: other.write(key, b"theirs"))
    assert store.write_if_absent(key, b"mine") is False
    assert proxy.methods == ("PUT", "HEAD", "PUT", "HEAD")
    assert store.read(key) == b"theirs"


def test_a_create_that_got_no_answer_first_and_lost_then_is_in_doubt(
    store: S3Adapter, other: S3Adapter, proxy: FaultProxy
):
    key = store.key("new")
    # The first attempt may have landed after the look and been replaced since.
    proxy.inject(NetworkFault.RESET, method="PUT")
    proxy.inject(NetworkFault.FORWARD, method="HEAD", after_effect=lambda: other.write(key, b"theirs"))
    with pytest.raises(StorageError) as caught:
        store.write_if_absent(key, b"mine")
    assert_unsettled(caught.value, store, key)


def test_a_create_that_never_gets_through_says_that_nothing_was_done(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.UNAVAILABLE, method="PUT", times=10)
    with pytest.raises(StorageError, match="ServiceUnavailable") as caught:
        store.write_if_absent(store.key("new"), b"mine")
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert proxy.methods.count("PUT") == 3


def test_a_create_that_is_never_answered_is_in_doubt(store: S3Adapter, proxy: FaultProxy):
    key = store.key("new")
    proxy.inject(NetworkFault.RESET, method="PUT", times=10)
    with pytest.raises(StorageError) as caught:
        store.write_if_absent(key, b"mine")
    assert_unsettled(caught.value, store, key)


def test_a_create_that_got_no_answer_first_and_was_forbidden_then_is_in_doubt(store: S3Adapter, proxy: FaultProxy):
    key = store.key("new")
    # The refusal is of the second attempt; the first one may still be under way.
    proxy.inject(NetworkFault.RESET, method="PUT")
    proxy.inject(NetworkFault.FORBIDDEN, method="PUT")
    with pytest.raises(StorageError) as caught:
        store.write_if_absent(key, b"mine")
    assert_unsettled(caught.value, store, key)
    assert proxy.methods == ("PUT", "HEAD", "PUT")


def test_a_create_that_was_turned_away_first_and_forbidden_then_is_refused(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.UNAVAILABLE, method="PUT")
    proxy.inject(NetworkFault.FORBIDDEN, method="PUT")
    with pytest.raises(StorageError, match="AccessDenied") as caught:
        store.write_if_absent(store.key("new"), b"mine")
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_a_create_is_in_doubt_when_the_object_cannot_be_looked_at(store: S3Adapter, proxy: FaultProxy):
    key = store.key("new")
    proxy.inject(NetworkFault.LOSE_ANSWER, method="PUT")
    proxy.inject(NetworkFault.UNAVAILABLE, method="HEAD", times=10)
    with pytest.raises(StorageError) as caught:
        store.write_if_absent(key, b"mine")
    assert_unsettled(caught.value, store, key)


def test_a_conflict_is_a_lost_race_of_a_replacement(store: S3Adapter, proxy: FaultProxy):
    token = store.read_versioned(store.key("old")).token
    proxy.inject(NetworkFault.CONFLICT, method="PUT")
    assert store.write_if_match(store.key("old"), b"mine", token) is None
    assert proxy.methods.count("PUT") == 1


def test_a_create_that_met_another_request_is_sent_again(store: S3Adapter, other: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.CONFLICT, method="PUT")
    assert store.write_if_absent(store.key("new"), b"mine") is True
    assert proxy.methods == ("PUT", "PUT")
    # The other request was a create.
    other.write(other.key("theirs"), b"theirs")
    proxy.inject(NetworkFault.CONFLICT, method="PUT")
    assert store.write_if_absent(store.key("theirs"), b"mine") is False
    assert store.read(store.key("theirs")) == b"theirs"


def test_a_create_that_meets_another_request_every_time_is_not_said_to_have_lost(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.CONFLICT, method="PUT", times=10)
    with pytest.raises(StorageError, match="ConditionalRequestConflict"):
        store.write_if_absent(store.key("new"), b"mine")
    assert proxy.methods.count("PUT") == 3


# ── the answer to a replacement is lost ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", LOST)
def test_a_replacement_whose_answer_is_lost_gives_its_new_token(
    store: S3Adapter, proxy: FaultProxy, fault: NetworkFault
):
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.clear()
    proxy.inject(fault, method="PUT")
    fresh = store.write_if_match(key, b"mine", token)
    assert proxy.methods == ("PUT", "HEAD")
    assert store.read_versioned(key).token == fresh != token


@pytest.mark.parametrize("fault", UNDONE)
def test_a_replacement_that_had_no_effect_is_sent_again(store: S3Adapter, proxy: FaultProxy, fault: NetworkFault):
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.clear()
    proxy.inject(fault, method="PUT")
    fresh = store.write_if_match(key, b"mine", token)
    assert proxy.methods == ("PUT", "HEAD", "PUT")
    found = store.read_versioned(key)
    assert (found.data, found.token) == (b"mine", fresh)


def test_a_replacement_by_equal_bytes_is_settled_by_the_nonce(store: S3Adapter, proxy: FaultProxy):
    # The ETag is the same before and after; only the nonce tells that this write landed.
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.clear()
    proxy.inject(NetworkFault.LOSE_ANSWER, method="PUT")
    assert store.write_if_match(key, b"old", token) == token
    assert proxy.methods == ("PUT", "HEAD")


@pytest.mark.parametrize("fault", LOST)
def test_a_lost_answer_to_a_replacement_that_was_replaced_is_in_doubt(
    store: S3Adapter, other: S3Adapter, proxy: FaultProxy, fault: NetworkFault
):
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.inject(fault, method="PUT", after_effect=lambda: other.write(key, b"theirs"))
    with pytest.raises(StorageError) as caught:
        store.write_if_match(key, b"mine", token)
    assert_unsettled(caught.value, store, key)


def test_a_lost_answer_to_a_replacement_that_was_deleted_is_in_doubt(
    store: S3Adapter, other: S3Adapter, proxy: FaultProxy
):
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.inject(NetworkFault.LOSE_ANSWER, method="PUT", after_effect=lambda: other.delete(key))
    with pytest.raises(StorageError) as caught:
        store.write_if_match(key, b"mine", token)
    assert_unsettled(caught.value, store, key)


@pytest.mark.parametrize("written", ["*", '"x", {}', "{},*", "{} {}", "{}\r\nx-amz-meta-more: 1"])
def test_a_condition_that_several_objects_would_meet_is_no_token(store: S3Adapter, proxy: FaultProxy, written: str):
    key = store.key("old")
    token = store.read_versioned(key).token
    proxy.clear()
    assert store.write_if_match(key, b"mine", written.format(token, token)) is None
    assert proxy.methods == ()
    assert store.read(key) == b"old"


# ── what may be repeated ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", [NetworkFault.UNAVAILABLE, NetworkFault.LOSE_ANSWER])
def test_requests_that_change_nothing_get_over_two_failures(store: S3Adapter, proxy: FaultProxy, fault: NetworkFault):
    key = store.key("old")
    verbs: list[Callable[[], object]] = [
        lambda: store.read(key),
        lambda: store.exists(key),
        lambda: list(store.list()),
    ]
    for verb in verbs:
        proxy.clear()
        proxy.inject(fault, times=2)
        verb()
        assert len(proxy.requests) == 3


def test_a_change_whose_answer_was_lost_is_not_made_again(store: S3Adapter, other: S3Adapter, proxy: FaultProxy):
    """In between, somebody may have built on it; a second effect would undo an acknowledged write."""
    key = store.key("old")

    def build_on_it() -> None:
        assert other.write_if_match(key, b"theirs", other.read_versioned(key).token) is not None

    def take_the_place() -> None:
        assert other.write_if_absent(key, b"theirs") is True

    for verb, method, meanwhile in (
        (lambda: store.write(key, b"mine"), "PUT", build_on_it),
        (lambda: store.delete(key), "DELETE", take_the_place),
    ):
        proxy.clear()
        proxy.inject(NetworkFault.LOSE_ANSWER, method=method, after_effect=meanwhile)
        with pytest.raises(StorageError) as caught:
            verb()
        assert_unsettled(caught.value, store, key)
        assert proxy.methods.count(method) == 1
        assert other.read(key) == b"theirs"


@pytest.mark.parametrize("fault", LOST)
def test_a_plain_write_whose_answer_is_lost_is_found_by_its_nonce(
    store: S3Adapter, proxy: FaultProxy, fault: NetworkFault
):
    proxy.inject(fault, method="PUT")
    store.write(store.key("new"), b"mine")
    assert proxy.methods == ("PUT", "HEAD")
    assert store.read(store.key("new")) == b"mine"


@pytest.mark.parametrize("fault", UNDONE)
def test_a_plain_write_of_which_nothing_is_found_is_in_doubt(store: S3Adapter, proxy: FaultProxy, fault: NetworkFault):
    key = store.key("old")
    proxy.inject(fault, method="PUT")
    with pytest.raises(StorageError) as caught:
        store.write(key, b"mine")
    assert_unsettled(caught.value, store, key)
    assert proxy.methods == ("PUT", "HEAD")
    assert store.read(key) == b"old"


def test_a_plain_write_is_in_doubt_when_the_object_cannot_be_looked_at(store: S3Adapter, proxy: FaultProxy):
    key = store.key("new")
    proxy.inject(NetworkFault.HIDE_ANSWER, method="PUT")
    proxy.inject(NetworkFault.FORBIDDEN, method="HEAD")
    with pytest.raises(StorageError, match="the store answered InternalError with HTTP status 500") as caught:
        store.write(key, b"mine")
    assert_unsettled(caught.value, store, key)


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize(
    ("verb", "name", "method", "sent"),
    [
        (lambda store: store.delete(store.key("old")), "old", "DELETE", "DELETE"),
        (lambda store: store.rename(store.key("old"), store.key("new")), "old", "PUT", "PUT"),
        (lambda store: store.rename(store.key("old"), store.key("new")), "old", "DELETE", "PUT DELETE"),
        (lambda store: store.delete_prefix(store.key("dir")), "dir", "POST", "GET POST"),
        (lambda store: store.delete_prefix(store.key("dir")), "dir", "DELETE", "GET POST DELETE"),
    ],
    ids=["delete", "rename: copy", "rename: delete", "delete_prefix: batch", "delete_prefix: object"],
)
def test_a_change_whose_answer_was_lost_is_in_doubt(
    store: S3Adapter,
    proxy: FaultProxy,
    fault: NetworkFault,
    verb: Callable[[S3Adapter], None],
    name: str,
    method: str,
    sent: str,
):
    store.write(store.key("dir/a"), b"")
    proxy.clear()
    proxy.inject(fault, method=method)
    with pytest.raises(StorageError) as caught:
        verb(store)
    assert_unsettled(caught.value, store, store.key(name))
    assert " ".join(proxy.methods) == sent


def no_connection_from(store: S3Adapter, monkeypatch: pytest.MonkeyPatch, operation: str, *, spared: int = 0) -> None:
    """Let an operation find no connection, after so many times at which it does."""
    send, calls = store._client.send, 0

    def send_or_fail(request: Any) -> Any:
        nonlocal calls
        if operation in request.__code__.co_names:
            calls += 1
            if calls > spared:
                raise ConnectTimeoutError(endpoint_url="http://127.0.0.1")
        return send(request)

    monkeypatch.setattr(store._client, "send", send_or_fail)


@pytest.mark.parametrize(
    ("verb", "name", "operation", "spared"),
    [
        (lambda store: store.rename(store.key("old"), store.key("new")), "old", "delete_object", 0),
        (lambda store: store.delete_prefix(store.key("dir")), "dir", "delete_object", 0),
        (lambda store: store.delete_prefix(store.key("dir")), "dir", "delete_objects", 1),
    ],
    ids=["rename", "delete_prefix: object", "delete_prefix: second batch"],
)
def test_a_change_that_was_made_in_part_is_in_doubt_although_its_last_step_did_nothing(
    store: S3Adapter,
    monkeypatch: pytest.MonkeyPatch,
    verb: Callable[[S3Adapter], None],
    name: str,
    operation: str,
    spared: int,
):
    monkeypatch.setattr(adapter_module, "PAGE_KEYS", 1)
    for each in ("dir/a", "dir/b"):
        store.write(store.key(each), b"")
    no_connection_from(store, monkeypatch, operation, spared=spared)
    with pytest.raises(StorageError) as caught:
        verb(store)
    assert_unsettled(caught.value, store, store.key(name))


@pytest.mark.parametrize(
    ("verb", "operation"),
    [
        (lambda store: store.rename(store.key("old"), store.key("new")), "copy_object"),
        (lambda store: store.delete(store.key("old")), "delete_object"),
        (lambda store: store.delete_prefix(store.key("dir")), "delete_objects"),
        (lambda store: store.delete_prefix(store.key("empty")), "delete_object"),
    ],
    ids=["rename", "delete", "delete_prefix: first batch", "delete_prefix: object"],
)
def test_a_change_whose_first_step_did_nothing_is_a_transient_failure(
    store: S3Adapter, monkeypatch: pytest.MonkeyPatch, verb: Callable[[S3Adapter], None], operation: str
):
    store.write(store.key("dir/a"), b"")
    no_connection_from(store, monkeypatch, operation)
    with pytest.raises(StorageError) as caught:
        verb(store)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert {str(key) for key in store.list()} == {"old", "dir/a"}


def test_a_change_that_found_no_connection_is_sent_again(
    open_s3: Open, ministack: S3Server, monkeypatch: pytest.MonkeyPatch
):
    adapter = open_s3(ministack)
    send, failures = S3Client.send, 2

    def send_after_failures(self: S3Client, request: Any) -> Any:
        nonlocal failures
        if failures:
            failures -= 1
            raise ConnectTimeoutError(endpoint_url="http://127.0.0.1")
        return send(self, request)

    monkeypatch.setattr(S3Client, "send", send_after_failures)
    adapter.write(adapter.key("new"), b"1")
    assert failures == 0
    assert adapter.read(adapter.key("new")) == b"1"


def test_pauses_grow_and_are_not_in_step(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    monkeypatch.setattr(client, "FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr("time.sleep", waits.append)
    for attempt in (1, 2) * 20:
        client.pause(attempt)
    first, second = set(waits[::2]), set(waits[1::2])
    assert len(first) == len(second) == 20
    assert 0.1 <= min(first) <= max(first) <= 0.2 <= min(second) <= max(second) <= 0.4


def test_a_body_that_breaks_off_is_read_again(store: S3Adapter, proxy: FaultProxy):
    store.write(store.key("long"), b"x" * 100_000)
    proxy.clear()
    proxy.inject(NetworkFault.CUT_ANSWER, method="GET")
    assert store.read(store.key("long")) == b"x" * 100_000
    assert proxy.methods == ("GET", "GET")


def test_the_third_failure_is_raised_as_transient(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.UNAVAILABLE, times=3)
    with pytest.raises(StorageError, match="ServiceUnavailable with HTTP status 503") as caught:
        store.read(store.key("old"))
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.details["code"] == "ServiceUnavailable"
    assert len(proxy.requests) == 3


def test_a_refusal_is_not_repeated(store: S3Adapter, proxy: FaultProxy):
    with pytest.raises(StorageError):
        store.read(store.key("missing"))
    assert len(proxy.requests) == 1


def test_a_slow_server_is_a_transient_failure(store: S3Adapter, open_s3: Open, proxied: S3Server, proxy: FaultProxy):
    hasty = open_s3(proxied, str(store.root), read_timeout_seconds=0.2)
    proxy.inject(NetworkFault.DELAY_ANSWER, times=3, seconds=4)
    with pytest.raises(StorageError) as caught:
        hasty.read(hasty.key("old"))
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.uri == hasty.uri(hasty.key("old"))
    assert "reachable" in str(caught.value)
    assert len(proxy.requests) == 3
