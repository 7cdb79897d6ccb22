"""Annotations that mean nothing here although they look as if they did.

Any ``@word`` that is not known is metadata and is kept, so a slip in ``@unique`` would pass in silence. Words near a
known one, and words that other languages use for what this one writes in another way, get a warning. It comes after
everything else is checked: warnings are many at times, and take no room that an error needs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import MAX_ERRORS, Report
from omnigraph.schema import ast
from omnigraph.schema.check_annotations import head_of

_KNOWN: Final = (
    "card",
    "check",
    "description",
    "embed",
    "index",
    "instruction",
    "key",
    "range",
    "rename_from",
    "unique",
)
_NEAR: Final = 0.76
"""How alike two words are that one is taken for a slip in the other; ``unit`` and ``hard`` are words of their own."""

_LONGEST: Final = 24
"""No slip makes a known word longer than this."""

_MOST_WORDS: Final = 1000
"""So many different words are compared; people use a handful."""

_NO_DEFAULT: Final = "There are no default values; every insert says what it stores."
_REQUIRED: Final = "A property is required unless ? stands behind its type."
_OPTIONAL: Final = "A property that may be missing has ? behind its type."
_OTHER_WORDS: Final = {
    "default": _NO_DEFAULT,
    "default_value": _NO_DEFAULT,
    "required": _REQUIRED,
    "mandatory": _REQUIRED,
    "not_null": _REQUIRED,
    "notnull": _REQUIRED,
    "non_null": _REQUIRED,
    "nonnull": _REQUIRED,
    "optional": _OPTIONAL,
    "nullable": _OPTIONAL,
    "primary_key": "key",
    "primarykey": "key",
    "primary": "key",
    "pk": "key",
    "id": "key",
    "cardinality": "card",
    "embedding": "embed",
    "rename": "rename_from",
    "renamed": "rename_from",
    "min": "range",
    "max": "range",
    "pattern": "check",
    "regex": "check",
}
"""What other languages write: the annotation that is meant, or a sentence on how the same is said here."""


def warn_of_unknown(schema: ast.Schema, report: Report) -> None:
    """Add a warning for every annotation that was probably meant to do something."""
    meanings: dict[str, str | None] = dict.fromkeys(_KNOWN)
    for each in _annotations(schema):
        word = each.name.text
        if word not in meanings:
            if len(meanings) >= _MOST_WORDS:
                return
            meanings[word] = _meant(word.lower()) if len(word) <= _LONGEST else None
        meant = meanings[word]
        if meant is None:
            continue
        if len(report) >= MAX_ERRORS - 1:
            return
        is_annotation = meant in _KNOWN
        report.add(
            Code.UNKNOWN_ANNOTATION,
            head_of(each),
            f"@{word} is not known and has no effect",
            label=f'did you mean "@{meant}"?' if is_annotation else "this does nothing",
            help="An annotation that is not known is kept as metadata." if is_annotation else meant,
        )


def _meant(word: str) -> str | None:
    """The known annotation that a word was meant to be, or what to say of the word."""
    if word in _OTHER_WORDS:
        return _OTHER_WORDS[word]
    letters = sorted(word)
    swapped = next((each for each in _KNOWN if sorted(each) == letters), None)
    return swapped or next(iter(difflib.get_close_matches(word, _KNOWN, n=1, cutoff=_NEAR)), None)


def _annotations(schema: ast.Schema) -> Iterator[ast.Annotation]:
    for each in schema.declarations:
        if not isinstance(each, ast.Interface):
            yield from each.annotations
        for prop in each.properties:
            yield from prop.annotations
