"""How the command ends, in one place. A number that scripts rely on never changes its meaning.

The kind of an error decides the number: those of ``omnigraph.errors``, and four that only a command line has.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

from omnigraph.errors import ErrorKind


class ExitCode(IntEnum):
    """What the shell is told; ``meaning`` is the sentence of the help and the docs."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """A number with its sentence."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    DONE = 0, "done"
    FAILED = 1, "failed, or the thing checked did not pass"
    USAGE = 2, "the command line is wrong"
    INVALID_INPUT = 3, "a URI, option value, schema or query is wrong; nothing was done"
    INTERRUPTED = 130, "interrupted"
    PIPE_CLOSED = 141, "whoever read the output stopped reading"
    TERMINATED = 143, "asked to end by SIGTERM"


USAGE, INTERNAL, INTERRUPTED, TERMINATED = "usage", "internal", "interrupted", "terminated"

CODE_OF_KIND: Final = {
    **dict.fromkeys(map(str, ErrorKind), ExitCode.FAILED),
    str(ErrorKind.INVALID_INPUT): ExitCode.INVALID_INPUT,
    str(ErrorKind.COMPILE): ExitCode.INVALID_INPUT,
    USAGE: ExitCode.USAGE,
    INTERNAL: ExitCode.FAILED,
    INTERRUPTED: ExitCode.INTERRUPTED,
    TERMINATED: ExitCode.TERMINATED,
}
"""The exit code for every kind of error that ``--json`` can show."""
