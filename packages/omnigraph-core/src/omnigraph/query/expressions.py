"""Reads expressions, literals and values of the query language.

A cursor comes in, a node of ``ast`` goes out and the cursor stands behind it. Keywords are not reserved: a word is the
name of a function only when a parenthesis follows, and ``true`` and ``false`` are the only words that are literals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.building import constructor_of
from omnigraph.lang.cursor import Cursor
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import (
    FLOAT,
    IDENT,
    INTEGER,
    MAX_UNSIGNED,
    STRING,
    VARIABLE,
    float_value,
    integer_value,
    string_value,
)
from omnigraph.query import expression_mistakes as mistakes
from omnigraph.query.ast import (
    Aggregate,
    AggregateFunction,
    BoolLiteral,
    DateLiteral,
    DateTimeLiteral,
    Expression,
    FloatLiteral,
    Identifier,
    IntegerLiteral,
    ListLiteral,
    Literal,
    Nearest,
    Now,
    PropertyAccess,
    Rrf,
    StringLiteral,
    TextCall,
    TextFunction,
    Value,
    Variable,
)

# Parsing a query makes little else than these, so none of them goes through the lock of a frozen class.
_name = constructor_of(Name)
_variable = constructor_of(Variable)
_access = constructor_of(PropertyAccess)
_string = constructor_of(StringLiteral)
_bool = constructor_of(BoolLiteral)
_identifier = constructor_of(Identifier)
_integer = constructor_of(IntegerLiteral)
_float = constructor_of(FloatLiteral)
_date = constructor_of(DateLiteral)
_datetime = constructor_of(DateTimeLiteral)
_nearest = constructor_of(Nearest)
_text_call = constructor_of(TextCall)
_rrf = constructor_of(Rrf)
_aggregate = constructor_of(Aggregate)
_span = tuple.__new__


def read_expression(cursor: Cursor) -> Expression:
    """``now()``, a call, ``$v.p``, ``$v``, a literal or a bare word.

    Raises:
        Unreadable: it is none of these; the reason is in the report.
    """
    index = cursor.index
    kinds = cursor.kinds
    kind = kinds[index]
    if kind == VARIABLE:
        start, end = cursor.starts[index], cursor.ends[index]
        text = cursor.texts[index][1:]
        if kinds[index + 1] != ".":
            cursor.index = index + 1
            return _variable(text, _span(Span, (start, end)))
        index += 2
        cursor.index = index
        if kinds[index] != IDENT:
            mistakes.refuse_property_name(cursor)
        cursor.index = index + 1
        last = cursor.ends[index]
        return _access(
            _name(text, _span(Span, (start, end))),
            _name(cursor.texts[index], _span(Span, (cursor.starts[index], last))),
            _span(Span, (start, last)),
        )
    if kind == IDENT:
        word = cursor.texts[index]
        if kinds[index + 1] == "(":
            read = _CALLS.get(word)
            if read is None:
                mistakes.refuse_function(cursor, _CALLS)
            return read(cursor)
        cursor.index = index + 1
        span = _span(Span, (cursor.starts[index], cursor.ends[index]))
        if word == "true" or word == "false":
            return _bool(word == "true", span)
        return _identifier(word, span)
    return read_literal(cursor)


def read_value(cursor: Cursor) -> Value:
    """A literal, a variable or ``now()``: what can be matched inline, assigned, and compared in a ``where``.

    Raises:
        Unreadable: it is none of these; the reason is in the report.
    """
    index = cursor.index
    kind = cursor.kinds[index]
    if kind == VARIABLE:
        cursor.index = index + 1
        if cursor.kinds[index + 1] == ".":
            mistakes.refuse_property_as_value(cursor)
        return _variable(cursor.texts[index][1:], _span(Span, (cursor.starts[index], cursor.ends[index])))
    if kind == IDENT and cursor.texts[index] == "now" and cursor.kinds[index + 1] == "(":
        return _read_now(cursor)
    return read_literal(cursor)


def read_literal(cursor: Cursor) -> Literal:
    """A string, a number, ``true``, ``false``, ``date("..")``, ``datetime("..")``, or a list of these.

    Raises:
        Unreadable: it is none of these; the reason is in the report.
    """
    index = cursor.index
    kind = cursor.kinds[index]
    if kind == STRING:
        text = cursor.texts[index]
        value = string_value(cursor.token, cursor.report) if "\\" in text else text[1:-1]
        cursor.index = index + 1
        return _string(value, _span(Span, (cursor.starts[index], cursor.ends[index])))
    if kind in (INTEGER, FLOAT):
        token = cursor.token
        cursor.index = index + 1
        if cursor.starts[index + 1] == token.end:
            mistakes.check_number_end(cursor, token)
        span = _span(Span, (token.start, token.end))
        if kind == INTEGER:
            return _integer(integer_value(token, cursor.report, largest=MAX_UNSIGNED), span)
        return _float(float_value(token, cursor.report), span)
    if kind == "[":
        return _read_list(cursor)
    if kind == IDENT:
        word = cursor.texts[index]
        if word == "true" or word == "false":
            return _bool(word == "true", cursor.take().span)
        if cursor.kinds[index + 1] == "(":
            if word == "date":
                return _read_date(cursor)
            if word == "datetime":
                return _read_datetime(cursor)
    if kind == "-" and mistakes.skip_minus(cursor):
        return read_literal(cursor)
    return mistakes.refuse_value(cursor)


def _read_list(cursor: Cursor) -> ListLiteral:
    start = cursor.starts[cursor.index]
    cursor.index += 1
    items: list[Literal] = []
    if cursor.kind != "]":
        cursor.enter()
        items.append(read_literal(cursor))
        while cursor.kind == ",":
            check_cancelled()
            cursor.take()
            if cursor.kind == "]":
                mistakes.report_trailing_comma(cursor, "a list")
                break
            items.append(read_literal(cursor))
        cursor.leave()
    cursor.expect("]", '"," or "]"')
    return ListLiteral(tuple(items), cursor.span_from(start))


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _open_call(cursor: Cursor) -> int:
    """Take the name and the parenthesis; answers where the call starts."""
    start = cursor.starts[cursor.index]
    cursor.index += 2
    cursor.enter()
    return start


def _close_call(cursor: Cursor, start: int, usage: str) -> Span:
    index = cursor.index
    if cursor.kinds[index] != ")":
        mistakes.refuse_argument(cursor, '")"', usage)
    cursor.index = index + 1
    cursor.depth -= 1
    return _span(Span, (start, cursor.ends[index]))


def _take_comma(cursor: Cursor, usage: str) -> None:
    if cursor.kinds[cursor.index] != ",":
        mistakes.refuse_argument(cursor, '"," and one more argument', usage)
    cursor.index += 1


def _read_now(cursor: Cursor) -> Now:
    start = _open_call(cursor)
    return Now(_close_call(cursor, start, "now()"))


def _read_date(cursor: Cursor) -> DateLiteral:
    start = _open_call(cursor)
    usage = 'date("2024-05-01")'
    text = _take_text(cursor, usage)
    return _date(text, _close_call(cursor, start, usage))


def _read_datetime(cursor: Cursor) -> DateTimeLiteral:
    start = _open_call(cursor)
    usage = 'datetime("2024-05-01T12:30:00Z")'
    text = _take_text(cursor, usage)
    return _datetime(text, _close_call(cursor, start, usage))


def _take_text(cursor: Cursor, usage: str) -> str:
    if cursor.kind != STRING:
        cursor.fail("a string", help=f"Write {usage}")
    return string_value(cursor.take(), cursor.report)


def _read_nearest(cursor: Cursor) -> Nearest:
    start = _open_call(cursor)
    usage = "nearest($variable.property, query)"
    variable = _take_variable(cursor, usage)
    if cursor.kind != ".":
        cursor.fail('"." and a property', help=f"Write {usage}")
    cursor.take()
    if cursor.kind != IDENT:
        mistakes.refuse_property_name(cursor)
    name = cursor.take()
    _take_comma(cursor, usage)
    query = read_expression(cursor)
    span = _close_call(cursor, start, usage)
    return _nearest(variable, Name(name.text, Span(name.start, name.end)), query, span)


def _take_variable(cursor: Cursor, usage: str) -> Name:
    if cursor.kind != VARIABLE:
        mistakes.refuse_argument(cursor, "a variable", usage)
    token = cursor.take()
    return Name(token.text[1:], Span(token.start, token.end))


def _read_text_call(cursor: Cursor) -> TextCall:
    function = _TEXT_FUNCTIONS[cursor.texts[cursor.index]]
    start = _open_call(cursor)
    usage = _TEXT_USAGE[function]
    subject = read_expression(cursor)
    _take_comma(cursor, usage)
    query = read_expression(cursor)
    max_edits = None
    if function is _FUZZY and cursor.kind == ",":
        cursor.take()
        max_edits = read_expression(cursor)
    return _text_call(function, subject, query, max_edits, _close_call(cursor, start, usage))


_TEXT_USAGE: Final = {
    TextFunction.SEARCH: "search($variable.property, query)",
    TextFunction.FUZZY: "fuzzy($variable.property, query) or fuzzy($variable.property, query, max_edits)",
    TextFunction.MATCH_TEXT: "match_text($variable.property, query)",
    TextFunction.BM25: "bm25($variable.property, query)",
}


def _read_rrf(cursor: Cursor) -> Rrf:
    start = _open_call(cursor)
    usage = "rrf(nearest(..), bm25(..)) or rrf(nearest(..), bm25(..), k)"
    first = _read_rrf_arm(cursor)
    _take_comma(cursor, usage)
    second = _read_rrf_arm(cursor)
    k = None
    if cursor.kind == ",":
        cursor.take()
        k = read_expression(cursor)
    return _rrf(first, second, k, _close_call(cursor, start, usage))


def _read_rrf_arm(cursor: Cursor) -> Nearest | TextCall:
    word = cursor.token.text
    if cursor.peek().kind == "(":
        if word == "nearest":
            return _read_nearest(cursor)
        if word == "bm25":
            return _read_text_call(cursor)
    return cursor.fail("nearest(..) or bm25(..)", help="rrf joins two rankings; each is nearest(..) or bm25(..).")


def _read_aggregate(cursor: Cursor) -> Aggregate:
    function = _AGGREGATE_FUNCTIONS[cursor.texts[cursor.index]]
    start = _open_call(cursor)
    if cursor.texts[cursor.index] == "distinct" and cursor.kinds[cursor.index + 1] != ")":
        mistakes.skip_distinct(cursor)
    argument = read_expression(cursor)
    return _aggregate(function, argument, _close_call(cursor, start, "count($variable.property)"))


_FUZZY: Final = TextFunction.FUZZY
_TEXT_FUNCTIONS: Final = {str(each): each for each in TextFunction}
_AGGREGATE_FUNCTIONS: Final = {str(each): each for each in AggregateFunction}
_CALLS: Final[dict[str, Callable[[Cursor], Expression]]] = {
    "now": _read_now,
    "nearest": _read_nearest,
    "rrf": _read_rrf,
    "date": _read_date,
    "datetime": _read_datetime,
    **dict.fromkeys(_TEXT_FUNCTIONS, _read_text_call),
    **dict.fromkeys(_AGGREGATE_FUNCTIONS, _read_aggregate),
}
