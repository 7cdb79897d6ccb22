"""Reads JSON that must have an exact form, and says where it has not.

Text comes in; a ``Place`` goes out: a value that knows its path. The readers of stored schema objects take it apart and
never look at a raw value, so every complaint names a path such as ``$.nodes[0].type_id`` and what was expected there.
Members that are not known are ignored: a later release may write more, and names what must be understood in the
manifest.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from omnigraph.errors import InvalidInputError
from omnigraph.lang.diagnostics import listed

_SHOWN: int = 40
"""How much of a wrong value is shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """A JSON value and where it stands.

    Attributes:
        document: what messages call the whole, such as ``schema IR``.
    """

    document: str
    value: Any
    path: str = "$"

    @property
    def is_null(self) -> bool:
        return self.value is None

    def fail(self, expected: str) -> NoReturn:
        """Refuse this value.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(
            f"The {self.document} is wrong at {self.path}: expected {expected}, got {_shown(self.value)}.",
            help="It is written by OmniGraph and not meant to be edited; restore it from a copy.",
            details={"path": self.path, "expected": expected},
        )

    def field(self, name: str) -> Place:
        """One field of an object, whatever else it has: the one that says what the others must be."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        return self._at(name)

    def fields(self, *names: str, optional: Collection[str] = ()) -> dict[str, Place]:
        """These fields of an object, whatever else it has; optional ones may be missing."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        for name in names:
            if name not in self.value:
                self._at(name).fail("this field")
        return {name: self._at(name) for name in (*names, *optional) if name in self.value}

    def items(self) -> list[Place]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.fail("a list")
        return [Place(self.document, item, f"{self.path}[{number}]") for number, item in enumerate(self.value)]

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            self.fail("a text that is not empty")
        return self.value

    def optional_text(self) -> str | None:
        """A text, which may be empty, or null."""
        if self.value is not None and not isinstance(self.value, str):
            self.fail("a text or null")
        return self.value

    def word(self, choices: Collection[str]) -> str:
        """One of a few words."""
        if not isinstance(self.value, str) or self.value not in choices:
            self.fail(f"one of {listed(choices)}")
        return self.value

    def whole(self, minimum: int, maximum: int | None = None) -> int:
        """A whole number, ``minimum`` or above, and not above ``maximum``."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < minimum:
            self.fail(f"a whole number, {minimum} or above")
        if maximum is not None and self.value > maximum:
            self.fail(f"a whole number, {maximum} or below")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def exactly(self, constant: int) -> int:
        """A number that must be this one."""
        if self.whole(0) != constant:
            self.fail(str(constant))
        return constant

    def _at(self, name: str) -> Place:
        return Place(self.document, self.value.get(name, _MISSING), f"{self.path}.{name}")


class _Missing:
    """Stands for a field that is not there."""


_MISSING = _Missing()


def read_json(document: str, text: str) -> Place:
    """The root of a JSON text.

    Raises:
        InvalidInputError: it is no JSON, repeats a field within an object, or holds a number that JSON has not.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_fields, parse_constant=_refuse_constant)
        # What cannot be written again cannot be hashed: half of a surrogate pair, a number beyond all floats.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        _refuse_text(document, "it holds half of a surrogate pair", error)
    except json.JSONDecodeError as error:
        _refuse_text(document, f"{error.msg} at line {error.lineno}, column {error.colno}", error)
    except ValueError as error:
        _refuse_text(document, str(error), error)
    except RecursionError as error:
        _refuse_text(document, "it is nested too deeply", error)
    return Place(document, value)


def _refuse_text(document: str, problem: str, cause: Exception) -> NoReturn:
    raise InvalidInputError(
        f"The {document} is not valid JSON: {problem}.",
        help="It is written by OmniGraph and not meant to be edited; restore it from a copy.",
        details={"path": "$", "expected": "valid JSON"},
    ) from cause


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the field "{repeated}" occurs twice in one object')
    return fields


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _shown(value: Any) -> str:
    match value:
        case _Missing():
            return "nothing"
        case dict():
            return "an object"
        case list():
            return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
