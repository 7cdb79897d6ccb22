"""What the verbs of an adapter refuse before a backend is asked: wrong types, the root as an object, oversize."""

from __future__ import annotations

from typing import Any

from omnigraph.errors import InvalidInputError, ResourceLimitError, StorageCondition, StorageError
from omnigraph.storage.keys import ObjectKey
from omnigraph.storage.objects import MAX_OBJECT_BYTES
from omnigraph.storage.uri import StorageUri


def check_prefix(key: Any) -> None:
    """Refuse what is not a key.

    Raises:
        InvalidInputError: text, most likely, that was to go through ``key()`` first.
    """
    if not isinstance(key, ObjectKey):
        raise InvalidInputError(
            f"A storage verb takes a key, not {key!r}.", help=f"Make one of the name first: adapter.key({key!r})."
        )


def check_key(key: Any, root: StorageUri) -> None:
    """Refuse what is not the key of an object.

    Raises:
        InvalidInputError: it is not a key.
        StorageError: condition ``configuration``, for the root, where some stores would keep an object out of every
            listing's sight.
    """
    check_prefix(key)
    if key.is_root:
        raise StorageError(
            f"An empty name names no object below {root}.",
            condition=StorageCondition.CONFIGURATION,
            uri=str(root),
            help="Give a name with at least one segment.",
        )


def check_data(data: Any, uri: str) -> None:
    """Refuse what cannot become a control object.

    Raises:
        InvalidInputError: it is not bytes.
        ResourceLimitError: ``storage_object_bytes``.
    """
    if not isinstance(data, bytes):
        raise InvalidInputError(
            f"{uri} takes bytes, not {type(data).__name__}.",
            help="Nothing was written. Encode text first: data.encode().",
        )
    if len(data) > MAX_OBJECT_BYTES:
        raise ResourceLimitError(
            f"{uri} would hold {len(data)} bytes; a control object holds at most {MAX_OBJECT_BYTES}.",
            resource="storage_object_bytes",
            limit=MAX_OBJECT_BYTES,
            actual=len(data),
            uri=uri,
            help="Nothing was written. Keep bulk data in a table.",
        )


def check_bound(data: bytes, max_bytes: int, uri: str) -> None:
    """Refuse stored bytes over the reader's bound.

    Raises:
        ResourceLimitError: ``storage_object_bytes``.
    """
    if len(data) > max_bytes:
        raise ResourceLimitError(
            f"{uri} is larger than {max_bytes} bytes.",
            resource="storage_object_bytes",
            limit=max_bytes,
            actual=len(data),
            uri=uri,
            help="It is not a control object of this graph, or it was damaged; look at it before removing it.",
        )


def check_token(token: Any) -> None:
    """Refuse what no versioned read gives: to a store, no token may mean no condition.

    Raises:
        InvalidInputError: it is not text, or empty.
    """
    if not isinstance(token, str) or not token:
        raise InvalidInputError(
            f"write_if_match takes the token of a versioned read, not {token!r}.",
            help="Nothing was written. Take it from read_versioned(key).token.",
        )
