"""Reads what a read query answers: the return block, the order block and the limit.

Commas between projections are optional, those between orderings are not. Behind a projection ``as`` always starts an
alias: a result column of that name could be ordered by, never projected.
"""

from __future__ import annotations

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.building import constructor_of
from omnigraph.lang.cursor import Cursor, Unreadable
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, IDENT, INTEGER, integer_value
from omnigraph.query import expression_mistakes, recovery, section_mistakes
from omnigraph.query.ast import Limit, Nearest, Ordering, Projection
from omnigraph.query.expressions import read_expression

_name = constructor_of(Name)
_projection = constructor_of(Projection)
_ordering = constructor_of(Ordering)
_limit = constructor_of(Limit)
_span = tuple.__new__


def read_projections(cursor: Cursor) -> tuple[Projection, ...]:
    """``return { projections }``; the cursor stands at ``return``.

    Raises:
        Unreadable: no brace follows, and the reason is in the report.
    """
    cursor.index += 1
    if cursor.kind != "{":
        section_mistakes.refuse_bare_return(cursor)
    opened = cursor.index
    cursor.index = opened + 1
    if cursor.kinds[opened + 1] == "}":
        expression_mistakes.report_empty(cursor, opened, "the return block", "at least one projection")
    projections: list[Projection] = []
    kinds = cursor.kinds
    while (kind := kinds[cursor.index]) != "}":
        if kind == END or (kind == IDENT and recovery.ends_projections(cursor)):
            break
        check_cancelled()
        start, depth = cursor.index, cursor.depth
        try:
            projections.append(_read_projection(cursor))
            if kinds[cursor.index] == ",":
                cursor.index += 1
        except Unreadable:
            recovery.resume(cursor, _behind_projection, start, depth)
    recovery.close_block(cursor, opened, "the return block")
    return tuple(projections)


def _read_projection(cursor: Cursor) -> Projection:
    index = cursor.index
    start, texts, kinds = cursor.starts[index], cursor.texts, cursor.kinds
    if texts[index] == "distinct" and kinds[index + 1] not in (",", "}", IDENT):
        expression_mistakes.skip_distinct(cursor)
    expression = read_expression(cursor)
    index = cursor.index
    alias = None
    if texts[index] == "as":
        index += 1
        cursor.index = index
        if kinds[index] != IDENT:
            section_mistakes.refuse_alias(cursor)
        alias = _name(texts[index], _span(Span, (cursor.starts[index], cursor.ends[index])))
        index += 1
        cursor.index = index
    return _projection(expression, alias, _span(Span, (start, cursor.ends[index - 1])))


def _behind_projection(cursor: Cursor) -> bool:
    return cursor.kind == "," or recovery.starts_projection(cursor)


def read_orderings(cursor: Cursor) -> tuple[Ordering, ...]:
    """``order { orderings }``; the cursor stands at ``order``.

    Raises:
        Unreadable: no brace follows, and the reason is in the report.
    """
    cursor.index += 1
    if cursor.kind != "{":
        section_mistakes.check_order_by(cursor)
    opened = cursor.index
    cursor.index = opened + 1
    if cursor.kinds[opened + 1] == "}":
        expression_mistakes.report_empty(cursor, opened, "the order block", "at least one ordering")
    orderings: list[Ordering] = []
    kinds = cursor.kinds
    while (kind := kinds[cursor.index]) != "}":
        if kind == END or (kind == IDENT and recovery.starts_part(cursor)):
            break
        check_cancelled()
        start, depth = cursor.index, cursor.depth
        try:
            orderings.append(_read_ordering(cursor))
            kind = kinds[cursor.index]
            if kind == ",":
                cursor.index += 1
                if kinds[cursor.index] == "}":
                    expression_mistakes.report_trailing_comma(cursor, "the order block")
            elif kind != "}":
                section_mistakes.check_behind_ordering(cursor)
        except Unreadable:
            recovery.resume(cursor, _behind_projection, start, depth)
    recovery.close_block(cursor, opened, "the order block")
    return tuple(orderings)


def _read_ordering(cursor: Cursor) -> Ordering:
    start = cursor.starts[cursor.index]
    expression = read_expression(cursor)
    is_descending = False
    word = cursor.texts[cursor.index]
    if word == "asc" or word == "desc":
        if expression.__class__ is Nearest:
            section_mistakes.report_nearest_direction(cursor)
        is_descending = word == "desc"
        cursor.index += 1
    return _ordering(expression, is_descending, _span(Span, (start, cursor.ends[cursor.index - 1])))


def read_limit(cursor: Cursor) -> Limit:
    """``limit n``; the cursor stands at ``limit``.

    Raises:
        Unreadable: no integer follows, and the reason is in the report.
    """
    index = cursor.index
    cursor.index = index + 1
    if cursor.kinds[index + 1] != INTEGER:
        section_mistakes.refuse_limit(cursor)
    token = cursor.take()
    if cursor.starts[index + 2] == token.end:
        expression_mistakes.check_number_end(cursor, token)
    return _limit(integer_value(token, cursor.report), Span(cursor.starts[index], token.end))
