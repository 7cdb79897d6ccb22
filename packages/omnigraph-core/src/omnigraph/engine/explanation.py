"""``Explanation``: a plan with what is known about running it, and, when it was run, what it took.

    query hop($k: String) -> q.name: String?
    Project q.name = $q.name                         3 rows (est. 10)  0.1 ms  32 B
      Expand $p Knows -> $q: Person columns $q.name  3 rows (est. 10)  0.3 ms  48 B  csr: held in memory
        NodeScan $p: Person where $p.key = $k        1 row (est. 1)  0.1 ms  8 B  read from memory
    -- main at commit 01KA7X3J8Q0000000000000000
    -- index edge:Knows.src (btree) covers 40 of 42
    -- no index on node:Person.key yet; build it: omnigraph ensure-indices

Without ``analyze`` nothing is run, and what depends on rows is told by estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from omnigraph.engine.estimates import estimate_rows
from omnigraph.engine.execution import Execution, Measures
from omnigraph.engine.project import result_schema
from omnigraph.engine.timestamps import timestamp_schema
from omnigraph.engine.traversal import foresee_traversal, probed_columns
from omnigraph.history.declared_indexes import declared_indexes
from omnigraph.plan.explain import explain, explain_operator
from omnigraph.plan.ir import (
    AntiJoin,
    EdgeExpand,
    Expand,
    Filter,
    NodeScan,
    Operator,
    OuterRows,
    Predicate,
    Rank,
    ReadPlan,
    Score,
)
from omnigraph.plan.tree import fields_of, inputs_of, properties_of, walk
from omnigraph.schema.catalog import Catalog
from omnigraph.tables.interface import IndexCoverage, IndexSpec

_MAX_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operator of a plan.

    Attributes:
        depth: how far below the result it stands.
        estimated_rows: a guess from row counts and the schema.
        measures: what it took; None when the query was not run.
        facts: how it is run: ``read``, ``traversal`` and its ``reason``, and what else operators told; ``done`` tells
            who did the work of a step that was not run by itself.
    """

    operator: str
    depth: int
    estimated_rows: float
    measures: Measures | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "operator": self.operator,
            "depth": self.depth,
            "estimated_rows": round(float(self.estimated_rows), 1),
        }
        if self.measures is not None:
            found |= {
                "rows": self.measures.rows,
                "milliseconds": round(1000 * self.measures.seconds, 3),
                "bytes": self.measures.nbytes,
                "read_requests": self.measures.requests,
                "read_bytes": self.measures.read_bytes,
            }
        return found | self.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a query is run; ``str`` gives the text.

    Attributes:
        steps: the operators from the result down, as the plan prints them.
        snapshot: the id of the commit, when it was asked for by name.
        schema: of the result, as its ``to_arrow`` gives it.
        indexes: those on what the conditions, rankings and traversals of the query use.
        missing_indexes: of these, the ones that the schema declares and that are not built yet.
        row_count: of the result, when it was run.
    """

    query_name: str
    head: str
    branch: str
    commit_id: str
    steps: tuple[Step, ...]
    schema: pa.Schema = field(repr=False)
    indexes: tuple[tuple[str, IndexCoverage], ...]
    missing_indexes: tuple[tuple[str, IndexSpec], ...] = ()
    snapshot: str | None = None
    row_count: int | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": self.snapshot},
            "graph_commit_id": self.commit_id,
            "analyzed": self.row_count is not None,
            "row_count": self.row_count,
            "steps": [each.to_dict() for each in self.steps],
            "indexes": [
                {
                    "type": key,
                    "property": each.spec.column,
                    "kind": each.spec.kind,
                    "covered": each.covered_rows,
                    "uncovered": each.uncovered_rows,
                }
                for key, each in self.indexes
            ],
            "missing_indexes": [
                {"type": key, "property": each.column, "kind": each.kind} for key, each in self.missing_indexes
            ],
        }

    def _lines(self) -> Iterator[str]:
        yield self.head
        texts = ["  " * step.depth + step.operator for step in self.steps]
        width = min(_MAX_WIDTH, max(map(len, texts)))
        for text, step in zip(texts, self.steps, strict=True):
            yield f"{text:<{width}}  {'  '.join(_told(step))}"
        yield f"-- {self.branch} at commit {self.commit_id}"
        for key, each in self.indexes:
            total = each.covered_rows + each.uncovered_rows
            yield f"-- index {key}.{each.spec.column} ({each.spec.kind}) covers {each.covered_rows:,} of {total:,}"
        for place in dict.fromkeys(f"{key}.{spec.column}" for key, spec in self.missing_indexes):
            yield f"-- no index on {place} yet; build it: omnigraph ensure-indices"


def make_explanation(
    plan: ReadPlan, execution: Execution, catalog: Catalog, *, row_count: int | None, is_named: bool
) -> Explanation:
    """What there is to say of a plan.

    Args:
        plan: the read.
        execution: of the snapshot; with a trace when it ran the plan.
        catalog: of the snapshot.
        row_count: of the result; None when the plan was not run.
        is_named: whether the snapshot was asked for by name.
    """
    snapshot = execution.source.snapshot
    indexes, missing = _indexes(plan, execution)
    return Explanation(
        query_name=plan.name,
        head=explain(plan).split("\n", 1)[0],
        branch=snapshot.branch.name,
        commit_id=snapshot.commit.id,
        steps=tuple(_steps(plan.root, 0, execution, catalog)),
        schema=timestamp_schema(result_schema(plan.root)),
        indexes=indexes,
        missing_indexes=missing,
        snapshot=snapshot.commit.id if is_named else None,
        row_count=row_count,
    )


def _steps(
    operator: Operator, depth: int, execution: Execution, catalog: Catalog, *, is_asked: bool = True
) -> Iterator[Step]:
    """The steps of an operator and of those below; ``is_asked`` is false in a negation that no row came to."""
    trace = execution.trace
    measures = None if trace is None else trace.of(operator)
    if measures is None:
        facts = _foreseen(operator, execution, catalog)
    elif measures.rows is None:
        facts = {"done": "by the step above" if is_asked else "never, no row asks for it"} | measures.facts
    else:
        facts = dict(measures.facts)
    yield Step(
        operator=explain_operator(operator),
        depth=depth,
        estimated_rows=estimate_rows(operator, execution.source, catalog),
        measures=measures,
        facts=facts,
    )
    for each in inputs_of(operator):
        is_inner = isinstance(operator, AntiJoin) and each is operator.inner
        is_idle = is_inner and trace is not None and trace.of(each).rows is None
        yield from _steps(each, depth + 1, execution, catalog, is_asked=is_asked and not is_idle)


def _foreseen(operator: Operator, execution: Execution, catalog: Catalog) -> dict[str, Any]:
    """How an operator would be run, as far as that can be told without running anything."""
    match operator:
        case Expand() | EdgeExpand():
            frontier = estimate_rows(operator.input, execution.source, catalog)
            choice = foresee_traversal(operator, frontier, execution)
            return {"traversal": choice.mode, "reason": choice.reason}
        case NodeScan():
            is_held = execution.source.is_held(execution.source.schema.node(operator.type_name).key)
            return {"read": "from memory"} if is_held else {}
        case _:
            return {}


# ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _indexes(
    plan: ReadPlan, execution: Execution
) -> tuple[tuple[tuple[str, IndexCoverage], ...], tuple[tuple[str, IndexSpec], ...]]:
    """Of what the query looks rows up by: the indexes that are there, and those that are declared and are not."""
    source = execution.source
    there: list[tuple[str, IndexCoverage]] = []
    missing: list[tuple[str, IndexSpec]] = []
    used = {place for operator in walk(plan.root) for place in _looked_up(operator)}
    for key in sorted({key for key, _ in used}):
        found = [each for each in source.tables.coverage(source.handle(key)) if (key, each.spec.column) in used]
        names = {each.spec.name for each in found}
        there += [(key, each) for each in found]
        missing += [
            (key, each)
            for each in declared_indexes(source.schema.tables[key])
            if (key, each.column) in used and each.name not in names
        ]
    return tuple(there), tuple(missing)


def _looked_up(operator: Operator) -> Iterator[tuple[str, str]]:
    """The types and columns by which this one operator looks for rows."""
    match operator:
        case NodeScan():
            yield from _conditions(f"node:{operator.type_name}", operator.predicates)
        case Expand() | EdgeExpand():
            edge = f"edge:{operator.edge}"
            yield from ((edge, column) for column in probed_columns(operator.direction))
            yield from _conditions(f"node:{operator.target_type}", operator.predicates)
            if isinstance(operator, EdgeExpand):
                yield from _conditions(edge, operator.edge_predicates)
        case Filter():
            types = _types(operator.input)
            for predicate in operator.predicates:
                yield from ((types[each.variable], each.property) for each in properties_of(predicate))
        case Rank() | Score():
            types = _types(operator.input)
            yield from ((types[each.variable], each.property) for each in fields_of(operator.ranking))
        case _:
            return


def _conditions(key: str, predicates: Sequence[Predicate]) -> Iterator[tuple[str, str]]:
    """What conditions on one variable use, which is of this type."""
    yield from ((key, each.property) for predicate in predicates for each in properties_of(predicate))


def _types(operator: Operator) -> dict[str, str]:
    """The type of every variable that rows of an operator bind, or a negation in it, such as ``node:Film``."""
    match operator:
        case NodeScan():
            return {operator.variable: f"node:{operator.type_name}"}
        case OuterRows():
            return {each.name: f"{'edge' if each.is_edge else 'node'}:{each.type_name}" for each in operator.variables}
    found: dict[str, str] = {}
    for each in inputs_of(operator):
        found |= _types(each)
    if isinstance(operator, Expand | EdgeExpand) and operator.target is not None:
        found[operator.target] = f"node:{operator.target_type}"
    if isinstance(operator, EdgeExpand):
        found[operator.edge_variable] = f"edge:{operator.edge}"
    return found


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _told(step: Step) -> Sequence[str]:
    parts: list[str] = []
    if step.measures is None:
        parts.append(f"est. {_rows(step.estimated_rows)}")
    elif step.measures.rows is not None:
        parts.append(f"{_rows(step.measures.rows)} (est. {step.estimated_rows:,.0f})")
        parts.append(f"{1000 * step.measures.seconds:.1f} ms")
        parts.append(f"{step.measures.nbytes:,} B")
        if step.measures.requests:
            requests = "1 request" if step.measures.requests == 1 else f"{step.measures.requests:,} requests"
            parts.append(f"{requests}, {step.measures.read_bytes:,} B read")
    if "traversal" in step.facts:
        parts.append(f"{step.facts['traversal']}: {step.facts.get('reason', '')}")
    parts += [f"{name} {value}" for name, value in step.facts.items() if name not in ("traversal", "reason")]
    return parts


def _rows(count: float) -> str:
    shown = f"{count:,.0f}"
    return f"{shown} row" if shown == "1" else f"{shown} rows"
