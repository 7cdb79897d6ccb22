"""The schema with identities: what a graph accepted, so that a later schema can be compared with it.

``identity`` makes these from a catalog, ``diff`` compares two of them, ``ir`` turns them into text and back. Every
type, property and table has a number that it keeps through renames and that nothing else ever gets again; a reference
says the number of a thing and its present name. ``to_dict`` has the field order of the stored form, which hashes cover.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from omnigraph.lang.types import ValueType
from omnigraph.schema.catalog import Annotation, Cardinality
from omnigraph.schema.shape import annotation_json, bound_json

IR_VERSION: Final = 2

DOMAIN_FORM: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
"""A ULID in its canonical form: 26 upper-case Crockford digits that fit 128 bits."""

TypeKind = Literal["interface", "node", "edge"]
KINDS: Final[tuple[TypeKind, ...]] = ("interface", "node", "edge")
"""In the order in which numbers are given out and changes are told."""

ColumnsKind = Literal["key", "unique", "index"]
Role = Literal["id", "src", "dst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeReference:
    """A type, by number and name."""

    type_id: int
    type_name: str

    def to_dict(self) -> dict[str, Any]:
        return {"type_id": self.type_id, "type_name": self.type_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyReference:
    """A property, by numbers and names.

    Attributes:
        property_id: None only for the ``@embed`` source of an interface property that each implementing node supplies.
    """

    owner_type_id: int
    owner_type_name: str
    property_id: int | None
    property_name: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "owner_type_id": self.owner_type_id,
            "owner_type_name": self.owner_type_name,
            "property_id": self.property_id,
            "property_name": self.property_name,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemField:
    """A column that no property declares: ``id``, ``src`` or ``dst`` of a table."""

    stable_table_id: int
    table_type_name: str
    table_incarnation_id: int
    role: Role

    def to_dict(self) -> dict[str, Any]:
        return {
            "stable_table_id": self.stable_table_id,
            "table_type_name": self.table_type_name,
            "table_incarnation_id": self.table_incarnation_id,
            "role": self.role,
        }


FieldReference = PropertyReference | SystemField


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsConstraint:
    """``@key``, ``@unique`` or ``@index``.

    Attributes:
        fields: properties in ascending order of number, then system fields by role. The members of a composite key
            stand in this order in ids, which is why renames do not change it.
    """

    kind: ColumnsKind
    fields: tuple[FieldReference, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "fields": [_field_json(each) for each in self.fields]}


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeConstraint:
    """``@range``: inclusive bounds, None is open."""

    kind: ClassVar[Literal["range"]] = "range"
    field: PropertyReference
    minimum: int | float | None
    maximum: int | float | None

    def to_dict(self) -> dict[str, Any]:
        bounds = {"min": bound_json(self.minimum), "max": bound_json(self.maximum)}
        return {"kind": self.kind, "field": _field_json(self.field), **bounds}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConstraint:
    """``@check``: a pattern that the property must contain a match of."""

    kind: ClassVar[Literal["check"]] = "check"
    field: PropertyReference
    pattern: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "field": _field_json(self.field), "pattern": self.pattern}


ConstraintIR = ColumnsConstraint | RangeConstraint | CheckConstraint


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedIR:
    """``@embed``: the source property and the model."""

    source: PropertyReference
    model: str | None

    def to_dict(self) -> dict[str, Any]:
        return {**self.source.to_dict(), "model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyIR:
    """A property with its number; otherwise as in the catalog."""

    name: str
    property_id: int
    type: ValueType
    annotations: tuple[Annotation, ...]
    constraints: tuple[str, ...]
    embed: EmbedIR | None
    is_direct: bool
    satisfies: tuple[PropertyReference, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "property_id": self.property_id,
            "prop_type": self.type.to_dict(),
            "annotations": [annotation_json(each) for each in self.annotations],
            "property_constraints": list(self.constraints),
            "embed_source": None if self.embed is None else self.embed.to_dict(),
            "declared_directly": self.is_direct,
            "satisfies_interface_properties": [each.to_dict() for each in self.satisfies],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceIR:
    """An interface with its number."""

    kind: ClassVar[TypeKind] = "interface"
    name: str
    type_id: int
    properties: tuple[PropertyIR, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type_id": self.type_id,
            "properties": [each.to_dict() for each in self.properties],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIR:
    """A node type with its number and that of its table.

    Attributes:
        implements: in ascending order of number.
    """

    kind: ClassVar[TypeKind] = "node"
    name: str
    type_id: int
    table_incarnation_id: int
    annotations: tuple[Annotation, ...]
    implements: tuple[TypeReference, ...]
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the key properties in the order in which they make an id; empty for a keyless node."""
        for each in self.constraints:
            if isinstance(each, ColumnsConstraint) and each.kind == "key":
                return tuple(field.property_name for field in each.fields if isinstance(field, PropertyReference))
        return ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type_id": self.type_id,
            "table_incarnation_id": self.table_incarnation_id,
            "annotations": [annotation_json(each) for each in self.annotations],
            "implements": [each.to_dict() for each in self.implements],
            "properties": [each.to_dict() for each in self.properties],
            "constraints": [each.to_dict() for each in self.constraints],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeIR:
    """An edge type with its number and that of its table."""

    kind: ClassVar[TypeKind] = "edge"
    name: str
    type_id: int
    table_incarnation_id: int
    source: TypeReference
    target: TypeReference
    cardinality: Cardinality
    annotations: tuple[Annotation, ...]
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type_id": self.type_id,
            "table_incarnation_id": self.table_incarnation_id,
            "from_type": self.source.to_dict(),
            "to_type": self.target.to_dict(),
            "cardinality": {"min": self.cardinality.minimum, "max": self.cardinality.maximum},
            "annotations": [annotation_json(each) for each in self.annotations],
            "properties": [each.to_dict() for each in self.properties],
            "constraints": [each.to_dict() for each in self.constraints],
        }


TypeIR = InterfaceIR | NodeIR | EdgeIR


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaIR:
    """A whole schema with identities; types in ascending order of name.

    Attributes:
        domain: the ULID within which the numbers mean something; chosen when the graph is made.
        next_identity_id: the counter from which the next new type or property gets its number; see ``numbers``.
    """

    domain: str
    next_identity_id: int
    interfaces: tuple[InterfaceIR, ...]
    nodes: tuple[NodeIR, ...]
    edges: tuple[EdgeIR, ...]

    def types_of(self, kind: TypeKind) -> tuple[TypeIR, ...]:
        """All types of a kind, by name."""
        match kind:
            case "interface":
                return self.interfaces
            case "node":
                return self.nodes
            case "edge":
                return self.edges

    def to_dict(self) -> dict[str, Any]:
        return {
            "ir_version": IR_VERSION,
            "schema_identity_domain": self.domain,
            "next_identity_id": self.next_identity_id,
            "interfaces": [each.to_dict() for each in self.interfaces],
            "nodes": [each.to_dict() for each in self.nodes],
            "edges": [each.to_dict() for each in self.edges],
        }


def _field_json(field: FieldReference) -> dict[str, Any]:
    return {"kind": "property" if isinstance(field, PropertyReference) else "system", **field.to_dict()}
