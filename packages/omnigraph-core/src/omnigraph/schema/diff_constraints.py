"""Compares the constraints of a type that is kept.

Only ``@index`` can come and go: it is a wish and changes no result. Any other constraint would have to be held against
what is stored, or is what ids are made of. A constraint goes with a property that it names, ``@key`` excepted. One that
is written on a property is told there; an index that only moves between property and body is removed and added again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from omnigraph.schema.catalog import Index
from omnigraph.schema.ir_types import (
    CheckConstraint,
    ColumnsConstraint,
    ColumnsKind,
    ConstraintIR,
    FieldReference,
    InterfaceIR,
    PropertyIR,
    PropertyReference,
    RangeConstraint,
    TypeIR,
)
from omnigraph.schema.shape import bound_json, compact_json
from omnigraph.schema.steps import AddConstraint, RemoveConstraint, Step, UnsupportedChange

_Identity = tuple[str, ...]


def diff_property_constraints(
    old_type: TypeIR, new_type: TypeIR, old: PropertyIR | None, new: PropertyIR
) -> Iterator[Step]:
    """What changes among the marks on a property; ``old`` is None when it is new."""
    before, after = _written_on(old), _written_on(new)
    for kind in sorted(before ^ after):
        column = _property_identity(kind, new.property_id)
        was, is_still = column in _by_identity(old_type), column in _by_identity(new_type)
        if kind == "index":
            index = Index(columns=(new.name,))
            if was:
                yield RemoveConstraint(type_kind=new_type.kind, type_name=new_type.name, constraint=index)
            if is_still:
                yield AddConstraint(type_kind=new_type.kind, type_name=new_type.name, constraint=index)
            continue
        if was and is_still:
            places = ("the body", "the property") if kind in after else ("the property", "the body")
            reason = f"@{kind} cannot move from {places[0]} to {places[1]}"
        else:
            reason = _reason(f"@{kind}", is_added=kind in after)
        yield UnsupportedChange(entity=f"{new_type.kind}:{new_type.name}.{new.name}", reason=reason)


def diff_constraints(old_type: TypeIR, new_type: TypeIR) -> Iterator[Step]:
    """What changes among all constraints of a type, without what the steps of its properties have said already."""
    before, after = _by_identity(old_type), _by_identity(new_type)
    old_properties = {each.property_id: each for each in old_type.properties}
    new_properties = {each.property_id: each for each in new_type.properties}
    told = {
        _property_identity(kind, number)
        for number, new in new_properties.items()
        for kind in _written_on(old_properties.get(number)) ^ _written_on(new)
    }
    names = {number: each.name for number, each in (old_properties | new_properties).items()}
    for identity, constraint in before.items():
        if identity in after or identity in told:
            continue
        if constraint.kind != "key" and _numbers(constraint) - new_properties.keys():
            continue
        if isinstance(constraint, ColumnsConstraint) and constraint.kind == "index":
            yield RemoveConstraint(
                type_kind=new_type.kind, type_name=new_type.name, constraint=_index(constraint, names)
            )
        else:
            yield _unsupported(new_type, constraint, names, is_added=False)
    for identity, constraint in after.items():
        if identity in before or identity in told:
            continue
        if isinstance(constraint, ColumnsConstraint) and constraint.kind == "index":
            yield AddConstraint(type_kind=new_type.kind, type_name=new_type.name, constraint=_index(constraint, names))
        else:
            yield _unsupported(new_type, constraint, names, is_added=True)


def _written_on(prop: PropertyIR | None) -> set[str]:
    return set() if prop is None else set(prop.constraints)


def _by_identity(owner: TypeIR) -> dict[_Identity, ConstraintIR]:
    """The constraints of a type by what they are, whatever their columns are called."""
    return {_identity(each): each for each in _constraints_of(owner)}


def _constraints_of(owner: TypeIR) -> Iterator[ConstraintIR]:
    if not isinstance(owner, InterfaceIR):
        yield from owner.constraints
        return
    # An interface has no table; what is written on its properties is all there is.
    for prop in owner.properties:
        field = PropertyReference(
            owner_type_id=owner.type_id,
            owner_type_name=owner.name,
            property_id=prop.property_id,
            property_name=prop.name,
        )
        for kind in prop.constraints:
            yield ColumnsConstraint(kind=cast("ColumnsKind", kind), fields=(field,))


def _identity(constraint: ConstraintIR) -> _Identity:
    match constraint:
        case RangeConstraint():
            bounds = [bound_json(constraint.minimum), bound_json(constraint.maximum)]
            return (constraint.kind, _field_identity(constraint.field), compact_json(bounds))
        case CheckConstraint():
            return (constraint.kind, _field_identity(constraint.field), constraint.pattern)
        case ColumnsConstraint():
            return (constraint.kind, *sorted(_field_identity(each) for each in constraint.fields))


def _property_identity(kind: str, number: int) -> _Identity:
    return (kind, str(number))


def _field_identity(field: FieldReference) -> str:
    return str(field.property_id) if isinstance(field, PropertyReference) else field.role


def _numbers(constraint: ConstraintIR) -> set[int]:
    """The properties that a constraint names."""
    fields = constraint.fields if isinstance(constraint, ColumnsConstraint) else (constraint.field,)
    return {each.property_id for each in fields if isinstance(each, PropertyReference) and each.property_id is not None}


def _name(field: FieldReference, names: dict[int, str]) -> str:
    if isinstance(field, PropertyReference):
        return field.property_name if field.property_id is None else names[field.property_id]
    return field.role


def _index(constraint: ColumnsConstraint, names: dict[int, str]) -> Index:
    return Index(columns=tuple(sorted(_name(each, names) for each in constraint.fields)))


def _unsupported(
    owner: TypeIR, constraint: ConstraintIR, names: dict[int, str], *, is_added: bool
) -> UnsupportedChange:
    reason = _reason(_text(constraint, names), is_added=is_added)
    return UnsupportedChange(entity=f"{owner.kind}:{owner.name}", reason=reason)


def _reason(constraint: str, *, is_added: bool) -> str:
    if is_added:
        return f"{constraint} cannot be added, for what is stored was never held against it"
    return f"{constraint} cannot be removed; of the constraints only @index can"


def _text(constraint: ConstraintIR, names: dict[int, str]) -> str:
    """A constraint as it is written, by the new names of properties."""
    match constraint:
        case RangeConstraint():
            bounds = ("" if each is None else compact_json(each) for each in (constraint.minimum, constraint.maximum))
            return f"@range({_name(constraint.field, names)}, {'..'.join(bounds)})"
        case CheckConstraint():
            return f"@check({_name(constraint.field, names)}, {compact_json(constraint.pattern)})"
        case ColumnsConstraint():
            return f"@{constraint.kind}({', '.join(sorted(_name(each, names) for each in constraint.fields))})"
