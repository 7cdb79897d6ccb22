"""What a loss of power would leave of a directory: a model of the device behind it, kept while a test writes there.

    os.fsync of a file        its bytes are on the device
    os.fsync of a directory   the names in it are on the device, new ones and the absence of removed ones

Lance writes files by itself and syncs none, so its writes are not seen; they are found by looking at the directory
before each sync and at each failpoint. Whatever was not synced since may be lost, in any combination; a ``Loss`` is
one combination at one moment, and ``restore`` puts it in the place of the real directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from omnigraph.testing.faults import FAILPOINTS, Call, armed

Kind = Literal["everything", "bytes", "names", "some"]
KINDS: tuple[Kind, ...] = ("everything", "bytes", "names", "some")
"""What is lost of what was not synced: all of it, the bytes of files alone, names alone, or a random part of both."""

IS_FULL = os.environ.get("OMNIGRAPH_POWER_LOSS") == "full"
"""Whether a random part is lost after each sync too, and not only at failpoints."""


@dataclass(eq=False)
class Inode:
    """A file or a directory, as it is and as it is on the device.

    Attributes:
        stamp: time of the last change and size; tells whether the bytes must be read again.
        paths: where it was seen last.
        entries: of a directory, the names in it.
        synced: the bytes on the device; None when there are none.
        synced_entries: the names on the device.
    """

    is_directory: bool
    stamp: tuple[int, int] = (0, 0)
    paths: frozenset[str] = frozenset()
    data: bytes = b""
    entries: dict[str, Inode] = field(default_factory=dict)
    synced: bytes | None = None
    synced_entries: dict[str, Inode] = field(default_factory=dict)

    @property
    def is_safe(self) -> bool:
        """Whether its bytes are on the device; those of a directory are its names, which are told by themselves."""
        return self.is_directory or self.synced == self.data


@dataclass(frozen=True)
class Loss:
    """What is left after one loss of power.

    Attributes:
        step: the last thing that happened, and ``number`` its number among all.
        phase: what the test had said it was doing.
        files: bytes by path below the watched directory; None for a directory.
    """

    number: int
    step: str
    kind: Kind
    phase: int
    files: dict[str, bytes | None] = field(repr=False)

    @property
    def title(self) -> str:
        return f"{self.kind} lost at step {self.number}, after {self.step}, in phase {self.phase}"

    def restore(self, top: Path) -> None:
        """Leave in a directory what the loss left, and nothing else; what is right already stays."""
        for path in sorted((top / name for name, _ in _scan(top) if name and name not in self.files), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name, data in self.files.items():
            path = top / name
            if data is None:
                path.mkdir(exist_ok=True)
            elif not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
            # The machine is started again afterwards, so whatever is there was written before that.
            os.utime(path, (0, 0))


class Device:
    """Watches a directory from now on; what is in it now counts as synced.

    Attributes:
        phase: set by the test; every loss carries it.
        losses: each different outcome of each step, in order.
    """

    def __init__(self, top: Path, patch: pytest.MonkeyPatch) -> None:
        self.top = top
        self.phase = 0
        self.losses: list[Loss] = []
        self.steps: list[str] = []
        self._seen: set[tuple[int, str]] = set()
        self._known: dict[int, Inode] = {}
        self._lock = threading.RLock()
        self._look()
        for inode in self._known.values():
            inode.synced, inode.synced_entries = inode.data, dict(inode.entries)
        self._fsync = os.fsync
        # Where macOS has a stronger call than fsync, the interposed one is used instead.
        patch.delattr(fcntl, "F_FULLFSYNC", raising=False)
        patch.setattr(os, "fsync", self.fsync)

    @property
    def unsafe(self) -> set[str]:
        """Paths whose bytes or whose name would not survive now."""
        with self._lock:
            self._look()
            return {path for path, inode, is_named in self._walk() if not (is_named and inode.is_safe)}

    def fsync(self, descriptor: int) -> None:
        with self._lock:
            self._look()
            inode = self._known.get(os.fstat(descriptor).st_ino)
            if inode is None:
                self._fsync(descriptor)
                return
            kinds = KINDS if IS_FULL else KINDS[:3]
            # What was written since the last step, by Lance for instance, is all unsafe now.
            self.step(f"what came before the sync of {min(inode.paths)}", kinds)
            self._fsync(descriptor)
            inode.synced, inode.synced_entries = inode.data, dict(inode.entries)
            self.step(f"the sync of {min(inode.paths)}", kinds)

    def step(self, name: str, kinds: tuple[Kind, ...] = KINDS) -> None:
        """Something happened: keep what a loss of power would leave now."""
        with self._lock:
            self.steps.append(name)
            for kind in kinds:
                files = self.left(kind)
                digest = (self.phase, _digest(files))
                if digest not in self._seen:
                    self._seen.add(digest)
                    self.losses.append(Loss(len(self.steps), name, kind, self.phase, files))

    def left(self, kind: Kind) -> dict[str, bytes | None]:
        """What a loss of power would leave now."""
        with self._lock:
            self._look()
            return dict(self._left(kind, random.Random(len(self.steps))))

    def watch_failpoints(self) -> AbstractContextManager[None]:
        """A context in which every failpoint that is reached is a step."""
        return armed(dict.fromkeys(FAILPOINTS, Call(self.step)))

    # ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────

    def _look(self) -> None:
        while True:
            try:
                return self._look_once()
            except FileNotFoundError:
                # An init makes tables by several threads: a temporary file was renamed between two looks.
                continue

    def _look_once(self) -> None:
        scanned = list(_scan(self.top))
        if not self._known.keys() <= {status.st_ino for _, status in scanned}:
            # It was removed, or another thread renamed it during the scan, which saw neither of its names.
            scanned = list(_scan(self.top))
        found: dict[int, tuple[os.stat_result, set[str]]] = {}
        children: dict[str, list[tuple[str, int]]] = {}
        for path, status in scanned:
            found.setdefault(status.st_ino, (status, set()))[1].add(path)
            if path:
                parent, _, name = path.rpartition("/")
                children.setdefault(parent, []).append((name, status.st_ino))
        known: dict[int, Inode] = {}
        for number, (status, paths) in found.items():
            known[number] = self._recognised(number, status, frozenset(paths))
        for number, (status, paths) in found.items():
            if stat.S_ISDIR(status.st_mode):
                (path,) = paths
                known[number].entries = {name: known[child] for name, child in children.get(path, [])}
        self._known = known

    def _recognised(self, number: int, status: os.stat_result, paths: frozenset[str]) -> Inode:
        """The inode of this number, or a new one: numbers of removed files come again."""
        is_directory, stamp = stat.S_ISDIR(status.st_mode), (status.st_mtime_ns, status.st_size)
        inode = self._known.get(number)
        if inode is not None and (
            inode.is_directory != is_directory or not (inode.paths & paths or inode.stamp == stamp)
        ):
            inode = None
        inode = inode or Inode(is_directory)
        if not is_directory and inode.stamp != stamp:
            inode.data = (self.top / min(paths)).read_bytes()
        inode.stamp, inode.paths = stamp, paths
        return inode

    def _walk(self) -> Iterator[tuple[str, Inode, bool]]:
        for inode in list(self._known.values()):
            for name, child in inode.entries.items():
                prefix = min(inode.paths)
                yield f"{prefix}/{name}" if prefix else name, child, inode.synced_entries.get(name) is child

    # ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _left(self, kind: Kind, chance: random.Random) -> Iterator[tuple[str, bytes | None]]:
        (top,) = (inode for inode in self._known.values() if "" in inode.paths)
        pending = [("", top)]
        while pending:
            path, inode = pending.pop()
            if not inode.is_directory:
                yield path, _left_bytes(inode, kind, chance)
                continue
            if path:
                yield path, None
            for name, child in _left_entries(inode, kind, chance).items():
                pending.append((f"{path}/{name}" if path else name, child))


def _left_entries(directory: Inode, kind: Kind, chance: random.Random) -> dict[str, Inode]:
    if kind == "bytes":
        return directory.entries
    if kind in ("everything", "names"):
        return directory.synced_entries
    names = sorted({*directory.entries, *directory.synced_entries})
    sources = {name: chance.choice((directory.entries, directory.synced_entries)) for name in names}
    return {name: source[name] for name, source in sources.items() if name in source}


def _left_bytes(file: Inode, kind: Kind, chance: random.Random) -> bytes:
    if file.is_safe or kind == "names":
        return file.data
    if kind == "some":
        return chance.choice((b"", file.data[: len(file.data) // 2], bytes(len(file.data)), file.data))
    return b""


def _scan(top: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every path at and below a directory, relative to it, with its status.

    Raises:
        FileNotFoundError: something was removed or renamed meanwhile.
    """
    pending = [""]
    yield "", top.lstat()
    while pending:
        directory = pending.pop()
        for entry in list(os.scandir(top / directory)):
            status = entry.stat(follow_symlinks=False)
            path = f"{directory}/{entry.name}" if directory else entry.name
            yield path, status
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)


def _digest(files: dict[str, bytes | None]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        data = files[path]
        digest.update(f"{path}\0{'dir' if data is None else len(data)}\0".encode() + (data or b""))
    return digest.hexdigest()


Check = Callable[[Loss], None]


def check_every(device: Device, check: Check, *, phase: int | None = None) -> None:
    """Put each loss, or each of one phase, in the directory's place and check it; all that fail are told together."""
    failures: list[str] = []
    for loss in (each for each in device.losses if phase in (None, each.phase)):
        loss.restore(device.top)
        try:
            check(loss)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            failures.append(f"{loss.title}: {type(error).__name__}: {error}")
    assert not failures, f"{len(failures)} of {len(device.losses)}:\n" + "\n".join(failures)
