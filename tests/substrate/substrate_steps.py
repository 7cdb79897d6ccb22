"""The calls to Lance whose effects the tests here pin, as the engine makes them.

Place        a root and its storage options: create, open at a version, commit what was staged for no table
stage_*      data is written, no version appears
publish      the strict Overwrite that carries the fragments (DESIGN 2)
promote      detached commit on the pin, then Restore: exact content whatever HEAD is (DESIGN 1)
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, RowIdSequence, write_fragments
from lance.optimize import CompactionTask

STAMPS = ["_row_created_at_version", "_row_last_updated_at_version"]

REWRITE_OPTIONS = {
    "target_rows_per_fragment": 1024 * 1024,
    "max_rows_per_group": 1024,
    "materialize_deletions": True,
    "materialize_deletions_threshold": 0.0,
    "defer_index_remap": False,
    "enable_binary_copy": False,
    "enable_binary_copy_force": False,
}
"""What a task must be told; it knows the rest itself."""


@dataclass(frozen=True)
class Place:
    """A root below which tables are kept; ``t`` is the table that a test works on."""

    root: str
    options: Mapping[str, str] = field(repr=False)

    def uri(self, name: str = "t", branch: str | None = None) -> str:
        return f"{self.root}/{name}" if branch is None else f"{self.root}/{name}/tree/{branch}"

    def create(self, data: pa.Table, name: str = "t", **keywords: Any) -> LanceDataset:
        keywords = {"enable_stable_row_ids": True} | keywords
        return lance.write_dataset(data, self.uri(name), storage_options=dict(self.options), **keywords)

    def open(self, version: int | None = None, *, name: str = "t", branch: str | None = None, **keywords: Any):
        return lance.dataset(self.uri(name, branch), version=version, storage_options=dict(self.options), **keywords)

    def stage_create(self, data: pa.Table, name: str = "t") -> Transaction:
        return write_fragments(
            data, self.uri(name), mode="create", return_transaction=True, storage_options=dict(self.options)
        )

    def commit_create(self, staged: Transaction | LanceOperation.BaseOperation, name: str = "t", **keywords: Any):
        keywords = {"enable_stable_row_ids": True} | keywords
        return LanceDataset.commit(
            self.uri(name), staged, max_retries=0, storage_options=dict(self.options), **keywords
        )

    def files(self, name: str = "t") -> dict[str, int]:
        """Of a root on local disk: path below the table, and the inode, which tells a replaced file from a kept one."""
        top = Path(self.uri(name))
        return {str(each.relative_to(top)): each.stat().st_ino for each in top.rglob("*") if each.is_file()}


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(*keys: int, value: str = "a") -> pa.Table:
    return pa.table({"id": pa.array([f"k{key}" for key in keys], pa.string()), "v": pa.array([value] * len(keys))})


def ids(dataset: LanceDataset) -> list[str]:
    """In the order of the table."""
    return dataset.to_table(columns=["id"])["id"].to_pylist()


def values(dataset: LanceDataset) -> dict[str, str]:
    found = dataset.to_table(columns=["id", "v"]).to_pylist()
    assert len({row["id"] for row in found}) == len(found), "a key is there twice"
    return {row["id"]: row["v"] for row in found}


def row_ids(dataset: LanceDataset) -> dict[str, int]:
    return {row["id"]: row["_rowid"] for row in dataset.to_table(columns=["id", "_rowid"]).to_pylist()}


def stamps(dataset: LanceDataset) -> dict[str, tuple[int, int]]:
    """Key to the versions that created the row and updated it last."""
    return {
        row["id"]: tuple(row[name] for name in STAMPS) for row in dataset.to_table(columns=["id", *STAMPS]).to_pylist()
    }


def versions(dataset: LanceDataset) -> list[int]:
    return [each["version"] for each in dataset.versions()]


# ── staging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def stage_append(base: LanceDataset, data: pa.Table) -> Transaction:
    return write_fragments(data, base, return_transaction=True)


def stage_overwrite(base: LanceDataset, data: pa.Table) -> Transaction:
    return write_fragments(data, base, return_transaction=True, mode="overwrite")


def stage_upsert(base: LanceDataset, data: pa.Table) -> Transaction:
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    return builder.execute_uncommitted(data)[0]


def stage_delete_keys(base: LanceDataset, *keys: int) -> Transaction:
    source = pa.table({"id": [f"k{key}" for key in keys]})
    return base.merge_insert("id").when_matched_delete().execute_uncommitted(source)[0]


def stage_delete(base: LanceDataset, predicate: str) -> Transaction:
    """Per fragment; one that comes back equal is untouched, None is gone as a whole."""
    updated: list[FragmentMetadata] = []
    removed: list[int] = []
    for fragment in base.get_fragments():
        after = fragment.delete(predicate)
        if after is None:
            removed.append(fragment.fragment_id)
        elif after != fragment.metadata:
            updated.append(after)
    return Transaction(base.version, LanceOperation.Delete(updated, removed, predicate))


def stage_replace(
    base: LanceDataset, data: pa.Table, addresses: Sequence[int], *, changed: Sequence[int] | None = None
) -> Transaction:
    """Rows of which the first take the places and the row ids of those at the addresses, in this order.

    ``changed`` are the numbers of the columns that Lance is told to have changed, all of them by default.
    """
    (new,) = write_fragments(data, base)
    offsets: dict[int, list[int]] = defaultdict(list)
    for address in addresses:
        offsets[address >> 32].append(address & 0xFFFF_FFFF)
    after = {number: base.get_fragment(number).delete_rows(each) for number, each in offsets.items()}
    kept = [row_ids_of(base, address >> 32)[address & 0xFFFF_FFFF] for address in addresses]
    operation = LanceOperation.Update(
        removed_fragment_ids=[number for number, each in after.items() if each is None],
        updated_fragments=[each for each in after.values() if each is not None],
        new_fragments=[dataclasses.replace(new, row_id_meta=RowIdSequence(kept).to_inline_metadata())],
        fields_for_preserving_frag_bitmap=list(range(len(base.schema)) if changed is None else changed),
        update_mode="rewrite_rows",
    )
    return Transaction(base.version, operation)


def row_ids_of(dataset: LanceDataset, fragment: int) -> list[int]:
    """The row ids of a fragment by offset, those of deleted rows too; its manifest holds them."""
    meta = dataset.get_fragment(fragment).metadata.row_id_meta
    return RowIdSequence.from_inline_metadata(meta).to_pyarrow().to_pylist()


def rewritten(base: LanceDataset, fragments: Sequence[int]) -> list[FragmentMetadata]:
    """New fragments with the rows of these, as a task of Lance's compaction writes them; no version appears."""
    facts = {"fragments": [base.get_fragment(each).metadata.to_json() for each in fragments]}
    task = CompactionTask.from_json(
        json.dumps({"task": facts, "read_version": base.version, "options": REWRITE_OPTIONS})
    )
    return task.execute(base).new_fragments


def stage_rewrite(base: LanceDataset, fragments: Sequence[int], number: int) -> Transaction:
    after = [dataclasses.replace(each, id=number + place) for place, each in enumerate(rewritten(base, fragments))]
    before = [base.get_fragment(each).metadata for each in fragments]
    return Transaction(base.version, LanceOperation.Rewrite([LanceOperation.RewriteGroup(before, after)], []))


# ── committing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def commit(base: LanceDataset, staged: Transaction) -> LanceDataset:
    """An ordinary commit that may not retry."""
    return LanceDataset.commit(base, staged, max_retries=0)


def commit_detached(base: LanceDataset, staged: Transaction) -> LanceDataset:
    return LanceDataset.commit(base, staged, detached=True)


def promote(base: LanceDataset, detached: LanceDataset) -> LanceDataset:
    operation = LanceOperation.Restore(detached.version)
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)


def carried(base: LanceDataset) -> list[FragmentMetadata]:
    return [each.metadata for each in base.get_fragments()]


def overwrite(base: LanceDataset, fragments: Sequence[FragmentMetadata], schema: pa.Schema | None = None):
    """The strict commit: these fragments and nothing else, as the direct successor of ``base``."""
    operation = LanceOperation.Overwrite(schema or base.schema, list(fragments))
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)


def publish(base: LanceDataset, data: pa.Table, schema: pa.Schema | None = None) -> LanceDataset:
    return overwrite(base, [*carried(base), *write_fragments(data, base)], schema)
