"""``StorageAdapter``: the open interface that a storage backend implements.

A backend stores *control objects*: small objects such as branch references, schema texts, intents and claims. Table
data never passes through here; Lance reads and writes it at ``lance_location()``. So a backend is a scheme that
Lance can reach, plus control objects.

    a caller                       this class                         the author of a backend
    key("a/b")                     checks the name once
    read(key), write(key, data) →  bounds, text, error translation →  _read, _write, _write_if_absent, _list, _delete

An author writes the five methods on the right and gets every verb on the left. The underscored optional ones have
defaults built on those five and are overridden where the store can do better. Exceptions of the store may simply fly:
each verb turns them into a ``StorageError`` with a condition, the URI and the next move. The contract suite in
``omnigraph.testing.storage_contract`` says when a backend is done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from omnigraph.errors import (
    OmnigraphError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
    UnsupportedCapabilityError,
)
from omnigraph.storage.capabilities import Capability
from omnigraph.storage.checks import check_bound, check_data, check_key, check_prefix, check_token
from omnigraph.storage.failures import advice_for, condition_of, describe_failure
from omnigraph.storage.keys import ROOT, ObjectKey, parse_key
from omnigraph.storage.objects import (
    MAX_OBJECT_BYTES,
    LanceLocation,
    ListBounds,
    VersionedObject,
    content_token,
    take_bounded,
)
from omnigraph.storage.options import GivenOptions
from omnigraph.storage.uri import StorageUri, is_absolute, relative_to_root


class StorageAdapter(ABC):
    """Control objects below one root.

    Threads may share an adapter. It pickles as its root and options, so that other processes open the same place.

    Every verb may raise ``StorageError``; the docstrings list what is promised beyond that. With ``is_read_only`` every
    verb that changes something raises ``ReadOnlyError`` before the store is asked.

    An object is changed either with conditions or without, not by both at once. ``write_if_absent`` and
    ``write_if_match`` are exact among each other; a verb without a condition may take effect between the check of a
    conditional one and its change, which then undoes it. One pair goes together: a claim that many want is created by
    ``write_if_absent`` and removed by ``delete``.
    """

    is_read_only: bool = False

    explicit_options: Mapping[str, Any] = GivenOptions({})
    """Of the options, those that an argument gave and not the environment: what other processes may be handed."""

    def __init__(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> None:
        self.root = root
        self.options: Mapping[str, Any] = GivenOptions(options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            type(self),
            (self.root, dict(self.options)),
            {
                "is_read_only": self.is_read_only,
                "explicit_options": GivenOptions(self.explicit_options),
            },
        )

    def __repr__(self) -> str:
        # Options may hold secrets, so they stay out.
        return f"<{type(self).__name__} {self.root}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # ── addresses ────────────────────────────────────────────────────────────────────────────────────────────

    def key(self, name: str) -> ObjectKey:
        """The checked key of a name relative to the root, or of a full URI below the root.

        Raises:
            StorageError: condition ``configuration`` when the name is empty, not allowed, or outside this root.
        """
        relative = relative_to_root(name, self.root) if is_absolute(name) else name
        key = parse_key(relative, root_uri=str(self.root))
        check_key(key, self.root)
        return key

    def uri(self, key: ObjectKey) -> str:
        """The full URI of a key, for messages."""
        return self.root.join(key)

    @property
    def timeout_seconds(self) -> float | None:
        """How long the server of this store may be silent during one request; None where there is no server.

        Calls of Lance are waited for by it as well: a call with a deadline ends one timeout after it at the latest.
        """
        return None

    @property
    def endpoint(self) -> str:
        """What is probed once per process: equal for all roots that the same server and container serve."""
        return f"{self.root.scheme}://{self.root.authority}"

    # ── the verbs that callers use ───────────────────────────────────────────────────────────────────────────

    def read(self, key: ObjectKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes:
        """The whole object.

        Raises:
            StorageError: condition ``not_found`` when there is none.
            ResourceLimitError: ``storage_object_bytes``, when it is larger than ``max_bytes``; at most one byte
                more than that is fetched.
        """
        check_key(key, self.root)
        with self._edge("read", key):
            data = self._read(key, max_bytes + 1)
        check_bound(data, max_bytes, self.uri(key))
        return data

    def read_if_exists(self, key: ObjectKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        """The whole object, or None only when the store says that there is none.

        For a reader to whom the disappearance of the object is a legal race. Refused access and lost connections
        stay errors.
        """
        try:
            return self.read(key, max_bytes=max_bytes)
        except StorageError as error:
            if error.condition is StorageCondition.NOT_FOUND:
                return None
            raise

    def read_text(self, key: ObjectKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> str:
        """The object as UTF-8 text.

        Raises:
            StorageError: ``not_found``, or ``permanent`` when the bytes are not UTF-8.
        """
        return self._decode(key, self.read(key, max_bytes=max_bytes))

    def read_text_if_exists(self, key: ObjectKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> str | None:
        """As ``read_if_exists``, decoded."""
        data = self.read_if_exists(key, max_bytes=max_bytes)
        return None if data is None else self._decode(key, data)

    def read_versioned(self, key: ObjectKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> VersionedObject:
        """The object and the token of exactly these bytes, from one request.

        Raises:
            StorageError: condition ``not_found`` when there is none.
        """
        check_key(key, self.root)
        with self._edge("read", key):
            found = self._read_versioned(key, max_bytes + 1)
        check_bound(found.data, max_bytes, self.uri(key))
        return found

    def write(self, key: ObjectKey, data: bytes) -> None:
        """Create or replace the object; durable on return.

        Readers see the old bytes or the new ones, never a part. Not for an object that others change with a condition
        at the same time.

        Raises:
            ResourceLimitError: ``storage_object_bytes``, before anything is written.
        """
        self._check_change(key, data)
        with self._edge("write", key):
            self._write(key, data)

    def write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        """Create the object if there is none. True: this call created it. False: it existed and is untouched.

        Of any number of concurrent callers exactly one gets True. On return the object is whole, readable and durable.
        """
        self._check_change(key, data)
        with self._edge("create", key):
            return self._write_if_absent(key, data)

    def write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        """Replace the object if it still has ``token``. The new token, or None when it changed or is missing.

        Needs ``Capability.WRITE_IF_MATCH``.

        Raises:
            UnsupportedCapabilityError: the backend does not offer it.
        """
        self._check_change(key, data)
        check_token(token)
        with self._edge("replace", key):
            return self._write_if_match(key, data, token)

    def exists(self, key: ObjectKey) -> bool:
        """Whether there is an object with this key or below it. An empty directory does not exist.

        Refused access raises; it is never False.
        """
        check_prefix(key)
        with self._edge("look for", key):
            return self._exists(key)

    def list(self, prefix: ObjectKey = ROOT) -> Iterator[ObjectKey]:
        """Every object below the prefix, at any depth, in no order; ``x`` never lists ``x_log/y``.

        Streams. A missing prefix lists nothing. Temporary files of the backend are never listed.
        """
        check_prefix(prefix)
        with self._edge("list", prefix):
            yield from self._list(prefix)

    def list_dir(self, prefix: ObjectKey = ROOT) -> tuple[ObjectKey, ...]:
        """The objects directly below the prefix, in no order."""
        check_prefix(prefix)
        with self._edge("list", prefix):
            return tuple(self._list_dir(prefix))

    def list_bounded(self, prefix: ObjectKey, *, suffix: str, bounds: ListBounds) -> tuple[ObjectKey, ...]:
        """The objects directly below the prefix whose names end in ``suffix``; never a shortened list.

        Raises:
            ResourceLimitError: at the first object that exceeds one of the bounds.
        """
        return take_bounded(self.list(prefix), self.root, prefix, suffix=suffix, bounds=bounds)

    def rename(self, source: ObjectKey, target: ObjectKey) -> None:
        """Move an object, replacing the target. Atomic only with ``Capability.ATOMIC_RENAME``.

        Without it a crash may leave both, with equal bytes; it never leaves neither.

        Raises:
            StorageError: condition ``not_found`` when the source is missing.
        """
        self._check_change(source)
        self._check_change(target)
        with self._edge("rename", source):
            self._rename(source, target)

    def delete(self, key: ObjectKey) -> None:
        """Remove the object; a missing one is success. Not for an object that others swap at the same time."""
        self._check_change(key)
        with self._edge("delete", key):
            self._delete(key)

    def delete_prefix(self, prefix: ObjectKey) -> None:
        """Remove everything below the prefix and the object of that name; idempotent, not atomic."""
        check_prefix(prefix)
        self._check_writable()
        with self._edge("delete below", prefix):
            self._delete_prefix(prefix)

    # ── what Lance needs ─────────────────────────────────────────────────────────────────────────────────────

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        """Where Lance is to keep a table under this key. The default suits schemes that Lance knows itself."""
        return LanceLocation(self.uri(key))

    def make_durable(self, files: Iterable[ObjectKey]) -> None:
        """Return only when these files of Lance, and the directories that lead to them, survive a loss of power.

        The default does nothing, which is right for every store that acknowledges durable writes. One that has
        something to do raises ``StorageError`` (``not_found``) for a file that is missing.
        """

    def check_lance_commits(self) -> None:
        """Raise ``StorageError`` (``configuration``) when Lance's own commits cannot work at this root.

        The default knows no obstacle.
        """

    def close(self) -> None:
        """Let go of connections and handles; the adapter may not be used afterwards."""

    # ── what an author writes: required ──────────────────────────────────────────────────────────────────────

    @abstractmethod
    def _read(self, key: ObjectKey, limit: int) -> bytes:
        """The first ``limit`` bytes of the object; fetch no more than that.

        A missing object raises something that maps to ``not_found``, such as ``FileNotFoundError``.
        """

    @abstractmethod
    def _write(self, key: ObjectKey, data: bytes) -> None:
        """Create or replace atomically; durable on return."""

    @abstractmethod
    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        """Create atomically if absent and say whether this call did; durable on return."""

    @abstractmethod
    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        """Every object below the prefix at any depth, lazily; nothing for a missing prefix."""

    @abstractmethod
    def _delete(self, key: ObjectKey) -> None:
        """Remove the object; a missing one is success."""

    # ── what an author may write: defaults built on the five ─────────────────────────────────────────────────

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        """The first ``limit`` bytes and their token; by default the SHA-256 of the content."""
        data = self._read(key, limit)
        return VersionedObject(data, content_token(data))

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        raise UnsupportedCapabilityError(
            f"The backend of {self.root} has no compare-and-swap.",
            capability=str(Capability.WRITE_IF_MATCH),
            uri=self.uri(key),
            help="Use a backend that lists write_if_match under `omnigraph plugins`.",
        )

    def _exists(self, key: ObjectKey) -> bool:
        if key.is_root:
            return any(True for _ in self._list(key))
        try:
            self._read(key, 1)
        except Exception as error:
            if condition_of(error, self._condition) is not StorageCondition.NOT_FOUND:
                raise
            return any(True for _ in self._list(key))
        return True

    def _list_dir(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return (key for key in self._list(prefix) if key.is_child_of(prefix))

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        data = self._read(source, MAX_OBJECT_BYTES + 1)
        check_bound(data, MAX_OBJECT_BYTES, self.uri(source))
        if source != target:
            self._write(target, data)
            self._delete(source)

    def _delete_prefix(self, prefix: ObjectKey) -> None:
        for key in tuple(self._list(prefix)):
            self._delete(key)
        if not prefix.is_root:
            self._delete(prefix)

    def _condition(self, error: BaseException) -> StorageCondition | None:
        """What an exception of this store's own client is evidence of; None when it is not one.

        Judge by type and status code, never by text.
        """
        return None

    # ── shared by the verbs ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _edge(self, verb: str, key: ObjectKey) -> Iterator[None]:
        """Turn whatever the store raises into a ``StorageError`` that names the verb, the URI and the next move."""
        try:
            yield
        except OmnigraphError:
            raise
        except Exception as error:
            condition = condition_of(error, self._condition)
            # The text of the exception is not quoted: clients put credentials and signed URLs into theirs.
            raise StorageError(
                f"Could not {verb} {self.uri(key)}: {describe_failure(error)}.",
                condition=condition,
                uri=self.uri(key),
                help=advice_for(error, condition, verb),
                details={"verb": verb},
            ) from error

    def _check_change(self, key: ObjectKey, data: bytes = b"") -> None:
        check_key(key, self.root)
        check_data(data, self.uri(key))
        self._check_writable()

    def _check_writable(self) -> None:
        if self.is_read_only:
            raise ReadOnlyError(
                f"{self.root} was opened for reading.", uri=str(self.root), help='Open it with mode="rw" to change it.'
            )

    def _decode(self, key: ObjectKey, data: bytes) -> str:
        with self._edge("decode", key):
            return data.decode("utf-8")
