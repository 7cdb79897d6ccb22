"""The oracle of merges decides rows as the table of the specification does, and knows equal values."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import MergeConflictKind
from omnigraph.schema import compile_schema
from omnigraph.testing.merge_model import Conflict, is_same, merge_rows, row_conflict
from omnigraph.testing.model import ModelGraph, ModelRow

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.mark.parametrize(
    ("base", "source", "target", "expected"),
    [
        (None, None, None, "-"),
        (None, None, 1, "1"),
        (None, 1, None, "1"),
        (None, 1, 1, "1"),
        (None, 1, 2, "divergent_insert"),
        (0, 0, 0, "0"),
        (0, 0, 1, "1"),
        (0, 0, None, "-"),
        (0, 1, 0, "1"),
        (0, None, 0, "-"),
        (0, 1, 1, "1"),
        (0, None, None, "-"),
        (0, 1, 2, "divergent_update"),
        (0, None, 1, "delete_vs_update"),
        (0, 1, None, "delete_vs_update"),
    ],
)
def test_the_row_table(base: Any, source: Any, target: Any, expected: str):
    sides = [image(None if age is None else {"age": age}) for age in (base, source, target)]
    graph = ModelGraph(compile_schema(SCHEMA), {key: dict(each) for key, each in sides[2].items()})
    merged = merge_rows(graph, base=sides[0], source=sides[1])
    if expected.isdigit() or expected == "-":
        found = merged.image["node:Person"].get("x")
        assert (merged.conflicts, "-" if found is None else str(found.values["age"])) == (frozenset(), expected)
        return
    (conflict,) = merged.conflicts
    assert conflict == Conflict(MergeConflictKind(expected), "node", "Person", "x")
    for strategy, kept in (("ours", target), ("theirs", source)):
        decided = merge_rows(graph, base=sides[0], source=sides[1], strategy=strategy)
        found = decided.image["node:Person"].get("x")
        assert (None if found is None else found.values["age"]) == kept
        assert (decided.conflicts, decided.resolved) == (frozenset(), {conflict})


def image(values: dict[str, Any] | None) -> dict[str, dict[str, ModelRow]]:
    found = ModelGraph(compile_schema(SCHEMA)).rows
    if values is not None:
        found["node:Person"]["x"] = ModelRow(id="x", values={"name": "x", **values})
    return found


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (None, None, True),
        (None, "", False),
        ("", [], False),
        (None, [], False),
        ([], [None], False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ("a", "a", True),
    ],
)
def test_equality_is_by_value_and_type(one: Any, other: Any, equal: bool):
    rows = [ModelRow(id="x", values={"v": each}) for each in (one, other)]
    assert is_same(*rows) == equal
    assert (row_conflict(ModelRow(id="x", values={"v": "base"}), *rows) is None) == equal
