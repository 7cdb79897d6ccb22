"""What a branch or a tag may be called, and the object that the name becomes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from publish_world import new_adapter

from omnigraph.errors import InvalidInputError
from omnigraph.history.ref_names import check_ref_name, looks_like_commit_id, name_of_segment, ref_segment
from omnigraph.history.ulids import new_ulid

GOOD = [
    "main",
    "dev",
    "review/2026",
    "a/b/c",
    "a b",
    "Übung",
    "日本",
    "👍",
    "100%",
    "a%2Fb",
    "..",
    "a/../b",
    ".json",
    "main.json",
    "#1",
    '"x"',
    "a\\b",
    "-",
    "__schema_apply_lock__",
    "42",
    "x" * 195,
    "x" * 26 + "u",
    "01KA7X3J8QIIIIIIIIIIIIIIII",  # no ULID has an I
]

BAD = [
    (None, "no text"),
    (7, "no text"),
    (b"main", "no text"),
    ("", "empty"),
    (" ", "a space"),
    (" a", "a space"),
    ("a ", "a space"),
    ("a\u3000", "a space"),
    ("a\nb", "control"),
    ("a\x00", "control"),
    ("\x7f", "control"),
    ("a\x85b", "control"),
    ("a\u2028b", "control"),
    ("\ud800", "UTF-8"),
    ("/", "slashes"),
    ("/a", "slashes"),
    ("a/", "slashes"),
    ("a//b", "slashes"),
    ("x" * 196, "196 bytes"),
    ("ü" * 33, "198 bytes"),
    ("01KA7X3J8Q0000000000000000", "id of a commit"),
    ("01ka7x3j8q0000000000000000", "id of a commit"),
    ("Z" * 26, "id of a commit"),
    ("0" * 26, "id of a commit"),
]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_is_what_people_write(name):
    check_ref_name(name, "branch")
    key = new_adapter().key(f"_refs/branches/{ref_segment(name)}")
    assert key.value.count("/") == 2
    assert name_of_segment(key.name) == name


@pytest.mark.parametrize(("name", "why"), BAD)
def test_what_cannot_be_kept_or_told_apart_is_refused(name, why):
    with pytest.raises(InvalidInputError, match="is no tag name: ") as caught:
        check_ref_name(name, "tag")
    assert why in caught.value.message
    assert caught.value.help


def test_a_long_name_is_not_repeated_whole():
    with pytest.raises(InvalidInputError) as caught:
        check_ref_name("x" * 10_000, "branch")
    assert len(caught.value.message) < 300


def test_every_id_of_a_commit_looks_like_one():
    assert all(looks_like_commit_id(new_ulid()) for _ in range(100))
    assert not looks_like_commit_id(new_ulid()[:-1])
    assert not looks_like_commit_id(new_ulid() + "0")
    # Some letters beyond ASCII are equal to letters within it when case is not looked at.
    assert not looks_like_commit_id("\u017f" * 26)
    assert not looks_like_commit_id("\u0660" * 26)


def test_the_object_of_a_name():
    assert ref_segment("review/2026") == "review%2F2026.json"
    assert ref_segment("a%2Fb") == "a%252Fb.json"
    assert ref_segment("Ü") == "%C3%9C.json"


@pytest.mark.parametrize(
    "segment",
    ["dev", "dev.txt", ".json", "a%2fb.json", "%61.json", "a b.json", "a%2F.json", "%FF.json", "dev.json.tmp", ""],
)
def test_an_object_of_another_form_is_of_no_name(segment):
    assert name_of_segment(segment) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_names_become_different_objects_and_back(one, other):
    accepted = []
    for name in {one, other}:
        try:
            check_ref_name(name, "branch")
        except InvalidInputError:
            assert name_of_segment(ref_segment(name)) is None
        else:
            assert name_of_segment(ref_segment(name)) == name
            accepted.append(name)
    assert len({ref_segment(each) for each in accepted}) == len(accepted)
