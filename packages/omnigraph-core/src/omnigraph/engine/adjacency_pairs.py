"""``Pairs``: a bag of pairs of positions, as sorted lists of the distinct ones and the few that come more than once.

    Keys ──> Pairs ── remove, move, insert ──> Pairs

What an adjacency is made of, in five bytes per pair or so. It is changed without being sorted anew: positions are
ranks, so when some come and go the others shift and none are swapped, and lists that were ascending still are. Pairs
are values; each change gives new ones, which share the arrays that did not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.adjacency_keys import Keys, Pointers, left_of, pair_keys, pointers_of, right_of
from omnigraph.engine.entities import ABSENT, Positions, is_identity

_MANY: Final = 16
"""From one wanted pair in so many on, it is faster to spell out all keys and to search these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """A bag of pairs.

    Attributes:
        pointers: the right positions of the distinct pairs with left position ``i`` are
            ``rights[pointers[i]:pointers[i + 1]]``, ascending.
        repeats: ascending; a pair that is ``n`` times in the bag is ``n - 1`` times here.
    """

    pointers: Pointers
    rights: npt.NDArray[np.int32]
    repeats: Keys

    @classmethod
    def of(cls, keys: Keys, left_count: int) -> Pairs:
        """The pairs of keys in any order, whose left positions are below ``left_count``."""
        keys = np.sort(keys)
        check_cancelled()
        is_first = _is_first(keys)
        distinct, repeats = (keys, keys[:0]) if bool(is_first.all()) else (keys[is_first], keys[~is_first])
        pointers = pointers_of(np.bincount(left_of(distinct), minlength=left_count))
        # The cast keeps the lower half of a key, which is a position and below 2**31.
        return cls(pointers=pointers, rights=distinct.astype(np.int32), repeats=repeats)

    def __len__(self) -> int:
        return len(self.rights) + len(self.repeats)

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        return self.pointers.nbytes + self.rights.nbytes + self.repeats.nbytes

    def keys(self) -> Keys:
        """One per pair in the bag; the distinct ones ascend, then come the repeats."""
        return np.concatenate([self._distinct(), self.repeats])

    def contains(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Whether each of these pairs, in any order, is in the bag."""
        if len(keys) * _MANY < len(self.rights):
            return self._locate(keys)[1]
        distinct = self._distinct()
        places = np.searchsorted(distinct, keys)
        is_there = places < len(distinct)
        is_there[is_there] = distinct[places[is_there]] == keys[is_there]
        return is_there

    def removing(self, keys: Keys) -> Pairs:
        """Without one occurrence per key. All are there; they come in any order, and repeatedly where pairs do."""
        if len(keys) == 0:
            return self
        keys = np.sort(keys)
        # Of equal keys, as many as there are repeats take away one each; the next takes away the pair.
        numbers = np.arange(len(keys)) - np.searchsorted(keys, keys)
        first = np.searchsorted(self.repeats, keys)
        is_repeat = numbers < np.searchsorted(self.repeats, keys, side="right") - first
        last = keys[~is_repeat]
        return Pairs(
            pointers=self.pointers - pointers_of(np.bincount(left_of(last), minlength=len(self.pointers) - 1)),
            rights=np.delete(self.rights, self._locate(last)[0]),
            repeats=np.delete(self.repeats, first[is_repeat] + numbers[is_repeat]),
        )

    def moving(self, left: Positions, right: Positions, *, left_count: int) -> Pairs | None:
        """With every position at its new place; None when a pair loses one.

        Args:
            left: for each left position its new one, -1 when it is gone. The others ascend.
            right: the same, for right positions.
            left_count: how many left positions there are now.
        """
        pointers, rights, repeats = self.pointers, self.rights, self.repeats
        if len(left) != left_count or not is_identity(left):
            lengths, moved = np.diff(pointers), np.zeros(left_count, dtype=np.int64)
            is_left = left != ABSENT
            if lengths[~is_left].any():
                return None
            moved[left[is_left]] = lengths[is_left]
            pointers = pointers_of(moved)
        if not is_identity(right):
            rights = right.astype(np.int32).take(rights)
            if len(rights) and int(rights.min()) == ABSENT:
                return None
        if len(repeats):
            repeats = pair_keys(left[left_of(repeats)], right[right_of(repeats)])
        return Pairs(pointers=pointers, rights=rights, repeats=repeats)

    def inserting(self, keys: Keys) -> Pairs:
        """With one more pair per key. They come in any order, and repeatedly where the pair is to be there often."""
        if len(keys) == 0:
            return self
        keys = np.sort(keys)
        places, is_there = self._locate(keys)
        is_new = _is_first(keys) & ~is_there
        new, again = keys[is_new], keys[~is_new]
        return Pairs(
            pointers=self.pointers + pointers_of(np.bincount(left_of(new), minlength=len(self.pointers) - 1)),
            rights=np.insert(self.rights, places[is_new], new.astype(np.int32)),
            repeats=np.insert(self.repeats, np.searchsorted(self.repeats, again), again),
        )

    def _distinct(self) -> Keys:
        lefts = np.repeat(np.arange(len(self.pointers) - 1), np.diff(self.pointers))
        return pair_keys(lefts, self.rights)

    def _locate(self, keys: Keys) -> tuple[Positions, npt.NDArray[np.bool_]]:
        """Where in ``rights`` each pair is or would be, and whether it is there."""
        left, right = left_of(keys), right_of(keys)
        low, end = self.pointers[left], self.pointers[left + 1]
        high, last = end, len(self.rights) - 1
        # Binary search in all lists at once: as many rounds as the greatest length has binary digits.
        for _ in range(int((end - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            is_open = low < high
            is_before = is_open & (self.rights[np.minimum(middle, last)] < right)
            low = np.where(is_before, middle + 1, low)
            high = np.where(is_open & ~is_before, middle, high)
        is_there = low < end
        is_there[is_there] = self.rights[low[is_there]] == right[is_there]
        return low, is_there


def _is_first(keys: Keys) -> npt.NDArray[np.bool_]:
    """For ascending keys whether each is the first of its like."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first
