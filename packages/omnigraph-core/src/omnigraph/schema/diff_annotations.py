"""Compares the metadata of types and properties.

Descriptions and instructions may change freely: they are for readers. Any other annotation may mean something to
somebody, so a change of one is unsupported, and then nothing is said of the descriptions beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from omnigraph.schema.catalog import Annotation
from omnigraph.schema.ir_types import EdgeIR, NodeIR, PropertyIR, TypeIR
from omnigraph.schema.shape import annotation_json, compact_json
from omnigraph.schema.steps import Step, UnsupportedChange, UpdatePropertyMetadata, UpdateTypeMetadata

_METADATA: Final = frozenset({"description", "instruction"})


def diff_type_annotations(old: NodeIR | EdgeIR, new: NodeIR | EdgeIR) -> Iterator[Step]:
    """At most one step."""
    changed = _other_changes(old.annotations, new.annotations)
    if changed:
        yield _unsupported(f"{new.kind}:{new.name}", changed)
    elif _texts(old.annotations) != _texts(new.annotations):
        yield UpdateTypeMetadata(type_kind=new.kind, name=new.name, annotations=_metadata(new.annotations))


def diff_property_annotations(owner: TypeIR, old: PropertyIR, new: PropertyIR) -> Iterator[Step]:
    """At most one step."""
    changed = _other_changes(old.annotations, new.annotations)
    if changed:
        yield _unsupported(f"{owner.kind}:{owner.name}.{new.name}", changed)
    elif _texts(old.annotations) != _texts(new.annotations):
        yield UpdatePropertyMetadata(
            type_kind=owner.kind,
            type_name=owner.name,
            property_name=new.name,
            annotations=_metadata(new.annotations),
        )


def _other_changes(old: Iterable[Annotation], new: Iterable[Annotation]) -> list[str]:
    """The names of annotations without a special meaning that were added, removed or changed."""
    differing = _texts(old).items() ^ _texts(new).items()
    return sorted({name for _, name in differing} - _METADATA)


def _texts(annotations: Iterable[Annotation]) -> dict[str, str]:
    return {compact_json(annotation_json(each)): each.name for each in annotations}


def _metadata(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    return tuple(each for each in annotations if each.name in _METADATA)


def _unsupported(entity: str, names: Iterable[str]) -> UnsupportedChange:
    changed = ", ".join(f"@{each}" for each in names)
    return UnsupportedChange(
        entity=entity, reason=f"of the annotations only @description and @instruction can change, not {changed}"
    )
