"""What annotations mean: which are known, where each may stand, and what arguments it takes.

``check`` and ``check_properties`` hand over the annotations of a type or a property and get facts back. Annotations
that are not known are metadata, kept as they are. A wrong one is reported and left out of the facts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, did_you_mean
from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import Scalar
from omnigraph.schema import ast
from omnigraph.schema.catalog import Annotation, Embed
from omnigraph.schema.shape import canonical_annotations

COLUMN_MARKS: Final = ("index", "key", "unique")
"""Annotations of a property that say what a constraint of the same name says of several, in ascending order."""

_ONCE_PER_TYPE: Final = frozenset({"description", "instruction", "rename_from"})
_NODES_ONLY: Final = ("key", "embed")
_ARTICLES: Final = {"interface": "an interface", "node": "a node type", "edge": "an edge"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacts:
    """What the annotations of a node or an edge say."""

    annotations: tuple[Annotation, ...]
    rename_from: str | None
    rename_span: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyFacts:
    """What the annotations of a property say."""

    annotations: tuple[Annotation, ...]
    constraints: tuple[str, ...]
    embed: Embed | None
    rename_from: str | None
    rename_span: Span | None


def head_of(marked: ast.Annotation | ast.Constraint) -> Span:
    """The place of ``@name``, without arguments."""
    return Span(marked.span.start, marked.name.span.end)


def find_annotation(prop: ast.Property, name: str) -> ast.Annotation | None:
    """The first annotation of that name."""
    return next((each for each in prop.annotations if each.name.text == name), None)


def check_type_annotations(kind: str, declaration: ast.Node | ast.Edge, report: Report) -> TypeFacts:
    """The annotations in front of the body of a ``node`` or an ``edge``."""
    kept: list[Annotation] = []
    rename_from = rename_span = None
    seen: dict[str, ast.Annotation] = {}
    for each in declaration.annotations:
        name = each.name.text
        if name in _ONCE_PER_TYPE and _is_repeated(each, seen, report):
            continue
        if name in COLUMN_MARKS or name == "embed":
            report.add(
                Code.MISPLACED_ANNOTATION,
                head_of(each),
                f"@{name} cannot stand on {_ARTICLES[kind]}",
                label=f"remove it from {declaration.name}",
                help=None
                if kind == "edge" and name in _NODES_ONLY
                else f"Write it behind the type of a property of {declaration.name}.",
            )
        elif name == "rename_from":
            rename_from = _rename_source(each, report)
            rename_span = None if each.value is None else each.value.span
        elif _is_sound(each, kind, report):
            kept.append(_metadata(each))
    return TypeFacts(annotations=tuple(canonical_annotations(kept)), rename_from=rename_from, rename_span=rename_span)


def check_property_annotations(kind: str, prop: ast.Property, report: Report) -> PropertyFacts:
    """The annotations of a property of an ``interface``, a ``node`` or an ``edge``."""
    kept: list[Annotation] = []
    constraints: set[str] = set()
    embed = rename_from = rename_span = None
    seen: dict[str, ast.Annotation] = {}
    for each in prop.annotations:
        name = each.name.text
        if _is_repeated(each, seen, report):
            continue
        if kind == "edge" and name in _NODES_ONLY:
            report.add(
                Code.MISPLACED_ANNOTATION,
                head_of(each),
                f"@{name} cannot stand on a property of an edge",
                label=f'remove it from "{prop.name}"',
                help="Edges have no key; @unique(src, dst) in the body allows one edge between two nodes."
                if name == "key"
                else "Only properties of nodes are embedded.",
            )
        elif name == "instruction":
            report.add(
                Code.MISPLACED_ANNOTATION,
                head_of(each),
                "@instruction cannot stand on a property",
                label=f'remove it from "{prop.name}"',
                help="It belongs to a node type or an edge; a property takes @description.",
            )
        elif name in COLUMN_MARKS:
            constraints.add(name)
        elif name == "rename_from":
            rename_from = _rename_source(each, report)
            rename_span = None if each.value is None else each.value.span
        elif name == "embed":
            embed = _embed(each, prop, report)
        elif _is_sound(each, "property", report):
            kept.append(_metadata(each))
    return PropertyFacts(
        annotations=tuple(canonical_annotations(kept)),
        constraints=tuple(sorted(constraints)),
        embed=embed,
        rename_from=rename_from,
        rename_span=rename_span,
    )


def _is_repeated(annotation: ast.Annotation, seen: dict[str, ast.Annotation], report: Report) -> bool:
    """Whether one of that name stood before, which is reported."""
    first = seen.setdefault(annotation.name.text, annotation)
    if first is annotation:
        return False
    report.add(
        Code.REPEATED_ANNOTATION,
        head_of(annotation),
        f"@{annotation.name} is given twice",
        label="remove one of the two",
        related=(Related(span=head_of(first), label="first given here"),),
    )
    return True


def _is_sound(annotation: ast.Annotation, where: str, report: Report) -> bool:
    """Whether metadata may be kept: its arguments make sense, and it is no constraint that lacks its arguments."""
    name = annotation.name.text
    if name in ("range", "check"):
        form = "@range(property, 1..5)" if name == "range" else '@check(property, "pattern")'
        report.add(
            Code.BAD_CONSTRAINT_ARGUMENT,
            head_of(annotation),
            f"@{name} needs its arguments",
            label=f"expected {form}",
            help="It stands in the body of a node type.",
        )
        return False
    if name == "card":
        is_edge = where == "edge"
        report.add(
            Code.BAD_ANNOTATION_ARGUMENT if is_edge else Code.MISPLACED_ANNOTATION,
            head_of(annotation),
            "@card needs a range" if is_edge else "@card stands right behind the target type of an edge",
            label="expected @card(0..1) or @card(1..)" if is_edge else "remove it",
        )
        return False
    if name in ("description", "instruction"):
        return _text(annotation, "a text", report) is not None
    return _has_single_kwargs(annotation, report)


def _has_single_kwargs(annotation: ast.Annotation, report: Report) -> bool:
    seen: dict[str, Name] = {}
    for each in annotation.kwargs:
        first = seen.setdefault(each.name.text, each.name)
        if first is not each.name:
            report.add(
                Code.BAD_ANNOTATION_ARGUMENT,
                each.name.span,
                f'@{annotation.name} has two arguments "{each.name}"',
                label="remove one of the two",
                related=(Related(span=first.span, label="first given here"),),
            )
            return False
    return True


def _text(annotation: ast.Annotation, expected: str, report: Report) -> str | None:
    """The positional argument as a text that is not blank; None when it is not, which is reported."""
    value = annotation.value
    text = value.text if isinstance(value, Name) else None if value is None else value.value
    if isinstance(text, str) and text.strip():
        return text
    problem = "needs an argument" if value is None else "needs a text" if not isinstance(text, str) else "is blank"
    report.add(
        Code.BAD_ANNOTATION_ARGUMENT,
        head_of(annotation) if value is None else value.span,
        f"@{annotation.name} {problem}",
        label=f'expected @{annotation.name}("{expected}")',
    )
    return None


def _rename_source(annotation: ast.Annotation, report: Report) -> str | None:
    text = _text(annotation, "the old name", report)
    if not annotation.kwargs:
        return text
    report.add(
        Code.BAD_ANNOTATION_ARGUMENT,
        annotation.kwargs[0].name.span,
        f'@rename_from takes no argument "{annotation.kwargs[0].name}"',
        label="remove it",
    )
    return None


def _embed(annotation: ast.Annotation, prop: ast.Property, report: Report) -> Embed | None:
    """Where a vector comes from. Whether its source exists can be said once all properties of the node are known."""
    if prop.is_whole and (prop.type.scalar is not Scalar.VECTOR or prop.type.is_list):
        report.add(
            Code.BAD_EMBED,
            head_of(annotation),
            f'@embed cannot stand on "{prop.name}", which is {prop.type}',
            label="expected on a Vector",
            related=(Related(span=prop.type_span, label="the type"),),
        )
        return None
    source = _text(annotation, "source", report)
    model = None
    for each in annotation.kwargs:
        if each.name.text != "model":
            report.add(
                Code.BAD_ANNOTATION_ARGUMENT,
                each.name.span,
                f'@embed takes no argument "{each.name}"',
                label=did_you_mean(each.name.text, ("model",)) or "remove it",
                help="It takes the source property and, if you like, model.",
            )
            return None
        if not isinstance(each.value.value, str) or not each.value.value.strip():
            report.add(
                Code.BAD_ANNOTATION_ARGUMENT,
                each.value.span,
                "the model of @embed is the name of a model",
                label='expected model="name"',
            )
            return None
        model = each.value.value
    if source is None or not _has_single_kwargs(annotation, report):
        return None
    return Embed(source=source, model=model)


def _metadata(annotation: ast.Annotation) -> Annotation:
    value = annotation.value
    return Annotation(
        name=annotation.name.text,
        value=value.text if isinstance(value, Name) else None if value is None else value.value,
        kwargs=_sorted_kwargs(annotation.kwargs),
    )


def _sorted_kwargs(kwargs: Iterable[ast.Argument]) -> tuple[tuple[str, ast.LiteralValue], ...]:
    return tuple(sorted(((each.name.text, each.value.value) for each in kwargs), key=lambda pair: pair[0]))
