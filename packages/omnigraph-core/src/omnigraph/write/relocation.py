"""``relocate``: a graph that was moved or copied with other tools, whose branches name their files where they are now.

    lines of tables ──> lines of the manifest

A branch opens when its line of the manifest does, so that comes last: what is cut off is refused as before, and going
on does the rest. Nothing of a branch changes but where it looks, so no commit is made: every commit, tag, row id and
index is what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from omnigraph import failpoints
from omnigraph.errors import FormatError, NotFoundError
from omnigraph.failpoints import reach
from omnigraph.history.branches import list_branch_names, resolve_branch
from omnigraph.history.log import MANIFEST
from omnigraph.history.repository import Repository
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.relocating import relocate_lines

TABLE_PREFIXES: Final = ("nodes", "edges")
"""Below these the tables of types lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair did.

    Attributes:
        relocated: branches that name their files at the place of the graph now, and did not before; by name.
        versions: versions of tables and of the manifest that were changed for it, those of deleted branches too.
    """

    relocated: tuple[str, ...]
    versions: int

    def to_dict(self) -> dict[str, Any]:
        return {"relocated": list(self.relocated), "versions": self.versions}


def relocate(repository: Repository) -> RepairReport:
    """Let every line of a graph name files where the graph is; nothing is done to lines that do already.

    Raises:
        FormatError: a version is damaged; all others are done.
        StorageError: the store did not answer; some are done, and the same again does the rest.
    """
    adapter = repository.adapter
    tables = relocate_lines(adapter, _files(adapter, TABLE_PREFIXES))
    reach(failpoints.RELOCATE_TABLES_DONE)
    manifests = relocate_lines(adapter, _files(adapter, (MANIFEST,)))
    repository.forget()
    damaged = (*tables.damaged, *manifests.damaged)
    if damaged:
        raise damaged[0]
    lines = {each.line for each in manifests.versions}
    return RepairReport(
        relocated=tuple(name for name in list_branch_names(adapter) if _line_of(adapter, name) in lines),
        versions=len(tables.versions) + len(manifests.versions),
    )


def _files(adapter: StorageAdapter, prefixes: tuple[str, ...]) -> Iterator[ObjectKey]:
    for each in prefixes:
        yield from adapter.list(adapter.key(each))


def _line_of(adapter: StorageAdapter, name: str) -> str | None:
    try:
        return resolve_branch(adapter, name).physical
    except (FormatError, NotFoundError):
        # It is damaged or gone, and no line of it was looked for by its name.
        return None
