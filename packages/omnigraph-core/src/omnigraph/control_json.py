"""JSON of control objects and of what users hand back: read within bounds, or refused with the reason.

What lies in a store may have been written, or overwritten, by anything. So the size is checked before the text is
decoded and the depth before it is parsed: the parser of Python nests calls, and a megabyte of brackets ends it with a
``RecursionError``, which readers do not expect.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 64
"""How deep objects and lists may be nested. Our own are nested five deep."""

_MARKS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


class ControlJsonError(ValueError):
    """It is not JSON, or passes a bound of size or depth. The text is a clause that begins with "it"."""


def read_control_json(data: bytes | str, *, max_bytes: int | None = None, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text.

    Args:
        data: the text, or the text in UTF-8.
        max_bytes: how long it may be; None where the caller has bounded it already.
        max_depth: how deep objects and lists may be nested.

    Raises:
        ControlJsonError: it is not JSON in UTF-8, holds a number that JSON does not have, or passes a bound.
    """
    if max_bytes is not None and len(data) > max_bytes:
        raise ControlJsonError(f"it is larger than {max_bytes:,} bytes")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise ControlJsonError(f"it is not UTF-8 at byte {error.start:,}") from error
    # Most texts have fewer brackets than levels are allowed, and need no scan.
    if text.count("[") + text.count("{") > max_depth and _is_deeper(text, max_depth):
        raise ControlJsonError(f"it is nested deeper than {max_depth} levels")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ControlJsonError(f"it is not JSON: {error.msg} at character {error.pos:,}") from error
    except ValueError as error:
        raise ControlJsonError(f"it is not JSON: {error}") from error


def _is_deeper(text: str, most: int) -> bool:
    """Whether brackets outside of strings are open to more than this depth anywhere."""
    depth = 0
    for found in _MARKS.finditer(text):
        first = text[found.start()]
        if first in "[{":
            depth += 1
            if depth > most:
                return True
        elif first in "]}":
            depth -= 1
    return False


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")
