"""Says what was probably meant where an expression or a value cannot be read.

Nothing here runs for a query without a mistake. Functions called ``refuse_*`` always raise ``Unreadable``. The others
report and leave the cursor behind what was wrong, so that reading goes on as if it had been written well: the rest of
the clause is still looked at, and the mistake is told once.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import FLOAT, IDENT, INTEGER, STRING, TYPE_NAME, VARIABLE, Token
from omnigraph.query import habit_mistakes
from omnigraph.query.habit_mistakes import DISTINCT_ADVICE

_ARITHMETIC_ADVICE: Final = "There is no arithmetic; compute the value before and pass it as a parameter."
_NEGATIVE_ADVICE: Final = "Declare a parameter, such as $least: I64, and pass the negative number as its value."

_EXPONENT: Final = re.compile(r"[eE][0-9]*\Z")
_GROUPED_DIGITS: Final = re.compile(r"_[0-9_]*\Z")


def foreign(cursor: Cursor, span: Span, message: str, help: str, label: str | None = None) -> None:
    """Report something that other query languages have."""
    cursor.report.add(Code.UNSUPPORTED_SYNTAX, span, message, label=label, help=help)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def refuse_property_name(cursor: Cursor) -> NoReturn:
    """Behind the dot of ``$v.``."""
    token = cursor.token
    if token.kind == TYPE_NAME:
        cursor.fail(
            "a property",
            message=f'"{token.text}" cannot be a property: names of properties start with a lower-case letter',
            help=f"Did you mean {with_small_start(token.text)}?",
        )
    cursor.fail("a property")


def refuse_property_as_value(cursor: Cursor) -> NoReturn:
    """At the dot of ``$v.p`` where only a literal, a parameter or ``now()`` can stand."""
    variable = cursor.peek(-1)
    access = f"{variable.text}.{cursor.peek().text}"
    cursor.fail(
        "a literal, a parameter or now()",
        message=f"{access} cannot stand here: a value here is a literal, a parameter or now()",
        help="Compare two properties with a clause of its own in the match block: $a.x = $b.y",
        span=Span(variable.start, cursor.peek().end),
    )


def refuse_function(cursor: Cursor, functions: Collection[str]) -> NoReturn:
    """At ``word(`` where the word is no function."""
    word = cursor.token.text
    if word == "enum":
        cursor.fail("a value")
    cursor.fail("a function", message=f'there is no function "{word}"', choices=functions)


def check_number_end(cursor: Cursor, number: Token) -> None:
    """Right behind a number, without a blank: an exponent, or digits in groups."""
    token = cursor.token
    span = Span(number.start, token.end)
    if token.kind in (IDENT, TYPE_NAME) and _EXPONENT.match(token.text):
        cursor.take()
        if len(token.text) == 1 and cursor.kind == "-" and cursor.peek().kind == INTEGER:
            cursor.take()
            span = Span(number.start, cursor.take().end)
        foreign(
            cursor,
            span,
            f'"{cursor.report.source.text[span.start : span.end]}" is no number: there are no exponents',
            "Write all digits, as in 1500000.0 or 0.0015.",
        )
    elif token.kind == IDENT and _GROUPED_DIGITS.match(token.text):
        cursor.take()
        foreign(cursor, span, "digits of a number cannot be grouped", "Write all digits together, as in 1500000.")
    elif token.kind == "." and number.kind == INTEGER:
        cursor.take()
        foreign(cursor, span, f'"{number.text}." is no number', f"Write {number.text}.0 for a float.")


def skip_minus(cursor: Cursor) -> bool:
    """Report a negative number and leave out its sign. Answers whether it was one."""
    number = cursor.peek()
    if number.kind not in (INTEGER, FLOAT):
        return False
    minus = cursor.take()
    foreign(cursor, Span(minus.start, number.end), "there are no negative numbers in queries", _NEGATIVE_ADVICE)
    return True


def refuse_value(cursor: Cursor) -> NoReturn:
    """Where an expression, a value or a literal was expected and none starts."""
    token = cursor.token
    habit_mistakes.check_null(cursor)
    habit_mistakes.check_dollar_before_dot(cursor)
    habit_mistakes.check_capitals_of_value(cursor)
    habit_mistakes.check_dashes(cursor)
    if token.text in ("True", "False", "TRUE", "FALSE"):
        cursor.fail("a value", message=f'"{token.text}" is no value', help=f"Write {token.text.lower()}.")
    if token.kind == "." and cursor.peek().kind == INTEGER:
        digits = cursor.peek()
        cursor.fail(
            "a value",
            message=f'".{digits.text}" is no number',
            help=f"Write 0.{digits.text}.",
            span=Span(token.start, digits.end),
        )
    if token.kind == "-":
        if cursor.peek(-1).text == "<" and cursor.previous_end == token.start:
            refuse_arrow(cursor)
        cursor.fail("a value", code=Code.UNSUPPORTED_SYNTAX, message="nothing has a sign", help=_ARITHMETIC_ADVICE)
    if token.kind == "(":
        cursor.fail(
            "a value",
            code=Code.UNSUPPORTED_SYNTAX,
            message="nothing is put in parentheses but the arguments of a function",
            help="Write every condition as a clause of its own; clauses must all hold.",
        )
    if token.kind == IDENT:
        cursor.fail(
            "a value",
            help=f'A text stands in double quotes: "{token.text}". A parameter starts with $: ${token.text}.',
        )
    cursor.fail("a value")


def skip_distinct(cursor: Cursor) -> None:
    """Report ``distinct`` in front of an expression and leave it out."""
    foreign(cursor, cursor.take().span, "there is no distinct", DISTINCT_ADVICE)


def report_trailing_comma(cursor: Cursor, what: str) -> None:
    """Report a comma that nothing follows; reading goes on at the closing mark."""
    comma = cursor.peek(-1)
    cursor.report.add(
        Code.UNEXPECTED_TOKEN, comma.span, f"{what} cannot end with a comma", label="leave this comma out"
    )


def report_empty(cursor: Cursor, opened: int, what: str, expected: str, help: str | None = None) -> None:
    """At the closing brace of a block that must hold something."""
    cursor.report.add(
        Code.EMPTY_BLOCK,
        Span(cursor.starts[opened], cursor.token.end),
        f"{what} is empty",
        label=f"expected {expected}",
        help=help,
    )


def refuse_arrow(cursor: Cursor) -> NoReturn:
    """At an arrow between two variables."""
    cursor.fail(
        "an edge",
        code=Code.UNSUPPORTED_SYNTAX,
        message="there are no arrows in queries",
        help="Write the edge between two variables: $a follows $b. The types decide its direction.",
    )


def refuse_argument(cursor: Cursor, expected: str, usage: str) -> NoReturn:
    """Inside a call, where something else stands than what it takes."""
    habit_mistakes.check_dollar_before_dot(cursor)
    habit_mistakes.check_dollar_at_word(cursor)
    habit_mistakes.check_capitals_of_value(cursor)
    cursor.fail(expected, help=f"Write {usage}")


def refuse_arithmetic(cursor: Cursor) -> NoReturn:
    """At a minus between two values."""
    cursor.fail("an operator", code=Code.UNSUPPORTED_SYNTAX, message="there is no arithmetic", help=_ARITHMETIC_ADVICE)


# ── between things ───────────────────────────────────────────────────────────────────────────────────────────────────


def report_missing_colon(cursor: Cursor, name: str, what: str) -> None:
    """At the type or value in front of which a colon is missing."""
    cursor.report.add(
        Code.MISSING_COLON,
        cursor.token.span,
        f'a colon is missing between "{name}" and "{what}"',
        label=f"write {name}: {what}",
    )


def report_missing_comma(cursor: Cursor) -> None:
    """In front of something that a comma should separate from what stands before."""
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.token.span,
        f'a comma is missing before "{cursor.token.text}"',
        label='expected "," before this',
    )


def refuse_behind_match(cursor: Cursor, expected: str) -> NoReturn:
    """Behind ``property: value``."""
    token = cursor.token
    habit_mistakes.check_dashes(cursor)
    if token.text.lower() in ("and", "or"):
        cursor.fail(
            expected,
            code=Code.UNSUPPORTED_SYNTAX,
            message=f'there is no "{token.text}" here',
            help=f"Expected {expected}",
        )
    if token.kind == "-":
        refuse_arithmetic(cursor)
    cursor.fail(expected)


def is_value_start(cursor: Cursor) -> bool:
    """Whether a literal or a variable starts here."""
    return cursor.kind in (VARIABLE, STRING, INTEGER, FLOAT, "[") or cursor.token.text in ("true", "false")


def with_small_start(word: str) -> str:
    """The word as it could name a property, an edge of a traversal or a query."""
    return word[0].lower() + word[1:]
