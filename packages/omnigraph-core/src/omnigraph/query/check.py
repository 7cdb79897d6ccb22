"""Query check: an AST and a catalog in, a query that means something out.

Everything wrong with a query goes into the report, in the order in which a reader meets it: parameters, clauses,
projections, orderings, then what concerns several of them at once. What was refused once is not judged again later.
"""

from __future__ import annotations

from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report
from omnigraph.lang.types import ValueType
from omnigraph.query import ast
from omnigraph.query.check_clauses import check_clauses
from omnigraph.query.check_mutations import check_statements
from omnigraph.query.check_orderings import check_orderings
from omnigraph.query.check_results import check_projections
from omnigraph.query.checked import CheckedMutation, CheckedParameter, CheckedQuery, CheckedRead
from omnigraph.query.scope import Scope
from omnigraph.schema.catalog import Catalog

MAX_STEPS: Final = 256
"""Bindings, traversals, negations and rankings of one query. A plan nests an operator for each of them."""

RESERVED_PARAMETERS: Final = frozenset({"__nanograph_now"})

_RANKINGS: Final = (ast.Nearest, ast.TextCall, ast.Rrf)
_STEPS: Final = (ast.Binding, ast.Traversal, ast.Negation)


def check_query(query: ast.Query, catalog: Catalog, report: Report) -> CheckedQuery | None:
    """What a query means; None when anything is wrong with it, which the report then says."""
    parameters: dict[str, ValueType] = {}
    scope = Scope(catalog, report, parameters)
    _declare_parameters(scope, query.parameters, parameters)
    body = query.body
    checked = _check_read(scope, query, body) if isinstance(body, ast.Read) else _check_mutation(scope, query, body)
    return None if scope.refusal_count else checked


def _declare_parameters(scope: Scope, declared: tuple[ast.Parameter, ...], parameters: dict[str, ValueType]) -> None:
    """Fill ``parameters``; of two with one name the first counts."""
    places: dict[str, ast.Parameter] = {}
    for parameter in declared:
        name = parameter.name.text
        if name in RESERVED_PARAMETERS:
            scope.refuse(
                Code.RESERVED_PARAMETER,
                parameter.name.span,
                f"${name} is reserved",
                label="choose another name",
                help="now() gives the time of the call.",
            )
        first = places.setdefault(name, parameter)
        if first is not parameter:
            scope.refuse(
                Code.DUPLICATE_PARAMETER,
                parameter.name.span,
                f"the parameter ${name} is declared twice",
                label="the second",
                related=(Related(span=first.name.span, label="the first"),),
            )
        else:
            parameters[name] = parameter.type


def _check_read(scope: Scope, query: ast.Query, read: ast.Read) -> CheckedRead:
    _check_size(scope, query, read)
    clauses = check_clauses(scope, read.clauses)
    is_aggregate = any(isinstance(each.expression, ast.Aggregate) for each in read.projections)
    columns = check_projections(scope, read.projections, is_aggregate=is_aggregate)
    orderings = check_orderings(scope, read, columns, is_aggregate=is_aggregate)
    return CheckedRead(
        name=query.name.text,
        parameters=_parameters_of(scope),
        clauses=clauses,
        variables=scope.variables,
        projections=tuple([each for each in columns.values() if each is not None]),
        orderings=orderings,
        limit=None if read.limit is None else read.limit.count,
        is_aggregate=is_aggregate,
        description=query.description,
        instruction=query.instruction,
    )


def _check_size(scope: Scope, query: ast.Query, read: ast.Read) -> None:
    steps = _count_steps(read.clauses)
    steps += sum([isinstance(each.expression, _RANKINGS) for each in read.projections])
    steps += sum([isinstance(each.expression, _RANKINGS) for each in read.orderings])
    if steps > MAX_STEPS:
        scope.refuse(
            Code.TOO_MANY_STEPS,
            query.name.span,
            f"{query.name} has {steps} bindings, traversals, negations and rankings",
            label=f"a query may have {MAX_STEPS}",
            help="Split it into several queries.",
        )


def _count_steps(clauses: tuple[ast.Clause, ...]) -> int:
    steps = 0
    for each in clauses:
        if isinstance(each, _STEPS):
            steps += 1
            if isinstance(each, ast.Negation):
                steps += _count_steps(each.clauses)
    return steps


def _check_mutation(scope: Scope, query: ast.Query, mutation: ast.Mutation) -> CheckedMutation:
    return CheckedMutation(
        name=query.name.text,
        parameters=_parameters_of(scope),
        statements=check_statements(scope, mutation.statements),
        description=query.description,
        instruction=query.instruction,
    )


def _parameters_of(scope: Scope) -> tuple[CheckedParameter, ...]:
    return tuple([CheckedParameter(name, declared) for name, declared in scope.parameters.items()])
