"""Words, scores and distances as the language reference says them, for the naive evaluator of queries.

    text ── words ──> bm25, search, fuzzy          numbers ── cosine_distance ──> nearest

English stems are not computed: ``STEMS`` lists those of the few words that have one here, and every other word must be
its own stem. So only texts made of such words can be judged; ``strategies`` makes its texts of ``VOCABULARY``.
"""

from __future__ import annotations

import itertools
import math
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

STEMS: Final = {
    "houses": "hous", "house": "hous", "running": "run", "runs": "run", "boats": "boat", "jumped": "jump",
    "jumping": "jump",
}  # fmt: skip
"""Words that are not their own stem."""

STOP_WORDS: Final = frozenset({"the", "a", "and", "of", "is"})
"""Words that are never looked for; not all that there are."""

VOCABULARY: Final = (
    "river", "stone", "salt", "orbit", "film", "gold", "wolf", "map", "boat", "cafe", "uber", "hous", "run", "jump",
)  # fmt: skip
"""Stems, each of which is its own stem; some are one or two letters apart."""


@cache
def words(text: str) -> tuple[str, ...]:
    """What remains of a text: words in lower case, without accents, as stems, without stop words."""
    return tuple(STEMS.get(word, word) for word in spelled_words(text))


@cache
def spelled_words(text: str) -> tuple[str, ...]:
    """The same words before their stems are taken."""
    folded = "".join(each for each in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(each))
    return tuple(word for word in re.findall(r"[^\W_]+", folded) if word not in STOP_WORDS)


@cache
def edits(left: str, right: str) -> int:
    """How many letters must be put in, taken out or changed to turn one word into the other (Levenshtein)."""
    table = {(row, 0): row for row in range(len(left) + 1)} | {(0, column): column for column in range(len(right) + 1)}
    for row, one in enumerate(left, 1):
        for column, other in enumerate(right, 1):
            table[row, column] = min(
                table[row - 1, column] + 1,
                table[row, column - 1] + 1,
                table[row - 1, column - 1] + (one != other),
            )
    return table[len(left), len(right)]


def is_found(text: str, query: str) -> bool:
    """Whether any word of the query occurs in the text."""
    return bool(set(words(text)) & set(words(query)))


def is_nearly_found(text: str, query: str, most: int) -> bool:
    """Whether any word of the query is at most so many edits away from a word of the text, both spelled or as stems."""
    spelled = itertools.product(spelled_words(text), spelled_words(query))
    stems = itertools.product(words(text), words(query))
    return any(edits(*pair) <= most for pair in (*spelled, *stems))


def bm25(text: str, query: str, texts: Sequence[str]) -> float | None:
    """How well a text matches, among all texts of its kind; None when no word of the query occurs in it."""
    counts = Counter(words(text))
    found = [word for word in dict.fromkeys(words(query)) if counts[word]]
    if not found:
        return None
    lengths = [len(words(each)) for each in texts]
    relative_length = len(words(text)) / (sum(lengths) / len(lengths))
    score = 0.0
    for word in found:
        holders = sum(word in words(each) for each in texts)
        rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        score += rarity * counts[word] * (1.2 + 1) / (counts[word] + 1.2 * (1 - 0.75 + 0.75 * relative_length))
    return score


def cosine_distance(left: Sequence[float], right: Sequence[float]) -> float:
    """1 minus the cosine of the angle: 0 for the same direction, 2 for the opposite one."""
    product = sum(one * other for one, other in zip(left, right, strict=True))
    return 1 - product / (math.hypot(*left) * math.hypot(*right))


def mock_vector(text: str, dimension: int) -> list[float]:
    """What the mock embedder makes of a text: FNV-1a of its bytes, xorshift for each number, then unit length."""
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    numbers = []
    for _ in range(dimension):
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        numbers.append(rounded(rounded(state / mask) * 2 - 1))
    length = math.hypot(*numbers)
    return [each / length for each in numbers]


def rounded(number: float) -> float:
    """The nearest number that F32 can hold; infinite when it is too large."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
