"""Says what was probably meant where the frame of a query cannot be read: files, headers and parameters.

Like ``expression_mistakes``: ``refuse_*`` always raises ``Unreadable``, everything else reports and lets reading go on.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, describe
from omnigraph.lang.diagnostics import closest, did_you_mean, listed
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, ERROR, IDENT, TYPE_NAME, VARIABLE
from omnigraph.lang.types import SCALAR_NAMES, Scalar
from omnigraph.query import habit_mistakes
from omnigraph.query.expression_mistakes import (
    foreign,
    report_missing_colon,
    report_missing_comma,
    with_small_start,
)
from omnigraph.query.recovery import SECTIONS, STATEMENTS

_PARAMETER_TYPES: Final = (*SCALAR_NAMES, "Vector(n)")
_OTHER_TYPES: Final = {
    "Int": "I64",
    "Integer": "I64",
    "Long": "I64",
    "Number": "F64",
    "Float": "F64",
    "Double": "F64",
    "Boolean": "Bool",
    "Text": "String",
    "Str": "String",
    "Timestamp": "DateTime",
    "Bytes": "Blob",
    "Uuid": "String",
    "ID": "String",
}


# ── files and headers ────────────────────────────────────────────────────────────────────────────────────────────────


def report_no_query(cursor: Cursor) -> None:
    """At something at the top of a file that starts no query."""
    token = cursor.token
    if token.kind == ERROR or habit_mistakes.is_explained_select(cursor):
        return
    if habit_mistakes.report_dashes(cursor):
        # Whoever goes on leaves out one token, and a query may start right behind the comment.
        cursor.index -= 1
        return
    if token.text.lower() == "query":
        habit_mistakes.report_capitals(cursor, token)
        return
    if token.text in ("mutation", "subscription", "fragment"):
        foreign(
            cursor,
            token.span,
            f'there is no "{token.text}" keyword',
            "Queries that change something start with query too.",
        )
        return
    help = "A file holds queries: query name($parameter: Type) { .. }"
    if token.kind == "@":
        help = 'Annotations stand between the parameters and the body: query name() @description("..") { .. }'
    elif token.text.lower() in (*SECTIONS, *STATEMENTS):
        help = "Put it into a query: query name() { .. }"
    elif token.kind == "}":
        help = "There is one closing brace too many, here or above."
    elif token.text in ("node", "edge", "interface"):
        help = "This looks like a schema; a query file holds queries."
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        token.span,
        f"expected a query, found {describe(token)}",
        label=did_you_mean(token.text, ("query",)) if token.kind == IDENT else "expected query",
        help=help,
    )


def check_query_name(cursor: Cursor) -> None:
    """Behind ``query``; a capital or a missing name is reported and read all the same."""
    token = cursor.token
    if token.kind == TYPE_NAME:
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            token.span,
            f'the name "{token.text}" starts with a capital: names of queries start with a lower-case letter',
            label=f"write {with_small_start(token.text)}",
        )
        cursor.take()
    elif token.kind in ("(", "{"):
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            token.span,
            "this query has no name",
            label="expected a name before this",
            help="Write query name() { .. }",
        )
    else:
        cursor.fail("the name of the query", help="Write query name() { .. }")


def check_missing_parameters(cursor: Cursor, name: Name) -> None:
    """Behind the name of a query, where no parenthesis opens."""
    if cursor.kind not in ("{", "@"):
        habit_mistakes.check_dashed_name(cursor, "query {}()")
        cursor.fail('"(" and the parameters', help=f"Write query {name.text}() when there are none.")
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        name.span,
        f'the parentheses of the query "{name.text}" are missing',
        label='expected "(" behind this',
        help=f"Write query {name.text}() when it has no parameters.",
    )


def refuse_before_body(cursor: Cursor) -> NoReturn:
    """Where the body of a query should open."""
    habit_mistakes.check_dashes(cursor)
    if cursor.token.text in SECTIONS or cursor.token.text in STATEMENTS:
        cursor.fail('"{" and the body of the query')
    cursor.fail('"{" and the body of the query, or an annotation')


def check_annotation(cursor: Cursor, given: Collection[str], known: Collection[str]) -> None:
    """At the ``@`` of an annotation that queries do not have, or that was given before."""
    if cursor.peek().kind not in (IDENT, TYPE_NAME):
        cursor.take()
        cursor.fail(" or ".join(known))
    name = cursor.peek().text
    span = Span(cursor.token.start, cursor.peek().end)
    if name in given and name in known:
        cursor.report.add(Code.BAD_QUERY_ANNOTATION, span, f"@{name} is given twice", label="leave one of the two out")
        return
    cursor.report.add(
        Code.BAD_QUERY_ANNOTATION,
        span,
        f"@{name} is no annotation of a query",
        label=did_you_mean(name, known) or f"expected @{' or @'.join(known)}",
        help=f"There are: {listed(f'@{each}' for each in known)}",
    )


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────


def refuse_parameter_name(cursor: Cursor) -> NoReturn:
    """Where a parameter was expected."""
    token = cursor.token
    if token.kind == IDENT:
        cursor.fail("a parameter", message=f'the parameter "{token.text}" has no $', help=f"Write ${token.text}: Type")
    cursor.fail("a parameter", help="Write $name: Type")


def check_parameter_colon(cursor: Cursor, name: str) -> None:
    """Behind ``$name``, where no colon stands; a type is read all the same."""
    token = cursor.token
    if token.kind == "=":
        cursor.fail('":" and a type', help=f"Write {name}: Type. A parameter has no default value.")
    habit_mistakes.check_dashed_name(cursor, "{}: Type")
    if token.kind not in (TYPE_NAME, IDENT, "["):
        cursor.fail('":" and a type', help=f"Write {name}: Type")
    report_missing_colon(cursor, name, token.text if token.kind != "[" else "[..]")


def check_behind_parameter(cursor: Cursor) -> None:
    """Behind a parameter, where neither a comma nor a closing parenthesis stands."""
    if cursor.kind == "=":
        cursor.fail(
            '"," or ")"',
            code=Code.UNSUPPORTED_SYNTAX,
            message="a parameter has no default value",
            help="Declare it with ? and leave it out of the call; it is null then.",
        )
    if cursor.kind != VARIABLE:
        cursor.fail('"," or ")"')
    report_missing_comma(cursor)


def take_unknown_type(cursor: Cursor) -> Scalar:
    """Report a parameter type that does not exist; String stands for it from here on.

    Raises:
        Unreadable: it is not even the name of a type.
    """
    token = cursor.token
    if token.kind not in (IDENT, TYPE_NAME):
        cursor.fail("a parameter type", help=f"There are: {listed(_PARAMETER_TYPES)}")
    cursor.take()
    if token.text == "Vector":
        _skip_parentheses(cursor)
        foreign(cursor, token.span, "there are no lists of vectors", "Pass one vector: Vector(n).")
        return Scalar.STRING
    if token.text == "enum":
        _skip_parentheses(cursor)
        cursor.report.add(
            Code.UNKNOWN_SCALAR,
            token.span,
            "unknown parameter type enum(..): a parameter for an enum is a String",
            label="write String",
        )
        return Scalar.STRING
    meant = _OTHER_TYPES.get(token.text[0].upper() + token.text[1:]) or closest(token.text, SCALAR_NAMES)
    cursor.report.add(
        Code.UNKNOWN_SCALAR,
        token.span,
        f'unknown parameter type "{token.text}"',
        label=f'did you mean "{meant}"?' if meant else "expected a scalar type",
        help=f"There are: {listed(_PARAMETER_TYPES)}",
    )
    return Scalar.STRING


def skip_dimension(cursor: Cursor) -> None:
    """Inside the parentheses of a vector, where no integer stands: report it and leave out the rest of them."""
    if cursor.kind != ERROR:
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            cursor.place,
            f"expected the dimension, found {describe(cursor.token)}",
            label="expected an integer",
        )
    _skip_to_parenthesis(cursor)


def skip_nullable_item(cursor: Cursor, item: Scalar) -> None:
    """Report ``[T?]`` and leave the mark out."""
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.take().span,
        "items of a list cannot be null",
        label=f"write [{item}], or [{item}]? for a list that may be null",
    )


def _skip_parentheses(cursor: Cursor) -> None:
    if cursor.kind == "(":
        _skip_to_parenthesis(cursor)


def _skip_to_parenthesis(cursor: Cursor) -> None:
    while cursor.kind not in (")", "{", "}", END):
        cursor.take()
    if cursor.kind == ")":
        cursor.take()
