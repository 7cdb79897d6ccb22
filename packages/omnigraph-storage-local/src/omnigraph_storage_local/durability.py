"""From "written" to "survives a loss of power": syncing files and directories.

A file is safe when its bytes are on the device and so is its name in its directory, the name of that directory in
the one above, and so on. Renaming makes a file visible; only these calls make it last.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from typing import Final

_NO_FULL_SYNC: Final = frozenset({errno.ENOTSUP, errno.EINVAL, errno.ENOTTY})
_NO_DIRECTORY_SYNC: Final = frozenset({errno.EINVAL, errno.EBADF})


def sync_descriptor(descriptor: int) -> None:
    """Return when the device, not only its cache, holds the file."""
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is None:
        os.fsync(descriptor)
        return
    try:
        fcntl.fcntl(descriptor, full_sync)
    except OSError as error:
        # A network volume does not know F_FULLFSYNC; fsync then asks its server, and there is no more to ask for.
        if error.errno not in _NO_FULL_SYNC:
            raise
        os.fsync(descriptor)


def sync_directory(path: str) -> tuple[int, int]:
    """Sync the names in one directory; the identity of that directory, as device and inode."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = os.fstat(descriptor)
        try:
            sync_descriptor(descriptor)
        except OSError as error:
            # Some network file systems cannot sync a directory: they write names through, and refusing them
            # would gain nobody anything.
            if error.errno not in _NO_DIRECTORY_SYNC:
                raise
    finally:
        os.close(descriptor)
    return identity_of(found)


def identity_of(found: os.stat_result) -> tuple[int, int]:
    """Tells a directory from another one that is made later under its name: device and inode."""
    return found.st_dev, found.st_ino


def directories_above(path: str, root: str) -> Iterator[str]:
    """The directories that lead to ``path``, from its own up to ``root``; none when ``path`` is the root."""
    while path != root:
        path = os.path.dirname(path)
        yield path
