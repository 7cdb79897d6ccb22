"""The rules of ids, uniqueness, endpoints and cardinality once more: loops over dicts, written from the specification.

    language.md 13.3, 13.4 and 14.3

Slow and plain on purpose. Answers what is wrong as a multiset of (reason, message, id, line, constraint, holders),
where the line is that of the record and 0 stands for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

Record = Mapping[str, Any]
Verdict = Counter[tuple[str, str, str | None, int, str, tuple[str, ...]]]


class Change(NamedTuple):
    """What happens to a type; ``removed`` are the ids of committed rows that go beside."""

    mode: str
    records: Sequence[Record]
    removed: Sequence[str] = ()


class Type(NamedTuple):
    """A type as the oracle knows it: the ends only of an edge, the key only of a node."""

    name: str
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    ends: tuple[str, str] | None = None
    card: tuple[int, int | None] = (0, None)


def spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "0" if value == 0 else f"{Decimal(repr(value)):f}".removesuffix(".0")
    return str(value)


def judge(types: Sequence[Type], changes: Mapping[str, Change], committed: Mapping[str, Sequence[Record]]) -> Verdict:
    """What is wrong with changes, by name of type, to a graph that is right."""
    found: Verdict = Counter()
    after = {each.name: _image(each, changes.get(each.name), committed.get(each.name, ())) for each in types}
    for each in types:
        change = changes.get(each.name)
        if change is not None:
            _judge_ids(each, change, committed.get(each.name, ()), found)
            for columns in each.unique:
                _judge_unique(each, columns, change, committed.get(each.name, ()), found)
        if each.ends is not None:
            _judge_ends(each, change, changes, committed, after, found)
            if change is not None:
                _judge_card(each, change, committed.get(each.name, ()), after, found)
    return found


def _final(kind: Type, change: Change) -> list[tuple[int, Record]]:
    """Lines and records that are written: the last of an id wins where a merge allows ids to repeat."""
    numbered = list(enumerate(change.records, start=1))
    if change.mode != "upsert" or kind.key:
        return numbered
    last = {record["id"]: line for line, record in numbered}
    return [(line, record) for line, record in numbered if last[record["id"]] == line]


def _kept(change: Change | None, stored: Sequence[Record]) -> list[Record]:
    """Committed rows that stay as they are."""
    if change is None or change.mode == "insert":
        return list(stored)
    if change.mode == "replace":
        return []
    gone = {*(record["id"] for record in change.records), *change.removed}
    return [record for record in stored if record["id"] not in gone]


def _image(kind: Type, change: Change | None, stored: Sequence[Record]) -> list[Record]:
    return _kept(change, stored) + ([] if change is None else [record for _, record in _final(kind, change)])


def _unique_message(kind: Type, columns: tuple[str, ...], record: Record, holder: str) -> str:
    names = sorted(columns)
    values = [spell(record[name]) for name in names]
    where = f"{kind.name}.{names[0]}" if len(names) == 1 else f"{kind.name}.({', '.join(names)})"
    value = f"'{values[0]}'" if len(names) == 1 else f"({', '.join(values)})"
    return f"@unique violation on {where}: value {value} held by '{holder}' and '{record['id']}'"


def _judge_ids(kind: Type, change: Change, stored: Sequence[Record], found: Verdict) -> None:
    seen: set[str] = set()
    there = {record["id"] for record in stored}
    rule = f"@key({', '.join(sorted(kind.key))})" if kind.key else "id"
    for line, record in enumerate(change.records, start=1):
        name = record["id"]
        if name in seen:
            if kind.key:
                message = _unique_message(kind, kind.key, record, name)
                found["unique", message, name, line, rule, (name, name)] += 1
            elif change.mode != "upsert":
                message = f"{kind.name} '{name}': another record already has this id"
                found["key_conflict", message, name, line, rule, (name, name)] += 1
        seen.add(name)
        if change.mode == "insert" and name in there:
            sort = "node" if kind.ends is None else "edge"
            message = f"{kind.name} '{name}': a committed {sort} already has this id"
            found["key_conflict", message, name, line, rule, (name, name)] += 1


def _judge_unique(
    kind: Type, columns: tuple[str, ...], change: Change, stored: Sequence[Record], found: Verdict
) -> None:
    def key(record: Record) -> tuple[str, ...] | None:
        values = [record.get(name) for name in columns]
        return None if None in values else tuple(spell(value) for value in values)

    rule = f"@unique({', '.join(sorted(columns))})"
    first: dict[tuple[str, ...], Record] = {}
    for line, record in enumerate(change.records, start=1):
        spelled = key(record)
        if spelled is not None and spelled in first:
            message = _unique_message(kind, columns, record, first[spelled]["id"])
            found["unique", message, record["id"], line, rule, (first[spelled]["id"], record["id"])] += 1
        elif spelled is not None:
            first[spelled] = record
    for line, record in _final(kind, change):
        for other in _kept(change, stored):
            if key(record) is not None and key(record) == key(other) and record["id"] != other["id"]:
                message = _unique_message(kind, columns, record, other["id"])
                found["unique", message, record["id"], line, rule, (other["id"], record["id"])] += 1


def _judge_ends(
    kind: Type,
    change: Change | None,
    changes: Mapping[str, Change],
    committed: Mapping[str, Sequence[Record]],
    after: Mapping[str, Sequence[Record]],
    found: Verdict,
) -> None:
    assert kind.ends is not None
    for end, node in zip(("src", "dst"), kind.ends, strict=True):
        there = {record["id"] for record in after[node]}
        for line, record in [] if change is None else _final(kind, change):
            if record[end] not in there:
                message = f"{end} '{record[end]}' not found in {node}"
                found["endpoint", message, record["id"], line, f"endpoint {end}", (record[end],)] += 1
        if node not in changes or not (changes[node].mode == "replace" or changes[node].removed):
            continue
        for record in _kept(change, committed.get(kind.name, ())):
            if record[end] not in there:
                message = (
                    f"{end} '{record[end]}' not found in {node}: the committed edge {kind.name} '{record['id']}' "
                    "would point to a node that this write removes"
                )
                found["orphan_edge", message, record["id"], 0, f"endpoint {end}", (record[end],)] += 1


def _judge_card(
    kind: Type, change: Change, stored: Sequence[Record], after: Mapping[str, Sequence[Record]], found: Verdict
) -> None:
    assert kind.ends is not None
    low, high = kind.card
    final = _final(kind, change)
    kept = _kept(change, stored)
    lost = [record for record in stored if record not in kept]
    there = {record["id"] for record in after[kind.ends[0]]}
    for source in {record["src"] for _, record in final} | {record["src"] for record in lost}:
        if source not in there:
            continue
        count = sum(record["src"] == source for record in after[kind.name])
        broken = f"min {low}" if count < low else f"max {high}" if high is not None and count > high else None
        if broken is not None:
            lines = [(line, record["id"]) for line, record in final if record["src"] == source]
            line, name = max(lines, default=(0, None))
            message = f"@card violation on edge {kind.name}: source '{source}' has {count} edges ({broken})"
            rule = f"@card({low}..{'' if high is None else high})"
            found["cardinality", message, name, line, rule, (source,)] += 1
