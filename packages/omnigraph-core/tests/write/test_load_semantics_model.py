"""Any sequence of loads does what a few dictionaries do: the same loads are refused, and the same rows are left.

The model is written from the rules of the language: modes, keys, unique tuples, endpoints and cardinality. Every load
goes to two graphs, one that holds its rows in memory and one that spills each record to a file.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import ConstraintError
from omnigraph.write import load as loading
from omnigraph.write.records.reading import read_records

SCHEMA = """
node Person { handle: String @key  mail: String? @unique }
node Note { text: F64? @unique }
edge Knows: Person -> Person { since: I32?  @unique(src, dst) }
edge Wrote: Person -> Note @card(0..2)
"""

ENDS = {"Knows": ("Person", "Person"), "Wrote": ("Person", "Note")}
UNIQUE = {"Person": ("mail",), "Note": ("text",), "Knows": ("src", "dst")}
MOST_WROTE = 2

# Few values, so that they meet. Every record of a keyless type has an id, or the two graphs could not be compared.
HANDLES = st.sampled_from(["a", "b", "c"])
IDS = st.sampled_from(["1", "2", "3"])
person = st.builds(
    lambda handle, mail: ("Person", {"handle": handle, "mail": mail}, {}),
    HANDLES,
    st.sampled_from([None, "m", "n"]),
)
note = st.builds(
    lambda key, text: ("Note", {"id": key, "text": text}, {}), IDS, st.sampled_from([None, 0.0, -0.0, 1.5])
)
knows = st.builds(
    lambda src, dst, key, since: ("Knows", {"since": since} | key, {"from": src, "to": dst}),
    HANDLES,
    HANDLES,
    # Without an id it is recognised by its ends.
    st.one_of(st.just({}), IDS.map(lambda key: {"id": key})),
    st.integers(0, 3),
)
wrote = st.builds(lambda src, dst, key: ("Wrote", {"id": key}, {"from": src, "to": dst}), HANDLES, IDS, IDS)
records = st.lists(st.one_of(person, person, note, knows, wrote), max_size=6)
loads = st.lists(st.tuples(st.sampled_from(["append", "merge", "merge", "overwrite"]), records), min_size=1, max_size=5)

Rows = dict[str, dict[str, dict[str, Any]]]


class RefusedError(Exception):
    """What the model says to a load that breaks a rule."""


def apply(state: Rows, mode: str, given: list[tuple[str, dict[str, Any], dict[str, str]]]) -> Rows:
    """The rows after a load, by type and id.

    Raises:
        RefusedError: a rule is broken.
    """
    after = copy.deepcopy(state)
    by_type: dict[str, list[dict[str, Any]]] = {}
    for name, data, ends in given:
        row = dict(data)
        if ends:
            row |= {"src": ends["from"], "dst": ends["to"]}
        if name == "Person":
            row["id"] = row["handle"]
        by_type.setdefault(name, []).append(row)
    for name, rows in by_type.items():
        _refuse_repeated(name, rows, mode)
        kept = {} if mode == "overwrite" else after[name]
        named = {row["id"] for row in rows if "id" in row}
        for row in rows:
            if "id" not in row:
                row["id"] = _recognised(state[name], row, named) if mode == "merge" else f"new {uuid.uuid4()}"
        _refuse_taken(kept, rows, mode)
        after[name] = kept | {row["id"]: row for row in rows}
    _refuse_broken(after, {"Wrote"} & set(by_type))
    return after


def _recognised(kept: dict[str, dict[str, Any]], row: dict[str, Any], named: set[str]) -> str:
    for key, other in kept.items():
        if key not in named and (other["src"], other["dst"]) == (row["src"], row["dst"]):
            return key
    return f"new {uuid.uuid4()}"


def _refuse_repeated(name: str, rows: list[dict[str, Any]], mode: str) -> None:
    tuples = Counter(_tuple(name, row) for row in rows)
    tuples.pop(None, None)
    if any(count > 1 for count in tuples.values()):
        raise RefusedError
    ids = Counter(row["id"] for row in rows if "id" in row)
    if (name == "Person" or mode != "merge") and any(count > 1 for count in ids.values()):
        raise RefusedError


def _refuse_taken(kept: dict[str, dict[str, Any]], rows: list[dict[str, Any]], mode: str) -> None:
    if mode == "append" and any(row["id"] in kept for row in rows):
        raise RefusedError


def _refuse_broken(after: Rows, touched: set[str]) -> None:
    for name in UNIQUE:
        held = Counter(_tuple(name, row) for row in after[name].values())
        held.pop(None, None)
        if any(count > 1 for count in held.values()):
            raise RefusedError
    for name, (source, target) in ENDS.items():
        if any(row["src"] not in after[source] or row["dst"] not in after[target] for row in after[name].values()):
            raise RefusedError
    for name in touched:
        if any(count > MOST_WROTE for count in Counter(row["src"] for row in after[name].values()).values()):
            raise RefusedError


def _tuple(name: str, row: dict[str, Any]) -> tuple[Any, ...] | None:
    values = tuple(row.get(column) for column in UNIQUE.get(name, ()))
    return None if not values or None in values else values


def line(name: str, data: dict[str, Any], ends: dict[str, str]) -> str:
    return json.dumps({"edge" if ends else "type": name, **ends, "data": data})


def shown(rows: list[dict[str, Any]]) -> list[str]:
    """Rows without ids that were minted, in an order of their own."""
    plain = []
    for row in rows:
        is_minted = len(row["id"]) > 3
        plain.append(json.dumps({key: row[key] for key in sorted(row) if key != "id" or not is_minted}))
    return sorted(plain)


@given(loads=loads)
@settings(max_examples=15)
def test_loads_do_what_the_model_does(loads: list[tuple[str, list[Any]]]):
    plain, spilling = (og.init(f"memory://model-{uuid.uuid4().hex}", schema=SCHEMA) for _ in range(2))
    state: Rows = {name: {} for name in ("Person", "Note", "Knows", "Wrote")}
    for mode, given_records in loads:
        text = "\n".join(line(*each) for each in given_records)
        try:
            state, is_refused = apply(state, mode, given_records), False
        except RefusedError:
            is_refused = True
        problems = []
        for graph, load in ((plain, plain.load), (spilling, partial(_spill, spilling))):
            if is_refused:
                with pytest.raises(ConstraintError) as refused:
                    load(text, mode)
                found = refused.value.details["problems"]
                problems.append([(each["reason"], each["type_key"], each.get("line")) for each in found])
            else:
                load(text, mode)
            for name, rows in state.items():
                assert shown(graph.table(name).rows()) == shown([*rows.values()]), (mode, name)
        assert not problems or problems[0] == problems[1]


def _spill(graph: og.Graph, text: str, mode: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "read_records", partial(read_records, chunk_rows=1))
        loading.load(graph._repository, text, loading.LoadRequest(mode=loading.LoadMode(mode), spill_bytes=1))
