"""Says what was probably meant where people write as other languages have it, or forget a ``$``.

The other ``*_mistakes`` ask here once they know that something is wrong. Like there: ``refuse_*`` always raises
``Unreadable``, ``check_*`` raises when it knows the habit and returns when it does not, and what ``report_*`` told is
left out so that reading goes on.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import END, ERROR, FLOAT, IDENT, INTEGER, TYPE_NAME, VARIABLE, Token
from omnigraph.query.ast import AggregateFunction, TextFunction

DISTINCT_ADVICE: Final = "Rows of a traversal are distinct already; count(..) groups them."
_NULL_IN_UPDATE: Final = (
    "Pass a parameter of a nullable type that is null, such as $value: String?. "
    "A property that is left out keeps its old value."
)
_NULL_IN_INSERT: Final = "Leave the property out, or pass a parameter of a nullable type that is null."
NULL_IN_WHERE: Final = (
    "Null never matches a comparison. Find the nodes by a read with not { $p.x = $p.x }, and name them by their key."
)
_FUNCTIONS: Final = ("now", "nearest", "rrf", "date", "datetime", *AggregateFunction, *TextFunction)
SELECT: Final = "select"
_NULLS: Final = ("null", "none")
_EITHER_ADVICE: Final = "There is no or: clauses in a match block must all hold. Write one query for each side."
_CHARACTER_ADVICE: Final = {
    "||": _EITHER_ADVICE,
    "|": _EITHER_ADVICE,
    "&&": "There is no and: clauses in a match block must all hold; write them one after the other.",
    "!": "Write not { .. } around clauses that must not hold, and != between values that differ.",
    "~": "There are no regular expressions; use contains, starts_with or search(..).",
}


# ── a forgotten dollar ───────────────────────────────────────────────────────────────────────────────────────────────


def check_dollar_before_dot(cursor: Cursor) -> None:
    """At the dot of ``word.property``.

    Raises:
        Unreadable: it is one.
    """
    word, name = cursor.peek(-1), cursor.peek()
    if cursor.kind == "." and word.kind == IDENT and name.kind == IDENT and cursor.peek(-2).kind != ".":
        refuse_without_dollar(cursor, word, f"${word.text}.{name.text}")


def check_dollar_at_word(cursor: Cursor) -> None:
    """At ``word.property`` where only a variable can stand.

    Raises:
        Unreadable: it is one.
    """
    if cursor.kind == IDENT and cursor.peek().kind == "." and cursor.peek(2).kind == IDENT:
        refuse_without_dollar(cursor, cursor.token, f"${cursor.token.text}.{cursor.peek(2).text}")


def check_dollar_of_clause(cursor: Cursor) -> None:
    """Behind the word with which a clause starts: ``p: Type``, ``p.name = ..`` or ``p edge q``.

    Raises:
        Unreadable: it is one of these.
    """
    word, token = cursor.peek(-1), cursor.token
    check_dollar_before_dot(cursor)
    if token.kind == ":" and cursor.peek().kind == TYPE_NAME:
        refuse_without_dollar(cursor, word, f"${word.text}: {cursor.peek().text}")
    end = cursor.peek()
    if token.kind == IDENT and end.kind in (IDENT, VARIABLE):
        refuse_without_dollar(cursor, word, f"${word.text} {token.text} ${end.text.removeprefix('$')}")


def refuse_without_dollar(cursor: Cursor, word: Token, meant: str) -> NoReturn:
    """Say which word lacks its ``$``, and how all of it is written."""
    cursor.fail(
        f"${word.text}",
        message=f'"{word.text}" has no $: every variable starts with one',
        help=f"Write {meant}",
        span=word.span,
    )


# ── capitals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def report_capitals(cursor: Cursor, token: Token) -> None:
    """At a keyword in capitals."""
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        token.span,
        f'"{token.text}" must be written in small letters',
        label=f"write {token.text.lower()}",
    )


def check_capitals_of_value(cursor: Cursor) -> None:
    """At a word with a capital where a value was expected.

    Raises:
        Unreadable: it is a word of this or of another language.
    """
    token = cursor.token
    word = token.text.lower()
    if token.kind != TYPE_NAME:
        return
    if word == "as" or (word in _FUNCTIONS and cursor.peek().kind == "("):
        report_capitals(cursor, token)
        raise Unreadable
    if word == "distinct":
        cursor.fail("a value", code=Code.UNSUPPORTED_SYNTAX, message="there is no distinct", help=DISTINCT_ADVICE)


# ── null ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_null(cursor: Cursor) -> None:
    """Where a value was expected.

    Raises:
        Unreadable: it is ``null``, in any spelling.
    """
    if cursor.token.text.lower() in _NULLS:
        cursor.fail(
            "a value", code=Code.UNSUPPORTED_SYNTAX, message="there is no null in queries", help=_null_advice(cursor)
        )


def null_advice_behind(cursor: Cursor, operator: int, *, is_positive: bool) -> str:
    """What to write for a comparison with null.

    Args:
        cursor: knows the tokens.
        operator: which token compares; the property stands before it.
        is_positive: whether null was asked for, and not its opposite.
    """
    subject = "$p.x"
    if operator >= 3 and cursor.kinds[operator - 2] == "." and cursor.kinds[operator - 3] == VARIABLE:
        subject = f"{cursor.texts[operator - 3]}.{cursor.texts[operator - 1]}"
    return null_advice(subject, is_positive=is_positive)


def null_advice(subject: str, *, is_positive: bool) -> str:
    """What to write to find the rows in which a property is null, or is not."""
    written = f"{subject} = {subject}"
    if is_positive:
        return f"Null never matches a comparison: not {{ {written} }} holds where it is null."
    return f"Null never matches a comparison: {written} holds where it is something else."


def _null_advice(cursor: Cursor) -> str:
    index, kinds, texts = cursor.index, cursor.kinds, cursor.texts
    if kinds[index - 1] in ("[", ","):
        return "An item of a list is never null; leave it out."
    if kinds[index - 1] != ":":
        if kinds[index - 2] == IDENT and texts[index - 3] == "where":
            return NULL_IN_WHERE
        return null_advice_behind(cursor, index - 1, is_positive=texts[index - 1] != "!=")
    opened = index
    while opened and kinds[opened] != "{":
        opened -= 1
    if texts[opened - 1] == "set":
        return _NULL_IN_UPDATE
    if texts[opened - 2] == "insert":
        return _NULL_IN_INSERT
    variable = texts[opened - 3] if opened >= 3 and kinds[opened - 3] == VARIABLE else "$p"
    return null_advice(f"{variable}.{texts[index - 2]}", is_positive=True)


# ── dashes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_explained_select(cursor: Cursor) -> bool:
    """At ``SELECT *``, of which the mark was told already, as of one thing."""
    return cursor.kind == TYPE_NAME and cursor.token.text.lower() == SELECT and cursor.peek().text == "*"


def report_dashes(cursor: Cursor) -> bool:
    """Report ``-- text`` and leave out the rest of its line. Answers whether it was there."""
    first, second = cursor.token, cursor.peek()
    if first.kind != "-" or second.kind != "-" or first.end != second.start:
        return False
    cursor.report.add(
        Code.UNSUPPORTED_SYNTAX,
        Span(first.start, second.end),
        "a comment does not start with --",
        label="write //",
    )
    text = cursor.report.source.text
    line_end = text.find("\n", first.start)
    stop = len(text) if line_end < 0 else line_end
    while cursor.kind != END and cursor.starts[cursor.index] < stop:
        # When nothing follows, nobody shall miss a brace that the comment holds.
        cursor.kinds[cursor.index] = ERROR
        cursor.index += 1
    return True


def check_dashes(cursor: Cursor) -> None:
    """Where something else was expected.

    Raises:
        Unreadable: it is ``-- text``; the cursor stands behind it.
    """
    if report_dashes(cursor):
        raise Unreadable


def check_dashed_name(cursor: Cursor, example: str) -> None:
    """At a minus right behind a name: ``my-query``.

    Args:
        cursor: stands at the minus.
        example: the right form, with ``{}`` where the name stands.

    Raises:
        Unreadable: it is one.
    """
    first = cursor.peek(-1)
    index, kinds, ends, starts = cursor.index, cursor.kinds, cursor.ends, cursor.starts
    # A blank on either side of the minus makes it something else.
    while kinds[index : index + 2] == ["-", IDENT] and ends[index - 1] == starts[index] == starts[index + 1] - 1:
        index += 2
    if index == cursor.index:
        return
    span = Span(first.start, ends[index - 1])
    name = cursor.report.source.text[span.start : span.end]
    cursor.fail(
        example.format(name.replace("-", "_")),
        message=f'"{name}" is no name: names are made of letters, digits and _',
        help=f"Write {example.format(name.replace('-', '_'))}",
        span=span,
    )


# ── characters ───────────────────────────────────────────────────────────────────────────────────────────────────────


def explain_characters(cursor: Cursor) -> None:
    """Put what helps in a query into the diagnostics of the tokenizer, which speaks for both languages."""
    diagnostics = cursor.report.diagnostics
    for place, each in enumerate(diagnostics):
        if each.code is Code.UNEXPECTED_CHARACTER:
            diagnostics[place] = _explained(cursor, each)


def _explained(cursor: Cursor, diagnostic: Diagnostic) -> Diagnostic:
    index = bisect_left(cursor.starts, diagnostic.span.start)
    text = cursor.texts[index]
    before = cursor.kinds[index - 1] if index else END
    if text == "*":
        return _explained_star(cursor, diagnostic, index, before)
    help = _CHARACTER_ADVICE.get(text)
    return diagnostic if help is None else replace(diagnostic, help=help)


def _explained_star(cursor: Cursor, diagnostic: Diagnostic, index: int, before: str) -> Diagnostic:
    kinds, texts = cursor.kinds, cursor.texts
    if before == "(" and kinds[index + 1] == ")":
        variable = next((text for kind, text in zip(kinds, texts, strict=True) if kind == VARIABLE), "$p")
        return replace(diagnostic, help=f"Write {texts[index - 2]}({variable}) to take every {variable} into account.")
    if before == TYPE_NAME and texts[index - 1].lower() == SELECT:
        return replace(
            diagnostic,
            span=Span(cursor.starts[index - 1], diagnostic.span.end),
            message=f'there is no "{texts[index - 1]} *" in queries',
            help="A read is match { $p: Type } return { $p.name }.",
        )
    if before in ("{", ".", ",") or texts[index - 1] == SELECT:
        return replace(diagnostic, help="Name every property that you want: return { $p.name, $p.age }")
    if before not in (IDENT, TYPE_NAME) or kinds[index - 2] == ".":
        return diagnostic
    # A star behind an edge is how other languages count hops; the numbers behind it belong to it.
    end = index + 1
    while kinds[end] in (INTEGER, FLOAT, "..") and cursor.starts[end] == cursor.ends[end - 1]:
        kinds[end] = ERROR
        end += 1
    bounds = "".join(texts[index + 1 : end]).split("..")
    least = bounds[0] or "1"
    greatest = bounds[-1] or (least if len(least) > 1 else max(least, "3"))
    return replace(
        diagnostic,
        span=Span(diagnostic.span.start, cursor.ends[end - 1]),
        message=f'"{"".join(texts[index:end])}" cannot stand here',
        help=f"Write {{{least},{greatest}}} behind the edge for {least} to {greatest} hops.",
    )
