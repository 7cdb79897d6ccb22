"""A checked query to a plan, plain and unoptimised: the same query always gives the same plan.

This is the first form that says how rows are made; ``rules`` make it cheaper without changing what comes out. What
running needs to know of the schema is copied into the plan here, so that nothing behind needs the catalog.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.cancellation import check_cancelled
from omnigraph.plan.changes import (
    Cascade,
    DeleteEdges,
    DeleteNodes,
    Embedding,
    InsertEdge,
    InsertNode,
    MutationPlan,
    Operation,
    UpdateNodes,
)
from omnigraph.plan.ir import Column, Plan, ReadPlan
from omnigraph.plan.lower_match import lower_match
from omnigraph.plan.lower_result import lower_result, ranked_by
from omnigraph.query import checked
from omnigraph.query.checked import (
    Assignment,
    CheckedMutation,
    CheckedQuery,
    CheckedRead,
    Statement,
)
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType


def lower_query(query: CheckedQuery, catalog: Catalog) -> Plan:
    """The plan of a query that was checked against this catalog."""
    match query:
        case CheckedRead():
            return _lower_read(query, catalog)
        case CheckedMutation():
            return MutationPlan(
                name=query.name,
                parameters=query.parameters,
                operations=tuple(_watched(query.statements, catalog)),
            )


def _lower_read(read: CheckedRead, catalog: Catalog) -> ReadPlan:
    ranked = ranked_by(read)
    rows = lower_match(read.clauses, read.variables, catalog, ranked)
    return ReadPlan(
        name=read.name,
        parameters=read.parameters,
        root=lower_result(read, rows, ranked),
        columns=tuple(Column(each.name, each.type) for each in read.projections),
    )


def _watched(statements: tuple[Statement, ...], catalog: Catalog) -> Iterator[Operation]:
    for each in statements:
        check_cancelled()
        yield _lower_statement(each, catalog)


def _lower_statement(statement: Statement, catalog: Catalog) -> Operation:
    match statement:
        case checked.InsertNode():
            return _lower_insert_node(statement, catalog.nodes[statement.type_name])
        case checked.InsertEdge():
            edge = catalog.edges[statement.type_name]
            return InsertEdge(
                edge.name,
                edge.source,
                edge.target,
                statement.source,
                statement.target,
                statement.assignments,
                _unset(edge, statement.assignments),
            )
        case checked.UpdateNodes():
            key = catalog.nodes[statement.type_name].key
            return UpdateNodes(statement.type_name, key, statement.assignments, statement.predicate)
        case checked.DeleteNodes():
            name = statement.type_name
            cascades = (
                Cascade(each.name, at_source=each.source == name, at_target=each.target == name)
                for each in catalog.edges_of(name)
            )
            return DeleteNodes(name, statement.predicate, tuple(cascades))
        case checked.DeleteEdges():
            return DeleteEdges(statement.type_name, statement.predicate)


def _lower_insert_node(insert: checked.InsertNode, node: NodeType) -> InsertNode:
    embeddings = []
    for name in insert.embedded:
        found = node.by_name[name]
        if found.embed is None or found.type.dimension is None:
            raise AssertionError(f"{node.name}.{name} is no vector that is made from a text")
        embeddings.append(Embedding(name, found.type.dimension, found.embed.source, found.embed.model))
    unset = tuple(each for each in _unset(node, insert.assignments) if each not in insert.embedded)
    return InsertNode(node.name, node.key, insert.assignments, unset, tuple(embeddings))


def _unset(owner: NodeType | EdgeType, assignments: tuple[Assignment, ...]) -> tuple[str, ...]:
    assigned = {each.property for each in assignments}
    return tuple(each.name for each in owner.properties if each.name not in assigned)
