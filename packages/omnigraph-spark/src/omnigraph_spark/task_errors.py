"""How an error that a task raised comes back to whoever waits for the job.

    task ── OmnigraphError ──> TaskError ── Spark: again, then an account of the failed job ──> the same error

Spark tries a task again that raises, and when it has tried often enough it tells of the last attempt in a text of its
own, with the ways that both processes took. The error stands in that text as JSON, and is read from it; so it comes
through any number of stages and over Spark Connect. It is no pickle, because a text may quote what users wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Final

from omnigraph import errors
from omnigraph.errors import OmnigraphError, StorageCondition, StorageError
from omnigraph_spark.workers import prepare_worker

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterable[pa.RecordBatch]
    Task = Callable[[Batches], Iterator[pa.RecordBatch]]

_MARK: Final = "omnigraph-error: "


class TaskError(Exception):
    """An error of a task, in words that survive what Spark does with them."""

    def __init__(self, error: OmnigraphError) -> None:
        super().__init__(f"{error}\n{_MARK}{_spell(error)}")


def telling(task: Task) -> Task:
    """The same task, whose errors ``plain_errors`` finds again."""

    @wraps(task)
    def told(batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        with told_errors():
            yield from task(batches)

    return told


@contextmanager
def told_errors() -> Iterator[None]:
    """What is raised in the block of a task, ``plain_errors`` finds again."""
    try:
        yield
    except OmnigraphError as error:
        raise TaskError(error) from error


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise what a task raised instead of what Spark says about its job; what no task of ours raised stays as it is."""
    try:
        yield
    except Exception as error:
        found = error_of_task(error)
        if found is None:
            raise
        # Spark's account is long and says nothing more; it is in the log of Spark.
        raise found from None


def error_of_task(error: BaseException) -> OmnigraphError | None:
    """The error of a task that Spark gave up on; None where Spark tells of something else."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return None
    _, found, text = str(error).rpartition(_MARK)
    return _read(text) if found else None


def _spell(error: OmnigraphError) -> str:
    # Backends may have kinds of their own, which the driver need not know.
    known = next(each for each in type(error).__mro__ if getattr(errors, each.__name__, None) is each)
    return json.dumps({"class": known.__name__, **vars(error)}, default=str)


def _read(text: str) -> OmnigraphError | None:
    try:
        facts, _ = json.JSONDecoder().raw_decode(text)
        made = getattr(errors, facts.pop("class"))
        if not issubclass(made, OmnigraphError):
            return None
        error: OmnigraphError = made.__new__(made, facts["message"])
        super(OmnigraphError, error).__init__(facts["message"])
        vars(error).update(facts)
        if isinstance(error, StorageError):
            error.condition = StorageCondition(facts["condition"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return error
