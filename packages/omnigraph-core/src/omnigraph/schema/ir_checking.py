"""Holds the numbers of a stored schema against each other.

A ``SchemaIR`` whose form is right comes in; nothing goes out, or an error with the path. Each number is given out once
and its counter is below the next one; every reference names a thing that is there, by the name that it has, where it
may stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from omnigraph.schema.ir_types import (
    KINDS,
    ColumnsConstraint,
    EdgeIR,
    FieldReference,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    PropertyReference,
    SchemaIR,
    TypeIR,
    TypeKind,
    TypeReference,
)
from omnigraph.schema.numbers import counter_of
from omnigraph.schema.strict_json import Place

_SYSTEM_COLUMNS: Final[Mapping[TypeKind, tuple[str, ...]]] = {
    "interface": ("id",),
    "node": ("id",),
    "edge": ("id", "src", "dst"),
}
"""Columns that a table has beside those of its properties."""


def check_identities(schema: SchemaIR, document: str) -> None:
    """Refuse numbers that contradict each other.

    Raises:
        InvalidInputError: with the path of the first contradiction.
    """
    _check_numbers(schema, document)
    _References(schema, document).check()


def _check_numbers(schema: SchemaIR, document: str) -> None:
    """Every type and property has a number that nothing else has, made from a counter that was reached.

    Two numbers may share a counter: branches count on from the same one, and a merge brings theirs together. The
    incarnation of a table tells tables of one type apart, and may be any number.
    """
    holders: dict[int, str] = {}
    for path, number in _numbers(schema):
        place = Place(document, number, path)
        if not 1 <= counter_of(number) < schema.next_identity_id:
            place.fail(f"a number of a counter from 1 and below next_identity_id, which is {schema.next_identity_id}")
        if number in holders:
            place.fail(f"a number that nothing else has; {holders[number]} has it")
        holders[number] = path


def _numbers(schema: SchemaIR) -> Iterator[tuple[str, int]]:
    for path, each in _types(schema):
        yield f"{path}.type_id", each.type_id
        for number, prop in enumerate(each.properties):
            yield f"{path}.properties[{number}].property_id", prop.property_id


def _types(schema: SchemaIR) -> Iterator[tuple[str, TypeIR]]:
    for kind in KINDS:
        for number, each in enumerate(schema.types_of(kind)):
            yield f"$.{kind}s[{number}]", each


class _References:
    """Looks at every reference of a schema."""

    def __init__(self, schema: SchemaIR, document: str) -> None:
        self.schema = schema
        self.document = document
        self.interfaces = {(each.type_id, each.name) for each in schema.interfaces}
        self.nodes = {(each.type_id, each.name) for each in schema.nodes}
        self.properties = {
            kind: {
                (each.type_id, each.name, prop.property_id, prop.name)
                for each in schema.types_of(kind)
                for prop in each.properties
            }
            for kind in KINDS
        }

    def check(self) -> None:
        for path, each in _types(self.schema):
            if isinstance(each, NodeIR):
                for number, reference in enumerate(each.implements):
                    self._type(f"{path}.implements[{number}]", reference, self.interfaces, "an interface")
            if isinstance(each, EdgeIR):
                self._type(f"{path}.from_type", each.source, self.nodes, "a node type")
                self._type(f"{path}.to_type", each.target, self.nodes, "a node type")
            for number, prop in enumerate(each.properties):
                self._property(f"{path}.properties[{number}]", prop, each)
            if not isinstance(each, InterfaceIR):
                self._constraints(path, each)

    def _type(self, path: str, reference: TypeReference, choices: Collection[tuple[int, str]], kind: str) -> None:
        if (reference.type_id, reference.type_name) not in choices:
            self._fail(path, reference, f"the number and name of {kind} of this schema")

    def _property(self, path: str, prop: PropertyIR, owner: TypeIR) -> None:
        if prop.name in _SYSTEM_COLUMNS[owner.kind]:
            Place(self.document, prop.name, f"{path}.name").fail("another name, for the table has this column anyway")
        for number, reference in enumerate(prop.satisfies):
            if _numbered(reference) not in self.properties["interface"]:
                place = f"{path}.satisfies_interface_properties[{number}]"
                self._fail(place, reference, "the numbers and names of an interface property of this schema")
        if prop.embed is None or self._is_of(prop.embed.source, owner):
            return
        source = prop.embed.source
        is_supplied_by_nodes = (
            isinstance(owner, InterfaceIR)
            and source.property_id is None
            and (source.owner_type_id, source.owner_type_name) == (owner.type_id, owner.name)
            and all(each.name != source.property_name for each in owner.properties)
        )
        if not is_supplied_by_nodes:
            self._fail(f"{path}.embed_source", source, f"the numbers and names of a property of {owner.name}")

    def _constraints(self, path: str, owner: NodeIR | EdgeIR) -> None:
        keys = 0
        for number, constraint in enumerate(owner.constraints):
            place = f"{path}.constraints[{number}]"
            if isinstance(constraint, ColumnsConstraint):
                for position, field in enumerate(constraint.fields):
                    self._field(f"{place}.fields[{position}]", field, owner)
            else:
                self._field(f"{place}.field", constraint.field, owner)
            keys += constraint.kind == "key"
            if constraint.kind == "key" and (keys > 1 or isinstance(owner, EdgeIR)):
                expected = "another kind, for a node has at most one key, and an edge none"
                Place(self.document, constraint.kind, f"{place}.kind").fail(expected)

    def _field(self, path: str, field: FieldReference, owner: NodeIR | EdgeIR) -> None:
        if isinstance(field, PropertyReference):
            if not self._is_of(field, owner):
                self._fail(path, field, f"the numbers and names of a property of {owner.name}")
        elif not isinstance(owner, EdgeIR) or field.role == "id":
            self._fail(path, field, "a property, or src or dst of an edge")
        elif (field.stable_table_id, field.table_type_name, field.table_incarnation_id) != (
            *(owner.type_id, owner.name),
            owner.table_incarnation_id,
        ):
            self._fail(path, field, f"the numbers and the name of {owner.name}")

    def _is_of(self, reference: PropertyReference, owner: TypeIR) -> bool:
        """Whether the reference names a property of this owner, by the right numbers and names."""
        is_owner = (reference.owner_type_id, reference.owner_type_name) == (owner.type_id, owner.name)
        return is_owner and _numbered(reference) in self.properties[owner.kind]

    def _fail(self, path: str, reference: TypeReference | FieldReference, expected: str) -> None:
        Place(self.document, reference.to_dict(), path).fail(expected)


def _numbered(reference: PropertyReference) -> tuple[int, str, int | None, str]:
    return reference.owner_type_id, reference.owner_type_name, reference.property_id, reference.property_name
