"""Which files are objects, and what it means when something else stands at a path.

An object is a regular file, or a link to one. Directories, pipes, sockets and links that lead nowhere are none. A name
below an object (``a/b`` where ``a`` is a file) has nothing stored under it; only a root that is a file is an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress


def is_object(path: str, root: str) -> bool:
    """Whether an object is at the path. Refused access raises."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        refuse_file_as_root(root)
        return False


@contextmanager
def open_object(path: str, root: str) -> Iterator[tuple[int, int]]:
    """An object open for reading: its descriptor and its size.

    Raises:
        FileNotFoundError: there is none.
    """
    try:
        # O_NONBLOCK, or a stranger's named pipe would hang whoever reads it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except NotADirectoryError as error:
        refuse_file_as_root(root)
        raise not_found(path) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise not_found(path)
        yield descriptor, found.st_size
    finally:
        os.close(descriptor)


def open_directory(path: str, root: str) -> AbstractContextManager[Iterator[os.DirEntry[str]] | None]:
    """The entries of a directory; None when there is none."""
    try:
        return os.scandir(path)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        refuse_file_as_root(root)
    return nullcontext(None)


def leads_to_object(entry: os.DirEntry[str]) -> bool:
    """Whether a directory entry is an object."""
    try:
        return entry.is_file()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise


def refuse_directory(path: str) -> None:
    """Raise ``IsADirectoryError`` when a directory stands where an object is to be."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def refuse_file_as_root(root: str) -> None:
    """Raise ``NotADirectoryError`` when something else than a directory stands at the root or above it."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(root).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), root)


def not_found(path: str) -> FileNotFoundError:
    """The error of an object that is not there."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
