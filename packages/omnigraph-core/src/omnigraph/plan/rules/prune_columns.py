"""Scans and expansions fetch only the properties that something above reads; ids are there anyway.

    Project f.code = $f.code                                Project f.code = $f.code
      NodeScan $f: Film columns $f.code, $f.stars      =>     NodeScan $f: Film columns $f.code

What only the conditions of a scan or expansion use is not fetched for that, nor is a field that only a Rank uses. What
a negation asks about the outer row is read by it too. This comes last: other rules copy columns without knowing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.plan.ir import (
    AntiJoin,
    EdgeExpand,
    Expand,
    NodeScan,
    Operator,
    OuterRows,
    RankJoin,
    ReadPlan,
)
from omnigraph.plan.tree import inputs_of, properties_read_by, walk, with_inputs, with_rows
from omnigraph.query.checked import PropertyRef
from omnigraph.schema.catalog import Catalog

Needs = frozenset[tuple[str, str]]
"""Pairs of variable and property."""

_NOTHING: Needs = frozenset()


def prune_columns(plan: ReadPlan, catalog: Catalog) -> ReadPlan:
    """The plan with no column that nothing reads."""
    del catalog
    needs = _pairs(properties_read_by(plan.root))
    return with_rows(plan, _prune(plan.root.input, needs))


def _prune(operator: Operator, needs: Needs) -> Operator:
    match operator:
        case NodeScan():
            return replace(operator, columns=_columns(needs, operator.variable))
        case OuterRows():
            return operator
        case Expand():
            columns = () if operator.is_bound else _columns(needs, operator.target)
            return replace(operator, input=_prune(operator.input, needs), columns=columns)
        case EdgeExpand():
            return replace(
                operator,
                input=_prune(operator.input, needs),
                columns=() if operator.is_bound else _columns(needs, operator.target),
                edge_columns=_columns(needs, operator.edge_variable),
            )
        case AntiJoin():
            asked = _pairs(_outer_reads(operator.inner))
            return AntiJoin(_prune(operator.input, needs | asked), _prune(operator.inner, _NOTHING))
        case RankJoin():
            return replace(operator, input=_prune(operator.input, needs), ranked=_prune(operator.ranked, _NOTHING))
        case _:
            below = needs | _pairs(properties_read_by(operator))
            return with_inputs(operator, tuple(_prune(each, below) for each in inputs_of(operator)))


def _outer_reads(inner: Operator) -> Iterator[PropertyRef]:
    """What an inner plan, and the inner plans in it, read of the outer row."""
    # The first leaf is the one of this plan; those of inner plans in it come later.
    outer = next(each for each in walk(inner) if isinstance(each, OuterRows))
    names = {each.name for each in outer.variables}
    for each in walk(inner):
        for found in properties_read_by(each):
            if found.variable in names:
                yield found


def _pairs(properties: Iterator[PropertyRef]) -> Needs:
    return frozenset((each.variable, each.property) for each in properties)


def _columns(needs: Needs, variable: str | None) -> tuple[str, ...]:
    return tuple(sorted(name for owner, name in needs if owner == variable))
