"""A record's outer form: which type it belongs to, its endpoints and its data. Exactly two forms exist.

    {"type": "Film", "data": {...}}        {"edge": "Rented", "from": "ann", "to": "SF-1", "data": {...}}

``data`` may be left out. Names of node types are exact; an edge type is found after lower-casing too, as in queries.
A text that is known to hold one type only needs no form around its data; the ends of an edge are members like others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.values import converter_of, shown

_FORMS: Final = (
    'a record is {"type": ..., "data": {...}} for a node, or {"edge": ..., "from": ..., "to": ..., "data": {...}} '
    "for an edge"
)
_MIXED: Final = "a file of records with their types is given without a type"
_NODE_MEMBERS: Final = frozenset({"type", "data"})
_EDGE_MEMBERS: Final = frozenset({"edge", "from", "to", "data"})
_NO_DATA: Final[Mapping[str, Any]] = {}

ENDS: Final = {"src": ("src", "from"), "dst": ("dst", "to")}
"""What the two ends of an edge may be called where they stand among its properties."""

read_id: Final = converter_of(ValueType(Scalar.STRING))
"""An id, or an end of an edge, as it is stored."""


class Envelope(NamedTuple):
    """What a record says beside its properties; ``src`` and ``dst`` are empty for a node."""

    target: TypeTable
    data: Mapping[str, Any]
    src: str = ""
    dst: str = ""


class EnvelopeReader:
    """Reads the outer form of records against one schema."""

    def __init__(self, schema: GraphSchema) -> None:
        self._schema = schema
        self._edges: dict[str, TypeTable] = {}
        self._nodes = {name: schema.node(name) for name in schema.catalog.nodes}

    def read(self, record: Any) -> Envelope:
        """The parts of a record.

        Raises:
            Misfit: it has neither form, or names no type.
        """
        if type(record) is not dict and not isinstance(record, Mapping):
            raise Misfit(Reason.BAD_ENVELOPE, f"got {shown(record)}, and {_FORMS}")
        if "type" in record:
            self._check_members(record, _NODE_MEMBERS)
            return Envelope(self.find_node(record["type"]), self._data(record))
        if "edge" in record:
            self._check_members(record, _EDGE_MEMBERS)
            target = self.find_edge(record["edge"])
            return Envelope(target, self._data(record), self._end(record, "from"), self._end(record, "to"))
        raise Misfit(Reason.BAD_ENVELOPE, f'there is neither "type" nor "edge"; {_FORMS}')

    def find_node(self, name: Any) -> TypeTable:
        """The node type of this name.

        Raises:
            Misfit: there is none.
        """
        found = self._nodes.get(name) if isinstance(name, str) else None
        if found is None:
            raise self._unknown(name, "node")
        return found

    def find_edge(self, name: Any) -> TypeTable:
        """The edge type of this name, whatever the case of its letters.

        Raises:
            Misfit: there is none.
        """
        found = self._edges.get(name) if isinstance(name, str) else None
        if found is None:
            edge = self._schema.catalog.find_edge(name) if isinstance(name, str) else None
            if edge is None:
                raise self._unknown(name, "edge")
            # At most as many entries as there are types: other spellings are looked up anew.
            found = self._edges[edge.name] = self._schema.edge(edge.name)
        return found

    def _unknown(self, name: Any, kind: str) -> Misfit:
        member = "type" if kind == "node" else "edge"
        if not isinstance(name, str):
            article = "a" if kind == "node" else "an"
            return Misfit(
                Reason.BAD_ENVELOPE, f'"{member}" expects the name of {article} {kind} type, got {shown(name)}'
            )
        catalog = self._schema.catalog
        text = f"there is no {kind} type {shown(name)}"
        choices = catalog.nodes if kind == "node" else catalog.edges
        if kind == "node" and name in catalog.edges:
            text += f'; it is an edge type: {{"edge": {shown(name)}, "from": ..., "to": ...}}'
        elif kind == "edge" and name in catalog.nodes:
            text += f'; it is a node type: {{"type": {shown(name)}, "data": {{...}}}}'
        elif kind == "node" and name in catalog.interfaces:
            text += "; it is an interface, and records name the node type that implements it"
        elif guess := closest(name, choices):
            text += f', did you mean "{guess}"?'
        else:
            text += f"; there are: {listed(choices)}"
        return Misfit(Reason.UNKNOWN_TYPE, text)

    @staticmethod
    def _check_members(record: Mapping[str, Any], allowed: frozenset[str]) -> None:
        if record.keys() <= allowed:
            return
        extra = next(name for name in record if name not in allowed)
        what = "a node" if allowed is _NODE_MEMBERS else "an edge"
        hint = "; an id goes into data" if extra == "id" else f"; {_FORMS}"
        raise Misfit(Reason.BAD_ENVELOPE, f"{shown(extra)} does not belong beside the data of {what}{hint}")

    @staticmethod
    def _data(record: Mapping[str, Any]) -> Mapping[str, Any]:
        data = record.get("data", _NO_DATA)
        if type(data) is not dict and not isinstance(data, Mapping):
            raise Misfit(Reason.BAD_ENVELOPE, f'"data" expects an object, got {shown(data)}')
        return data

    @staticmethod
    def _end(record: Mapping[str, Any], name: str) -> str:
        if name not in record:
            raise Misfit(Reason.BAD_ENVELOPE, f'an edge needs "from" and "to", and "{name}" is missing', name=name)
        return read_end(name, record[name])


class RowForm:
    """Reads records that are rows of one type, without a form around their data."""

    def __init__(self, target: TypeTable) -> None:
        self.target = target

    def read(self, record: Any) -> Envelope:
        """The parts of a row.

        Raises:
            Misfit: it is no object, or an edge without two ends.
        """
        if type(record) is not dict:
            raise Misfit(Reason.BAD_ENVELOPE, f"got {shown(record)}, and a row of {self.target.name} is an object")
        if "data" in record and "data" not in self.target.type.by_name and ("type" in record or "edge" in record):
            text = f"this is a record with its type, and plain rows of {self.target.name} are expected; {_MIXED}"
            raise Misfit(Reason.BAD_ENVELOPE, text)
        if self.target.kind == "node":
            return Envelope(self.target, record)
        data = dict(record)
        src, dst = (self._take_end(data, names) for names in ENDS.values())
        return Envelope(self.target, data, src, dst)

    @staticmethod
    def _take_end(data: dict[str, Any], names: tuple[str, str]) -> str:
        given = [name for name in names if name in data]
        if len(given) != 1:
            what = "both are there" if given else "neither is there"
            text = f'an edge needs a member "{names[0]}" or "{names[1]}", and {what}'
            raise Misfit(Reason.BAD_ENVELOPE, text, name=names[1])
        return read_end(given[0], data.pop(given[0]))


def read_end(name: str, value: Any) -> str:
    """The id that an end of an edge names.

    Raises:
        Misfit: it is none.
    """
    try:
        end: str = read_id(value)
    except Misfit as misfit:
        raise Misfit(misfit.reason, f'"{name}" {misfit.text}; it is the id of a node', name=name) from None
    return end
