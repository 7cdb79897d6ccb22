"""Cases 18 to 24 of the conformance set and the rules of section 12, through the public API, on every place."""

from __future__ import annotations

from typing import Any

import pytest
from library import EVERYTHING, SCHEMA

import omnigraph as og
from omnigraph.errors import CompileError, ConstraintError, InvalidInputError


@pytest.fixture
def graph(root) -> og.Graph:
    graph = root.init(SCHEMA)
    graph.load(EVERYTHING, mode="overwrite")
    return graph


def run(graph: og.Graph, body: str, head: str = "", **params: Any) -> tuple[int, int]:
    """The affected nodes and edges of one mutation."""
    done = graph.mutate(f"query change({head}) {{ {body} }}", params=params)
    assert (done.commit is None) == (done.affected_nodes + done.affected_edges == 0)
    return done.affected_nodes, done.affected_edges


def people(graph: og.Graph) -> dict[str, str | None]:
    return {row["handle"]: row["mail"] for row in graph.table("Person").rows()}


def film(graph: og.Graph, code: str) -> dict[str, Any]:
    [row] = [row for row in graph.table("Film").rows() if row["code"] == code]
    return row


def pairs(graph: og.Graph, edge: str) -> list[tuple[str, str]]:
    return sorted((row["src"], row["dst"]) for row in graph.table(edge, columns=["src", "dst"]).rows())


def refused(graph: og.Graph, body: str, message: str, head: str = "", **params: Any) -> ConstraintError:
    """The error of a mutation that changes nothing."""
    before, exported = graph.snapshot().commit, [*graph.export()]
    with pytest.raises(ConstraintError, match=message) as error:
        run(graph, body, head, **params)
    assert graph.snapshot().commit == before
    assert [*graph.export()] == exported
    return error.value


def test_case_18_a_pattern_that_a_key_does_not_match(graph: og.Graph):
    refused(
        graph,
        'insert Film { code: "sf-9", title: "x", genre: "drama", added: now() }',
        "@check violation on Film.code",
    )


def test_case_19_a_keyed_insert_replaces_the_whole_row(graph: og.Graph):
    run(graph, 'update Person set { mail: "bo@x.org" } where handle = "bo"')
    assert people(graph)["bo"] == "bo@x.org"
    assert run(graph, 'insert Person { handle: "bo" }') == (1, 0)
    assert people(graph) == {"ann": "ann@x.org", "bo": None, "cy": None}


def test_case_20_a_unique_value_that_another_row_holds(graph: og.Graph):
    refused(graph, 'insert Person { handle: "dee", mail: "ann@x.org" }', "@unique violation on Person.mail")


def test_case_21_a_unique_tuple_of_ends(graph: og.Graph):
    refused(graph, 'insert Rented { from: "ann", to: "SF-1" }', r"@unique violation on Rented\.\(dst, src\)")


def test_case_22_an_end_that_is_not_there(graph: og.Graph):
    refused(graph, 'insert Rented { from: "ann", to: "ZZ-9" }', "dst 'ZZ-9' not found in Film")


def test_case_23_a_deleted_node_takes_its_edges_along(graph: og.Graph):
    assert run(graph, 'delete Person where handle = "ann"') == (1, 4)
    assert people(graph) == {"bo": None, "cy": None}
    assert pairs(graph, "Rented") == [("bo", "SF-1")]
    assert pairs(graph, "Follows") == [("bo", "bo"), ("bo", "cy")]


def test_case_24_an_integer_for_a_float_property(graph: og.Graph):
    assert run(graph, 'update Film set { stars: 4 } where code = "DR-2"') == (1, 0)
    assert film(graph, "DR-2")["stars"] == 4.0


# ── 12.1: one commit, and statements see earlier ones ────────────────────────────────────────────────────────────


def test_one_query_is_one_commit_and_an_edge_may_come_before_its_node(graph: og.Graph):
    before = len(graph.commits.list())
    body = 'insert Follows { from: "dee", to: "eve" } insert Person { handle: "dee" } insert Person { handle: "eve" }'
    assert run(graph, body) == (2, 1)
    assert len(graph.commits.list()) == before + 1
    assert ("dee", "eve") in pairs(graph, "Follows")


def test_a_row_that_is_inserted_and_then_updated_counts_twice(graph: og.Graph):
    body = 'insert Person { handle: "dee" } update Person set { mail: "d@x.org" } where handle = "dee"'
    assert run(graph, body) == (2, 0)
    assert people(graph)["dee"] == "d@x.org"


def test_chained_updates_see_what_the_one_before_them_did(graph: og.Graph):
    body = (
        'update Film set { stars: 1.0 } where genre = "docu" '
        "update Film set { stars: 2.0 } where stars = 1.0 "
        "update Film set { stars: 5.0 } where stars = 1.0"
    )
    assert run(graph, body) == (2, 0)
    assert film(graph, "DO-3")["stars"] == 2.0


def test_a_row_that_an_earlier_statement_changed_is_not_found_by_what_it_was(graph: og.Graph):
    body = (
        'update Person set { mail: "new@x.org" } where handle = "ann" '
        'update Person set { mail: "other@x.org" } where mail = "ann@x.org"'
    )
    assert run(graph, body) == (1, 0)
    assert people(graph)["ann"] == "new@x.org"


def test_a_value_that_an_update_frees_may_be_used_again_in_the_same_query(graph: og.Graph):
    body = (
        'update Person set { mail: "gone@x.org" } where handle = "ann" '
        'insert Person { handle: "dee", mail: "ann@x.org" }'
    )
    assert run(graph, body) == (2, 0)
    assert people(graph)["dee"] == "ann@x.org"


def test_the_last_insert_of_a_key_wins_and_each_counts(graph: og.Graph):
    body = 'insert Person { handle: "dee", mail: "a@x.org" } insert Person { handle: "dee", mail: "b@x.org" }'
    assert run(graph, body) == (2, 0)
    assert people(graph)["dee"] == "b@x.org"


def test_nothing_that_matches_makes_no_commit(graph: og.Graph):
    before = graph.snapshot().commit
    assert run(graph, 'update Film set { stars: 1.0 } where code = "ZZ-1"') == (0, 0)
    assert run(graph, 'delete Person where handle = "nobody"') == (0, 0)
    assert graph.snapshot().commit == before


# ── 12.2 to 12.7 ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_writes_and_deletes_are_not_mixed(graph: og.Graph):
    with pytest.raises(CompileError, match="split into separate mutations"):
        run(graph, 'insert Person { handle: "dee" } delete Person where handle = "ann"')


def test_an_edge_is_new_each_time(graph: og.Graph):
    assert run(graph, 'insert Follows { from: "ann", to: "bo" }') == (0, 1)
    assert pairs(graph, "Follows").count(("ann", "bo")) == 2


def test_rows_that_several_deletes_match_count_once(graph: og.Graph):
    body = 'delete Person where handle = "ann" delete Person where mail = "ann@x.org" delete Follows where from = "ann"'
    assert run(graph, body) == (1, 4)


def test_deletes_that_overlap_on_a_column_with_nulls_miss_no_row(graph: og.Graph):
    """DO-3 has no stars: a condition on them is not true of it, and not of what is left of it either."""
    body = 'delete Film where stars > 4.0 delete Film where genre = "docu" delete Film where stars <= 4.0'
    assert run(graph, body) == (3, 4)
    assert len(graph.table("Film")) == 0


def test_edges_are_deleted_by_their_ends_and_by_their_properties(graph: og.Graph):
    assert run(graph, 'delete Rented where to = "SF-1"') == (0, 2)
    assert run(graph, 'delete Follows where from = "bo"') == (0, 2)
    assert run(graph, 'delete Rented where on = date("2026-02-01")') == (0, 0)
    assert pairs(graph, "Rented") == [("ann", "DR-2")]


def test_null_is_set_by_a_parameter_and_matches_nothing(graph: og.Graph):
    head, body = "$stars: F32?", 'update Film set { stars: $stars } where code = "SF-1"'
    assert run(graph, body, head, stars=None) == (1, 0)
    assert film(graph, "SF-1")["stars"] is None
    assert run(graph, 'update Film set { title: "x" } where stars = $stars', head, stars=None) == (0, 0)


def test_a_key_is_not_assigned_by_an_update(graph: og.Graph):
    with pytest.raises(CompileError, match="@key"):
        run(graph, 'update Film set { code: "AB-1" } where code = "ZZ-1"')


# ── 12.8 and 12.9: values ────────────────────────────────────────────────────────────────────────────────────────


def test_an_enum_parameter_is_judged_when_it_is_written(graph: og.Graph):
    refused(
        graph,
        'update Film set { genre: $genre } where code = "SF-1"',
        "invalid enum value 'western' for Film.genre",
        "$genre: String",
        genre="western",
    )


def test_now_is_one_moment_for_the_whole_call(graph: og.Graph):
    body = " ".join(
        f'insert Film {{ code: "NW-{number}", title: "x", genre: "docu", added: now() }}' for number in range(3)
    )
    assert run(graph, body) == (3, 0)
    assert len({film(graph, f"NW-{number}")["added"] for number in range(3)}) == 1


@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        ("F64", 1e300, "statement 1: Film.stars expects F32?, got 1e+300: too large for F32"),
        ("F64?", None, None),
        ("I64", 4, None),
    ],
)
def test_values_become_what_the_property_stores_or_say_why_not(graph: og.Graph, declared, value, said):
    body, head = 'update Film set { stars: $v } where code = "SF-1"', f"$v: {declared}"
    if said is None:
        run(graph, body, head, v=value)
        assert film(graph, "SF-1")["stars"] == value
        return
    before = graph.snapshot().commit
    with pytest.raises(InvalidInputError) as error:
        run(graph, body, head, v=value)
    assert error.value.message == said
    assert error.value.details["problems"][0]["property"] == "stars"
    assert graph.snapshot().commit == before


def test_a_required_property_takes_no_null(graph: og.Graph):
    with pytest.raises(InvalidInputError, match="non-nullable property 'title' of Film is null"):
        run(graph, 'update Film set { title: $t } where code = "SF-1"', "$t: String?", t=None)


def test_a_list_is_replaced_as_a_whole(graph: og.Graph):
    run(graph, 'update Film set { tags: $tags } where code = "SF-1"', "$tags: [String]", tags=["one", "two"])
    assert film(graph, "SF-1")["tags"] == ["one", "two"]


# ── 12.10 ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_read_is_no_mutation_and_a_mutation_no_read(graph: og.Graph):
    with pytest.raises(InvalidInputError, match="only reads"):
        graph.mutate("query all() { match { $f: Film } return { $f.code } }")
    with pytest.raises(InvalidInputError, match="changes the graph"):
        graph.query('query add() { insert Person { handle: "dee" } }')


def test_the_example_of_the_reference_runs(graph: og.Graph):
    source = """
    query checkout($who: String, $film: String, $day: Date) {
        insert Person { handle: $who }
        insert Rented { from: $who, to: $film, on: $day }
    }
    query retag($code: String, $tags: [String]) { update Film set { tags: $tags } where code = $code }
    query forget($who: String) { delete Person where handle = $who }
    """
    done = graph.mutate(source, "checkout", params={"who": "dee", "film": "DO-3", "day": "2026-03-01"})
    assert (done.query_name, done.affected_nodes, done.affected_edges) == ("checkout", 1, 1)
    assert graph.mutate(source, "retag", params={"code": "DO-3", "tags": ["sea"]}).affected_nodes == 1
    assert graph.mutate(source, "forget", params={"who": "dee"}).to_dict() | {"commit": None} == {
        "branch": "main",
        "query_name": "forget",
        "affected_nodes": 1,
        "affected_edges": 1,
        "commit": None,
    }
    assert film(graph, "DO-3")["tags"] == ["sea"]


def test_the_empty_text_is_an_id_like_any_other(graph: og.Graph):
    body = 'insert Person { handle: "" } insert Follows { from: "", to: "ann" }'
    assert run(graph, body) == (1, 1)
    assert run(graph, 'delete Person where handle = ""') == (1, 1)
