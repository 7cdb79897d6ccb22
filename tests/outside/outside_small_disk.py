"""A file system of a few megabytes that can be filled to any level and emptied again.

It is a tmpfs, which root may mount, and anybody in a mount namespace of their own where the system allows that. Where
neither is possible a limit on the size of files stands in for it, see ``full_disk``.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWUSER, _MS_PRIVATE, _MS_REC = 0x20000, 0x10000000, 1 << 18, 1 << 14


class SmallDisk:
    """A mounted file system and the file that fills it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    @property
    def free_bytes(self) -> int:
        facts = os.statvfs(self.path)
        return facts.f_bavail * facts.f_frsize

    def leave(self, count: int) -> None:
        """Fill it up to so many free bytes."""
        self.empty()
        size = self.free_bytes - count
        if size > 0:
            with self._ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, byte_count: int) -> Iterator[SmallDisk | None]:
    """Mount one for as long as the block lasts; None where that is not allowed."""
    path.mkdir(parents=True, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if not _mounted(libc, path, byte_count) and not (_alone(libc) and _mounted(libc, path, byte_count)):
        yield None
        return
    try:
        yield SmallDisk(path)
    finally:
        libc.umount2(os.fsencode(path), 2)


def _mounted(libc: ctypes.CDLL, path: Path, byte_count: int) -> bool:
    return libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, f"size={byte_count}".encode()) == 0


def _alone(libc: ctypes.CDLL) -> bool:
    """Go to namespaces of our own, in which we may mount; False where the system forbids that."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) == 0
