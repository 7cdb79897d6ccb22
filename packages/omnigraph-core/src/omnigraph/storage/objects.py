"""What the verbs of an adapter take and give: bounds, objects with their tokens, locations for Lance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from omnigraph.errors import ResourceLimitError
from omnigraph.storage.keys import ObjectKey
from omnigraph.storage.uri import StorageUri

MAX_OBJECT_BYTES = 8 * 1024 * 1024
"""Largest control object, in bytes. Anything larger belongs in a table."""


@dataclass(frozen=True, slots=True)
class VersionedObject:
    """An object's bytes together with the token that ``write_if_match`` compares."""

    data: bytes
    token: str


@dataclass(frozen=True, slots=True)
class LanceLocation:
    """Where Lance finds a table: its URI and the options that Lance needs to reach it (may hold secrets)."""

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBounds:
    """What a bounded listing may meet before it gives up.

    Attributes:
        max_matching: objects directly in the directory whose names have the suffix.
        max_irrelevant: every other object met, nested ones included.
        max_uri_bytes: the URIs of all objects met, added up, in UTF-8 bytes.
    """

    max_matching: int
    max_irrelevant: int
    max_uri_bytes: int


def content_token(data: bytes) -> str:
    """The token of backends that have no version numbers of their own."""
    return hashlib.sha256(data).hexdigest()


def take_bounded(
    found: Iterable[ObjectKey], root: StorageUri, prefix: ObjectKey, *, suffix: str, bounds: ListBounds
) -> tuple[ObjectKey, ...]:
    """Of the objects found below a prefix, those directly in it whose names end in ``suffix``.

    Raises:
        ResourceLimitError: at the first object that exceeds one of the bounds; nothing is read beyond it.
    """
    matching: list[ObjectKey] = []
    irrelevant = uri_bytes = 0
    for key in found:
        uri_bytes += len(root.join(key).encode())
        if key.is_child_of(prefix) and key.name.endswith(suffix):
            matching.append(key)
        else:
            irrelevant += 1
        for resource, limit, actual in (
            ("storage_list_matching_entries", bounds.max_matching, len(matching)),
            ("storage_list_irrelevant_entries", bounds.max_irrelevant, irrelevant),
            ("storage_list_uri_bytes", bounds.max_uri_bytes, uri_bytes),
        ):
            if actual > limit:
                raise ResourceLimitError(
                    f"Listing {root.join(prefix)} met {actual} {resource}, over {limit}.",
                    resource=resource,
                    limit=limit,
                    actual=actual,
                    uri=root.join(prefix),
                    help="Remove what does not belong there, then repeat.",
                )
    return tuple(matching)
