"""Where Lance keeps the stable ids of rows and the versions that made and last changed them: with the rows.

    in the description of a version   written anew by every commit, with what it says of every part
    in the data files                 written once, with the rows

Lance keeps them in the description unless the table says otherwise. There a part of rows from many commits takes 20
bytes a row, and one of rows that a merge changed here and there 10: after a thousand commits of one row, each writes 20
kB of what the others did. Lance asks the configuration of the table, which a new table cannot be given. So parts of
rows with a history are written through a detached version that has it, and are as good for the version itself.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from lance import LanceDataset

from omnigraph.storage import StorageAdapter
from omnigraph.tables.committing import detached_with_settings
from omnigraph.tables.handles import LanceSnapshot

MAX_DESCRIBED_BYTES: Final = 256
"""What the description of a part may hold of each: ids, versions that made rows, versions that changed them."""

_SETTINGS: Final = {
    "lance.row_lineage.spill": "true",
    "lance.row_lineage.inline_max_bytes": str(MAX_DESCRIBED_BYTES),
}


def facts_beside_rows(adapter: StorageAdapter, base: LanceSnapshot) -> AbstractContextManager[LanceDataset]:
    """The same rows as the base, for staging parts that hold the ids and versions of their rows themselves."""
    return detached_with_settings(adapter, base, _SETTINGS)
