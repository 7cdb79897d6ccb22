"""Rankings as the language reference says them: scores of nodes, which rows a ranking chooses, and fusion of two.

Only a ranking that a query is ordered by first chooses rows: ``choose`` drops the others. Every ranking has a score for
each row, or none; ``fused_scores`` gives those of ``rrf``, which depend on the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from omnigraph.query.checked import Bm25, Nearest, Ranking, Rrf
from omnigraph.testing.match_model import Row
from omnigraph.testing.model import ModelRow
from omnigraph.testing.text_model import bm25, cosine_distance, mock_vector
from omnigraph.testing.value_model import GivenValues

Before = Callable[[ModelRow], tuple[object, ...]]
"""What decides between nodes of equal scores: the smaller tuple is better."""


def variable_of(ranking: Ranking) -> str:
    """The variable that is ranked."""
    return ranking.first.field.variable if isinstance(ranking, Rrf) else ranking.field.variable


@dataclass(slots=True)
class RankingModel:
    """Scores by ranking for one execution. ``nodes`` are all nodes of the type of a variable."""

    nodes: Callable[[str], Sequence[ModelRow]]
    given: GivenValues
    _fused: dict[Rrf, dict[str, float]] = field(default_factory=dict)
    _places: dict[Rrf, dict[str, int]] = field(default_factory=dict)
    _scores: dict[tuple[Nearest | Bm25, str], float | None] = field(default_factory=dict)

    def score(self, ranking: Ranking, node: ModelRow) -> float | None:
        """The score of a node; None when it has none."""
        if isinstance(ranking, Rrf):
            return self._fused[ranking].get(node.id)
        if (ranking, node.id) not in self._scores:
            self._scores[ranking, node.id] = self._score(ranking, node)
        return self._scores[ranking, node.id]

    def place(self, ranking: Rrf, node: ModelRow) -> int:
        """Where a chosen node stands in a fused ranking, from 0."""
        return self._places[ranking][node.id]

    def _score(self, ranking: Nearest | Bm25, node: ModelRow) -> float | None:
        value, query = node.values[ranking.field.property], self.given[ranking.query]
        if value is None or query is None:
            return None
        if isinstance(ranking, Nearest):
            return cosine_distance(value, mock_vector(query, len(value)) if isinstance(query, str) else query)
        values = (each.values[ranking.field.property] for each in self.nodes(ranking.field.variable))
        return bm25(value, query, [each for each in values if each is not None])

    def best(self, ranking: Nearest | Bm25, nodes: Sequence[ModelRow], before: Before) -> list[ModelRow]:
        """The nodes that have a score, best first; of equal scores the one that is ``before``, then the smaller id."""
        sign = 1 if isinstance(ranking, Nearest) else -1
        scored = [(score, each) for each in nodes if (score := self.score(ranking, each)) is not None]
        scored.sort(key=lambda pair: (sign * pair[0], before(pair[1]), pair[1].id))
        return [each for _, each in scored]

    # ── choosing rows ────────────────────────────────────────────────────────────────────────────────────────────────

    def choose(
        self, ranking: Ranking, rows: Sequence[Row], candidates: Sequence[ModelRow], limit: int | None, before: Before
    ) -> list[Row]:
        """The rows whose node a ranking chooses.

        Args:
            ranking: what the query is ordered by first.
            rows: the solutions of the whole match block.
            candidates: the nodes of the ranked variable for which every condition on it alone holds.
            limit: of the query.
            before: decides between equal scores.
        """
        name = variable_of(ranking)
        if not isinstance(ranking, Rrf):
            chosen = {each.id for each in self._arm(ranking, candidates, limit, before)}
        else:
            present = {row[name].id for row in rows}
            arms = [
                [each for each in self._arm(arm, candidates, limit, before) if each.id in present]
                for arm in (ranking.first, ranking.second)
            ]
            scores = self._fused[ranking] = self._fuse(ranking, arms)
            in_order = list({each.id: each for arm in arms for each in arm}.values())
            in_order.sort(key=lambda each: (-scores[each.id], before(each)))
            self._places[ranking] = {each.id: place for place, each in enumerate(in_order)}
            chosen = {each.id for each in in_order[:limit]}
        return [row for row in rows if row[name].id in chosen]

    def _arm(
        self, ranking: Nearest | Bm25, candidates: Sequence[ModelRow], limit: int | None, before: Before
    ) -> list[ModelRow]:
        best = self.best(ranking, candidates, before)
        return best[:limit] if isinstance(ranking, Nearest) else best

    # ── scores that choose nothing ───────────────────────────────────────────────────────────────────────────────────

    def give_fused_scores(self, ranking: Rrf, rows: Sequence[Row]) -> None:
        """Rank the nodes of all rows in both arms, for an ``rrf`` that is shown or sorted by without choosing."""
        nodes = list({row[variable_of(ranking)].id: row[variable_of(ranking)] for row in rows}.values())
        arms = [self.best(arm, nodes, lambda _: ()) for arm in (ranking.first, ranking.second)]
        self._fused[ranking] = self._fuse(ranking, arms)

    def _fuse(self, ranking: Rrf, arms: Sequence[Sequence[ModelRow]]) -> dict[str, float]:
        k = 60 if ranking.k is None else self.given[ranking.k]
        scores: dict[str, float] = {}
        for arm in arms:
            for rank, node in enumerate(arm, 1):
                scores[node.id] = scores.get(node.id, 0.0) + 1 / (k + rank)
        return scores
