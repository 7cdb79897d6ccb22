"""``search``, ``match_text`` and ``fuzzy``: for each row, whether its text matches.

    search, match_text   at least one word of the query occurs, by its stem
    fuzzy                some word of the query is within ``max_edits`` of some word of the text: both as they are
                         spelled, or both as stems

A query without words matches nothing, and so do null queries and null texts. Whole types in memory have postings; of
few rows, and of rows that were read for one query, the texts themselves are taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.analysis import analyse, words_of
from omnigraph.engine.edits import Lexicon
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Mask
from omnigraph.engine.images import Image
from omnigraph.engine.postings import postings_name, postings_of
from omnigraph.errors import InvalidInputError
from omnigraph.query.ast import TextFunction
from omnigraph.query.checked import TextMatch

MAX_EDITS: Final = 2
"""Of ``fuzzy`` when it is not told."""

FEW_SHARE: Final = 32
"""One row in so many is read itself, rather than making the postings of its whole type."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The words that a text must have one of.

    Attributes:
        max_edits: words as similar as this do too; None for the very words.
        is_stemmed: whether they are stems, or as they are spelled.
    """

    words: tuple[str, ...]
    max_edits: int | None
    is_stemmed: bool

    def among(self, numbers: Mapping[str, int], lexicon: Callable[[], Lexicon]) -> Sequence[int]:
        """The numbers of those words of some texts that are wanted."""
        if self.max_edits is None:
            return [numbers[each] for each in self.words if each in numbers]
        similar = [lexicon().within(each, self.max_edits) for each in self.words]
        return [*np.unique(np.concatenate(similar))]


def text_mask(match: TextMatch, bound: Bound, execution: Execution) -> Mask:
    """For each row, whether the text of its entity matches.

    Raises:
        InvalidInputError: ``max_edits`` is negative.
    """
    query = execution.given(match.query)
    max_edits = _max_edits(match, execution) if match.function is TextFunction.FUZZY else None
    mask = np.zeros(len(bound.positions), dtype=np.bool_)
    if not isinstance(query, str) or not len(mask):
        return mask
    for is_stemmed in (True,) if max_edits is None else (True, False):
        words = words_of(query, is_stemmed=is_stemmed)
        if words:
            execution.spending.check_time(str(match.function))
            mask |= _having(Wanted(words, max_edits, is_stemmed), bound, match.field.property)
    return mask


def _max_edits(match: TextMatch, execution: Execution) -> int:
    given = None if match.max_edits is None else execution.given(match.max_edits)
    if given is None:
        return MAX_EDITS
    if not isinstance(given, int) or given < 0:
        raise InvalidInputError(
            f"max_edits of fuzzy is {given}.",
            help="Give the number of edits that a word may differ by: 0 or more; 2 is usual.",
        )
    return given


def _having(wanted: Wanted, bound: Bound, column: str) -> Mask:
    entities, positions = bound.entities, bound.positions
    if isinstance(entities, Image):
        is_made = entities.peek(postings_name(column, is_stemmed=wanted.is_stemmed)) is not None
        if is_made or len(positions) * FEW_SHARE > len(entities):
            postings = postings_of(entities, column, is_stemmed=wanted.is_stemmed)
            return postings.having(wanted.among(postings.numbers, lambda: postings.lexicon))[positions]
    return _having_texts(wanted, entities.values(column, positions))


def _having_texts(wanted: Wanted, texts: pa.Array) -> Mask:
    numbers: dict[str, int] = {}
    tokens = analyse(texts, numbers, is_stemmed=wanted.is_stemmed)
    is_wanted = np.zeros(len(numbers), dtype=np.bool_)
    is_wanted[np.asarray(wanted.among(numbers, lambda: Lexicon(list(numbers))), dtype=np.int64)] = True
    mask = np.zeros(len(texts), dtype=np.bool_)
    mask[tokens.rows[is_wanted[tokens.words]]] = True
    return mask
