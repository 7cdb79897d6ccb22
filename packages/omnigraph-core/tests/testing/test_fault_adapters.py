"""Wrapping adapters: transparent but for what they are asked to do."""

from __future__ import annotations

import itertools
import pickle
import time
from collections import Counter
from random import Random

import pytest

from omnigraph import testing
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.failpoints import LOAD_STAGED, reach
from omnigraph.storage import Capability, StorageAdapter, StorageUri, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing import CountingAdapter, DelayingAdapter, DiedError, DyingAdapter, Fault, FaultyAdapter
from omnigraph.testing.faults import FlakyAdapter, armed

_numbers = itertools.count()


def memory() -> MemoryAdapter:
    return MemoryAdapter(parse_uri(f"memory://faults-{next(_numbers)}/g"))


class WrappedStore:
    capabilities = frozenset({Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME})

    @pytest.fixture
    def adapter(self) -> StorageAdapter:
        return FaultyAdapter(CountingAdapter(DelayingAdapter(memory(), {})))

    def at_root(self, adapter: StorageAdapter, root: StorageUri) -> StorageAdapter:
        return FaultyAdapter(MemoryAdapter(root))


class TestWrappersKeepTheContract(WrappedStore, testing.StorageAdapterContract):
    pass


class TestWrappersKeepRaces(WrappedStore, testing.StorageRaceContract, testing.WriteIfMatchRaceContract):
    pass


class TestWrappersKeepCompareAndSwap(WrappedStore, testing.WriteIfMatchContract):
    pass


class TestWrappersKeepAtomicRename(WrappedStore, testing.AtomicRenameContract):
    pass


def test_every_call_is_counted_by_its_verb():
    adapter = CountingAdapter(memory())
    key = adapter.key("a")
    adapter.write(key, b"1")
    adapter.read(key)
    adapter.read_if_exists(key)
    adapter.write_if_match(key, b"2", adapter.read_versioned(key).token)
    list(adapter.list())
    adapter.list_dir()
    adapter.exists(key)
    adapter.rename(key, adapter.key("b"))
    adapter.delete(key)
    adapter.delete_prefix(key)
    adapter.make_durable([key])
    adapter.write_if_absent(key, b"")
    assert adapter.calls == {
        "write": 1, "read": 2, "read_versioned": 1, "write_if_match": 1, "list": 1, "list_dir": 1, "exists": 1,
        "rename": 1, "delete": 1, "delete_prefix": 1, "make_durable": 1, "write_if_absent": 1,
    }  # fmt: skip


def test_a_fault_before_leaves_the_store_untouched():
    adapter = FaultyAdapter(memory(), Fault(verb="write", error=ConnectionResetError()))
    key = adapter.key("a")
    with pytest.raises(StorageError) as caught:
        adapter.write(key, b"1")
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert adapter.read_if_exists(key) is None
    adapter.write(key, b"2")
    assert adapter.read(key) == b"2"


def test_a_fault_after_loses_the_answer_to_what_was_done():
    adapter = FaultyAdapter(memory(), Fault(verb="write_if_absent", error=TimeoutError(), moment="after"))
    key = adapter.key("claim")
    with pytest.raises(StorageError) as caught:
        adapter.write_if_absent(key, b"mine")
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert adapter.read(key) == b"mine"


def test_a_fault_strikes_the_named_calls_only():
    fault = Fault(verb="read", error=PermissionError(), name_contains="secret", skip=1, times=2)
    adapter = FaultyAdapter(memory(), fault)
    for name in ("plain", "secret"):
        adapter.write(adapter.key(name), b"1")
    outcomes = []
    for _ in range(4):
        assert adapter.read(adapter.key("plain")) == b"1"
        try:
            outcomes.append(adapter.read(adapter.key("secret")))
        except StorageError as error:
            outcomes.append(error.condition)
    refused = StorageCondition.CONFIGURATION
    assert outcomes == [b"1", refused, refused, b"1"]


def test_a_delay_holds_up_only_its_verb():
    adapter = DelayingAdapter(memory(), {"read": 0.2})
    adapter.write(adapter.key("a"), b"1")
    started = time.monotonic()
    adapter.read(adapter.key("a"))
    assert time.monotonic() - started >= 0.2


def outcomes_of_writes(seed: int, share: float) -> tuple[list[tuple[bool, bool]], list[str]]:
    """Of each of many writes, whether it was said to have failed and whether its bytes are there; and what was told."""
    inner, struck = memory(), list[str]()
    adapter = FlakyAdapter(inner, Random(seed), share, struck=struck.append)
    outcomes = []
    for number in range(200):
        key = adapter.key(f"object-{number}")
        try:
            adapter.write(key, b"1")
            has_failed = False
        except StorageError:
            has_failed = True
        outcomes.append((has_failed, inner.exists(key)))
    return outcomes, struck


def test_a_flaky_store_fails_before_and_after_its_effect_as_often_as_it_was_told_and_says_which():
    outcomes, struck = outcomes_of_writes(1, 0.2)
    assert (False, False) not in outcomes
    assert Counter(struck) == {
        "write before": outcomes.count((True, False)),
        "write after": outcomes.count((True, True)),
    }
    assert all(5 <= count <= 60 for count in Counter(struck).values())


def test_a_flaky_store_fails_the_same_again_from_the_same_seed():
    assert outcomes_of_writes(1, 0.2) == outcomes_of_writes(1, 0.2) != outcomes_of_writes(2, 0.2)
    assert outcomes_of_writes(1, 0.0) == ([(False, True)] * 200, [])


def test_a_handle_that_died_at_a_failpoint_asks_nothing_more_of_the_store():
    inner = memory()
    adapter = DyingAdapter(inner)
    key = adapter.key("a")
    adapter.write(key, b"1")
    with armed({LOAD_STAGED: adapter.die}), pytest.raises(DiedError, match="staged"):
        reach(LOAD_STAGED)
    assert not issubclass(DiedError, Exception)
    for ask in (
        lambda: adapter.delete(key),
        lambda: adapter.rename(key, adapter.key("b")),
        lambda: adapter.write(key, b"2"),
        lambda: adapter.read(key),
        lambda: adapter.list_dir(),
        lambda: adapter.make_durable([key]),
    ):
        with pytest.raises(StorageError):
            ask()
    assert inner.read(key) == b"1"
    assert DyingAdapter(inner).read(key) == b"1"


def test_wrappers_travel_with_what_they_wrap():
    inner = memory()
    inner.write(inner.key("a"), b"1")
    for adapter in (
        CountingAdapter(inner),
        DelayingAdapter(inner, {"write": 1.0}),
        FaultyAdapter(inner, Fault(verb="read", error=TimeoutError(), skip=9)),
        FlakyAdapter(inner, Random(1), 0.0),
    ):
        again = pickle.loads(pickle.dumps(adapter))
        assert type(again) is type(adapter)
        assert again.read(again.key("a")) == b"1"
