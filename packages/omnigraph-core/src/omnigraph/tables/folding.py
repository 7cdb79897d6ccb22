"""Staged folding: many small parts of a version become one, and the indexes reach it again. No row changes.

    files       the rows of the parts are written together, with their stable ids and the versions they are stamped with
    segments    index segments that cover nothing but these parts are dropped
    rewrite     the new part takes their place
    indexes     each index gets a segment over what it does not cover then

The files hold for every version that has the parts unchanged, so they are written once and staged as often as it takes.

Lance commits a compaction by itself, in two versions, on whatever is newest, and takes along what a losing writer left
there. Its first version reserves numbers for the new parts. A commit that is an exact child of the version it was
staged on needs no reservation: a number above all that this version uses is free. So the same rewrite is one step of an
ordinary commit, and nothing of it is visible until then.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lance import LanceDataset, LanceOperation
from lance.dataset import Index
from lance.fragment import FragmentMetadata
from lance.optimize import CompactionTask

from omnigraph.errors import InternalError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.arrow_schema import logical_schema
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.indexing import stage_indexes
from omnigraph.tables.interface import FoldedRows, IndexSpec
from omnigraph.tables.parts import fragments_of, parts_of
from omnigraph.tables.row_facts import facts_beside_rows
from omnigraph.tables.staging import blob_directories, data_files, planned
from omnigraph.tables.written import FILE_FORMAT, MAX_BYTES_PER_FILE, MAX_ROWS_PER_FILE

_OPTIONS: Final[dict[str, Any]] = {
    "target_rows_per_fragment": MAX_ROWS_PER_FILE,
    "max_rows_per_group": 1024,
    "max_bytes_per_file": MAX_BYTES_PER_FILE,
    "materialize_deletions": True,
    "materialize_deletions_threshold": 0.0,
    "num_threads": 1,
    "batch_size": None,
    "io_buffer_size": None,
    "defer_index_remap": False,
    "index_remap_mode": "Direct",
    "compaction_mode": None,
    "enable_binary_copy": False,
    "enable_binary_copy_force": False,
    "binary_copy_read_batch_bytes": 16 * 1024 * 1024,
    "max_source_fragments": None,
    "max_source_rows": None,
    "max_source_bytes": None,
    "excluded_fragment_ids": [],
    "max_overlays_per_fragment": 10,
    "data_storage_version": FILE_FORMAT,
    "has_eager_remappable_index": False,
}
"""All that a task of Lance's compaction says of itself. One thread: whoever writes meanwhile needs the others."""


def fold_rows(adapter: StorageAdapter, base: LanceSnapshot, parts: Sequence[int]) -> FoldedRows | None:
    """The rows of these parts in new files; None when fewer than two of them can be folded."""
    with translating("fold", base.place.uri):
        chosen, _ = _separable(set(parts), _segments(base.dataset), present=_numbers(base))
        if len(chosen) < 2:
            return None
        with facts_beside_rows(adapter, base) as dataset:
            fragments = _rewritten(dataset, sorted(chosen))
    return FoldedRows(
        location=base.pin.location,
        branch=base.pin.branch,
        parts=tuple(each for each in parts_of(base) if each.number in chosen),
        fragments=tuple(each.to_json() for each in fragments),
    )


def stage_fold(base: LanceSnapshot, folded: FoldedRows, specs: Sequence[IndexSpec]) -> tuple[LanceStaged, ...]:
    """The steps of one commit after which the folded rows stand for their parts, and the indexes cover them.

    Nothing is staged when a part is not in this version as it was, or is covered by a segment together with others.
    """
    if (folded.location, folded.branch) != (base.pin.location, base.pin.branch):
        raise InternalError(f"Rows of {folded.location} (branch {folded.branch}) cannot be folded into {base.pin}.")
    parts = {each.number for each in folded.parts}
    if not set(folded.parts) <= set(parts_of(base)):
        return ()
    with translating("fold", base.place.uri):
        segments = _segments(base.dataset)
    chosen, dropped = _separable(parts, segments, present=_numbers(base))
    if chosen != parts:
        return ()
    first = _free_number(_numbers(base), segments)
    after = [
        FragmentMetadata.from_json(json.dumps(each | {"id": first + place}))
        for place, each in enumerate(folded.fragments)
    ]
    steps = [_index_step(base, LanceOperation.CreateIndex([], dropped))] if dropped else []
    steps.append(_rewrite_step(base, [each.metadata for each in fragments_of(base.dataset, sorted(parts))], after))
    if specs:
        steps.append(
            dataclasses.replace(
                _index_step(base, LanceOperation.CreateIndex([], [])),
                # Which parts are to be covered is known only when the rewrite has a version.
                restage=lambda made: stage_indexes(dataclasses.replace(base, dataset=made, kept={}), specs),
            )
        )
    return tuple(steps)


def _numbers(base: LanceSnapshot) -> set[int]:
    return {each.number for each in parts_of(base)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """A piece of an index, and the parts that it was built over, gone ones included."""

    index: Index
    parts: frozenset[int]


def _segments(dataset: LanceDataset) -> list[_Segment]:
    """Every segment of every index."""
    return [
        _Segment(
            index=Index(
                uuid=segment.uuid,
                name=index.name,
                fields=list(index.fields),
                dataset_version=segment.dataset_version_at_last_update,
                fragment_ids=segment.fragment_ids,
                index_version=segment.index_version,
            ),
            parts=frozenset(segment.fragment_ids),
        )
        for index in dataset.describe_indices()
        for segment in index.segments
    ]


def _separable(parts: set[int], segments: Sequence[_Segment], *, present: set[int]) -> tuple[set[int], list[Index]]:
    """The parts that can be folded, and the segments that are to be dropped because they cover nothing else.

    A segment that also covers a part that stays cannot be dropped, and Lance does not rewrite a part of what it covers.
    """
    chosen = parts & present
    while True:
        split = [each.parts for each in segments if (each.parts & present) - chosen and each.parts & chosen]
        if not split:
            return chosen, [each.index for each in segments if each.parts & chosen]
        chosen = chosen.difference(*split)


def _free_number(present: set[int], segments: Iterable[_Segment]) -> int:
    """A number above those of all parts, and of parts that are gone and that an index still names."""
    return 1 + max(present.union(*(each.parts for each in segments)))


def _rewritten(dataset: LanceDataset, parts: list[int]) -> list[FragmentMetadata]:
    """New parts with the rows of these, without numbers of their own."""
    facts = {"fragments": [each.metadata.to_json() for each in fragments_of(dataset, parts)]}
    # Any: Lance's own stubs do not know that a task can be made of its JSON.
    tasks: Any = CompactionTask
    task = tasks.from_json(json.dumps({"task": facts, "read_version": dataset.version, "options": _OPTIONS}))
    return list(task.execute(dataset).new_fragments)


def _rewrite_step(base: LanceSnapshot, before: list[FragmentMetadata], after: list[FragmentMetadata]) -> LanceStaged:
    operation = LanceOperation.Rewrite([LanceOperation.RewriteGroup(before, after)], [])
    return LanceStaged(
        kind=StagedKind.REWRITE,
        location=base.pin.location,
        place=base.place,
        base=base.pin,
        transaction=planned(StagedKind.REWRITE, operation, read_version=base.pin.version),
        files=data_files(after, base.place),
        blob_directories=blob_directories(after, base.place, logical_schema(base.dataset.schema)),
    )


def _index_step(base: LanceSnapshot, operation: LanceOperation.CreateIndex) -> LanceStaged:
    return LanceStaged(
        kind=StagedKind.INDEX,
        location=base.pin.location,
        place=base.place,
        base=base.pin,
        transaction=planned(StagedKind.INDEX, operation, read_version=base.pin.version),
    )
