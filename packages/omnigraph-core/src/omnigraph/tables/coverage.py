"""How far the indexes of a version reach: which parts each covers, how many rows, how many vectors wait outside.

An index covers whole parts. Rows that were written after it was built lie in other parts, its tail, which searches scan
until the next build. A row that was changed lies in a new part, so covered rows are never stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance import LanceDataset

from omnigraph.tables.counting import note
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.interface import IndexCoverage, IndexSpec
from omnigraph.tables.parts import fragments_of, parts_of
from omnigraph.tables.reading import BATCH_ROWS

VECTOR_METRIC: Final = "cosine"

_OUR_KINDS: Final = {"btree": "btree", "inverted": "inverted", "ivf_flat": "vector"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vectors:
    """Vectors of some rows.

    Attributes:
        total: rows that have one.
        usable: those with a direction: neither zero nor without a number somewhere.
        example: one of these, of length 1.
    """

    total: int
    usable: int
    example: npt.NDArray[np.float32] | None


_Found = tuple[IndexSpec, frozenset[int]]


def coverage_of(snapshot: LanceSnapshot) -> tuple[IndexCoverage, ...]:
    """What each index of a version covers, by name; kinds that are none of ours are named as Lance names them."""
    return snapshot.once("coverage", _counted)


def uncovered_parts(snapshot: LanceSnapshot, name: str) -> list[int]:
    """The parts that an index of this name does not cover: all of them when there is none."""
    covered: frozenset[int] = next((found for spec, found in _found(snapshot) if spec.name == name), frozenset())
    return [part.number for part in parts_of(snapshot) if part.number not in covered]


def count_vectors(snapshot: LanceSnapshot, column: str) -> int:
    """How many rows have a usable vector that no index covers; a pass over the column in the parts outside."""
    covered = [found for spec, found in _found(snapshot) if (spec.column, spec.kind) == (column, "vector")]
    outside = [part.number for part in parts_of(snapshot) if not any(part.number in each for each in covered)]
    with translating("read", snapshot.place.uri):
        return vectors_in(snapshot.dataset, column, outside).usable


def vectors_in(dataset: LanceDataset, column: str, parts: Sequence[int]) -> Vectors:
    """What vectors the rows of these parts have: one pass, a few of them in memory at a time."""
    total, usable, example = 0, 0, None
    if parts:
        scanner = dataset.scanner(columns=[column], fragments=fragments_of(dataset, parts), batch_size=BATCH_ROWS)
        for batch in scanner.to_reader():
            known = as_matrix(batch[column].drop_null())
            lengths = np.sqrt((known.astype(np.float64) ** 2).sum(axis=1))
            fit = np.flatnonzero(np.isfinite(lengths) & (lengths > 0))
            total, usable = total + len(known), usable + len(fit)
            if example is None and len(fit):
                example = (known[fit[0]] / lengths[fit[0]]).astype(np.float32)
    return Vectors(total=total, usable=usable, example=example)


def as_matrix(vectors: pa.Array) -> npt.NDArray[np.float32]:
    """Vectors, none of them null, as the rows of a matrix; a component that is null becomes NaN."""
    numbers = vectors.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(numbers, np.float32).reshape(len(vectors), vectors.type.list_size)


def _counted(snapshot: LanceSnapshot) -> tuple[IndexCoverage, ...]:
    return tuple(
        IndexCoverage(
            spec=spec,
            covered_rows=sum(part.live_count for part in parts_of(snapshot) if part.number in covered),
            uncovered_rows=sum(part.live_count for part in parts_of(snapshot) if part.number not in covered),
        )
        for spec, covered in _found(snapshot)
    )


def _found(snapshot: LanceSnapshot) -> tuple[_Found, ...]:
    return snapshot.once("indexes", _read)


def _read(snapshot: LanceSnapshot) -> tuple[_Found, ...]:
    note("indexes")
    dataset = snapshot.dataset
    with translating("read the indexes of", dataset.uri):
        found = dataset.describe_indices()
        indexes = [
            (
                IndexSpec(column=each.field_names[0], kind=_kind(each.index_type, each.details), name=each.name),
                frozenset(number for segment in each.segments for number in segment.fragment_ids),
            )
            for each in found
        ]
    return tuple(sorted(indexes, key=lambda index: index[0].name))


def _kind(lance_kind: str, details: object) -> str:
    """Our name of a kind of index; one by another distance than ours is none of ours."""
    name = lance_kind.lower()
    if name == "ivf_flat" and isinstance(details, dict):
        metric = str(details.get("metric_type", VECTOR_METRIC)).lower()
        return "vector" if metric == VECTOR_METRIC else f"{name} by {metric}"
    return _OUR_KINDS.get(name, name)
