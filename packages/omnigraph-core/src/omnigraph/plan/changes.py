"""What is to be changed: the operations of a mutation, in the order of the query.

An operation sees the committed state and what the operations before it did. All of them become one commit; none when
nothing matched. A plan holds only inserts and updates, or only deletes. Conversion of values and the integrity of the
final state are checked by whoever runs it. Facts of the schema that running needs are here, so that no catalog is.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.query.checked import Assignment, CheckedParameter, Given, Predicate


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector that is left out, to be made from the text of another property of the same node."""

    property: str
    dimension: int
    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class InsertNode:
    """One node: counts 1.

    With a key, the id follows from the key columns and a node of that id is replaced as a whole. Without one, the node
    is new and gets a fresh id.

    Attributes:
        key: the key columns by ascending name; empty for a keyless type. The id puts their values in the order of the
            stable property ids, which renames do not change.
        unset: the properties that become null, replacing what a node of this id had; ascending.
    """

    type_name: str
    key: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    unset: tuple[str, ...] = ()
    embeddings: tuple[Embedding, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """One new edge with a fresh id, from the node of id ``source`` to that of id ``target``: counts 1.

    The nodes may be inserted by a later operation of the same plan. Properties in ``unset`` are null.
    """

    type_name: str
    source_type: str
    target_type: str
    source: Given
    target: Given
    assignments: tuple[Assignment, ...] = ()
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateNodes:
    """Every node for which the predicate is true gets the assigned values and keeps the others: counts each one.

    Attributes:
        key: the key columns, none of which is assigned.
    """

    type_name: str
    key: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Cascade:
    """An edge type whose edges go with deleted nodes: those that start at one, that end at one, or both kinds."""

    edge: str
    at_source: bool
    at_target: bool


@dataclass(frozen=True, slots=True)
class DeleteNodes:
    """Every node for which the predicate is true, and all edges at it; each node and each edge counts once per plan."""

    type_name: str
    predicate: Predicate
    cascades: tuple[Cascade, ...]


@dataclass(frozen=True, slots=True)
class DeleteEdges:
    """Every edge for which the predicate is true; ``src`` and ``dst`` are ids. Each edge counts once per plan."""

    type_name: str
    predicate: Predicate


Operation = InsertNode | InsertEdge | UpdateNodes | DeleteNodes | DeleteEdges


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationPlan:
    """A mutation, ready to run."""

    name: str
    parameters: tuple[CheckedParameter, ...]
    operations: tuple[Operation, ...]
