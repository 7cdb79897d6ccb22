"""Words to similar words: Levenshtein distance of one word to all words of a vocabulary at once.

Inserting, deleting and replacing a character are one edit each, so exchanging two neighbours is two. Words are kept by
length, one array per place in the word; the table of the usual algorithm is filled for all words of a length together,
only as far from its diagonal as the bound on edits reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]

_Distances = npt.NDArray[np.uint8]


class Lexicon:
    """Distinct words, to be searched for those within a distance. Immutable."""

    def __init__(self, words: Sequence[str]) -> None:
        """Take words whose numbers are their places."""
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        order = np.argsort(lengths, kind="stable")
        distinct, firsts = np.unique(lengths[order], return_index=True)
        self._by_length: dict[int, tuple[npt.NDArray[np.int64], Codes]] = {}
        ends = np.append(firsts, len(order))[1:]
        for length, first, end in zip(distinct.tolist(), firsts.tolist(), ends.tolist(), strict=True):
            numbers = order[first:end]
            found = np.array([words[each] for each in numbers.tolist()], dtype=f"U{length}")
            codes = found.view(np.uint32).reshape(len(numbers), length)
            self._by_length[length] = numbers, np.ascontiguousarray(codes.T)

    def within(self, word: str, max_edits: int) -> npt.NDArray[np.int64]:
        """The numbers of the words that at most so many edits make of this one, ascending."""
        found = list(self._within(word, max_edits))
        return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _within(self, word: str, max_edits: int) -> Iterator[npt.NDArray[np.int64]]:
        wanted = np.array([ord(each) for each in word], dtype=np.uint32)
        for length, (numbers, codes) in self._by_length.items():
            if max_edits >= max(length, len(word)):
                yield numbers
            elif abs(length - len(word)) <= max_edits:
                yield numbers[_distances(wanted, codes, max_edits) <= max_edits]


def _distances(word: Codes, codes: Codes, bound: int) -> _Distances:
    """The distance of a word to words of one length, as far as it is within the bound; one more stands for more.

    The bound is below the length of the longer word, and words are short, so that bytes do.
    """
    length, count = codes.shape
    too_far = np.uint8(bound + 1)
    one = np.uint8(1)
    # above[i]: the distance of the first i characters of the word to what was seen of the others.
    above: list[_Distances | None] = [
        np.full(count, i, dtype=np.uint8) if i <= bound else None for i in range(len(word) + 1)
    ]
    for seen in range(1, length + 1):
        row: list[_Distances | None] = [None] * (len(word) + 1)
        if seen <= bound:
            row[0] = np.full(count, seen, dtype=np.uint8)
        for i in range(max(1, seen - bound), min(len(word), seen + bound) + 1):
            diagonal, left, up = above[i - 1], row[i - 1], above[i]
            best = np.full(count, too_far, dtype=np.uint8)
            if diagonal is not None:
                np.minimum(best, diagonal + (codes[seen - 1] != word[i - 1]), out=best)
            if left is not None:
                np.minimum(best, left + one, out=best)
            if up is not None:
                np.minimum(best, up + one, out=best)
            row[i] = best
        above = row
    last = above[len(word)]
    return np.full(count, too_far, dtype=np.uint8) if last is None else last
