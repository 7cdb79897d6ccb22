"""Reciprocal rank fusion: two rankings of the same entities to one, by their places and not by their scores.

    score = sum over the arms that have the entity of 1 / (k + rank in that arm)

``fuse`` chooses entities that a Rank below gave places; ``fused_scores`` fuses whatever two rankings there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Frame, Indices
from omnigraph.engine.postings import Scores
from omnigraph.engine.sort import sorted_rows
from omnigraph.errors import InvalidInputError
from omnigraph.plan.ir import Fuse, Place, SortKey
from omnigraph.query.checked import Rrf

DEFAULT_K: Final = 60

Ranks = npt.NDArray[np.int64]
"""Places from 1; 0 where there is none."""


def fuse(op: Fuse, frame: Frame, execution: Execution) -> Frame:
    """The rows of the best entities, in their order, with their score and place.

    Raises:
        InvalidInputError: ``k`` is not above 0.
    """
    ranking = op.ranking
    firsts, inverse = distinct_rows(frame.bound[ranking.first.field.variable])
    entities = frame.take(firsts)
    places = [_places(entities.scores[Place(ranking, arm)]) for arm in (1, 2)]
    ranks = [ranks_of(each) for each in places]
    scores = reciprocal_sum(ranks, given_k(ranking, execution))
    order = _order(op, entities, scores, ranks, execution)

    rank_in_all = np.zeros(len(firsts), dtype=np.int64)
    rank_in_all[order] = np.arange(1, len(order) + 1)
    rows = np.flatnonzero(rank_in_all[inverse])
    chosen = inverse[rows]
    return frame.take(rows).scoring(
        {ranking: pa.array(scores[chosen]), Place(ranking): pa.array(rank_in_all[chosen])},
    )


def given_k(ranking: Rrf, execution: Execution) -> int:
    """How much places near the top are flattened; a null is as good as none given.

    Raises:
        InvalidInputError: it is not above 0.
    """
    given = None if ranking.k is None else execution.given(ranking.k)
    if given is None:
        return DEFAULT_K
    if not isinstance(given, int) or given < 1:
        raise InvalidInputError(f"k of rrf is {given}.", help="Give an integer above 0; 60 is usual.")
    return given


def fused_scores(ranks: Sequence[Ranks], k: int) -> pa.Array:
    """The scores of entities by their ranks in both arms, null for one that is in neither."""
    scores = reciprocal_sum(ranks, k)
    return pa.array(scores, mask=scores == 0)


def reciprocal_sum(ranks: Sequence[Ranks], k: int) -> Scores:
    """The scores, 0 for an entity that is in no arm."""
    scores = np.zeros(len(ranks[0]))
    for each in ranks:
        scores += np.where(each > 0, 1.0 / (k + each), 0.0)
    return scores


def ranks_of(places: Ranks) -> Ranks:
    """From different places, with gaps between them, to ranks without."""
    having = np.flatnonzero(places)
    at = np.full(int(places.max(initial=0)) + 1, -1, dtype=np.int64)
    at[places[having]] = having
    ranks = np.zeros(len(places), dtype=np.int64)
    ranks[at[at >= 0]] = np.arange(1, len(having) + 1)
    return ranks


def distinct_rows(bound: Bound) -> tuple[Indices, Indices]:
    """The first row of each entity, by ascending id, and for each row the number of its entity among these."""
    positions, entity_count = bound.positions, len(bound.entities)
    if bool((positions[1:] > positions[:-1]).all()):
        everything = np.arange(len(positions))
        return everything, everything
    if len(positions) * 8 < entity_count:
        _, firsts, inverse = np.unique(positions, return_index=True, return_inverse=True)
        return firsts, inverse
    at = np.full(entity_count, -1, dtype=np.int64)
    # Of several values for one place the last is kept, which backwards is the first.
    at[positions[::-1]] = np.arange(len(positions))[::-1]
    found = np.flatnonzero(at >= 0)
    numbers = np.zeros(entity_count, dtype=np.int64)
    numbers[found] = np.arange(len(found))
    return at[found], numbers[positions]


def _places(column: pa.Array) -> Ranks:
    return np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _order(op: Fuse, entities: Frame, scores: Scores, ranks: Sequence[Ranks], execution: Execution) -> Indices:
    """The best entities by score, ties of the query, rank in the first arm, rank in the second; absent ones last."""
    best = np.flatnonzero(scores)
    if 0 < op.count < len(best):
        found = scores[best]
        best = best[found >= np.partition(found, len(found) - op.count)[len(found) - op.count]]
    if op.ties and len(best) > 1:
        scored = entities.scoring({op.ranking: pa.array(scores)}).take(best)
        keys = (
            SortKey(op.ranking, is_descending=True),
            *op.ties,
            *(SortKey(Place(op.ranking, arm), nulls_first=False) for arm in (1, 2)),
        )
        return best[sorted_rows(keys, scored, execution)][: op.count]
    last = np.iinfo(np.int64).max
    first, second = (np.where(each[best] > 0, each[best], last) for each in ranks)
    return best[np.lexsort((second, first, -scores[best]))][: op.count]
