"""Optional: one class per capability. A backend runs the classes of what it declares, and no others."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import ClassVar

import pytest

from omnigraph.storage import Capability, StorageAdapter
from omnigraph.testing.storage_contract.clauses import ContractClauses, reopened


class WriteIfMatchContract(ContractClauses):
    """C12-C14: compare-and-swap."""

    contract_of: ClassVar[Capability] = Capability.WRITE_IF_MATCH

    def test_a_fresh_token_replaces_and_gives_the_next_token(self, adapter: StorageAdapter) -> None:
        key = adapter.key("object")
        adapter.write(key, b"one")
        first = adapter.read_versioned(key)
        second = adapter.write_if_match(key, b"two", first.token)
        assert second is not None
        assert second != first.token
        assert self.peek(adapter, "object") == b"two"
        assert adapter.read_versioned(key).token == second
        assert adapter.write_if_match(key, b"three", second) is not None
        assert self.peek(adapter, "object") == b"three"

    def test_a_stale_token_changes_nothing(self, adapter: StorageAdapter) -> None:
        key = adapter.key("object")
        adapter.write(key, b"one")
        stale = adapter.read_versioned(key).token
        self.plant(adapter, "object", b"two")
        assert adapter.write_if_match(key, b"three", stale) is None
        assert self.peek(adapter, "object") == b"two"

    @pytest.mark.parametrize("token", ["*", "0", '"0"', "no-such-token", "W/*"])
    def test_a_token_that_was_never_given_changes_nothing(self, adapter: StorageAdapter, token: str) -> None:
        adapter.write(adapter.key("object"), b"one")
        assert adapter.write_if_match(adapter.key("object"), b"two", token) is None
        assert self.peek(adapter, "object") == b"one"
        assert adapter.write_if_match(adapter.key("missing"), b"two", token) is None
        assert self.peek(adapter, "missing") is None

    def test_a_missing_object_is_not_created(self, adapter: StorageAdapter) -> None:
        key = adapter.key("object")
        adapter.write(key, b"one")
        token = adapter.read_versioned(key).token
        adapter.delete(key)
        assert adapter.write_if_match(key, b"two", token) is None
        assert self.peek(adapter, "object") is None


class WriteIfMatchRaceContract(ContractClauses):
    """C15: swappers race with one token."""

    contract_of: ClassVar[str] = "races of write_if_match"

    def test_of_many_swappers_with_one_token_exactly_one_wins(self, adapter: StorageAdapter) -> None:
        report = self.race(adapter, "replace")
        assert report.is_exact, f"{report.summary()}: {report.errors[:3]}"


class AtomicRenameContract(ContractClauses):
    """A rename is one step."""

    contract_of: ClassVar[Capability] = Capability.ATOMIC_RENAME

    def test_a_reader_always_finds_a_whole_target(self, adapter: StorageAdapter) -> None:
        old, new = b"o" * 50_000, b"n" * 50_000
        target = adapter.key("target")
        adapter.write(target, old)
        stop, seen = threading.Event(), set[bytes | None]()

        def read_on() -> None:
            mine = reopened(adapter)
            while not stop.is_set():
                seen.add(mine.read_if_exists(target))

        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(read_on)
            try:
                for number in range(self.many_objects):
                    source = adapter.key(f"source-{number}")
                    adapter.write(source, new if number % 2 else old)
                    adapter.rename(source, target)
            finally:
                stop.set()
            reading.result()
        assert seen <= {old, new}


class SharedBetweenProcessesContract(ContractClauses):
    """Every process sees one store."""

    contract_of: ClassVar[Capability] = Capability.SHARED_BETWEEN_PROCESSES

    def test_another_process_reads_and_writes_the_same_objects(self, adapter: StorageAdapter) -> None:
        adapter.write(adapter.key("from-here"), b"hello")
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            found, created = pool.submit(_visit, pickle.dumps(adapter)).result(timeout=120)
        assert found == b"hello"
        assert created is True
        assert self.peek(adapter, "from-there") == b"hello back"
        assert adapter.write_if_absent(adapter.key("from-there"), b"too late") is False

    def test_the_files_of_a_table_are_objects_of_the_adapter(self, adapter: StorageAdapter) -> None:
        # Only omnigraph.tables imports lance, and only the clauses that need it pay for it.
        from omnigraph.tables.probe import probe_lance

        table = adapter.key("nodes/some table #1 100%")
        probe_lance(adapter.lance_location(table))
        files = tuple(adapter.list(table))
        assert {key.parent for key in files} >= {table / "data", table / "_versions"}
        assert all(adapter.read(key) for key in files)
        adapter.make_durable(files)
        adapter.delete_prefix(table)
        assert not adapter.exists(table)


def _visit(packed: bytes) -> tuple[bytes, bool]:
    """Runs in the other process, and from another directory: read what is there and create something."""
    os.chdir(tempfile.gettempdir())
    with pickle.loads(packed) as adapter:  # bytes of our own making
        found = adapter.read(adapter.key("from-here"))
        return found, adapter.write_if_absent(adapter.key("from-there"), b"hello back")
