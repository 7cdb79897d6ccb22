"""Gives every type, property and table its number, or finds the number that it had before.

A catalog comes in, with the schema that was accepted before unless the graph is new; a ``SchemaIR`` goes out. What
``renames`` finds to be there already keeps its number; the rest is new. Numbers of types (interfaces, nodes, edges; by
name), then of properties (by owner number and name) are made from one counter that only grows and from what they are
for, as ``numbers`` says. So dropping a name and adding it again makes a new thing, and numbers ascend in the order in
which they were given out. The incarnation of a table is random: no two graphs or branches make the same one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from omnigraph.errors import InvalidInputError
from omnigraph.lang.diagnostics import Report
from omnigraph.schema.catalog import (
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Index,
    InterfaceType,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.schema.ir_types import (
    DOMAIN_FORM,
    KINDS,
    CheckConstraint,
    ColumnsConstraint,
    ColumnsKind,
    ConstraintIR,
    EdgeIR,
    EmbedIR,
    FieldReference,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    PropertyReference,
    RangeConstraint,
    Role,
    SchemaIR,
    SystemField,
    TypeKind,
    TypeReference,
)
from omnigraph.schema.numbers import NO_OWNER, Counter, Incarnations, number_of, random_incarnation
from omnigraph.schema.renames import Matches, OwnerName, match_schema, owners_of
from omnigraph.schema.shape import by_name, canonical_annotations, canonical_constraints

_ROLES: Final[tuple[Role, ...]] = ("dst", "src")
"""The columns of an edge that a constraint may name although they are no properties, by name."""


def assign_identities(catalog: Catalog, domain: str, *, incarnations: Incarnations = random_incarnation) -> SchemaIR:
    """The first identities of a new graph; rename hints have no effect.

    Raises:
        InvalidInputError: the domain is no ULID in its canonical form.
        ResourceLimitError: ``schema_numbers``, there are more types and properties than numbers.
    """
    if not DOMAIN_FORM.fullmatch(domain):
        raise InvalidInputError(
            f'The schema identity domain must be a ULID of 26 upper-case characters, not "{domain}".',
            details={"domain": domain},
        )
    return _build(catalog, domain, _allocate(catalog, Matches(), Counter(1), incarnations))


def resolve_identities(
    catalog: Catalog, accepted: SchemaIR, report: Report, *, incarnations: Incarnations = random_incarnation
) -> SchemaIR:
    """The identities of a schema that follows an accepted one.

    Rename hints that cannot be followed become errors in the report, needless ones become warnings. What the hint of
    an error stands on counts as new, so the result is for planning only when the report has no errors.

    Raises:
        ResourceLimitError: ``schema_numbers``, the graph has used up its numbers.
    """
    matches = match_schema(catalog, accepted, report)
    numbers = _allocate(catalog, matches, Counter(accepted.next_identity_id), incarnations)
    return _build(catalog, accepted.domain, numbers)


@dataclass(slots=True)
class _Numbers:
    """The number of everything in a catalog.

    Attributes:
        tables: the incarnation of a node's or edge's table.
        properties: by owner and property name.
        next: what the counter has reached.
    """

    types: dict[OwnerName, int] = field(default_factory=dict)
    properties: dict[tuple[OwnerName, str], int] = field(default_factory=dict)
    tables: dict[OwnerName, int] = field(default_factory=dict)
    next: int = 1


def _allocate(catalog: Catalog, matches: Matches, counter: Counter, incarnations: Incarnations) -> _Numbers:
    numbers = _Numbers()
    owners = owners_of(catalog)
    for owner in sorted(owners, key=lambda each: (KINDS.index(each[0]), each[1])):
        kind, name = owner
        kept = matches.types.get(owner)
        numbers.types[owner] = (
            number_of(counter.take(), owner=NO_OWNER, kind=kind, name=name) if kept is None else kept.type_id
        )
    by_number = sorted(owners, key=numbers.types.__getitem__)
    for owner in by_number:
        for prop in by_name(owners[owner].properties):
            kept_property = matches.properties.get((owner, prop.name))
            numbers.properties[owner, prop.name] = (
                number_of(counter.take(), owner=numbers.types[owner], kind="property", name=prop.name)
                if kept_property is None
                else kept_property.property_id
            )
    for owner in by_number:
        if owner[0] != "interface":
            kept = matches.types.get(owner)
            numbers.tables[owner] = kept.table_incarnation_id if isinstance(kept, NodeIR | EdgeIR) else incarnations()
    numbers.next = counter.next
    return numbers


def _build(catalog: Catalog, domain: str, numbers: _Numbers) -> SchemaIR:
    builder = _Builder(numbers)
    return SchemaIR(
        domain=domain,
        next_identity_id=numbers.next,
        interfaces=tuple(builder.interface(each) for each in by_name(catalog.interfaces.values())),
        nodes=tuple(builder.node(each) for each in by_name(catalog.nodes.values())),
        edges=tuple(builder.edge(each) for each in by_name(catalog.edges.values())),
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    """Puts the numbers into what the catalog says."""

    numbers: _Numbers

    def interface(self, interface: InterfaceType) -> InterfaceIR:
        owner: OwnerName = ("interface", interface.name)
        return InterfaceIR(
            name=interface.name,
            type_id=self.numbers.types[owner],
            properties=self._properties(owner, interface.properties),
        )

    def node(self, node: NodeType) -> NodeIR:
        owner: OwnerName = ("node", node.name)
        implements = (self._type("interface", name) for name in set(node.implements))
        return NodeIR(
            name=node.name,
            type_id=self.numbers.types[owner],
            table_incarnation_id=self.numbers.tables[owner],
            annotations=tuple(canonical_annotations(node.annotations)),
            implements=tuple(sorted(implements, key=lambda each: each.type_id)),
            properties=self._properties(owner, node.properties),
            constraints=self._constraints(owner, node.constraints),
        )

    def edge(self, edge: EdgeType) -> EdgeIR:
        owner: OwnerName = ("edge", edge.name)
        return EdgeIR(
            name=edge.name,
            type_id=self.numbers.types[owner],
            table_incarnation_id=self.numbers.tables[owner],
            source=self._type("node", edge.source),
            target=self._type("node", edge.target),
            cardinality=edge.cardinality,
            annotations=tuple(canonical_annotations(edge.annotations)),
            properties=self._properties(owner, edge.properties),
            constraints=self._constraints(owner, edge.constraints),
        )

    def _type(self, kind: TypeKind, name: str) -> TypeReference:
        return TypeReference(type_id=self.numbers.types[kind, name], type_name=name)

    def _property(self, owner: OwnerName, name: str) -> PropertyReference:
        return PropertyReference(
            owner_type_id=self.numbers.types[owner],
            owner_type_name=owner[1],
            property_id=self.numbers.properties.get((owner, name)),
            property_name=name,
        )

    def _properties(self, owner: OwnerName, properties: Iterable[Property]) -> tuple[PropertyIR, ...]:
        return tuple(self._identified(owner, each) for each in by_name(properties))

    def _identified(self, owner: OwnerName, prop: Property) -> PropertyIR:
        satisfies = (self._property(("interface", interface), name) for interface, name in set(prop.satisfies))
        embed = prop.embed
        return PropertyIR(
            name=prop.name,
            property_id=self.numbers.properties[owner, prop.name],
            type=prop.type,
            annotations=tuple(canonical_annotations(prop.annotations)),
            constraints=tuple(sorted(set(prop.constraints))),
            embed=None if embed is None else EmbedIR(source=self._property(owner, embed.source), model=embed.model),
            is_direct=prop.is_direct,
            satisfies=tuple(sorted(satisfies, key=lambda each: (each.owner_type_id, each.property_id or 0))),
        )

    def _constraints(self, owner: OwnerName, constraints: Iterable[Constraint]) -> tuple[ConstraintIR, ...]:
        return tuple(self._constraint(owner, each) for each in canonical_constraints(constraints))

    def _constraint(self, owner: OwnerName, constraint: Constraint) -> ConstraintIR:
        match constraint:
            case Range():
                return RangeConstraint(
                    field=self._property(owner, constraint.property),
                    minimum=constraint.minimum,
                    maximum=constraint.maximum,
                )
            case Check():
                return CheckConstraint(field=self._property(owner, constraint.property), pattern=constraint.pattern)
            case Key():
                return self._columns(owner, "key", constraint.columns)
            case Unique():
                return self._columns(owner, "unique", constraint.columns)
            case Index():
                return self._columns(owner, "index", constraint.columns)

    def _columns(self, owner: OwnerName, kind: ColumnsKind, columns: tuple[str, ...]) -> ColumnsConstraint:
        roles = [role for role in _ROLES if role in columns] if owner[0] == "edge" else []
        properties = (self._property(owner, each) for each in {*columns}.difference(roles))
        fields: list[FieldReference] = [
            *sorted(properties, key=lambda each: each.property_id or 0),
            *(self._system(owner, role) for role in roles),
        ]
        return ColumnsConstraint(kind=kind, fields=tuple(fields))

    def _system(self, owner: OwnerName, role: Role) -> SystemField:
        return SystemField(
            stable_table_id=self.numbers.types[owner],
            table_type_name=owner[1],
            table_incarnation_id=self.numbers.tables[owner],
            role=role,
        )
