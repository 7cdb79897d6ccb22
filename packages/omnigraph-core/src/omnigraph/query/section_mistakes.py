"""Says what was probably meant where the sections of a read cannot be read: match, return, order and limit.

Like ``expression_mistakes``: ``refuse_*`` always raises ``Unreadable``, everything else reports and lets reading go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import Related, did_you_mean
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import END, ERROR, FLOAT, IDENT, TYPE_NAME, VARIABLE
from omnigraph.query import habit_mistakes
from omnigraph.query.expression_mistakes import (
    foreign,
    report_missing_comma,
    with_small_start,
)
from omnigraph.query.habit_mistakes import DISTINCT_ADVICE
from omnigraph.query.recovery import SECTIONS, STATEMENTS, starts_part

_FOREIGN_SECTIONS: Final = {
    "offset": "Only the first rows can be asked for, with limit.",
    "skip": "Only the first rows can be asked for, with limit.",
    "group": "A projection beside an aggregate groups by itself: return { $p.name, count($f) as films }",
    "having": "Rows of an aggregate cannot be filtered in the query.",
    "where": "Write the condition as a clause of the match block.",
    "with": "A query has one match block and one return block.",
    "union": "Write one query for each side.",
    "optional": "Every clause of a match block must hold. Ask for the optional part in a query of its own.",
    "select": "A read is match { .. } return { .. }.",
    "distinct": DISTINCT_ADVICE,
    "by": "Write order { $variable.property desc }.",
    "set": "A change is update Type set { property: value } where property = value.",
}
USAGES: Final = {
    "insert": "insert {} {{ property: value }}",
    "update": "update {} set {{ property: value }} where property = value",
    "delete": "delete {} where property = value",
}
"""How the statements of a mutation are written; the braces take the name of the type."""
_FOREIGN_STATEMENTS: Final = {
    **dict.fromkeys(("create", "merge", "upsert", "add", "put"), "insert"),
    **dict.fromkeys(("remove", "drop", "detach"), "delete"),
}


def report_section_order(cursor: Cursor, seen: Mapping[str, int]) -> None:
    """At a section that stands behind one it should precede, or that stands twice."""
    word = cursor.token
    first = seen.get(word.text)
    related = () if first is None else (Related(span=cursor.span_of(first), label="the first one"),)
    behind = next(each for each in reversed(SECTIONS) if each in seen)
    is_repeated = first is not None
    message = f'a query has one "{word.text}"' if is_repeated else f'"{word.text}" comes before "{behind}"'
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        word.span,
        message,
        label="this is one too many" if is_repeated else f'move this in front of "{behind}"',
        help=f"The order is: {', '.join(SECTIONS)}",
        related=related,
    )


def report_behind_read(cursor: Cursor, opened: int, seen: Mapping[str, int], *, is_lost: bool) -> None:
    """At whatever stands behind the last section, when it is no closing brace or a section is missing.

    Args:
        cursor: stands there.
        opened: which token opened the body.
        seen: where the sections are that were read, by their words.
        is_lost: whether a section was given up; what stands behind it may have been left out with it.
    """
    token = cursor.token
    word = token.text.lower()
    missing = next((each for each in ("match", "return") if each not in seen), None)
    if token.kind in (ERROR, END) or (is_lost and token.kind == "}"):
        return
    if not seen and token.kind == "}":
        cursor.report.add(
            Code.EMPTY_BLOCK,
            Span(cursor.starts[opened], token.end),
            "the body of the query is empty",
            label="expected match, insert, update or delete",
        )
    elif seen and (token.text in STATEMENTS or token.text in _FOREIGN_STATEMENTS):
        report_mixed_body(cursor)
    elif (
        habit_mistakes.is_explained_select(cursor)
        or habit_mistakes.report_dashes(cursor)
        or report_foreign_statement(cursor)
    ):
        return
    elif word in _FOREIGN_SECTIONS:
        foreign(cursor, token.span, f'there is no "{token.text}" in queries', _FOREIGN_SECTIONS[word])
    elif token.kind == TYPE_NAME and word in (*SECTIONS, *STATEMENTS):
        habit_mistakes.report_capitals(cursor, token)
    elif token.kind == IDENT and starts_part(cursor) and not missing:
        return
    elif missing and not seen:
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            cursor.place,
            f"expected a read or a change, found {describe(token)}",
            label=did_you_mean(token.text, (*SECTIONS, *STATEMENTS)) or "expected match, insert, update or delete",
            help="A read is match { .. } return { .. }.",
        )
    elif missing:
        behind = "before" if missing == "match" else "behind"
        later = [seen[each] for each in ("return", "order", "limit") if each in seen]
        place = cursor.span_of(later[0]) if later else cursor.place
        found = f'"{cursor.texts[later[0]]}"' if later else describe(token)
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            place,
            f"expected {missing} {{ .. }}, found {found}",
            label=did_you_mean(token.text, (missing,)) or f'"{missing}" is missing',
            help=f"A read has a {missing} block {behind} its {next(iter(seen))} block.",
        )
    else:
        rest = [each for each in ("order", "limit") if each not in seen]
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            cursor.place,
            f"expected {', '.join([*rest, ''])}or the end of the query, found {describe(token)}"
            if rest
            else f'expected "}}", found {describe(token)}',
            label=did_you_mean(token.text, rest) or 'expected "}"',
        )


def report_mixed_body(cursor: Cursor) -> None:
    """At the word that changes a body from reading to changing, or back."""
    word = cursor.token.text
    statement = word if word in STATEMENTS else _FOREIGN_STATEMENTS.get(word, "insert")
    cursor.report.add(
        Code.MIXED_BODY,
        cursor.token.span,
        f'"{cursor.token.text}" cannot stand here: a query either reads or changes',
        label="this belongs into another query",
        help=f"Write {USAGES[statement].format('Type')}" if cursor.peek().kind == VARIABLE else None,
    )


def report_foreign_statement(cursor: Cursor) -> bool:
    """Report a word with which other languages change something. Answers whether it is one."""
    token, behind = cursor.token, cursor.peek()
    statement = _FOREIGN_STATEMENTS.get(token.text.lower())
    if statement is None:
        return False
    usage = USAGES[statement].format(behind.text if behind.kind == TYPE_NAME else "Type")
    foreign(cursor, token.span, f'there is no "{token.text}" in queries', f"Write {usage}", label=f"write {statement}")
    return True


def refuse_bare_return(cursor: Cursor) -> NoReturn:
    """Behind ``return``, where no brace opens."""
    if cursor.token.text.lower() == "distinct":
        foreign(cursor, cursor.token.span, "there is no distinct", DISTINCT_ADVICE)
        raise Unreadable
    cursor.fail(
        '"{" and projections',
        code=Code.UNSUPPORTED_SYNTAX,
        message="what a query returns stands in braces",
        help="Write return { $variable.property }",
    )


def refuse_alias(cursor: Cursor) -> NoReturn:
    """Behind ``as``, where no name of a result column stands."""
    alias = cursor.token
    if alias.kind == TYPE_NAME:
        cursor.fail(
            "an alias that starts with a lower-case letter",
            message=f'the alias "{alias.text}" starts with a capital: names of columns start with a lower-case letter',
            help=f"Write {with_small_start(alias.text)}",
        )
    cursor.fail("an alias that starts with a lower-case letter", help="Write $variable.property as name")


def check_order_by(cursor: Cursor) -> None:
    """Behind ``order``, where no brace opens: a ``by`` is reported and left out."""
    token = cursor.token
    if token.text.lower() == "by":
        cursor.take()
        foreign(
            cursor,
            token.span,
            'there is no "by" behind order',
            "Write order { $variable.property desc }",
            label="leave this out",
        )
        if cursor.kind == "{":
            return
        raise Unreadable
    cursor.fail(
        '"{" and orderings',
        code=Code.UNSUPPORTED_SYNTAX,
        message="what a query is ordered by stands in braces",
        help="Write order { $variable.property desc }",
    )


def report_nearest_direction(cursor: Cursor) -> None:
    """At ``asc`` or ``desc`` behind ``nearest(..)``."""
    word = cursor.token
    cursor.report.add(
        Code.NEAREST_DIRECTION,
        word.span,
        f'nearest(..) takes no "{word.text}"',
        label="leave this out",
        help="nearest(..) always puts the smallest distance first.",
    )


def check_behind_ordering(cursor: Cursor) -> None:
    """Behind an ordering, where neither a comma nor a closing brace stands."""
    token = cursor.token
    habit_mistakes.check_dollar_before_dot(cursor)
    habit_mistakes.check_dashes(cursor)
    if token.kind == VARIABLE:
        report_missing_comma(cursor)
        return
    if token.text.lower() in ("ascending", "descending", "asc", "desc"):
        meant = "desc" if token.text.lower().startswith("desc") else "asc"
        cursor.fail('"," or "}"', message=f'"{token.text}" is no direction', help=f"Write {meant}.")
    if token.text == "nulls":
        cursor.fail(
            '"," or "}"',
            code=Code.UNSUPPORTED_SYNTAX,
            message='there is no "nulls" in queries',
            help="Null comes first when ascending and last when descending.",
        )
    cursor.fail('"," or "}"')


def refuse_limit(cursor: Cursor) -> NoReturn:
    """Behind ``limit``, where no integer stands."""
    token = cursor.token
    message = help = None
    code = Code.UNEXPECTED_TOKEN
    if token.kind == VARIABLE:
        code, message = Code.UNSUPPORTED_SYNTAX, f"a limit is a number in the text, not a parameter like {token.text}"
        help = "Write the greatest number of rows that you need, and take the first ones of the answer."
    elif token.kind == "-":
        code, message = Code.UNSUPPORTED_SYNTAX, "a limit cannot be negative"
        help = "Leave limit out to get every row."
    elif token.kind == FLOAT:
        message = "a limit is a whole number"
    cursor.fail("an integer", code=code, message=message, help=help)
