"""Properties of interfaces, nodes and edges: their names, types and marks, and what interfaces inject into nodes.

Each owner gets a dictionary of ``Member``, the property as written next to the property as it counts. ``inject`` adds
what a node takes over from its interfaces. Rules about types are left out for a property that could not be read whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, closest, did_you_mean, is_slip, listed
from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import Scalar
from omnigraph.schema import ast
from omnigraph.schema.catalog import Property
from omnigraph.schema.check_annotations import check_property_annotations, find_annotation, head_of
from omnigraph.schema.check_columns import check_column
from omnigraph.schema.shape import annotation_json, compact_json

LANCE_COLUMNS: Final = frozenset(
    {"_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"}
)
"""Columns that the table format has by itself."""

_NODE_NAMES: Final = LANCE_COLUMNS | {"id"}
_EDGE_NAMES: Final = _NODE_NAMES | {"src", "dst", "from", "to"}
_RESERVED: Final = {"interface": _NODE_NAMES, "node": _NODE_NAMES, "edge": _EDGE_NAMES}
"""Only what cannot work is refused: a node has no ends, so its properties may be called ``from`` and ``to``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A property of an owner.

    Attributes:
        syntax: as written, in the owner itself or in the interface that injects it.
        via: the word behind ``implements`` that injects it; None for one that the owner declares itself.
    """

    syntax: ast.Property
    property: Property
    via: Name | None = None


Members = dict[str, Member]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A checked interface; ``is_whole`` as in the syntax."""

    name: Name
    members: Members
    is_whole: bool


def check_properties(kind: str, owner: Name, properties: tuple[ast.Property, ...], report: Report) -> Members:
    """The properties that an ``interface``, a ``node`` or an ``edge`` declares itself; the first of a name counts."""
    members: Members = {}
    for each in properties:
        name = each.name.text
        first = members.get(name)
        if first is not None:
            if each.is_whole and first.syntax.is_whole:
                report.add(
                    Code.DUPLICATE_PROPERTY,
                    each.name.span,
                    f'duplicate property "{name}" in {owner}',
                    label="declared again here",
                    related=(Related(span=first.syntax.name.span, label="first declared here"),),
                )
            check_property_annotations(kind, each, report)
            continue
        if name in _RESERVED[kind]:
            _report_reserved(kind, each.name, report)
        members[name] = Member(syntax=each, property=_check_property(kind, each, report))
    return members


def _check_property(kind: str, prop: ast.Property, report: Report) -> Property:
    facts = check_property_annotations(kind, prop, report)
    if prop.is_whole:
        if prop.type.is_list and prop.type.scalar is Scalar.BLOB:
            report.add(
                Code.LIST_OF_BLOB,
                prop.type_span,
                "a list of Blobs is not possible",
                label="expected Blob, or a list of another type",
                help="Give each Blob a node of its own, and connect it by an edge.",
            )
        else:
            for name in facts.constraints:
                annotation = find_annotation(prop, name)
                if annotation is not None:
                    check_column(name, prop, head_of(annotation), report, is_mark=True)
    return Property(
        name=prop.name.text,
        type=prop.type,
        annotations=facts.annotations,
        constraints=facts.constraints,
        embed=facts.embed,
        rename_from=facts.rename_from,
        rename_span=facts.rename_span,
        span=prop.name.span,
    )


def _report_reserved(kind: str, name: Name, report: Report) -> None:
    if name.text in LANCE_COLUMNS:
        why = "the table format has a column of this name"
    elif name.text in ("from", "to"):
        why = 'inserts say with "from" and "to" which nodes an edge connects'
    else:
        why = f"every {'edge' if kind == 'edge' else 'node'} has {'an' if name.text == 'id' else 'a'} {name} already"
    report.add(
        Code.RESERVED_PROPERTY,
        name.span,
        f'the property name "{name}" is reserved: {why}',
        label="choose another name",
    )


# ── interfaces ──


def inject(
    node: ast.Node, members: Members, interfaces: Mapping[str, Interface], report: Report, *, is_whole: bool
) -> bool:
    """Add what the interfaces of a node give it, in place.

    Args:
        node: the node as written.
        members: its own properties.
        interfaces: all interfaces, by name.
        report: takes what is wrong.
        is_whole: whether all declarations could be read, so that an interface that seems missing is.

    Returns:
        Whether all properties of the node are known now.
    """
    is_complete = node.is_whole
    seen: dict[str, Name] = {}
    for word in node.implements:
        first = seen.setdefault(word.text, word)
        if first is not word:
            report.add(
                Code.DUPLICATE_IMPLEMENTS,
                word.span,
                f"{node.name} implements {word} twice",
                label="remove one of the two",
                related=(Related(span=first.span, label="first named here"),),
            )
            continue
        interface = interfaces.get(word.text)
        if interface is None:
            is_complete = False
            if is_whole or is_slip(word.text, interfaces):
                report.add(
                    Code.UNKNOWN_INTERFACE,
                    word.span,
                    f'unknown interface "{word}"',
                    label=did_you_mean(word.text, interfaces) or "not declared",
                    help=f"The interfaces are: {listed(interfaces)}.",
                )
            continue
        is_complete = is_complete and interface.is_whole
        for theirs in interface.members.values():
            _take_over(node, word, theirs, members, report)
    return is_complete


def _take_over(node: ast.Node, word: Name, theirs: Member, members: Members, report: Report) -> None:
    """Let one property of an interface be satisfied or injected."""
    name = theirs.property.name
    ours = members.get(name)
    satisfied = (word.text, name)
    if ours is None:
        injected = replace(theirs.property, is_direct=False, satisfies=(satisfied,))
        members[name] = Member(syntax=theirs.syntax, property=injected, via=word)
        return
    satisfies = tuple(sorted({*ours.property.satisfies, satisfied}))
    members[name] = replace(ours, property=replace(ours.property, satisfies=satisfies))
    if not (ours.syntax.is_whole and theirs.syntax.is_whole):
        return
    if ours.via is None:
        if ours.property.type != theirs.property.type:
            report.add(
                Code.INTERFACE_TYPE_MISMATCH,
                ours.syntax.type_span,
                f"{node.name}.{name} is {ours.property.type}, but the interface {word} says {theirs.property.type}",
                label=f"expected {theirs.property.type}",
                related=(Related(span=theirs.syntax.type_span, label=f"declared by {word}"),),
            )
    elif _declaration(ours.property) != _declaration(theirs.property):
        report.add(
            Code.INTERFACE_CONFLICT,
            word.span,
            f'incompatible property semantics: {ours.via} and {word} declare "{name}" differently',
            label=f'cannot inject "{name}" into {node.name}',
            help=f'Declare "{name}" in {node.name} itself, or alike in both interfaces.',
            related=(
                Related(span=ours.syntax.span, label=f"declared by {ours.via}"),
                Related(span=theirs.syntax.span, label=f"declared by {word}"),
            ),
        )


def _declaration(prop: Property) -> tuple[object, ...]:
    """Everything that an interface says of a property; ``1``, ``1.0`` and ``true`` are equal for Python only."""
    annotations = [compact_json(annotation_json(each)) for each in prop.annotations]
    return prop.type, annotations, prop.constraints, prop.embed, prop.rename_from


def check_embeds(owner: Name, members: Members, report: Report, *, is_complete: bool) -> None:
    """The sources of embedded vectors must be String properties of the same node."""
    for member in members.values():
        embed = member.property.embed
        annotation = find_annotation(member.syntax, "embed")
        if embed is None or annotation is None or annotation.value is None:
            continue
        source = members.get(embed.source)
        place, related = _embed_place(member, annotation.value.span)
        if source is None:
            if is_complete or is_slip(embed.source, members):
                choices = [name for name, each in members.items() if each.property.type.is_plain_string]
                guess = closest(embed.source, choices)
                report.add(
                    Code.BAD_EMBED,
                    place,
                    f'{owner} has no property "{embed.source}" to embed as "{member.property.name}"',
                    label=f'did you mean "{guess}"?' if guess else "expected a String property",
                    help=f"The String properties of {owner} are: {listed(choices)}.",
                    related=related,
                )
        elif source.syntax.is_whole and not source.property.type.is_plain_string:
            report.add(
                Code.BAD_EMBED,
                place,
                f"@embed cannot use {owner}.{embed.source}, which is {source.property.type}",
                label="expected a String property",
                related=(*related, Related(span=source.syntax.type_span, label="the type")),
            )


def _embed_place(member: Member, written: Span) -> tuple[Span, tuple[Related, ...]]:
    """Where to speak of a source: at the node that lacks it, when an interface asks for it."""
    if member.via is None:
        return written, ()
    return member.via.span, (Related(span=written, label=f"asked for by {member.via}"),)
