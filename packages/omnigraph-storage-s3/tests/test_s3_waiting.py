"""Requests end with the call that they belong to: no more is asked of a server that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from omnigraph.cancellation import TimeLimit, patient, uncancellable
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import note_silence, silence
from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

TIMEOUT = 0.5

Open = Callable[..., S3Adapter]

VERBS: dict[str, Callable[[S3Adapter], object]] = {
    "read": lambda store: store.read(store.key("one")),
    "write": lambda store: store.write(store.key("one"), b"1"),
    "write_if_absent": lambda store: store.write_if_absent(store.key("one"), b"1"),
    "write_if_match": lambda store: store.write_if_match(store.key("one"), b"1", '"token"'),
    "exists": lambda store: store.exists(store.key("one")),
    "list": lambda store: list(store.list()),
    "rename": lambda store: store.rename(store.key("one"), store.key("two")),
    "delete": lambda store: store.delete(store.key("one")),
    "delete_prefix": lambda store: store.delete_prefix(store.key("one")),
}


@pytest.fixture
def store(proxied: S3Server, proxy: FaultProxy, open_s3: Open) -> S3Adapter:
    """With its client made, which takes longer than these timeouts."""
    made = open_s3(proxied, read_timeout_seconds=TIMEOUT, connect_timeout_seconds=TIMEOUT)
    with suppress(StorageError):
        made.exists(made.key("one"))
    proxy.clear()
    return made


def test_the_timeout_of_the_options_is_said(store: S3Adapter):
    assert store.timeout_seconds == TIMEOUT


def test_a_call_with_a_deadline_does_not_ask_again_after_it(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.HANG, times=9)
    with TimeLimit(0.1, "query"), uncancellable(), pytest.raises(StorageError) as caught:
        store.read(store.key("one"))
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert proxy.methods == ("GET",)


def test_without_a_deadline_the_requests_after_the_first_have_one_timeout_together(store: S3Adapter, proxy: FaultProxy):
    proxy.inject(NetworkFault.HANG, times=9)
    with patient():
        for _ in range(3):
            with pytest.raises(StorageError):
                store.read(store.key("one"))
    assert proxy.methods == ("GET", "GET")


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
def test_what_is_not_sent_had_no_effect_and_is_told_as_transient(
    store: S3Adapter, proxy: FaultProxy, verb: Callable[[S3Adapter], object]
):
    with patient():
        note_silence(0.0)
        note_silence(TIMEOUT)
        with pytest.raises(StorageError, match="was not asked") as caught:
            verb(store)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert proxy.requests == ()


def test_an_answer_that_refuses_is_an_answer(store: S3Adapter, proxy: FaultProxy):
    with patient():
        note_silence(TIMEOUT / 2)
        proxy.inject(NetworkFault.FORBIDDEN)
        with pytest.raises(StorageError):
            store.read(store.key("one"))
        assert proxy.faults == {NetworkFault.FORBIDDEN: 1}
        assert silence() is None
