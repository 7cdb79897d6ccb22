"""``Rank``, ``RankJoin`` and ``Score``: rankings as numbers beside rows, and the best of a node type.

Scores are kept in a frame under the ranking that they are of. A Rank works on the whole type in memory where it is
held, and else lets storage find what it can (``stored_rank``). ``fusion`` makes one ranking of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.distances import distances_of, nearest_among, query_vector
from omnigraph.engine.entities import ABSENT, HeldRows, Positions
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Frame, Indices
from omnigraph.engine.fusion import Ranks, distinct_rows, fused_scores, given_k
from omnigraph.engine.images import Image
from omnigraph.engine.postings import SCORE_DIGITS, Scores
from omnigraph.engine.sort import sorted_rows
from omnigraph.engine.stored_rank import rank_stored, scan_below
from omnigraph.engine.text_scores import held_image, text_scores
from omnigraph.plan.ir import Operator, Place, Rank, RankJoin, Score, SortKey
from omnigraph.query.checked import Bm25, EntityRef, Nearest, Ranking, Rrf

Arm = Nearest | Bm25


def rank(op: Rank, below: Callable[[Operator], Frame], execution: Execution) -> Frame:
    """The best of the input with their scores, best first; of two rankings, both with the places in each.

    Raises:
        InvalidInputError: the vector of a ``nearest`` cannot be compared with, or its text not be embedded.
    """
    arms = _arms(op.ranking)
    variable = arms[0].field.variable
    scan = scan_below(op.input)
    key = execution.source.schema.node(scan.type_name).key
    image = held_image(key, list(dict.fromkeys(each.field.property for each in arms)), execution)
    if image is None:
        frames = [rank_stored(op, each, scan, below, execution) for each in arms]
    else:
        execution.note(op, search="in memory")
        frame = _on_image(below(op.input), variable, image)
        frames = [_best(each, frame, op, execution) for each in arms]
    found = [_best_first(each, frame, op, execution) for each, frame in zip(arms, frames, strict=True)]
    return _united(op.ranking, found) if isinstance(op.ranking, Rrf) else found[0]


def rank_join(op: RankJoin, frame: Frame, ranked: Frame, execution: Execution) -> Frame:
    """The rows whose entity is ranked, with its scores and places."""
    execution.spending.check_time("RankJoin")
    bound, best = frame.bound[op.variable], ranked.bound[op.variable]
    places = np.full(len(best.entities) + 1, ABSENT, dtype=np.int64)
    places[best.positions] = np.arange(ranked.row_count)
    positions = bound.positions
    if bound.entities is not best.entities:
        # An entity that is not there is at -1, which is the last place and stands for no entity.
        positions = best.entities.find(bound.entities.ids)[positions]
    found = places[positions]
    rows = np.flatnonzero(found >= 0)
    chosen = pa.array(found[rows])
    return frame.take(rows).scoring({name: each.take(chosen) for name, each in ranked.scores.items()})


def score(op: Score, frame: Frame, execution: Execution) -> Frame:
    """All rows, with one more score.

    Raises:
        InvalidInputError: as of ``rank``; or ``k`` of ``rrf`` is not above 0.
    """
    ranking = op.ranking
    bound = frame.bound[_arms(ranking)[0].field.variable]
    firsts, inverse = distinct_rows(bound)
    each = bound.take(firsts)
    if isinstance(ranking, Rrf):
        k = given_k(ranking, execution)
        scores = fused_scores([_ranks(arm, each, execution) for arm in _arms(ranking)], k)
    else:
        scores = _spread(*_scores(ranking, each, execution), count=len(firsts))
    return frame.scoring({ranking: scores.take(pa.array(inverse))})


def _arms(ranking: Ranking) -> tuple[Arm, ...]:
    return (ranking.first, ranking.second) if isinstance(ranking, Rrf) else (ranking,)


def _on_image(frame: Frame, variable: str, image: Image) -> Frame:
    """The same rows over the whole type, where a scan had read only some."""
    bound = frame.bound[variable]
    if bound.entities is image:
        return frame
    return frame.binding(variable, image, image.find(bound.entities.ids)[bound.positions])


# ── scores ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scores(ranking: Arm, bound: Bound, execution: Execution) -> tuple[Indices, Scores]:
    """The rows that have a score, ascending, and the scores."""
    if isinstance(ranking, Bm25):
        return text_scores(ranking, bound, execution)
    query = query_vector(ranking, execution)
    if query is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return distances_of(bound.entities, ranking.field.property, bound.positions, query=query)


def _ranks(ranking: Arm, bound: Bound, execution: Execution) -> Ranks:
    """The ranks of entities, which ascend, from 1; equal scores by id."""
    rows, scores = _scores(ranking, bound, execution)
    ranks = np.zeros(len(bound.positions), dtype=np.int64)
    ranks[rows[_order(ranking, scores, bound.positions[rows])]] = np.arange(1, len(rows) + 1)
    return ranks


def _spread(rows: Indices, scores: Scores, *, count: int) -> pa.Array:
    values, is_null = np.zeros(count), np.ones(count, dtype=np.bool_)
    values[rows], is_null[rows] = scores, False
    return pa.array(values, mask=is_null)


# ── the best ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _best(ranking: Arm, frame: Frame, op: Rank, execution: Execution) -> Frame:
    """The rows that are ranked, with their scores; of distances only as many as are wanted, and equals of the last."""
    bound = frame.bound[ranking.field.variable]
    if isinstance(ranking, Bm25):
        rows, scores = text_scores(ranking, bound, execution)
    else:
        query = query_vector(ranking, execution)
        count = 0 if query is None else frame.row_count if op.count is None else op.count
        if query is None or count < 1:
            rows, scores = np.zeros(0, dtype=np.int64), np.zeros(0)
        else:
            rows, scores = nearest_among(
                bound.entities, ranking.field.property, bound.positions, query=query, count=count
            )
    return frame.take(rows).scoring({ranking: pa.array(scores)})


def _best_first(ranking: Arm, frame: Frame, op: Rank, execution: Execution) -> Frame:
    scores = frame.scores[ranking].to_numpy(zero_copy_only=False)
    if op.ties and len(np.unique(scores)) < len(scores):
        entity = EntityRef(ranking.field.variable, "")
        keys = (SortKey(ranking, is_descending=isinstance(ranking, Bm25)), *op.ties, SortKey(entity))
        order = sorted_rows(keys, frame, execution)
    else:
        order = _order(ranking, scores, frame.bound[ranking.field.variable].positions)
    if isinstance(ranking, Nearest) and op.count is not None:
        order = order[: op.count]
    return frame.take(order)


def _order(ranking: Arm, scores: Scores, positions: Positions) -> Indices:
    """Rows from best to worst; of equals the smaller position first."""
    if len(scores) < 2:
        return np.arange(len(scores))
    # Scores are rounded, so they are whole numbers of the last decimal.
    units = np.rint(scores * 10.0**SCORE_DIGITS).astype(np.int64)
    units = units - units.min() if isinstance(ranking, Nearest) else units.max() - units
    bits = (len(units) - 1).bit_length()
    if int(units.max()) >> (62 - bits) or not bool((positions[1:] > positions[:-1]).all()):
        return np.lexsort((positions, units))
    # The number of the row makes all keys different and decides between equals: one sort of integers, which is fast.
    keys = (units << bits) | np.arange(len(units))
    keys.sort()
    order: Indices = keys & ((1 << bits) - 1)
    return order


# ── two arms ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _united(ranking: Rrf, arms: Sequence[Frame]) -> Frame:
    """The entities that either arm ranked, by id, with their places."""
    variable = ranking.first.field.variable
    bounds = [each.bound[variable] for each in arms]
    entities = bounds[0].entities
    positions = [each.positions for each in bounds]
    if any(each.entities is not entities for each in bounds):
        held = [each.entities for each in bounds]
        # One arm may have been ranked in memory and the other by storage: the whole type has the entities of both.
        whole = next((each for each in held if isinstance(each, Image)), None)
        rows = [each.rows for each in held if isinstance(each, HeldRows)]
        entities = HeldRows(entities.key, pa.concat_tables(rows)) if whole is None else whole
        positions = [entities.find(each.ids(variable)) for each in arms]
    is_ranked = np.zeros(len(entities), dtype=np.bool_)
    is_ranked[np.concatenate(positions)] = True
    together = np.flatnonzero(is_ranked)
    places: dict[Ranking | Place, pa.Array] = {}
    for arm, ranked in enumerate(positions, 1):
        at = np.zeros(len(entities), dtype=np.int64)
        at[ranked] = np.arange(1, len(ranked) + 1)
        found = at[together]
        places[Place(ranking, arm)] = pa.array(found, mask=found == 0)
    return Frame(row_count=len(together)).binding(variable, entities, together).scoring(places)
