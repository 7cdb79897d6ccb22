"""Graphs as each format stores them: those of this format open, older ones are refused with the way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_graph import PEOPLE, unpack

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, FormatError

HERE = Path(__file__).parent

CONTENT = [
    {"edge": "Knows", "from": "Ann", "to": "Bo", "data": {"since": "2020-02-29"}},
    {"edge": "Wrote", "from": "Ann", "to": "01KA7X3J8Q0000000000000001", "data": {}},
    {"type": "Note", "data": {"id": "01KA7X3J8Q0000000000000001", "text": "first", "stars": 18446744073709551615}},
    {
        "type": "Person",
        "data": {
            "name": "Ann",
            "age": 42,
            "born": "1985-02-28",
            "seen": "2026-01-02T03:04:05.000Z",
            "score": 0.5,
            "tags": ["a", "b"],
            "mood": [1.0, 0.0, 0.5],
            "kind": "human",
        },
    },
    {"type": "Person", "data": {"name": "Bo"}},
    {"type": "Person", "data": {"name": "Cy", "age": 7, "kind": "robot"}},
]
"""What main of the golden graph holds; ids that the graph made, and nulls, are left out."""


def content(graph: og.Graph, **moment: Any) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in graph.export(**moment)]
    for record in records:
        known = {name: value for name, value in record["data"].items() if value is not None}
        if record.get("type") != "Note":
            known.pop("id", None)
        record["data"] = known
    return sorted(records, key=lambda each: json.dumps(each, sort_keys=True))


def ordered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(records, key=lambda each: json.dumps(each, sort_keys=True))


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_graph_of_format_1_is_refused_with_the_way_out(tmp_path: Path, mode: Any):
    place = unpack(HERE / "format-1.zip", tmp_path / "graph.omni")
    with pytest.raises(FormatError, match="format 1 of an older release") as refused:
        og.open(place, mode=mode)
    for step in ("omnigraph export", "omnigraph init", "omnigraph load", "upgrade.md"):
        assert step in str(refused.value.help)
    with pytest.raises(AlreadyExistsError, match="format 1"):
        og.init(place, schema="node A { name: String @key }", force=True)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_main_of_a_graph_of_format_2_opens_with_all_its_history(tmp_path: Path, mode: Any):
    place = unpack(HERE / "format-2.zip", tmp_path / "graph.omni")
    with og.open(place, mode=mode) as graph:
        assert content(graph) == ordered(CONTENT)
        commits = graph.commits.list()
        assert [str(each.kind) for each in commits] == ["data", "maintenance", "data", "data", "schema"]
        assert [each.actor for each in commits][-3:] == ["bo", "ann", "ann"]
        assert content(graph, snapshot="people") == ordered(PEOPLE)
        found = graph.query('query q() { match { $p: Person { name: "Ann" }  $p knows $q } return { $q.name } }')
        assert found.rows() == [{"q.name": "Bo"}]


def test_a_graph_of_format_2_takes_writes(tmp_path: Path):
    place = unpack(HERE / "format-2.zip", tmp_path / "graph.omni")
    with og.open(place) as graph:
        graph.load([{"type": "Person", "data": {"name": "Ed"}}], "merge")
        graph.branches.create("next")
        graph.load([{"edge": "Knows", "from": "Ed", "to": "Ann"}], "append", branch="next")
        assert graph.branches.merge("next").outcome == "fast_forward"
        assert len(content(graph)) == len(CONTENT) + 2
