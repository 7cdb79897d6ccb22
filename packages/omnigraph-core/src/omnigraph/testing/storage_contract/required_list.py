"""Required: listing, whole and bounded, and names that come back as they went in."""

from __future__ import annotations

import threading

import pytest

from omnigraph.errors import ResourceLimitError
from omnigraph.storage import ROOT, ListBounds, StorageAdapter
from omnigraph.testing.storage_contract.clauses import ContractClauses

ODD_NAMES = (
    "with space", "per%cent", "per%41cent", "ha#sh", "ha#sh#x1", "quest?ion", "plus+and&", "ünïcødé", "名前", "a:b",
    "dots..", "~tilde", "[x]*", "quote'\"",
)  # fmt: skip
"""Names that a backend is tempted to encode, decode or cut short."""

WIDE = ListBounds(max_matching=100, max_irrelevant=100, max_uri_bytes=1_000_000)


class ListClauses(ContractClauses):
    """C18-C22 and names."""

    def test_list_gives_every_object_below_and_none_beside(self, adapter: StorageAdapter) -> None:
        for name in ("list/a", "list/deep/b", "list/deep/er/c", "list_log/d", "listed", "other"):
            self.plant(adapter, name, b"")
        assert sorted(map(str, adapter.list(adapter.key("list")))) == ["list/a", "list/deep/b", "list/deep/er/c"]
        assert len(list(adapter.list(ROOT))) == 6

    def test_list_dir_gives_direct_children_only(self, adapter: StorageAdapter) -> None:
        for name in ("list/a", "list/b", "list/deep/c", "list_log/d", "top"):
            self.plant(adapter, name, b"")
        assert sorted(map(str, adapter.list_dir(adapter.key("list")))) == ["list/a", "list/b"]
        assert [str(key) for key in adapter.list_dir()] == ["top"]

    def test_a_missing_place_lists_nothing(self, adapter: StorageAdapter) -> None:
        missing = adapter.key("missing/place")
        assert list(adapter.list(missing)) == []
        assert adapter.list_dir(missing) == ()
        assert adapter.list_bounded(missing, suffix="", bounds=WIDE) == ()
        assert list(adapter.list(ROOT)) == []

    def test_a_listing_is_complete_however_long(self, adapter: StorageAdapter) -> None:
        expected = [f"many/{number:05}" for number in range(self.many_objects)]
        for name in expected:
            self.plant(adapter, name, b"")
        assert sorted(map(str, adapter.list(adapter.key("many")))) == expected
        assert sorted(map(str, adapter.list_dir(adapter.key("many")))) == expected

    def test_a_listing_may_be_changed_while_it_is_read(self, adapter: StorageAdapter) -> None:
        for number in range(self.many_objects):
            self.plant(adapter, f"dir/{number}", b"")
        failures: list[BaseException] = []

        def delete_each() -> None:
            try:
                for key in adapter.list(adapter.key("dir")):
                    adapter.delete(key)
            except BaseException as error:  # noqa: BLE001  # raised below, in the thread that pytest watches
                failures.append(error)

        # A thread that may be left behind: a listing that holds a lock would wait for itself forever.
        thread = threading.Thread(target=delete_each, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "the listing and the deletion wait for each other"
        assert failures == []
        assert list(adapter.list()) == []

    def test_deleted_objects_are_not_listed(self, adapter: StorageAdapter) -> None:
        for name in ("dir/kept", "dir/gone"):
            adapter.write(adapter.key(name), b"")
        adapter.delete(adapter.key("dir/gone"))
        assert [str(key) for key in adapter.list(adapter.key("dir"))] == ["dir/kept"]

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_a_listed_name_reads_back_verbatim(self, adapter: StorageAdapter, name: str) -> None:
        written = adapter.key(f"dir {name}/{name}")
        adapter.write(written, name.encode())
        (deep,) = adapter.list()
        (child,) = adapter.list_dir(adapter.key(f"dir {name}"))
        assert deep == child == written
        assert adapter.read(child) == name.encode()
        assert self.peek(adapter, f"dir {name}/{name}") == name.encode()
        adapter.delete(child)
        assert not adapter.exists(written)

    def test_odd_names_stay_apart(self, adapter: StorageAdapter) -> None:
        for number, name in enumerate(ODD_NAMES):
            adapter.write(adapter.key(name), b"%d" % number)
        assert {key.value: adapter.read(key) for key in adapter.list_dir()} == {
            name: b"%d" % number for number, name in enumerate(ODD_NAMES)
        }

    def test_a_bounded_listing_takes_exactly_its_bounds(self, adapter: StorageAdapter) -> None:
        uri_bytes = self._plant_for_bounds(adapter)
        exact = ListBounds(max_matching=2, max_irrelevant=2, max_uri_bytes=uri_bytes)
        found = adapter.list_bounded(adapter.key("dir"), suffix=".json", bounds=exact)
        assert sorted(map(str, found)) == ["dir/a.json", "dir/b.json"]

    @pytest.mark.parametrize("over", ["matching_entries", "irrelevant_entries", "uri_bytes"])
    def test_a_bounded_listing_refuses_one_more_with_exact_numbers(self, adapter: StorageAdapter, over: str) -> None:
        uri_bytes = self._plant_for_bounds(adapter)
        bounds = {
            "matching_entries": ListBounds(max_matching=1, max_irrelevant=2, max_uri_bytes=uri_bytes),
            "irrelevant_entries": ListBounds(max_matching=2, max_irrelevant=1, max_uri_bytes=uri_bytes),
            "uri_bytes": ListBounds(max_matching=2, max_irrelevant=2, max_uri_bytes=uri_bytes - 1),
        }[over]
        limit, actual = {
            "matching_entries": (1, 2),
            "irrelevant_entries": (1, 2),
            "uri_bytes": (uri_bytes - 1, uri_bytes),
        }[over]
        with pytest.raises(ResourceLimitError) as caught:
            adapter.list_bounded(adapter.key("dir"), suffix=".json", bounds=bounds)
        assert caught.value.resource == f"storage_list_{over}"
        assert (caught.value.limit, caught.value.actual) == (limit, actual)

    def test_a_sibling_prefix_does_not_use_up_the_bounds(self, adapter: StorageAdapter) -> None:
        uri_bytes = self._plant_for_bounds(adapter)
        for number in range(5):
            self.plant(adapter, f"dir_log/{number}.json", b"")
        exact = ListBounds(max_matching=2, max_irrelevant=2, max_uri_bytes=uri_bytes)
        assert len(adapter.list_bounded(adapter.key("dir"), suffix=".json", bounds=exact)) == 2

    def _plant_for_bounds(self, adapter: StorageAdapter) -> int:
        """Two matching objects, one of another suffix and one nested; the bytes of their URIs."""
        names = ("dir/a.json", "dir/b.json", "dir/c.txt", "dir/deep/d.json")
        for name in names:
            self.plant(adapter, name, b"")
        return sum(len(adapter.uri(adapter.key(name)).encode()) for name in names)
