"""Names of types as users write them: found, ambiguous or unknown, always with the next move."""

from __future__ import annotations

import pytest

from omnigraph.engine.type_names import find_type, select_types
from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.schemas import GraphSchema

TABLES = GraphSchema.new("node Film { code: String @key } node Person {} edge Film: Person -> Film", "0" * 26).tables


@pytest.mark.parametrize(
    ("name", "key"),
    [("Person", "node:Person"), ("node:Person", "node:Person"), ("node:Film", "node:Film"), ("edge:Film", "edge:Film")],
)
def test_one_type_is_found_by_its_name_or_its_key(name: str, key: str):
    assert find_type(TABLES, name).key == key


def test_a_name_of_two_types_asks_which_one():
    with pytest.raises(InvalidInputError) as raised:
        find_type(TABLES, "Film")
    assert raised.value.help == 'Write "node:Film" or "edge:Film".'


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(NotFoundError) as raised:
        find_type(TABLES, "Persn")
    assert raised.value.message == 'There is no type "Persn". Did you mean "Person"?'
    assert raised.value.help == "The graph has: Film, Person."


def test_a_kind_without_any_type_says_so():
    with pytest.raises(NotFoundError) as raised:
        find_type(GraphSchema.new("node Film {}", "0" * 26).tables, "edge:Rented")
    assert raised.value.help == "The graph has no edge type."


@pytest.mark.parametrize("name", [None, 7, b"Film"])
def test_what_is_no_text_is_no_name(name: object):
    with pytest.raises(InvalidInputError):
        find_type(TABLES, name)
    with pytest.raises(InvalidInputError):
        select_types(TABLES, [name])


def test_all_types_come_in_the_order_of_an_export():
    assert [each.key for each in select_types(TABLES, None)] == ["edge:Film", "node:Film", "node:Person"]
