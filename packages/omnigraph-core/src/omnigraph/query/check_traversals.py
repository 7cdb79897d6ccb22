"""Traversals: which edge is meant, in which direction, and what its ends are.

An edge goes from its source type to its target type. When these differ, the types of the ends settle the direction and
the order of writing does not matter; when they are the same, the left side is where edges start.
"""

from __future__ import annotations

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import did_you_mean, listed
from omnigraph.lang.source import Name
from omnigraph.query import ast
from omnigraph.query.ast import ANONYMOUS
from omnigraph.query.checked import BoundVariable, Direction, Traversal
from omnigraph.query.scope import UNKNOWN, Scope
from omnigraph.schema.catalog import EdgeType


def check_traversal(scope: Scope, traversal: ast.Traversal) -> Traversal | None:
    """A traversal with its direction settled and its names bound; None when it was refused."""
    _check_hops(scope, traversal.hops)
    edge = scope.catalog.find_edge(traversal.edge.text)
    if edge is None:
        _refuse_edge(scope, traversal)
    elif traversal.is_undirected and edge.source != edge.target:
        scope.refuse(
            Code.T22,
            traversal.edge.span,
            f"<{traversal.edge}> needs an edge between nodes of one type, but {_route(edge)}",
            label="cannot be undirected",
            help=f"Write {traversal.edge} without < >; its direction follows from the types.",
        )
    edge_variable = _check_edge_variable(scope, traversal)

    left, right = traversal.left, traversal.right
    left_node, right_node = _find_end(scope, left), _find_end(scope, right)
    if edge is None:
        for name in (left.text, right.text, edge_variable or ANONYMOUS):
            scope.bind_unknown(name)
        return None
    is_forward = _settle_direction(scope, edge, left, left_node, right, right_node)
    if edge_variable is not None:
        scope.bind(edge_variable, edge.name, is_edge=True)
    if is_forward is None:
        return None
    hops = traversal.hops
    return Traversal(
        left.text,
        right.text,
        edge.name,
        edge.source if is_forward else edge.target,
        edge.target if is_forward else edge.source,
        Direction.UNDIRECTED if traversal.is_undirected else Direction.FORWARD if is_forward else Direction.BACKWARD,
        edge_variable,
        1 if hops is None else hops.minimum,
        1 if hops is None else hops.maximum or 1,
        hops is not None,
    )


def _check_hops(scope: Scope, hops: ast.Hops | None) -> None:
    if hops is None:
        return
    low, high = hops.minimum, hops.maximum
    if high is None:
        scope.refuse(
            Code.T15,
            hops.span,
            "hop bounds need a maximum",
            label="open above",
            help=f"Write {{{max(low, 1)},{max(low, 1) + 4}}} or any other maximum.",
        )
    elif low < 1:
        scope.refuse(
            Code.T15,
            hops.span,
            "hop bounds start at 1",
            label="0 hops lead nowhere",
            help=f"Write {{1,{max(high, 1)}}}.",
        )
    elif high < low:
        scope.refuse(
            Code.T15,
            hops.span,
            f"the hop maximum {high} is below the minimum {low}",
            label="holds no number of hops",
            help=f"Write {{{high},{low}}}." if high else None,
        )


def _check_edge_variable(scope: Scope, traversal: ast.Traversal) -> str | None:
    """The variable to bind to the edge; None when there is none or it was refused."""
    variable = traversal.edge_variable
    if variable is None or variable.text == ANONYMOUS:
        return None
    name = variable.text
    if name == traversal.left.text or name == traversal.right.text:
        scope.refuse(
            Code.T23,
            variable.span,
            f"${name} cannot be both the edge and an end of it",
            label="give the edge a name of its own",
        )
        return None
    if scope.find(name) is not None:
        scope.refuse(
            Code.T23,
            variable.span,
            f"${name} is bound already and cannot be bound to an edge",
            label="give the edge a name of its own",
        )
        return None
    if traversal.hops is not None:
        scope.refuse(
            Code.T23,
            variable.span,
            f"${name} cannot be bound to an edge with hop bounds",
            label="which of the edges would it be?",
            help=f"Leave out ${name}: or the bounds.",
        )
        scope.bind_unknown(name)
        return None
    return name


def _find_end(scope: Scope, name: Name) -> BoundVariable | None:
    """What an end is bound to; ``UNKNOWN`` when nothing can be said, None when it is free."""
    variable = scope.find(name.text)
    if variable is not None and variable.is_edge:
        scope.refuse(
            Code.T23,
            name.span,
            f"${name} is bound to the edge {variable.type_name} and cannot be an end of another",
            label="an edge binding",
        )
        return UNKNOWN
    return variable


def _settle_direction(
    scope: Scope,
    edge: EdgeType,
    left: Name,
    left_node: BoundVariable | None,
    right: Name,
    right_node: BoundVariable | None,
) -> bool | None:
    """Whether the left side is the source of the edge; None when the ends do not fit or are not known.

    Ends that are free are bound.
    """
    source, target = edge.source, edge.target
    left_type = left_node.type_name if left_node is not None and left_node is not UNKNOWN else None
    right_type = right_node.type_name if right_node is not None and right_node is not UNKNOWN else None
    is_forward = True
    is_known = True
    if left_type is not None:
        if left_type != source:
            is_forward = False
            if left_type != target:
                _refuse_end(scope, edge, left, left_type)
                is_known = False
    elif right_type is not None:
        if right_type != target:
            is_forward = False
            if right_type != source:
                _refuse_end(scope, edge, right, right_type)
                is_known = False
    elif left_node is UNKNOWN or right_node is UNKNOWN:
        is_known = source == target
    if not is_known:
        if left_type is not None and right_type is not None and right_type not in (source, target):
            _refuse_end(scope, edge, right, right_type)
        scope.bind_unknown(left.text)
        scope.bind_unknown(right.text)
        return None
    left_wanted, right_wanted = (source, target) if is_forward else (target, source)
    if left_node is None and left.text != ANONYMOUS:
        scope.bind(left.text, left_wanted)
        if left.text == right.text:
            right_node, right_type = scope.variables[left.text], left_wanted
    if right_node is None and right.text != ANONYMOUS:
        scope.bind(right.text, right_wanted)
    elif right_type is not None and right_type != right_wanted:
        _refuse_end(scope, edge, right, right_type)
        return None
    return is_forward


def _refuse_end(scope: Scope, edge: EdgeType, end: Name, found: str) -> None:
    joins = {edge.source, edge.target}
    scope.refuse(
        Code.T5,
        end.span,
        f"${end} is {found}, which {'cannot stand here' if found in joins else 'this edge does not connect'}",
        label=_route(edge),
        help=_edges_advice(scope, found),
    )


def _route(edge: EdgeType) -> str:
    return f"{edge.name} goes from {edge.source} to {edge.target}"


def _edges_advice(scope: Scope, node: str) -> str:
    names = [edge_word(each.name) for each in scope.catalog.edges_of(node)]
    return f"Edges of {node}: {listed(names)}" if names else f"{node} has no edges."


def _refuse_edge(scope: Scope, traversal: ast.Traversal) -> None:
    names = [edge_word(name) for name in scope.catalog.edges]
    scope.refuse(
        Code.T4,
        traversal.edge.span,
        f'there is no edge "{traversal.edge}"',
        label=did_you_mean(traversal.edge.text, names),
        help=f"Edges: {listed(names)}" if names else "The schema has no edges.",
    )


def edge_word(name: str) -> str:
    """An edge name as traversals spell it."""
    return name[:1].lower() + name[1:]
