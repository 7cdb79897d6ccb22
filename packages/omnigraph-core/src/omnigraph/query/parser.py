"""Reads a query file: text in, ``ast.QueryFile`` out.

    parser      files, queries, parameters, annotations and the body of a query
    clauses     the match block                     results     return, order and limit
    statements  insert, update and delete           expressions what stands inside all of them
    *_mistakes  say what was probably meant         recovery    finds where to go on

One run tells everything that is wrong with a file. A query with a mistake is left out of the result, so that nothing
that follows judges a half of it.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.building import constructor_of
from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import Name, SourceText, Span
from omnigraph.lang.tokens import END, IDENT, INTEGER, STRING, VARIABLE, integer_value, string_value
from omnigraph.lang.types import MAX_VECTOR_DIMENSION, SCALAR_NAMES, Scalar, ValueType
from omnigraph.query import (
    expression_mistakes,
    habit_mistakes,
    query_mistakes,
    recovery,
    section_mistakes,
    statement_mistakes,
)
from omnigraph.query.ast import (
    Clause,
    Limit,
    Mutation,
    Ordering,
    Parameter,
    Projection,
    Query,
    QueryFile,
    Read,
)
from omnigraph.query.clauses import read_clauses
from omnigraph.query.results import read_limit, read_orderings, read_projections
from omnigraph.query.statements import read_statements

_ANNOTATIONS: Final = ("description", "instruction")
_RANKS: Final = {word: rank for rank, word in enumerate(recovery.SECTIONS)}

# Every type that a parameter can have, but vectors: as it is, and nullable.
_SCALARS: Final[dict[Scalar, tuple[ValueType, ValueType]]] = {
    each: (ValueType(each), ValueType(each, is_nullable=True)) for each in SCALAR_NAMES.values()
}
_LISTS: Final[dict[Scalar, tuple[ValueType, ValueType]]] = {
    each: (ValueType(each, is_list=True), ValueType(each, is_list=True, is_nullable=True))
    for each in SCALAR_NAMES.values()
}

_name = constructor_of(Name)
_parameter = constructor_of(Parameter)
_query = constructor_of(Query)
_read = constructor_of(Read)
_span = tuple.__new__


def parse_queries(source: SourceText) -> QueryFile:
    """The queries of a text, in its order.

    Raises:
        ParseError: with everything that is wrong with the text.
    """
    report = Report(source)
    file = read_queries(report)
    if report.diagnostics:
        report.raise_if_errors()
    return file


def read_queries(report: Report) -> QueryFile:
    """The queries of the reported source that can be read; what is wrong with the others is in the report."""
    cursor = Cursor(report)
    if report.diagnostics:
        habit_mistakes.explain_characters(cursor)
    lexical = [each.span.start for each in report.diagnostics]
    queries: list[Query] = []
    is_behind_mistake = False
    kinds, texts = cursor.kinds, cursor.texts
    while kinds[cursor.index] != END and not report.is_full:
        check_cancelled()
        if texts[cursor.index] != "query":
            # Behind a query that was not understood, this may well be a part of it.
            if not is_behind_mistake:
                query_mistakes.report_no_query(cursor)
            cursor.take()
            recovery.skip_to_query(cursor)
            continue
        noted = len(report.diagnostics)
        try:
            query = _read_query(cursor)
        except Unreadable:
            cursor.depth = 0
            recovery.skip_to_query(cursor)
            is_behind_mistake = True
            continue
        is_behind_mistake = bool(report.diagnostics) and _has_mistake(report, noted, lexical, query.span)
        if not is_behind_mistake:
            queries.append(query)
    return QueryFile(tuple(queries))


def _has_mistake(report: Report, noted: int, lexical: list[int], span: Span) -> bool:
    """Whether something was reported while the query was read, or lies in it and was reported before."""
    start, end = span
    return len(report) > noted or report.is_full or any(start <= each < end for each in lexical)


def _read_query(cursor: Cursor) -> Query:
    first = cursor.index
    cursor.index = first + 1
    if cursor.kinds[first + 1] == IDENT:
        cursor.index = first + 2
    else:
        query_mistakes.check_query_name(cursor)
    texts, starts, ends = cursor.texts, cursor.starts, cursor.ends
    name = _name(texts[first + 1], _span(Span, (starts[first + 1], ends[first + 1])))
    parameters = _read_parameters(cursor, name)
    annotations: dict[str, str] = {}
    while cursor.kinds[cursor.index] == "@":
        _read_annotation(cursor, annotations)
    if cursor.kinds[cursor.index] != "{":
        query_mistakes.refuse_before_body(cursor)
    body = _read_body(cursor, name)
    return _query(
        name,
        parameters,
        annotations.get("description"),
        annotations.get("instruction"),
        body,
        _span(Span, (starts[first], ends[cursor.index - 1])),
    )


def _read_annotation(cursor: Cursor, annotations: dict[str, str]) -> None:
    at = cursor.index
    kinds = cursor.kinds
    name = cursor.texts[at + 1]
    if name not in _ANNOTATIONS or name in annotations:
        query_mistakes.check_annotation(cursor, annotations, _ANNOTATIONS)
    cursor.index = at + 2
    for kind in ("(", STRING, ")"):
        if kinds[cursor.index] != kind:
            cursor.fail(f'@{name}("..")')
        cursor.index += 1
    annotations[name] = string_value(cursor.peek(-2), cursor.report)


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_parameters(cursor: Cursor, name: Name) -> tuple[Parameter, ...]:
    kinds = cursor.kinds
    if kinds[cursor.index] != "(":
        query_mistakes.check_missing_parameters(cursor, name)
        return ()
    cursor.index += 1
    parameters: list[Parameter] = []
    while kinds[cursor.index] != ")":
        check_cancelled()
        try:
            parameters.append(_read_parameter(cursor))
            if kinds[cursor.index] == ",":
                cursor.index += 1
                if kinds[cursor.index] == ")":
                    expression_mistakes.report_trailing_comma(cursor, "parameters")
            elif kinds[cursor.index] != ")":
                query_mistakes.check_behind_parameter(cursor)
        except Unreadable:
            if not recovery.skip_to_parameter(cursor):
                return tuple(parameters)
    cursor.index += 1
    return tuple(parameters)


def _read_parameter(cursor: Cursor) -> Parameter:
    first = cursor.index
    kinds, texts = cursor.kinds, cursor.texts
    if kinds[first] != VARIABLE:
        query_mistakes.refuse_parameter_name(cursor)
    cursor.index = first + 1
    if kinds[first + 1] == ":":
        cursor.index = first + 2
    else:
        query_mistakes.check_parameter_colon(cursor, texts[first])
    index = cursor.index
    if kinds[index] == "[":
        cursor.index = index + 1
        core, nullable = _LISTS[_take_scalar(cursor)]
        if cursor.kind == "?":
            query_mistakes.skip_nullable_item(cursor, core.scalar)
        cursor.expect("]")
    elif texts[index] == "Vector":
        core = _read_vector(cursor)
        nullable = core.with_nullable(True)
    else:
        core, nullable = _SCALARS[_take_scalar(cursor)]
    if kinds[cursor.index] == "?":
        cursor.index += 1
        core = nullable
    start, ends = cursor.starts[first], cursor.ends
    return _parameter(
        _name(texts[first][1:], _span(Span, (start, ends[first]))),
        core,
        _span(Span, (start, ends[cursor.index - 1])),
    )


def _take_scalar(cursor: Cursor) -> Scalar:
    scalar = SCALAR_NAMES.get(cursor.texts[cursor.index])
    if scalar is None:
        return query_mistakes.take_unknown_type(cursor)
    cursor.index += 1
    return scalar


def _read_vector(cursor: Cursor) -> ValueType:
    cursor.take()
    if cursor.kind != "(":
        cursor.fail('"(" and the dimension', help="Write Vector(3) for vectors of three numbers.")
    cursor.take()
    if cursor.kind != INTEGER:
        query_mistakes.skip_dimension(cursor)
        return ValueType(Scalar.VECTOR, dimension=1)
    token = cursor.take()
    noted = len(cursor.report)
    dimension = integer_value(token, cursor.report)
    if not 1 <= dimension <= MAX_VECTOR_DIMENSION and len(cursor.report) == noted:
        cursor.report.add(
            Code.BAD_VECTOR_DIMENSION,
            token.span,
            f"Vector({token.text}) has no possible dimension",
            label=f"expected 1 to {MAX_VECTOR_DIMENSION}",
        )
    cursor.expect(")")
    return ValueType(Scalar.VECTOR, dimension=dimension)


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_body(cursor: Cursor, name: Name) -> Read | Mutation:
    opened = cursor.index
    cursor.index = opened + 1
    body: Read | Mutation
    if cursor.texts[opened + 1] in recovery.STATEMENTS:
        body = Mutation(read_statements(cursor), cursor.span_from(cursor.starts[opened + 1]))
        if cursor.kind != "}":
            statement_mistakes.report_behind_mutation(cursor)
    else:
        body = _read_sections(cursor)
    if cursor.kinds[cursor.index] == "}":
        cursor.index += 1
    else:
        recovery.skip_to(cursor, recovery.starts_query)
        recovery.close_block(cursor, opened, f'the query "{name}"')
    return body


def _read_sections(cursor: Cursor) -> Read:
    """``match``, ``return``, ``order``, ``limit``; another order than this is reported, and read all the same."""
    clauses: tuple[Clause, ...] = ()
    projections: tuple[Projection, ...] = ()
    orderings: tuple[Ordering, ...] = ()
    limit: Limit | None = None
    is_lost = False
    first = cursor.index
    seen: dict[str, int] = {}
    last = -1
    while (rank := _RANKS.get(cursor.texts[cursor.index])) is not None:
        if rank <= last:
            section_mistakes.report_section_order(cursor, seen)
        else:
            last = rank
        seen[cursor.texts[cursor.index]] = cursor.index
        try:
            if rank == 0:
                cursor.index += 1
                clauses = read_clauses(cursor, "the match block")
            elif rank == 1:
                projections = read_projections(cursor)
            elif rank == 2:
                orderings = read_orderings(cursor)
            else:
                limit = read_limit(cursor)
        except Unreadable:
            cursor.depth = 0
            is_lost = True
            recovery.skip_to(cursor, recovery.starts_part)
    end = cursor.ends[cursor.index - 1]
    if cursor.kinds[cursor.index] != "}" or "match" not in seen or "return" not in seen:
        section_mistakes.report_behind_read(cursor, first - 1, seen, is_lost=is_lost)
    return _read(clauses, projections, orderings, limit, _span(Span, (cursor.starts[first], end)))
