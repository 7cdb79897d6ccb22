"""What is done once in each Python worker of Spark, before the first task of ours there does its work.

Spark lets a worker collect all its garbage after every task, before it takes the next one. Of what there is to look
through, nearly all is modules and what belongs to them: Arrow, Lance and ours together take some 45 ms each time, which
is as long as reading several hundred thousand rows. Frozen, they are not looked through.
"""

from __future__ import annotations

import gc

_is_prepared = False


def prepare_worker() -> None:
    """Freeze what a worker has imported. In a process that runs no task of Spark, nothing happens."""
    global _is_prepared
    if _is_prepared:
        return
    from pyspark import TaskContext

    if TaskContext.get() is not None:
        # Once: what later tasks made and left has to be collected.
        gc.freeze()
        _is_prepared = True
