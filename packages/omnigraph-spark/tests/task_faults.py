"""Tasks that stumble once: before or after their work they raise, sleep, or take a process with them.

A stumbling task travels to workers that have no tests, so whatever it needs is inside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Task = Callable[..., Any]


def stumbling(
    make_task: Callable[..., Task],
    mark: Path,
    *,
    how: str,
    when: str = "before",
    pid: int = 0,
    times: int = 1,
    is_grouped: bool = False,
) -> Callable[..., Task]:
    """The same maker of tasks, of which the first to come by stumble.

    Args:
        make_task: of ``omnigraph_spark.tasks``, ``judge`` or ``merging``.
        mark: a directory that gets a file for each time that one stumbled, below ``stumbles``, and below ``done`` one
            for each time that the work of a task was done: number of the partition, number of the attempt.
        how: ``raise``; ``store``, which raises what a store says that is busy; ``sleep`` for longer than Spark has
            patience with one; ``kill`` the Python worker, the ``kill executor`` that it works for, or ``kill driver``,
            whose process id is ``pid``.
        when: ``before`` or ``after`` the work of the task.
        times: how many tasks stumble.
        is_grouped: the task takes the key and the rows of a group.
    """
    directory = str(mark)

    def made(*given: Any) -> Task:
        task = make_task(*given)

        def stumble() -> None:
            import os
            import signal
            import time
            from pathlib import Path

            # Of tasks that come by at once, each number is for one of them.
            for number in range(times):
                try:
                    Path(directory, "stumbles", str(number)).touch(exist_ok=False)
                    break
                except FileExistsError:
                    continue
            else:
                return
            if how == "raise":
                raise RuntimeError("stumbled")
            if how == "store":
                from omnigraph.errors import StorageCondition, StorageError

                raise StorageError(
                    "The store is busy.", condition=StorageCondition.TRANSIENT, uri="s3://b/g", help="Try again later."
                )
            if how == "sleep":
                time.sleep(60)
            elif how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif how == "kill executor":
                # The worker's parent is the daemon that forked it, and the daemon's is the executor.
                words = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
                os.kill(int(words[1]), signal.SIGKILL)
                time.sleep(20)
            else:
                os.kill(pid, signal.SIGKILL)
                time.sleep(20)

        def note_done() -> None:
            from pathlib import Path

            from pyspark import TaskContext

            context = TaskContext.get()
            if context is not None:
                Path(directory, "done", f"{context.partitionId()}.{context.attemptNumber()}").touch()

        def stumbling_over(batches: Any) -> Any:
            # Within the task, as if it were its own work.
            if batches and when == "before":
                stumble()
            yield from batches

        def faulty(batches: Any) -> Any:
            batches = list(batches)
            answers = list(task(stumbling_over(batches)))
            note_done()
            if batches and when == "after":
                stumble()
            yield from answers

        def faulty_group(key: Any, rows: Any) -> Any:
            if when == "before":
                stumble()
            answer = task(key, rows)
            note_done()
            if when == "after":
                stumble()
            return answer

        return faulty_group if is_grouped else faulty

    return made
