"""Object keys: names that every backend can keep, checked and folded once."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, ObjectKey, is_reserved_segment, parse_key
from omnigraph.storage.keys import MAX_KEY_BYTES, MAX_SEGMENT_BYTES, fold_segments

# Every character that folding, reserving or encoding treats specially, and some that nothing should treat specially.
TRICKY = st.text(st.sampled_from("ab/.#%?:@~ 019\\é\u0301😀\n\x00\x7f\udc80"), max_size=30)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", "a"),
        ("a/b/c.json", "a/b/c.json"),
        ("a/../b", "b"),
        ("a/b/../../c", "c"),
        ("./a/./b/.", "a/b"),
        ("a//b///c", "a/b/c"),
        ("a/b/", "a/b"),
        ("/a", "a"),
        ("a/..", ""),
        ("", ""),
        ("...", "..."),
        ("a/..b/c..", "a/..b/c.."),
        ("with space", "with space"),
        (" ", " "),
        ("ünï/😀", "ünï/😀"),
        ("100%", "100%"),
        ("a%20b", "a%20b"),
        ("a#b", "a#b"),
        ("a#", "a#"),
        ("a#12b", "a#12b"),
        ("a#12/../b", "b"),
        ("a\\b", "a\\b"),
        ("~", "~"),
        ("a:b?c=d", "a:b?c=d"),
    ],
)
def test_a_name_folds_to_its_key(text: str, value: str) -> None:
    assert parse_key(text) == ObjectKey(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("..", "it leaves the storage root"),
        ("a/../..", "it leaves the storage root"),
        ("../a", "it leaves the storage root"),
        ("/../a", "it leaves the storage root"),
        ("a\nb", r"it holds the control character '\n'"),
        ("a\x00b", r"it holds the control character '\x00'"),
        ("a\x7f", r"it holds the control character '\x7f'"),
        ("a\udc80", "it cannot be written as UTF-8"),
        ("a#1", 'the segment "a#1" ends like a temporary file (#digits)'),
        ("#0123", 'the segment "#0123" ends like a temporary file (#digits)'),
        ("a#1/b", 'the segment "a#1" ends like a temporary file (#digits)'),
        ("x" * 201, "a segment has 201 bytes, at most 200 are allowed"),
        ("é" * 101, "a segment has 202 bytes, at most 200 are allowed"),
        ("/".join(["x" * 179] * 3 + ["x" * 180] * 2), "it has more than 900 bytes"),
    ],
)
def test_a_name_that_some_backend_cannot_keep_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_key(text)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.message.endswith(f" is not allowed: {why}.")
    assert caught.value.help
    str(caught.value).encode()


def test_the_longest_segment_and_the_longest_key_are_allowed() -> None:
    longest_segment = "é" * (MAX_SEGMENT_BYTES // 2)
    assert parse_key(longest_segment).value == longest_segment
    longest_key = "/".join(["x" * 179] * 4 + ["x" * 180])
    length = len(longest_key.encode())
    assert length == MAX_KEY_BYTES
    assert parse_key(longest_key).value == longest_key


def test_a_refusal_does_not_repeat_an_endless_name() -> None:
    with pytest.raises(StorageError) as caught:
        parse_key("y" * 100_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("segment", ["a#1", "#1", "a b#0099", "a#b#7"])
def test_temporary_names_are_reserved(segment: str) -> None:
    assert is_reserved_segment(segment)


@pytest.mark.parametrize("segment", ["a", "a#", "#", "1", "a#1b", "a#1 ", "a#1\n", "a#\u0661", ""])
def test_other_names_are_not_reserved(segment: str) -> None:
    assert not is_reserved_segment(segment)


def test_a_key_knows_its_name_and_parent() -> None:
    key = parse_key("a/b/c")
    assert (key.name, key.parent, str(key)) == ("c", ObjectKey("a/b"), "a/b/c")
    assert ObjectKey("a").parent == ROOT


def test_the_root_is_its_own_parent_and_nobodys_child() -> None:
    assert ROOT.is_root
    assert (ROOT.name, ROOT.parent) == ("", ROOT)
    assert not ROOT.is_child_of(ROOT)
    assert not ROOT.is_below(ROOT)
    assert not ObjectKey("a").is_root


def test_joining_checks_the_new_segments() -> None:
    joined = ROOT / "a" / "b"
    assert joined == ObjectKey("a/b")
    assert ObjectKey("a") / "b//c" == ObjectKey("a/b/c")
    with pytest.raises(StorageError):
        ObjectKey("a") / "b#1"
    with pytest.raises(StorageError):
        ObjectKey("a") / "../.."


@pytest.mark.parametrize(
    ("key", "prefix", "is_below", "is_child"),
    [
        ("x/a", "x", True, True),
        ("x/a/b", "x", True, False),
        ("x_log/a", "x", False, False),
        ("x", "x", False, False),
        ("x", "x/a", False, False),
        ("a", "", True, True),
        ("a/b", "", True, False),
    ],
)
def test_below_and_child_go_by_whole_segments(key: str, prefix: str, is_below: bool, is_child: bool) -> None:
    assert ObjectKey(key).is_below(ObjectKey(prefix)) is is_below
    assert ObjectKey(key).is_child_of(ObjectKey(prefix)) is is_child


def test_keys_are_values() -> None:
    assert len({parse_key("a/b"), parse_key("a//b")}) == 1
    assert sorted([ObjectKey("b"), ObjectKey("a")]) == [ObjectKey("a"), ObjectKey("b")]
    assert pickle.loads(pickle.dumps(ObjectKey("a/b"))) == ObjectKey("a/b")


@settings(max_examples=100, deadline=None)
@given(TRICKY)
def test_every_name_is_refused_as_configuration_or_folds_to_a_key_that_folds_to_itself(text: str) -> None:
    try:
        key = parse_key(text)
    except StorageError as error:
        assert error.condition is StorageCondition.CONFIGURATION  # noqa: PT017
        return
    assert parse_key(key.value) == key
    if not key.is_root:
        assert not {"", ".", ".."} & set(key.value.split("/"))
        assert key.parent / key.name == key


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["", ".", "..", "a", "b"]), max_size=12))
def test_folding_agrees_with_walking_the_path_step_by_step(steps: list[str]) -> None:
    depth = 0
    walked: list[str] = []
    escaped = False
    for step in steps:
        if step == "..":
            escaped = escaped or depth == 0
            depth -= 1
            walked = walked[:-1]
        elif step in ("a", "b"):
            depth += 1
            walked = [*walked, step]
    assert fold_segments("/".join(steps)) == (None if escaped else tuple(walked))
