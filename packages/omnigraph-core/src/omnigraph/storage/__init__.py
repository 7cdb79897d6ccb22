"""The open storage interface: what a backend implements, declares and may rely on."""

from __future__ import annotations

from omnigraph.storage.adapter import StorageAdapter
from omnigraph.storage.backend import SPI_VERSION, StorageBackend
from omnigraph.storage.capabilities import Capability
from omnigraph.storage.honesty import probe_create_if_absent, verify_honesty
from omnigraph.storage.keys import ROOT, ObjectKey, is_reserved_segment, parse_key
from omnigraph.storage.objects import MAX_OBJECT_BYTES, LanceLocation, ListBounds, VersionedObject, content_token
from omnigraph.storage.options import StorageOption
from omnigraph.storage.uri import StorageUri, parse_uri, queue_identity
from omnigraph.storage.waiting import StoreSilentError, note_answer, note_silence, seconds_to_wait, silence

__all__ = [
    "MAX_OBJECT_BYTES",
    "ROOT",
    "SPI_VERSION",
    "Capability",
    "LanceLocation",
    "ListBounds",
    "ObjectKey",
    "StorageAdapter",
    "StorageBackend",
    "StorageOption",
    "StorageUri",
    "StoreSilentError",
    "VersionedObject",
    "content_token",
    "is_reserved_segment",
    "note_answer",
    "note_silence",
    "parse_key",
    "parse_uri",
    "probe_create_if_absent",
    "queue_identity",
    "seconds_to_wait",
    "silence",
    "verify_honesty",
]
