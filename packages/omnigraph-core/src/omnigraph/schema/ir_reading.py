"""Reads the stored form of a schema with identities, and trusts nothing in it.

JSON comes in, a ``SchemaIR`` goes out. The form is read first: the known fields, each of its type, and no others; then
``ir_checking`` holds numbers and references against each other. Rules of the language are not applied again: a schema
that a graph accepted stays readable when the language becomes stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast

from omnigraph.lang.types import MAX_VECTOR_DIMENSION, SCALAR_NAMES, Scalar, ValueType
from omnigraph.schema.ast import LiteralValue
from omnigraph.schema.catalog import Annotation, Cardinality
from omnigraph.schema.ir_checking import check_identities
from omnigraph.schema.ir_types import (
    DOMAIN_FORM,
    IR_VERSION,
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
    TypeReference,
)
from omnigraph.schema.numbers import MAX_COUNTER, MAX_NUMBER
from omnigraph.schema.strict_json import Place, read_json

DOCUMENT: Final = "schema IR"
"""What messages call the form."""

_T = TypeVar("_T")
_COLUMNS_KINDS = ("key", "unique", "index")
_OWNER_FIELDS = ("name", "type_id", "properties")
_TABLE_FIELDS = (*_OWNER_FIELDS, "table_incarnation_id", "annotations", "constraints")
_PROPERTY_REFERENCE_FIELDS = ("owner_type_id", "owner_type_name", "property_id", "property_name")


def read_schema_ir(text: str) -> SchemaIR:
    """The schema that a JSON text holds.

    Raises:
        InvalidInputError: the text is no JSON, or not this form; the message has the path and what was expected there.
    """
    return read_ir_at(read_json(DOCUMENT, text))


def read_ir_at(root: Place) -> SchemaIR:
    """The same from JSON that was read already. Raises as ``read_schema_ir``."""
    # The version comes before the fields: another version may well have others.
    root.field("ir_version").exactly(IR_VERSION)
    fields = root.fields("ir_version", "schema_identity_domain", "next_identity_id", "interfaces", "nodes", "edges")
    schema = SchemaIR(
        domain=read_domain(fields["schema_identity_domain"]),
        next_identity_id=fields["next_identity_id"].whole(1, MAX_COUNTER + 1),
        interfaces=_named(fields["interfaces"], _interface),
        nodes=_named(fields["nodes"], _node),
        edges=_named(fields["edges"], _edge),
    )
    check_identities(schema, root.document)
    return schema


def read_domain(place: Place) -> str:
    """A ULID in its canonical form."""
    text = place.text()
    if not DOMAIN_FORM.fullmatch(text):
        place.fail("a ULID of 26 upper-case characters")
    return text


def _named(place: Place, read: Callable[[Place], _T]) -> tuple[_T, ...]:
    """Things with names, which are in ascending order and occur once."""
    things, previous = [], ""
    for item in place.items():
        thing = read(item)
        name: str = item.value["name"]
        if name <= previous:
            Place(place.document, name, f"{item.path}.name").fail(f'a name after "{previous}", in ascending order')
        things.append(thing)
        previous = name
    return tuple(things)


def _interface(place: Place) -> InterfaceIR:
    fields = place.fields(*_OWNER_FIELDS)
    return InterfaceIR(
        name=fields["name"].text(),
        type_id=fields["type_id"].whole(1, MAX_NUMBER),
        properties=_named(fields["properties"], _property),
    )


def _node(place: Place) -> NodeIR:
    fields = place.fields(*_TABLE_FIELDS, "implements")
    return NodeIR(
        name=fields["name"].text(),
        type_id=fields["type_id"].whole(1, MAX_NUMBER),
        table_incarnation_id=fields["table_incarnation_id"].whole(1, MAX_NUMBER),
        annotations=_annotations(fields["annotations"]),
        implements=tuple(_type_reference(each) for each in fields["implements"].items()),
        properties=_named(fields["properties"], _property),
        constraints=tuple(_constraint(each) for each in fields["constraints"].items()),
    )


def _edge(place: Place) -> EdgeIR:
    fields = place.fields(*_TABLE_FIELDS, "from_type", "to_type", "cardinality")
    return EdgeIR(
        name=fields["name"].text(),
        type_id=fields["type_id"].whole(1, MAX_NUMBER),
        table_incarnation_id=fields["table_incarnation_id"].whole(1, MAX_NUMBER),
        source=_type_reference(fields["from_type"]),
        target=_type_reference(fields["to_type"]),
        cardinality=_cardinality(fields["cardinality"]),
        annotations=_annotations(fields["annotations"]),
        properties=_named(fields["properties"], _property),
        constraints=tuple(_constraint(each) for each in fields["constraints"].items()),
    )


def _cardinality(place: Place) -> Cardinality:
    fields = place.fields("min", "max")
    minimum = fields["min"].whole(0)
    return Cardinality(minimum=minimum, maximum=None if fields["max"].is_null else fields["max"].whole(minimum))


def _property(place: Place) -> PropertyIR:
    fields = place.fields(
        *("name", "property_id", "prop_type", "annotations", "property_constraints", "embed_source"),
        *("declared_directly", "satisfies_interface_properties"),
    )
    embed = fields["embed_source"]
    return PropertyIR(
        name=fields["name"].text(),
        property_id=fields["property_id"].whole(1, MAX_NUMBER),
        type=_value_type(fields["prop_type"]),
        annotations=_annotations(fields["annotations"]),
        constraints=tuple(each.word(_COLUMNS_KINDS) for each in fields["property_constraints"].items()),
        embed=None if embed.is_null else _embed(embed),
        is_direct=fields["declared_directly"].flag(),
        satisfies=tuple(_satisfied(each) for each in fields["satisfies_interface_properties"].items()),
    )


def _value_type(place: Place) -> ValueType:
    fields = place.fields("scalar", "nullable", "list", "enum_values")
    fields["nullable"].flag()
    is_list = fields["list"].flag()
    scalar = _scalar(fields["scalar"])
    if is_list and scalar in (Scalar.BLOB, Scalar.VECTOR):
        fields["list"].fail(f"false, for there are no lists of {scalar}")
    values = fields["enum_values"]
    if not values.is_null:
        if scalar is not Scalar.STRING or is_list:
            values.fail("null, for only a String can be an enum")
        words = [each.text() for each in values.items()]
        if not words or words != sorted(set(words)):
            values.fail("at least one value, in ascending order and each once")
    return ValueType.from_dict(place.value)


def _scalar(place: Place) -> Scalar:
    if isinstance(place.value, dict):
        dimension = place.fields("Vector")["Vector"]
        if dimension.whole(1) > MAX_VECTOR_DIMENSION:
            dimension.fail(f"{MAX_VECTOR_DIMENSION} or below")
        return Scalar.VECTOR
    return SCALAR_NAMES[place.word(SCALAR_NAMES)]


def _annotations(place: Place) -> tuple[Annotation, ...]:
    annotations = []
    for item in place.items():
        fields = item.fields("name", "value", optional=["kwargs"])
        kwargs: tuple[tuple[str, LiteralValue], ...] = ()
        if "kwargs" in fields:
            given = fields["kwargs"]
            if not isinstance(given.value, dict) or not given.value:
                given.fail("an object that is not empty, or no such field")
            kwargs = tuple((name, _literal(each)) for name, each in given.fields(*given.value).items())
        value = None if fields["value"].is_null else _literal(fields["value"])
        annotations.append(Annotation(name=fields["name"].text(), value=value, kwargs=kwargs))
    return tuple(annotations)


def _literal(place: Place) -> LiteralValue:
    if not isinstance(place.value, str | int | float):
        place.fail("a text, a number, true or false")
    return place.value


def _constraint(place: Place) -> ConstraintIR:
    kind = place.field("kind").word((*_COLUMNS_KINDS, "range", "check"))
    match kind:
        case "range":
            fields = place.fields("kind", "field", "min", "max")
            minimum, maximum = _bound(fields["min"]), _bound(fields["max"])
            return RangeConstraint(field=_property_field(fields["field"]), minimum=minimum, maximum=maximum)
        case "check":
            fields = place.fields("kind", "field", "pattern")
            pattern = fields["pattern"].optional_text()
            if pattern is None:
                fields["pattern"].fail("a text")
            return CheckConstraint(field=_property_field(fields["field"]), pattern=pattern)
    fields = place.fields("kind", "fields")
    columns = tuple(_field(each) for each in fields["fields"].items())
    if not columns:
        fields["fields"].fail("at least one field")
    return ColumnsConstraint(kind=cast("ColumnsKind", kind), fields=columns)


def _bound(place: Place) -> int | float | None:
    match place.value:
        case None:
            number = None
        case {"Integer": int(number), **others} if "Float" not in others and not isinstance(number, bool):
            pass
        case {"Float": float(number), **others} if "Integer" not in others:
            pass
        case _:
            place.fail('{"Integer": whole number}, {"Float": number with a point} or null')
    return number


def _field(place: Place) -> FieldReference:
    if place.field("kind").word(("property", "system")) == "system":
        fields = place.fields("kind", "stable_table_id", "table_type_name", "table_incarnation_id", "role")
        return SystemField(
            stable_table_id=fields["stable_table_id"].whole(1, MAX_NUMBER),
            table_type_name=fields["table_type_name"].text(),
            table_incarnation_id=fields["table_incarnation_id"].whole(1, MAX_NUMBER),
            role=cast("Role", fields["role"].word(("id", "src", "dst"))),
        )
    return _property_field(place)


def _property_field(place: Place) -> PropertyReference:
    place.field("kind").word(("property",))
    fields = place.fields("kind", *_PROPERTY_REFERENCE_FIELDS)
    return _reference(fields, fields["property_id"].whole(1, MAX_NUMBER))


def _satisfied(place: Place) -> PropertyReference:
    fields = place.fields(*_PROPERTY_REFERENCE_FIELDS)
    return _reference(fields, fields["property_id"].whole(1, MAX_NUMBER))


def _embed(place: Place) -> EmbedIR:
    fields = place.fields(*_PROPERTY_REFERENCE_FIELDS, "model")
    number = None if fields["property_id"].is_null else fields["property_id"].whole(1, MAX_NUMBER)
    return EmbedIR(source=_reference(fields, number), model=fields["model"].optional_text())


def _reference(fields: Mapping[str, Place], property_id: int | None) -> PropertyReference:
    return PropertyReference(
        owner_type_id=fields["owner_type_id"].whole(1, MAX_NUMBER),
        owner_type_name=fields["owner_type_name"].text(),
        property_id=property_id,
        property_name=fields["property_name"].text(),
    )


def _type_reference(place: Place) -> TypeReference:
    fields = place.fields("type_id", "type_name")
    return TypeReference(type_id=fields["type_id"].whole(1, MAX_NUMBER), type_name=fields["type_name"].text())
