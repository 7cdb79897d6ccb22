"""Object keys: the one way to name a control object inside a storage root.

A key is checked once, when it is made; the verbs of an adapter take keys and refuse no more than the root.
The rules are those that every backend can keep, so that a graph may move from one backend to another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from omnigraph.errors import StorageCondition, StorageError

MAX_KEY_BYTES = 900
"""Longest key in UTF-8 bytes: what S3 allows (1,024) less room for the root's own prefix."""

MAX_SEGMENT_BYTES = 200
"""Longest segment in UTF-8 bytes: what file systems allow (255) less room for a temporary suffix."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_RESERVED = re.compile(r"#[0-9]+\Z")


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """A checked name below a storage root: segments joined by ``/``, no leading or trailing slash.

    The empty key is the root itself; it names a prefix and never an object.
    """

    value: str

    def __str__(self) -> str:
        return self.value

    def __truediv__(self, name: str) -> ObjectKey:
        return parse_key(f"{self.value}/{name}" if self.value else name)

    @property
    def name(self) -> str:
        """The last segment; empty for the root."""
        return self.value.rpartition("/")[2]

    @property
    def parent(self) -> ObjectKey:
        return ObjectKey(self.value.rpartition("/")[0])

    @property
    def is_root(self) -> bool:
        return not self.value

    def is_below(self, prefix: ObjectKey) -> bool:
        """Whether this key lies strictly below ``prefix`` in whole segments."""
        return self.value != prefix.value and (prefix.is_root or self.value.startswith(prefix.value + "/"))

    def is_child_of(self, prefix: ObjectKey) -> bool:
        return not self.is_root and self.parent == prefix


ROOT = ObjectKey("")


def is_reserved_segment(segment: str) -> bool:
    """Whether a segment is kept for temporary files of backends: ``<anything>#<digits>``."""
    return _RESERVED.search(segment) is not None


def fold_segments(path: str) -> tuple[str, ...] | None:
    """Segments of a ``/``-separated path with ``.``, ``..`` and empty ones folded away.

    None when ``..`` would leave the top.
    """
    folded: list[str] = []
    for segment in path.split("/"):
        if segment in ("", "."):
            continue
        if segment == "..":
            if not folded:
                return None
            folded.pop()
        else:
            folded.append(segment)
    return tuple(folded)


def parse_key(text: str, *, root_uri: str | None = None) -> ObjectKey:
    """Check and fold a relative name into a key. ``root_uri`` is only for the error.

    Raises:
        StorageError: with condition ``configuration`` when the name cannot be an object on every backend.

    Example:
        >>> parse_key("refs/../schema/main.pg")
        ObjectKey(value='schema/main.pg')
    """
    segments = fold_segments(text)
    flaw = "it leaves the storage root" if segments is None else _flaw(text, segments)
    if segments is None or flaw is not None:
        shown = text if len(text) <= 120 else text[:117] + "..."
        raise StorageError(
            f"The object name {shown!r} is not allowed: {flaw}.",
            condition=StorageCondition.CONFIGURATION,
            uri=root_uri,
            help="Use segments of printable text joined by '/', see docs/reference/contract.md.",
        )
    return ObjectKey("/".join(segments))


def _flaw(text: str, segments: tuple[str, ...]) -> str | None:
    control = _CONTROL.search(text)
    if control is not None:
        return f"it holds the control character {control.group()!r}"
    try:
        sizes = [len(segment.encode()) for segment in segments]
    except UnicodeEncodeError:
        return "it cannot be written as UTF-8"
    if max(sizes, default=0) > MAX_SEGMENT_BYTES:
        return f"a segment has {max(sizes)} bytes, at most {MAX_SEGMENT_BYTES} are allowed"
    if sum(sizes) + len(sizes) - 1 > MAX_KEY_BYTES:
        return f"it has more than {MAX_KEY_BYTES} bytes"
    reserved = next((segment for segment in segments if is_reserved_segment(segment)), None)
    return None if reserved is None else f'the segment "{reserved}" ends like a temporary file (#digits)'
