"""The in-memory backend with one method broken at a time, and contract classes for each. Run by test_clause_owners."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph import testing
from omnigraph.storage import ROOT, Capability, LanceLocation, ObjectKey, StorageAdapter, parse_uri
from omnigraph.storage.memory import MemoryAdapter

_numbers = itertools.count()
_healthy = MemoryAdapter


def read_altered(self: Any, key: ObjectKey, limit: int) -> bytes:
    return b"?" + _healthy._read(self, key, limit)[1:]


def read_empty_when_missing(self: Any, key: ObjectKey, limit: int) -> bytes:
    try:
        return _healthy._read(self, key, limit)
    except FileNotFoundError:
        return b""


def read_without_limit(self: Any, key: ObjectKey, limit: int) -> bytes:
    return _healthy._read(self, key, 10**9)


def write_nothing(self: Any, key: ObjectKey, data: bytes) -> None:
    return None


def create_always(self: Any, key: ObjectKey, data: bytes) -> bool:
    _healthy._write(self, key, data)
    return True


def create_never(self: Any, key: ObjectKey, data: bytes) -> bool:
    return not _healthy._exists(self, key)


def list_nothing(self: Any, prefix: ObjectKey) -> Iterator[ObjectKey]:
    return iter(())


def list_by_text_prefix(self: Any, prefix: ObjectKey) -> Iterator[ObjectKey]:
    return (key for key in _healthy._list(self, ROOT) if key.value.startswith(prefix.value))


def list_fails_when_missing(self: Any, prefix: ObjectKey) -> Iterator[ObjectKey]:
    found = list(_healthy._list(self, prefix))
    if not found:
        raise FileNotFoundError
    return iter(found)


def list_and_change_refused(self: Any, prefix: ObjectKey) -> Iterator[ObjectKey]:
    for key in list(_healthy._list(self, prefix)):
        yield key
        if not _healthy._exists(self, key):
            raise RuntimeError("changed while it was listed")


def uri_without_root_path(self: Any, key: ObjectKey) -> str:
    return f"memory://{self.root.authority}/{key.value}"


def do_nothing(self: Any, *arguments: Any) -> None:
    return None


def read_constant_token(self: Any, key: ObjectKey, limit: int) -> Any:
    found = _healthy._read_versioned(self, key, limit)
    return type(found)(found.data, "always")


def read_token_of_nothing(self: Any, key: ObjectKey, limit: int) -> Any:
    from omnigraph.storage import VersionedObject

    try:
        return _healthy._read_versioned(self, key, limit)
    except FileNotFoundError:
        return VersionedObject(b"", "none")


def swap_always(self: Any, key: ObjectKey, data: bytes, token: str) -> str:
    _healthy._write(self, key, data)
    return _healthy._read_versioned(self, key, 1).token


def always_true(self: Any, key: ObjectKey) -> bool:
    return True


def list_everything_below(self: Any, prefix: ObjectKey) -> Iterator[ObjectKey]:
    return _healthy._list(self, prefix)


def copy_without_delete(self: Any, source: ObjectKey, target: ObjectKey) -> None:
    if "/" not in target.value:
        _healthy._write(self, target, _healthy._read(self, source, 10**9))


def rename_missing_quietly(self: Any, source: ObjectKey, target: ObjectKey) -> None:
    if _healthy._exists(self, source):
        _healthy._rename(self, source, target)


def delete_then_write(self: Any, source: ObjectKey, target: ObjectKey) -> None:
    data = _healthy._read(self, source, 10**9)
    _healthy._delete(self, target)
    time.sleep(0.001)
    if source != target:
        _healthy._write(self, target, data)
        _healthy._delete(self, source)


def delete_by_text_prefix(self: Any, prefix: ObjectKey) -> None:
    for key in tuple(_healthy._list(self, ROOT)):
        if key.value.startswith(prefix.value or "never"):
            _healthy._delete(self, key)


def unquoted_location(self: Any, key: ObjectKey) -> LanceLocation:
    return LanceLocation(self.uri(key).replace("memory://", "shared-memory://"))


def raise_always(self: Any, *arguments: Any) -> None:
    raise PermissionError


def reduce_to_elsewhere(self: Any) -> Any:
    return type(self), (parse_uri("memory://elsewhere"), {})


def show_options(self: Any) -> str:
    return f"<{dict(self.options)}>"


def key_unchecked(self: Any, name: str) -> ObjectKey:
    return ObjectKey(name)


def decode_leniently(self: Any, key: ObjectKey, data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


BREAKS: dict[str, Any] = {
    "_read": read_altered,
    "_read of a missing object": read_empty_when_missing,
    "_read beyond its limit": read_without_limit,
    "_write": write_nothing,
    "_write_if_absent": create_always,
    "_write_if_absent without effect": create_never,
    "_list": list_nothing,
    "_list of a sibling": list_by_text_prefix,
    "_list of a missing place": list_fails_when_missing,
    "_delete": do_nothing,
    "_read_versioned": read_constant_token,
    "_read_versioned of a missing object": read_token_of_nothing,
    "_write_if_match": swap_always,
    "_write_if_match without effect": do_nothing,
    "_exists": always_true,
    "_list_dir": list_everything_below,
    "_rename": copy_without_delete,
    "_rename of a missing object": rename_missing_quietly,
    "_rename by way of nothing": delete_then_write,
    "_delete_prefix": delete_by_text_prefix,
    "lance_location": unquoted_location,
    "check_lance_commits": raise_always,
    "make_durable": raise_always,
    "__reduce__": reduce_to_elsewhere,
    "__repr__": show_options,
    "key": key_unchecked,
    "uri": uri_without_root_path,
    "_list while it holds a lock": list_and_change_refused,
    "_check_writable": do_nothing,
    "_check_change": do_nothing,
    "_decode": decode_leniently,
}

CONTRACTS = (
    testing.StorageAdapterContract,
    testing.StorageRaceContract,
    testing.WriteIfMatchContract,
    testing.WriteIfMatchRaceContract,
    testing.AtomicRenameContract,
)


def _broken_store(name: str, broken: Any) -> type:
    # Registered in this module under its own name, so that racing writers can unpickle it.
    method = name.partition(" ")[0]
    adapter_name = "Broken" + "".join(each if each.isalnum() else "_" for each in name)
    adapter_class = type(adapter_name, (MemoryAdapter,), {method: broken, "__module__": __name__})
    globals()[adapter_name] = adapter_class

    class Store:
        capabilities = frozenset({Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME})
        race_writers, race_rounds, many_objects = 4, 3, 6

        @pytest.fixture
        def adapter(self) -> StorageAdapter:
            return adapter_class(parse_uri(f"memory://broken-{next(_numbers)}/g"), {"token": "an option value"})

        def plant(self, adapter: StorageAdapter, name: str, data: bytes) -> None:
            healthy = MemoryAdapter(adapter.root)
            healthy.write(healthy.key(name), data)

        def peek(self, adapter: StorageAdapter, name: str) -> bytes | None:
            healthy = MemoryAdapter(adapter.root)
            return healthy.read_if_exists(healthy.key(name))

    return Store


for _name, _broken in BREAKS.items():
    _store = _broken_store(_name, _broken)
    for _contract in CONTRACTS:
        _class_name = "Test" + "_".join((*_name.split(), _contract.__name__))
        globals()[_class_name] = type(_class_name, (_store, _contract), {"__module__": __name__, "broken": _name})
del _contract, _store
