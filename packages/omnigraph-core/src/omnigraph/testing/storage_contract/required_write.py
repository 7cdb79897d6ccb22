"""Required: writing, creating, renaming and deleting, each seen through the back door."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.errors import ResourceLimitError, StorageCondition, StorageError
from omnigraph.storage import MAX_OBJECT_BYTES, ROOT, StorageAdapter
from omnigraph.testing.storage_contract.clauses import ContractClauses, reopened


class WriteClauses(ContractClauses):
    """C1, C2, C9, C11, C16, C17, C23, C24, C32 and the bound on writes."""

    @pytest.mark.parametrize("data", [b"", bytes(range(256)), b"x" * 100_000], ids=["empty", "binary", "100kB"])
    def test_a_written_object_is_stored_exactly(self, adapter: StorageAdapter, data: bytes) -> None:
        adapter.write(adapter.key("dir/object"), data)
        assert self.peek(adapter, "dir/object") == data

    def test_a_second_write_replaces_the_first(self, adapter: StorageAdapter) -> None:
        adapter.write(adapter.key("object"), b"a longer first value")
        adapter.write(adapter.key("object"), b"second")
        assert self.peek(adapter, "object") == b"second"

    def test_an_object_over_the_bound_is_refused_before_anything_is_written(self, adapter: StorageAdapter) -> None:
        key = adapter.key("large")
        adapter.write(key, b"kept")
        token = adapter.read_versioned(key).token
        too_large = b"x" * (10 * 1024 * 1024)
        for attempt in (
            lambda: adapter.write(key, too_large),
            lambda: adapter.write_if_absent(adapter.key("new"), too_large),
            lambda: adapter.write_if_match(key, too_large, token),
        ):
            with pytest.raises(ResourceLimitError) as caught:
                attempt()
            assert (caught.value.limit, caught.value.actual) == (MAX_OBJECT_BYTES, len(too_large))
        assert self.peek(adapter, "large") == b"kept"
        assert self.peek(adapter, "new") is None
        adapter.write(key, b"the next call works")
        assert self.peek(adapter, "large") == b"the next call works"

    def test_a_reader_sees_old_or_new_and_never_a_part(self, adapter: StorageAdapter) -> None:
        values = {bytes([fill]) * 60_000 for fill in (65, 66)}
        key = adapter.key("flipping")
        adapter.write(key, next(iter(values)))
        stop, seen = threading.Event(), set[bytes]()

        def read_on() -> None:
            mine = reopened(adapter)
            while not stop.is_set():
                seen.add(mine.read(key))

        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(read_on)
            try:
                for _ in range(self.many_objects):
                    for value in values:
                        adapter.write(key, value)
            finally:
                stop.set()
            reading.result()
        assert seen <= values

    def test_threads_may_share_an_adapter(self, adapter: StorageAdapter) -> None:
        def write_and_read(number: int) -> bytes:
            key = adapter.key(f"shared/{number}")
            adapter.write(key, b"%d" % number)
            return adapter.read(key)

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(write_and_read, range(32)))
        assert found == [b"%d" % number for number in range(32)]

    def test_the_first_create_wins_and_the_second_leaves_it_alone(self, adapter: StorageAdapter) -> None:
        key = adapter.key("claims/one")
        assert adapter.write_if_absent(key, b"first") is True
        assert adapter.write_if_absent(key, b"second") is False
        assert self.peek(adapter, "claims/one") == b"first"

    def test_an_object_can_be_created_again_after_it_was_deleted(self, adapter: StorageAdapter) -> None:
        key = adapter.key("claim")
        assert adapter.write_if_absent(key, b"first")
        adapter.delete(key)
        assert adapter.write_if_absent(key, b"second") is True
        assert self.peek(adapter, "claim") == b"second"

    def test_a_created_object_is_whole_when_the_call_returns(self, adapter: StorageAdapter) -> None:
        for size in (8 * 1024, 64 * 1024):
            for number in range(self.many_objects):
                name = f"created/{size}-{number}"
                assert adapter.write_if_absent(adapter.key(name), b"c" * size)
                assert len(self.peek(adapter, name) or b"") == size

    def test_a_rename_replaces_the_target_and_removes_the_source(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "from", b"moved")
        self.plant(adapter, "to", b"replaced")
        adapter.rename(adapter.key("from"), adapter.key("to"))
        assert self.peek(adapter, "to") == b"moved"
        assert self.peek(adapter, "from") is None

    def test_a_rename_makes_the_places_on_the_way(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "from", b"moved")
        adapter.rename(adapter.key("from"), adapter.key("new/deep/place"))
        assert self.peek(adapter, "new/deep/place") == b"moved"

    def test_a_rename_onto_itself_keeps_the_object(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "same", b"kept")
        adapter.rename(adapter.key("same"), adapter.key("same"))
        assert self.peek(adapter, "same") == b"kept"

    def test_renaming_a_missing_object_is_not_found(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "to", b"kept")
        with pytest.raises(StorageError) as caught:
            adapter.rename(adapter.key("missing"), adapter.key("to"))
        assert caught.value.condition is StorageCondition.NOT_FOUND
        assert self.peek(adapter, "to") == b"kept"

    def test_delete_removes_one_object_and_may_be_repeated(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "dir/gone", b"1")
        self.plant(adapter, "dir/gone.not", b"2")
        for _ in range(2):
            adapter.delete(adapter.key("dir/gone"))
        assert self.peek(adapter, "dir/gone") is None
        assert self.peek(adapter, "dir/gone.not") == b"2"
        adapter.delete(adapter.key("never/was/here"))

    def test_delete_prefix_removes_what_is_below_and_nothing_beside(self, adapter: StorageAdapter) -> None:
        for name in ("tree/a", "tree/deep/er/b", "tree_log/c", "treetop"):
            self.plant(adapter, name, b"1")
        for _ in range(2):
            adapter.delete_prefix(adapter.key("tree"))
        assert not adapter.exists(adapter.key("tree"))
        assert sorted(map(str, adapter.list())) == ["tree_log/c", "treetop"]

    def test_delete_prefix_of_the_root_leaves_nothing_and_the_root_usable(self, adapter: StorageAdapter) -> None:
        for name in ("a", "b/c"):
            self.plant(adapter, name, b"1")
        adapter.delete_prefix(ROOT)
        assert list(adapter.list()) == []
        adapter.write(adapter.key("again/x"), b"2")
        assert self.peek(adapter, "again/x") == b"2"
