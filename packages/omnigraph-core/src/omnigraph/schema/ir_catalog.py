"""From a stored schema to the catalog that queries, loads and migrations read, without its text.

A ``SchemaIR`` comes in, which was checked when it was read; a ``Catalog`` goes out that is equal to the one from which
``identity`` made it. What is left out is what only the compiler needs: rename hints, and places in the text. So a graph
opens also when the language has become stricter since its schema was accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from omnigraph.lang.source import Span
from omnigraph.schema.catalog import (
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Embed,
    Index,
    InterfaceType,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.schema.ir_types import (
    CheckConstraint,
    ColumnsConstraint,
    ConstraintIR,
    EdgeIR,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    PropertyReference,
    RangeConstraint,
    SchemaIR,
)

_NOWHERE: Final = Span(0, 0)
"""The place of everything: there is no text that a message could quote."""


def catalog_from_ir(schema: SchemaIR) -> Catalog:
    """The catalog of a schema that a graph accepted."""
    return Catalog(
        interfaces=MappingProxyType({each.name: _interface(each) for each in schema.interfaces}),
        nodes=MappingProxyType({each.name: _node(each) for each in schema.nodes}),
        edges=MappingProxyType({each.name: _edge(each) for each in schema.edges}),
    )


def _interface(interface: InterfaceIR) -> InterfaceType:
    return InterfaceType(name=interface.name, properties=_properties(interface.properties), span=_NOWHERE)


def _node(node: NodeIR) -> NodeType:
    return NodeType(
        name=node.name,
        properties=_properties(node.properties),
        annotations=node.annotations,
        implements=tuple(sorted(each.type_name for each in node.implements)),
        constraints=tuple(_constraint(each) for each in node.constraints),
        span=_NOWHERE,
    )


def _edge(edge: EdgeIR) -> EdgeType:
    return EdgeType(
        name=edge.name,
        source=edge.source.type_name,
        target=edge.target.type_name,
        properties=_properties(edge.properties),
        cardinality=edge.cardinality,
        annotations=edge.annotations,
        constraints=tuple(_constraint(each) for each in edge.constraints),
        span=_NOWHERE,
    )


def _properties(properties: Iterable[PropertyIR]) -> tuple[Property, ...]:
    return tuple(_property(each) for each in properties)


def _property(prop: PropertyIR) -> Property:
    embed = prop.embed
    return Property(
        name=prop.name,
        type=prop.type,
        annotations=prop.annotations,
        constraints=prop.constraints,
        embed=None if embed is None else Embed(source=embed.source.property_name, model=embed.model),
        is_direct=prop.is_direct,
        satisfies=tuple(sorted((each.owner_type_name, each.property_name) for each in prop.satisfies)),
        span=_NOWHERE,
    )


def _constraint(constraint: ConstraintIR) -> Constraint:
    match constraint:
        case RangeConstraint():
            return Range(
                property=constraint.field.property_name, minimum=constraint.minimum, maximum=constraint.maximum
            )
        case CheckConstraint():
            return Check(property=constraint.field.property_name, pattern=constraint.pattern)
        case ColumnsConstraint(kind="key"):
            return Key(columns=_columns(constraint))
        case ColumnsConstraint(kind="unique"):
            return Unique(columns=_columns(constraint))
        case ColumnsConstraint():
            return Index(columns=_columns(constraint))


def _columns(constraint: ColumnsConstraint) -> tuple[str, ...]:
    """The names in ascending order, as a catalog has them; the order of their numbers is that of ``NodeIR.key``."""
    names = (each.property_name if isinstance(each, PropertyReference) else each.role for each in constraint.fields)
    return tuple(sorted(names))
