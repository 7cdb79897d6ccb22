"""The canonical shape of a schema: what it says, without identities, as JSON that equal schemas share byte for byte.

A catalog comes in, plain JSON values and their hash go out. Comments, the order of declarations and of enum values, and
rename hints leave no trace in the shape. The field order is part of the contract: the hash is over the text. Where
``@key``, ``@unique`` and ``@index`` are written does matter, so moving ``@key`` from a property to the body changes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, TypeVar

from omnigraph.schema.ast import LiteralValue
from omnigraph.schema.catalog import (
    Annotation,
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

Json = dict[str, Any]

_Named = TypeVar("_Named", InterfaceType, NodeType, EdgeType, Property)


def compact_json(value: Any) -> str:
    """JSON without blanks, text unescaped; floats by their shortest digits that read back as the same number."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def hash_of(value: Any) -> str:
    """``sha256:`` and the hex digest of the compact JSON."""
    return f"sha256:{hashlib.sha256(compact_json(value).encode()).hexdigest()}"


def shape_hash(catalog: Catalog) -> str:
    """The hash that says whether two schemas are the same."""
    return hash_of(shape_of(catalog))


def shape_of(catalog: Catalog) -> Json:
    """The shape of all interfaces, nodes and edges."""
    return {
        "interfaces": [_interface(each) for each in by_name(catalog.interfaces.values())],
        "nodes": [_node(each) for each in by_name(catalog.nodes.values())],
        "edges": [_edge(each) for each in by_name(catalog.edges.values())],
    }


def by_name(things: Iterable[_Named]) -> list[_Named]:
    """In ascending order of name."""
    return sorted(things, key=lambda each: each.name)


def canonical_annotations(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Sorted by their JSON text, each once. ``1``, ``1.0`` and ``True`` differ in JSON, though not for Python."""
    by_text = {compact_json(annotation_json(each)): each for each in annotations}
    return [by_text[text] for text in sorted(by_text)]


def canonical_constraints(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Sorted by kind, columns and arguments, each once."""
    by_text = {_constraint_text(each): each for each in constraints}
    return [by_text[text] for text in sorted(by_text)]


def annotation_json(annotation: Annotation) -> Json:
    """Name and value; ``kwargs`` only when there are some."""
    facts: Json = {"name": annotation.name, "value": annotation.value}
    if annotation.kwargs:
        facts["kwargs"] = dict(sorted(annotation.kwargs, key=itemgetter(0)))
    return facts


def bound_json(bound: float | None) -> dict[str, LiteralValue] | None:
    """A bound of a range, tagged so that ``1`` and ``1.0`` stay apart."""
    if bound is None:
        return None
    return {"Integer": bound} if isinstance(bound, int) else {"Float": bound}


def constraint_json(constraint: Constraint) -> Json:
    """A constraint tagged by its kind."""
    match constraint:
        case Range():
            bounds = {"min": bound_json(constraint.minimum), "max": bound_json(constraint.maximum)}
            return {"Range": {"property": constraint.property, **bounds}}
        case Check():
            return {"Check": {"property": constraint.property, "pattern": constraint.pattern}}
        case Key() | Unique() | Index():
            return {type(constraint).__name__: sorted(set(constraint.columns))}


def _interface(interface: InterfaceType) -> Json:
    return {"name": interface.name, "properties": _properties(interface)}


def _node(node: NodeType) -> Json:
    return {
        "name": node.name,
        "annotations": _annotations(node.annotations),
        "implements": sorted(set(node.implements)),
        "properties": _properties(node),
        "constraints": [constraint_json(each) for each in canonical_constraints(node.constraints)],
    }


def _edge(edge: EdgeType) -> Json:
    return {
        "name": edge.name,
        "from_type": edge.source,
        "to_type": edge.target,
        "cardinality": {"min": edge.cardinality.minimum, "max": edge.cardinality.maximum},
        "annotations": _annotations(edge.annotations),
        "properties": _properties(edge),
        "constraints": [constraint_json(each) for each in canonical_constraints(edge.constraints)],
    }


def _properties(owner: InterfaceType | NodeType | EdgeType) -> list[Json]:
    return [_property(each) for each in by_name(owner.properties)]


def _property(prop: Property) -> Json:
    return {
        "name": prop.name,
        "prop_type": prop.type.to_dict(),
        "annotations": _annotations(prop.annotations),
        "property_constraints": sorted(set(prop.constraints)),
        "embed_source": _embed(prop.embed),
        "declared_directly": prop.is_direct,
        "satisfies_interface_properties": [
            {"owner_name": owner, "property_name": name} for owner, name in sorted(set(prop.satisfies))
        ],
    }


def _annotations(annotations: Iterable[Annotation]) -> list[Json]:
    return [annotation_json(each) for each in canonical_annotations(annotations)]


def _embed(embed: Embed | None) -> Json | None:
    return None if embed is None else {"property_name": embed.source, "model": embed.model}


def _constraint_text(constraint: Constraint) -> str:
    """What constraints are sorted by; constraints with the same text are the same."""
    match constraint:
        case Range():
            bounds = (compact_json(each) for each in (constraint.minimum, constraint.maximum))
            return f"range:{constraint.property}:{'..'.join(bounds)}"
        case Check():
            return f"check:{constraint.property}:{constraint.pattern}"
        case Key() | Unique() | Index():
            return f"{type(constraint).__name__.lower()}:{','.join(sorted(set(constraint.columns)))}"
