"""The bases in the file of a version: read, and replaced by others, byte by byte.

    … sections …│ length │ manifest (protobuf) │ where that begins │ format │ LANC

A manifest lists its bases in field 18, and everything else of it names them by number. So a line that was moved needs
its bases to say where they are now, and nothing more: rows, ids, stamps, indexes and all older versions stay as they
are. Lance has a call that adds bases to the newest version; it makes a version of its own, and older versions, tags and
merges of branches that parted there stay unreadable, see docs/adr/0023-copies-and-moves.md.

The sections before the manifest are named by their offsets, which do not change, because it is the last one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

_MAGIC: Final = b"LANC"
_FOOTER: Final = struct.Struct("<QHH4s")
_LENGTH: Final = struct.Struct("<I")

_BASES_FIELD: Final = 18
_PATH_FIELD: Final = 4
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MAX_VARINT_BYTES: Final = 10


class ManifestFormError(ValueError):
    """A file is not the manifest of a version, as far as it has to be understood here."""


def bases_of(data: bytes) -> tuple[str, ...]:
    """The bases that the file of a version names.

    Raises:
        ManifestFormError: it is none.
    """
    found: list[str] = []

    def note(base: str) -> str:
        found.append(base)
        return base

    with_bases(data, note)
    return tuple(found)


def with_bases(data: bytes, replace: Callable[[str], str]) -> bytes:
    """The file of a version with other bases; the same bytes when ``replace`` gives each base back.

    Raises:
        ManifestFormError: it is none.
    """
    if len(data) < _FOOTER.size + _LENGTH.size:
        raise ManifestFormError(f"it has {len(data)} bytes")
    start, *format_version, magic = _FOOTER.unpack(data[-_FOOTER.size :])
    end = len(data) - _FOOTER.size
    if magic != _MAGIC or not 0 <= start <= end - _LENGTH.size:
        raise ManifestFormError("it does not end as a manifest does")
    begin = start + _LENGTH.size
    (length,) = _LENGTH.unpack(data[start:begin])
    if begin + length != end:
        raise ManifestFormError(f"its manifest has {end - begin} bytes and says {length}")
    manifest = b"".join(
        field if number != _BASES_FIELD else _joined(number, _with_path(value, replace))
        for number, value, field in _fields(data[begin:end])
    )
    return data[:start] + _LENGTH.pack(len(manifest)) + manifest + _FOOTER.pack(start, *format_version, magic)


def _with_path(base: bytes, replace: Callable[[str], str]) -> bytes:
    parts = []
    for number, value, field in _fields(base):
        if number != _PATH_FIELD:
            parts.append(field)
            continue
        try:
            parts.append(_joined(number, replace(value.decode()).encode()))
        except UnicodeDecodeError as error:
            raise ManifestFormError("a base of it is not text") from error
    return b"".join(parts)


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The fields of a message of protobuf: number, content where that has a length, and all of its bytes."""
    at = 0
    while at < len(message):
        begin = at
        tag, at = _varint(message, at)
        number, wire_type = tag >> 3, tag & 7
        value = b""
        if wire_type == _VARINT:
            _, at = _varint(message, at)
        elif wire_type == _EIGHT_BYTES:
            at += 8
        elif wire_type == _FOUR_BYTES:
            at += 4
        elif wire_type == _BYTES:
            length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        else:
            raise ManifestFormError(f"a field of it has the wire type {wire_type}")
        if at > len(message):
            raise ManifestFormError("it ends in the middle of a field")
        yield number, value, message[begin:at]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(message[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at + position + 1
    raise ManifestFormError("a number of it does not end")


def _joined(number: int, value: bytes) -> bytes:
    return _spelled(number << 3 | _BYTES) + _spelled(len(value)) + value


def _spelled(value: int) -> bytes:
    spelled = bytearray()
    while value >= 0x80:
        spelled.append(value & 0x7F | 0x80)
        value >>= 7
    spelled.append(value)
    return bytes(spelled)
