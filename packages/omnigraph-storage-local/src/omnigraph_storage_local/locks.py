"""``FileLock``: one holder at a time among all threads of all processes, on one lock file.

Threads of this process queue on a ``threading.Lock``; the first of them competes with other processes through
``flock``. The kernel frees the lock when its holder dies, so nothing is ever stale and nobody judges by age.

Why not the ``filelock`` library: it polls every 50 ms, a hundred times what a holder here needs, and it does not
notice that the lock file it waited for was removed together with its directory. Here a lock counts only if, once
taken, the path still leads to the locked inode.

A forked child starts with no lock: it closes the lock files it inherited, which leaves the parent's lock in place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph.errors import StorageCondition, StorageError

FIRST_WAIT_SECONDS: Final = 0.0002
LONGEST_WAIT_SECONDS: Final = 0.005

NOTHING_SO_FAR: Final = "This change was not made."
"""What has happened when the lock of a change that needs it once is not free."""

_NO_LOCKS_HERE: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})

# EBADF: NFS locks for writing only what is open for writing.
_REFUSALS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EBADF})


class _Process:
    """What this process knows of locks: a queue of threads per path, and the lock files it has open."""

    def __init__(self) -> None:
        self.guard = threading.RLock()
        self.queues: dict[str, threading.Lock] = {}
        self.open_files: set[int] = set()

    def queue(self, path: str) -> threading.Lock:
        with self.guard:
            return self.queues.setdefault(path, threading.Lock())

    def open(self, path: str) -> int:
        # Under the guard, which a fork waits for: no child inherits a lock file that it does not know of.
        with self.guard:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except PermissionError as refusal:
                # Another user of a shared directory made it. Who may read it may lock it.
                try:
                    descriptor = os.open(path, os.O_RDONLY)
                except OSError:
                    raise refusal from None
            self.open_files.add(descriptor)
            return descriptor

    def close(self, descriptor: int) -> None:
        """Unlock and close; nothing in a child that was forked while its parent held the lock."""
        with self.guard:
            if descriptor not in self.open_files:
                return
            self.open_files.discard(descriptor)
            try:
                # Closing alone would not do while a process that was started meanwhile still has a copy.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            finally:
                os.close(descriptor)

    def begin_fork(self) -> None:
        self.guard.acquire()

    def continue_as_parent(self) -> None:
        self.guard.release()

    def begin_as_child(self) -> None:
        # Not unlocked: the lock belongs to the open file, which the parent shares.
        for descriptor in self.open_files:
            os.close(descriptor)
        # The guard and the queues are new because threads that are not here may hold the old ones.
        self.guard, self.queues, self.open_files = threading.RLock(), {}, set()


_PROCESS: Final = _Process()
os.register_at_fork(
    before=_PROCESS.begin_fork,
    after_in_parent=_PROCESS.continue_as_parent,
    after_in_child=_PROCESS.begin_as_child,
)


class FileLock:
    """An exclusive lock on the file at ``path``, which is created when missing and never written to.

    Not reentrant. Cheap to make: nothing is opened until it is taken, and nothing stays open afterwards.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def hold(
        self, timeout_seconds: float, *, so_far: str = NOTHING_SO_FAR, opened: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Hold the lock for the length of a ``with`` block.

        ``so_far`` is a sentence on what the caller has done by now, for whoever reads that the lock was not free.
        ``opened`` is called each time the lock file is open and not yet locked.

        Raises:
            StorageError: ``transient`` when it is not free within the time; ``configuration`` when the file system
                has no locks or this user may not use the lock file.
            FileNotFoundError: the directory of the lock file does not exist.
        """
        deadline = time.monotonic() + timeout_seconds
        queue = _PROCESS.queue(self.path)
        if not queue.acquire(timeout=timeout_seconds):
            raise self._busy("another thread of this process", timeout_seconds, so_far)
        try:
            descriptor = self._take(deadline, so_far, opened)
            if descriptor is None:
                raise self._busy("another process", timeout_seconds, so_far)
            try:
                yield
            finally:
                _PROCESS.close(descriptor)
        finally:
            queue.release()

    def _take(self, deadline: float, so_far: str, opened: Callable[[], None]) -> int | None:
        """The lock file, open and locked; None when the time is over."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                descriptor = _PROCESS.open(self.path)
            except PermissionError as error:
                raise self._refused(so_far) from error
            try:
                opened()
                # A file that its holder removed with the directory locks nobody out: the others lock a new one.
                is_mine = self._try(descriptor, so_far) and self._still_leads_to(descriptor)
            except BaseException:
                _PROCESS.close(descriptor)
                raise
            if is_mine:
                return descriptor
            _PROCESS.close(descriptor)
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(wait, left))
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _try(self, descriptor: int, so_far: str) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in _REFUSALS:
                raise self._refused(so_far) from error
            if error.errno not in _NO_LOCKS_HERE:
                raise
            raise StorageError(
                f"The file system of {self.path} offers no file locks.",
                condition=StorageCondition.CONFIGURATION,
                uri=self.path,
                help="Nothing was written. Keep the graph on a file system with flock(2); on a network file system, "
                "switch its lock service on.",
            ) from error
        return True

    def _still_leads_to(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _refused(self, so_far: str) -> StorageError:
        return StorageError(
            f"The lock {self.path} may not be used by this user.",
            condition=StorageCondition.CONFIGURATION,
            uri=self.path,
            help=f"{so_far} Give this user write access to the directory, and read access to the lock file or, on NFS, "
            "write access.",
        )

    def _busy(self, holder: str, timeout_seconds: float, so_far: str) -> StorageError:
        return StorageError(
            f"The lock {self.path} was not free for {timeout_seconds:g} s: {holder} holds it.",
            condition=StorageCondition.TRANSIENT,
            uri=self.path,
            help=f"{so_far} A holder needs milliseconds, so it is stopped or its disk hangs: find it "
            f"with `fuser '{self.path}'`, let it go on or end it, then repeat the operation.",
        )
