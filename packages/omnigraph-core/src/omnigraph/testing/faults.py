"""Faults on purpose: adapters around an adapter, which count, delay, fail, lose the answer or die; and failpoints.

    caller ──> WrappedAdapter._around(verb, key, act) ──> the wrapped adapter's own method

A wrapper delegates method by method, so the wrapped backend's own ways (its rename, its listing) stay in use and what
is counted is what the backend was asked to do. What happens at the failpoints of the write path is said by the actions
of ``failpoint_actions``, which are to be had here too.
"""

from __future__ import annotations

import errno
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, NoReturn, TypeVar

from omnigraph.errors import StorageCondition
from omnigraph.failpoints import FAILPOINTS
from omnigraph.storage import ROOT, LanceLocation, ObjectKey, StorageAdapter, VersionedObject
from omnigraph.testing.failpoint_actions import (
    FAILPOINTS_VARIABLE,
    Action,
    Barrier,
    Call,
    FailpointError,
    Kill,
    Once,
    OnNth,
    Raise,
    RaiseTimes,
    arm_from_environment,
    armed,
    recorded,
)

__all__ = [
    "FAILPOINTS",
    "FAILPOINTS_VARIABLE",
    "Action",
    "Barrier",
    "Call",
    "CountingAdapter",
    "DelayingAdapter",
    "DiedError",
    "DyingAdapter",
    "FailpointError",
    "Fault",
    "FaultyAdapter",
    "FlakyAdapter",
    "Kill",
    "OnNth",
    "Once",
    "Raise",
    "RaiseTimes",
    "Verb",
    "WrappedAdapter",
    "arm_from_environment",
    "armed",
    "recorded",
]

T = TypeVar("T")

Verb = Literal[
    "read", "read_versioned", "write", "write_if_absent", "write_if_match", "exists", "list", "list_dir", "rename",
    "delete", "delete_prefix", "make_durable",
]  # fmt: skip
"""The points at which a wrapper can step in, named as callers name them."""


class WrappedAdapter(StorageAdapter):
    """Delegates everything to another adapter through ``_around``."""

    def __init__(self, inner: StorageAdapter) -> None:
        super().__init__(inner.root, inner.options)
        self.inner = inner

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner,), {"is_read_only": self.is_read_only}

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        """Called in place of every delegated method; ``act`` performs it."""
        return act()

    @property
    def timeout_seconds(self) -> float | None:
        return self.inner.timeout_seconds

    @property
    def endpoint(self) -> str:
        return self.inner.endpoint

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        return self.inner.lance_location(key)

    def check_lance_commits(self) -> None:
        self.inner.check_lance_commits()

    def close(self) -> None:
        self.inner.close()

    def make_durable(self, files: Iterable[ObjectKey]) -> None:
        kept = tuple(files)
        key = kept[0] if kept else ROOT
        # A backend turns its own failures into storage errors; so must a failure that is injected in its place.
        with self._edge("make durable", key):
            self._around("make_durable", key, lambda: self.inner.make_durable(kept))

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        return self._around("read", key, lambda: self.inner._read(key, limit))

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        return self._around("read_versioned", key, lambda: self.inner._read_versioned(key, limit))

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self._around("write", key, lambda: self.inner._write(key, data))

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        return self._around("write_if_absent", key, lambda: self.inner._write_if_absent(key, data))

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        return self._around("write_if_match", key, lambda: self.inner._write_if_match(key, data, token))

    def _exists(self, key: ObjectKey) -> bool:
        return self._around("exists", key, lambda: self.inner._exists(key))

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return self._around("list", prefix, lambda: self.inner._list(prefix))

    def _list_dir(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return self._around("list_dir", prefix, lambda: self.inner._list_dir(prefix))

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        self._around("rename", source, lambda: self.inner._rename(source, target))

    def _delete(self, key: ObjectKey) -> None:
        self._around("delete", key, lambda: self.inner._delete(key))

    def _delete_prefix(self, prefix: ObjectKey) -> None:
        self._around("delete_prefix", prefix, lambda: self.inner._delete_prefix(prefix))

    def _condition(self, error: BaseException) -> StorageCondition | None:
        return self.inner._condition(error)


class CountingAdapter(WrappedAdapter):
    """Counts calls by verb, in ``calls``."""

    def __init__(self, inner: StorageAdapter) -> None:
        super().__init__(inner)
        self.calls: Counter[str] = Counter()

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        self.calls[verb] += 1
        return act()


class DelayingAdapter(WrappedAdapter):
    """Waits before the verbs that ``seconds`` names."""

    def __init__(self, inner: StorageAdapter, seconds: Mapping[Verb, float]) -> None:
        super().__init__(inner)
        self.seconds = dict(seconds)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.seconds), {"is_read_only": self.is_read_only}

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        time.sleep(self.seconds.get(verb, 0.0))
        return act()


class DiedError(BaseException):
    """Ends a call as the end of its process would: nothing that handles errors handles it."""


class DyingAdapter(WrappedAdapter):
    """Lets a handle die as a killed process does: from ``die`` on nothing that it asks for reaches the store.

    So whatever the call that died would do on its way out, such as withdrawing its sidecar, does not happen. Lance does
    not pass here: die where no commit of a table is under way.
    """

    is_dead: bool = False

    def die(self, name: str = "") -> NoReturn:
        """Die here and now; an action for failpoints, as it stands.

        Raises:
            DiedError: always.
        """
        self.is_dead = True
        raise DiedError(name)

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        if self.is_dead:
            raise BrokenPipeError("whoever asks this is dead")
        return act()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failure to inject.

    Attributes:
        verb: the point at which it strikes.
        error: what is raised there, as if by the store.
        moment: ``before`` leaves the store untouched; ``after`` loses the answer to what was done.
        name_contains: strikes only keys that contain this text.
        skip: how many matching calls pass first.
        times: how many matching calls it strikes then.
    """

    verb: Verb
    error: Exception
    moment: Literal["before", "after"] = "before"
    name_contains: str = ""
    skip: int = 0
    times: int = 1


class FaultyAdapter(WrappedAdapter):
    """Raises the faults it was given at their points, and otherwise does as the wrapped adapter does."""

    def __init__(self, inner: StorageAdapter, *faults: Fault) -> None:
        super().__init__(inner)
        self.faults = faults
        self._seen: Counter[int] = Counter()

    def strike(self, *faults: Fault) -> None:
        """Raise these faults from now on, and none of those before; their counting begins here."""
        self.faults = faults
        self._seen.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, *self.faults), {"is_read_only": self.is_read_only}

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        due = self._due(verb, key)
        if due is not None and due.moment == "before":
            raise due.error
        result = act()
        if due is not None:
            raise due.error
        return result

    def _due(self, verb: Verb, key: ObjectKey) -> Fault | None:
        for index, fault in enumerate(self.faults):
            if fault.verb == verb and fault.name_contains in key.value:
                self._seen[index] += 1
                if fault.skip < self._seen[index] <= fault.skip + fault.times:
                    return fault
        return None


STORE_ERRORS: Final[tuple[Callable[[], Exception], ...]] = (
    lambda: OSError(errno.EIO, "injected"),
    lambda: OSError(errno.ENOSPC, "injected"),
    lambda: ConnectionResetError("injected"),
    lambda: TimeoutError("injected"),
)
"""What a store may raise at any request."""


class FlakyAdapter(WrappedAdapter):
    """Fails at random: before the store is asked, or after it did what was asked, so that the answer is lost.

    Args:
        inner: the adapter to wrap.
        random: decides which requests fail, and how; the same again from the same seed and the same requests.
        share: of the requests, that fail; from 0 to 1.
        struck: is told of each, as ``write after``.
    """

    def __init__(
        self, inner: StorageAdapter, random: Random, share: float, struck: Callable[[str], object] = lambda _what: None
    ) -> None:
        super().__init__(inner)
        self.random = random
        self.share = share
        self.struck = struck

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.random, self.share), {"is_read_only": self.is_read_only}

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        if self.random.random() >= self.share:
            return act()
        moment = self.random.choice(("before", "after"))
        error = self.random.choice(STORE_ERRORS)()
        self.struck(f"{verb} {moment}")
        if moment == "after":
            act()
        raise error
