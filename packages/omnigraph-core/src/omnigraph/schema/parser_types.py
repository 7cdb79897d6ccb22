"""Types of properties as the schema language writes them: from tokens to a ``ValueType``.

The parser of bodies calls ``read_type`` behind the colon of a property. A type that cannot be read is reported and left
out, so that the reader goes on behind it. Enum values are no tokens of their own: ``sci-fi`` and ``2nd`` mean something
between the parentheses of an enum only, and are matched on the text there.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import Related, closest, listed
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import END, ERROR, IDENT, INTEGER, STRING, TYPE_NAME
from omnigraph.lang.types import MAX_VECTOR_DIMENSION, SCALAR_NAMES, Scalar, ValueType

_ENUM_VALUE: Final = re.compile(r"[A-Za-z0-9_-]+")

_OTHER_SPELLINGS: Final = {
    "int": "I32",
    "integer": "I64",
    "int32": "I32",
    "int64": "I64",
    "uint32": "U32",
    "uint64": "U64",
    "long": "I64",
    "number": "F64",
    "float": "F64",
    "float32": "F32",
    "float64": "F64",
    "double": "F64",
    "decimal": "F64",
    "boolean": "Bool",
    "text": "String",
    "str": "String",
    "varchar": "String",
    "uuid": "String",
    "json": "String",
    "timestamp": "DateTime",
    "time": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
}
"""What other languages call the scalar types."""

_SCALARS: Final = {name: ValueType(scalar) for name, scalar in SCALAR_NAMES.items()}
_CLOSING: Final = {"(": ")", "[": "]", "<": ">"}
_NEVER_INSIDE: Final = frozenset({END, "{", "}", "@"})
"""Kinds of tokens that do not stand between parentheses or brackets."""


def read_type(cursor: Cursor) -> ValueType | None:
    """The type that stands next; None when it means nothing, which is reported.

    Raises:
        Unreadable: nothing that could be a type stands here; the cursor has not moved.
    """
    kind = cursor.kind
    found: ValueType | None
    if kind == TYPE_NAME and (scalar := _SCALARS.get(cursor.texts[cursor.index])) is not None:
        cursor.index += 1
        if cursor.kind == "[" and cursor.peek().kind == "]":
            _report_suffixed_list(cursor, scalar)
            return None
        found = scalar
    elif kind == "[":
        found = _read_list(cursor)
    elif cursor.at_word("Vector"):
        found = _read_vector(cursor)
    elif cursor.at_word("enum") and cursor.peek().kind != ":":
        found = _read_enum(cursor)
    elif kind in (TYPE_NAME, IDENT) and cursor.peek().kind != ":":
        _report_unknown(cursor)
        found = None
    else:
        cursor.fail("a type", help=f"The types are: {listed(SCALAR_NAMES)}, Vector(n), enum(a, b) and [T].")
    if cursor.kind == "?":
        cursor.index += 1
        return None if found is None else found.with_nullable(True)
    return found


def at_property(cursor: Cursor) -> bool:
    """Whether a property starts here."""
    return cursor.kinds[cursor.index] == IDENT and cursor.kinds[cursor.index + 1] == ":"


def at_broken_word(cursor: Cursor) -> bool:
    """Whether the next word goes on with a character that no word has, which is reported already."""
    index = cursor.index
    return cursor.kinds[index + 1] == ERROR and cursor.starts[index + 1] == cursor.ends[index]


def skip_behind(cursor: Cursor, closing: str) -> None:
    """Go on behind a closing mark, or in front of what can hardly be inside of it."""
    while (kind := cursor.kind) not in _NEVER_INSIDE and not at_property(cursor):
        cursor.index += 1
        if kind == closing:
            return


def _read_list(cursor: Cursor) -> ValueType | None:
    """``[T]`` with a scalar ``T``."""
    cursor.take()
    token = cursor.token
    scalar = SCALAR_NAMES.get(token.text)
    if scalar is None:
        if token.kind == "[" or token.text in ("enum", "Vector"):
            what = "lists" if token.kind == "[" else f"{token.text}s"
            cursor.report.add(
                Code.LIST_OF_BLOB,
                token.span,
                f"a list of {what} is not possible",
                label="expected a scalar type",
                help=f"A list holds one of: {listed(_LISTABLE)}.",
            )
        elif token.kind in (TYPE_NAME, IDENT) and cursor.peek().kind != ":":
            _report_unknown(cursor)
        elif token.kind != ERROR:
            _report(cursor, f"expected the type of the items, found {describe(token)}", "expected a scalar type")
        _skip_brackets(cursor)
        cursor.take_if("?")
        return None
    cursor.take()
    if cursor.kind == "?":
        _report(
            cursor,
            f"the items of a list cannot be marked as {scalar}?",
            'expected "]"',
            help=f"A list that may be missing is written [{scalar}]?.",
        )
        cursor.take()
    if cursor.take_if("]") is None:
        if cursor.kind != ERROR:
            _report(cursor, f'expected "]" to close the list, found {describe(cursor.token)}', 'expected "]"')
        if cursor.kind == "(" or cursor.kind == "<":
            _skip_brackets(cursor)
            cursor.take_if("]")
        return None
    return ValueType(scalar, is_list=True)


def _report_suffixed_list(cursor: Cursor, scalar: ValueType) -> None:
    """``T[]``, as other languages write a list."""
    place = cursor.take().span.to(cursor.take().span)
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        place,
        f"a list of {scalar} is not written {scalar}[]",
        label=f'did you mean "[{scalar}]"?',
    )
    cursor.take_if("?")


def _read_vector(cursor: Cursor) -> ValueType | None:
    """``Vector(n)``."""
    word = cursor.take()
    if cursor.take_if("(") is None:
        cursor.report.add(
            Code.BAD_VECTOR_DIMENSION,
            word.span,
            "a Vector needs its dimension",
            label="expected Vector(n)",
            help="Write how many numbers each vector has, such as Vector(384).",
        )
        if cursor.kind in _CLOSING and cursor.kind != "(":
            cursor.take()
            _skip_brackets(cursor)
        return None
    token = cursor.token
    if token.kind != INTEGER or cursor.peek().kind != ")":
        if token.kind != ERROR:
            place = token.span if token.kind != INTEGER else cursor.peek().span
            cursor.report.add(
                Code.BAD_VECTOR_DIMENSION,
                place,
                "the dimension of a Vector is one integer",
                label=f"expected 1 to {MAX_VECTOR_DIMENSION}" if token.kind != INTEGER else 'expected ")"',
            )
        skip_behind(cursor, ")")
        return None
    cursor.take()
    cursor.take()
    # Compared as text first: a number with a thousand digits is too large in any case.
    digits = token.text.lstrip("0")
    dimension = int(digits or "0") if len(digits) <= len(str(MAX_VECTOR_DIMENSION)) else MAX_VECTOR_DIMENSION + 1
    if not 1 <= dimension <= MAX_VECTOR_DIMENSION:
        cursor.report.add(
            Code.BAD_VECTOR_DIMENSION,
            token.span,
            "no Vector has this dimension",
            label=f"expected 1 to {MAX_VECTOR_DIMENSION}",
        )
        return None
    return ValueType(Scalar.VECTOR, dimension=dimension)


def _read_enum(cursor: Cursor) -> ValueType | None:
    """``enum(a, b)``. A repeated value is reported and counts once."""
    word = cursor.take()
    if cursor.kind != "(":
        if cursor.kind != ERROR:
            _report(
                cursor,
                f'expected "(" and the values of the enum, found {describe(cursor.token)}',
                'expected "("',
                help="An enum is written enum(first, second).",
            )
        if cursor.kind == "{":
            cursor.skip_block()
        elif cursor.kind in _CLOSING:
            cursor.take()
            _skip_brackets(cursor)
        return None
    cursor.take()
    if cursor.kind == ")":
        cursor.report.add(
            Code.BAD_ENUM, Span(word.start, cursor.take().end), "this enum has no values", label="expected enum(a, b)"
        )
        return None
    places: dict[str, Span] = {}
    try:
        _read_enum_values(cursor, places)
    except Unreadable:
        skip_behind(cursor, ")")
        return None
    return ValueType(Scalar.STRING, enum_values=tuple(sorted(places)))


def _read_enum_values(cursor: Cursor, places: dict[str, Span]) -> None:
    """Values up to the closing parenthesis, each with its place."""
    while True:
        value, place = _read_enum_value(cursor)
        first = places.setdefault(value, place)
        if first is not place:
            cursor.report.add(
                Code.BAD_ENUM,
                place,
                f'the enum value "{value[:40]}" is repeated',
                label="each value stands once",
                related=(Related(span=first, label="first written here"),),
            )
        if cursor.take_if(")"):
            return
        if cursor.kind == "," and cursor.peek().kind == ")":
            _report(cursor, "no comma stands behind the last enum value", 'expected ")"')
            cursor.take()
            cursor.take()
            return
        if cursor.take_if(",") is None:
            if cursor.kind not in (IDENT, TYPE_NAME, INTEGER, "-") or at_property(cursor):
                cursor.fail('"," or ")"')
            _report(cursor, f"a comma is missing before {describe(cursor.token)}", 'expected ","')


def _read_enum_value(cursor: Cursor) -> tuple[str, Span]:
    token = cursor.token
    if token.kind == STRING:
        cursor.fail(
            "an enum value without quotes",
            message=f"enum values stand without quotes, found {describe(token)}",
            help="An enum value is made of letters, digits, _ and -.",
        )
    match = None if token.kind in (ERROR, END) else _ENUM_VALUE.match(cursor.report.source.text, token.start)
    if match is None:
        cursor.fail("an enum value", help="An enum value is made of letters, digits, _ and -.")
    place = Span(*match.span())
    cursor.move_to(place.end)
    if cursor.previous_end > place.end:
        # The last token goes on behind the value, such as the "1.5" of "a-1.5".
        rest = Span(place.end, cursor.previous_end)
        text = cursor.report.source.text[rest.start : rest.end]
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            rest,
            f'"{text}" cannot be part of an enum value',
            label='expected "," or ")"',
            help="An enum value is made of letters, digits, _ and -.",
        )
        raise Unreadable
    return match[0], place


_LISTABLE: Final = [name for name in SCALAR_NAMES if name != "Blob"]


def _report_unknown(cursor: Cursor) -> None:
    """A word that is no type, and whatever it has in brackets behind it."""
    is_told = at_broken_word(cursor)
    token = cursor.take()
    if is_told:
        return
    guess = _OTHER_SPELLINGS.get(token.text.casefold()) or closest(token.text, (*SCALAR_NAMES, "Vector", "enum"))
    help = f"The types are: {listed(SCALAR_NAMES)}, Vector(n), enum(a, b) and [T]."
    if guess is None and token.kind == TYPE_NAME:
        help += " A link to another node is an edge."
    cursor.report.add(
        Code.UNKNOWN_SCALAR,
        token.span,
        f'there is no type "{token.text[:40]}"',
        label=f'did you mean "{guess}"?' if guess else "expected a type",
        help=help,
    )
    if cursor.kind in _CLOSING:
        cursor.take()
        _skip_brackets(cursor)


def _skip_brackets(cursor: Cursor) -> None:
    """Go on behind the mark that closes the bracket before the cursor, whatever is nested in it."""
    depth = 1
    while (kind := cursor.kind) not in _NEVER_INSIDE and not at_property(cursor):
        cursor.index += 1
        if kind in _CLOSING:
            depth += 1
        elif kind in (")", "]", ">"):
            depth -= 1
            if not depth:
                return


def _report(cursor: Cursor, message: str, label: str, *, help: str | None = None) -> None:
    """Something else was expected at the next token."""
    cursor.report.add(Code.UNEXPECTED_TOKEN, cursor.place, message, label=label, help=help)
