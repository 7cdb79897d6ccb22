"""From an exception to a ``StorageCondition``, by type and number only, never by reading text.

Adapters let the exceptions of their store fly; the base class catches them at the edge of each verb and calls
``condition_of``. A backend whose store has exceptions of its own adds them by overriding
``StorageAdapter._condition``.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from typing import Final

from omnigraph.errors import StorageCondition

MAX_CAUSES: Final = 8
"""How many links of an exception's chain are looked at."""

_T, _C, _P = StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION, StorageCondition.PRECONDITION

_BY_NAME: Final = {
    "ETIMEDOUT": _T, "EINTR": _T, "ECONNRESET": _T, "ECONNREFUSED": _T, "ECONNABORTED": _T, "EPIPE": _T,
    "EHOSTUNREACH": _T, "ENETUNREACH": _T, "EAGAIN": _T, "EWOULDBLOCK": _T, "EBUSY": _T, "ESTALE": _T,
    "EACCES": _C, "EPERM": _C, "EINVAL": _C, "ENOTSUP": _C, "EOPNOTSUPP": _C, "ENOSYS": _C, "ENOSPC": _C,
    "EDQUOT": _C, "EROFS": _C, "EFBIG": _C, "ENOTDIR": _C, "EISDIR": _C, "ENAMETOOLONG": _C, "ELOOP": _C,
    "EMFILE": _C, "ENFILE": _C, "EXDEV": _C, "EMLINK": _C,
    "EEXIST": _P, "ENOTEMPTY": _P,
    "ENOENT": StorageCondition.NOT_FOUND,
}  # fmt: skip
BY_ERRNO: Final = {getattr(errno, name): condition for name, condition in _BY_NAME.items() if hasattr(errno, name)}
"""Operating system error numbers and what they are evidence of; anything else is ``unknown``."""

_BY_TYPE: Final[tuple[tuple[type[BaseException], StorageCondition], ...]] = (
    (TimeoutError, _T),
    (ConnectionError, _T),
    (InterruptedError, _T),
    (BlockingIOError, _T),
    (PermissionError, _C),
    (NotADirectoryError, _C),
    (IsADirectoryError, _C),
    (NotImplementedError, _C),
    (io.UnsupportedOperation, _C),
    (FileExistsError, _P),
    (FileNotFoundError, StorageCondition.NOT_FOUND),
    (UnicodeError, StorageCondition.PERMANENT),
)

_OWN_NUMBERS: Final = {("ssl", "SSLError"), ("socket", "gaierror"), ("socket", "herror")}
"""OSErrors whose ``errno`` counts something else: an SSL "want read" is 2, as ENOENT is. By name, to import neither."""

_ADVICE_BY_ERRNO: Final = {
    errno.EACCES: "Give this user access to it, or choose another place.",
    errno.EPERM: "Give this user access to it, or choose another place.",
    errno.ENOSPC: "Free space on the device.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or choose another file system.",
    errno.EROFS: "Remount the file system writable, or choose another place.",
    errno.ENOTDIR: "A file stands where a directory is needed; move it or choose another place.",
    errno.EISDIR: "A directory stands where an object is needed; move it or choose another place.",
    errno.ELOOP: "The path runs through a loop of symbolic links; remove the loop.",
}

_ADVICE: Final = {
    StorageCondition.TRANSIENT: "Check that the store is up and reachable, then repeat the operation.",
    StorageCondition.CONFIGURATION: "Correct the location, the credentials or the options.",
    StorageCondition.NOT_FOUND: "Check the name; nothing is stored there.",
    StorageCondition.PRECONDITION: "Read the current state again and decide anew.",
    StorageCondition.PERMANENT: "The stored bytes are not what they should be; restore them from another copy.",
    StorageCondition.UNKNOWN: "Look at the exception behind it; omnigraph --debug shows it.",
}

_MAKING_VERBS: Final = frozenset({"write", "create", "replace"})
"""Verbs that need a place for their object and not the object itself."""

Recogniser = Callable[[BaseException], StorageCondition | None]


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, at most ``MAX_CAUSES`` of them."""
    return (cause for cause, _ in _links(error))


def _links(error: BaseException) -> Iterator[tuple[BaseException, bool]]:
    """``causes``, each with whether only ``raise … from …`` led to it."""
    current: BaseException | None = error
    is_stated = True
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield current, is_stated
        if current.__cause__ is not None:
            current = current.__cause__
        else:
            current = None if current.__suppress_context__ else current.__context__
            is_stated = False


def condition_of(error: BaseException, recognise: Recogniser | None = None) -> StorageCondition:
    """What the first telling exception in the chain is evidence of.

    ``recognise`` is asked first for each exception; the operating system's own errors come after it. Absence counts
    only where it was stated: an error raised while, say, a missing credentials file was handled is not ``not_found``.
    """
    for cause, is_stated in _links(error):
        found = (recognise(cause) if recognise else None) or _own_condition(cause)
        if found is not None and (is_stated or found is not StorageCondition.NOT_FOUND):
            return found
    return StorageCondition.UNKNOWN


def advice_for(error: BaseException, condition: StorageCondition, verb: str = "read") -> str:
    """The next move for a person who meets this failure while doing ``verb``."""
    for cause in causes(error):
        number = system_number(cause)
        if number in _ADVICE_BY_ERRNO and BY_ERRNO[number] is condition:
            return _ADVICE_BY_ERRNO[number]
    if condition is StorageCondition.NOT_FOUND and verb in _MAKING_VERBS:
        return "The place to write to does not exist; make it, or correct the location."
    return _ADVICE[condition]


def system_number(error: BaseException) -> int | None:
    """The operating system's number of an error, if it has one."""
    if not isinstance(error, OSError) or not isinstance(error.errno, int) or error.errno not in errno.errorcode:
        return None
    is_foreign = any((kind.__module__, kind.__name__) in _OWN_NUMBERS for kind in type(error).__mro__)
    return None if is_foreign else error.errno


def describe_failure(error: BaseException) -> str:
    """An exception in words that are free of its text: the system's wording of its number, or its type."""
    number = system_number(error)
    if number is not None:
        words = os.strerror(number)
        return words[:1].lower() + words[1:]
    return type(error).__name__


def _own_condition(error: BaseException) -> StorageCondition | None:
    number = system_number(error)
    if number in BY_ERRNO:
        return BY_ERRNO[number]
    return next((condition for kind, condition in _BY_TYPE if isinstance(error, kind)), None)
