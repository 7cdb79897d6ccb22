"""Compares the properties of a type that is kept: what is new, renamed, changed or gone.

Values that are stored stay as they are, so a new property must be nullable and a type can change in one way only: an
enum may allow more values. Steps come by the new name of the property, dropped ones at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.lang.codes import Code
from omnigraph.lang.types import ValueType
from omnigraph.schema.diff_annotations import diff_property_annotations
from omnigraph.schema.diff_constraints import diff_property_constraints
from omnigraph.schema.ir_types import EmbedIR, PropertyIR, TypeIR
from omnigraph.schema.shape import compact_json
from omnigraph.schema.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    ExtendEnum,
    RenameProperty,
    Step,
    UnsupportedChange,
)


def diff_properties(old_type: TypeIR, new_type: TypeIR, mode: DropMode) -> Iterator[Step]:
    """All steps for the properties of one type."""
    before = {each.property_id: each for each in old_type.properties}
    for new in new_type.properties:
        old = before.pop(new.property_id, None)
        if old is None:
            yield _add(new_type, new)
        elif old.name != new.name:
            yield RenameProperty(type_kind=new_type.kind, type_name=new_type.name, old=old.name, new=new.name)
        if old is not None:
            yield from _diff_type(new_type, old, new)
            yield from _diff_embed(new_type, old, new)
        yield from diff_property_constraints(old_type, new_type, old, new)
        if old is not None:
            yield from _diff_provenance(new_type, old, new)
            yield from diff_property_annotations(new_type, old, new)
    for gone in before.values():
        yield DropProperty(type_kind=new_type.kind, type_name=new_type.name, property_name=gone.name, mode=mode)


def _add(owner: TypeIR, new: PropertyIR) -> Step:
    if not new.type.is_nullable:
        return _unsupported(
            owner,
            new,
            f'a new property must be nullable, for what is stored has no value for it; write "{new.name}: {new.type}?"',
            Code.REQUIRED_PROPERTY_ADDED,
        )
    return AddProperty(type_kind=owner.kind, type_name=owner.name, property_name=new.name, property_type=new.type)


def _diff_type(owner: TypeIR, old: PropertyIR, new: PropertyIR) -> Iterator[Step]:
    if old.type == new.type:
        return
    added = _added_values(old.type, new.type)
    if added:
        yield ExtendEnum(type_kind=owner.kind, type_name=owner.name, property_name=new.name, added_values=added)
        return
    yield _unsupported(
        owner,
        new,
        f"the type of a property cannot change, here from {old.type} to {new.type}; "
        "an enum may get more values, anything else needs a new property",
        Code.PROPERTY_TYPE_CHANGED,
    )


def _added_values(old: ValueType, new: ValueType) -> tuple[str, ...]:
    """What an enum allows in addition; empty when this is no mere extension."""
    if old.enum_values is None or new.enum_values is None:
        return ()
    if (old.is_nullable, old.is_list) != (new.is_nullable, new.is_list):
        return ()
    if not set(old.enum_values) < set(new.enum_values):
        return ()
    return tuple(sorted(set(new.enum_values) - set(old.enum_values)))


def _diff_embed(owner: TypeIR, old: PropertyIR, new: PropertyIR) -> Iterator[Step]:
    if _embed_identity(old.embed) != _embed_identity(new.embed):
        change = f"{_embed_text(old.embed)} to {_embed_text(new.embed)}"
        yield _unsupported(owner, new, f"@embed cannot change, here from {change}: stored vectors would not fit it")


def _embed_identity(embed: EmbedIR | None) -> tuple[int | str, str | None] | None:
    return None if embed is None else (embed.source.property_id or embed.source.property_name, embed.model)


def _embed_text(embed: EmbedIR | None) -> str:
    if embed is None:
        return "none"
    model = "" if embed.model is None else f", model={compact_json(embed.model)}"
    return f"@embed({compact_json(embed.source.property_name)}{model})"


def _diff_provenance(owner: TypeIR, old: PropertyIR, new: PropertyIR) -> Iterator[Step]:
    if old.is_direct != new.is_direct:
        now = f"{owner.name} itself" if new.is_direct else "an interface"
        reason = f"a property cannot move between an interface and the type itself; it would now come from {now}"
        yield _unsupported(owner, new, reason)
    before = {(each.owner_type_id, each.property_id): each for each in old.satisfies}
    after = {(each.owner_type_id, each.property_id): each for each in new.satisfies}
    changes = [f"+{each.owner_type_name}.{each.property_name}" for key, each in after.items() if key not in before]
    changes += [f"-{each.owner_type_name}.{each.property_name}" for key, each in before.items() if key not in after]
    if changes:
        reason = f"the interface properties that it stands for cannot change ({', '.join(sorted(changes))})"
        yield _unsupported(owner, new, reason)


def _unsupported(owner: TypeIR, new: PropertyIR, reason: str, code: Code | None = None) -> UnsupportedChange:
    return UnsupportedChange(entity=f"{owner.kind}:{owner.name}.{new.name}", reason=reason, code=code)
