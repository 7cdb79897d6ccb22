"""``LocalAdapter``: control objects as files below one directory, Lance's tables beside them.

    write_if_*   make directories, fill and sync ``<name>#<digits>``  →  lock: check, rename  →  sync directories
    write        the same without the lock: nothing is compared
    delete       unlink, without the lock                             →  sync directories
    read         open and read, without the lock

The slow part of a change happens on a temporary file; the lock covers a check and one ``rename(2)``. So readers meet
whole objects, create-if-absent needs no hard links, and ``write_if_match`` is a compare-and-swap among all processes.
Whoever writes or deletes without a condition waits for nobody: a process that is stopped while it holds the lock is in
the way of conditional changes, ``rename`` and ``delete_prefix`` only. The interface has a rule for it: an object that
others change with a condition is not changed without one at the same time.
A writer that dies leaves a temporary file, which no listing shows and no key reaches; its lock is freed by the kernel.

Directories are not objects. A link to a file counts as a file, and replacing it replaces the link. A linked directory
below the root is not entered by ``list``, ``exists`` and ``delete_prefix``; a link that leads nowhere is not listed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import (
    MAX_OBJECT_BYTES,
    ROOT,
    ObjectKey,
    StorageAdapter,
    StorageUri,
    content_token,
    queue_identity,
)
from omnigraph.storage.failures import describe_failure
from omnigraph_storage_local.durability import directories_above, identity_of, sync_descriptor, sync_directory
from omnigraph_storage_local.links import LinkSupport, deepest_existing, probe_hard_links
from omnigraph_storage_local.locks import NOTHING_SO_FAR, FileLock
from omnigraph_storage_local.objects import (
    is_object,
    leads_to_object,
    not_found,
    open_directory,
    open_object,
    refuse_directory,
    refuse_file_as_root,
)
from omnigraph_storage_local.staging import create_temporary, make_directories, write_all
from omnigraph_storage_local.steps import (
    CHECKED,
    DIRECTORY_MADE,
    DIRECTORY_READY,
    DIRECTORY_SYNCED,
    LOCK_OPENED,
    LOCKED,
    ONE_SYNCED,
    PARENT_SYNCED,
    REPLACED,
    TEMPORARY_CREATED,
    TEMPORARY_SYNCED,
    TEMPORARY_WRITTEN,
    UNLOCKED,
)

LOCK_NAME: Final = "lock#0"
"""The lock file at the root. The name is reserved, so no listing shows it and no key reaches it."""

MAX_ATTEMPTS: Final = 100
"""How often a write begins anew because its directory was removed under it."""

MAX_SETTLED: Final = 4_096
"""Of so many directories it is remembered that the way up to the root is synced."""

# A root that is a link or a mount point cannot go itself; a directory in which somebody wrote meanwhile must not.
_DIRECTORY_STAYS: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY})


class LocalAdapter(StorageAdapter):
    """Control objects in a directory of a local file system, shared by any number of processes.

    Attributes:
        lock_timeout_seconds: how long a change that needs the lock waits for it before it fails as ``transient``.
    """

    lock_timeout_seconds: float = 30.0

    def __init__(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(root, options)
        self._lock = FileLock(os.path.join(root.path, LOCK_NAME))
        # Directories whose way up to the root is synced, by identity; see _settle.
        self._settled: dict[str, tuple[int, int]] = {}

    @property
    def endpoint(self) -> str:
        """Each root by itself: file systems differ from directory to directory in what they keep."""
        return queue_identity(self.root)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        with open_object(self.uri(key), self.root.path) as (descriptor, size):
            data = bytearray()
            while len(data) < limit:
                chunk = os.read(descriptor, min(limit - len(data), size + 1))
                if not chunk:
                    break
                data += chunk
            return bytes(data)

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        pending = [prefix]
        while pending:
            for entry, key in self._scan(pending.pop()):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(key)
                elif leads_to_object(entry):
                    yield key

    def _list_dir(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return (key for entry, key in self._scan(prefix) if leads_to_object(entry))

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self._replace(key, lambda: self._staged(key, data), allowed=None)

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        return self._replace(
            key, lambda: self._staged(key, data), allowed=lambda: not is_object(self.uri(key), self.root.path)
        )

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        def is_unchanged() -> bool:
            try:
                return content_token(self._read(key, MAX_OBJECT_BYTES + 1)) == token
            except FileNotFoundError:
                return False

        return content_token(data) if self._replace(key, lambda: self._staged(key, data), is_unchanged) else None

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        path = self.uri(source)
        if not self._replace(target, lambda: nullcontext(path), allowed=lambda: is_object(path, self.root.path)):
            raise not_found(path)
        self._settle(os.path.dirname(path), changed=path)

    def _delete(self, key: ObjectKey) -> None:
        path = self.uri(key)
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                return
            os.unlink(path)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            refuse_file_as_root(self.root.path)
            return
        self._settle(os.path.dirname(path), changed=path)

    def _delete_prefix(self, prefix: ObjectKey) -> None:
        top = self.uri(prefix)
        if not prefix.is_root:
            self._delete(prefix)
        directories = self._directories(top)
        so_far = NOTHING_SO_FAR
        for directory in reversed(directories):
            # One directory at a time, so that conditional changes never wait for a whole tree.
            with suppress(FileNotFoundError), self._locked(so_far):
                so_far = f"Only a part of what is below {top} was deleted."
                self._remove_directory(directory)
        if directories:
            self._settled.clear()
            self._settle(os.path.dirname(top), changed=top)

    # ── what Lance needs ─────────────────────────────────────────────────────────────────────────────────────

    def make_durable(self, files: Iterable[ObjectKey]) -> None:
        """Sync every file, then every directory that holds one, and as ``_settle`` does those above; deepest first."""
        holding: set[str] = set()
        for key in dict.fromkeys(files):
            with self._edge("make durable", key):
                with open_object(self.uri(key), self.root.path) as (descriptor, _):
                    sync_descriptor(descriptor)
                holding.add(os.path.dirname(self.uri(key)))
        if not holding:
            return
        with self._edge("make durable", ROOT):
            new = [each for each in holding if self._settled.get(each) != identity_of(os.stat(each))]
            above = {each for directory in new for each in directories_above(directory, self.root.path)}
            # Deepest first: a path is longer than those of the directories above it.
            synced = {each: self._sync(each) for each in sorted(holding | above, key=len, reverse=True)}
            if new:
                self._sync(os.path.dirname(self.root.path))
                self._remember({each: found for each in new if (found := synced[each]) is not None})

    def check_lance_commits(self) -> None:
        """Refuse a file system without hard links, by which Lance claims a version of a table.

        Raises:
            StorageError: condition ``configuration``, only when a probe proved the refusal.
        """
        if probe_hard_links(deepest_existing(self.root.path)) is LinkSupport.REFUSED:
            raise StorageError(
                f"The file system of {self.root} refuses hard links, which Lance needs to commit to a table.",
                condition=StorageCondition.CONFIGURATION,
                uri=str(self.root),
                help="Keep the graph on a file system with link(2), such as ext4, XFS, Btrfs, APFS or tmpfs, or in an "
                "object store.",
            )

    # ── the one way to change an object ──────────────────────────────────────────────────────────────────────

    def _replace(
        self,
        target: ObjectKey,
        incoming: Callable[[], AbstractContextManager[str]],
        allowed: Callable[[], bool] | None,
    ) -> bool:
        """Rename the incoming file over the target if ``allowed()`` says so under the lock; whether it was done.

        With None it is done without the lock.

        Raises:
            IsADirectoryError: a directory stands where the object is to be.
            StorageError: ``configuration`` when its directory was never there to write into, ``transient`` when it
                was and vanished each time.
        """
        path = self.uri(target)
        refuse_directory(path)
        # Whoever has lost already need not write and sync a file to learn it.
        if allowed is not None and not allowed():
            return False
        was_ready = False
        for _ in range(MAX_ATTEMPTS):
            try:
                self._make_directories(os.path.dirname(path))
                was_ready = True
                self._reached(DIRECTORY_READY)
                with incoming() as source, nullcontext() if allowed is None else self._locked():
                    refuse_directory(path)
                    if allowed is not None and not allowed():
                        return False
                    self._reached(CHECKED)
                    os.replace(source, path)
                    self._reached(REPLACED)
            except FileNotFoundError:
                # A delete_prefix took the directory away, and with it the temporary file or the lock file.
                continue
            self._settle(os.path.dirname(path), changed=path)
            self._reached(DIRECTORY_SYNCED)
            return True
        if not was_ready:
            # Some file systems, /proc for one, refuse a new directory with "no such file".
            raise StorageError(
                f"Could not write {path}: no directory can be made in {deepest_existing(os.path.dirname(path))}.",
                condition=StorageCondition.CONFIGURATION,
                uri=path,
                help="Nothing was written. Choose a place where directories can be made.",
            )
        raise StorageError(
            f"Could not write {path}: its directory was made and was gone again, {MAX_ATTEMPTS} times in a row.",
            condition=StorageCondition.TRANSIENT,
            uri=path,
            help="Nothing was written. Stop what removes it, or choose another place.",
        )

    @contextmanager
    def _staged(self, key: ObjectKey, data: bytes) -> Iterator[str]:
        """A synced temporary file beside the object, which is gone afterwards, renamed or not."""
        temporary, descriptor = create_temporary(self.uri(key))
        try:
            try:
                self._reached(TEMPORARY_CREATED)
                write_all(descriptor, data)
                self._reached(TEMPORARY_WRITTEN)
                sync_descriptor(descriptor)
                self._reached(TEMPORARY_SYNCED)
            finally:
                os.close(descriptor)
            yield temporary
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    def _reached(self, step: str) -> None:
        """Called by every verb that comes to one of ``WRITE_STEPS``; crash tests override it to die there."""

    @contextmanager
    def _locked(self, so_far: str = NOTHING_SO_FAR) -> Iterator[None]:
        opened = partial(self._reached, LOCK_OPENED)
        with self._lock.hold(self.lock_timeout_seconds, so_far=so_far, opened=opened):
            self._reached(LOCKED)
            yield
        self._reached(UNLOCKED)

    # ── directories ──────────────────────────────────────────────────────────────────────────────────────────

    def _make_directories(self, path: str) -> None:
        """Make what is missing, durable before the object comes."""
        for made in make_directories(path):
            self._reached(DIRECTORY_MADE)
            # An inode number may come again, so what was known about directories below is void.
            self._settled.clear()
            self._sync(os.path.dirname(made))
            self._reached(PARENT_SYNCED)

    def _settle(self, directory: str, *, changed: str) -> None:
        """Sync a directory in which a name changed, and the first time also those above it, up to the root's parent.

        The first time, because whoever made the directory may have died before syncing its name.

        Raises:
            StorageError: ``unknown``, for ``changed``, which everybody sees changed and a loss of power may undo.
        """
        try:
            identity = self._sync(directory)
            self._reached(ONE_SYNCED)
            if self._settled.get(directory) == identity or not self._is_inside(directory):
                return
            for above in (*directories_above(directory, self.root.path), os.path.dirname(self.root.path)):
                self._sync(above)
                self._reached(ONE_SYNCED)
        except FileNotFoundError:
            # A delete_prefix removed it after the change; nothing is left that could be lost.
            return
        except OSError as error:
            raise StorageError(
                f"The change of {changed} was made and could not be made durable: {describe_failure(error)}.",
                condition=StorageCondition.UNKNOWN,
                uri=changed,
                help="Read it; repeat the change once the disk is well.",
            ) from error
        if identity is not None:
            self._remember({directory: identity})

    def _remember(self, settled: Mapping[str, tuple[int, int]]) -> None:
        """The way to these directories is synced. What is forgotten is synced once more; each branch has its own."""
        if len(self._settled) + len(settled) > MAX_SETTLED:
            self._settled.clear()
        self._settled.update(settled)

    def _sync(self, directory: str) -> tuple[int, int] | None:
        """Sync a directory; None for one above the root that this user may not open.

        Such a one, a closed ``/home`` for example, holds only names that somebody else made.
        """
        try:
            return sync_directory(directory)
        except PermissionError:
            if self._is_inside(directory):
                raise
            return None

    def _directories(self, top: str) -> list[str]:
        """A directory and all below it, those above first; links are not followed. Empty when it is missing."""
        found: list[str] = []
        pending = [top]
        while pending:
            directory = pending.pop()
            with open_directory(directory, self.root.path) as entries:
                if entries is not None:
                    found.append(directory)
                    pending.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        return found

    def _remove_directory(self, directory: str) -> None:
        """Remove a directory and the files in it, under the lock; temporary files and strangers' files too.

        A plain write does not wait for it: what one puts here meanwhile goes or stays, whole, and if it stays, so does
        the directory.
        """
        with os.scandir(directory) as entries:
            files = [entry.path for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for path in files:
            if path != self._lock.path:
                with suppress(FileNotFoundError):
                    os.unlink(path)
        if directory == self.root.path:
            # Last of all: from here on others lock a new file, and only the removal of an empty directory is left.
            os.unlink(self._lock.path)
        try:
            os.rmdir(directory)
        except OSError as error:
            if error.errno not in _DIRECTORY_STAYS:
                raise

    def _scan(self, prefix: ObjectKey) -> Iterator[tuple[os.DirEntry[str], ObjectKey]]:
        """The entries of one directory that a key can address."""
        path = self.uri(prefix)
        if not prefix.is_root and os.path.islink(path):
            return
        with open_directory(path, self.root.path) as entries:
            for entry in entries or ():
                try:
                    key = prefix / entry.name
                except StorageError:
                    # A temporary file, the lock file, or a stranger's name that is no key.
                    continue
                yield entry, key

    def _is_inside(self, directory: str) -> bool:
        return directory == self.root.path or directory.startswith(self.root.path.rstrip("/") + "/")
