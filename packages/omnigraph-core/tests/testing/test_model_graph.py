"""The oracle keeps the rules of loads by itself: those of the language's own conformance cases, and each rule once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.schema import compile_schema
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export

FILM = """
node Film {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    stars: F64?
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
node Note { text: String }
node Seat { hall: String  number: I32  @key(number, hall) }
edge Directed: Person -> Film @card(0..)
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
edge Married: Person -> Person @card(0..1)
"""

SEED = """
{"type":"Film","data":{"code":"SF-1","genre":"sci-fi","stars":4.5}}
{"type":"Film","data":{"code":"DR-2","genre":"drama"}}
{"type":"Person","data":{"handle":"ann","mail":"ann@x.org"}}
{"type":"Person","data":{"handle":"bo"}}
{"type":"Person","data":{"handle":"cy"}}
{"edge":"Directed","from":"cy","to":"SF-1"}
{"edge":"Rented","from":"ann","to":"SF-1","data":{"on":"2026-02-01"}}
{"edge":"Rented","from":"ann","to":"DR-2"}
{"edge":"Rented","from":"bo","to":"SF-1","data":{"on":"2026-02-03"}}
{"edge":"Follows","from":"ann","to":"bo"}
{"edge":"Follows","from":"bo","to":"cy"}
"""


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line]


EDGES = [record for record in records(SEED) if "edge" in record]


@pytest.fixture
def graph() -> ModelGraph:
    graph = ModelGraph(compile_schema(FILM))
    graph.load(records(SEED), "overwrite")
    return graph


def counts(graph: ModelGraph) -> dict[str, int]:
    return {key.partition(":")[2]: len(rows) for key, rows in graph.rows.items() if rows}


def test_an_overwrite_that_leaves_edges_without_ends_is_refused(graph: ModelGraph):
    """Conformance case 25."""
    before = graph.content()
    with pytest.raises(ModelRefusalError, match="an end is missing"):
        graph.load(records('{"type":"Person","data":{"handle":"ann"}}'), "overwrite")
    assert graph.content() == before


def test_merging_edges_again_upserts_those_with_a_unique_tuple_and_doubles_the_others(graph: ModelGraph):
    """Conformance cases 26 and 27."""
    graph.load(EDGES, "merge")
    assert counts(graph) == {"Film": 2, "Person": 3, "Rented": 3, "Follows": 4, "Directed": 2}
    before = graph.content()
    with pytest.raises(ModelRefusalError, match="@unique violation"):
        graph.load(EDGES, "append")
    assert graph.content() == before


def test_an_edge_that_a_merge_moves_by_its_id_leaves_its_ends_to_another(graph: ModelGraph):
    rented = {"edge": "Rented", "from": "cy", "to": "SF-1"}
    graph.load([{**rented, "data": {"id": "r"}}], "append")
    graph.load([{**rented, "to": "DR-2", "data": {"id": "r"}}, rented], "merge")
    ends = {row.id == "r": row.target for row in graph.rows["edge:Rented"].values() if row.source == "cy"}
    assert ends == {True: "DR-2", False: "SF-1"}


def test_a_merge_replaces_the_whole_row(graph: ModelGraph):
    graph.load(records('{"type":"Person","data":{"handle":"ann"}}'), "merge")
    assert graph.rows["node:Person"]["ann"].values == {"handle": "ann", "mail": None}
    assert counts(graph)["Person"] == 3


def test_a_merge_moves_an_edge_of_known_id(graph: ModelGraph):
    graph.load([{"edge": "Follows", "from": "cy", "to": "bo", "data": {"id": "f"}}], "append")
    graph.load([{"edge": "Follows", "from": "cy", "to": "ann", "data": {"id": "f"}}], "merge")
    assert graph.rows["edge:Follows"]["f"].target == "ann"


def test_an_append_of_a_stored_id_is_refused(graph: ModelGraph):
    with pytest.raises(ModelRefusalError, match="already has"):
        graph.load(records('{"type":"Person","data":{"handle":"ann"}}'), "append")


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize(
    "text",
    [
        '{"type":"Seat","data":{"hall":"n","number":1}}\n{"type":"Seat","data":{"hall":"n","number":1}}',
        '{"type":"Person","data":{"handle":"d","mail":"m"}}\n{"type":"Person","data":{"handle":"e","mail":"m"}}',
        '{"type":"Film","data":{"code":"XX-1"}}',
        '{"type":"Film","data":{"code":"XX-1","genre":"western"}}',
        '{"type":"Film","data":{"code":"XX-1","genre":"docu","stars":5.5}}',
        '{"type":"Film","data":{"code":"no","genre":"docu"}}',
        '{"type":"Film","data":{"code":"XX-1","genre":"docu","id":"XX-2"}}',
        '{"type":"Note","data":{"text":"t","more":1}}',
        '{"edge":"Follows","from":"ann","to":"nobody"}',
        '{"edge":"Follows","from":"nobody","to":"ann"}',
        '{"edge":"Married","from":"ann","to":"bo"}\n{"edge":"Married","from":"ann","to":"cy"}',
    ],
)
def test_what_breaks_a_rule_is_refused_in_every_mode(graph: ModelGraph, text: str, mode: Any):
    before = graph.content()
    with pytest.raises(ModelRefusalError):
        graph.load(records(text), mode)
    assert graph.content() == before


def test_one_id_twice_wins_last_only_in_a_merge_and_only_without_a_key(graph: ModelGraph):
    twice = [{"type": "Note", "data": {"id": "n", "text": text}} for text in "ab"]
    for mode in ("append", "overwrite"):
        with pytest.raises(ModelRefusalError, match="one id twice"):
            graph.load(twice, mode)
    graph.load(twice, "merge")
    assert graph.rows["node:Note"]["n"].values == {"text": "b"}


def test_a_value_that_is_stored_elsewhere_is_refused_and_its_own_row_may_keep_it(graph: ModelGraph):
    graph.load(records('{"type":"Person","data":{"handle":"ann","mail":"ann@x.org"}}'), "merge")
    with pytest.raises(ModelRefusalError, match="@unique violation"):
        graph.load(records('{"type":"Person","data":{"handle":"bo","mail":"ann@x.org"}}'), "merge")


def test_cardinality_counts_what_is_stored_too(graph: ModelGraph):
    graph.load([{"edge": "Married", "from": "ann", "to": "bo"}], "append")
    with pytest.raises(ModelRefusalError, match="@card"):
        graph.load([{"edge": "Married", "from": "ann", "to": "cy"}], "append")
    graph.load([{"edge": "Married", "from": "ann", "to": "cy"}], "overwrite")


def test_a_composite_id_is_a_json_array_in_the_order_of_names(graph: ModelGraph):
    graph.load([{"type": "Seat", "data": {"hall": "north", "number": 7}}], "append")
    assert list(graph.rows["node:Seat"]) == ['["north","7"]']


def test_only_types_that_occur_are_touched(graph: ModelGraph):
    graph.load([], "overwrite")
    graph.load([{"type": "Note", "data": {"text": "x"}}], "overwrite")
    assert counts(graph) == {"Film": 2, "Person": 3, "Note": 1, "Rented": 3, "Follows": 2, "Directed": 1}


def test_an_export_is_compared_by_ids_where_they_were_named_and_by_content_elsewhere(graph: ModelGraph):
    def line(**record: Any) -> str:
        return json.dumps(record)

    other = ModelGraph(compile_schema(FILM))
    other.load([{"type": "Note", "data": {"text": "x"}}, {"type": "Note", "data": {"id": "n", "text": "y"}}], "append")
    same = [line(type="Note", data={"id": "01J", "text": "x"}), line(type="Note", data={"id": "n", "text": "y"})]
    assert content_of_export(same, other) == other.content()
    assert content_of_export(same[:1], other) != other.content()
    assert content_of_export([same[0], line(type="Note", data={"id": "m", "text": "y"})], other) != other.content()
