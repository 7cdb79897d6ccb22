"""Compares an accepted schema with a desired one and says what has to happen, step by step.

Two ``SchemaIR`` of one domain come in, a ``MigrationPlan`` goes out. Things are matched by their numbers, so a rename
is a rename and not a drop. Order: interfaces, nodes, edges, each by its new name, what is dropped after what is kept;
within a type from the outside in. No difference goes unsaid: what no rule classifies is unsupported as such.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.errors import InvalidInputError
from omnigraph.schema.catalog import Cardinality
from omnigraph.schema.diff_annotations import diff_type_annotations
from omnigraph.schema.diff_constraints import diff_constraints
from omnigraph.schema.diff_properties import diff_properties
from omnigraph.schema.ir_types import KINDS, EdgeIR, InterfaceIR, NodeIR, SchemaIR, TypeIR, TypeKind, TypeReference
from omnigraph.schema.shape import compact_json
from omnigraph.schema.steps import (
    AddType,
    DropMode,
    DropType,
    MigrationPlan,
    RenameType,
    Step,
    UnsupportedChange,
)


def plan_migration(accepted: SchemaIR, desired: SchemaIR, *, allow_data_loss: bool = False) -> MigrationPlan:
    """All steps from the accepted schema to the desired one.

    Args:
        accepted: what the graph has now.
        desired: what ``resolve_identities`` made of the new schema and ``accepted``.
        allow_data_loss: makes every drop hard: older versions lose what is dropped too.

    Raises:
        InvalidInputError: the two have different domains, so their numbers do not speak of the same things.
    """
    if accepted.domain != desired.domain:
        raise InvalidInputError(
            f"Two schemas of different graphs cannot be compared: {accepted.domain} and {desired.domain}.",
            help="Resolve the identities of the new schema against the accepted one first.",
        )
    mode = DropMode.HARD if allow_data_loss else DropMode.SOFT
    steps = [step for kind in KINDS for step in _diff_kind(kind, accepted, desired, mode)]
    is_unchanged = compact_json(accepted.to_dict()) == compact_json(desired.to_dict())
    if desired.next_identity_id < accepted.next_identity_id or not (steps or is_unchanged):
        steps.append(_unclassified("schema"))
    return MigrationPlan(tuple(steps))


def _diff_kind(kind: TypeKind, accepted: SchemaIR, desired: SchemaIR, mode: DropMode) -> Iterator[Step]:
    before = {each.type_id: each for each in accepted.types_of(kind)}
    for new in desired.types_of(kind):
        old = before.pop(new.type_id, None)
        if old is None:
            yield AddType(type_kind=kind, name=new.name)
        else:
            yield from _diff_type(old, new, mode)
    for gone in before.values():
        if kind == "interface":
            reason = "an interface cannot be removed or renamed once it is accepted; keep its declaration"
            yield UnsupportedChange(entity=f"interface:{gone.name}", reason=reason)
        else:
            yield DropType(type_kind=kind, name=gone.name, mode=mode)


def _diff_type(old: TypeIR, new: TypeIR, mode: DropMode) -> Iterator[Step]:
    if old.name != new.name:
        yield RenameType(type_kind=new.kind, old=old.name, new=new.name)
    if isinstance(old, NodeIR) and isinstance(new, NodeIR):
        yield from _diff_implements(old, new)
    if isinstance(old, EdgeIR) and isinstance(new, EdgeIR):
        yield from _diff_edge(old, new)
    if not isinstance(old, InterfaceIR) and not isinstance(new, InterfaceIR):
        if old.table_incarnation_id != new.table_incarnation_id:
            yield _unclassified(f"{new.kind}:{new.name}")
        yield from diff_type_annotations(old, new)
    yield from diff_properties(old, new, mode)
    yield from diff_constraints(old, new)


def _diff_implements(old: NodeIR, new: NodeIR) -> Iterator[Step]:
    before = {each.type_id: each.type_name for each in old.implements}
    after = {each.type_id: each.type_name for each in new.implements}
    changes = [f"+{after[each]}" for each in after if each not in before]
    changes += [f"-{before[each]}" for each in before if each not in after]
    if changes:
        reason = f"the interfaces that a node type implements cannot change ({', '.join(sorted(changes))})"
        yield UnsupportedChange(entity=f"node:{new.name}", reason=reason)


def _diff_edge(old: EdgeIR, new: EdgeIR) -> Iterator[Step]:
    entity = f"edge:{new.name}"
    if (old.source.type_id, old.target.type_id) != (new.source.type_id, new.target.type_id):
        change = f"{_ends(old.source, old.target)} to {_ends(new.source, new.target)}"
        reason = f"the endpoints of an edge type cannot change, here from {change}; declare another edge type"
        yield UnsupportedChange(entity=entity, reason=reason)
    if old.cardinality != new.cardinality:
        change = f"{_card(old.cardinality)} to {_card(new.cardinality)}"
        reason = f"the cardinality of an edge type cannot change, here from {change}"
        yield UnsupportedChange(entity=entity, reason=reason)


def _ends(source: TypeReference, target: TypeReference) -> str:
    return f"{source.type_name} -> {target.type_name}"


def _card(cardinality: Cardinality) -> str:
    maximum = "" if cardinality.maximum is None else cardinality.maximum
    return f"@card({cardinality.minimum}..{maximum})"


def _unclassified(entity: str) -> UnsupportedChange:
    reason = "unclassified: the two schemas differ in a way that no rule of migration speaks of"
    return UnsupportedChange(entity=entity, reason=reason)
