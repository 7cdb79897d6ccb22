"""A file system of a few megabytes that can be filled to any level and emptied again.

It is a tmpfs in a mount namespace of its own, so that nothing stays mounted however a run ends. That takes root, or a
system on which everybody may make namespaces.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IS_APART = "OUTSIDE_MOUNT_NAMESPACE"


def go_apart() -> None:
    """Start this program anew in a mount namespace of its own; where that is not possible, nothing happens."""
    if _IS_APART in os.environ:
        return
    for command in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        try:
            probe = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False)
        except FileNotFoundError:
            return
        if probe.returncode == 0:
            os.execvpe(command[0], [*command, sys.executable, *sys.argv], os.environ | {_IS_APART: "yes"})


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
    """Mount one for as long as the block lasts; None where that is not possible."""
    path.mkdir(parents=True, exist_ok=True)
    libc = ctypes.CDLL(None)
    options = f"size={byte_count}".encode()
    if _IS_APART not in os.environ or libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, options) != 0:
        yield None
        return
    try:
        yield SmallDisk(path)
    finally:
        libc.umount2(os.fsencode(path), 2)
