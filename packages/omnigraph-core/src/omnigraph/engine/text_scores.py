"""BM25 scores of rows, wherever their texts and the statistics of their type are.

image that holds the texts         its postings
otherwise, up to 100,000 nodes     one pass over the stored texts for the statistics; exact too
otherwise, with an inverted index  Lance's scores: its own statistics, which count deleted texts until the index
                                   is built anew, so that near-equal scores may come in another order
otherwise                          one pass, however long; the deadline of the query bounds it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.analysis import Numbers, analyse, words_of
from omnigraph.engine.entities import ABSENT, Positions, is_identity
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Indices
from omnigraph.engine.images import Image
from omnigraph.engine.postings import SCORE_DIGITS, Postings, Scores, Statistics, postings_of, weigh
from omnigraph.query.checked import Bm25
from omnigraph.tables.row_filters import OneOf

EXACT_ROWS: Final = 100_000
"""Types with more nodes that are not held are searched by their inverted index."""

_FEW_IDS: Final = 1_000

_ACCENTED: Final = str.maketrans("aeiouy", "áéíóúý")


def query_words(ranking: Bm25, execution: Execution) -> tuple[str, ...]:
    """The stems to be looked for, each once; none for a null query."""
    query = execution.given(ranking.query)
    return words_of(query) if isinstance(query, str) else ()


def held_image(key: str, columns: Sequence[str], execution: Execution) -> Image | None:
    """The image of a type with these columns, unless they are too large to be held."""
    source = execution.source
    image = source.image(key, columns=columns)
    if image is None or source.settings.scan_mode == "memory" or all(image.is_loaded(each) for each in columns):
        return image
    return image if source.fits(key, columns) else None


def text_scores(ranking: Bm25, bound: Bound, execution: Execution) -> tuple[Indices, Scores]:
    """The rows in whose text at least one word occurs, ascending, and their scores. Entities may repeat."""
    words = query_words(ranking, execution)
    if not words or not len(bound.positions):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    entities, column = bound.entities, ranking.field.property
    image = entities if isinstance(entities, Image) else held_image(entities.key, [column], execution)
    if image is None:
        return _stored_scores(ranking, words, bound, execution)
    if image is not entities:
        bound = Bound(image, image.find(entities.ids)[bound.positions])
    return _posted_scores(postings_of(image, column), words, bound.positions)


def _posted_scores(postings: Postings, words: Sequence[str], positions: Positions) -> tuple[Indices, Scores]:
    matched, scores = postings.score(words)
    if len(positions) == len(postings.lengths) and is_identity(positions):
        return matched, scores
    if len(positions) < len(matched):
        at = np.minimum(np.searchsorted(matched, positions), len(matched) - 1)
        rows = np.flatnonzero(matched[at] == positions)
        return rows, scores[at[rows]]
    places = np.full(len(postings.lengths), ABSENT, dtype=np.int64)
    places[matched] = np.arange(len(matched))
    found = places[positions]
    rows = np.flatnonzero(found >= 0)
    return rows, scores[found[rows]]


# ── types that are not held ──────────────────────────────────────────────────────────────────────────────────────────


def is_by_index(key: str, column: str, execution: Execution) -> bool:
    """Whether a type that is not held is searched by its inverted index."""
    source = execution.source
    return source.row_count(key) > EXACT_ROWS and source.coverage(key, column, "inverted") is not None


def spelled_for_index(query: str) -> str:
    """The query as the index takes it, which finds what our analysis finds.

    Lance folds accents after it has taken the stem, and accented vowels are none to its stemmer: it keeps "résumés" as
    "resume", while the stem of "resumes" is "resum". So every beginning of a word that has the stem of the word is
    looked for, spelled with an accent on each vowel, which goes through Lance's stemmer as it is. Nothing is given
    twice, because it would count twice.
    """
    spelled: dict[str, str] = {}
    words = words_of(query, is_stemmed=False)
    for word in words:
        spelled.setdefault(words_of(word)[0], word)
    for word in words:
        stem = words_of(word)
        for end in range(len(word), len(stem[0]) - 1, -1):
            if words_of(word[:end]) == stem:
                spelled.setdefault(word[:end], word[:end].translate(_ACCENTED))
    return " ".join(spelled.values())


def _stored_scores(ranking: Bm25, words: Sequence[str], bound: Bound, execution: Execution) -> tuple[Indices, Scores]:
    entities, column = bound.entities, ranking.field.property
    distinct, inverse = np.unique(bound.positions, return_inverse=True)
    if is_by_index(entities.key, column, execution):
        scores = _indexed_scores(ranking, Bound(entities, distinct), execution)
    else:
        statistics, having = _statistics(entities.key, column, words, execution)
        scores = _scores_of_texts(entities.values(column, distinct), words, statistics, having)
    each = scores[inverse]
    rows = np.flatnonzero(each)
    return rows, each[rows]


def _indexed_scores(ranking: Bm25, bound: Bound, execution: Execution) -> Scores:
    ids = bound.entities.values("id", bound.positions)
    source, query = execution.source, execution.given(ranking.query)
    found = source.tables.search_text(
        source.handle(bound.entities.key),
        ranking.field.property,
        spelled_for_index(str(query)),
        columns=["id"],
        predicate=OneOf("id", ids) if len(ids) <= _FEW_IDS else None,
    )
    places = pc.index_in(ids, value_set=found["id"].combine_chunks())
    return np.asarray(rounded(found["_score"]).take(places).fill_null(0.0), dtype=np.float64)


def rounded(scores: pa.ChunkedArray) -> pa.Array:
    """Scores of Lance as ours are."""
    return pa.array(np.round(scores.to_numpy(), SCORE_DIGITS))


def _statistics(key: str, column: str, words: Sequence[str], execution: Execution) -> tuple[Statistics, list[int]]:
    """What the scores of a type depend on, and how many texts have each word; by a pass over all texts."""
    source = execution.source
    having = np.zeros(len(words), dtype=np.int64)
    text_count = word_count = 0
    with source.tables.read(source.handle(key), columns=[column]) as reader:
        for batch in reader:
            execution.spending.check_time("bm25")
            frequencies, lengths = _frequencies(batch.column(0), words)
            having += [np.count_nonzero(each) for each in frequencies]
            text_count += batch.num_rows - batch.column(0).null_count
            word_count += int(lengths.sum())
    return Statistics(texts=text_count, words=word_count), having.tolist()


def _scores_of_texts(texts: pa.Array, words: Sequence[str], statistics: Statistics, having: Sequence[int]) -> Scores:
    """The score of each text, 0 when it has none of the words."""
    frequencies, lengths = _frequencies(texts, words)
    dampening = statistics.dampening(lengths)
    scores = np.zeros(len(texts))
    for times, count in zip(frequencies, having, strict=True):
        rows = np.flatnonzero(times)
        scores[rows] += weigh(times[rows], dampening[rows], statistics.rarity(count))
    return np.round(scores, SCORE_DIGITS)


def _frequencies(texts: pa.Array, words: Sequence[str]) -> tuple[list[Numbers], Numbers]:
    """How often each word is in each text, and how many words the texts have."""
    numbers = {each: number for number, each in enumerate(words)}
    tokens = analyse(texts, numbers)
    lengths = np.bincount(tokens.rows, minlength=len(texts)).astype(np.int32)
    counts = [np.bincount(tokens.rows[tokens.words == each], minlength=len(texts)) for each in range(len(words))]
    return [each.astype(np.int32) for each in counts], lengths
