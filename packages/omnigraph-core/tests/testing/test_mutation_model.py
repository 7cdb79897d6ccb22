"""The oracle keeps the rules of mutations by itself: the language's own conformance cases, and each rule once."""

from __future__ import annotations

import contextlib
import json
from random import Random
from typing import Any

import pytest

from omnigraph.query import compile_query
from omnigraph.schema import compile_schema
from omnigraph.testing.model import ModelGraph, ModelRefusalError
from omnigraph.testing.mutation_model import (
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    Statement,
    Update,
    Where,
    mutate,
    statements_of_json,
    statements_to_json,
)
from omnigraph.testing.mutation_strategies import MutationWorld, Pool, make_load, make_mutation, rich_world
from omnigraph.testing.mutation_text import spell_mutation

LIBRARY = """
interface Titled { title: String @index }
node Film implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    stars: F32?
    released: Date?
    added: DateTime
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
node Note { text: String  weight: F32? }
edge Directed: Person -> Film @card(0..)
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
edge Married: Person -> Person @card(0..1)
edge Pairs: Film -> Film @card(2..)
"""
SEED = """
{"type":"Film","data":{"code":"SF-1","title":"Orbit","genre":"sci-fi","stars":4.5,"released":"2020-03-01","added":"2026-01-01T00:00:00.000Z","tags":["space","slow"]}}
{"type":"Film","data":{"code":"DR-2","title":"Harbor","genre":"drama","stars":3.0,"released":"2021-07-09","added":"2026-01-02T00:00:00.000Z"}}
{"type":"Film","data":{"code":"DO-3","title":"Salt","genre":"docu","added":"2026-01-03T00:00:00.500Z"}}
{"type":"Person","data":{"handle":"ann","mail":"ann@x.org"}}
{"type":"Person","data":{"handle":"bo"}}
{"type":"Person","data":{"handle":"cy"}}
{"edge":"Directed","from":"cy","to":"SF-1"}
{"edge":"Rented","from":"ann","to":"SF-1","data":{"on":"2026-02-01"}}
{"edge":"Rented","from":"ann","to":"DR-2"}
{"edge":"Rented","from":"bo","to":"SF-1","data":{"on":"2026-02-03"}}
{"edge":"Follows","from":"ann","to":"bo"}
{"edge":"Follows","from":"bo","to":"cy"}
{"edge":"Follows","from":"cy","to":"ann"}
{"edge":"Follows","from":"bo","to":"bo"}
"""


@pytest.fixture
def graph() -> ModelGraph:
    graph = ModelGraph(compile_schema(LIBRARY))
    graph.load([json.loads(line) for line in SEED.splitlines() if line], "overwrite")
    return graph


def person(handle: str, **values: Any) -> InsertNode:
    return InsertNode(type="Person", values={"handle": handle, **values})


def film(code: str, **values: Any) -> InsertNode:
    required = {"title": "x", "genre": "drama", "added": "2026-01-01T00:00:00.000Z"}
    return InsertNode(type="Film", values={"code": code, **required, **values})


def edge(name: str, source: str, target: str, **values: Any) -> InsertEdge:
    return InsertEdge(type=name, source=source, target=target, values=values)


def where(property_: str, value: Any, operator: str = "=") -> Where:
    return Where(property=property_, operator=operator, value=value)


def refused(graph: ModelGraph, *statements: Statement, match: str | None = None) -> None:
    before = graph.content()
    with pytest.raises(ModelRefusalError, match=match):
        mutate(graph, statements)
    assert graph.content() == before


# ── conformance cases 18 to 24 ───────────────────────────────────────────────────────────────────────────────────────


def test_case_18_a_value_that_its_check_forbids_is_refused(graph: ModelGraph):
    refused(graph, film("sf-9"), match=r"node:Film\.code")


def test_case_19_an_insert_of_a_known_key_replaces_the_row(graph: ModelGraph):
    assert mutate(graph, [person("bo")]) == (1, 0)
    assert graph.rows["node:Person"]["bo"].values == {"handle": "bo", "mail": None}
    assert len(graph.rows["node:Person"]) == 3


def test_case_20_a_unique_value_of_another_row_is_refused(graph: ModelGraph):
    refused(graph, person("dee", mail="ann@x.org"), match="@unique violation on node:Person")


def test_case_21_a_unique_pair_of_ends_is_refused(graph: ModelGraph):
    refused(graph, edge("Rented", "ann", "SF-1"), match=r"@unique violation on edge:Rented.*dst.*src")


def test_case_22_an_edge_to_nowhere_is_refused(graph: ModelGraph):
    refused(graph, edge("Rented", "ann", "ZZ-9"), match="an end is missing")


def test_case_23_a_deleted_node_takes_its_edges_along(graph: ModelGraph):
    assert mutate(graph, [DeleteNodes(type="Person", where=where("handle", "ann"))]) == (1, 4)
    assert len(graph.rows["edge:Rented"]) == 1
    assert len(graph.rows["edge:Follows"]) == 2


def test_case_24_an_integer_becomes_a_float(graph: ModelGraph):
    assert mutate(graph, [Update(type="Film", values={"stars": 4}, where=where("code", "DR-2"))]) == (1, 0)
    stars = graph.rows["node:Film"]["DR-2"].values["stars"]
    assert (stars, type(stars)) == (4.0, float)


# ── section 12 ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_statements_see_what_earlier_ones_did_and_each_counts(graph: ModelGraph):
    statements = [person("dee"), Update(type="Person", values={"mail": "d@x.org"}, where=where("handle", "dee"))]
    assert mutate(graph, statements) == (2, 0)
    assert graph.rows["node:Person"]["dee"].values["mail"] == "d@x.org"


def test_an_end_may_be_inserted_before_its_edge_or_after(graph: ModelGraph):
    assert mutate(graph, [edge("Follows", "dee", "eve"), person("dee"), person("eve")]) == (2, 1)


def test_inserts_and_deletes_do_not_mix(graph: ModelGraph):
    refused(graph, person("dee"), DeleteNodes(type="Person", where=where("handle", "bo")), match="split into separate")


def test_a_node_without_a_key_is_always_new(graph: ModelGraph):
    note = InsertNode(type="Note", values={"text": "x"})
    assert mutate(graph, [note, note]) == (2, 0)
    assert len(graph.rows["node:Note"]) == 2


def test_an_insert_without_a_required_value_is_refused(graph: ModelGraph):
    refused(graph, InsertNode(type="Film", values={"code": "XX-1"}), match="is required")


def test_the_same_edge_twice_is_two_edges_unless_a_rule_forbids_it(graph: ModelGraph):
    twice = [edge("Follows", "ann", "cy"), edge("Follows", "ann", "cy")]
    assert mutate(graph, twice) == (0, 2)
    assert len(graph.rows["edge:Follows"]) == 6
    refused(graph, edge("Rented", "cy", "DO-3"), edge("Rented", "cy", "DO-3"), match="@unique")


def test_an_update_keeps_what_it_does_not_assign(graph: ModelGraph):
    before = graph.rows["node:Film"]["SF-1"].values
    assert mutate(graph, [Update(type="Film", values={"tags": None}, where=where("code", "SF-1"))]) == (1, 0)
    assert graph.rows["node:Film"]["SF-1"].values == {**before, "tags": None}


def test_an_update_of_a_key_is_refused_although_nothing_matches(graph: ModelGraph):
    refused(graph, Update(type="Person", values={"handle": "x"}, where=where("handle", "zed")), match="@key")


def test_an_update_that_matches_nothing_affects_nothing(graph: ModelGraph):
    assert mutate(graph, [Update(type="Person", values={"mail": "x"}, where=where("handle", "zed"))]) == (0, 0)


@pytest.mark.parametrize(
    ("predicate", "codes"),
    [
        (where("stars", 3.0), {"DR-2"}),
        (where("stars", 3), {"DR-2"}),
        (where("stars", 3.0, "!="), {"SF-1"}),
        (where("stars", 3.0, ">="), {"SF-1", "DR-2"}),
        (where("stars", 9.0, "<"), {"SF-1", "DR-2"}),
        (where("stars", None), set()),
        (where("stars", None, "!="), set()),
        (where("released", "2020-03-01", ">"), {"DR-2"}),
        (where("added", "2026-01-03T00:00:00.000Z", ">"), {"DO-3"}),
        (where("genre", "drama", "!="), {"SF-1", "DO-3"}),
        (where("genre", "western"), set()),
        (where("title", "Orbit", "<="), {"SF-1", "DR-2"}),
    ],
)
def test_null_never_matches_and_other_values_compare_by_their_type(
    graph: ModelGraph, predicate: Where, codes: set[str]
):
    assert mutate(graph, [Update(type="Film", values={"title": "found"}, where=predicate)]) == (len(codes), 0)
    found = {row.id for row in graph.rows["node:Film"].values() if row.values["title"] == "found"}
    assert found == codes


def test_a_short_float_is_compared_as_it_is_stored(graph: ModelGraph):
    mutate(graph, [InsertNode(type="Note", values={"text": "x", "weight": 0.1})])
    assert mutate(graph, [DeleteNodes(type="Note", where=where("weight", 0.1))]) == (1, 0)


def test_overlapping_deletes_count_each_row_once(graph: ModelGraph):
    statements = [
        DeleteEdges(type="Follows", where=where("from", "bo")),
        DeleteNodes(type="Person", where=where("handle", "bo")),
        DeleteNodes(type="Person", where=where("handle", "cy", "<")),
        DeleteEdges(type="Rented", where=where("on", "2026-02-01", ">=")),
    ]
    # Follows: bo-cy, bo-bo; then bo with ann-bo and bo-SF-1; then ann with cy-ann, ann-SF-1 and ann-DR-2; then none.
    assert mutate(graph, statements) == (2, 7)
    assert {key: len(rows) for key, rows in graph.rows.items() if rows} == {
        "node:Film": 3,
        "node:Person": 1,
        "edge:Directed": 1,
    }


def test_edges_are_deleted_by_their_ends_and_by_their_properties(graph: ModelGraph):
    assert mutate(graph, [DeleteEdges(type="Rented", where=where("to", "SF-1"))]) == (0, 2)
    assert mutate(graph, [DeleteEdges(type="Rented", where=where("on", "2026-02-01", "!="))]) == (0, 0)


# ── section 13 ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_final_image_is_judged(graph: ModelGraph):
    freed = [
        person("dee", mail="ann@x.org"),
        Update(type="Person", values={"mail": None}, where=where("handle", "ann")),
    ]
    assert mutate(graph, freed) == (2, 0)
    mended = [film("XX-1", stars=9.0), Update(type="Film", values={"stars": 5.0}, where=where("code", "XX-1"))]
    assert mutate(graph, mended) == (2, 0)


@pytest.mark.parametrize(
    "statement",
    [
        film("XX-1", stars=5.5),
        film("XX-1", stars=-0.5),
        film("XX-1", genre="western"),
        Update(type="Film", values={"stars": 6.0}, where=where("genre", "docu")),
        Update(type="Film", values={"genre": "western"}, where=where("genre", "docu")),
        Update(type="Person", values={"mail": "same"}, where=where("handle", "", ">")),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused(graph: ModelGraph, statement: Statement):
    refused(graph, statement)


def test_values_that_nothing_gets_break_no_rule(graph: ModelGraph):
    assert mutate(graph, [Update(type="Film", values={"stars": 6.0}, where=where("code", "no"))]) == (0, 0)


def test_the_most_edges_of_a_source_are_counted_with_those_that_are_there(graph: ModelGraph):
    assert mutate(graph, [edge("Married", "ann", "bo")]) == (0, 1)
    refused(graph, edge("Married", "ann", "cy"), match="@card")


def test_the_least_edges_of_a_source_count_from_its_first_one(graph: ModelGraph):
    refused(graph, edge("Pairs", "SF-1", "DR-2"), match="@card")
    assert mutate(graph, [edge("Pairs", "SF-1", "DR-2"), edge("Pairs", "SF-1", "DO-3")]) == (0, 2)
    refused(graph, DeleteEdges(type="Pairs", where=where("to", "DO-3")), match="@card")
    refused(graph, DeleteNodes(type="Film", where=where("code", "DO-3")), match="@card")
    # A source that is deleted itself has no least number.
    assert mutate(graph, [DeleteNodes(type="Film", where=where("code", "SF-1"))]) == (1, 5)


# ── statements as text ───────────────────────────────────────────────────────────────────────────────────────────────


def test_statements_are_spelled_with_values_in_the_text_and_as_parameters():
    catalog = compile_schema(LIBRARY)
    statements = [
        film("XX-1", title='say "so" \\\n', stars=0.5, tags=["a", "b"], released="2020-03-01"),
        edge("Rented", "ann", "XX-1", on=None),
        Update(type="Film", values={"stars": -1.5}, where=where("genre", "western", "!=")),
    ]
    texts = {spell_mutation(catalog, statements, seed=seed)[0] for seed in range(20)}
    assert len(texts) > 10
    everything = "".join(texts)
    for literal in ('"say \\"so\\" \\\\\\n"', "0.5", '["a", "b"]', 'date("2020-03-01")', 'datetime("', 'from: "ann"'):
        assert literal in everything
    for never in ("-1.5", "western", "null"):
        assert never not in everything


def test_what_is_spelled_compiles_and_its_parameters_are_those_that_it_declares():
    for seed in range(200):
        random = Random(seed)
        world = rich_world()
        source, params = spell_mutation(world.catalog, make_mutation(random, world), seed=seed)
        checked = compile_query(source, world.catalog)
        declared = {each.name: each.type for each in checked.parameters}
        assert set(params) <= set(declared)
        assert all(kind.is_nullable for name, kind in declared.items() if params.get(name) is None)


def test_statements_travel_as_json():
    world = rich_world()
    for seed in range(50):
        statements = make_mutation(Random(seed), world)
        assert statements_of_json(json.loads(json.dumps(statements_to_json(statements)))) == statements


# ── random statements ────────────────────────────────────────────────────────────────────────────────────────────────


def test_random_steps_succeed_match_nothing_and_break_every_kind_of_rule():
    world, random = rich_world(), Random(1)
    model = ModelGraph(world.catalog)
    model.load(world.start, "append")
    outcomes: set[str] = set()
    for _ in range(1500):
        mode, records = make_load(random, world)
        with contextlib.suppress(ModelRefusalError):
            model.load(records, mode)
        try:
            outcomes.add("done" if any(mutate(model, make_mutation(random, world))) else "nothing")
        except ModelRefusalError as error:
            outcomes |= {
                word for word in ("@unique", "@card", "end is missing", "Range", "values") if word in str(error)
            }
    assert outcomes == {"done", "nothing", "@unique", "@card", "end is missing", "Range", "values"}


def test_a_property_with_a_check_needs_values_of_its_own():
    schema = 'node Film { code: String @key  @check(code, "^[A-Z]$") }'
    with pytest.raises(ValueError, match=r"Film\.code has a @check"):
        MutationWorld.of(schema)
    world = MutationWorld.of(schema, pools={"Film.code": Pool(good=("A", "B"), wrong=("a",))})
    assert world.ids == {"Film": ("A", "B", "nobody")}
