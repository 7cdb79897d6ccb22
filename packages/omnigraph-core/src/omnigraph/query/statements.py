"""Reads the statements of a mutation: ``insert``, ``update`` and ``delete``.

Commas between assignments are optional. A ``where`` holds exactly one comparison.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.building import constructor_of
from omnigraph.lang.cursor import Cursor, Unreadable
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, IDENT, TYPE_NAME
from omnigraph.query import clause_mistakes, expression_mistakes, recovery, statement_mistakes
from omnigraph.query.ast import Assignment, Delete, Insert, Operator, Predicate, Statement, Update
from omnigraph.query.expressions import read_value

_COMPARISONS: Final[dict[str, Operator]] = {
    str(each): each for each in Operator if each not in (Operator.CONTAINS, Operator.STARTS_WITH)
}
_CONNECTIVES: Final = frozenset(("and", "or", "AND", "OR"))

_name = constructor_of(Name)
_insert = constructor_of(Insert)
_update = constructor_of(Update)
_delete = constructor_of(Delete)
_assignment = constructor_of(Assignment)
_predicate = constructor_of(Predicate)
_span = tuple.__new__


def read_statements(cursor: Cursor) -> tuple[Statement, ...]:
    """Statements up to something that is none. One that cannot be read is reported and left out."""
    statements: list[Statement] = []
    while cursor.texts[cursor.index] in recovery.STATEMENTS:
        check_cancelled()
        depth = cursor.depth
        try:
            statements.append(_read_statement(cursor))
        except Unreadable:
            cursor.depth = depth
            recovery.skip_to(cursor, recovery.starts_part)
    return tuple(statements)


def _read_statement(cursor: Cursor) -> Statement:
    index = cursor.index
    cursor.index = index + 1
    if cursor.kinds[index + 1] != TYPE_NAME:
        statement_mistakes.refuse_statement_type(cursor)
    cursor.index = index + 2
    texts, starts, ends = cursor.texts, cursor.starts, cursor.ends
    verb, type_name, start = texts[index], texts[index + 1], starts[index]
    name = _name(type_name, _span(Span, (starts[index + 1], ends[index + 1])))
    if verb == "insert":
        assignments = _read_assignments(cursor, "insert", type_name)
        return _insert(name, assignments, _span(Span, (start, ends[cursor.index - 1])))
    if verb == "delete":
        predicate, end = _read_predicate(cursor, verb)
        return _delete(name, predicate, _span(Span, (start, end)))
    if texts[index + 2] == "set":
        cursor.index = index + 3
    else:
        statement_mistakes.check_missing_set(cursor)
    assignments = _read_assignments(cursor, "update", type_name)
    predicate, end = _read_predicate(cursor, verb)
    return _update(name, assignments, predicate, _span(Span, (start, end)))


def _read_assignments(cursor: Cursor, verb: str, type_name: str) -> tuple[Assignment, ...]:
    opened, kinds = cursor.index, cursor.kinds
    if kinds[opened] != "{":
        statement_mistakes.refuse_assignments(cursor, verb, type_name)
    cursor.index = opened + 1
    if kinds[opened + 1] == "}":
        expression_mistakes.report_empty(cursor, opened, f"the {verb} of {type_name}", "property: value")
    assignments: list[Assignment] = []
    while (kind := kinds[cursor.index]) != "}":
        if kinds[cursor.index + 1] != ":" and recovery.ends_entries(cursor):
            break
        start, depth = cursor.index, cursor.depth
        try:
            if kind != IDENT:
                cursor.fail('property: value, or "}"')
            check_cancelled()
            assignments.append(_read_assignment(cursor))
            kind = kinds[cursor.index]
            if kind == ",":
                cursor.index += 1
            elif kind not in (IDENT, "}", END):
                expression_mistakes.refuse_behind_match(cursor, 'another assignment or "}"')
        except Unreadable:
            recovery.resume(cursor, recovery.starts_entry, start, depth)
    recovery.close_block(cursor, opened, f"the {verb} of {type_name}")
    return tuple(assignments)


def _read_assignment(cursor: Cursor) -> Assignment:
    index = cursor.index
    cursor.index = index + 1
    if cursor.kinds[index + 1] == ":":
        cursor.index = index + 2
    else:
        statement_mistakes.check_assignment_colon(cursor)
    value = read_value(cursor)
    start, ends = cursor.starts[index], cursor.ends
    return _assignment(
        _name(cursor.texts[index], _span(Span, (start, ends[index]))),
        value,
        _span(Span, (start, ends[cursor.index - 1])),
    )


def _read_predicate(cursor: Cursor, verb: str) -> tuple[Predicate, int]:
    """``where property operator value``, and where it ends."""
    index = cursor.index
    kinds, texts = cursor.kinds, cursor.texts
    if texts[index] != "where":
        statement_mistakes.refuse_missing_where(cursor, verb)
    index += 1
    cursor.index = index
    if kinds[index] != IDENT:
        statement_mistakes.refuse_predicate_property(cursor, verb)
    cursor.index = index + 1
    operator = _COMPARISONS.get(texts[index + 1])
    if operator is None:
        operator = statement_mistakes.read_foreign_comparison(cursor)
    else:
        cursor.index = index + 2
        if kinds[index + 2] in _COMPARISONS:
            operator = clause_mistakes.read_doubled_operator(cursor)
    value = read_value(cursor)
    start, end = cursor.starts[index], cursor.ends[cursor.index - 1]
    if texts[cursor.index] in _CONNECTIVES:
        statement_mistakes.skip_second_comparison(cursor)
    name = _name(texts[index], _span(Span, (start, cursor.ends[index])))
    return _predicate(name, operator, value, _span(Span, (start, end))), end
