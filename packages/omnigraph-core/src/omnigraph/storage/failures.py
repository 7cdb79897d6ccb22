"""From an exception to a ``StorageCondition``, by type and number only, never by reading text.

Adapters let the exceptions of their store fly; the base class catches them at the edge of each verb and calls
``condition_of``. A backend whose store has exceptions of its own adds them by overriding
``StorageAdapter._condition``.
"""

from __future__ import annotations

import errno
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
    (FileExistsError, _P),
    (FileNotFoundError, StorageCondition.NOT_FOUND),
    (UnicodeError, StorageCondition.PERMANENT),
)

_ADVICE_BY_ERRNO: Final = {
    errno.EACCES: "Give this user access to it, or choose another place.",
    errno.EPERM: "Give this user access to it, or choose another place.",
    errno.ENOSPC: "Free space on the device; nothing was replaced.",
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
    StorageCondition.UNKNOWN: "Look at the cause below; if it should be recognised, please report it.",
}

Recogniser = Callable[[BaseException], StorageCondition | None]


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, at most ``MAX_CAUSES`` of them."""
    current: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def condition_of(error: BaseException, recognise: Recogniser | None = None) -> StorageCondition:
    """What the first telling exception in the chain is evidence of.

    ``recognise`` is asked first for each exception; the operating system's own errors come after it.
    """
    for cause in causes(error):
        found = (recognise(cause) if recognise else None) or _own_condition(cause)
        if found is not None:
            return found
    return StorageCondition.UNKNOWN


def advice_for(error: BaseException, condition: StorageCondition) -> str:
    """The next move for a person who meets this failure."""
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.errno in _ADVICE_BY_ERRNO:
            return _ADVICE_BY_ERRNO[cause.errno]
    return _ADVICE[condition]


def _own_condition(error: BaseException) -> StorageCondition | None:
    if isinstance(error, OSError) and error.errno is not None:
        found = BY_ERRNO.get(error.errno)
        if found is not None:
            return found
    return next((condition for kind, condition in _BY_TYPE if isinstance(error, kind)), None)
