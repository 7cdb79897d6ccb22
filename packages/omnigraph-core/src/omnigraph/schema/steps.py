"""What happens to a graph when its schema changes: the steps of a migration, as JSON and as lines for people.

``diff`` makes the plan, applying it comes later. The JSON is tagged by ``kind``; its names are those of the original. A
plan with an ``unsupported_change`` is refused as a whole. Dropping is supported, and says in its mode whether older
versions keep what is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Final

from omnigraph.lang.codes import Code
from omnigraph.lang.types import ValueType
from omnigraph.schema.catalog import Annotation, Index
from omnigraph.schema.ir_types import TypeKind
from omnigraph.schema.shape import annotation_json, constraint_json


class Tier(StrEnum):
    """What stands between a change and a graph that has data."""

    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


TIERS: Final[Mapping[Code, Tier]] = MappingProxyType(
    {
        Code.GRAPH_DROPPED: Tier.DESTRUCTIVE,
        Code.NODE_TYPE_DROPPED: Tier.DESTRUCTIVE,
        Code.EDGE_TYPE_DROPPED: Tier.DESTRUCTIVE,
        Code.PROPERTY_DROPPED: Tier.DESTRUCTIVE,
        Code.VECTOR_PROPERTY_DROPPED: Tier.DESTRUCTIVE,
        Code.REQUIRED_PROPERTY_ADDED: Tier.VALIDATED,
        Code.PROPERTY_MADE_REQUIRED: Tier.VALIDATED,
        Code.PROPERTY_TYPE_CHANGED: Tier.DESTRUCTIVE,
    }
)
"""Every code of a schema change. A plan emits OG-MF-103 and OG-MF-106 only: drops are steps, not refusals."""


class DropMode(StrEnum):
    """What a drop does to older versions: ``soft`` leaves them readable, ``hard`` purges them."""

    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddType:
    """A new interface, node or edge, with all that it declares."""

    kind: ClassVar = "add_type"
    type_kind: TypeKind
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name}

    def render(self) -> str:
        return f"add {self.type_kind} type '{self.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameType:
    """A node or edge goes on under another name."""

    kind: ClassVar = "rename_type"
    type_kind: TypeKind
    old: str
    new: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "type_kind": self.type_kind, "from": self.old, "to": self.new}

    def render(self) -> str:
        return f"rename {self.type_kind} type '{self.old}' -> '{self.new}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropType:
    """A node or edge and everything in it goes."""

    kind: ClassVar = "drop_type"
    type_kind: TypeKind
    name: str
    mode: DropMode

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name, "mode": str(self.mode)}

    def render(self) -> str:
        return f"drop {self.type_kind} type '{self.name}' ({self.mode} mode)"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTypeMetadata:
    """The description or instruction of a type changes; ``annotations`` are all of the two that it has now."""

    kind: ClassVar = "update_type_metadata"
    type_kind: TypeKind
    name: str
    annotations: tuple[Annotation, ...]

    def to_dict(self) -> dict[str, Any]:
        annotations = [annotation_json(each) for each in self.annotations]
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name, "annotations": annotations}

    def render(self) -> str:
        return f"update metadata on {self.type_kind} '{self.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProperty:
    """A new property, which is null everywhere."""

    kind: ClassVar = "add_property"
    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: ValueType

    def to_dict(self) -> dict[str, Any]:
        return {**_property_json(self), "property_type": self.property_type.to_dict()}

    def render(self) -> str:
        return f"add property {_quoted(self)} ({self.property_type}) on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProperty:
    """A property goes on under another name."""

    kind: ClassVar = "rename_property"
    type_kind: TypeKind
    type_name: str
    old: str
    new: str

    def to_dict(self) -> dict[str, Any]:
        owner = {"kind": self.kind, "type_kind": self.type_kind, "type_name": self.type_name}
        return {**owner, "from": self.old, "to": self.new}

    def render(self) -> str:
        owner = self.type_name
        return f"rename property '{owner}.{self.old}' -> '{owner}.{self.new}' on {self.type_kind} '{owner}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProperty:
    """A property goes, and with it the constraints that name it."""

    kind: ClassVar = "drop_property"
    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode

    def to_dict(self) -> dict[str, Any]:
        return {**_property_json(self), "mode": str(self.mode)}

    def render(self) -> str:
        return f"drop property {_quoted(self)} of {self.type_kind} '{self.type_name}' ({self.mode} mode)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendEnum:
    """An enum allows more values; ``added_values`` in ascending order."""

    kind: ClassVar = "extend_enum"
    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**_property_json(self), "added_values": list(self.added_values)}

    def render(self) -> str:
        added = ", ".join(f"+{each}" for each in self.added_values)
        return f"extend enum {_quoted(self)} ({added}) on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePropertyMetadata:
    """The description of a property changes; ``annotations`` are the descriptions that it has now."""

    kind: ClassVar = "update_property_metadata"
    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[Annotation, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**_property_json(self), "annotations": [annotation_json(each) for each in self.annotations]}

    def render(self) -> str:
        return f"update metadata on property {_quoted(self)} of {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    """An index is wanted; metadata only."""

    kind: ClassVar = "add_constraint"
    type_kind: TypeKind
    type_name: str
    constraint: Index

    def to_dict(self) -> dict[str, Any]:
        return _constraint_step_json(self)

    def render(self) -> str:
        columns = ", ".join(self.constraint.columns)
        return f"add constraint @index({columns}) on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveConstraint:
    """An index is no longer wanted; metadata only, the index itself goes when indexes are next brought in line."""

    kind: ClassVar = "remove_constraint"
    type_kind: TypeKind
    type_name: str
    constraint: Index

    def to_dict(self) -> dict[str, Any]:
        return _constraint_step_json(self)

    def render(self) -> str:
        columns = ", ".join(self.constraint.columns)
        return f"remove constraint @index({columns}) on {self.type_kind} '{self.type_name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedChange:
    """A change that cannot be made to a graph that has data.

    Attributes:
        entity: what changes: ``node:Film``, ``node:Film.title``, ``schema``.
    """

    kind: ClassVar = "unsupported_change"
    entity: str
    reason: str
    code: Code | None = None

    @property
    def message(self) -> str:
        """The reason, after the code if there is one."""
        return self.reason if self.code is None else f"[{self.code}] {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        facts = {"kind": self.kind, "entity": self.entity, "reason": self.reason}
        return facts if self.code is None else {**facts, "code": str(self.code)}

    def render(self) -> str:
        code = "" if self.code is None else f" [{self.code}, {TIERS[self.code]}]"
        return f"unsupported change on {self.entity}{code}: {self.reason}"


Step = (
    AddType
    | RenameType
    | DropType
    | UpdateTypeMetadata
    | AddProperty
    | RenameProperty
    | DropProperty
    | ExtendEnum
    | UpdatePropertyMetadata
    | AddConstraint
    | RemoveConstraint
    | UnsupportedChange
)


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """All steps from one schema to another, in the order in which they are told; empty when nothing changes."""

    steps: tuple[Step, ...] = ()

    @property
    def unsupported(self) -> tuple[UnsupportedChange, ...]:
        """What stands in the way."""
        return tuple(each for each in self.steps if isinstance(each, UnsupportedChange))

    @property
    def supported(self) -> bool:
        return not self.unsupported

    def to_dict(self) -> dict[str, Any]:
        return {"supported": self.supported, "steps": [each.to_dict() for each in self.steps]}

    def render(self) -> str:
        """Whether it can be done, then a line for each step."""
        if not self.steps:
            return "no schema changes"
        return "\n".join([f"supported: {'yes' if self.supported else 'no'}", *(each.render() for each in self.steps)])


_PropertyStep = AddProperty | DropProperty | ExtendEnum | UpdatePropertyMetadata


def _property_json(step: _PropertyStep) -> dict[str, Any]:
    owner = {"kind": step.kind, "type_kind": step.type_kind, "type_name": step.type_name}
    return {**owner, "property_name": step.property_name}


def _constraint_step_json(step: AddConstraint | RemoveConstraint) -> dict[str, Any]:
    owner = {"kind": step.kind, "type_kind": step.type_kind, "type_name": step.type_name}
    return {**owner, "constraint": constraint_json(step.constraint)}


def _quoted(step: _PropertyStep) -> str:
    return f"'{step.type_name}.{step.property_name}'"
