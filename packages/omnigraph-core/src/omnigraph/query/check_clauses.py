"""The clauses of a match block, in the order of the text: bindings, traversals, filters, text clauses, negations.

Names that a clause introduces can be used behind it. What stands in a ``not`` sees the names around it, and keeps its
own to itself.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import did_you_mean, listed
from omnigraph.lang.source import Span
from omnigraph.lang.types import Scalar, ValueType, are_compatible
from omnigraph.query import ast
from omnigraph.query.ast import ANONYMOUS, Operator
from omnigraph.query.check_search import check_text_match, is_ranking
from omnigraph.query.check_traversals import check_traversal, edge_word
from omnigraph.query.checked import (
    Binding,
    Clause,
    Comparison,
    Given,
    Negation,
    PropertyMatch,
    PropertyRef,
    TextMatch,
)
from omnigraph.query.scope import UNKNOWN, Scope, find_property, refuse_property
from omnigraph.query.values import conversion_advice, fit_compared, read_given, shown_text
from omnigraph.schema.catalog import NodeType

_NO_OPERANDS: Final = (ast.Aggregate, ast.Identifier, ast.Nearest, ast.TextCall, ast.Rrf)


def check_clauses(scope: Scope, clauses: tuple[ast.Clause, ...]) -> tuple[Clause, ...]:
    """The clauses that were not refused."""
    checked: list[Clause] = []
    for clause in clauses:
        check_cancelled()
        found: Clause | None
        if isinstance(clause, ast.Filter):
            found = _check_filter(scope, clause)
        elif isinstance(clause, ast.Traversal):
            found = check_traversal(scope, clause)
        elif isinstance(clause, ast.Binding):
            found = _check_binding(scope, clause)
        elif isinstance(clause, ast.TextClause):
            found = check_text_match(scope, clause.call)
        else:
            found = _check_negation(scope, clause)
        if found is not None:
            checked.append(found)
    return tuple(checked)


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_binding(scope: Scope, binding: ast.Binding) -> Binding | None:
    name = binding.variable.text
    node = scope.catalog.nodes.get(binding.type_name.text)
    if node is None:
        _refuse_type(scope, binding)
        scope.bind_unknown(name)
        for match in binding.matches:
            read_given(scope, match.value)
        return None
    is_sound = _bind_node(scope, binding, node)
    matches: list[PropertyMatch] = []
    for match in binding.matches:
        check_cancelled()
        found = _check_match(scope, name, node, match)
        if found is not None:
            matches.append(found)
    return Binding(name, node.name, tuple(matches)) if is_sound else None


def _bind_node(scope: Scope, binding: ast.Binding, node: NodeType) -> bool:
    name = binding.variable.text
    if name == ANONYMOUS:
        scope.refuse(
            Code.NOT_BOUND,
            binding.variable.span,
            "$_ is not bound by anything: it stands for any node in a traversal",
            label="give it a name",
        )
        return False
    bound = scope.find(name)
    if bound is None:
        scope.bind(name, node.name)
        return True
    if bound is UNKNOWN:
        return True
    if bound.is_edge:
        scope.refuse(
            Code.T23,
            binding.variable.span,
            f"${name} is bound to the edge {bound.type_name} and cannot be a node too",
            label="an edge binding",
        )
        return False
    if bound.type_name != node.name:
        scope.refuse(
            Code.ALREADY_BOUND,
            binding.type_name.span,
            f"${name} is already bound to type {bound.type_name}",
            label=f"expected {bound.type_name}",
            help=f"Write this binding before the clause that made it {bound.type_name}, or use another variable.",
        )
        return False
    return True


def _refuse_type(scope: Scope, binding: ast.Binding) -> None:
    name, catalog = binding.type_name.text, scope.catalog
    if name in catalog.interfaces:
        nodes = [each.name for each in catalog.nodes.values() if name in each.implements]
        message, advice = (
            f"{name} is an interface, and only node types can be bound",
            f"It is implemented by: {listed(nodes)}",
        )
    elif name in catalog.edges:
        edge = catalog.edges[name]
        message = f"{name} is an edge, and only node types can be bound"
        advice = f"Write a traversal: $a {edge_word(name)} $b (from {edge.source} to {edge.target})."
    else:
        message, advice = f'there is no node type "{name}"', f"Node types: {listed(catalog.nodes)}"
    scope.refuse(Code.T1, binding.type_name.span, message, label=did_you_mean(name, catalog.nodes), help=advice)


def _check_match(scope: Scope, variable: str, node: NodeType, match: ast.PropertyMatch) -> PropertyMatch | None:
    found = node.by_name.get(match.property.text)
    if found is None:
        refuse_property(scope, Code.T2, node, match.property)
        read_given(scope, match.value)
        return None
    wanted = found.type
    subject = f"{node.name}.{found.name}"
    if wanted.scalar is Scalar.BLOB:
        scope.refuse(
            Code.T3, match.property.span, f"{subject} is a Blob and cannot be matched", label="a Blob is never compared"
        )
        return None
    if wanted.scalar is Scalar.VECTOR:
        code = Code.T7 if isinstance(match.value, ast.Variable | ast.Now) else Code.T3
        scope.refuse(
            code,
            match.property.span,
            f"{subject} is a Vector and cannot be matched",
            label="vectors are ranked, not compared",
            help=f"Order by nearest(${variable}.{found.name}, ..) and set a limit.",
        )
        return None
    if wanted.is_list:
        if isinstance(match.value, ast.ListLiteral):
            scope.refuse(
                Code.T3,
                match.value.span,
                f"{subject} is matched by one item, not by a list",
                label="expected one item",
                help="Write one match per item: each holds when the list contains that item.",
            )
            return None
        wanted = wanted.item
        subject = f"an item of {subject}"
    value = fit_compared(scope, match.value, wanted, subject)
    return None if value is None else PropertyMatch(PropertyRef(variable, found.name, found.type), value)


# ── negations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_negation(scope: Scope, negation: ast.Negation) -> Negation | None:
    was_anchored = scope.is_anchored
    refused_before = scope.outermost.refusal_count
    inner = scope.inside()
    clauses = check_clauses(inner, negation.clauses)
    # What a block inside mentions is no mention by a clause of this block itself.
    scope.is_anchored = was_anchored
    if scope.outermost.refusal_count != refused_before:
        return None
    if not inner.is_anchored:
        names = scope.visible_names()
        scope.refuse(
            Code.T9,
            Span(negation.span.start, negation.span.start + len("not")),
            "this negation mentions no variable from outside",
            label="it would hold for all rows or for none",
            help=f"Use one of {listed(names)} in it." if names else "Write it behind what binds the variable.",
        )
        return None
    return Negation(clauses, inner.variables, tuple(sorted(inner.mentioned)))


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_filter(scope: Scope, clause: ast.Filter) -> Comparison | TextMatch | None:
    left_expression, right_expression = clause.left, clause.right
    if isinstance(left_expression, ast.TextCall) and not is_ranking(left_expression):
        return _check_text_filter(scope, left_expression, clause.operator, right_expression, clause.span)
    if isinstance(right_expression, ast.TextCall) and not is_ranking(right_expression):
        return _check_text_filter(scope, right_expression, clause.operator, left_expression, clause.span)
    left = _read_operand(scope, left_expression)
    right = _read_operand(scope, right_expression)
    if left is None or right is None:
        return None
    mismatch = _find_mismatch(left.type, clause.operator, right.type)
    if mismatch is not None:
        _refuse_comparison(scope, clause, left, right, *mismatch)
        return None
    return Comparison(left, clause.operator, right)


def _check_text_filter(
    scope: Scope, call: ast.TextCall, operator: Operator, other: ast.Expression, span: Span
) -> TextMatch | None:
    """``search(..) = true`` says the same as the call by itself."""
    match = check_text_match(scope, call)
    if isinstance(other, ast.BoolLiteral):
        if (operator is Operator.EQ and other.value) or (operator is Operator.NE and not other.value):
            return match
        if operator in (Operator.EQ, Operator.NE):
            scope.refuse(
                Code.T7,
                span,
                f"{call.function} is a condition, and there is no comparison for its opposite",
                label="expected the call by itself",
                help=f"Write not {{ {call.function}(..) }}.",
            )
            return None
    scope.refuse(
        Code.T7,
        span,
        f"{call.function} is a condition and cannot be compared",
        label="expected the call by itself",
        help=f"Write {call.function}(..) as a clause of its own.",
    )
    return None


def _read_operand(scope: Scope, expression: ast.Expression) -> Given | PropertyRef | None:
    """One side of a comparison; None when it was refused."""
    if isinstance(expression, ast.PropertyAccess):
        return find_property(scope, expression.variable, expression.property)
    if not isinstance(expression, _NO_OPERANDS):
        given = read_given(scope, expression)
        if given is not None and given.type.scalar is Scalar.BLOB:
            scope.refuse(Code.T24, expression.span, "a Blob cannot be compared", label="of type Blob")
            return None
        return given
    if isinstance(expression, ast.Aggregate):
        message, label = f"{expression.function} is computed behind the match block", "an aggregate"
        advice = "Return it, and filter the result."
    elif isinstance(expression, ast.Identifier):
        word = expression.name
        message, label = f'"{word}" is no value here', "a word by itself names a result column"
        if word in scope.parameters or f"${word}" in scope.visible_names():
            label = f'did you mean "${word}"?'
        owners = [f"${each.name}" for each in scope.variables.values() if each is not UNKNOWN]
        advice = f'Write "{word}" for the text' + (f", {owners[0]}.{word} for a property." if owners else ".")
    else:
        message, label = "a ranking cannot be compared", "rows are ordered by it"
        advice = "Write it in order { .. }, and a limit."
    scope.refuse(Code.T7, expression.span, message, label=label, help=advice)
    return None


class _Side(Enum):
    """Which side of a comparison is wrong."""

    LEFT = "left"
    RIGHT = "right"
    EITHER = "either"


def _find_mismatch(left: ValueType, operator: Operator, right: ValueType) -> tuple[_Side, str] | None:
    """Which side is wrong and why, None when the two can be compared."""
    if operator is Operator.CONTAINS:
        if left.is_list:
            if right.is_list or not are_compatible(left.item, right):
                return _Side.RIGHT, f"the left side is a list, which contains {left.item}"
            return None
        if not left.is_plain_string:
            return _Side.LEFT, "contains needs a list or a String on its left"
        return None if right.is_plain_string else (_Side.RIGHT, "contains looks for a String in a String")
    if operator is Operator.STARTS_WITH:
        if left.is_plain_string and right.is_plain_string:
            return None
        return _Side.RIGHT if left.is_plain_string else _Side.LEFT, "starts_with compares a String with a String"
    for side, each in ((_Side.LEFT, left), (_Side.RIGHT, right)):
        if each.is_list:
            return side, f"a list cannot be compared with {operator}; contains looks for an item"
        if each.scalar is Scalar.VECTOR:
            return side, "a Vector cannot be compared; order by nearest(..) ranks vectors"
    return None if are_compatible(left, right) else (_Side.EITHER, "their types differ")


def _refuse_comparison(
    scope: Scope, clause: ast.Filter, left: Given | PropertyRef, right: Given | PropertyRef, side: _Side, problem: str
) -> None:
    """Say what is wrong. Where either side could be, it is the one that is no property: that is easier to change."""
    advice = None
    if side is _Side.EITHER:
        if not isinstance(right, PropertyRef):
            side, advice = _Side.RIGHT, conversion_advice(right, left.type)
        elif not isinstance(left, PropertyRef):
            side, advice = _Side.LEFT, conversion_advice(left, right.type)
    span, label = clause.span, f"{left.type} {clause.operator} {right.type}"
    if side is not _Side.EITHER:
        wrong, expression = (left, clause.left) if side is _Side.LEFT else (right, clause.right)
        span, label = expression.span, f"this is {wrong.type}"
    scope.refuse(
        Code.T7,
        span,
        f"{_described(scope, left, clause.left)} cannot be compared with"
        f" {_described(scope, right, clause.right)}: {problem}",
        label=label,
        help=advice,
    )


def _described(scope: Scope, side: Given | PropertyRef, expression: ast.Expression) -> str:
    return f"{shown_text(scope, expression.span)} ({side.type})"
