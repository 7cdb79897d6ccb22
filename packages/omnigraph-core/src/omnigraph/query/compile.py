"""From the text of a query file to checked queries: parse, choose, check."""

from __future__ import annotations

from typing import Final

from omnigraph.errors import CheckError
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Diagnostic, Report, did_you_mean, listed
from omnigraph.lang.source import SourceText, Span
from omnigraph.query import ast
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedQuery
from omnigraph.query.parser import parse_queries, read_queries
from omnigraph.schema.catalog import Catalog

_NO_SOURCE: Final = SourceText("<query>", "")


def compile_queries(source: SourceText | str, catalog: Catalog) -> tuple[CheckedQuery, ...]:
    """Every query of a text, in its order.

    Raises:
        CompileError: with everything that is wrong, with the syntax and with the meaning.
    """
    report = Report(_as_source(source))
    checked = [check_query(query, catalog, report) for query in read_queries(report).queries]
    report.raise_if_errors()
    return tuple([each for each in checked if each is not None])


def compile_query(source: SourceText | str, catalog: Catalog, name: str | None = None) -> CheckedQuery:
    """One query of a text; the others must be readable, and need not mean anything.

    Args:
        source: the text.
        catalog: what the query is checked against.
        name: which query; can be left out when there is one only.

    Raises:
        CompileError: with everything that is wrong with the syntax of the text or with the meaning of this query.
    """
    text = _as_source(source)
    query = select_query(parse_queries(text), name, text)
    report = Report(text)
    checked = check_query(query, catalog, report)
    report.raise_if_errors()
    assert checked is not None  # noqa: S101 - without a problem in the report there is a query
    return checked


def select_query(file: ast.QueryFile, name: str | None, source: SourceText = _NO_SOURCE) -> ast.Query:
    """The query of this name, the first of them; without a name the only one.

    Raises:
        CheckError: there is none, or there are several and none was named.
    """
    queries = file.queries
    if name is None and len(queries) == 1:
        return queries[0]
    for query in queries:
        if query.name.text == name:
            return query
    names = [each.name.text for each in queries]
    span, label = Span(0, 0), None
    if not names:
        message = "the text holds no query"
    elif name is None:
        message = f"the text holds {len(names)} queries, and none was named"
        span, label = queries[1].name.span, "the second"
    else:
        message = f'there is no query "{name}"'
        label = did_you_mean(name, names)
    problem = Diagnostic(
        code=Code.UNKNOWN_QUERY,
        message=message,
        source=source,
        span=span,
        label=label,
        help=f"Name one of these: {listed(names)}." if names else None,
    )
    raise CheckError((problem,))


def _as_source(source: SourceText | str) -> SourceText:
    return SourceText.of(source, "<query>") if isinstance(source, str) else source
