"""A graph as plain dictionaries, and what each operation makes of it: the model that the runs from outside judge by.

It is written from the documentation alone and imports nothing of the product. A state has four tables:

    Person[name]  -> (age, note)            Knows[label] -> (from, to, weight)
    Memo[text]    -> (stars,)               Wrote[label] -> (from, text of the memo)

Names of persons are keys, and plans give every memo and every edge a text or label of its own; so each row is known
by one word, whoever made its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

SCHEMA: Final = """
node Person { name: String @key  age: I32 @index  note: String? }
node Memo { text: String  stars: I32 }
edge Knows: Person -> Person { label: String  weight: I32 }
edge Wrote: Person -> Memo { label: String }
"""

NODES: Final = ("Person", "Memo")
EDGES: Final = {"Knows": ("Person", "Person"), "Wrote": ("Person", "Memo")}
TABLES: Final = (*NODES, *EDGES)

State = Mapping[str, Mapping[str, tuple[Any, ...]]]
Tables = dict[str, dict[str, tuple[Any, ...]]]

EMPTY: Final[State] = {name: {} for name in TABLES}


class ImpossibleError(Exception):
    """The operation cannot succeed on this state, so a commit of it is wrong."""


def copied(state: State) -> Tables:
    return {name: dict(rows) for name, rows in state.items()}


# ── what an operation does ───────────────────────────────────────────────────────────────────────────────────────────


def applied(state: State, operation: Mapping[str, Any]) -> tuple[Tables, tuple[int, int]]:
    """The state after a mutation or load, and how many nodes and edges it says that it affected."""
    tables = copied(state)
    if operation["verb"] == "load":
        affected = _load(tables, operation["mode"], operation["records"])
    else:
        affected = _mutate(tables, operation["statements"])
    orphans = orphans_of(tables)
    if orphans:
        raise ImpossibleError(f"edges without their nodes: {orphans[:3]}")
    return tables, affected


def orphans_of(tables: State) -> list[str]:
    return [
        f"{name} {label}"
        for name, ends in EDGES.items()
        for label, row in tables[name].items()
        if any(row[number] not in tables[end] for number, end in enumerate(ends))
    ]


def _mutate(tables: Tables, statements: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    nodes = edges = 0
    for each in statements:
        match each["do"]:
            case "put person":
                tables["Person"][each["name"]] = (each["age"], each["note"])
                nodes += 1
            case "add memo":
                tables["Memo"][each["text"]] = (each["stars"],)
                nodes += 1
            case "set age":
                if each["name"] in tables["Person"]:
                    tables["Person"][each["name"]] = (each["age"], tables["Person"][each["name"]][1])
                    nodes += 1
            case "note older":
                for name, (age, _) in list(tables["Person"].items()):
                    if age > each["than"]:
                        tables["Person"][name] = (age, each["note"])
                        nodes += 1
            case "know":
                tables["Knows"][each["label"]] = (each["from"], each["to"], each["weight"])
                edges += 1
            case "drop person":
                gone = [name for name in tables["Person"] if name == each["name"]]
                nodes, edges = nodes + len(gone), edges + _drop_nodes(tables, "Person", gone)
            case "drop older":
                gone = [name for name, (age, _) in tables["Person"].items() if age > each["than"]]
                nodes, edges = nodes + len(gone), edges + _drop_nodes(tables, "Person", gone)
            case "drop memos":
                gone = [text for text, (stars,) in tables["Memo"].items() if stars > each["stars"]]
                nodes, edges = nodes + len(gone), edges + _drop_nodes(tables, "Memo", gone)
            case "drop knows":
                edges += len([tables["Knows"].pop(each["label"])] if each["label"] in tables["Knows"] else [])
            case "drop knows from":
                leaving = [label for label, row in tables["Knows"].items() if row[0] == each["from"]]
                edges += len([tables["Knows"].pop(label) for label in leaving])
            case unknown:
                raise ValueError(unknown)
    return nodes, edges


def _drop_nodes(tables: Tables, name: str, keys: Iterable[str]) -> int:
    """Remove nodes and every edge at them; how many edges went."""
    gone, count = set(keys), 0
    for key in gone:
        del tables[name][key]
    for edge, ends in EDGES.items():
        for label, row in list(tables[edge].items()):
            if any(end == name and row[number] in gone for number, end in enumerate(ends)):
                del tables[edge][label]
                count += 1
    return count


def _load(tables: Tables, mode: str, records: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    rows = [row_of(record) for record in records]
    if mode == "overwrite":
        for name in {name for name, _, _ in rows}:
            tables[name].clear()
    for name, key, row in rows:
        if mode == "append" and key in tables[name]:
            raise ImpossibleError(f"an append of {name} {key}, which is there already")
        tables[name][key] = row
    nodes = sum(1 for name, _, _ in rows if name in NODES)
    return nodes, len(rows) - nodes


def row_of(record: Mapping[str, Any]) -> tuple[str, str, tuple[Any, ...]]:
    """The table, key and row of a record as loads take it and exports give it."""
    data = record["data"]
    if record.get("type") == "Person":
        return "Person", data["name"], (data["age"], data.get("note"))
    if record.get("type") == "Memo":
        return "Memo", data["text"], (data["stars"],)
    if record.get("edge") == "Knows":
        return "Knows", data["label"], (record["from"], record["to"], data["weight"])
    return "Wrote", data["label"], (record["from"], record["to"])


# ── merges ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def merged(base: State, source: State, target: State, strategy: str) -> Tables:
    """What a merge makes of the target, row by row."""
    result: Tables = {name: {} for name in TABLES}
    for name in TABLES:
        for key in {**base[name], **source[name], **target[name]}:
            before, theirs, ours = (side[name].get(key) for side in (base, source, target))
            if theirs in (before, ours):
                kept = ours
            elif ours == before:
                kept = theirs
            elif strategy == "fail":
                raise ImpossibleError(f"a merge although both sides changed {name} {key}")
            else:
                kept = ours if strategy == "ours" else theirs
            if kept is not None:
                result[name][key] = kept
    orphans = orphans_of(result)
    if orphans:
        raise ImpossibleError(f"a merge that leaves edges without their nodes: {orphans[:3]}")
    return result


# ── what a reader saw ────────────────────────────────────────────────────────────────────────────────────────────────


def seen_in(lines: Iterable[str]) -> tuple[Tables, list[str]]:
    """The state that the lines of an export show, and what is wrong with it whatever was written."""
    tables, wrong = copied(EMPTY), []
    ids: dict[str, dict[str, str]] = {name: {} for name in NODES}
    edges = []
    for line in lines:
        record = json.loads(line)
        name, key, row = row_of(record)
        if key in tables[name]:
            wrong.append(f"{name} {key} is there twice")
        tables[name][key] = row
        if name in NODES:
            if record["data"]["id"] in ids[name]:
                wrong.append(f"two rows of {name} have the id {record['data']['id']}")
            ids[name][record["data"]["id"]] = key
        else:
            edges.append((name, key, record["from"], record["to"]))
    for name, key, *ends in edges:
        found = [ids[end].get(id_) for end, id_ in zip(EDGES[name], ends, strict=True)]
        if None in found:
            wrong.append(f"{name} {key} goes from {ends[0]} to {ends[1]}, one of which is not there")
        else:
            tables[name][key] = (*found, *tables[name][key][2:])
    return tables, wrong


def difference(expected: State, actual: State, most: int = 5) -> list[str]:
    """In words, where two states differ."""
    told = []
    for name in TABLES:
        for key in sorted({**expected[name], **actual[name]}):
            here, there = expected[name].get(key), actual[name].get(key)
            if here != there:
                told.append(f"{name} {key} is {_short(there)}, and {_short(here)} was expected")
    return [*told[:most], f"and {len(told) - most} more"] if len(told) > most else told


def _short(row: tuple[Any, ...] | None) -> str:
    return "not there" if row is None else str(row)[:80]
