"""Schema, query and data files as the words of the command line name them: a path, or ``-`` for standard input.

Whatever keeps a file from being read is wrong input, told with the name that was given, before anything is compiled.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from omnigraph.errors import InvalidInputError

if TYPE_CHECKING:
    from omnigraph.lang import SourceText

STANDARD_INPUT: Final = "-"

FILE: Final = click.Path(allow_dash=True)
"""The type of an option that names such a file; whether it is there is not a matter of usage."""


def read_input(path: str) -> SourceText:
    """The text behind a path, or all of standard input.

    Raises:
        InvalidInputError: it cannot be read.
        ParseError: it is not UTF-8.
    """
    from omnigraph.lang import decode_source

    try:
        if path != STANDARD_INPUT:
            return decode_source(Path(path).read_bytes(), path)
        # Somebody may have closed it.
        return decode_source(b"" if sys.stdin is None else sys.stdin.buffer.read(), "<stdin>")
    except OSError as error:
        # The message says all that the cause knows.
        raise _unreadable(path, error) from None


def refuse_unreadable(path: str) -> None:
    """Find out now whether a file can be read, before anything is opened for it.

    Raises:
        InvalidInputError: it cannot.
    """
    if path == STANDARD_INPUT:
        return
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise _unreadable(path, error) from None


def refuse_two_dashes(*paths: str | None) -> None:
    """Standard input can be read once."""
    if paths.count(STANDARD_INPUT) > 1:
        raise click.UsageError('Only one file can be "-", standard input.', click.get_current_context())


def _unreadable(path: str, error: OSError) -> InvalidInputError:
    details = {"path": path}
    if path == STANDARD_INPUT:
        return InvalidInputError(f"Standard input could not be read: {error.strerror}.", details=details)
    if error.errno == errno.ENOENT:
        return InvalidInputError(
            f'There is no file "{path}".', help=f"Paths are taken from {Path.cwd()}.", details=details
        )
    if error.errno == errno.EISDIR:
        return InvalidInputError(f'"{path}" is a directory.', help="Name a file in it.", details=details)
    return InvalidInputError(f'"{path}" could not be read: {error.strerror}.', details=details)
