"""Which files must survive a loss of power before a write may go on, and the call that sees to it.

Lance syncs nothing. Of a staged write it is the data, blob, deletion and index files; of a version its manifest, which
holds its transaction too. Transaction files and version hints need no sync: Lance does without them.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.handles import LanceSnapshot, LanceStaged
from omnigraph.tables.opening import manifest_name


def sync_staged(adapter: StorageAdapter, staged: Sequence[LanceStaged]) -> None:
    """Make the files of staged writes durable, in one call."""
    files: list[ObjectKey] = []
    for each in staged:
        if each.place.has_files:
            files.extend(each.files)
            for directory in each.blob_directories:
                files.extend(adapter.list(directory))
    _make_durable(adapter, files)


def sync_committed(adapter: StorageAdapter, handles: Sequence[LanceSnapshot]) -> None:
    """Make versions durable, in one call; what they hold was made so before they were committed."""
    files: list[ObjectKey] = []
    for each in handles:
        if each.place.has_files:
            files.extend(each.made_files)
            files.append(each.place.file(manifest_name(each.pin.version)))
    _make_durable(adapter, files)


def _make_durable(adapter: StorageAdapter, files: Sequence[ObjectKey]) -> None:
    if files:
        adapter.make_durable(dict.fromkeys(files))
