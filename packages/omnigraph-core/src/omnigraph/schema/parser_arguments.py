"""Annotations, constraints and cardinalities: everything of the schema language that starts with ``@``.

``@key``, ``@unique``, ``@index``, ``@range`` and ``@check`` are constraints with a parenthesis and annotations without
one, wherever they stand. ``@card(lo..hi)`` belongs to the header of an edge. What fails to parse inside the parentheses
is reported and left out as a whole, so that the reader goes on behind them.
"""

from __future__ import annotations

from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import (
    END,
    ERROR,
    FLOAT,
    IDENT,
    INTEGER,
    MAX_INTEGER,
    STRING,
    TYPE_NAME,
    float_value,
    integer_value,
    string_value,
)
from omnigraph.schema import ast
from omnigraph.schema.parser_types import skip_behind

CONSTRAINT_NAMES: Final = frozenset({"key", "unique", "index", "range", "check"})

_LITERALS: Final = (STRING, INTEGER, FLOAT)
_BOOLS: Final = {"true": True, "false": False}


def at_constraint(cursor: Cursor) -> bool:
    """Whether a constraint starts here: its name, and a parenthesis behind it."""
    index = cursor.index
    return cursor.kinds[index] == "@" and cursor.texts[index + 1] in CONSTRAINT_NAMES and cursor.kinds[index + 2] == "("


def at_cardinality(cursor: Cursor) -> bool:
    """Whether ``@card(`` starts here. With one plain argument it reads as an annotation, which the check refuses."""
    index = cursor.index
    if cursor.kinds[index] != "@" or cursor.texts[index + 1] != "card" or cursor.kinds[index + 2] != "(":
        return False
    argument, behind, last = cursor.kinds[index + 3 : index + 6]
    is_plain = behind == ")" or (behind == "," and last == IDENT)
    return not (is_plain and (argument in _LITERALS or argument == IDENT))


def read_annotation(cursor: Cursor) -> ast.Annotation | None:
    """``@name`` with its arguments; None when it could not be read."""
    start = cursor.starts[cursor.index]
    cursor.index += 1
    if cursor.kind != IDENT:
        if cursor.kind == TYPE_NAME:
            _report_capital(cursor)
        elif cursor.kind != ERROR:
            _report(cursor, f'expected the name of an annotation behind "@", found {describe(cursor.token)}', "a name")
        if cursor.kind not in (END, "{", "}", "@", "("):
            cursor.take()
        if cursor.take_if("("):
            skip_behind(cursor, ")")
        return None
    name = _take_name(cursor)
    if cursor.kind != "(":
        return ast.Annotation(name=name, span=Span(start, name.span.end))
    cursor.index += 1
    try:
        value = _read_value(cursor, name)
        kwargs = _read_kwargs(cursor, name)
    except Unreadable:
        skip_behind(cursor, ")")
        return None
    return ast.Annotation(name=name, value=value, kwargs=kwargs, span=cursor.span_from(start))


def read_constraint(cursor: Cursor) -> ast.Constraint | None:
    """``@name(arguments)``; None when it could not be read."""
    start = cursor.starts[cursor.index]
    cursor.index += 1
    name = _take_name(cursor)
    cursor.index += 1
    arguments: list[ast.RangeBounds | ast.Literal | Name] = []
    try:
        if cursor.kind == ")":
            _fail_empty(cursor, name)
        while True:
            arguments.append(_read_constraint_argument(cursor))
            if cursor.take_if(",") is None:
                break
        cursor.expect(")", '"," or ")"')
    except Unreadable:
        skip_behind(cursor, ")")
        return None
    return ast.Constraint(name=name, arguments=tuple(arguments), span=cursor.span_from(start))


def read_cardinality(cursor: Cursor) -> ast.Cardinality | None:
    """``@card(lo..hi)`` or ``@card(lo..)``; None when it could not be read."""
    start = cursor.take().start
    cursor.take()
    cursor.take()
    help = "A cardinality is written @card(0..1) or, without a maximum, @card(1..)."
    try:
        if cursor.kind != INTEGER:
            cursor.fail("the smallest number of edges, an integer", help=help)
        minimum = integer_value(cursor.take(), cursor.report)
        if cursor.kind != "..":
            cursor.fail('".."', help=help)
        cursor.take()
        token = cursor.take_if(INTEGER)
        maximum = None if token is None else integer_value(token, cursor.report)
        if cursor.kind != ")":
            cursor.fail('an integer or ")"' if token is None else '")"', help=help)
        cursor.take()
    except Unreadable:
        skip_behind(cursor, ")")
        return None
    return ast.Cardinality(minimum=minimum, maximum=maximum, span=cursor.span_from(start))


def _take_name(cursor: Cursor) -> Name:
    index = cursor.index
    cursor.index = index + 1
    return Name(cursor.texts[index], Span(cursor.starts[index], cursor.ends[index]))


def _read_value(cursor: Cursor, name: Name) -> ast.Literal | Name:
    """The positional argument of an annotation."""
    if cursor.kind == ")":
        _fail_empty(cursor, name)
    if cursor.kind == IDENT and cursor.peek().kind == "=":
        cursor.fail(
            "a value without a name",
            code=Code.BAD_ANNOTATION_ARGUMENT,
            message=f"the first argument of @{name} has no name, found {describe(cursor.token)}",
        )
    literal = _read_literal(cursor)
    if literal is not None:
        return literal
    if cursor.kind != IDENT:
        quoted = f'Write it in quotes: "{cursor.token.text}".' if cursor.kind == TYPE_NAME else None
        cursor.fail("a literal or the name of a property", help=quoted)
    return _take_name(cursor)


def _read_kwargs(cursor: Cursor, name: Name) -> tuple[ast.Argument, ...]:
    """Named arguments up to the closing parenthesis."""
    kwargs: list[ast.Argument] = []
    while cursor.take_if(","):
        if cursor.kind != IDENT or cursor.peek().kind != "=":
            cursor.fail(
                "name=value",
                code=Code.BAD_ANNOTATION_ARGUMENT,
                message=f"@{name} takes one argument without a name, found {describe(cursor.token)} as another one",
            )
        key = _take_name(cursor)
        cursor.take()
        value = _read_literal(cursor)
        if value is None:
            cursor.fail("a literal", help='A literal is a string in double quotes, a number, "true" or "false".')
        kwargs.append(ast.Argument(name=key, value=value))
    cursor.expect(")", '"," or ")"')
    return tuple(kwargs)


def _read_literal(cursor: Cursor) -> ast.Literal | None:
    """The literal that stands next, if one does."""
    token = cursor.token
    value: ast.LiteralValue
    if token.kind == STRING:
        value = string_value(token, cursor.report)
    elif token.kind == INTEGER:
        value = integer_value(token, cursor.report)
    elif token.kind == FLOAT:
        value = float_value(token, cursor.report)
    elif token.text in _BOOLS:
        value = _BOOLS[token.text]
    else:
        return None
    cursor.take()
    return ast.Literal(value=value, span=token.span)


def _read_constraint_argument(cursor: Cursor) -> ast.RangeBounds | ast.Literal | Name:
    kind = cursor.kind
    if kind == IDENT and cursor.texts[cursor.index] not in _BOOLS:
        return _take_name(cursor)
    if kind in ("-", "..") or (kind in (INTEGER, FLOAT) and cursor.peek().kind == ".."):
        return _read_bounds(cursor)
    literal = _read_literal(cursor)
    if literal is not None:
        return literal
    if kind == TYPE_NAME:
        word = cursor.token.text
        cursor.fail(
            "the name of a property",
            message=f'"{word[:40]}" cannot be a property: property names start with a lower-case letter',
            choices=(word[0].lower() + word[1:],),
            help="Constraints name properties of the type they stand in.",
        )
    return cursor.fail("the name of a property, a literal or a range")


def _read_bounds(cursor: Cursor) -> ast.RangeBounds:
    """``lo..hi``, ``lo..`` or ``..hi``."""
    start = cursor.token.start
    minimum = None if cursor.kind == ".." else _read_number(cursor)
    cursor.expect("..", '".." between the bounds')
    is_open = minimum is not None and cursor.kind not in (INTEGER, FLOAT, "-")
    maximum = None if is_open else _read_number(cursor)
    return ast.RangeBounds(minimum=minimum, maximum=maximum, span=cursor.span_from(start))


def _read_number(cursor: Cursor) -> int | float:
    is_negative = cursor.take_if("-") is not None
    token = cursor.token
    if token.kind == FLOAT:
        value: int | float = float_value(cursor.take(), cursor.report)
    elif token.kind == INTEGER:
        cursor.take()
        if is_negative and token.text.lstrip("0") == str(MAX_INTEGER + 1):
            # The smallest 64-bit integer has no positive counterpart.
            return -MAX_INTEGER - 1
        value = integer_value(token, cursor.report)
    else:
        cursor.fail("a number")
    return -value if is_negative else value


def _fail_empty(cursor: Cursor, name: Name) -> None:
    """Parentheses with nothing in between."""
    is_constraint = name.text in CONSTRAINT_NAMES
    cursor.fail(
        "the name of a property" if is_constraint else "a literal or the name of a property",
        code=Code.BAD_CONSTRAINT_ARGUMENT if is_constraint else Code.BAD_ANNOTATION_ARGUMENT,
        message=f"@{name} has empty parentheses",
        help=f"Write @{name} alone, without parentheses." if name.text in ("key", "unique", "index") else None,
    )


def _report_capital(cursor: Cursor) -> None:
    """``@Key``, and the like."""
    word = cursor.token.text
    guess = word.lower() if word.isupper() else word[0].lower() + word[1:]
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.place,
        f'the name of an annotation starts with a lower-case letter, found "{word[:40]}"',
        label=f'did you mean "{guess[:40]}"?',
    )


def _report(cursor: Cursor, message: str, expected: str) -> None:
    cursor.report.add(Code.UNEXPECTED_TOKEN, cursor.place, message, label=f"expected {expected}")
