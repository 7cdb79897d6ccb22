"""Texts come apart into the words that a search compares: the same whether alone, in a column, or in Lance's index."""

from __future__ import annotations

import secrets
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.engine import analysis
from omnigraph.engine.analysis import COMMON_STEMS, MAX_WORD_BYTES, analyse, words_of
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.lance_tables import LanceTables

TEXTS = [
    ("The quick brown foxes jumped over lazy dogs", ["quick", "brown", "fox", "jump", "lazi", "dog"]),
    ("RUNNING, runs; (run)", ["run"]),
    ("state-of-the-art x86_64 3.14", ["state", "art", "x86", "64", "3", "14"]),
    ("don't", ["don", "t"]),
    ("Cafés in Zürich, Łódź and Ørsted", ["cafe", "zurich", "lodz", "orst"]),
    ("Straße — ﬁne, naïve; œuvre", ["strass", "fine", "naiv", "oeuvr"]),
    ("“quoted”…dots", ["quot", "dot"]),
    ("Здравствуй, мир", ["здравствуй", "мир"]),
    ("東京 タワー", ["東京", "タワー"]),
    ("한국어", ["한국어"]),
    ("हिन्दी", ["हिन्दी"]),
    ("ΟΔΟΣ", ["οδος"]),
    ("", []),
    (" \t\n .,; ", []),
    ("the and of", []),
    ("😀", []),
]


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_a_text_comes_apart_into_stems(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


def test_words_as_they_are_spelled_keep_their_ends_but_leave_common_ones_out() -> None:
    assert words_of("The Cafés of Zürich, being houses", is_stemmed=False) == ("cafes", "zurich", "houses")


@pytest.mark.parametrize("name", ["André", "Beyoncé", "résumés", "Renée", "Ångström", "señores", "Nguyễn"])
def test_accents_make_no_difference_however_they_are_written(name: str) -> None:
    decomposed = unicodedata.normalize("NFD", name)
    plain = "".join(each for each in decomposed if not unicodedata.combining(each))
    assert words_of(name) == words_of(decomposed) == words_of(plain) == words_of(name.upper())


def test_words_that_are_too_long_are_left_out() -> None:
    longest = "x" * MAX_WORD_BYTES
    assert words_of(f"{longest} {longest}x short") == (longest, "short")


@given(
    texts=st.lists(st.none() | st.text("aZé \u0301ßø.—-_東x9"), max_size=12),
    skipped=st.integers(0, 3),
    chunk=st.sampled_from([1, 30, 1 << 24]),
)
@settings(max_examples=50)
def test_a_column_comes_apart_as_its_texts_do(texts: list[str | None], skipped: int, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "_CHUNK_BYTES", chunk)
        numbers: dict[str, int] = {}
        tokens = analyse(pa.array(texts, pa.string()).slice(skipped), numbers)
    spelled = {number: word for word, number in numbers.items()}
    assert list(spelled) == list(range(len(numbers)))
    assert np.all(np.diff(tokens.rows) >= 0)
    for row, text in enumerate(texts[skipped:]):
        found = [spelled[each] for each in tokens.words[tokens.rows == row].tolist()]
        assert list(dict.fromkeys(found)) == list(words_of(text or ""))
        assert len(found) == sum(len(words_of(each)) for each in _alone(text or ""))


def _alone(text: str) -> list[str]:
    """The text in pieces that hold at most one word each."""
    composed = unicodedata.normalize("NFC", text)
    apart = "".join(each if each.isalnum() or unicodedata.combining(each) else " " for each in composed)
    return apart.split()


def test_numbers_of_words_go_on_from_those_that_are_known() -> None:
    numbers = {"gold": 0, "salt": 1}
    assert analyse(pa.array(["salt wolf"]), numbers).words.tolist() == [1, 2]
    assert numbers == {"gold": 0, "salt": 1, "wolf": 2}


def test_words_that_the_stemmer_is_not_asked_about_are_their_own_stems() -> None:
    stemmer = snowballstemmer.stemmer("english")
    ends = [
        "",
        "a",
        "b",
        "tion",
        "sis",
        "ful",
        "ness",
        "ment",
        "th",
        "ck",
        "ogist",
        "ator",
        "ism",
        "um",
        "an",
        "at",
        "9",
    ]
    words = [begin + middle + end for begin in ("s", "gener", "univers", "x") for middle in "aeiouybt" for end in ends]
    for word in words:
        assert analysis._stem(word) == stemmer.stemWord(word)


def test_words_are_those_of_the_inverted_index_of_lance() -> None:
    ordinary = "not no university universal organization running runs being its others above houses house internal"
    accented = "café cafe zürich zurich łódź lodz æther señor senor ångström naïve naive"
    single = [*ordinary.split(), *accented.split(), "x" * 39, "y" * 40, "foo_bar", "don't"]
    words = [*single, *sorted(COMMON_STEMS)]
    tables = LanceTables(MemoryAdapter(parse_uri(f"memory://analysis-{secrets.token_hex(6)}")))
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("text", pa.string())])
    rows = pa.table([[str(each) for each in range(len(words))], words], schema=schema)
    base = tables.commit_create(tables.stage_create("nodes/n", schema, rows))
    staged = tables.stage_indexes(base, [IndexSpec(column="text", kind="inverted", name="text_words")])
    assert staged is not None
    handle = tables.commit_exact(base, [staged])
    ours = {each: {*words_of(each)} for each in words}
    for query in [" ".join(sorted(COMMON_STEMS)), *single]:
        found = tables.search_text(handle, "text", query, columns=["text"])["text"].to_pylist()
        assert set(found) == {each for each in words if ours[each] & {*words_of(query)}}, query
