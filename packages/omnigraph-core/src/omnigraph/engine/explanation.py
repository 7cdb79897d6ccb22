"""``Explanation``: a plan with what is known about running it, and, when it was run, what it took.

    query hop($k: String) -> q.name: String?
    Project q.name = $q.name                                  rows 3 (est. 10)  0.1 ms
      Expand $p Knows -> $q: Person columns $q.name           rows 3 (est. 10)  0.3 ms  traversal csr: held in memory
        NodeScan $p: Person where $p.key = $k                 rows 1 (est. 1)   0.1 ms  from memory

Without ``analyze`` nothing is run, and what depends on rows is told by estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph.engine.estimates import estimate_rows
from omnigraph.engine.execution import Execution, Measures
from omnigraph.engine.traversal import foresee_traversal
from omnigraph.plan.explain import explain, explain_operator
from omnigraph.plan.ir import EdgeExpand, Expand, NodeScan, Operator, ReadPlan
from omnigraph.plan.tree import inputs_of, walk
from omnigraph.schema.catalog import Catalog
from omnigraph.tables.interface import IndexCoverage

_MAX_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operator of a plan.

    Attributes:
        depth: how far below the result it stands.
        estimated_rows: a guess from row counts and the schema.
        measures: what it took; None when the query was not run.
        facts: how it is run: ``read``, ``traversal`` and its ``reason``, and what else operators told.
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
            "estimated_rows": round(self.estimated_rows, 1),
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
        indexes: of the node and edge types that the query reads.
        row_count: of the result, when it was run.
    """

    query_name: str
    head: str
    branch: str
    commit_id: str
    steps: tuple[Step, ...]
    indexes: tuple[tuple[str, IndexCoverage], ...]
    row_count: int | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "query_name": self.query_name,
            "target": {"branch": self.branch},
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


def make_explanation(plan: ReadPlan, execution: Execution, catalog: Catalog, row_count: int | None) -> Explanation:
    """What there is to say of a plan; ``row_count`` is given when the execution ran it."""
    snapshot = execution.source.snapshot
    return Explanation(
        query_name=plan.name,
        head=explain(plan).split("\n", 1)[0],
        branch=snapshot.branch.name,
        commit_id=snapshot.commit.id,
        steps=tuple(_steps(plan.root, 0, execution, catalog)),
        indexes=tuple(_indexes(plan, execution)),
        row_count=row_count,
    )


def _steps(operator: Operator, depth: int, execution: Execution, catalog: Catalog) -> Iterator[Step]:
    trace = execution.trace
    measures = None if trace is None else trace.of(operator)
    facts = dict(measures.facts) if measures is not None else _foreseen(operator, execution, catalog)
    yield Step(
        operator=explain_operator(operator),
        depth=depth,
        estimated_rows=estimate_rows(operator, execution.source, catalog),
        measures=measures,
        facts=facts,
    )
    for each in inputs_of(operator):
        yield from _steps(each, depth + 1, execution, catalog)


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


def _indexes(plan: ReadPlan, execution: Execution) -> Iterator[tuple[str, IndexCoverage]]:
    source = execution.source
    keys: dict[str, None] = {}
    for each in walk(plan.root):
        match each:
            case NodeScan():
                keys[source.schema.node(each.type_name).key] = None
            case Expand() | EdgeExpand():
                keys[source.schema.edge(each.edge).key] = None
                keys[source.schema.node(each.target_type).key] = None
            case _:
                pass
    for key in sorted(keys):
        for coverage in source.tables.coverage(source.handle(key)):
            yield key, coverage


def _told(step: Step) -> Sequence[str]:
    parts: list[str] = []
    if step.measures is None:
        parts.append(f"est. {step.estimated_rows:,.0f} rows")
    else:
        parts.append(f"{step.measures.rows or 0:,} rows (est. {step.estimated_rows:,.0f})")
        parts.append(f"{1000 * step.measures.seconds:.1f} ms")
        parts.append(f"{step.measures.nbytes:,} B")
        if step.measures.requests:
            parts.append(f"{step.measures.requests} requests, {step.measures.read_bytes:,} B read")
    if "traversal" in step.facts:
        parts.append(f"{step.facts['traversal']}: {step.facts.get('reason', '')}")
    parts += [f"{name} {value}" for name, value in step.facts.items() if name not in ("traversal", "reason")]
    return parts
