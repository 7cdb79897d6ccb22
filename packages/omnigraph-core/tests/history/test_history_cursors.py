"""Tokens: they say what was put in, small and in one spelling, and nowhere but where they were made for."""

from __future__ import annotations

import base64
import hashlib
import json
import string
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import ChangeCursorRejectedError
from omnigraph.history.cursors import CommitPlace, Place, RowMark, TokenKind, make_token, read_token

BOUND = {"graph": "01G", "branch": "main", "incarnation": "main", "filter": "f0"}
BEHIND = CommitPlace(commit_id="01KA7X3J8Q0000000000000001", line="b01", version=7)
MARK = RowMark.at("01KA7X3J8Q0000000000000002", "edge", (2**64 - 1, 3), "ann")
PLACE = Place(behind=BEHIND, mark=MARK)
ALPHABET = string.ascii_letters + string.digits + "-_"


def rejected(token: Any, kind: TokenKind = TokenKind.FEED_PAGE, **other: str) -> str:
    with pytest.raises(ChangeCursorRejectedError) as caught:
        read_token(token, kind, BOUND | other)
    return caught.value.reason


def sealed(raw: bytes) -> str:
    """What anybody can make who knows the form."""
    return base64.urlsafe_b64encode(raw + hashlib.sha256(raw).digest()).decode().rstrip("=")


@pytest.mark.parametrize("kind", TokenKind)
@pytest.mark.parametrize(
    "place",
    [Place(), Place(behind=BEHIND), PLACE, Place(mark=MARK)],
    ids=["start", "boundary", "inside", "in the first"],
)
def test_a_token_says_the_place_that_it_was_made_for(kind: TokenKind, place: Place) -> None:
    assert read_token(make_token(kind, place, BOUND), kind, BOUND) == place


@given(row_id=st.text(min_size=1, max_size=400), count=st.integers(1, 40))
def test_a_token_fits_whatever_the_ids_are(row_id: str, count: int) -> None:
    place = Place(behind=BEHIND, mark=RowMark.at(BEHIND.commit_id, "node", (2**64 - 1, 2**64 - 1), row_id * count))
    token = make_token(TokenKind.FEED_PAGE, place, BOUND | {"branch": "ä" * 5_000})
    assert len(token) <= 4_096
    assert set(token) <= set(ALPHABET)
    assert read_token(token, TokenKind.FEED_PAGE, BOUND | {"branch": "ä" * 5_000}) == place


def test_the_worst_id_that_rides_whole_fits() -> None:
    # Each of these letters takes six in JSON.
    place = Place(behind=BEHIND, mark=RowMark.at(BEHIND.commit_id, "node", (2**64 - 1, 2**64 - 1), "\x01" * 256))
    assert len(make_token(TokenKind.FEED_PAGE, place, BOUND)) <= 4_096


def test_one_letter_more_or_less_or_other_is_noticed_wherever_it_is() -> None:
    token = make_token(TokenKind.FEED_PAGE, PLACE, BOUND)
    for place, letter in enumerate(token):
        others = [each for each in ALPHABET if each != letter]
        # The last letter has idle bits: every other one is tried there.
        for other in others if place == len(token) - 1 else others[place % len(others) :][:1]:
            assert rejected(token[:place] + other + token[place + 1 :]) in {"form", "checksum"}
        assert rejected(token[:place] + token[place + 1 :]) in {"form", "checksum"}
    assert rejected(token + "A") in {"form", "checksum"}
    assert rejected(token + "=") in {"form", "checksum"}
    assert rejected(f" {token}") == "form"


@pytest.mark.parametrize("token", ["", "x", "ä", "now", "A" * 4_097, "A" * 100_000, None, 7, b"abc"])
def test_what_is_no_token_at_all_is_told(token: Any) -> None:
    assert rejected(token) in {"form", "checksum"}


@pytest.mark.parametrize(
    ("made_as", "used_as"), [(a, b) for a in TokenKind for b in TokenKind if a is not b], ids=lambda each: str(each)
)
def test_a_token_of_another_kind_is_told(made_as: TokenKind, used_as: TokenKind) -> None:
    assert rejected(make_token(made_as, PLACE, BOUND), used_as) == "kind"


def test_a_cursor_and_a_page_token_that_are_mixed_up_are_told_apart() -> None:
    for made, used in ((TokenKind.FEED_PAGE, TokenKind.FEED_CURSOR), (TokenKind.FEED_CURSOR, TokenKind.FEED_PAGE)):
        with pytest.raises(ChangeCursorRejectedError, match=f"It is a {'page token' if 'page' in made else 'cursor'}:"):
            read_token(make_token(made, PLACE, BOUND), used, BOUND)


@pytest.mark.parametrize("name", BOUND)
def test_a_token_that_is_bound_to_something_else_says_to_what(name: str) -> None:
    token = make_token(TokenKind.FEED_PAGE, PLACE, BOUND)
    assert rejected(token, **{name: "another"}) == name


def test_what_was_put_together_by_hand_is_refused_unless_it_has_the_form() -> None:
    whole = {
        "kind": "feed-page",
        "bound_to": {name: hashlib.sha256(value.encode()).hexdigest()[:32] for name, value in BOUND.items()},
    }
    assert read_token(sealed(json.dumps(whole | {"place": {}}).encode()), TokenKind.FEED_PAGE, BOUND) == Place()
    for place in (
        None,
        [],
        {"behind": ["a", None]},
        {"behind": ["a", None, "7"]},
        {"behind": ["a", None, True]},
        {"behind": ["a", None, 0]},
        {"behind": ["a", None, 2**63]},
        {"behind": [1, None, 7]},
        {"mark": ["a", "node", 1, 2, 3, None]},
        {"mark": ["a", "node", 1.5, 2, "x", None]},
        {"mark": ["a", "type", 1, 2, "x", None]},
        {"mark": ["a", ["node"], 1, 2, "x", None]},
        {"mark": ["a", "node", 1, 2, "x", 3]},
    ):
        assert rejected(sealed(json.dumps(whole | {"place": place}).encode())) == "form"
    for raw in (b"", b"\xff", b"[]", b"[" * 2_000, b'"x"', json.dumps({"kind": "feed-page", "bound_to": {}}).encode()):
        assert rejected(sealed(raw)) in {"form", "kind"}


# ── marks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def mark(row_id: str) -> RowMark:
    return RowMark.at("01A", "node", (1, 1), row_id)


def test_ids_of_256_bytes_ride_whole_and_longer_ones_by_their_beginning() -> None:
    whole = "ä" * 128
    assert (mark(whole).id, mark(whole).id_digest) == (whole, None)
    longer = whole + "x"
    assert mark(longer).id == "ä" * 32
    assert mark(longer).id_digest == hashlib.sha256(longer.encode()).hexdigest()
    # A letter that the 64th byte would cut is left out.
    assert mark("x" + "ä" * 200).id == "x" + "ä" * 31


@given(
    ids=st.sets(st.text(max_size=4), min_size=1, max_size=20).map(lambda ids: sorted(ids, key=str.encode)),
    pick=st.data(),
)
def test_a_mark_passes_what_is_not_behind_it(ids: list[str], pick: st.DataObject) -> None:
    row_id = pick.draw(st.sampled_from(ids))
    assert mark(row_id).passed(pa.array(ids)) == ids.index(row_id) + 1
    absent = [each for each in ids if each != row_id]
    assert mark(row_id).passed(pa.array(absent, pa.string())) == ids.index(row_id)


def test_a_mark_at_a_long_id_passes_up_to_it_and_no_further() -> None:
    stem = "k" * 300
    ids = ["a", "k", "k" * 64, *(f"{stem}{number:03}" for number in range(50)), "l"]
    for place, row_id in enumerate(ids):
        if row_id.startswith(stem):
            assert mark(row_id).passed(pa.array(ids)) == place + 1
            assert mark(row_id).passed(pa.array([*ids[:place], *ids[place + 1 :]])) is None
    assert mark(stem).passed(pa.array([], pa.string())) is None
    assert mark(stem).passed(pa.array(["a", "b"])) is None
    assert mark(stem).passed(pa.array(["x"])) is None
