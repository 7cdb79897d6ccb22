"""Says what was probably meant where a statement of a mutation cannot be read.

Like ``expression_mistakes``: ``refuse_*`` always raises ``Unreadable``, everything else reports and lets reading go on.
"""

from __future__ import annotations

from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.lang.tokens import END, ERROR, IDENT, INTEGER, VARIABLE
from omnigraph.query import habit_mistakes
from omnigraph.query.ast import Operator
from omnigraph.query.expression_mistakes import foreign, is_value_start, report_missing_colon
from omnigraph.query.habit_mistakes import NULL_IN_WHERE
from omnigraph.query.recovery import SECTIONS, STATEMENTS, skip_to, starts_part, starts_query
from omnigraph.query.section_mistakes import USAGES, report_foreign_statement, report_mixed_body

_USAGES: Final = {verb: usage.format("Type") for verb, usage in USAGES.items()}
_FOREIGN_COMPARISONS: Final = {
    "contains": "Only =, !=, <, <=, > and >= can stand in a where.",
    "starts_with": "Only =, !=, <, <=, > and >= can stand in a where.",
    "in": "Write one statement for each value.",
    "is": NULL_IN_WHERE,
    "like": "Only =, !=, <, <=, > and >= can stand in a where.",
    "between": "A where holds exactly one comparison.",
}


def refuse_statement_type(cursor: Cursor) -> NoReturn:
    """Behind ``insert``, ``update`` or ``delete``."""
    verb, token = cursor.peek(-1), cursor.token
    usage = _USAGES[verb.text]
    if token.kind == IDENT and token.text in ("into", "from"):
        cursor.fail(
            "a type",
            code=Code.UNSUPPORTED_SYNTAX,
            message=f'there is no "{token.text}" behind {verb.text}',
            help=f"Write {usage}",
        )
    if token.kind == IDENT:
        cursor.fail(
            "a type",
            message=f'"{token.text}" is no type: names of types start with a capital',
            help=f"Did you mean {token.text[0].upper() + token.text[1:]}?",
        )
    if token.kind == VARIABLE:
        cursor.fail("a type", message=f"{verb.text} takes a type, not a variable", help=f"Write {usage}")
    cursor.fail("a type", help=f"Write {usage}")


def check_missing_set(cursor: Cursor) -> None:
    """Behind ``update Type``, where no ``set`` stands."""
    type_name = cursor.peek(-1)
    if cursor.token.text.lower() == "set":
        habit_mistakes.report_capitals(cursor, cursor.take())
        return
    if cursor.kind != "{":
        cursor.fail('"set" and assignments', help=f"Write {_USAGES['update']}")
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        type_name.span,
        f'"set" is missing behind "update {type_name.text}"',
        label="expected set behind this",
        help=f"Write {_USAGES['update']}",
    )


def refuse_assignments(cursor: Cursor, verb: str, type_name: str) -> NoReturn:
    """Where the brace of the assignments should open, as in ``update Type set p = 1`` or ``insert Type (p) ..``."""
    word = cursor.token if cursor.kind == IDENT else cursor.peek()
    usage = USAGES[verb].format(type_name)
    if word.kind == IDENT and word.text not in ("values", "set"):
        usage = usage.replace("property", word.text, 1)
    cursor.fail('"{" and assignments', help=f"Write {usage}")


def check_assignment_colon(cursor: Cursor) -> None:
    """Behind the property of an assignment, where no colon stands; ``=`` and nothing are understood."""
    name, token = cursor.peek(-1), cursor.token
    if token.kind == "=":
        cursor.take()
        cursor.report.add(
            Code.MISSING_COLON,
            token.span,
            f'an assignment takes a colon: "{name.text}: value"',
            label='expected ":"',
        )
    elif is_value_start(cursor) or (token.text == "now" and cursor.peek().kind == "("):
        report_missing_colon(cursor, name.text, token.text)
    elif name.text in ("and", "or") and token.kind == IDENT:
        foreign(cursor, name.span, f'there is no "{name.text}" here', "Write assignments one after the other.")
        raise Unreadable
    else:
        cursor.fail(f'":" and a value behind {name.text}')


def refuse_missing_where(cursor: Cursor, verb: str) -> NoReturn:
    """Where ``where`` was expected."""
    if cursor.token.text.lower() == "where":
        habit_mistakes.report_capitals(cursor, cursor.token)
        raise Unreadable
    cursor.fail('"where" and a comparison', help=f"Write {_USAGES[verb]}")


def refuse_predicate_property(cursor: Cursor, verb: str) -> NoReturn:
    """Behind ``where``."""
    if cursor.kind == VARIABLE:
        access = cursor.peek(2).text if cursor.peek().kind == "." else "property"
        cursor.fail(
            "a property",
            message="a where names a property of the type directly, without a variable",
            help=f"Write {access} where {cursor.token.text}.{access} stands.",
        )
    cursor.fail("a property", help=f"Write {_USAGES[verb]}")


def read_foreign_comparison(cursor: Cursor) -> Operator:
    """Behind the property of a ``where``, where no comparison stands; a colon is understood as ``=``."""
    name, token = cursor.peek(-1), cursor.token
    if token.kind == ":":
        cursor.take()
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            token.span,
            'a where compares with an operator, not with ":"',
            label=f"write {name.text} = value",
        )
        return Operator.EQ
    if (word := token.text.lower()) in _FOREIGN_COMPARISONS:
        cursor.fail(
            "a comparison",
            code=Code.UNSUPPORTED_SYNTAX,
            message=f'"{token.text}" cannot stand in a where',
            help=_FOREIGN_COMPARISONS[word],
        )
    return cursor.fail("a comparison (=, !=, <, <=, > or >=)")


def skip_second_comparison(cursor: Cursor) -> None:
    """At ``and`` or ``or`` behind a comparison: leave out the rest of the ``where``."""
    foreign(
        cursor,
        cursor.token.span,
        f'there is no "{cursor.token.text}" in a where',
        "A where holds exactly one comparison.",
    )
    skip_to(cursor, starts_part)


def report_behind_mutation(cursor: Cursor) -> None:
    """Behind the last statement, at something that is neither a statement nor the end of the body."""
    token = cursor.token
    if token.kind in (ERROR, END) or starts_query(cursor):
        return
    if token.text in SECTIONS and cursor.peek().kind in ("{", INTEGER):
        report_mixed_body(cursor)
        return
    if token.text.lower() in STATEMENTS:
        habit_mistakes.report_capitals(cursor, token)
        return
    if habit_mistakes.report_dashes(cursor) or report_foreign_statement(cursor):
        return
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        token.span,
        f'expected another statement or "}}", found {describe(token)}',
        label=did_you_mean(token.text, STATEMENTS) or "expected insert, update, delete or }",
    )
