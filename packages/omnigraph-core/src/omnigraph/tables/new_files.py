"""Which files a write makes: each is said to whoever asked for it, so that a write that fails can remove its own.

    with collected_by(files): ...    every data file that this call finishes is given to ``files.add``

Lance removes what it had written when one of its own writes fails; so only finished files are told of. Nothing is told
on a backend whose tables have no files of the adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.opening import Place, place_of


class NewFiles(Protocol):
    """Who is told of the files of a write."""

    def add(self, files: Sequence[ObjectKey], directories: Sequence[ObjectKey], byte_count: int) -> None:
        """These lie there; nothing names them yet."""

    def release(self) -> None:
        """From now on a version may name any of them."""


_collector: Final[ContextVar[NewFiles | None]] = ContextVar("omnigraph_new_files", default=None)


@contextmanager
def collected_by(files: NewFiles) -> Iterator[None]:
    """Let ``files`` know of every file that the block writes."""
    token = _collector.set(files)
    try:
        yield
    finally:
        _collector.reset(token)


def note_new_files(
    place: Place, files: Sequence[ObjectKey], directories: Sequence[ObjectKey] = (), *, byte_count: int = 0
) -> None:
    """Say that files were written."""
    collector = _collector.get()
    if collector is not None and place.has_files and files:
        collector.add(files, directories, byte_count)


def are_on_disk(adapter: StorageAdapter) -> bool:
    """Whether tables lie in a file system of this machine, where a look costs no request and a full disk stays full."""
    return place_of(adapter, "any", None).is_on_disk


def release_new_files() -> None:
    """Say that a version is about to name what was written.

    Raises:
        StorageError: that could not be made known; nothing may name the files then.
    """
    collector = _collector.get()
    if collector is not None:
        collector.release()
