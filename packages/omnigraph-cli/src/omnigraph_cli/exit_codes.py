"""How the command ends, in one place. A number that scripts rely on never changes its meaning.

The kind of an error decides the number: those of ``omnigraph.errors``, and three that only a command line has.
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
    INVALID_INPUT = 3, "a URI, option value, schema, query or record is wrong; nothing was done"
    CONFLICT = 4, "the graph moved on meanwhile, or two branches contradict each other; nothing was done"
    OUTCOME_UNKNOWN = 5, "it may have happened; the message says how to find out"
    INTERRUPTED = 130, "interrupted"
    PIPE_CLOSED = 141, "whoever read the output stopped reading"
    TERMINATED = 143, "asked to end by SIGTERM"


USAGE, INTERRUPTED, TERMINATED = "usage", "interrupted", "terminated"
INTERNAL: Final = str(ErrorKind.INTERNAL)

CODE_OF_KIND: Final = {
    **dict.fromkeys(map(str, ErrorKind), ExitCode.FAILED),
    str(ErrorKind.INVALID_INPUT): ExitCode.INVALID_INPUT,
    str(ErrorKind.CHANGE_CURSOR_REJECTED): ExitCode.INVALID_INPUT,
    str(ErrorKind.LOAD_ID_REUSED): ExitCode.INVALID_INPUT,
    str(ErrorKind.COMPILE): ExitCode.INVALID_INPUT,
    str(ErrorKind.CONSTRAINT): ExitCode.INVALID_INPUT,
    str(ErrorKind.CONFLICT): ExitCode.CONFLICT,
    str(ErrorKind.HEAD_MOVED): ExitCode.CONFLICT,
    str(ErrorKind.BRANCH_REPLACED): ExitCode.CONFLICT,
    str(ErrorKind.CONTENTION): ExitCode.CONFLICT,
    str(ErrorKind.MERGE_CONFLICT): ExitCode.CONFLICT,
    str(ErrorKind.OUTCOME_UNKNOWN): ExitCode.OUTCOME_UNKNOWN,
    USAGE: ExitCode.USAGE,
    INTERRUPTED: ExitCode.INTERRUPTED,
    TERMINATED: ExitCode.TERMINATED,
}
"""The exit code for every kind of error that ``--json`` can show."""
