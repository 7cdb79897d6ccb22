"""NDJSON: blocks of bytes become pieces of whole lines, and a line becomes one JSON value.

    blocks ──> Piece (whole lines, and the number of the first) ──> json_blocks, or line by line through decode_line

Lines end with LF or CRLF. Blank lines and lines that start with ``//`` are skipped, and so is a byte order mark at the
start. Two bounds hold before a line is parsed: its bytes and its structural characters (brackets, braces, colons and
commas outside of texts), so that no input makes a reader allocate without limit.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np

from omnigraph.errors import InvalidInputError, ResourceLimitError
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.sources import TextSource
from omnigraph.write.records.values import shown

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
MAX_STRUCTURAL: Final = 131_072

EXPECTED: Final = 'expected one object per line, such as {"type": "Film", "data": {...}}'

_BLANKS: Final = b" \t\r"
_STRUCTURAL: Final = b"{}[]:,"
_QUOTE: Final = ord('"')
_WINDOW: Final = 1024 * 1024

_OTHER_FORMATS: Final = (
    (
        b"PAR1",
        "a Parquet file",
        'Read it in Python and say the type: graph.load({"Film": pyarrow.parquet.read_table(path)}, mode).',
    ),
    (b"ARROW1", "an Arrow file", 'Read it in Python and say the type: graph.load({"Film": table}, mode).'),
    (b"\x1f\x8b", "a gzip file", "Unpack it on the way: gzip -dc FILE | omnigraph load ... --data -, or gzip.open."),
    (b"PK\x03\x04", "a zip file", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "Unpack it on the way: zstd -dc FILE | omnigraph load ... --data -."),
    (b"\x89PNG", "a PNG image", EXPECTED[0].upper() + EXPECTED[1:] + "."),
    (codecs.BOM_UTF16_LE, "UTF-16 text", "Save it as UTF-8."),
    (codecs.BOM_UTF16_BE, "UTF-16 text", "Save it as UTF-8."),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines of a text.

    Attributes:
        text: the lines, LF between them and none behind the last.
        first: the number of the first line, from 1.
    """

    text: bytes
    first: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line that is neither blank nor a comment, with its number."""
        for number, line in enumerate(self.text.split(b"\n"), self.first):
            if not is_skipped(line):
                yield number, line


def is_skipped(line: bytes) -> bool:
    """Whether a line is blank or a comment."""
    return line.lstrip(_BLANKS)[:2] in (b"", b"//")


def cut_pieces(source: TextSource, *, piece_bytes: int) -> Iterator[Piece]:
    """Pieces of at least one line; one that is not the last has ``piece_bytes`` or more, and little more.

    Raises:
        ResourceLimitError: a line is too long, or holds too many structural characters. No more of it than the limit
            was held in memory.
        InvalidInputError: the source is in another format altogether.
    """
    first = 1
    held: list[bytes] = []
    held_bytes = 0
    # How much of what is held belongs to the line that has not ended yet.
    open_bytes = 0
    for block in source.blocks:
        line_end = block.find(b"\n")
        _check_length(open_bytes + (len(block) if line_end < 0 else line_end), first, held, source.name)
        last_end = block.rfind(b"\n")
        if last_end >= 0 and held_bytes + last_end >= piece_bytes:
            piece = Piece(b"".join((*held, block[:last_end])), first)
            rest = block[last_end + 1 :]
            held, held_bytes, open_bytes = [rest], len(rest), len(rest)
            yield _checked(piece, source.name)
            first += piece.text.count(b"\n") + 1
        else:
            held.append(block)
            held_bytes += len(block)
            open_bytes = open_bytes + len(block) if last_end < 0 else len(block) - last_end - 1
    if text := b"".join(held):
        yield _checked(Piece(text.removesuffix(b"\n"), first), source.name)


def refuse_other_formats(text: bytes, name: str, wanted: str) -> None:
    """Tell a file by its first bytes when they are those of another format.

    Raises:
        InvalidInputError: they are.
    """
    for start, format_name, advice in _OTHER_FORMATS:
        if text.startswith(start):
            raise InvalidInputError(f"{name} is {format_name}, not {wanted}.", help=advice)


def decode_line(line: bytes) -> Any:
    """The JSON value of a line.

    Raises:
        Misfit: it is none, repeats a member, or holds what JSON has not.
    """
    try:
        text = line.rstrip(_BLANKS).decode()
    except UnicodeDecodeError as error:
        what = f"byte 0x{line[error.start]:02x} at position {error.start + 1} is not UTF-8"
        raise Misfit(Reason.INVALID_UTF8, f"{what}; {EXPECTED}") from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Misfit(Reason.MALFORMED_JSON, _explain(text, error)) from None
    except RecursionError:
        raise Misfit(Reason.MALFORMED_JSON, "the line is nested too deeply to be a record") from None
    except ValueError:
        # Python reads no integer of more than 4300 digits, and no property holds one.
        raise Misfit(Reason.OUT_OF_RANGE, "the line has an integer of thousands of digits") from None


def _explain(text: str, error: json.JSONDecodeError) -> str:
    why = error.msg[:1].lower() + error.msg[1:]
    if error.msg == "Extra data":
        why = "more follows behind the end of the object"
    elif error.pos >= len(text):
        why = "the line ends before the object does"
    elif not text.startswith("{"):
        return f"{shown(text)} is not JSON; {EXPECTED}"
    return f"this is not JSON: {why}, at position {error.pos + 1}; {EXPECTED}"


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise Misfit(Reason.DUPLICATE_MEMBER, f"the member {shown(repeated)} occurs twice in one object")
    return fields


def _refuse_constant(word: str) -> NoReturn:
    raise Misfit(Reason.MALFORMED_JSON, f"this is not JSON: {word} is no JSON number")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_refuse_repeated, parse_constant=_refuse_constant)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_length(open_bytes: int, first: int, held: list[bytes], name: str) -> None:
    if open_bytes > MAX_LINE_BYTES:
        line = first + sum(block.count(b"\n") for block in held)
        raise ResourceLimitError(
            f"{name}:{line} has more than {MAX_LINE_BYTES} bytes.",
            resource="load_line_bytes",
            limit=MAX_LINE_BYTES,
            actual=open_bytes,
            help="One line holds one record. Load larger values as Arrow data.",
        )


def _checked(piece: Piece, name: str) -> Piece:
    """The piece, after a look at its start if it is the first, and at its long lines."""
    if piece.first == 1:
        refuse_other_formats(piece.text, name, "JSONL")
        if piece.text.startswith(codecs.BOM_UTF8):
            piece = Piece(piece.text[len(codecs.BOM_UTF8) :], piece.first)
    if len(piece.text) > MAX_STRUCTURAL:
        _check_structure(piece, name)
    return piece


def _check_structure(piece: Piece, name: str) -> None:
    start = 0
    number = piece.first
    text = piece.text
    while len(text) - start > MAX_STRUCTURAL:
        # The first line end within reach; if there is none, the line is long enough to be counted.
        end = text.rfind(b"\n", start, start + MAX_STRUCTURAL + 1)
        if end < 0:
            end = text.find(b"\n", start)
            end = len(text) if end < 0 else end
            line = text[start:end]
            # Counting them all is quick, and enough for most lines; texts are left out only when it is not.
            if (
                sum(map(line.count, _STRUCTURAL)) > MAX_STRUCTURAL
                and (count := count_structural(line)) > MAX_STRUCTURAL
            ):
                raise ResourceLimitError(
                    f"{name}:{number} has {count} structural characters, more than {MAX_STRUCTURAL}.",
                    resource="load_line_structure",
                    limit=MAX_STRUCTURAL,
                    actual=count,
                    help="One line holds one record. Load long lists and vectors as Arrow data.",
                )
        number += text.count(b"\n", start, end + 1)
        start = end + 1


def count_structural(line: bytes) -> int:
    """How many braces, brackets, colons and commas stand outside of texts."""
    # Without escaped backslashes and then without escaped quotes, every quote left opens or closes a text.
    plain = np.frombuffer(line.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    count, is_inside = 0, np.uint8(0)
    for at in range(0, len(plain), _WINDOW):
        window = plain[at : at + _WINDOW]
        inside = np.bitwise_xor.accumulate((window == _QUOTE).view(np.uint8)) ^ is_inside
        count += int(np.count_nonzero(np.isin(window, list(_STRUCTURAL)) & (inside == 0)))
        is_inside = inside[-1]
    return count
