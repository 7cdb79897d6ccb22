"""``ModelGraph``: a graph as plain dicts, with the verbs of a real one; the oracle of random tests.

    records    ── load(mode) ──> the next state, or ModelRefusalError and the state before
    statements ── mutate ──────> the same; see ``mutation_model``

It says again, row by row and without any table, what a load means: which ids rows get, which rows a mode keeps, and
what is refused. It is slow and small on purpose. Values are kept as they are given, so give them as an export spells
them; only the rules about rows are modelled, not how values are parsed.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from omnigraph.lang.types import ValueType
from omnigraph.schema import Catalog, Check, EdgeType, NodeType, Range, Unique
from omnigraph.schema.catalog import SYSTEM_COLUMNS
from omnigraph.schema.ids import spell_value
from omnigraph.testing.value_model import stored_value

Mode = Literal["append", "merge", "overwrite"]
Record = Mapping[str, Any]

FRESH: Final = "fresh:"
"""Begins the ids that the model gives where a real graph gives ULIDs."""


class ModelRefusalError(Exception):
    """The load or mutation breaks a rule; the model is as it was before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """A node, or with ``source`` and ``target`` an edge.

    Attributes:
        values: every property of its type, absent ones as None.
        is_named: whether the record or its key gave the id.
    """

    id: str
    values: Mapping[str, Any]
    source: str | None = None
    target: str | None = None
    is_named: bool = True

    def column(self, name: str) -> Any:
        return {"src": self.source, "dst": self.target}.get(name) if name in ("src", "dst") else self.values[name]


@dataclass(slots=True)
class ModelGraph:
    """The rows of every type, by key of the type (``node:Film``) and id."""

    catalog: Catalog
    rows: dict[str, dict[str, ModelRow]] = field(default_factory=dict)
    _fresh: Iterator[int] = field(default_factory=itertools.count, repr=False)

    def __post_init__(self) -> None:
        for key, _ in self._types():
            self.rows.setdefault(key, {})

    def load(self, records: Iterable[Record], mode: Mode) -> None:
        """Take records in the form of loader lines, as decoded JSON.

        Raises:
            ModelRefusalError: they break a rule.
        """
        batch: dict[str, list[ModelRow]] = {}
        for record in records:
            key, row = self._row(record)
            batch.setdefault(key, []).append(row)
        for key, rows in batch.items():
            self.check_values(key, rows)
            self._check_within_batch(key, rows, mode)
        after = dict(self.rows)
        for key, rows in batch.items():
            after[key] = self._next_image(key, rows, mode)
        for key in batch:
            self.check_unique(key, after[key].values())
        self.check_endpoints(after)
        for key in batch:
            self.check_cardinality(key, after)
        self.rows = after

    def content(self) -> dict[str, Counter[str]]:
        """What a graph holds, in a form that can be compared; rows whose ids were not named are compared without."""
        return {key: Counter(_spelled(row) for row in rows.values()) for key, rows in self.rows.items()}

    def fresh_id(self) -> str:
        """An id that no row has, for a row that is given none."""
        return f"{FRESH}{next(self._fresh)}"

    # ── one record ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _row(self, record: Record) -> tuple[str, ModelRow]:
        data = dict(record.get("data", {}))
        given = data.pop("id", None)
        name = record.get("type") or record["edge"]
        owner = self.catalog.nodes[name] if "type" in record else self.catalog.edges[name]
        values = {each: data.pop(each, None) for each in owner.by_name}
        if data:
            raise ModelRefusalError(f"unknown input field {sorted(data)}")
        derived = key_id(owner, values) if isinstance(owner, NodeType) else None
        if derived is not None and given not in (None, derived):
            raise ModelRefusalError(f"id {given!r} is not that of the key")
        identifier = given if derived is None else derived
        row = ModelRow(
            id=self.fresh_id() if identifier is None else identifier,
            values=values,
            source=record.get("from"),
            target=record.get("to"),
            is_named=identifier is not None,
        )
        return f"{'node' if 'type' in record else 'edge'}:{name}", row

    def check_values(self, key: str, rows: Iterable[ModelRow]) -> None:
        """Raise ``ModelRefusalError`` unless each row keeps the rules about its own values; so do the others here."""
        owner = self.type_of(key)
        for row in rows:
            for name, property_ in owner.by_name.items():
                value = row.values[name]
                if value is None and not property_.type.is_nullable:
                    raise ModelRefusalError(f"{key}.{name} is required")
                allowed = property_.type.enum_values
                items = value if isinstance(value, list) else [value]
                if allowed is not None and any(item is not None and item not in allowed for item in items):
                    raise ModelRefusalError(f"{key}.{name} has the values {allowed}")
            for rule in owner.constraints:
                if isinstance(rule, Range | Check) and not _passes(rule, row.values[rule.property]):
                    raise ModelRefusalError(f"{key}.{rule.property}: {rule}")

    # ── one type ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_within_batch(self, key: str, rows: list[ModelRow], mode: Mode) -> None:
        owner = self.type_of(key)
        is_keyed = isinstance(owner, NodeType) and bool(owner.key)
        ids = [row.id for row in rows]
        if len(set(ids)) < len(ids) and (is_keyed or mode != "merge"):
            raise ModelRefusalError(f"{key}: one id twice")
        self.check_unique(key, rows)

    def _next_image(self, key: str, rows: list[ModelRow], mode: Mode) -> dict[str, ModelRow]:
        stored = self.rows[key]
        if mode == "overwrite":
            return {row.id: row for row in rows}
        if mode == "merge":
            named = {row.id for row in rows if row.is_named}
            return {**stored, **{row.id: row for row in (self._upserted(key, row, named) for row in rows)}}
        twice = [row.id for row in rows if row.id in stored]
        if twice:
            raise ModelRefusalError(f"{key} already has the ids {twice}")
        return {**stored, **{row.id: row for row in rows}}

    def _upserted(self, key: str, row: ModelRow, named: set[str]) -> ModelRow:
        """An edge without an id takes the place of the one that has its unique tuple of ends, if there is one.

        A stored edge that the same records name by its id is what they say, and gives no place away.
        """
        owner = self.type_of(key)
        ends = next((rule for rule in _uniques(owner) if {"src", "dst"} <= set(rule.columns)), None)
        if row.is_named or ends is None:
            return row
        held = _tuple(owner, row, ends)
        for other in self.rows[key].values():
            if held is not None and other.id not in named and _tuple(owner, other, ends) == held:
                return replace(row, id=other.id, is_named=other.is_named)
        return row

    def check_unique(self, key: str, rows: Iterable[ModelRow]) -> None:
        """Raise unless no two of these rows of a type have the same unique tuple."""
        for rule, _ in self.clashes(key, rows):
            raise ModelRefusalError(f"@unique violation on {key}.{rule.columns}")

    def clashes(self, key: str, rows: Iterable[ModelRow]) -> Iterator[tuple[Unique, list[ModelRow]]]:
        """Those of these rows of a type that have one unique tuple together, rule by rule."""
        kept = list(rows)
        owner = self.type_of(key)
        for rule in _uniques(owner):
            holders: dict[tuple[str, ...], list[ModelRow]] = {}
            for row in kept:
                held = _tuple(owner, row, rule)
                if held is not None:
                    holders.setdefault(held, []).append(row)
            yield from ((rule, each) for each in holders.values() if len(each) > 1)

    # ── the whole graph ──────────────────────────────────────────────────────────────────────────────────────────────

    def check_endpoints(self, after: Mapping[str, Mapping[str, ModelRow]]) -> None:
        """Raise unless both ends of every edge of an image are in it."""
        for key, row in self.stranded(after):
            raise ModelRefusalError(f"{key} {row.id}: an end is missing")

    def stranded(self, after: Mapping[str, Mapping[str, ModelRow]]) -> Iterator[tuple[str, ModelRow]]:
        """The edges of an image that start or end at a node that is not in it, each with the key of its type."""
        for name, edge in self.catalog.edges.items():
            for row in after[f"edge:{name}"].values():
                if row.source not in after[f"node:{edge.source}"] or row.target not in after[f"node:{edge.target}"]:
                    yield f"edge:{name}", row

    def check_cardinality(self, key: str, after: Mapping[str, Mapping[str, ModelRow]]) -> None:
        """Raise unless every source that an image touches, and leaves there, has as many edges as it may."""
        for source, count in self.miscounted(key, after):
            raise ModelRefusalError(f"@card violation on {key}: {source} has {count}")

    def miscounted(self, key: str, after: Mapping[str, Mapping[str, ModelRow]]) -> Iterator[tuple[str, int]]:
        """The sources that an image touches, and leaves there, with too many edges of a type or too few; how many."""
        edge = self.type_of(key)
        if not isinstance(edge, EdgeType):
            return
        before, image = self.rows[key], after[key]
        changed = [row for row in before.values() if image.get(row.id) != row]
        written = [row for row in image.values() if before.get(row.id) != row]
        counts = Counter(row.source for row in image.values())
        for source in {row.source for row in (*changed, *written)} & set(after[f"node:{edge.source}"]):
            most = edge.cardinality.maximum
            if counts[source] < edge.cardinality.minimum or (most is not None and counts[source] > most):
                yield str(source), counts[source]

    def _types(self) -> Iterator[tuple[str, NodeType | EdgeType]]:
        yield from ((f"edge:{name}", edge) for name, edge in self.catalog.edges.items())
        yield from ((f"node:{name}", node) for name, node in self.catalog.nodes.items())

    def type_of(self, key: str) -> NodeType | EdgeType:
        """The type behind a key such as ``node:Film``."""
        kind, _, name = key.partition(":")
        return self.catalog.nodes[name] if kind == "node" else self.catalog.edges[name]


def content_of_export(lines: Iterable[str], model: ModelGraph) -> dict[str, Counter[str]]:
    """What a real graph holds, by its export, in the form of ``ModelGraph.content``.

    A row of the export counts as named if the model has a row of that id whose id was named.
    """
    found: dict[str, Counter[str]] = {key: Counter() for key in model.rows}
    for line in lines:
        record = json.loads(line)
        key = f"node:{record['type']}" if "type" in record else f"edge:{record['edge']}"
        values = dict(record["data"])
        identifier = values.pop("id")
        known = model.rows[key].get(identifier)
        row = ModelRow(
            id=identifier,
            values=values,
            source=record.get("from"),
            target=record.get("to"),
            is_named=known is not None and known.is_named,
        )
        found[key][_spelled(row)] += 1
    return found


def _spelled(row: ModelRow) -> str:
    facts = {"id": row.id if row.is_named else None, "from": row.source, "to": row.target, **row.values}
    return json.dumps(facts, ensure_ascii=False, sort_keys=True)


def key_id(node: NodeType, values: Mapping[str, Any]) -> str | None:
    """The id that follows from the key; None for a type without one. A missing key value is refused elsewhere."""
    if not node.key:
        return None
    parts = ["" if values[name] is None else _canonical(values[name], node.by_name[name].type) for name in node.key]
    return parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _canonical(value: Any, kind: ValueType) -> str:
    return spell_value(stored_value(value, kind), kind)


def _uniques(owner: NodeType | EdgeType) -> list[Unique]:
    return [rule for rule in owner.constraints if isinstance(rule, Unique)]


def _tuple(owner: NodeType | EdgeType, row: ModelRow, rule: Unique) -> tuple[str, ...] | None:
    """The values that must not occur twice; None when one of them is null, which exempts the row."""
    values = {name: row.column(name) for name in rule.columns}
    if any(value is None for value in values.values()):
        return None
    return tuple(
        value if name in SYSTEM_COLUMNS else _canonical(value, owner.by_name[name].type)
        for name, value in values.items()
    )


def _passes(rule: Range | Check, value: Any) -> bool:
    if value is None:
        return True
    if isinstance(rule, Check):
        # Only for patterns that Python and Rust read alike.
        return re.search(rule.pattern, value) is not None
    least, most = rule.minimum, rule.maximum
    return (least is None or value >= least) and (most is None or value <= most)
