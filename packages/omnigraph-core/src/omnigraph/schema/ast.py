"""What a schema says, as it is written: frozen nodes, each with its place in the text.

The parser makes these and judges nothing beyond syntax; ``check`` gives them meaning. Two nodes are equal when they say
the same, wherever they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import ValueType

LiteralValue = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A literal argument. ``True`` and ``1`` differ, as do ``1`` and ``1.0``: compare ``type(value)`` too."""

    value: LiteralValue
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A keyword argument of an annotation, such as ``model="m"``."""

    name: Name
    value: Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """``@name``, ``@name(value)`` or ``@name(value, key=literal)``.

    Attributes:
        value: the positional argument: a literal, a bare name, or None.
    """

    name: Name
    value: Literal | Name | None = None
    kwargs: tuple[Argument, ...] = ()
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeBounds:
    """``lo..hi``, ``lo..`` or ``..hi``; at least one of the two is there."""

    minimum: int | float | None
    maximum: int | float | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """``@key(a, b)``, ``@unique(..)``, ``@index(..)``, ``@range(p, ..)`` or ``@check(p, "..")`` in a body."""

    name: Name
    arguments: tuple[RangeBounds | Literal | Name, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """``name: Type @annotation``. The type is whole: names of scalars mean something by themselves.

    Attributes:
        type_span: where the type stands.
        is_whole: False when its name or type is a guess, because what stands there could not be read.
    """

    name: Name
    type: ValueType
    annotations: tuple[Annotation, ...] = ()
    is_whole: bool = field(default=True, compare=False)
    type_span: Span = field(compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """``interface Name { properties }``."""

    name: Name
    properties: tuple[Property, ...]
    is_whole: bool = field(default=True, compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """``node Name @annotation implements A, B { properties and constraints }``.

    Attributes:
        is_whole: False when parts of the body could not be read, so that what seems missing may be there.
    """

    name: Name
    annotations: tuple[Annotation, ...]
    implements: tuple[Name, ...]
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...]
    is_whole: bool = field(default=True, compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """``@card(lo..hi)``; no maximum when it is None."""

    minimum: int
    maximum: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``edge Name: Source -> Target @card(..) @annotation { properties and constraints }``.

    Attributes:
        source: its text is empty when it could not be read; so is that of ``target``.
    """

    name: Name
    source: Name
    target: Name
    cardinality: Cardinality | None
    annotations: tuple[Annotation, ...]
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...]
    is_whole: bool = field(default=True, compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A whole schema text.

    Attributes:
        declarations: in the order of the text.
        is_whole: False when a declaration could not be read at all, so that a name that seems missing may be there.
    """

    declarations: tuple[Interface | Node | Edge, ...]
    is_whole: bool = field(default=True, compare=False)
