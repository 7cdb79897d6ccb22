"""Files and bytes from outside as source text: they must be UTF-8."""

from __future__ import annotations

from pathlib import Path

from omnigraph.errors import ParseError
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import BYTE_ORDER_MARK, SourceText, Span


def read_source(path: Path) -> SourceText:
    """The text of a file.

    Raises:
        OSError: it cannot be read.
        ParseError: it is not UTF-8.
    """
    return decode_source(path.read_bytes(), str(path))


def decode_source(data: bytes, name: str) -> SourceText:
    """Bytes from outside as a source text.

    Raises:
        ParseError: they are not UTF-8. The place is that of the first bad byte.
    """
    try:
        return SourceText.of(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        # What stands before the bad byte is sound; the rest is shown as replacement characters.
        before = len(data[: error.start].decode("utf-8").removeprefix(BYTE_ORDER_MARK))
        problem = Diagnostic(
            code=Code.NOT_UTF8,
            message=f"byte {error.start} of {name} is not UTF-8",
            source=SourceText.of(data.decode("utf-8", errors="replace"), name),
            span=Span(before, before + 1),
            label=f"0x{data[error.start]:02x} cannot stand here",
            help="Save the file as UTF-8.",
        )
        raise ParseError((problem,)) from error
