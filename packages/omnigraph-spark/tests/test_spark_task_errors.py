"""Errors of tasks come back as they were raised, out of what Spark says about a job that it gave up on."""

from __future__ import annotations

import pytest
from pyspark.errors import PythonException

from omnigraph.errors import (
    BackendNotInstalledError,
    NotFoundError,
    OmnigraphError,
    ResourceLimitError,
    StorageCondition,
    StorageError,
)
from omnigraph_spark.task_errors import error_of_task, plain_errors, telling

BUSY = StorageError(
    'The store "é" is busy:\n  SlowDown', condition=StorageCondition.TRANSIENT, uri="s3://b/g", help="Try again later."
)


class OwnError(StorageError):
    """Of a backend that only executors have."""


def account_of(error: Exception) -> PythonException:
    """What Spark makes of an error: a text around the text."""
    told = telling(lambda _batches: (_ for _ in ()).throw(error))
    with pytest.raises(Exception, match=r".") as caught:
        list(told([]))
    text = f"{type(caught.value).__name__}: {caught.value}"
    return PythonException(message=f"Job aborted: Traceback:\n  raise TaskError(error)\n{text}\n\n\tat org.Spark.run()")


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        NotFoundError("There is no such file.", help="Look elsewhere.", details={"name": "x"}),
        ResourceLimitError("Too much.", resource="bytes", limit=3, actual=4),
        BackendNotInstalledError("No backend.", uri="gs://b", help="Install it."),
    ],
)
def test_an_error_of_a_task_is_found_again_with_all_that_it_holds(error: OmnigraphError):
    found = error_of_task(account_of(error))
    assert found is not None
    assert type(found) is type(error)
    assert (str(found), vars(found)) == (str(error), vars(error))


def test_an_error_of_an_unknown_kind_comes_as_the_kind_that_it_is_one_of():
    found = error_of_task(account_of(OwnError("Own.", condition=StorageCondition.UNKNOWN)))
    assert type(found) is StorageError
    assert found.condition is StorageCondition.UNKNOWN


def test_what_no_task_of_ours_raised_stays_as_spark_says_it():
    spoken = account_of(RuntimeError("stumbled"))
    forged = PythonException(message='omnigraph-error: {"class": "sys", "message": "x"}')
    broken = PythonException(message='omnigraph-error: {"class": "StorageError"')
    for given in (spoken, forged, broken, ValueError("omnigraph-error: {}")):
        with pytest.raises(type(given)) as caught, plain_errors():
            raise given
        assert caught.value is given


def test_the_account_of_spark_is_not_shown_with_the_error():
    with pytest.raises(StorageError) as caught, plain_errors():
        raise account_of(BUSY)
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None
