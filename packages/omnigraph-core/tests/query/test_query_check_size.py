"""How large one query may be: a plan nests an operator for each step, and steps are counted before."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Report, SourceText
from omnigraph.query.check import check_query
from omnigraph.query.parser import parse_queries


def diagnostics_of(catalog, body: str):
    source = SourceText.of(f"query q() {{ {body} }}")
    report = Report(source)
    checked = check_query(parse_queries(source).queries[0], catalog, report)
    assert (checked is None) == report.has_errors
    return report.diagnostics


def chain(steps: int) -> str:
    clauses = "  ".join(f"$v{number} follows $v{number + 1}" for number in range(steps))
    return f"match {{ $v0: Person  {clauses} }} return {{ $v0 }}"


@pytest.mark.parametrize(
    "body",
    [
        chain(256),
        f"match {{ $p: Person  {'not { $p follows $_ } ' * 128} }} return {{ $p }}",
        f"match {{ {' '.join(f'$v{n}: Person' for n in range(257))} }} return {{ 1 }}",
        "match { $f: Film } return { "
        + " ".join(f"nearest($f.plotVec, [{n}.0, 1.0, 1.0, 1.0]) as d{n}" for n in range(256))
        + " }",
    ],
    ids=["traversals", "negations", "bindings", "rankings"],
)
def test_a_query_of_257_steps_is_refused_at_its_name(catalog, body):
    (found,) = diagnostics_of(catalog, body)
    assert found.code is Code.TOO_MANY_STEPS
    assert "q has 257 bindings, traversals, negations and rankings" in found.message
    assert found.source.text[slice(*found.span)] == "q"


def test_a_query_of_256_steps_is_accepted(catalog):
    assert diagnostics_of(catalog, chain(255)) == []


def test_filters_and_plain_columns_are_no_steps(catalog):
    many = "  ".join(f"$f.votes > {number}" for number in range(500))
    assert diagnostics_of(catalog, f"match {{ $f: Film  {many} }} return {{ $f.code }}") == []
