"""``BasePlaces``: where rows of the base lie in the target, so that a merge need not look for rows by their ids.

A merge finds the rows that the source changed in the base, with their addresses. A part that the target shares with the
base has the same rows at the same addresses, but for those that the target deleted or moved, which its list names. Only
rows of other parts, after a fold say, are looked for by id. What lies where it was, the target did not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.tables.interface import TableStorage
from omnigraph.write.committed import CommittedRows
from omnigraph.write.merge.heads import TypeHeads
from omnigraph.write.stage import MAX_LOCATED

MAX_REMOVED: Final = 1_000_000
"""More rows that go are left to Lance, which finds them by a pass over the table in bounded memory.

Of rows that are replaced it is ``MAX_LOCATED``: those by address keep their stable ids in the description of the table,
which every later commit writes again.
"""

_PART_BITS: Final = np.uint64(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePlaces:
    """The places of one type.

    Attributes:
        committed: the target.
    """

    heads: TypeHeads
    committed: CommittedRows

    def locate(self, rows: pa.Table, most: int) -> pa.Array | None:
        """Where the rows lie whose ids and addresses in the base these are; None where they are more than that."""
        if rows.num_rows > most:
            return None
        ids, addresses = (rows[each].combine_chunks() for each in rows.column_names)
        found = unmoved(self.committed.tables, self.heads, addresses)
        if found.null_count > MAX_LOCATED:
            return None
        missing = found.is_null()
        if not found.null_count:
            return found
        return pc.replace_with_mask(found, missing, self.committed.locate(self.heads.type, ids.filter(missing)))


def unmoved(tables: TableStorage, heads: TypeHeads, addresses: pa.Array) -> pa.Array:
    """Addresses of rows of the base, null where the target has another row there, or none."""
    if heads.base.pin == heads.target.pin:
        return addresses
    base, target = (tables.open_at(each.pin) for each in (heads.base, heads.target))
    before = {(each.number, each.files) for each in tables.parts(base)}
    shared = [each.number for each in tables.parts(target) if (each.number, each.files) in before]
    given = addresses.fill_null(0).to_numpy()
    numbers = given >> _PART_BITS
    touched = np.intersect1d(numbers, np.array(shared, np.uint64))
    is_there = np.isin(numbers, touched)
    for number, offsets in tables.deleted(target, touched.tolist()).items():
        is_there &= ~np.isin(given, (np.uint64(number) << _PART_BITS) + offsets)
    return pc.if_else(pa.array(is_there), addresses, pa.scalar(None, pa.uint64()))
