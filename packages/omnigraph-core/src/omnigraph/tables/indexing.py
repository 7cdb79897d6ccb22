"""Staged indexes: built over the rows that no segment covers, made part of a version by one commit for all of them.

    btree      equality, ranges, prefixes
    inverted   text search; raw segments of Lance cannot be queried until they are merged, even when there is one
    vector     nearest neighbours by cosine distance

A later build adds a segment and leaves the older ones; queries span all of them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Final

from lance import LanceDataset, LanceOperation
from lance.dataset import Index

from omnigraph.cancellation import check_cancelled
from omnigraph.errors import InternalError
from omnigraph.storage import ObjectKey
from omnigraph.tables.coverage import VECTOR_METRIC, coverage_of, uncovered_parts, vectors_in
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.opening import Place
from omnigraph.tables.staging import planned

_LANCE_KINDS: Final = {"btree": "BTREE", "inverted": "INVERTED", "vector": "IVF_FLAT"}

TEXT_ANALYSIS: Final = {
    "base_tokenizer": "simple",
    "lower_case": True,
    "ascii_folding": True,
    "stem": True,
    "language": "English",
    "remove_stop_words": True,
    "max_token_length": 40,
    "with_position": False,
}
"""What a word is: letters and digits between other characters, lower-cased, accents folded, stemmed; no stop words."""

_ROWS_PER_PARTITION: Final = 4_096
_MAX_PARTITIONS: Final = 4_096


def stage_indexes(base: LanceSnapshot, specs: Sequence[IndexSpec]) -> LanceStaged | None:
    """Segments for what is not covered, in one transaction; None when there is nothing to build.

    A vector index is not built where there is no vector to train it on.
    """
    # Lance locks the dataset that it indexes, and readers in other threads use the one of the snapshot.
    dataset = copy.copy(base.dataset)
    built: list[Index] = []
    for spec in specs:
        if spec.kind not in _LANCE_KINDS:
            raise InternalError(f"There is no kind of index {spec.kind!r}.")
        # What Lance builds is not cut off, so this is the place to stop.
        check_cancelled()
        is_new = all(each.spec.name != spec.name for each in coverage_of(base))
        missing = uncovered_parts(base, spec.name)
        # An empty table gets its index too, so that it counts as indexed.
        if not missing and not is_new:
            continue
        with translating("index", base.place.uri):
            options = _options(dataset, spec, missing)
            if options is not None:
                built.append(_build(dataset, spec, missing, options | {"replace": not is_new}))
    if not built:
        return None
    operation = LanceOperation.CreateIndex(built, [])
    return LanceStaged(
        kind=StagedKind.INDEX,
        location=base.pin.location,
        place=base.place,
        base=base.pin,
        transaction=planned(StagedKind.INDEX, operation, read_version=base.pin.version),
        files=_index_files(built, base.place),
    )


def _options(dataset: LanceDataset, spec: IndexSpec, parts: Sequence[int]) -> dict[str, Any] | None:
    """How to build; None when it cannot be built yet."""
    if spec.kind == "inverted":
        return dict(TEXT_ANALYSIS)
    if spec.kind == "btree":
        return {}
    vectors = vectors_in(dataset, spec.column, parts)
    if vectors.example is None:
        return None
    # Lance trains on a sample of all vectors and fails when too few of it are usable. One partition needs no training.
    is_trained = vectors.usable > _ROWS_PER_PARTITION and vectors.usable * 2 > vectors.total
    if is_trained:
        return {"metric": VECTOR_METRIC, "num_partitions": min(_MAX_PARTITIONS, math.isqrt(vectors.usable))}
    return {"metric": VECTOR_METRIC, "num_partitions": 1, "ivf_centroids": vectors.example.reshape(1, -1)}


def _build(dataset: LanceDataset, spec: IndexSpec, parts: list[int], options: dict[str, Any]) -> Index:
    index = dataset.create_index_uncommitted(
        spec.column, _LANCE_KINDS[spec.kind], name=spec.name, fragment_ids=parts, **options
    )
    return dataset.merge_existing_index_segments([index]) if spec.kind == "inverted" else index


def _index_files(indexes: Sequence[Index], place: Place) -> tuple[ObjectKey, ...]:
    return tuple(place.file(f"_indices/{each.uuid}/{file.path}") for each in indexes for file in each.files or ())
