"""``Frame``: the rows of a query while it runs, as positions in entities.

A row gives each bound variable an entity: a number, not a copy of its values. Values are fetched where an operator
reads them, for the rows that are left by then. Frames are immutable; every operator makes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.entities import Entities, Positions
from omnigraph.plan.ir import Place
from omnigraph.query.checked import PropertyRef, Ranking

Indices = npt.NDArray[np.int64]
"""Numbers of rows of a frame."""

Mask = npt.NDArray[np.bool_]
"""One truth per row of a frame."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a variable is in each row."""

    entities: Entities
    positions: Positions

    def take(self, indices: Indices) -> Bound:
        return Bound(self.entities, self.positions[indices])


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Rows over bound variables; after an Aggregate, rows of result columns.

    Attributes:
        row_count: there may be rows that bind nothing.
        bound: by variable. Positions are never -1.
        scores: what Rank, Score and Fuse gave the rows: F64 for a ranking, I64 for a place, null where there is none.
        columns: by output name, of an Aggregate; empty before.
        origin: inside a negation, the number of the outer row that a row belongs to; None outside.
    """

    row_count: int
    bound: Mapping[str, Bound] = field(default_factory=dict)
    scores: Mapping[Ranking | Place, pa.Array] = field(default_factory=dict)
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    origin: Indices | None = None

    def take(self, indices: Indices) -> Frame:
        """These rows, in this order; a row may be taken several times."""
        chosen = pa.array(indices) if self.scores or self.columns else None
        return Frame(
            row_count=len(indices),
            bound={name: each.take(indices) for name, each in self.bound.items()},
            scores={name: each.take(chosen) for name, each in self.scores.items()},
            columns={name: each.take(chosen) for name, each in self.columns.items()},
            origin=None if self.origin is None else self.origin[indices],
        )

    def filter(self, mask: Mask) -> Frame:
        """The rows for which the mask is true, in their order."""
        return self if bool(mask.all()) else self.take(np.flatnonzero(mask))

    def first(self, count: int) -> Frame:
        """The first rows."""
        return self if count >= self.row_count else self.take(np.arange(count))

    def binding(self, variable: str, entities: Entities, positions: Positions) -> Frame:
        """The same rows with one more variable."""
        return replace(self, bound={**self.bound, variable: Bound(entities, positions)})

    def scoring(self, scores: Mapping[Ranking | Place, pa.Array]) -> Frame:
        """The same rows with more scores."""
        return replace(self, scores={**self.scores, **scores})

    def ids(self, variable: str) -> pa.Array:
        """The id of a variable's entity in each row."""
        return self._values(variable, "id")

    def values(self, ref: PropertyRef) -> pa.Array:
        """A property of a variable's entity in each row."""
        return self._values(ref.variable, ref.property)

    @property
    def nbytes(self) -> int:
        """What the rows take in memory; entities are not theirs."""
        arrays = [each.positions.nbytes for each in self.bound.values()]
        arrays += [each.nbytes for each in (*self.scores.values(), *self.columns.values())]
        return sum(arrays) + (0 if self.origin is None else self.origin.nbytes)

    def _values(self, variable: str, name: str) -> pa.Array:
        bound = self.bound[variable]
        return bound.entities.values(name, bound.positions)


def combine(left: Frame, right: Frame, left_rows: Indices, right_rows: Indices) -> Frame:
    """Rows of two frames side by side; they bind different variables, and at most one of them is inside a negation."""
    first, second = left.take(left_rows), right.take(right_rows)
    return Frame(
        row_count=first.row_count,
        bound={**first.bound, **second.bound},
        scores={**first.scores, **second.scores},
        origin=first.origin if first.origin is not None else second.origin,
    )
