"""Texts to words: what every search compares, whether an index covers a row or not.

    text    "The Cafés of Zürich"
    words   cafes, zurich      lower case, accents folded, without words that are too common to mean anything
    stems   cafe, zurich       the English stem of each

Text breaks at everything that is no letter, digit or mark on one. The rules, the common words and the limit of length
are those of Lance's inverted index, so that a node type whose index is used finds what it found before. One difference
is deliberate: accents are folded before the stem is taken and not after, so that "André" and "andre" are one word.

Columns are taken apart by kernels over their bytes; only a word that was not seen before costs Python.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import snowballstemmer

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.entities import contiguous

Numbers = npt.NDArray[np.int32]

MAX_WORD_BYTES: Final = 39
"""Of a word in UTF-8; longer ones are left out."""

COMMON_STEMS: Final = frozenset(
    """
    a about after again against all am an and are as at be been below between both but by can did do down each few for
    from further had has have he her here herself him himself his how i if in into is it itself just me more most my
    myself now of off on or other our out over own re same she should so some such than that the their them then there
    these they this those through to too under until up was we were what when where which while who whom will with you
    your yourself
    """.split()  # noqa: SIM905 - a column of a hundred quoted words is not read
)

_CAN_CHANGE: Final = re.compile("(?:s|ed|ing|y|l|i|er|or|ion|ism|e|ic|ant|ent|ist)$")
"""Ends that the rules of English stems are about; asking them costs forty times this."""

_CHUNK_BYTES: Final = 16 * 1024**2
_REMEMBERED: Final = 1 << 16
_MARKS: Final = range(0x300, 0x370)
_UNDECOMPOSED: Final = {
    "æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "þ": "th", "ð": "d", "đ": "d", "ħ": "h", "ł": "l", "ŧ": "t",
    "\u0131": "i", "ŋ": "n", "ĸ": "k", "ǝ": "e", "ə": "e", "ƒ": "f",
}  # fmt: skip
"""Letters that Unicode does not take apart."""

_bytes = np.arange(256)
_LOWER: Final = np.where((_bytes >= ord("A")) & (_bytes <= ord("Z")), _bytes + 32, _bytes).astype(np.uint8)
_IS_WORD: Final = np.array([each >= 128 or chr(each).isalnum() for each in range(256)])
"""Bytes of letters and digits; what is not ASCII is looked at again, word by word."""


class _Stemmer(threading.local):
    """A stemmer keeps the word it works on, so each thread has its own."""

    def __init__(self) -> None:
        self.english: Any = snowballstemmer.stemmer("english")


_stemmer: Final = _Stemmer()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of texts, one by one: in row ``rows[i]`` stands the word with the number ``words[i]``; rows ascend."""

    rows: Numbers
    words: Numbers


def analyse(texts: pa.Array | pa.ChunkedArray, numbers: dict[str, int], *, is_stemmed: bool = True) -> Tokens:
    """Take a column of texts apart.

    Args:
        texts: null is a text without words.
        numbers: the number of each word known so far; new words are added with the next numbers.
        is_stemmed: give stems; otherwise words as they are spelled, but for those whose stem is left out.
    """
    rows: list[Numbers] = []
    words: list[Numbers] = []
    for first, chunk in _chunks(contiguous(texts)):
        check_cancelled()
        tokens = _analyse_chunk(chunk, numbers, is_stemmed=is_stemmed)
        rows.append(tokens.rows + np.int32(first))
        words.append(tokens.words)
    if len(rows) == 1:
        return Tokens(rows[0], words[0])
    empty = [np.zeros(0, dtype=np.int32)]
    return Tokens(np.concatenate(rows or empty), np.concatenate(words or empty))


def words_of(text: str, *, is_stemmed: bool = True) -> tuple[str, ...]:
    """The distinct words of one text, in the order of their first places."""
    numbers: dict[str, int] = {}
    analyse(pa.array([text], pa.string()), numbers, is_stemmed=is_stemmed)
    return tuple(numbers)


def _chunks(texts: pa.Array) -> Iterator[tuple[int, pa.Array]]:
    """The column in pieces whose byte offsets fit in 31 bits and whose temporaries are small."""
    count = len(texts)
    if not count:
        return
    step = max(1, count * _CHUNK_BYTES // max(texts.nbytes, 1))
    for first in range(0, count, step):
        yield first, texts.slice(first, step)


def _analyse_chunk(texts: pa.Array, numbers: dict[str, int], *, is_stemmed: bool) -> Tokens:
    if texts.null_count:
        texts = texts.fill_null("")
    pieces, rows = _split(texts)
    encoded = pieces.dictionary_encode()
    known: list[int] = []
    counts: list[int] = []
    for piece in encoded.dictionary.to_pylist():
        found = [
            numbers.setdefault(stem if is_stemmed else word, len(numbers)) for word, stem in _words_of_piece(piece)
        ]
        known += found
        counts.append(len(found))
    places = np.asarray(encoded.indices, dtype=np.int64)
    return _replace(rows, places, np.array(known, dtype=np.int32), np.array(counts, dtype=np.int64))


def _split(texts: pa.Array) -> tuple[pa.Array, Numbers]:
    """Runs of word bytes in lower case, and the row of each."""
    _, offsets_buffer, data_buffer = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    offsets = np.frombuffer(offsets_buffer, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    if first == last:
        return pa.array([], pa.string()), np.zeros(0, dtype=np.int32)
    data = np.frombuffer(data_buffer, dtype=np.uint8)[first:last]
    begins = (offsets[:-1] - first)[np.diff(offsets) > 0]
    is_word = _IS_WORD[data]
    is_break = np.ones(len(data) + 1, dtype=np.bool_)
    is_break[1:-1] = ~is_word[:-1]
    is_break[begins] = True
    starts = np.flatnonzero(is_word & is_break[:-1])
    is_break[1:-1] = ~is_word[1:]
    is_break[begins] = True
    ends = np.flatnonzero(is_word & is_break[1:]) + 1
    lengths = np.zeros(len(starts) + 1, dtype=np.int32)
    np.cumsum(ends - starts, out=lengths[1:])
    pieces = pa.StringArray.from_buffers(len(starts), pa.py_buffer(lengths), pa.py_buffer(_LOWER[data[is_word]]))
    per_row = np.diff(np.searchsorted(starts, offsets - first))
    return pieces, np.repeat(np.arange(len(texts), dtype=np.int32), per_row)


def _replace(rows: Numbers, places: npt.NDArray[np.int64], known: Numbers, counts: npt.NDArray[np.int64]) -> Tokens:
    """Each piece by the words it is made of: usually one, none for a common one, several where it was not ASCII."""
    if not len(places):
        return Tokens(rows, rows)
    firsts = np.cumsum(counts) - counts
    if int(counts.max()) <= 1:
        kept = counts.astype(np.bool_)[places]
        return Tokens(rows[kept], known[firsts[places[kept]]])
    repeats = counts[places]
    within = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return Tokens(np.repeat(rows, repeats), known[np.repeat(firsts[places], repeats) + within])


# ── one piece ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Folding(dict[int, str]):
    """For ``str.translate``: a character without its accents, and a blank for what is no part of a word."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _fold(chr(code))
        return found


def _fold(character: str) -> str:
    if character in _UNDECOMPOSED:
        return _UNDECOMPOSED[character]
    if ord(character) in _MARKS:
        return ""
    if not character.isalnum():
        return character if unicodedata.category(character).startswith("M") else " "
    plain = "".join(each for each in unicodedata.normalize("NFKD", character) if ord(each) not in _MARKS)
    plain = "".join(_UNDECOMPOSED.get(each, each) for each in plain)
    # Other scripts have letters whose marks are not accents, and syllables that are not meant to be taken apart.
    return plain if plain.isascii() and plain.isalnum() else character


_folding: Final = _Folding()


@lru_cache(maxsize=_REMEMBERED)
def _words_of_piece(piece: str) -> tuple[tuple[str, str], ...]:
    """The words of a piece with their stems; those whose stem is common, and those that are too long, left out."""
    words = [piece]
    if not piece.isascii():
        words = unicodedata.normalize("NFC", piece).lower().translate(_folding).split()
    found: list[tuple[str, str]] = []
    for word in words:
        if len(word.encode()) <= MAX_WORD_BYTES:
            stem = _stem(word)
            if stem not in COMMON_STEMS:
                found.append((word, stem))
    return tuple(found)


def _stem(word: str) -> str:
    if _CAN_CHANGE.search(word) is None:
        return word
    return str(_stemmer.english.stemWord(word))
