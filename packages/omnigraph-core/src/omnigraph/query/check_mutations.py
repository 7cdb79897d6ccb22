"""The statements of a mutation: inserts and updates, or deletes, each against one node or edge type.

A name that both a node type and an edge type have means the node type. The ends of an edge are its pseudo-properties
``from`` and ``to``, which hold the ids of nodes.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, closest, did_you_mean, listed
from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import Scalar
from omnigraph.query import ast
from omnigraph.query.checked import (
    ID,
    Assignment,
    DeleteEdges,
    DeleteNodes,
    Given,
    InsertEdge,
    InsertNode,
    Predicate,
    Statement,
    UpdateNodes,
)
from omnigraph.query.scope import Scope, refuse_property
from omnigraph.query.values import fit_compared, fit_stored, read_given
from omnigraph.schema.catalog import EdgeType, NodeType

_ENDS: Final = {"from": "src", "to": "dst"}
_OTHER_ENDS: Final = {"src": "from", "dst": "to", "source": "from", "target": "to"}
"""What the ends of an edge are called elsewhere, also in the columns of the system."""


def check_statements(scope: Scope, statements: tuple[ast.Statement, ...]) -> tuple[Statement, ...]:
    """The statements that were not refused."""
    _check_unmixed(scope, statements)
    checked: list[Statement] = []
    for statement in statements:
        check_cancelled()
        owner = _find_type(scope, statement.type_name)
        if owner is None:
            _check_alone(scope, statement)
            continue
        found: Statement | None
        if isinstance(statement, ast.Insert):
            found = _check_insert(scope, statement, owner)
        elif isinstance(statement, ast.Update):
            found = _check_update(scope, statement, owner)
        else:
            predicate = _check_predicate(scope, owner, statement.predicate)
            if predicate is None:
                continue
            delete = DeleteEdges if isinstance(owner, EdgeType) else DeleteNodes
            found = delete(owner.name, predicate)
        if found is not None:
            checked.append(found)
    return tuple(checked)


def _check_unmixed(scope: Scope, statements: tuple[ast.Statement, ...]) -> None:
    """A delete sees what an insert before it wrote only after the commit, so they are not put into one."""
    for statement in statements:
        first = statements[0]
        if isinstance(statement, ast.Delete) is not isinstance(first, ast.Delete):
            scope.refuse(
                Code.MIXED_MUTATION,
                Span(statement.span.start, statement.type_name.span.end),
                "one query cannot hold inserts/updates and deletes: split into separate mutations",
                label="of the other kind",
                help="Several mutations become visible at once when they are made on a branch that is merged.",
                related=(Related(span=Span(first.span.start, first.type_name.span.end), label="the first statement"),),
            )
            return


def _find_type(scope: Scope, name: Name) -> NodeType | EdgeType | None:
    catalog = scope.catalog
    owner = catalog.nodes.get(name.text) or catalog.edges.get(name.text)
    if owner is None:
        choices = [*catalog.nodes, *catalog.edges]
        what = "an interface, and holds nothing itself" if name.text in catalog.interfaces else None
        scope.refuse(
            Code.T10,
            name.span,
            f'there is no node or edge type "{name}"' if what is None else f"{name} is {what}",
            label=did_you_mean(name.text, choices),
            help=f"There are: {listed(choices)}",
        )
    return owner


def _check_alone(scope: Scope, statement: ast.Statement) -> None:
    """What can be said of the values when their type is not known."""
    if not isinstance(statement, ast.Delete):
        for assignment in statement.assignments:
            read_given(scope, assignment.value, unbound=Code.T14)
    if not isinstance(statement, ast.Insert):
        read_given(scope, statement.predicate.value, unbound=Code.T14)


# ── inserts and updates ──────────────────────────────────────────────────────────────────────────────────────────────


def _check_insert(scope: Scope, insert: ast.Insert, owner: NodeType | EdgeType) -> InsertNode | InsertEdge | None:
    assigned = _check_assignments(scope, owner, insert.assignments, insert.type_name, is_insert=True)
    if assigned is None:
        return None
    written = {each.property.text for each in insert.assignments}
    required = [each for each in owner.properties if not each.type.is_nullable and each.name not in written]
    embedded = [each.name for each in required if each.embed is not None and each.embed.source in written]
    missing = [each.name for each in required if each.name not in embedded]
    if isinstance(owner, EdgeType):
        missing = [each for each in _ENDS if each not in written] + missing
    explained = {_meant(owner, name) for name in written}
    missing = [each for each in missing if each not in explained]
    if missing:
        types = [f"{each.name}: {each.type}" for each in required if each.name in missing]
        ends = [f"{end}: the id of a {node}" for end, node in _end_types(owner) if end in missing]
        scope.refuse(
            Code.T12,
            insert.type_name.span,
            f"{owner.name} needs a value for {listed(missing)}",
            label=f"{len(missing)} missing",
            help=f"Add {'; '.join([*ends, *types][:6])}",
        )
        return None
    properties = tuple([found for found in assigned.values() if isinstance(found, Assignment)])
    if len(assigned) != len(written):
        return None
    if isinstance(owner, NodeType):
        return InsertNode(owner.name, properties, tuple(embedded))
    source, target = assigned["from"], assigned["to"]
    if isinstance(source, Assignment) or isinstance(target, Assignment):
        return None
    return InsertEdge(owner.name, source, target, properties)


def _meant(owner: NodeType | EdgeType, name: str) -> str | None:
    """The property or end that a name which is none of them was probably meant to be."""
    if name in owner.by_name or name == "id":
        return None
    if isinstance(owner, NodeType):
        return closest(name, owner.by_name)
    return None if name in _ENDS else _OTHER_ENDS.get(name) or closest(name, [*_ENDS, *owner.by_name])


def _end_types(owner: NodeType | EdgeType) -> tuple[tuple[str, str], ...]:
    return (("from", owner.source), ("to", owner.target)) if isinstance(owner, EdgeType) else ()


def _check_update(scope: Scope, update: ast.Update, owner: NodeType | EdgeType) -> UpdateNodes | None:
    if isinstance(owner, EdgeType):
        scope.refuse(
            Code.T16,
            update.type_name.span,
            f"{owner.name} is an edge, and edges cannot be updated",
            label="an edge type",
            help="Delete the edge and, in another query, insert it again.",
        )
        _check_alone(scope, update)
        return None
    assigned = _check_assignments(scope, owner, update.assignments, update.type_name, is_insert=False)
    predicate = _check_predicate(scope, owner, update.predicate)
    if assigned is None or predicate is None:
        return None
    properties = tuple([found for found in assigned.values() if isinstance(found, Assignment)])
    return UpdateNodes(owner.name, properties, predicate)


def _check_assignments(
    scope: Scope,
    owner: NodeType | EdgeType,
    assignments: tuple[ast.Assignment, ...],
    type_name: Name,
    *,
    is_insert: bool,
) -> dict[str, Assignment | Given] | None:
    """What is assigned, by name: values for the ends of an edge, assignments for properties.

    A name whose value was refused is not in it. None when there is nothing to assign.
    """
    if not assignments:
        scope.refuse(
            Code.T10, type_name.span, f"nothing is assigned to {owner.name}", label="expected property: value behind it"
        )
        return None
    key = owner.key if isinstance(owner, NodeType) and not is_insert else ()
    places: dict[str, Span] = {}
    is_end_told = False
    assigned: dict[str, Assignment | Given] = {}
    for assignment in assignments:
        name = assignment.property.text
        first = places.setdefault(name, assignment.property.span)
        is_repeated = first is not assignment.property.span
        if is_repeated:
            scope.refuse(
                Code.T13,
                assignment.property.span,
                f'"{name}" is assigned twice',
                label="the second",
                related=(Related(span=first, label="the first"),),
            )
        if isinstance(owner, EdgeType) and name in _ENDS:
            end = fit_stored(scope, assignment.value, ID, f"{owner.name}.{name}")
            if end is not None:
                assigned[name] = end
            continue
        found = owner.by_name.get(name)
        if found is None:
            # Whoever calls one end by another name does so with both; it is one mistake.
            is_other_end = isinstance(owner, EdgeType) and name in _OTHER_ENDS
            if not is_repeated and not (is_other_end and is_end_told):
                _refuse_name(scope, owner, assignment.property)
            is_end_told = is_end_told or is_other_end
            read_given(scope, assignment.value, unbound=Code.T14)
            continue
        if name in key and not is_repeated:
            scope.refuse(
                Code.KEY_ASSIGNED,
                assignment.property.span,
                f"{owner.name}.{name} is a @key property and cannot be updated",
                label="the id is made of it",
                help="Insert a node with the new key, and delete this one by another query.",
            )
        value = fit_stored(scope, assignment.value, found.type, f"{owner.name}.{name}")
        if value is not None:
            assigned[name] = Assignment(name, found.type, value)
    return assigned


def _refuse_name(scope: Scope, owner: NodeType | EdgeType, name: Name) -> None:
    """Say that there is no such property; the columns that the system keeps are no properties."""
    if isinstance(owner, EdgeType) and name.text in _OTHER_ENDS:
        scope.refuse(
            Code.T11,
            name.span,
            f'{owner.name} has no property "{name}"',
            label=f"write {_OTHER_ENDS[name.text]}",
            help='The ends of an edge are called "from" and "to"; they hold the ids of nodes.',
        )
        return
    if name.text == "id":
        advice = "Ids are made by the system."
        if isinstance(owner, NodeType) and owner.key:
            advice = f"The id of {owner.name} is made of its key: {', '.join(owner.key)}."
    elif isinstance(owner, EdgeType):
        names = [*_ENDS, *owner.by_name]
        advice = f"{owner.name} has: {', '.join(names)}"
        scope.refuse(
            Code.T11,
            name.span,
            f'{owner.name} has no property "{name}"',
            label=did_you_mean(name.text, names),
            help=advice,
        )
        return
    else:
        refuse_property(scope, Code.T11, owner, name)
        return
    scope.refuse(Code.T11, name.span, f'{owner.name} has no property "{name}"', label="not a property", help=advice)


# ── predicates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_predicate(scope: Scope, owner: NodeType | EdgeType, predicate: ast.Predicate) -> Predicate | None:
    name = predicate.property.text
    if isinstance(owner, EdgeType) and name in _ENDS:
        column, wanted = _ENDS[name], ID
    else:
        found = owner.by_name.get(name)
        if found is None:
            _refuse_name(scope, owner, predicate.property)
            read_given(scope, predicate.value, unbound=Code.T14)
            return None
        column, wanted = name, found.type
    subject = f"{owner.name}.{name}"
    if wanted.scalar is Scalar.BLOB:
        scope.refuse(
            Code.T11,
            predicate.property.span,
            f"{subject} is a Blob and cannot be compared",
            label="a Blob can only be assigned",
        )
        return None
    if wanted.is_list or wanted.scalar is Scalar.VECTOR:
        scope.refuse(
            Code.T7,
            predicate.property.span,
            f"{subject} is {wanted} and cannot be compared",
            label="expected a property with one value",
        )
        return None
    value = fit_compared(scope, predicate.value, wanted, subject, unbound=Code.T14)
    return None if value is None else Predicate(column, wanted, predicate.operator, value)
