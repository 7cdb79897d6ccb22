"""Constraints in bodies, and all constraints of a type together in canonical order.

Comes after properties: a constraint names columns, which must exist and have a fitting type. Nothing is said of columns
that may be missing only because a part of the type could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, did_you_mean, is_slip, listed
from omnigraph.lang.source import Name, Span
from omnigraph.schema import ast
from omnigraph.schema.catalog import SYSTEM_COLUMNS, Check, Constraint, Index, Key, Range, Unique
from omnigraph.schema.check_annotations import find_annotation, head_of
from omnigraph.schema.check_columns import check_column
from omnigraph.schema.check_properties import Members
from omnigraph.schema.patterns import check_pattern
from omnigraph.schema.shape import canonical_constraints

_COLUMN_CONSTRAINTS: Final[dict[str, type[Key | Unique | Index]]] = {"key": Key, "unique": Unique, "index": Index}
_ENDS: Final = {"from": "src", "to": "dst", "source": "src", "target": "dst"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What constraints can speak of.

    Attributes:
        kind: ``node`` or ``edge``.
        is_complete: whether all properties of the owner are known.
    """

    kind: str
    owner: Name
    members: Members
    is_complete: bool
    report: Report


def check_constraints(scope: Scope, written: Iterable[ast.Constraint]) -> tuple[Constraint, ...]:
    """Those written on properties and those written in the body, sorted, each once."""
    found: list[Constraint] = []
    keys: list[Span] = []
    for name, member in scope.members.items():
        for mark in member.property.constraints:
            found.append(_COLUMN_CONSTRAINTS[mark](columns=(name,)))
            annotation = find_annotation(member.syntax, "key") if mark == "key" else None
            if annotation is not None:
                keys.append(head_of(annotation) if member.via is None else member.via.span)
    for each in written:
        if scope.kind == "edge" and each.name.text in ("key", "range", "check"):
            _report_edge_constraint(scope, each)
            continue
        if each.name.text == "key":
            keys.append(head_of(each))
        checked = _check_one(scope, each)
        if checked is not None:
            found.append(checked)
    if scope.kind == "node":
        _check_single_key(scope, sorted(keys))
    return tuple(canonical_constraints(found))


def _report_edge_constraint(scope: Scope, constraint: ast.Constraint) -> None:
    name = constraint.name.text
    scope.report.add(
        Code.MISPLACED_ANNOTATION,
        head_of(constraint),
        f"@{name}(...) cannot stand in the body of an edge",
        label=f"remove it from {scope.owner}",
        help="@unique(src, dst) allows one edge between two nodes."
        if name == "key"
        else "Only properties of nodes are checked; an edge takes @unique(...) and @index(...).",
    )


def _check_single_key(scope: Scope, keys: list[Span]) -> None:
    for again in keys[1:]:
        scope.report.add(
            Code.MULTIPLE_KEYS,
            again,
            f"multiple @key on {scope.owner}",
            label="a node has one key",
            help="One key of several properties is written @key(a, b) in the body.",
            related=(Related(span=keys[0], label="the first key"),),
        )


def _check_one(scope: Scope, constraint: ast.Constraint) -> Constraint | None:
    match constraint.name.text:
        case "range":
            return _check_range(scope, constraint)
        case "check":
            return _check_check(scope, constraint)
        case name:
            return _check_columns(scope, constraint, _COLUMN_CONSTRAINTS[name])


def _check_columns(
    scope: Scope, constraint: ast.Constraint, made: type[Key | Unique | Index]
) -> Key | Unique | Index | None:
    """``@key(a, b)``, ``@unique(a, b)`` or ``@index(a, b)``."""
    name = constraint.name.text
    columns: set[str] = set()
    is_sound = True
    for each in constraint.arguments:
        if not isinstance(each, Name):
            scope.report.add(
                Code.BAD_CONSTRAINT_ARGUMENT,
                each.span,
                f"@{name}(...) takes names of properties only",
                label=_unquoted(each, scope) or "expected the name of a property",
            )
            is_sound = False
        elif scope.kind == "edge" and each.text in SYSTEM_COLUMNS:
            columns.add(each.text)
        else:
            prop = _find(scope, each)
            is_sound = prop is not None and is_sound
            if prop is not None and prop.is_whole:
                is_sound = check_column(name, prop, each.span, scope.report, is_mark=False) and is_sound
            columns.add(each.text)
    return made(columns=tuple(sorted(columns))) if is_sound else None


def _unquoted(argument: ast.RangeBounds | ast.Literal, scope: Scope) -> str | None:
    """A label for a name that was written as a string."""
    if isinstance(argument, ast.Literal) and isinstance(argument.value, str) and argument.value in scope.members:
        return f"expected {argument.value}, without quotes"
    return None


def _check_range(scope: Scope, constraint: ast.Constraint) -> Range | None:
    """``@range(property, lo..hi)``."""
    match constraint.arguments:
        case (Name() as name, ast.RangeBounds() as bounds):
            pass
        case _:
            _report_form(scope, constraint, "@range(property, 1..5)", "Open bounds are written 1.. and ..5.")
            return None
    prop = _find(scope, name)
    if prop is None:
        return None
    if prop.is_whole and not prop.type.is_numeric:
        scope.report.add(
            Code.BAD_RANGE,
            name.span,
            f'@range cannot use "{name}", which is {prop.type}',
            label="expected a single number" if prop.type.is_list else "expected a number",
            related=(Related(span=prop.type_span, label="the type"),),
        )
        return None
    minimum, maximum = bounds.minimum, bounds.maximum
    if minimum is not None and maximum is not None and minimum > maximum:
        scope.report.add(
            Code.BAD_RANGE,
            bounds.span,
            f"the range of {scope.owner}.{name} holds nothing: its minimum is above its maximum",
            label="expected the smaller bound first",
        )
        return None
    return Range(property=name.text, minimum=minimum, maximum=maximum)


def _check_check(scope: Scope, constraint: ast.Constraint) -> Check | None:
    """``@check(property, "pattern")``."""
    match constraint.arguments:
        case (Name() as name, ast.Literal(value=str() as pattern) as literal):
            pass
        case _:
            _report_form(scope, constraint, '@check(property, "pattern")', None)
            return None
    prop = _find(scope, name)
    problem = check_pattern(pattern)
    if problem is not None:
        scope.report.add(
            Code.BAD_CHECK,
            literal.span,
            f"the pattern of {scope.owner}.{name} is not valid: {problem}",
            label="expected a regular expression",
            help='In a string each backslash is written twice: "\\\\d+".',
        )
    if prop is not None and prop.is_whole and not prop.type.is_plain_string:
        scope.report.add(
            Code.BAD_CHECK,
            name.span,
            f'@check cannot use "{name}", which is {prop.type}',
            label="expected a single String" if prop.type.is_list else "expected a String",
            related=(Related(span=prop.type_span, label="the type"),),
        )
        return None
    return None if prop is None or problem is not None else Check(property=name.text, pattern=pattern)


def _report_form(scope: Scope, constraint: ast.Constraint, form: str, help: str | None) -> None:
    scope.report.add(
        Code.BAD_CONSTRAINT_ARGUMENT,
        constraint.span,
        f"the arguments of @{constraint.name} have another form",
        label=f"expected {form}",
        help=help,
    )


def _find(scope: Scope, name: Name) -> ast.Property | None:
    """The property of that name as written; one is reported if it is missing for sure, or spelled nearly right."""
    member = scope.members.get(name.text)
    if member is not None:
        return member.syntax
    if scope.is_complete or is_slip(name.text, scope.members):
        choices = [*scope.members, *(SYSTEM_COLUMNS if scope.kind == "edge" else ())]
        end = _ENDS.get(name.text) if scope.kind == "edge" else None
        scope.report.add(
            Code.UNKNOWN_CONSTRAINT_PROPERTY,
            name.span,
            f'{scope.owner} has no property "{name}"',
            label=did_you_mean(end or name.text, choices) or "not declared",
            help=f"{scope.owner} has: {listed(choices)}",
        )
    return None
