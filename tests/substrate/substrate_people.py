"""People with a text and a vector, and the three kinds of index that the engine makes over them.

stage_index    one finished segment over some fragments, of no version yet
found          the ids that a read gives which the index of a kind can serve
covered        which fragments each segment of an index covers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.dataset import Index
from substrate_steps import Place, commit

DIMENSION = 8
KINDS = ("BTREE", "INVERTED", "IVF_FLAT")
COLUMN = {"BTREE": "id", "INVERTED": "text", "IVF_FLAT": "vector"}
OPTIONS: dict[str, dict[str, Any]] = {"BTREE": {}, "INVERTED": {}, "IVF_FLAT": {"num_partitions": 2, "metric": "l2"}}
PLAN = {"BTREE": "ScalarIndexQuery", "INVERTED": "MatchQuery", "IVF_FLAT": "ANNSubIndex"}


def vector(key: int) -> np.ndarray:
    return np.random.default_rng(key).random(DIMENSION, dtype=np.float32)


def people(*keys: int) -> pa.Table:
    vectors = pa.array(np.concatenate([vector(key) for key in keys]) if keys else [], pa.float32())
    return pa.table({
        "id": pa.array([f"k{key}" for key in keys], pa.string()),
        "text": pa.array([f"word{key} common" for key in keys], pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
    })  # fmt: skip


def stage_index(base: LanceDataset, kind: str, fragment_ids: list[int] | None = None, **keywords: Any):
    """One finished segment over these fragments, or over all."""
    if fragment_ids is None:
        fragment_ids = [each.fragment_id for each in base.get_fragments()]
    segment = base.create_index_uncommitted(
        COLUMN[kind], kind, name=kind.lower(), fragment_ids=fragment_ids, **(OPTIONS[kind] | keywords)
    )
    return base.merge_existing_index_segments([segment]) if kind == "INVERTED" else segment


def created(base: LanceDataset, *indexes: Any, removed: Sequence[Any] = ()) -> Transaction:
    return Transaction(base.version, LanceOperation.CreateIndex(list(indexes), list(removed)))


def search(dataset: LanceDataset, kind: str, key: int) -> dict[str, Any]:
    """The arguments of a read that the index of this kind can serve."""
    if kind == "BTREE":
        return {"filter": f"id = 'k{key}'"}
    if kind == "INVERTED":
        return {"full_text_query": {"query": f"word{key}", "columns": ["text"]}}
    return {"nearest": {"column": "vector", "q": vector(key), "k": 1, "nprobes": 2}}


def found(dataset: LanceDataset, kind: str, key: int) -> list[str]:
    return dataset.to_table(columns=["id"], **search(dataset, kind, key))["id"].to_pylist()


def is_served(dataset: LanceDataset, kind: str) -> bool:
    return PLAN[kind] in dataset.scanner(**search(dataset, kind, 7)).explain_plan()


def names(dataset: LanceDataset) -> list[str]:
    return sorted(each.name for each in dataset.describe_indices())


def uncovered_rows(dataset: LanceDataset, kind: str) -> int:
    return dataset.stats.index_stats(kind.lower())["num_unindexed_rows"]


def indexed(place: Place, *kinds: str, count: int = 40) -> LanceDataset:
    base = place.create(people(*range(count)))
    return commit(base, created(base, *(stage_index(base, kind) for kind in kinds)))


def segments(dataset: LanceDataset, name: str) -> list[Index]:
    """The segments of an index, as a version tells of them, so that a commit can name them; none without an index."""
    return [
        Index(
            uuid=each.uuid,
            name=index.name,
            fields=list(index.fields),
            dataset_version=each.dataset_version_at_last_update,
            fragment_ids=each.fragment_ids,
            index_version=each.index_version,
        )
        for index in dataset.describe_indices()
        if index.name == name
        for each in index.segments
    ]


def covered(dataset: LanceDataset, name: str) -> list[list[int]]:
    """The fragments of each segment of an index; none when there is no such index."""
    return sorted(sorted(each.fragment_ids) for each in segments(dataset, name))
