"""The catalog as others hold it: looked up by the tolerant rule for edges, and sent to other processes."""

from __future__ import annotations

import pickle

import pytest

from omnigraph.schema import compile_schema

LIBRARY = """
node Book { isbn: String @key  title: String @index }
node Shelf { row: I32  place: String  @key(row, place) }
node Note { text: String }
edge LentTo: Book -> Shelf { until: Date? }
edge Follows: Book -> Book
"""


@pytest.fixture(scope="module")
def catalog():
    return compile_schema(LIBRARY)


@pytest.mark.parametrize("word", ["LentTo", "lentTo", "lentto", "LENTTO"])
def test_an_edge_is_found_by_its_name_in_any_case(catalog, word):
    assert catalog.find_edge(word) is catalog.edges["LentTo"]


def test_an_edge_that_is_not_there_is_not_found(catalog):
    assert catalog.find_edge("lent") is None


def test_the_edges_of_a_node_type_are_those_that_start_or_end_there_by_name(catalog):
    assert [edge.name for edge in catalog.edges_of("Book")] == ["Follows", "LentTo"]
    assert [edge.name for edge in catalog.edges_of("Shelf")] == ["LentTo"]
    assert list(catalog.edges_of("Note")) == []


def test_the_columns_of_a_key_ascend_and_a_node_without_key_has_none(catalog):
    assert catalog.nodes["Shelf"].key == ("place", "row")
    assert catalog.nodes["Book"].key == ("isbn",)
    assert catalog.nodes["Note"].key == ()


def test_a_catalog_comes_whole_through_pickle_also_when_it_was_used(catalog):
    assert catalog.nodes["Book"].by_name["isbn"].name == "isbn"
    assert catalog.find_edge("lentto")
    again = pickle.loads(pickle.dumps(catalog))
    assert again == catalog
    assert again.find_edge("lentto") == catalog.edges["LentTo"]
