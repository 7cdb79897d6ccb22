"""What ``StorageAdapter`` adds to the five methods of an author: every other verb, and every bound."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from omnigraph.errors import ResourceLimitError, StorageCondition, StorageError, UnsupportedCapabilityError
from omnigraph.storage import (
    MAX_OBJECT_BYTES,
    ROOT,
    LanceLocation,
    ListBounds,
    ObjectKey,
    StorageAdapter,
    StorageUri,
    content_token,
    parse_uri,
)


class FiveMethods(StorageAdapter):
    """The least that an author can write, with a record of what it was asked."""

    def __init__(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(root, options)
        self.objects: dict[ObjectKey, bytes] = {}
        self.asked: list[tuple[Any, ...]] = []

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        self.asked.append(("read", key.value, limit))
        if key not in self.objects:
            raise FileNotFoundError
        return self.objects[key][:limit]

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self.asked.append(("write", key.value))
        self.objects[key] = data

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self.asked.append(("create", key.value))
        return self.objects.setdefault(key, data) is data

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        for key in list(self.objects):
            if key.is_below(prefix):
                self.asked.append(("listed", key.value))
                yield key

    def _delete(self, key: ObjectKey) -> None:
        self.asked.append(("delete", key.value))
        self.objects.pop(key, None)


def adapter_with(*names: str, root: str = "tiny://host/graph") -> FiveMethods:
    adapter = FiveMethods(parse_uri(root))
    adapter.objects = {ObjectKey(name): name.encode() for name in names}
    return adapter


def names(keys: Any) -> list[str]:
    return sorted(key.value for key in keys)


# ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_reading_returns_what_was_written() -> None:
    adapter = adapter_with()
    key = adapter.key("a/b")
    adapter.write(key, b"one")
    assert adapter.read(key) == b"one"
    assert adapter.read_if_exists(key) == b"one"
    assert adapter.read_versioned(key).data == b"one"


def test_reading_a_missing_object_is_not_found() -> None:
    adapter = adapter_with()
    for read in (adapter.read, adapter.read_text, adapter.read_versioned):
        with pytest.raises(StorageError) as caught:
            read(adapter.key("a"))
        assert caught.value.condition is StorageCondition.NOT_FOUND
        assert caught.value.uri == "tiny://host/graph/a"


def test_reading_a_missing_object_if_it_exists_is_none() -> None:
    adapter = adapter_with()
    assert adapter.read_if_exists(adapter.key("a")) is None
    assert adapter.read_text_if_exists(adapter.key("a")) is None


@pytest.mark.parametrize("verb", ["read", "read_if_exists", "read_text", "read_text_if_exists", "read_versioned"])
def test_a_read_is_bounded_and_asks_for_one_byte_more_than_the_bound(verb: str) -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    adapter.objects[key] = b"x" * 10
    assert getattr(adapter, verb)(key, max_bytes=10)
    adapter.asked.clear()
    with pytest.raises(ResourceLimitError) as caught:
        getattr(adapter, verb)(key, max_bytes=9)
    error = caught.value
    assert (error.resource, error.limit, error.actual) == ("storage_object_bytes", 9, 10)
    assert error.uri == "tiny://host/graph/a"
    assert adapter.asked == [("read", "a", 10)]


def test_without_a_bound_of_the_caller_the_bound_of_control_objects_holds() -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    adapter.objects[key] = b"x" * MAX_OBJECT_BYTES
    assert len(adapter.read(key)) == MAX_OBJECT_BYTES == 8 * 1024 * 1024
    adapter.objects[key] += b"x"
    with pytest.raises(ResourceLimitError) as caught:
        adapter.read(key)
    assert (caught.value.limit, caught.value.actual) == (MAX_OBJECT_BYTES, MAX_OBJECT_BYTES + 1)


def test_a_store_that_ignores_the_limit_is_bounded_all_the_same() -> None:
    class Careless(FiveMethods):
        def _read(self, key: ObjectKey, limit: int) -> bytes:
            return b"x" * 100

    adapter = Careless(parse_uri("tiny://host"))
    with pytest.raises(ResourceLimitError):
        adapter.read(adapter.key("a"), max_bytes=9)


def test_text_is_utf_8() -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    adapter.write(key, "ünï 😀".encode())
    assert adapter.read_text(key) == "ünï 😀"
    assert adapter.read_text_if_exists(key) == "ünï 😀"


def test_bytes_that_are_not_utf_8_are_a_permanent_failure_and_never_none() -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    adapter.write(key, b"\xff\xfe")
    for read in (adapter.read_text, adapter.read_text_if_exists):
        with pytest.raises(StorageError) as caught:
            read(key)
        assert caught.value.condition is StorageCondition.PERMANENT
        assert caught.value.uri == "tiny://host/graph/a"
    assert adapter.read(key) == b"\xff\xfe"


def test_the_default_token_is_the_sha_256_of_the_content() -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    adapter.write(key, b"one")
    assert adapter.read_versioned(key).token == hashlib.sha256(b"one").hexdigest() == content_token(b"one")
    adapter.write(key, b"two")
    assert adapter.read_versioned(key).token == hashlib.sha256(b"two").hexdigest()


def test_a_versioned_read_is_one_request() -> None:
    adapter = adapter_with("a")
    adapter.read_versioned(adapter.key("a"))
    assert [verb for verb, *_ in adapter.asked] == ["read"]


# ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_create_of_one_object_is_refused_and_leaves_the_first() -> None:
    adapter = adapter_with()
    key = adapter.key("a")
    assert adapter.write_if_absent(key, b"one") is True
    assert adapter.write_if_absent(key, b"two") is False
    assert adapter.read(key) == b"one"


def test_the_largest_control_object_can_be_written() -> None:
    adapter = adapter_with()
    adapter.write(adapter.key("a"), b"x" * MAX_OBJECT_BYTES)
    assert adapter.write_if_absent(adapter.key("b"), b"x" * MAX_OBJECT_BYTES)


@pytest.mark.parametrize("size", [MAX_OBJECT_BYTES + 1, 10 * 1024 * 1024])
def test_a_larger_object_is_refused_before_the_store_is_asked(size: int) -> None:
    adapter = adapter_with()
    key, data = adapter.key("a"), b"x" * size
    for write in (
        lambda: adapter.write(key, data),
        lambda: adapter.write_if_absent(key, data),
        lambda: adapter.write_if_match(key, data, "token"),
    ):
        with pytest.raises(ResourceLimitError) as caught:
            write()
        error = caught.value
        assert (error.resource, error.limit, error.actual) == ("storage_object_bytes", MAX_OBJECT_BYTES, size)
        assert error.uri == "tiny://host/graph/a"
    assert adapter.asked == []


def test_a_backend_without_compare_and_swap_says_so_by_name() -> None:
    adapter = adapter_with("a")
    with pytest.raises(UnsupportedCapabilityError) as caught:
        adapter.write_if_match(adapter.key("a"), b"two", content_token(b"a"))
    assert caught.value.capability == "write_if_match"
    assert caught.value.uri == "tiny://host/graph/a"
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert adapter.read(adapter.key("a")) == b"a"


# ── exists ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_object_or_a_prefix_with_objects_below_it_exists() -> None:
    adapter = adapter_with("a/b/c", "x_log/y")
    assert adapter.exists(adapter.key("a/b/c"))
    assert adapter.exists(adapter.key("a/b"))
    assert adapter.exists(adapter.key("a"))
    assert not adapter.exists(adapter.key("a/b/c/d"))
    assert not adapter.exists(adapter.key("x"))


def test_an_empty_object_exists() -> None:
    adapter = adapter_with()
    adapter.write(adapter.key("a"), b"")
    assert adapter.exists(adapter.key("a"))


def test_the_root_exists_when_something_lies_below_it_and_is_never_read_as_an_object() -> None:
    assert not adapter_with().exists(ROOT)
    adapter = adapter_with("a")
    assert adapter.exists(ROOT)
    assert adapter.asked == [("listed", "a")]


def test_looking_for_an_object_fetches_at_most_one_byte_and_one_name() -> None:
    adapter = adapter_with("a/b", "a/c", "d")
    adapter.exists(adapter.key("d"))
    adapter.exists(adapter.key("a"))
    assert adapter.asked == [("read", "d", 1), ("read", "a", 1), ("listed", "a/b")]


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_listing_meets_every_depth_and_no_sibling_with_a_longer_name() -> None:
    adapter = adapter_with("x", "x/a", "x/b/c", "x_log/y", "z")
    assert names(adapter.list(adapter.key("x"))) == ["x/a", "x/b/c"]
    assert names(adapter.list()) == ["x", "x/a", "x/b/c", "x_log/y", "z"]
    assert names(adapter.list(adapter.key("missing"))) == []


def test_listing_a_directory_meets_its_direct_children_only() -> None:
    adapter = adapter_with("x", "x/a", "x/b/c", "x_log/y")
    assert names(adapter.list_dir(adapter.key("x"))) == ["x/a"]
    assert names(adapter.list_dir()) == ["x"]
    assert adapter.list_dir(adapter.key("missing")) == ()


def test_a_listing_streams() -> None:
    adapter = adapter_with("a", "b", "c")
    listing = adapter.list()
    assert adapter.asked == []
    next(listing)
    assert adapter.asked == [("listed", "a")]
    listing.close()  # type: ignore[attr-defined]
    assert adapter.asked == [("listed", "a")]


def bounds(matching: int = 100, irrelevant: int = 100, uri_bytes: int = 10_000) -> ListBounds:
    return ListBounds(max_matching=matching, max_irrelevant=irrelevant, max_uri_bytes=uri_bytes)


def test_a_bounded_listing_gives_the_children_with_the_suffix() -> None:
    adapter = adapter_with("d/a.json", "d/b.json", "d/c.txt", "d/e/f.json", "d_log/g.json")
    found = adapter.list_bounded(adapter.key("d"), suffix=".json", bounds=bounds())
    assert names(found) == ["d/a.json", "d/b.json"]


def test_a_bounded_listing_within_exact_bounds_is_whole_and_one_over_any_of_them_is_refused() -> None:
    held = ["d/a.json", "d/ü.json", "d/c.txt", "d/e/f.json", "d_log/g.json"]
    adapter = adapter_with(*held)
    key = adapter.key("d")
    # Independent of the code: the four below d, as the caller would write them.
    total = sum(len(f"tiny://host/graph/{name}".encode()) for name in held[:4])

    exact = adapter.list_bounded(key, suffix=".json", bounds=bounds(2, 2, total))
    assert names(exact) == ["d/a.json", "d/ü.json"]

    for tight, resource, limit, actual in (
        (bounds(1, 2, total), "storage_list_matching_entries", 1, 2),
        (bounds(2, 1, total), "storage_list_irrelevant_entries", 1, 2),
        (bounds(2, 2, total - 1), "storage_list_uri_bytes", total - 1, total),
    ):
        with pytest.raises(ResourceLimitError) as caught:
            adapter.list_bounded(key, suffix=".json", bounds=tight)
        error = caught.value
        assert (error.resource, error.limit, error.actual) == (resource, limit, actual)
        assert error.uri == "tiny://host/graph/d"


def test_a_bounded_listing_stops_at_the_first_object_over_a_bound() -> None:
    adapter = adapter_with(*(f"d/{number}" for number in range(1000)))
    with pytest.raises(ResourceLimitError):
        adapter.list_bounded(adapter.key("d"), suffix="", bounds=bounds(matching=3))
    assert len(adapter.asked) == 4


def test_a_bounded_listing_of_the_root_counts_as_any_other() -> None:
    adapter = adapter_with("a.json", "d/b.json")
    assert names(adapter.list_bounded(ROOT, suffix=".json", bounds=bounds(1, 1))) == ["a.json"]
    with pytest.raises(ResourceLimitError):
        adapter.list_bounded(ROOT, suffix=".json", bounds=bounds(1, 0))


# ── moves and removals ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_rename_replaces_the_target_and_removes_the_source() -> None:
    adapter = adapter_with("a", "b")
    adapter.rename(adapter.key("a"), adapter.key("b"))
    assert adapter.objects == {ObjectKey("b"): b"a"}


def test_the_default_rename_writes_the_target_before_it_removes_the_source() -> None:
    adapter = adapter_with("a")
    adapter.rename(adapter.key("a"), adapter.key("deep/b"))
    assert [verb for verb, *_ in adapter.asked] == ["read", "write", "delete"]


def test_a_rename_that_breaks_off_never_leaves_neither() -> None:
    class Breaking(FiveMethods):
        def _delete(self, key: ObjectKey) -> None:
            raise ConnectionResetError

    adapter = Breaking(parse_uri("tiny://host"))
    adapter.objects = {ObjectKey("a"): b"bytes"}
    with pytest.raises(StorageError):
        adapter.rename(adapter.key("a"), adapter.key("b"))
    assert adapter.objects == {ObjectKey("a"): b"bytes", ObjectKey("b"): b"bytes"}


def test_a_rename_onto_itself_keeps_the_object() -> None:
    adapter = adapter_with("a")
    adapter.rename(adapter.key("a"), adapter.key("a"))
    assert adapter.objects == {ObjectKey("a"): b"a"}


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_rename_of_a_missing_object_is_not_found(target: str) -> None:
    adapter = adapter_with("b") if target == "b" else adapter_with()
    with pytest.raises(StorageError) as caught:
        adapter.rename(adapter.key("a"), adapter.key(target))
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert adapter.objects.get(ObjectKey("b")) == (b"b" if target == "b" else None)


def test_a_rename_never_shortens_an_object_that_is_over_the_bound() -> None:
    adapter = adapter_with()
    big = b"x" * (MAX_OBJECT_BYTES + 100)
    adapter.objects = {ObjectKey("a"): big}
    with pytest.raises(ResourceLimitError) as caught:
        adapter.rename(adapter.key("a"), adapter.key("b"))
    assert (caught.value.limit, caught.value.actual) == (MAX_OBJECT_BYTES, MAX_OBJECT_BYTES + 1)
    assert adapter.objects == {ObjectKey("a"): big}


def test_deleting_is_idempotent() -> None:
    adapter = adapter_with("a")
    adapter.delete(adapter.key("a"))
    adapter.delete(adapter.key("a"))
    assert adapter.objects == {}


def test_deleting_a_prefix_takes_all_below_it_and_the_object_of_that_name_and_no_sibling() -> None:
    adapter = adapter_with("x", "x/a", "x/b/c", "x_log/y", "z")
    adapter.delete_prefix(adapter.key("x"))
    assert names(adapter.objects) == ["x_log/y", "z"]
    adapter.delete_prefix(adapter.key("x"))
    assert names(adapter.objects) == ["x_log/y", "z"]


def test_deleting_below_the_root_takes_everything_and_never_deletes_the_root_as_an_object() -> None:
    adapter = adapter_with("a", "b/c")
    adapter.delete_prefix(ROOT)
    assert adapter.objects == {}
    assert ("delete", "") not in adapter.asked


# ── the rest of the surface ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["_read", "_write", "_write_if_absent", "_list", "_delete"])
def test_each_of_the_five_methods_is_required(method: str) -> None:
    partial = type("Partial", (FiveMethods,), {method: getattr(StorageAdapter, method)})
    with pytest.raises(TypeError, match=method):
        partial(parse_uri("tiny://host"))


def test_an_author_needs_no_more_than_the_five() -> None:
    assert StorageAdapter.__abstractmethods__ == {"_read", "_write", "_write_if_absent", "_list", "_delete"}


def test_an_adapter_pickles_as_its_root_and_options() -> None:
    adapter = FiveMethods(parse_uri("tiny://host/graph"), {"region": "eu"})
    adapter.objects = {ObjectKey("a"): b"state that stays behind"}
    got = pickle.loads(pickle.dumps(adapter))
    assert type(got) is FiveMethods
    assert (got.root, dict(got.options), got.objects) == (adapter.root, {"region": "eu"}, {})


def test_options_may_be_secret_and_are_in_no_repr() -> None:
    adapter = FiveMethods(parse_uri("tiny://host/graph"), {"secret_key": "hush"})
    assert repr(adapter) == "<FiveMethods tiny://host/graph>"
    assert "hush" not in repr(LanceLocation("s3://b/t", {"aws_secret_access_key": "hush"}))


def test_options_are_a_copy_that_nobody_can_change() -> None:
    given = {"region": "eu"}
    adapter = FiveMethods(parse_uri("tiny://host"), given)
    given["region"] = "us"
    assert adapter.options == {"region": "eu"}
    with pytest.raises(TypeError):
        adapter.options["region"] = "us"  # type: ignore[index]


def test_leaving_the_context_closes_the_adapter_also_after_an_error() -> None:
    closed = []

    class Closing(FiveMethods):
        def close(self) -> None:
            closed.append(self)

    with Closing(parse_uri("tiny://host")) as adapter:
        assert closed == []
    assert closed == [adapter]
    with pytest.raises(KeyError), Closing(parse_uri("tiny://host")):
        raise KeyError
    assert len(closed) == 2


def test_the_default_lance_location_is_the_uri_without_options() -> None:
    adapter = adapter_with()
    assert adapter.lance_location(adapter.key("tables/t1")) == LanceLocation("tiny://host/graph/tables/t1", {})


def test_the_default_store_is_durable_and_lets_lance_commit() -> None:
    adapter = adapter_with("a")
    adapter.make_durable([adapter.key("a")])
    adapter.check_lance_commits()
    adapter.close()
    assert adapter.asked == []


def test_roots_of_one_container_are_one_endpoint() -> None:
    endpoints = [adapter_with(root=root).endpoint for root in ("tiny://h/a", "tiny://h/b", "tiny://i/a", "other://h/a")]
    assert endpoints == ["tiny://h", "tiny://h", "tiny://i", "other://h"]
