"""Tags as they are kept: the object of each, what is read of it, and what counts as damage."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from publish_world import new_adapter

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError, StorageError
from omnigraph.history.commits import from_micros
from omnigraph.history.tags import Tag, list_tags, read_tag, spell_tag, tag_key
from omnigraph.storage import ObjectKey
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing.faults import CountingAdapter, Fault, FaultyAdapter

FACTS = {
    "name": "v1",
    "commit_id": "01KA7X3J8Q0000000000000000",
    "line": "b0",
    "manifest_version": 3,
    "created_at": 1_700_000_000_000_001,
    "actor": None,
}
TAG = Tag(
    name="v1",
    commit_id="01KA7X3J8Q0000000000000000",
    line="b0",
    manifest_version=3,
    created_at=from_micros(1_700_000_000_000_001),
)


def put(adapter: MemoryAdapter | CountingAdapter, name: str, **facts: object) -> None:
    adapter.write(tag_key(adapter, name), json.dumps(FACTS | {"name": name} | facts).encode())


def test_the_form_of_a_tag():
    assert TAG.to_dict() == FACTS == json.loads(spell_tag(TAG))
    assert tag_key(new_adapter(), "release/1.0").value == "_refs/tags/release%2F1.0.json"


def test_a_tag_is_one_object_and_one_request():
    adapter = CountingAdapter(new_adapter())
    put(adapter, "v1")
    put(adapter, "größte/2", line="b1", actor="ann")
    adapter.calls.clear()
    assert read_tag(adapter, "v1") == TAG
    found = read_tag(adapter, "größte/2")
    assert (found.name, found.line, found.actor) == ("größte/2", "b1", "ann")
    assert adapter.calls == {"read": 2}


def test_every_tag_is_listed_by_name():
    adapter = CountingAdapter(new_adapter())
    assert list_tags(adapter) == ()
    names = ["b", "a/b", "a", "Ü", "B"]
    for name in names:
        put(adapter, name)
    adapter.calls.clear()
    assert [each.name for each in list_tags(adapter)] == sorted(names)
    assert adapter.calls == {"list_dir": 1, "read": 5}


def test_objects_of_another_form_are_no_tags():
    adapter = new_adapter()
    put(adapter, "v1")
    for name in (".DS_Store", "v2", "v%32.json", "v2.json.bak", "deeper/v3.json"):
        adapter.write(adapter.key(f"_refs/tags/{name}"), b"{")
    adapter.write(adapter.key("_refs/branches/dev.json"), b"{")
    assert list_tags(adapter) == (TAG,)


def test_a_tag_that_is_deleted_while_tags_are_listed_is_none():
    class Late(MemoryAdapter):
        def _list_dir(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
            yield from super()._list_dir(prefix)
            yield tag_key(self, "gone")

    adapter = Late(new_adapter().root)
    put(adapter, "v1")
    assert list_tags(adapter) == (TAG,)


def test_an_unknown_tag_is_not_found():
    with pytest.raises(NotFoundError, match='"v1"') as caught:
        read_tag(new_adapter(), "v1")
    assert caught.value.details["tag"] == "v1"


@pytest.mark.parametrize("name", ["", "a//b", "01KA7X3J8Q0000000000000000", None, "x" * 300])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InvalidInputError, match="no tag name"):
        read_tag(new_adapter(), name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"{}",
        *(
            json.dumps(FACTS | wrong).encode()
            for wrong in (
                {"name": "other"},
                {"commit_id": None},
                {"commit_id": "main"},
                {"line": ""},
                {"line": 7},
                {"manifest_version": 0},
                {"manifest_version": True},
                {"manifest_version": "3"},
                {"created_at": 10**30},
                {"created_at": 1.5},
                {"created_at": None},
                {"actor": 7},
            )
        ),
        *(json.dumps({key: value for key, value in FACTS.items() if key != lost}).encode() for lost in FACTS),
    ],
)
def test_a_damaged_tag_is_told_and_never_left_out(content):
    adapter = new_adapter()
    put(adapter, "a")
    adapter.write(tag_key(adapter, "v1"), content)
    for ask in (lambda: read_tag(adapter, "v1"), lambda: list_tags(adapter)):
        with pytest.raises(FormatError, match="damaged") as caught:
            ask()
        assert caught.value.details["tag"] == "v1"


def test_a_store_that_does_not_answer_is_no_missing_tag():
    adapter = new_adapter()
    put(adapter, "v1")
    for verb in ("read", "list_dir"):
        faulty = FaultyAdapter(adapter, Fault(verb=verb, error=TimeoutError()))
        with pytest.raises(StorageError):
            list_tags(faulty)
