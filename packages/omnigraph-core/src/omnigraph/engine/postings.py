"""``Postings``: which texts of a column have which words, and how often; what search and BM25 read.

They are made of a whole node type (an image), kept with it, and after a commit made of the older ones and the texts
that came. Nothing of them is stored: an index in storage is used only for types that are too large to be held
(``stored_rank``).

    score of a text = sum over the query's distinct words that it has of
                      ln(1 + (N - n + 0.5) / (n + 0.5)) * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average))

with N texts, n of them having the word, which this one has f times. A row whose text is null is no text; an empty text
is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.analysis import Numbers, Tokens, analyse
from omnigraph.engine.edits import Lexicon
from omnigraph.engine.entities import Positions, contiguous
from omnigraph.engine.images import Image

Scores = npt.NDArray[np.float64]

K1: Final = 1.2
B: Final = 0.75

SCORE_DIGITS: Final = 12
"""Scores and distances are rounded to so many decimals: what is equal but for the order of a sum is equal."""

_MAX_PIECES: Final = 512
_FEW_WORDS: Final = 4_096

_WORD_BYTES: Final = 120
"""What a word and its number take in a dictionary, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a score depends on beside the text itself.

    Attributes:
        texts: how many there are.
        words: how many words they have together.
    """

    texts: int
    words: int

    def rarity(self, having: int) -> float:
        """How much a word says that so many texts have."""
        return math.log(1 + (self.texts - having + 0.5) / (having + 0.5))

    def dampening(self, lengths: Numbers) -> Scores:
        """What a frequency is dampened by in texts of these lengths."""
        average = self.words / self.texts if self.words else 1.0
        return K1 * (1 - B + B * (lengths / average))


def weigh(frequencies: Numbers, dampening: Scores, rarity: float) -> Scores:
    """One word's part in the scores of texts that have it so often."""
    return rarity * (frequencies * (K1 + 1)) / (frequencies + dampening)


@dataclass(frozen=True, eq=False, kw_only=True)
class Postings:
    """The words of one column of an image; the texts that have word ``w`` are a slice of ``positions``.

    Attributes:
        numbers: of the words. Words that no text has any more may be among them.
        starts: texts with word ``w`` are at ``starts[w]`` up to ``starts[w + 1]``.
        positions: of texts, ascending within a word.
        frequencies: how often the text has the word.
        lengths: words of the text at each position of the image; -1 where it is null.
        is_stemmed: whether words are stems, or as they are spelled.
    """

    numbers: dict[str, int]
    starts: Positions
    positions: Numbers
    frequencies: Numbers
    lengths: Numbers
    is_stemmed: bool

    @property
    def nbytes(self) -> int:
        """What they take in memory, with what is made of them when it is needed."""
        arrays = (self.starts, self.positions, self.frequencies, self.lengths)
        return sum(each.nbytes for each in arrays) + 8 * len(self.lengths) + _WORD_BYTES * len(self.numbers)

    @property
    def is_worn(self) -> bool:
        """Whether more than half of the words are left over from texts that are gone."""
        word_count = len(self.numbers)
        return word_count > _FEW_WORDS and 2 * int(np.count_nonzero(np.diff(self.starts))) < word_count

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words, to be searched for similar ones."""
        return Lexicon(list(self.numbers))

    def having(self, words: Sequence[int]) -> npt.NDArray[np.bool_]:
        """For each position, whether its text has at least one of these words."""
        mask = np.zeros(len(self.lengths), dtype=np.bool_)
        if len(words) > _MAX_PIECES:
            is_wanted = np.zeros(len(self.numbers), dtype=np.bool_)
            is_wanted[words] = True
            mask[self.positions[np.repeat(is_wanted, np.diff(self.starts))]] = True
            return mask
        for each in words:
            mask[self.positions[self.starts[each] : self.starts[each + 1]]] = True
        return mask

    def known(self, words: Sequence[str]) -> list[int]:
        """The numbers of those of the words that occur."""
        found = (self.numbers.get(each) for each in words)
        return [each for each in found if each is not None and self.starts[each] < self.starts[each + 1]]

    def score(self, words: Sequence[str]) -> tuple[Positions, Scores]:
        """The texts that have at least one of these distinct words, by position, and their BM25 scores."""
        parts: list[tuple[Numbers, Scores]] = []
        for each in self.known(words):
            found = slice(int(self.starts[each]), int(self.starts[each + 1]))
            positions = self.positions[found]
            rarity = self._statistics.rarity(len(positions))
            parts.append((positions, weigh(self.frequencies[found], self._dampening[positions], rarity)))
        if not parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(parts) == 1:
            return parts[0][0].astype(np.int64), np.round(parts[0][1], SCORE_DIGITS)
        if sum(len(each) for each, _ in parts) * 16 < len(self.lengths):
            # bincount adds in the order of the parts, as the dense sum does.
            distinct, inverse = np.unique(np.concatenate([each for each, _ in parts]), return_inverse=True)
            total = np.bincount(inverse, np.concatenate([each for _, each in parts]))
            return distinct.astype(np.int64), np.round(total, SCORE_DIGITS)
        dense = np.zeros(len(self.lengths))
        for positions, weights in parts:
            dense[positions] += weights
        matched = np.flatnonzero(dense)
        return matched, np.round(dense[matched], SCORE_DIGITS)

    @cached_property
    def _statistics(self) -> Statistics:
        texts = int(np.count_nonzero(self.lengths >= 0))
        # Each null counts as -1 in the sum.
        return Statistics(texts=texts, words=int(self.lengths.sum(dtype=np.int64)) + len(self.lengths) - texts)

    @cached_property
    def _dampening(self) -> Scores:
        return self._statistics.dampening(self.lengths)


def postings_of(image: Image, column: str, *, is_stemmed: bool = True) -> Postings:
    """The postings of a column: kept ones, or those of an earlier image with what changed since, or made now."""
    name = postings_name(column, is_stemmed=is_stemmed)

    def build(rows: Image) -> Postings:
        found = rows.older(name)
        if found is None or any(column not in each.added.column_names for each in found.steps):
            return make_postings(rows.column(column), is_stemmed=is_stemmed)
        postings: Postings = found.value
        for each in found.steps:
            postings = extend_postings(postings, each.splice.taken, contiguous(each.added[column]))
        return make_postings(rows.column(column), is_stemmed=is_stemmed) if postings.is_worn else postings

    return image.derived(name, build)


def postings_name(column: str, *, is_stemmed: bool = True) -> tuple[str, str]:
    """Under which name postings are kept with their image."""
    return ("text" if is_stemmed else "spelling", column)


def make_postings(texts: pa.Array, *, is_stemmed: bool = True) -> Postings:
    """The postings of a column of texts."""
    numbers: dict[str, int] = {}
    tokens = analyse(texts, numbers, is_stemmed=is_stemmed)
    words, positions, frequencies = _count(tokens)
    return Postings(
        numbers=numbers,
        starts=_starts(np.bincount(words, minlength=len(numbers))),
        positions=positions,
        frequencies=frequencies,
        lengths=_lengths(tokens, texts),
        is_stemmed=is_stemmed,
    )


def extend_postings(older: Postings, taken: Positions, added: pa.Array) -> Postings:
    """The postings of a column of which row ``i`` is row ``taken[i]`` of the older one, or an added row after those.

    Rows keep their order, so that the positions of a word that were ascending still are.
    """
    old_count = len(older.lengths)
    moved = np.full(old_count + len(added), -1, dtype=np.int32)
    moved[taken] = np.arange(len(taken), dtype=np.int32)

    numbers = dict(older.numbers)
    tokens = analyse(added, numbers, is_stemmed=older.is_stemmed)
    counts = np.zeros(len(numbers), dtype=np.int64)
    counts[: len(older.numbers)] = np.diff(older.starts)
    positions, frequencies = moved[older.positions], older.frequencies
    gone = np.flatnonzero(positions < 0)
    if len(gone):
        np.subtract.at(counts, np.searchsorted(older.starts, gone, side="right") - 1, 1)
        positions, frequencies = np.delete(positions, gone), np.delete(frequencies, gone)

    words, rows, times = _count(tokens)
    places = moved[old_count + rows]
    starts = _starts(counts)
    at = _lower_bounds(positions, starts[words], starts[words + 1], places)
    return Postings(
        numbers=numbers,
        starts=_starts(counts + np.bincount(words, minlength=len(numbers))),
        positions=_insert(positions, at, places),
        frequencies=_insert(frequencies, at, times),
        lengths=np.concatenate((older.lengths, _lengths(tokens, added)))[taken],
        is_stemmed=older.is_stemmed,
    )


def _lengths(tokens: Tokens, texts: pa.Array) -> Numbers:
    lengths = np.bincount(tokens.rows, minlength=len(texts)).astype(np.int32)
    if texts.null_count:
        lengths[texts.is_null().to_numpy(zero_copy_only=False)] = -1
    return lengths


def _lower_bounds(values: Numbers, low: Positions, high: Positions, wanted: Numbers) -> Positions:
    """Within each ascending run from ``low`` to ``high``, the first place whose value is not below the wanted one."""
    while (is_open := low < high).any():
        middle = (low + high) >> 1
        is_below = is_open & (values[np.where(is_open, middle, 0)] < wanted)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low


def _insert(values: Numbers, at: Positions, new: Numbers) -> Numbers:
    """New values before these places, which ascend; those of one place in their order."""
    if len(at) > _MAX_PIECES:
        return np.insert(values, at, new)
    # Copying runs is several times faster than a mask over everything.
    pieces = [values[: at[0] if len(at) else None]]
    for number, start in enumerate(at.tolist()):
        end = at[number + 1] if number + 1 < len(at) else None
        pieces += [new[number : number + 1], values[start:end]]
    return np.concatenate(pieces)


def _count(tokens: Tokens) -> tuple[Numbers, Numbers, Numbers]:
    """Each word and text once, by word and then by text, and how often the text has the word."""
    keys = np.sort((tokens.words.astype(np.int64) << 32) | tokens.rows)
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    firsts = np.flatnonzero(is_first)
    frequencies = np.diff(firsts, append=len(keys)).astype(np.int32)
    distinct = keys[firsts]
    return (distinct >> 32).astype(np.int32), distinct.astype(np.int32), frequencies


def _starts(counts: npt.NDArray[np.int64]) -> Positions:
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
