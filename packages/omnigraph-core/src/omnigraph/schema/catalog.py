"""The checked schema: every type, property and constraint, immutable and in canonical order.

``check_schema`` makes a catalog; queries, loads and migrations read it. Interfaces are resolved: a node holds its own
properties and those that its interfaces inject. Names are in ascending order everywhere, whatever the text says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from omnigraph.lang.source import Span
from omnigraph.lang.types import ValueType
from omnigraph.schema.ast import LiteralValue

SYSTEM_COLUMNS = ("src", "dst")
"""Columns of an edge that constraints may name although no property has these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Metadata that is kept and means nothing to the system: ``@description``, ``@instruction`` and unknown ones."""

    name: str
    value: LiteralValue | None = None
    kwargs: tuple[tuple[str, LiteralValue], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The columns that make the id of a node, in ascending order."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """Columns whose values together occur once, in ascending order."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Columns that an index is wanted on, in ascending order; no effect on results."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Inclusive bounds of a number; None is open."""

    property: str
    minimum: int | float | None
    maximum: int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A pattern in the Rust regex dialect that a String must contain a match of."""

    property: str
    pattern: str


Constraint = Key | Unique | Index | Range | Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """Where a vector comes from: the String property ``source``, by the model ``model`` if one is recorded."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a type.

    Attributes:
        annotations: metadata only; sorted by their JSON text, without repetition.
        constraints: which of ``key``, ``unique``, ``index`` are written on the property itself, sorted.
        is_direct: False when an interface injected it.
        satisfies: pairs of interface and property name that it stands for, sorted.
        rename_from: the name that it had before; a hint for migration, never stored.
        rename_span: where that name stands in the text.
    """

    name: str
    type: ValueType
    annotations: tuple[Annotation, ...] = ()
    constraints: tuple[str, ...] = ()
    embed: Embed | None = None
    is_direct: bool = True
    satisfies: tuple[tuple[str, str], ...] = ()
    rename_from: str | None = None
    rename_span: Span | None = field(default=None, compare=False)
    span: Span = field(compare=False)


class _Owner:
    """What interfaces, nodes and edges have in common: named properties."""

    properties: tuple[Property, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        """Properties by name, in ascending order."""
        return {each.name: each for each in self.properties}


@dataclass(frozen=True, kw_only=True)
class InterfaceType(_Owner):
    """An interface. It can be implemented, not queried."""

    name: str
    properties: tuple[Property, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class NodeType(_Owner):
    """A node type.

    Attributes:
        implements: names of interfaces, sorted.
        constraints: all of them, those written on properties too; in canonical order, without repetition.
    """

    name: str
    properties: tuple[Property, ...]
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    rename_from: str | None = None
    rename_span: Span | None = field(default=None, compare=False)
    span: Span = field(compare=False)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The key columns in ascending order; empty for a keyless node."""
        return next((each.columns for each in self.constraints if isinstance(each, Key)), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """How many edges of a type may leave one node."""

    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, kw_only=True)
class EdgeType(_Owner):
    """An edge type from nodes of type ``source`` to nodes of type ``target``."""

    name: str
    source: str
    target: str
    properties: tuple[Property, ...] = ()
    cardinality: Cardinality = Cardinality()
    annotations: tuple[Annotation, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    rename_from: str | None = None
    rename_span: Span | None = field(default=None, compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """A checked schema, which pickles. Mappings are in ascending order of names and never change."""

    interfaces: Mapping[str, InterfaceType]
    nodes: Mapping[str, NodeType]
    edges: Mapping[str, EdgeType]

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings do not pickle; what they show does.
        return _rebuild, (dict(self.interfaces), dict(self.nodes), dict(self.edges))

    @cached_property
    def _edges_by_folded_name(self) -> Mapping[str, EdgeType]:
        return {name.lower(): edge for name, edge in self.edges.items()}

    def find_edge(self, word: str) -> EdgeType | None:
        """The edge that a traversal or a loaded record names: exactly, else after lower-casing."""
        exact = self.edges.get(word)
        return exact if exact is not None else self._edges_by_folded_name.get(word.lower())

    def edges_of(self, node: str) -> Iterator[EdgeType]:
        """The edges that start or end at nodes of this type, by name."""
        return (edge for edge in self.edges.values() if node in (edge.source, edge.target))


def _rebuild(interfaces: dict[str, InterfaceType], nodes: dict[str, NodeType], edges: dict[str, EdgeType]) -> Catalog:
    return Catalog(
        interfaces=MappingProxyType(interfaces), nodes=MappingProxyType(nodes), edges=MappingProxyType(edges)
    )
