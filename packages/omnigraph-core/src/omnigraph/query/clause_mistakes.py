"""Says what was probably meant where a clause of a match block cannot be read.

Like ``expression_mistakes``: ``refuse_*`` always raises ``Unreadable``, everything else reports and lets reading go on.
"""

from __future__ import annotations

from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import ERROR, FLOAT, IDENT, INTEGER, TYPE_NAME, VARIABLE
from omnigraph.query import habit_mistakes
from omnigraph.query.ast import Expression, Identifier, Operator, PropertyAccess, TextCall, Variable
from omnigraph.query.expression_mistakes import (
    foreign,
    is_value_start,
    refuse_arithmetic,
    refuse_arrow,
    report_missing_colon,
    with_small_start,
)
from omnigraph.query.habit_mistakes import DISTINCT_ADVICE
from omnigraph.query.recovery import starts_line, starts_part

_FOREIGN_OPERATORS: Final = {
    "in": 'Turn it around: a list contains a value, as in ["a", "b"] contains $variable.property.',
    "is": "",
    "like": "Use contains, starts_with or search(..).",
    "ilike": "Use contains, starts_with or search(..).",
    "matches": "Use contains, starts_with or search(..).",
    "between": "Write two clauses, one with >= and one with <=.",
    "and": "Write every condition as a clause of its own; clauses must all hold.",
    "or": 'Write one query for each side, or compare with a list: ["a", "b"] contains $variable.property.',
    "as": "Only projections in return have an alias.",
    "ends_with": "There are contains and starts_with.",
}
FOREIGN_WORDS: Final = {
    "and": "Clauses in a match block must all hold; write them one after the other.",
    "or": "Clauses in a match block must all hold. Write one query for each side.",
    "where": "Write the condition as a clause of its own.",
    "filter": "Write the condition as a clause of its own.",
    "optional": "Every clause of a match block must hold. Ask for the optional part in a query of its own.",
    "exists": "A traversal is a condition by itself: write it without exists.",
    "with": "A query has one match block and one return block.",
    "distinct": DISTINCT_ADVICE,
    "not": "not takes a block of clauses: not { $a follows $b }. To compare, use !=.",
}


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def refuse_type_name(cursor: Cursor) -> NoReturn:
    """Behind ``$v:``."""
    token = cursor.token
    behind = cursor.peek()
    if (
        token.kind == IDENT
        and behind.kind == VARIABLE
        and "\n" not in cursor.report.source.text[token.end : behind.start]
    ):
        cursor.fail(
            "a node type",
            message=f'"{token.text}" is no node type; names of types start with a capital',
            help=f"A traversal names its edge between two variables: $a {token.text} $b, or $a $e:{token.text} $b",
        )
    if token.kind == IDENT:
        cursor.fail(
            "a node type",
            message=f'"{token.text}" is no node type: names of types start with a capital',
            help=f"Did you mean {token.text[0].upper() + token.text[1:]}?",
        )
    cursor.fail("a node type", help="Write $variable: Type")


def check_match_operator(cursor: Cursor, name: str) -> None:
    """Behind the property of an inline match, where no colon stands."""
    token = cursor.token
    if token.kind == "=":
        cursor.take()
        if cursor.kind == "=":
            cursor.take()
        cursor.report.add(
            Code.MISSING_COLON,
            token.span,
            f'an inline match takes a colon: "{name}: value"',
            label='expected ":"',
        )
    elif token.kind in ("<", ">", "<=", ">=", "!=") or token.text in ("contains", "starts_with"):
        cursor.fail(
            '":"',
            code=Code.UNSUPPORTED_SYNTAX,
            message=f'an inline match only tests for equality, "{token.text}" cannot stand in it',
            help=f"Write it as a clause of its own: $variable.{name} {token.text} value",
        )
    elif is_value_start(cursor):
        report_missing_colon(cursor, name, token.text)
    else:
        cursor.fail('":" and a value')


# ── traversals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def is_capital_edge(cursor: Cursor) -> bool:
    """At ``$v Word``: whether the word is meant as an edge (``$p Rented $f``), not as a type (``$c Company``)."""
    edge, right = cursor.peek(), cursor.peek(2)
    if edge.text.isupper() and edge.text.lower() in _FOREIGN_OPERATORS:
        cursor.take()
        _refuse_foreign_operator(cursor, cursor.index)
    if right.kind == "{":
        return cursor.peek(3).kind == INTEGER
    if right.kind != VARIABLE or cursor.peek(3).kind == ":":
        return False
    return cursor.report.source.text.find("\n", edge.end, right.start) < 0


def check_edge(cursor: Cursor) -> None:
    """Where the word of an edge was expected; a capital is reported and read all the same."""
    token = cursor.token
    if token.kind != TYPE_NAME:
        cursor.fail("an edge, a word that starts with a lower-case letter")
    word = with_small_start(token.text)
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        token.span,
        f'"{token.text}" starts with a capital: in a traversal, an edge starts with a lower-case letter',
        label=f"write it {word}",
    )


def refuse_not_edge(cursor: Cursor) -> NoReturn:
    """At ``$a not ..``."""
    token = cursor.token
    if token.text == "not":
        cursor.fail(
            "an edge or an operator",
            message='"not" is no edge and no operator',
            help="not takes a block of clauses: not { $a follows $b }",
        )
    cursor.fail("an edge", message=f'"{token.text}" cannot be the edge of a traversal, because it starts with "not"')


def refuse_behind_edge_variable(cursor: Cursor) -> NoReturn:
    """At ``$a $b`` with no colon behind."""
    left, named = cursor.take(), cursor.take()
    if cursor.kind == IDENT and cursor.peek().kind == VARIABLE:
        cursor.fail(
            '":" and an edge',
            code=Code.MISSING_COLON,
            message=f'a colon is missing between "{named.text}" and "{cursor.token.text}"',
            help=f"Write {left.text} {named.text}:{cursor.token.text} {cursor.peek().text}",
        )
    cursor.fail(
        "an edge",
        message=f"an edge or an operator is missing between {left.text} and {named.text}",
        help=f"A traversal is written {left.text} edge {named.text}",
        span=Span(left.start, named.end),
    )


def refuse_traversal_end(cursor: Cursor, left: str, edge_index: int) -> NoReturn:
    """Behind ``$a edge`` where no variable follows."""
    edge = cursor.peek(edge_index - cursor.index)
    if edge.text in _FOREIGN_OPERATORS and edge_index == cursor.index - 1:
        _refuse_foreign_operator(cursor, edge_index)
    if cursor.kind == "->" or (cursor.kind == "-" and cursor.peek().kind in ("-", "->", "[")):
        refuse_arrow(cursor)
    guess = closest(edge.text, ("contains", "starts_with"))
    if is_value_start(cursor) or guess:
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            edge.span,
            f'"{edge.text}" is no operator',
            label=f'did you mean "{guess}"?' if guess else "expected an operator",
            help=f"There are: {listed(Operator)}",
        )
        raise Unreadable
    if cursor.kind == IDENT and not starts_line(cursor) and not starts_part(cursor) and cursor.peek().kind != "{":
        habit_mistakes.refuse_without_dollar(cursor, cursor.token, f"{left} {edge.text} ${cursor.token.text}")
    cursor.fail(
        f"a variable behind {left} {edge.text}",
        help=f"A traversal goes from a variable to a variable: {left} {edge.text} $other. "
        "Use $_ when the other end does not matter.",
    )


def refuse_traversal_to_property(cursor: Cursor, left: str, edge: str) -> NoReturn:
    """At the ``$b.`` of ``$a edge $b.p``."""
    right = cursor.token
    span = Span(right.start, cursor.peek(2).end)
    cursor.fail(
        "a variable",
        message=f"a traversal ends at a variable, not at a property: {left} {edge} {right.text} is read as "
        f'a traversal along an edge called "{edge}"',
        help="A bare variable in front of a word always starts a traversal; in a filter, put a property first.",
        span=span,
    )


def skip_hops(cursor: Cursor) -> None:
    """Inside ``{m,n}``: report what is no part of it, and leave out all up to the closing brace.

    Raises:
        Unreadable: there is no closing brace nearby.
    """
    if cursor.kind != ERROR:
        cursor.report.add(
            Code.UNEXPECTED_TOKEN,
            cursor.token.span,
            f"expected the least and the greatest number of hops, found {describe(cursor.token)}",
            label="expected {least,greatest}",
            help="Write {1,3} for one to three hops.",
        )
    while cursor.kind in (INTEGER, FLOAT, IDENT, ",", "-", ".", "..", ":", ERROR):
        cursor.take()
    if cursor.kind != "}":
        raise Unreadable


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def skip_foreign_words(cursor: Cursor) -> None:
    """At a word that starts a clause: leave out one that only other languages have, with whatever belongs to it."""
    token = cursor.token
    word = token.text.lower()
    behind = cursor.peek()
    if behind.kind in ("=", "!=", "<", ">", "<=", ">=", ERROR) or behind.text in ("contains", "starts_with"):
        return
    if word == "not":
        cursor.fail(
            '"{" behind not',
            help=FOREIGN_WORDS["not"],
            span=token.span,
            message='"not" must be followed by a block',
        )
    cursor.take()
    foreign(cursor, token.span, f'there is no "{token.text}" in queries', FOREIGN_WORDS[word])
    if word in ("optional", "exists", "with", "distinct") or cursor.kind not in (VARIABLE, IDENT):
        if cursor.token.text.lower() == "match":
            cursor.take()
        if cursor.kind == "{":
            cursor.skip_block()
        raise Unreadable


def read_foreign_operator(cursor: Cursor, left: Expression) -> Operator:
    """Where an operator was expected and none stands; a few spellings of other languages are understood."""
    token = cursor.token
    if left.__class__ is Identifier:
        habit_mistakes.check_dollar_of_clause(cursor)
    if token.text.lower() in _FOREIGN_OPERATORS:
        _refuse_foreign_operator(cursor, cursor.index)
    if left.__class__ is not Variable or cursor.peek(2).kind != VARIABLE:
        habit_mistakes.check_dashes(cursor)
    if token.kind == "->" or (token.kind == "-" and cursor.peek().kind in ("[", IDENT, "->", "-")):
        refuse_arrow(cursor)
    if token.kind == "-":
        refuse_arithmetic(cursor)
    if token.kind == ":" and left.__class__ is PropertyAccess:
        cursor.fail(
            "an operator",
            message='a filter compares with an operator, not with ":"',
            help="Write = to compare. A colon stands in an inline match: $variable: Type { property: value }",
        )
    choices = ("contains", "starts_with") if token.kind in (IDENT, TYPE_NAME) else ()
    return cursor.fail("an operator", choices=choices, help=f"There are: {listed(Operator)}")


def refuse_bare_bm25(cursor: Cursor, call: TextCall) -> NoReturn:
    """``bm25(..)`` as a clause by itself."""
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        call.span,
        "bm25(..) is a score, not a condition",
        label="expected a comparison behind this",
        help="Use search(..) or match_text(..) as a condition, and bm25(..) in order or return.",
    )
    raise Unreadable


def report_null(cursor: Cursor, operator: Operator, index: int) -> None:
    """Behind a comparison with null, whose operator is the token at the index."""
    advice = habit_mistakes.null_advice_behind(cursor, index, is_positive=operator is not Operator.NE)
    foreign(cursor, cursor.span_of(cursor.index - 1), "there is no null in queries", advice)


def skip_comma(cursor: Cursor) -> None:
    """Report a comma between two clauses and leave it out."""
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.take().span,
        "no comma stands between clauses",
        label="leave this comma out",
    )


def refuse_parentheses(cursor: Cursor) -> NoReturn:
    """A clause that starts with a parenthesis, as patterns and groups of other languages do."""
    cursor.fail(
        "a clause",
        code=Code.UNSUPPORTED_SYNTAX,
        message="a clause cannot start with a parenthesis",
        help="Write $p: Person to bind a variable, and every condition as a clause of its own.",
    )


def read_doubled_operator(cursor: Cursor) -> Operator:
    """Behind an operator that another mark follows: ``==``, ``<>``, ``=<`` and ``=>`` are understood."""
    first, second = cursor.peek(-1), cursor.token
    meant = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}.get(first.text + second.text)
    if meant is None:
        cursor.fail("a value behind the operator")
    cursor.take()
    written = first.text + second.text
    foreign(
        cursor,
        Span(first.start, second.end),
        f'"{written}" is no operator',
        f"There are: {listed(Operator)}",
        label=f"write {meant}",
    )
    return Operator(meant)


def refuse_unopened(cursor: Cursor, what: str) -> NoReturn:
    """Where the brace of a block should open."""
    if cursor.kind in ("(", VARIABLE):
        cursor.fail(
            '"{" and clauses',
            code=Code.UNSUPPORTED_SYNTAX,
            message=f"the clauses of {what} stand in braces",
            help="Write match { $p: Type  $p edge $q } return { $p.name }",
        )
    cursor.fail('"{"')


def small_word(cursor: Cursor) -> str:
    """At a word with a capital that starts a clause: the keyword that was meant, else the word as it stands."""
    token = cursor.token
    word = token.text.lower()
    if word == "not" and cursor.peek().kind == "{":
        habit_mistakes.report_capitals(cursor, token)
    return word if word in FOREIGN_WORDS else token.text


def _refuse_foreign_operator(cursor: Cursor, index: int) -> NoReturn:
    written = cursor.texts[index]
    word = written.lower()
    advice = _FOREIGN_OPERATORS[word]
    if word == "is":
        is_positive = cursor.texts[index + 1].lower() != "not"
        advice = habit_mistakes.null_advice_behind(cursor, index, is_positive=is_positive)
    foreign(cursor, cursor.span_of(index), f'there is no "{written}" in queries', advice)
    raise Unreadable
