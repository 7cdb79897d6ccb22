"""Panics of Rust, as they reach Python: a ``BaseException`` that ``except Exception`` does not catch.

Lance and DataFusion stop in this way at what their authors held to be impossible, such as a damaged file. The process
goes on afterwards. So a panic is translated where the library is called, as every other exception of it: here for
DataFusion, in ``omnigraph.tables.failures`` for Lance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors.root import InternalError


def is_panic(error: BaseException) -> bool:
    """Whether code in Rust stopped at a fault of its own."""
    return is_panic_class(type(error))


def is_panic_class(kind: type[BaseException]) -> bool:
    """Whether a panic comes as this class. Each library has one of its own of this name, and none exports it."""
    return (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")


@contextmanager
def translating_panics(doing: str) -> Iterator[None]:
    """Turn a panic of DataFusion in the block into an ``InternalError``; its other exceptions come out unchanged.

    Args:
        doing: what could not be done, such as ``"sort the values"``.
    """
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise InternalError(
            f"Could not {doing}: DataFusion stopped at a fault of its own.",
            help="Report it with the call that you made; the standard error of this process names the place.",
            details={"cause": type(error).__name__},
        ) from error
