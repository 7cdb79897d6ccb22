"""From what Lance raises to a ``StorageError``: the one place that reads the text of an exception.

Lance reports everything as OSError, ValueError or RuntimeError, with neither a number nor a type of its own. Its text
is the only evidence there is, so it is read here, and never passed on: it may hold signed addresses and credentials.
The exception itself stays behind the error as ``__cause__``.

A panic of Rust, which damaged files lead to, comes as a ``BaseException`` that ``except Exception`` does not catch. The
process goes on afterwards, so a panic is translated as any other exception of Lance.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from lance.commit import CommitConflictError

from omnigraph.errors import OmnigraphError, StorageCondition, StorageError
from omnigraph.errors.panics import is_panic, is_panic_class
from omnigraph.storage.failures import BY_ERRNO, advice_for
from omnigraph.tables.processes import enter_lance

LANCE_ERRORS: Final[tuple[type[BaseException], ...]] = (
    OSError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    KeyError,
    pa.ArrowException,
    # Lance was imported above, so that its class is there.
    *(each for each in BaseException.__subclasses__() if is_panic_class(each)),
)
"""What Lance raises, its panics too; ``CommitConflictError`` is one of them."""

_NUMBER: Final = re.compile(r"\(os error (\d+)\)")

_BY_WORDS: Final = {
    StorageCondition.CONFIGURATION: (
        "version of lance", "not supported", "unsupported", r"status:? 40[13]", "forbidden", "unauthorized",
        "access ?denied", "invalidaccesskey", "signaturedoesnotmatch", "expired ?token", "permission ?denied",
        "unauthenticated", "nosuchbucket",
    ),
    StorageCondition.TRANSIENT: (
        "error sending request", "request or response body error", "timed? ?out",
        "connection (reset|refused|closed|aborted)",
        r"status:? (5\d\d|429|408)", "slow ?down", "dns error", "retries",
    ),
    StorageCondition.PRECONDITION: ("already exists",),
    StorageCondition.NOT_FOUND: ("not found", "no such", "does not exist", "no data in memory"),
    StorageCondition.PERMANENT: (
        "corrupt", "panicked", "file size is too small", "failed to decode", r"invalid range 0\.\.0", "magic",
        "out of range", "does not have a transaction file",
    ),
}  # fmt: skip
"""What Lance's texts say, in order of weight. Access comes before absence: a store may word a refusal as either."""

_BY_TEXT: Final = tuple(
    (re.compile("|".join(words), re.IGNORECASE), condition) for condition, words in _BY_WORDS.items()
)


def condition_of_lance(error: BaseException) -> StorageCondition:
    """What an exception of Lance is evidence of."""
    if isinstance(error, StorageError):
        return error.condition
    if isinstance(error, CommitConflictError):
        return StorageCondition.PRECONDITION
    if is_panic(error):
        return StorageCondition.PERMANENT
    text = str(error)
    number = _NUMBER.search(text)
    if number is not None and int(number.group(1)) in BY_ERRNO:
        return BY_ERRNO[int(number.group(1))]
    return next((condition for pattern, condition in _BY_TEXT if pattern.search(text)), StorageCondition.UNKNOWN)


def as_storage_error(error: BaseException, doing: str, uri: str) -> StorageError:
    """The error that says what could not be done to which thing: ``doing`` is a verb such as ``"read"``."""
    condition = condition_of_lance(error)
    number = _NUMBER.search(str(error))
    if number is not None and int(number.group(1)) in errno.errorcode:
        words = os.strerror(int(number.group(1)))
        reason, advice = words[:1].lower() + words[1:], advice_for(OSError(int(number.group(1)), words), condition)
    else:
        reason, advice = _REASONS[condition], _ADVICE.get(condition) or advice_for(error, condition)
    return StorageError(
        f"Could not {doing} {uri}: {reason}.",
        condition=condition,
        uri=uri,
        help=advice,
        details={"verb": doing, "cause": type(error).__name__},
    )


@contextmanager
def translating(doing: str, uri: str) -> Iterator[None]:
    """Turn what Lance raises in the block into a ``StorageError``.

    Raises:
        ForkedProcessError: Lance cannot be used in this process; the block is not run.
    """
    enter_lance(uri)
    try:
        yield
    except OmnigraphError:
        raise
    except LANCE_ERRORS as error:
        raise as_storage_error(error, doing, uri) from error


_REASONS: Final = {
    StorageCondition.TRANSIENT: "the store did not answer",
    StorageCondition.CONFIGURATION: "the store refused it, or Lance does not support it there",
    StorageCondition.NOT_FOUND: "there is no such version, or a file of it is missing",
    StorageCondition.PRECONDITION: "another writer was there first",
    StorageCondition.PERMANENT: "what lies there is damaged",
    StorageCondition.UNKNOWN: "Lance failed",
}

_ADVICE: Final = {
    StorageCondition.NOT_FOUND: "It was reclaimed, or never written; read a newer commit.",
    StorageCondition.PERMANENT: "Restore the files from another copy, or read an older commit.",
}
