"""Where reading can start again after a mistake in a query file.

Keywords are not reserved, so a start is told by two or three tokens together, which can stand nowhere else: ``return``
before a brace, ``insert`` before a type name, ``query`` before a name and a parenthesis. Line breaks mean nothing in
the language; they only help to guess which variable starts a clause once something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor
from omnigraph.lang.diagnostics import Related
from omnigraph.lang.tokens import END, FLOAT, IDENT, INTEGER, STRING, TYPE_NAME, VARIABLE

SECTIONS: Final = ("match", "return", "order", "limit")
STATEMENTS: Final = ("insert", "update", "delete")

_START_KINDS: Final = frozenset((VARIABLE, IDENT, ","))
_OPENING: Final = ("(", "[")
_CLOSING: Final = (")", "]")
_CLAUSE_ENDS: Final = (STRING, INTEGER, FLOAT, TYPE_NAME, ")", "]", "}")


def starts_query(cursor: Cursor) -> bool:
    """``query name(``, or the same with one of the usual slips."""
    if cursor.token.text != "query" or cursor.peek().kind not in (IDENT, TYPE_NAME):
        return False
    behind = cursor.peek(2).kind
    if behind != "(":
        return behind in ("{", "@")
    # `query count($x)` can be two projections; only parameters have a colon, and only a query goes on with its body.
    inside, then = cursor.peek(3).kind, cursor.peek(4).kind
    return then in ("{", "@") if inside == ")" else inside != VARIABLE or then not in (".", ",", ")")


def starts_part(cursor: Cursor) -> bool:
    """A section of a read, a statement of a mutation or another query: none of it can stand inside a block."""
    word = cursor.texts[cursor.index]
    if word in SECTIONS:
        behind = cursor.kinds[cursor.index + 1]
        return behind == (INTEGER if word == "limit" else "{") or (word == "limit" and behind in (VARIABLE, "-"))
    if word in STATEMENTS:
        return cursor.kinds[cursor.index + 1] == TYPE_NAME
    return word == "query" and starts_query(cursor)


def ends_projections(cursor: Cursor) -> bool:
    """Like ``starts_part``, but ``limit 10`` can be two projections."""
    return cursor.texts[cursor.index] != "limit" and starts_part(cursor)


def starts_line(cursor: Cursor) -> bool:
    """Whether a line break stands before the next token."""
    return cursor.report.source.text.find("\n", cursor.previous_end, cursor.token.start) >= 0


def starts_clause(cursor: Cursor) -> bool:
    """A guess, made only behind a mistake."""
    if cursor.kind == VARIABLE:
        return (
            starts_line(cursor)
            or cursor.peek(-1).kind in _CLAUSE_ENDS
            or (cursor.peek().kind == ":" and cursor.peek(2).kind == TYPE_NAME)
        )
    if cursor.kind == IDENT:
        return (cursor.token.text == "not" and cursor.peek().kind == "{") or starts_part(cursor)
    return False


def starts_entry(cursor: Cursor) -> bool:
    """``name:`` in the braces of a binding or of an assignment, or something that stands behind such braces."""
    if cursor.kind == IDENT:
        return cursor.peek().kind in (":", "=") or starts_part(cursor)
    return cursor.kind == VARIABLE and starts_line(cursor) and cursor.peek().kind not in (",", "}")


def ends_entries(cursor: Cursor) -> bool:
    """Something that cannot stand in the braces of a binding or of an assignment: what stands behind them."""
    kind = cursor.kinds[cursor.index]
    if kind == IDENT:
        return starts_part(cursor)
    return kind == END or (kind == VARIABLE and starts_entry(cursor))


def starts_projection(cursor: Cursor) -> bool:
    """A guess as well: projections need no comma between them."""
    return (cursor.kind == VARIABLE and starts_line(cursor)) or (cursor.kind == IDENT and starts_part(cursor))


def skip_to(cursor: Cursor, is_start: Callable[[Cursor], bool], first: int | None = None) -> None:
    """Leave out tokens up to a start, to the brace that closes this block, or to another query.

    Blocks in between are left out as one, and a comma inside parentheses or brackets is no start. Nothing is left out
    when the next token is a start already, so whoever calls this must have moved since the last start.

    Args:
        cursor: stands behind the mistake.
        is_start: whether reading can go on here.
        first: the token with which the entry starts that was not understood; calls and lists may be open since then.
    """
    kinds, index, depth = cursor.kinds, cursor.index, 0
    entry = kinds[index if first is None else first : index]
    nesting = sum(map(entry.count, _OPENING)) - sum(map(entry.count, _CLOSING))
    while (kind := kinds[index]) != END:
        if kind == "{":
            depth += 1
        elif kind == "}":
            if depth == 0:
                break
            depth -= 1
        elif kind in _OPENING:
            nesting += 1
        elif kind in _CLOSING:
            nesting -= 1
        elif kind in _START_KINDS and (kind != "," or nesting <= 0):
            cursor.index = index
            if (depth == 0 and is_start(cursor)) or (kind == IDENT and starts_query(cursor)):
                return
        index += 1
    cursor.index = index


def resume(cursor: Cursor, is_start: Callable[[Cursor], bool], first: int, depth: int) -> None:
    """Go on with the next entry of a block behind one that was not understood.

    Args:
        cursor: stands at the mistake.
        is_start: whether an entry can start here.
        first: the token with which the lost entry starts; it is left out in any case.
        depth: how deep the block is nested.
    """
    cursor.depth = depth
    if cursor.index == first:
        cursor.take()
    skip_to(cursor, is_start, first)
    if cursor.kind == ",":
        cursor.take()


def close_block(cursor: Cursor, opened: int, what: str) -> None:
    """Take the closing brace, or report that it is missing and go on as if it stood here.

    Args:
        cursor: stands where the brace should.
        opened: which token opened the block.
        what: what messages call the block.
    """
    if cursor.kinds[cursor.index] == "}":
        cursor.index += 1
        return
    if cursor.is_explained:
        return
    span = cursor.place
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        span,
        f'{what} is not closed: "}}" is missing',
        label='expected "}" before this',
        related=(Related(span=cursor.span_of(opened), label="opened here"),),
    )


def skip_to_query(cursor: Cursor) -> None:
    """Leave out everything up to another query, whatever is open."""
    kinds, texts, index = cursor.kinds, cursor.texts, cursor.index
    while kinds[index] != END:
        if texts[index] == "query":
            cursor.index = index
            if starts_query(cursor):
                return
        index += 1
    cursor.index = index


def skip_to_parameter(cursor: Cursor) -> bool:
    """Leave out the rest of a parameter. Answers whether more parameters or their closing parenthesis follow."""
    depth = 0
    while cursor.kind not in (END, "{", "}", "@"):
        if cursor.kind == "(":
            depth += 1
        elif cursor.kind == ")":
            if depth == 0:
                return True
            depth -= 1
        elif cursor.kind == "," and depth == 0:
            cursor.take()
            return cursor.kind in (VARIABLE, ")")
        elif starts_query(cursor):
            return False
        cursor.take()
    return False
