"""Reads the clauses of a match block.

The first tokens decide what a clause is, in the order of the language: negation, binding, traversal, filter, text
clause. So ``$a contains $b`` is a traversal along an edge called ``contains``, and ``$a contains "x"`` is a filter.
A clause that cannot be read is reported and left out, and reading goes on with the next one.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.building import constructor_of
from omnigraph.lang.cursor import Cursor, Unreadable
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, IDENT, INTEGER, TYPE_NAME, VARIABLE, integer_value
from omnigraph.query import clause_mistakes, expression_mistakes, recovery
from omnigraph.query.ast import (
    Binding,
    Clause,
    Filter,
    Hops,
    Identifier,
    Negation,
    Operator,
    PropertyMatch,
    TextCall,
    TextClause,
    TextFunction,
    Traversal,
)
from omnigraph.query.expressions import read_expression, read_value

OPERATORS: Final = {str(each): each for each in Operator}
_BM25: Final = TextFunction.BM25
_WORD_OPERATORS: Final = ("contains", "starts_with")
_COMPARISON_MARKS: Final = frozenset(("=", "<", ">", "<=", ">="))

_name = constructor_of(Name)
_binding = constructor_of(Binding)
_match = constructor_of(PropertyMatch)
_traversal = constructor_of(Traversal)
_filter = constructor_of(Filter)
_negation = constructor_of(Negation)
_text_clause = constructor_of(TextClause)
_hops = constructor_of(Hops)
_span = tuple.__new__


def read_clauses(cursor: Cursor, what: str) -> tuple[Clause, ...]:
    """The clauses of a block, from its opening to its closing brace.

    Args:
        cursor: stands at the opening brace.
        what: what messages call the block.

    Raises:
        Unreadable: there is no opening brace, or blocks are nested too deep.
    """
    opened = cursor.index
    if cursor.kinds[opened] != "{":
        clause_mistakes.refuse_unopened(cursor, what)
    cursor.index = opened + 1
    cursor.enter()
    kinds = cursor.kinds
    if kinds[cursor.index] == "}":
        expression_mistakes.report_empty(cursor, opened, what, "at least one clause")
    clauses: list[Clause] = []
    while (kind := kinds[cursor.index]) != "}":
        if kind == END or (kind == IDENT and recovery.starts_part(cursor)):
            break
        check_cancelled()
        start, depth = cursor.index, cursor.depth
        try:
            clauses.append(read_clause(cursor))
            if kinds[cursor.index] == ",":
                clause_mistakes.skip_comma(cursor)
        except Unreadable:
            recovery.resume(cursor, recovery.starts_clause, start, depth)
    recovery.close_block(cursor, opened, what)
    cursor.depth -= 1
    return tuple(clauses)


def read_clause(cursor: Cursor) -> Clause:
    """One clause.

    Raises:
        Unreadable: the reason is in the report.
    """
    index = cursor.index
    kinds = cursor.kinds
    kind = kinds[index]
    if kind == VARIABLE:
        behind = kinds[index + 1]
        # Most filters start with a property.
        if behind == ".":
            return _read_filter(cursor)
        if behind == ":":
            return _read_binding(cursor)
        if behind == IDENT:
            if cursor.texts[index + 1] not in _WORD_OPERATORS or kinds[index + 2] in (VARIABLE, "{"):
                return _read_traversal(cursor)
        elif behind == VARIABLE:
            return _read_traversal(cursor)
        elif behind == "<":
            if kinds[index + 2] in (IDENT, TYPE_NAME) and kinds[index + 3] == ">":
                return _read_traversal(cursor)
        elif behind == TYPE_NAME:
            return _read_traversal(cursor) if clause_mistakes.is_capital_edge(cursor) else _read_binding(cursor)
    elif kind in (IDENT, TYPE_NAME):
        word = cursor.texts[index] if kind == IDENT else clause_mistakes.small_word(cursor)
        if word == "not" and kinds[index + 1] == "{":
            cursor.index = index + 1
            clauses = read_clauses(cursor, "the not block")
            return _negation(clauses, cursor.span_from(cursor.starts[index]))
        if word in clause_mistakes.FOREIGN_WORDS:
            clause_mistakes.skip_foreign_words(cursor)
            if cursor.kind == VARIABLE:
                return read_clause(cursor)
    elif kind == "(":
        clause_mistakes.refuse_parentheses(cursor)
    return _read_filter(cursor)


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_binding(cursor: Cursor) -> Binding:
    index = cursor.index
    kinds, texts, starts, ends = cursor.kinds, cursor.texts, cursor.starts, cursor.ends
    type_index = index + 2
    if kinds[index + 1] != ":":
        type_index = cursor.index = index + 1
        expression_mistakes.report_missing_colon(cursor, texts[index], texts[type_index])
    cursor.index = type_index
    if kinds[type_index] != TYPE_NAME:
        clause_mistakes.refuse_type_name(cursor)
    cursor.index = type_index + 1
    matches = _read_matches(cursor, texts[type_index]) if kinds[type_index + 1] == "{" else ()
    return _binding(
        _name(texts[index][1:], _span(Span, (starts[index], ends[index]))),
        _name(texts[type_index], _span(Span, (starts[type_index], ends[type_index]))),
        matches,
        _span(Span, (starts[index], ends[cursor.index - 1])),
    )


def _read_matches(cursor: Cursor, type_name: str) -> tuple[PropertyMatch, ...]:
    opened = cursor.index
    cursor.index = opened + 1
    if cursor.kinds[opened + 1] == "}":
        expression_mistakes.report_empty(
            cursor,
            opened,
            f"the inline match of {type_name}",
            "property: value",
            help="Leave the braces out to match every one of its type.",
        )
    matches: list[PropertyMatch] = []
    kinds = cursor.kinds
    while (kind := kinds[cursor.index]) != "}":
        if kinds[cursor.index + 1] != ":" and recovery.ends_entries(cursor):
            break
        start, depth = cursor.index, cursor.depth
        try:
            if kind != IDENT:
                cursor.fail("property: value")
            check_cancelled()
            matches.append(_read_match(cursor))
            kind = kinds[cursor.index]
            if kind == ",":
                cursor.index += 1
            elif kind == IDENT and kinds[cursor.index + 1] in (":", "="):
                expression_mistakes.report_missing_comma(cursor)
            elif kind != "}" and not recovery.starts_entry(cursor):
                expression_mistakes.refuse_behind_match(cursor, '"," or "}"')
        except Unreadable:
            recovery.resume(cursor, recovery.starts_entry, start, depth)
    recovery.close_block(cursor, opened, f"the inline match of {type_name}")
    return tuple(matches)


def _read_match(cursor: Cursor) -> PropertyMatch:
    index = cursor.index
    cursor.index = index + 1
    if cursor.kinds[index + 1] == ":":
        cursor.index = index + 2
    else:
        clause_mistakes.check_match_operator(cursor, cursor.texts[index])
    value = read_value(cursor)
    start, ends = cursor.starts[index], cursor.ends
    return _match(
        _name(cursor.texts[index], _span(Span, (start, ends[index]))),
        value,
        _span(Span, (start, ends[cursor.index - 1])),
    )


# ── traversals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_traversal(cursor: Cursor) -> Traversal:
    left = index = cursor.index
    kinds, texts, starts, ends = cursor.kinds, cursor.texts, cursor.starts, cursor.ends
    index += 1
    edge_variable = None
    if kinds[index] == VARIABLE:
        if kinds[index + 1] != ":":
            clause_mistakes.refuse_behind_edge_variable(cursor)
        edge_variable = _name(texts[index][1:], _span(Span, (starts[index], ends[index])))
        index += 2
    is_undirected = kinds[index] == "<"
    if is_undirected:
        index += 1
    edge = cursor.index = index
    word = texts[edge]
    if kinds[edge] != IDENT:
        clause_mistakes.check_edge(cursor)
    elif word.startswith("not") and (word == "not" or word[3] == "_"):
        clause_mistakes.refuse_not_edge(cursor)
    cursor.index = index = edge + 1
    if is_undirected:
        cursor.expect(">", '">" behind the edge')
    hops = None
    if kinds[cursor.index] == "{":
        hops = _read_hops(cursor)
    right = cursor.index
    if kinds[right] != VARIABLE:
        clause_mistakes.refuse_traversal_end(cursor, texts[left], edge)
    if kinds[right + 1] == ".":
        clause_mistakes.refuse_traversal_to_property(cursor, texts[left], word)
    cursor.index = right + 1
    return _traversal(
        _name(texts[left][1:], _span(Span, (starts[left], ends[left]))),
        edge_variable,
        _name(word, _span(Span, (starts[edge], ends[edge]))),
        is_undirected,
        hops,
        _name(texts[right][1:], _span(Span, (starts[right], ends[right]))),
        _span(Span, (starts[left], ends[right])),
    )


def _read_hops(cursor: Cursor) -> Hops:
    start = cursor.take().start
    minimum, maximum = 1, None
    if cursor.kind == INTEGER and cursor.peek().kind == ",":
        minimum = integer_value(cursor.take(), cursor.report)
        cursor.take()
        if cursor.kind == INTEGER:
            maximum = integer_value(cursor.take(), cursor.report)
    if cursor.kind != "}" or cursor.peek(-1).kind == "{":
        clause_mistakes.skip_hops(cursor)
    cursor.take()
    return _hops(minimum, maximum, cursor.span_from(start))


# ── filters and text clauses ─────────────────────────────────────────────────────────────────────────────────────────


def _read_filter(cursor: Cursor) -> Filter | TextClause:
    start = cursor.starts[cursor.index]
    left = read_expression(cursor)
    index = cursor.index
    operator = OPERATORS.get(cursor.texts[index])
    if operator is None:
        if left.__class__ is TextCall:
            if left.function is _BM25:
                clause_mistakes.refuse_bare_bm25(cursor, left)
            return _text_clause(left, left.span)
        operator = clause_mistakes.read_foreign_operator(cursor, left)
    else:
        cursor.index = index + 1
        if cursor.kinds[index + 1] in _COMPARISON_MARKS:
            operator = clause_mistakes.read_doubled_operator(cursor)
    right = read_expression(cursor)
    if right.__class__ is Identifier and right.name == "null":
        clause_mistakes.report_null(cursor, operator, index)
    return _filter(left, operator, right, _span(Span, (start, cursor.ends[cursor.index - 1])))
