"""The in-memory backend beyond the contract: who shares what, and where Lance keeps the tables."""

from __future__ import annotations

import pickle
import secrets
import threading
from collections.abc import Callable

import lance
import pyarrow as pa
import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, parse_uri
from omnigraph.storage.memory import MemoryAdapter

Open = Callable[[str], MemoryAdapter]


@pytest.fixture
def at() -> Open:
    """Opens ``memory://`` roots below hosts that no other test uses."""
    unique = secrets.token_hex(8)
    return lambda place: MemoryAdapter(parse_uri(f"memory://{unique}-{place}"))


def test_two_adapters_on_one_uri_share_their_objects(at: Open) -> None:
    one, other = at("h/graph"), at("h//x/../graph/")
    one.write(one.key("a"), b"1")
    assert other.read(other.key("a")) == b"1"
    assert other.write_if_absent(other.key("a"), b"2") is False
    other.delete(other.key("a"))
    assert one.read_if_exists(one.key("a")) is None


@pytest.mark.parametrize("other", ["h/graph2", "h/Graph", "i/graph", "h/graph#1", "h"])
def test_adapters_on_different_uris_share_nothing_of_one_name(at: Open, other: str) -> None:
    one, two = at("h/graph"), at(other)
    one.write(one.key("a"), b"1")
    assert two.read_if_exists(two.key("a")) is None
    two.write(two.key("a"), b"2")
    assert one.read(one.key("a")) == b"1"


def test_objects_outlive_the_adapter_that_wrote_them(at: Open) -> None:
    with at("h") as adapter:
        adapter.write(adapter.key("a"), b"1")
    del adapter
    again = at("h")
    assert again.read(again.key("a")) == b"1"


def test_a_root_below_another_is_a_directory_of_it_as_on_a_disk(at: Open) -> None:
    outer, inner = at("h"), at("h/in/ner")
    inner.write(inner.key("a/b"), b"1")
    assert outer.read(outer.key("in/ner/a/b")) == b"1"
    assert list(outer.list()) == [outer.key("in/ner/a/b")]
    assert list(inner.list()) == [inner.key("a/b")]
    outer.delete_prefix(outer.key("in"))
    assert not inner.exists(ROOT)


def test_a_pickled_adapter_opens_the_same_objects_in_this_process(at: Open) -> None:
    adapter = at("h/graph")
    adapter.write(adapter.key("a"), b"1")
    got = pickle.loads(pickle.dumps(adapter))
    assert got.root == adapter.root
    assert got.read(got.key("a")) == b"1"


def test_a_token_is_never_given_twice_even_for_equal_bytes(at: Open) -> None:
    adapter = at("h")
    key = adapter.key("a")
    tokens = set()
    for _ in range(3):
        adapter.write(key, b"same")
        tokens.add(adapter.read_versioned(key).token)
        adapter.delete(key)
    assert len(tokens) == 3


def test_a_swap_goes_by_the_token_and_not_by_the_bytes(at: Open) -> None:
    adapter = at("h")
    key = adapter.key("a")
    adapter.write(key, b"same")
    stale = adapter.read_versioned(key).token
    adapter.write(key, b"same")
    assert adapter.write_if_match(key, b"new", stale) is None
    fresh = adapter.read_versioned(key).token
    token = adapter.write_if_match(key, b"new", fresh)
    assert token == adapter.read_versioned(key).token != fresh
    adapter.delete(key)
    assert adapter.write_if_match(key, b"again", str(token)) is None
    assert not adapter.exists(key)


def test_a_listing_goes_on_while_others_write_and_delete(at: Open) -> None:
    adapter = at("h")
    for number in range(10):
        adapter.write(adapter.key(f"a/{number}"), b"")
    met = 0
    for key in adapter.list():
        adapter.delete(key)
        adapter.write(adapter.key(f"b/{met}"), b"")
        met += 1
    assert met == 10


def test_a_missing_object_is_not_found_with_its_uri(at: Open) -> None:
    adapter = at("h/graph")
    with pytest.raises(StorageError) as caught:
        adapter.read(adapter.key("a"))
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert caught.value.uri == f"{adapter.root}/a"


def test_a_rename_moves_the_bytes_under_a_new_token(at: Open) -> None:
    adapter = at("h")
    source, target = adapter.key("a"), adapter.key("deep/b")
    adapter.write(source, b"moved")
    adapter.write(target, b"replaced")
    stale = adapter.read_versioned(target).token
    adapter.rename(source, target)
    assert list(adapter.list()) == [target]
    assert adapter.read(target) == b"moved"
    assert adapter.write_if_match(target, b"late", stale) is None


def test_a_rename_onto_itself_keeps_the_object_and_its_token(at: Open) -> None:
    adapter = at("h")
    key = adapter.key("a")
    adapter.write(key, b"1")
    before = adapter.read_versioned(key)
    adapter.rename(key, key)
    assert adapter.read_versioned(key) == before


def test_a_rename_of_a_missing_object_is_not_found_and_keeps_the_target(at: Open) -> None:
    adapter = at("h")
    adapter.write(adapter.key("b"), b"kept")
    with pytest.raises(StorageError) as caught:
        adapter.rename(adapter.key("a"), adapter.key("b"))
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert adapter.read(adapter.key("b")) == b"kept"


def test_of_many_threads_that_hold_one_token_exactly_one_swaps(at: Open) -> None:
    adapter = at("h")
    key = adapter.key("a")
    adapter.write(key, b"start")
    token = adapter.read_versioned(key).token
    gate = threading.Barrier(8)
    won: list[int] = []

    def swap(number: int) -> None:
        gate.wait(timeout=30)
        if adapter.write_if_match(key, str(number).encode(), token) is not None:
            won.append(number)

    threads = [threading.Thread(target=swap, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(won) == 1
    assert adapter.read(key) == str(won[0]).encode()


# ── where Lance keeps the tables ─────────────────────────────────────────────────────────────────────────────────


def test_lance_is_sent_to_the_shared_memory_of_the_same_place() -> None:
    adapter = MemoryAdapter(parse_uri("memory://h/graph"))
    assert adapter.lance_location(adapter.key("tables/t1")).uri == "shared-memory://h/graph/tables/t1"


@pytest.mark.parametrize(
    ("name", "quoted"), [("a#b", "a%23b"), ("a?b", "a%3Fb"), ("a b", "a%20b"), ("a%20b", "a%2520b"), ("ü", "%C3%BC")]
)
def test_characters_that_mean_something_in_a_url_are_quoted(name: str, quoted: str) -> None:
    adapter = MemoryAdapter(parse_uri("memory://h/graph"))
    assert adapter.lance_location(adapter.key(name)).uri == f"shared-memory://h/graph/{quoted}"


def test_tables_under_names_that_look_alike_to_a_url_stay_apart_in_lance(at: Open) -> None:
    places = [
        "h/a",
        "h/a#b",
        "h/a?b",
        "h/a b",
        "h/a%20b",
        "h/a%23b",
        "h/a%",
        "h/A",
        "h/ü",
        "H/a",
        "h:1/a",
        "h#b/a",
        "h",
    ]
    locations = []
    for number, place in enumerate(places):
        adapter = at(place)
        location = adapter.lance_location(adapter.key("t"))
        # Mode "create" refuses a table that is there already, so a collision is seen here.
        lance.write_dataset(pa.table({"n": [number]}), location.uri, mode="create")
        locations.append(location.uri)
    found = [lance.dataset(uri).to_table().to_pydict() for uri in locations]
    assert found == [{"n": [number]} for number in range(len(places))]
