"""A schema file and a query file, examined together: two texts in, one ``LintReport`` out, whatever is wrong with them.

Everything is told in one run: syntax and meaning of the schema, syntax of the query file, and, where both can be read,
the meaning of each query. A query file that cannot be read is one finding, ``Q000``, and its queries are not looked at;
nor are they when the schema has errors, since half of what they would be blamed for is the schema's fault.

``error`` means that another verb would refuse the text. What runs and is probably not meant is a warning: a second
query of one name (the first is the one that runs), a mutation without parameters, a property that no update sets, an
index that is not built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.lang.codes import Code, Severity
from omnigraph.lang.diagnostics import Diagnostic, Related, Report
from omnigraph.lang.source import Name, SourceText
from omnigraph.query import ast
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedMutation, CheckedQuery, UpdateNodes
from omnigraph.query.describe import Operation, describe_query
from omnigraph.query.parser import read_queries
from omnigraph.schema import ast as schema_ast
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.check import check_schema
from omnigraph.schema.parser import read_schema

_RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about a file as a whole.

    Attributes:
        diagnostics: where it shows; at least one.
    """

    code: Code
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; what does not apply is left out."""
        facts: dict[str, Any] = {
            "severity": str(self.code.severity),
            "code": str(self.code),
            "message": self.message,
        }
        if self.type_name is not None:
            facts["type_name"] = self.type_name
        if self.property is not None:
            facts["property"] = self.property
        if self.query_names:
            facts["query_names"] = list(self.query_names)
        return facts | {"diagnostics": [each.to_dict() for each in self.diagnostics]}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """One query.

    Attributes:
        kind: ``read`` or ``mutation``.
        operation: None when the query has errors.
        diagnostics: in the order of the text, warnings too.
    """

    name: str
    kind: str
    operation: Operation | None
    diagnostics: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; what does not apply is left out. ``error`` is the first of the errors, on one line."""
        facts: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "status": "error" if self.operation is None else "ok",
        }
        warnings = [each.message for each in self.diagnostics if each.severity is Severity.WARNING]
        errors = [each.headline for each in self.diagnostics if each.severity is Severity.ERROR]
        if warnings:
            facts["warnings"] = warnings
        if errors:
            facts["error"] = errors[0]
        if self.operation is not None:
            facts["operation"] = self.operation.to_dict()
        return facts | {"diagnostics": [each.to_dict() for each in self.diagnostics]}


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All that was found.

    Attributes:
        query_path: None when there was no query file.
        results: of the queries whose meaning was checked, in the order of the file.
        findings: the worst first, then by type, property and message.
    """

    schema_path: str
    query_path: str | None
    results: tuple[QueryResult, ...]
    findings: tuple[Finding, ...]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything, file by file, in the order of the text."""
        return tuple(sorted(self._found(), key=lambda each: (each.source.name != self.schema_path, each.span)))

    def count(self, severity: Severity) -> int:
        """How many diagnostics are of this severity."""
        return sum(each.severity is severity for each in self._found())

    def _found(self) -> Iterator[Diagnostic]:
        yield from (each for finding in self.findings for each in finding.diagnostics)
        yield from (each for result in self.results for each in result.diagnostics)

    @property
    def is_ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return self.count(Severity.ERROR) == 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "status": "ok" if self.is_ok else "error",
            "schema_source": {"kind": "file", "path": self.schema_path},
            "query_path": self.query_path,
            "queries_processed": len(self.results),
            "errors": self.count(Severity.ERROR),
            "warnings": self.count(Severity.WARNING),
            "infos": self.count(Severity.INFO),
            "results": [each.to_dict() for each in self.results],
            "findings": [each.to_dict() for each in self.findings],
        }


def lint(schema_source: SourceText, query_source: SourceText | None = None) -> LintReport:
    """Examine a schema, and a file of queries against it. Raises nothing for what the texts say."""
    schema_report = Report(schema_source)
    syntax_tree = read_schema(schema_report)
    catalog = check_schema(syntax_tree, schema_report)
    findings = [Finding(code=each.code, message=each.message, diagnostics=(each,)) for each in schema_report.in_order()]
    findings += _unbuilt_indexes(syntax_tree, catalog, schema_source)
    results: list[QueryResult] = []
    if query_source is not None:
        syntax = Report(query_source)
        file = read_queries(syntax)
        if syntax.has_errors:
            findings.append(_unreadable(syntax.in_order()))
        elif not schema_report.has_errors:
            checked: list[CheckedQuery | None] = []
            for query in file.queries:
                report = Report(query_source)
                checked.append(check_query(query, catalog, report))
                results.append(_result(query, checked[-1], report, catalog))
            findings += _repeated_names(file, query_source)
            findings += _never_updated(file, checked, catalog, query_source)
    return LintReport(
        schema_path=schema_source.name,
        query_path=None if query_source is None else query_source.name,
        results=tuple(results),
        findings=tuple(sorted(findings, key=_place_of_finding)),
    )


def _place_of_finding(finding: Finding) -> tuple[int, str, str, str]:
    return _RANK[finding.code.severity], finding.type_name or "", finding.property or "", finding.message


def _unreadable(diagnostics: tuple[Diagnostic, ...]) -> Finding:
    more = len(diagnostics) - 1
    return Finding(
        code=Code.Q000,
        message=diagnostics[0].headline + (f", and {more} more" if more else ""),
        diagnostics=diagnostics,
    )


def _result(query: ast.Query, checked: CheckedQuery | None, report: Report, catalog: Catalog) -> QueryResult:
    is_mutation = isinstance(query.body, ast.Mutation)
    if is_mutation and not query.parameters:
        report.add(
            Code.NO_PARAMETERS,
            query.name.span,
            f'mutation "{query.name}" declares no params',
            label="it does the same every time",
            help="Take what changes from call to call as parameters.",
        )
    return QueryResult(
        name=query.name.text,
        kind="mutation" if is_mutation else "read",
        operation=None if checked is None else describe_query(checked, catalog),
        diagnostics=report.in_order(),
    )


def _repeated_names(file: ast.QueryFile, source: SourceText) -> Iterator[Finding]:
    first_of: dict[str, ast.Query] = {}
    for query in file.queries:
        first = first_of.setdefault(query.name.text, query)
        if first is query:
            continue
        message = f'there is a query "{query.name}" already'
        problem = Diagnostic(
            code=Code.DUPLICATE_QUERY,
            message=message,
            source=source,
            span=query.name.span,
            label="never runs: the first one of a name does",
            related=(Related(span=first.name.span, label="the first one"),),
            help="Give it another name, or remove it.",
        )
        yield Finding(
            code=Code.DUPLICATE_QUERY, message=message, query_names=(query.name.text,), diagnostics=(problem,)
        )


def _unbuilt_indexes(schema: schema_ast.Schema, catalog: Catalog, source: SourceText) -> Iterator[Finding]:
    """Body constraints ``@index`` that no release builds yet: on several columns, or on a list."""
    for declared in schema.declarations:
        if isinstance(declared, schema_ast.Interface):
            continue
        types = catalog.nodes if isinstance(declared, schema_ast.Node) else catalog.edges
        known = types.get(declared.name.text)
        for each in declared.constraints:
            columns = sorted({str(one) for one in each.arguments if isinstance(one, Name)})
            if each.name.text != "index" or known is None or not columns:
                continue
            prop = known.by_name.get(columns[0])
            if len(columns) == 1 and (prop is None or not prop.type.is_list):
                continue
            what = "a list" if len(columns) == 1 else "several properties"
            message = f"@index({', '.join(columns)}) of {declared.name} is not built: it is on {what}"
            problem = Diagnostic(
                code=Code.UNBUILT_INDEX,
                message=message,
                source=source,
                span=each.span,
                label="reads are right without it",
                help=None if len(columns) == 1 else "Declare @index on each of the properties.",
            )
            yield Finding(
                code=Code.UNBUILT_INDEX,
                message=message,
                type_name=declared.name.text,
                property=", ".join(columns),
                diagnostics=(problem,),
            )


def _never_updated(
    file: ast.QueryFile, checked: list[CheckedQuery | None], catalog: Catalog, source: SourceText
) -> Iterator[Finding]:
    """Nullable properties of types that the file updates, which none of its updates sets."""
    updates = [
        (query, statement)
        for query in file.queries
        if isinstance(query.body, ast.Mutation)
        for statement in query.body.statements
        if isinstance(statement, ast.Update)
    ]
    valid = {
        statement.type_name
        for query in checked
        if isinstance(query, CheckedMutation)
        for statement in query.statements
        if isinstance(statement, UpdateNodes)
    }
    for name in sorted(valid):
        of_type = [(query, statement) for query, statement in updates if statement.type_name.text == name]
        # An update that is wrong elsewhere still shows that somebody thought of the property.
        assigned = {each.property.text for _, statement in of_type for each in statement.assignments}
        queries = tuple(dict.fromkeys(query.name.text for query, _ in of_type))
        for missing in _optional_properties(catalog.nodes[name]):
            if missing in assigned:
                continue
            message = f'no update of {name} sets "{missing}"'
            problem = Diagnostic(
                code=Code.NEVER_UPDATED,
                message=message,
                source=source,
                span=of_type[0][1].type_name.span,
                label=f"{name}.{missing} is optional, and nothing here can change it",
            )
            yield Finding(
                code=Code.NEVER_UPDATED,
                message=message,
                type_name=name,
                property=missing,
                query_names=queries,
                diagnostics=(problem,),
            )


def _optional_properties(node: NodeType) -> Iterable[str]:
    """Those that may be null, which a key never is, and that are not made from another one."""
    return (each.name for each in node.properties if each.type.is_nullable and each.embed is None)
