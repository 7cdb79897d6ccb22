"""The names of branches and tags: what may be one, and the object that it becomes.

    "review/2026" ── check_ref_name, ref_segment ──> review%2F2026.json ── name_of_segment ──> "review/2026"

A name is a text that people write, with slashes where they like. It becomes one segment of an object key, so that
``review`` and ``review/2026`` lie side by side. No name reads like the id of a commit: wherever a moment is asked for,
commits, branches and tags are told apart by how they look.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import quote, unquote

from omnigraph.errors import InvalidInputError
from omnigraph.storage.keys import MAX_SEGMENT_BYTES

_ENDING: Final = ".json"

MAX_QUOTED_BYTES: Final = MAX_SEGMENT_BYTES - len(_ENDING)
"""The longest name once it is quoted: a letter outside ASCII takes six bytes or more of it."""

# Of either case: who writes an id in small letters means the commit.
_COMMIT_ID: Final = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}", re.IGNORECASE | re.ASCII)

# Controls and the two characters that end a line or a paragraph: a name stays on one line wherever it is shown.
_UNSEEN: Final = frozenset({"Cc", "Zl", "Zp"})


def check_ref_name(name: object, what: str) -> None:
    """Raise unless a branch or a tag may be called so. ``main`` passes: whether it is free is the caller's matter.

    Args:
        name: what the user wrote.
        what: ``branch`` or ``tag``, for the message.

    Raises:
        InvalidInputError: it may not; the message says why.
    """
    flaw = _flaw(name)
    if flaw is not None:
        raise InvalidInputError(
            f"{_shown(name)} is no {what} name: {flaw}.", help=f'Give the {what} a name such as "review/2026".'
        )


def looks_like_commit_id(text: str) -> bool:
    """Whether a text has the form of a commit id, so that it names no branch and no tag."""
    return _COMMIT_ID.fullmatch(text) is not None


def ref_segment(name: str) -> str:
    """The object name of a branch or tag: one segment, whatever the name holds, and another one for each name.

    Example:
        >>> ref_segment("review/2026")
        'review%2F2026.json'
    """
    return quote(name, safe="") + _ENDING


def name_of_segment(segment: str) -> str | None:
    """The name whose object is called so; None for an object that is of no branch and no tag."""
    try:
        name = unquote(segment.removesuffix(_ENDING), errors="strict")
    except UnicodeDecodeError:
        return None
    # There are many ways to quote one name, and one of them is ours.
    return name if _flaw(name) is None and ref_segment(name) == segment else None


def is_unicode(text: str) -> bool:
    """Whether a text can be written down: a lone surrogate is text to Python and to nobody else."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _flaw(name: object) -> str | None:
    if not isinstance(name, str):
        return "it is no text"
    if not name:
        return "it is empty"
    if not is_unicode(name):
        return "it cannot be written as UTF-8"
    unseen = next((each for each in name if unicodedata.category(each) in _UNSEEN), None)
    if unseen is not None:
        return f"it holds the control character {unseen!r}"
    if name != name.strip():
        return "it begins or ends with a space"
    if "" in name.split("/"):
        return "there is nothing before, after or between its slashes"
    if looks_like_commit_id(name):
        return "it reads like the id of a commit"
    size = len(quote(name, safe=""))
    return None if size <= MAX_QUOTED_BYTES else f"quoted it has {size} bytes, at most {MAX_QUOTED_BYTES} are allowed"


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 120 else f"{text[:117]}..."
