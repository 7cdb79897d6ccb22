"""Staged indexes: built over the rows that no segment covers, made part of a version by one commit for all of them.

    btree      equality, ranges, prefixes
    inverted   text search; raw segments of Lance cannot be queried until they are merged, even when there is one
    vector     nearest neighbours by cosine distance

A later build adds a segment and leaves the older ones; queries span all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from lance import LanceDataset, LanceOperation
from lance.dataset import Index

from omnigraph.errors import InternalError
from omnigraph.storage import ObjectKey
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.opening import Place
from omnigraph.tables.staging import planned

VECTOR_METRIC: Final = "cosine"
_LANCE_KINDS: Final = {"btree": "BTREE", "inverted": "INVERTED", "vector": "IVF_FLAT"}
_OUR_KINDS: Final = {"btree": "btree", "inverted": "inverted", "ivf_flat": "vector"}
_ROWS_PER_PARTITION: Final = 4_096
_MAX_PARTITIONS: Final = 4_096


def indexes_of(dataset: LanceDataset) -> tuple[IndexSpec, ...]:
    """The indexes of a version, by name; kinds that are none of ours are named as Lance names them."""
    with translating("read the indexes of", dataset.uri):
        found = dataset.describe_indices()
    return tuple(
        sorted(
            (
                IndexSpec(
                    column=each.field_names[0],
                    kind=_OUR_KINDS.get(each.index_type.lower(), each.index_type.lower()),
                    name=each.name,
                )
                for each in found
            ),
            key=lambda spec: spec.name,
        )
    )


def stage_indexes(base: LanceSnapshot, specs: Sequence[IndexSpec]) -> LanceStaged | None:
    """Segments for what is not covered, in one transaction; None when everything is."""
    dataset = base.dataset
    with translating("index", base.place.uri):
        covered = {
            each.name: {fragment for segment in each.segments for fragment in segment.fragment_ids}
            for each in dataset.describe_indices()
        }
        fragments = [each.fragment_id for each in dataset.get_fragments()]
        built: list[Index] = []
        for spec in specs:
            missing = [each for each in fragments if each not in covered.get(spec.name, ())]
            # An empty table gets its index too, so that it counts as indexed.
            if missing or spec.name not in covered:
                built.append(_build(dataset, spec, missing, is_new=spec.name not in covered))
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


def _build(dataset: LanceDataset, spec: IndexSpec, fragments: list[int], *, is_new: bool) -> Index:
    if spec.kind not in _LANCE_KINDS:
        raise InternalError(f"There is no kind of index {spec.kind!r}.")
    options: dict[str, Any] = {}
    if spec.kind == "vector":
        wanted = set(fragments)
        rows = sum(int(each.count_rows()) for each in dataset.get_fragments() if each.fragment_id in wanted)
        partitions = min(_MAX_PARTITIONS, max(1, math.isqrt(rows) if rows > _ROWS_PER_PARTITION else 1))
        options = {"metric": VECTOR_METRIC, "num_partitions": partitions}
    index = dataset.create_index_uncommitted(
        spec.column,
        _LANCE_KINDS[spec.kind],
        name=spec.name,
        replace=not is_new,
        fragment_ids=fragments,
        **options,
    )
    return dataset.merge_existing_index_segments([index]) if spec.kind == "inverted" else index


def _index_files(indexes: Sequence[Index], place: Place) -> tuple[ObjectKey, ...]:
    return tuple(place.file(f"_indices/{each.uuid}/{file.path}") for each in indexes for file in each.files or ())
