"""Which values count as the same in a merge: a change is seen, and the same change on both sides is no conflict.

Values are equal as typed values are: null, an empty text and an empty list differ, and so do 0.0 and -0.0, because an
export tells them apart. NaN is never stored.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import MergeConflictError

SCHEMA = """
node Thing {
    name: String @key
    text: String?
    texts: [String]?
    numbers: [F64]?
    flag: Bool?
    kind: enum(a, b)?
    i32: I32?
    i64: I64?
    u64: U64?
    f32: F32?
    f64: F64?
    day: Date?
    time: DateTime?
    vec: Vector(2)?
    body: Blob?
    _row_x: I32?
}
"""
VALUES: dict[str, tuple[Any, Any, Any]] = {
    "text": (None, "", " "),
    "texts": (None, [], [""]),
    "numbers": ([0.0], [-0.0], [0.0, 0.0]),
    "flag": (None, False, True),
    "kind": (None, "a", "b"),
    "i32": (None, 0, 1),
    "i64": (2**53, 2**53 + 1, -(2**63)),
    "u64": (2**63, 2**64 - 1, 0),
    "f32": (None, 0.0, -0.0),
    "f64": (0.0, -0.0, 1e-300),
    "day": (None, "1970-01-01", "1970-01-02"),
    "time": ("1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.001Z", None),
    "vec": ([0.0, 1.0], [-0.0, 1.0], None),
    "body": (None, "base64:YQ==", "base64:Yg=="),
    "_row_x": (None, 0, 1),
}
"""Three values of each property, no two of which are the same."""

CELLS = {
    f"{name}-{''.join(map(str, places))}": (name, places)
    for name in VALUES
    for places in [*permutations(range(3)), (0, 1, 1), (0, 1, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1), (2, 2, 1), (2, 0, 2)]
}
"""Rows by name: a property, and which of its values base, source and target have."""

CONFLICTS = {cell for cell, (_, places) in CELLS.items() if len(set(places)) == 3}


def records_of(place: int) -> list[dict[str, Any]]:
    return [
        {"type": "Thing", "data": {"name": cell, name: VALUES[name][places[place]]}}
        for cell, (name, places) in CELLS.items()
    ]


@pytest.fixture(params=["merge", "overwrite"])
def graph(request: pytest.FixtureRequest) -> Iterator[og.Graph]:
    """With the rows of the base, those of the source on ``feature`` and those of the target on ``main``."""
    with og.init(f"memory://merge-equality-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        graph.load(records_of(0), "append")
        graph.branches.create("feature")
        # Every row is written anew, also where it stays the same: only values tell whether it changed.
        graph.load(records_of(1), request.param, branch="feature")
        graph.load(records_of(2), request.param, branch="main")
        yield graph


def values_of(graph: og.Graph) -> dict[str, str]:
    """By row the property that it is about, in the spelling of the export."""
    records = [json.loads(line)["data"] for line in graph.export()]
    return {each["name"]: json.dumps(each[CELLS[each["name"]][0]]) for each in records}


def test_three_different_values_conflict_and_no_others(graph: og.Graph):
    with pytest.raises(MergeConflictError) as raised:
        graph.branches.merge("feature")
    assert {each.id for each in raised.value.conflicts} == CONFLICTS
    assert {each.kind for each in raised.value.conflicts} == {"divergent_update"}


@pytest.mark.parametrize(("strategy", "place"), [("ours", 2), ("theirs", 1)])
def test_a_value_that_one_side_changed_is_taken_over(graph: og.Graph, strategy: Any, place: int):
    graph.branches.merge("feature", strategy=strategy)

    def kept(cell: str) -> int:
        base, source, target = CELLS[cell][1]
        return CELLS[cell][1][place] if cell in CONFLICTS else target if source == base else source

    assert values_of(graph) == {cell: json.dumps(VALUES[name][kept(cell)]) for cell, (name, _) in CELLS.items()}
