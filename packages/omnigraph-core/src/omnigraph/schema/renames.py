"""Finds what each declaration was called before: by its name, else by its ``@rename_from`` hint.

A catalog and the accepted schema come in; the accepted type or property of each declaration that had one goes out.
Hints that cannot be followed become errors: they say that data should stay with a thing, and a guess would lose it.
The name comes first: a hint on something that kept its name has no effect, so two names cannot be swapped in one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, did_you_mean, listed
from omnigraph.lang.source import Span
from omnigraph.schema.catalog import Catalog, EdgeType, InterfaceType, NodeType, Property
from omnigraph.schema.ir_types import KINDS, PropertyIR, SchemaIR, TypeIR, TypeKind

OwnerName = tuple[TypeKind, str]
"""A type of a catalog; the kind belongs to it, because a node and an edge may have one name."""

Owner = InterfaceType | NodeType | EdgeType

_Known = TypeVar("_Known", TypeIR, PropertyIR)

_WORDS: Final[Mapping[TypeKind, str]] = {"interface": "interface", "node": "node type", "edge": "edge type"}


@dataclass(frozen=True, slots=True)
class Matches:
    """The accepted type or property of every declaration that had one; what is missing here is new."""

    types: dict[OwnerName, TypeIR] = field(default_factory=dict)
    properties: dict[tuple[OwnerName, str], PropertyIR] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Hint:
    """A ``@rename_from`` on the declaration ``name``, which says that it was called ``old``."""

    name: str
    old: str
    span: Span


def owners_of(catalog: Catalog) -> dict[OwnerName, Owner]:
    """All types of a catalog."""
    owners: dict[OwnerName, Owner] = {}
    owners.update({("interface", name): each for name, each in catalog.interfaces.items()})
    owners.update({("node", name): each for name, each in catalog.nodes.items()})
    owners.update({("edge", name): each for name, each in catalog.edges.items()})
    return owners


def match_schema(catalog: Catalog, accepted: SchemaIR, report: Report) -> Matches:
    """What every declaration was before.

    Errors go to the report: a hint that names nothing (OG-S-301), something of another kind (OG-S-302), something that
    is taken (OG-S-303) or a property of another owner (OG-S-304). A hint that is not needed is a warning (OG-S-305).
    """
    matches = Matches()
    owners = owners_of(catalog)
    for kind in KINDS:
        declared = {name: each for (its_kind, name), each in owners.items() if its_kind == kind}
        known = {each.name: each for each in accepted.types_of(kind)}
        found, lost = _match(declared, known, _WORDS[kind], report)
        matches.types.update({(kind, name): each for name, each in found.items()})
        for hint in lost:
            _complain_of_type(hint, kind, accepted, report)
    for owner, each in owners.items():
        _match_properties(owner, each, matches, accepted, report)
    return matches


def _match(
    declared: Mapping[str, Owner] | Mapping[str, Property], known: Mapping[str, _Known], word: str, report: Report
) -> tuple[dict[str, _Known], list[_Hint]]:
    """What is known of the declarations of one scope, and the hints that name nothing in it."""
    found = {name: known[name] for name in declared if name in known}
    hints = []
    for name, each in declared.items():
        hint = _hint_of(name, each)
        if hint is None:
            continue
        if name not in found:
            hints.append(hint)
        elif not _is_injected(each):
            _warn_of_needless(hint, word, hint.old in found, report)
    holders = {name: declared[name].span for name in found}
    lost = []
    for hint in sorted(hints, key=lambda each: each.span):
        if hint.old not in known:
            lost.append(hint)
        elif hint.old not in holders:
            found[hint.name] = known[hint.old]
            holders[hint.old] = hint.span
        elif not _is_injected(declared[hint.name]):
            report.add(
                Code.RENAME_CLAIMED_TWICE,
                hint.span,
                f'the {word} "{hint.old}" cannot become "{hint.name}", because another declaration claims it',
                label=f'"{hint.old}" is taken',
                help="Keep one of the two: a thing that was there before can go on under one name only.",
                related=[Related(span=holders[hint.old], label="claimed here")],
            )
    return found, lost


def _match_properties(owner: OwnerName, each: Owner, matches: Matches, accepted: SchemaIR, report: Report) -> None:
    before = matches.types.get(owner)
    known = {} if before is None else {prop.name: prop for prop in before.properties}
    found, lost = _match(each.by_name, known, "property", report)
    matches.properties.update({(owner, name): prop for name, prop in found.items()})
    if before is None and _hint_of(each.name, each) is not None:
        # The hint of the owner itself was refused: what its properties say cannot be judged.
        return
    for hint in lost:
        if not _is_injected(each.by_name[hint.name]):
            _complain_of_property(hint, owner, before, accepted, report)


def _hint_of(name: str, declared: Owner | Property) -> _Hint | None:
    if isinstance(declared, InterfaceType) or declared.rename_from is None:
        return None
    return _Hint(name, declared.rename_from, declared.rename_span or declared.span)


def _is_injected(declared: Owner | Property) -> bool:
    """An injected property repeats the hint of its interface, where alone it can be corrected."""
    return isinstance(declared, Property) and not declared.is_direct


def _warn_of_needless(hint: _Hint, word: str, is_old_declared: bool, report: Report) -> None:
    report.add(
        Code.RENAME_IGNORED,
        hint.span,
        f'the {word} "{hint.name}" was there before under this name, so @rename_from("{hint.old}") has no effect',
        label="this can go",
        help="To swap two names, rename in two steps, through a third name." if is_old_declared else None,
    )


def _complain_of_type(hint: _Hint, kind: TypeKind, accepted: SchemaIR, report: Report) -> None:
    known = [each.name for each in accepted.types_of(kind)]
    choices = f"{_WORDS[kind].capitalize()}s that were accepted before: {listed(known)}."
    others = [other for other in KINDS if any(each.name == hint.old for each in accepted.types_of(other))]
    if others:
        report.add(
            Code.RENAME_OTHER_KIND,
            hint.span,
            f'the {_WORDS[kind]} "{hint.name}" cannot have been "{hint.old}", which is {_article(others[0])}',
            label=f"expected {_article(kind)}",
            help=choices,
        )
        return
    report.add(
        Code.RENAME_SOURCE_UNKNOWN,
        hint.span,
        f'the {_WORDS[kind]} "{hint.name}" cannot have been "{hint.old}": nothing of that name was accepted before',
        label=did_you_mean(hint.old, known) or f"expected {_article(kind)} that was accepted before",
        help=choices,
    )


def _complain_of_property(
    hint: _Hint, owner: OwnerName, before: TypeIR | None, accepted: SchemaIR, report: Report
) -> None:
    kind, name = owner
    if before is None:
        choices = f"{name} is new and has no earlier properties; if it had another name, give it @rename_from too."
        known = []
    else:
        known = [each.name for each in before.properties]
        choices = f"Properties of {before.name} that were accepted before: {listed(known)}."
    elsewhere = [
        f"{_WORDS[other]} {each.name}"
        for other in KINDS
        for each in accepted.types_of(other)
        if each is not before and any(prop.name == hint.old for prop in each.properties)
    ]
    if elsewhere:
        report.add(
            Code.RENAME_ACROSS_OWNERS,
            hint.span,
            f'the property "{hint.name}" of {_WORDS[kind]} {name} moves across stable owners: '
            f'"{hint.old}" belongs to {listed(elsewhere, at_most=3)}',
            label=did_you_mean(hint.old, known) or f"expected an earlier property of {name}",
            help=choices,
        )
        return
    report.add(
        Code.RENAME_SOURCE_UNKNOWN,
        hint.span,
        f'the property "{hint.name}" of {_WORDS[kind]} {name} cannot have been "{hint.old}": '
        f"no property of that name was accepted before",
        label=did_you_mean(hint.old, known) or f"expected an earlier property of {name}",
        help=choices,
    )


def _article(kind: TypeKind) -> str:
    return f"{'a' if kind == 'node' else 'an'} {_WORDS[kind]}"
