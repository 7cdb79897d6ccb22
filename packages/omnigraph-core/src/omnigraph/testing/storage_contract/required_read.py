"""Required: reading, in whole, within a bound, as text, with a token; and looking for objects."""

from __future__ import annotations

import pytest

from omnigraph.errors import ResourceLimitError, StorageCondition, StorageError
from omnigraph.storage import MAX_OBJECT_BYTES, StorageAdapter
from omnigraph.testing.storage_contract.clauses import ContractClauses


class ReadClauses(ContractClauses):
    """C1, C3-C8, C25 and the token half of C12."""

    @pytest.mark.parametrize(
        "data", [b"", b"text", bytes(range(256)), b"x" * 100_000], ids=["empty", "text", "binary", "100kB"]
    )
    def test_read_returns_exactly_the_stored_bytes(self, adapter: StorageAdapter, data: bytes) -> None:
        self.plant(adapter, "dir/object", data)
        assert adapter.read(adapter.key("dir/object")) == data

    def test_reading_a_missing_object_is_not_found(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "present", b"1")
        for name in ("missing", "no/such/place"):
            with pytest.raises(StorageError) as caught:
                adapter.read(adapter.key(name))
            assert caught.value.condition is StorageCondition.NOT_FOUND
            assert name in str(caught.value.uri)

    def test_a_prefix_is_not_an_object(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "dir/object", b"1")
        assert adapter.read_if_exists(adapter.key("dir")) is None

    def test_read_if_exists_gives_the_value_or_none(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "here", b"value")
        assert adapter.read_if_exists(adapter.key("here")) == b"value"
        assert adapter.read_if_exists(adapter.key("missing")) is None
        assert adapter.read_text_if_exists(adapter.key("missing")) is None

    def test_a_bounded_read_takes_an_object_of_exactly_the_bound(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "object", b"12345")
        assert adapter.read(adapter.key("object"), max_bytes=5) == b"12345"
        assert adapter.read_if_exists(adapter.key("missing"), max_bytes=5) is None

    def test_a_bounded_read_refuses_a_larger_object_with_exact_numbers(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "object", b"12345" * 1000)
        key = adapter.key("object")
        for read in (adapter.read, adapter.read_if_exists, adapter.read_versioned):
            with pytest.raises(ResourceLimitError) as caught:
                read(key, max_bytes=4)
            found = caught.value
            assert (found.resource, found.limit, found.actual) == ("storage_object_bytes", 4, 5)
            assert found.uri == adapter.uri(key)

    def test_an_object_of_the_largest_size_is_read_whole(self, adapter: StorageAdapter) -> None:
        data = b"0123456789abcdef" * (MAX_OBJECT_BYTES // 16)
        self.plant(adapter, "largest", data)
        assert adapter.read(adapter.key("largest")) == data

    def test_text_is_decoded_as_utf_8(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "text", "schön ✓".encode())
        assert adapter.read_text(adapter.key("text")) == "schön ✓"
        assert adapter.read_text_if_exists(adapter.key("text")) == "schön ✓"

    def test_bytes_that_are_not_utf_8_are_an_error_and_not_none(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "broken", b"\xff\xfe\xfa")
        for read in (adapter.read_text, adapter.read_text_if_exists):
            with pytest.raises(StorageError) as caught:
                read(adapter.key("broken"))
            assert caught.value.condition is StorageCondition.PERMANENT

    def test_a_versioned_read_gives_the_bytes_and_a_token_that_follows_them(self, adapter: StorageAdapter) -> None:
        key = adapter.key("object")
        self.plant(adapter, "object", b"one")
        first, again = adapter.read_versioned(key), adapter.read_versioned(key)
        self.plant(adapter, "object", b"two")
        second = adapter.read_versioned(key)
        assert (first.data, second.data) == (b"one", b"two")
        assert first.token == again.token != second.token

    def test_a_versioned_read_of_a_missing_object_is_not_found(self, adapter: StorageAdapter) -> None:
        with pytest.raises(StorageError) as caught:
            adapter.read_versioned(adapter.key("missing"))
        assert caught.value.condition is StorageCondition.NOT_FOUND

    def test_exists_means_an_object_or_something_below(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "dir/sub/object", b"")
        assert adapter.exists(adapter.key("dir/sub/object"))
        assert adapter.exists(adapter.key("dir/sub"))
        assert adapter.exists(adapter.key("dir"))
        assert not adapter.exists(adapter.key("dir/other"))
        assert not adapter.exists(adapter.key("di"))
