"""Which committed rows a condition holds for: their addresses, found in memory, by an index, or in one pass.

The one encoder says what storage may sieve by; whatever it lets through is judged here, so the answer is that of the
language on every column.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.engine.comparing import compare
from omnigraph.engine.frame import Mask
from omnigraph.engine.pushdown import encode
from omnigraph.history.schemas import TypeTable
from omnigraph.history.warm import ADDRESS
from omnigraph.write.committed import CommittedRows
from omnigraph.write.mutation.statements import Condition


def find_matching(committed: CommittedRows, target: TypeTable, condition: Condition) -> pa.Array:
    """The addresses of the committed rows for which a condition holds, ascending."""
    if condition.value is None or not committed.row_count(target):
        return pa.array([], pa.uint64())
    sieve = encode(condition.column, condition.type, condition.operator, condition.value)
    found = [np.empty(0, np.uint64)]
    for batch in committed.column_batches(target, condition.column, sieve):
        addresses = batch[ADDRESS].to_numpy()
        found.append(addresses[holds(condition, batch[condition.column])])
    return pa.array(np.sort(np.concatenate(found)))


def holds(condition: Condition, values: pa.Array) -> Mask:
    """For each value of the condition's column whether it is true."""
    if condition.value is None:
        return np.zeros(len(values), np.bool_)
    return compare(values, condition.operator, condition.value)
