"""What a write prepares before anybody can see it: its directory and its temporary file.

Both survive company: other processes may make the same directory, or remove it with ``delete_prefix``, at any moment.
Whoever finds a directory gone gets a ``FileNotFoundError`` and starts anew.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator


def make_directories(path: str) -> Iterator[str]:
    """Make a directory and those above it; each one that this call made, outermost first, before the next is made.

    Raises:
        NotADirectoryError: something else stands in the way, such as a file or a link that leads nowhere.
        FileNotFoundError: a directory on the way was removed meanwhile.
    """
    missing: list[str] = []
    while not _is_directory(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        try:
            os.mkdir(each)
        except FileExistsError:
            # Another process was quicker. If it made something else than a directory, the next call says so.
            continue
        yield each


def create_temporary(path: str) -> tuple[str, int]:
    """A new, empty file beside ``path`` under a reserved name: where it is, and its descriptor for writing."""
    while True:
        temporary = f"{path}#{secrets.randbits(60)}"
        try:
            return temporary, os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, in as many calls as the system wants."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _is_directory(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not os.path.islink(path):
            return False
        mode = 0
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return True
