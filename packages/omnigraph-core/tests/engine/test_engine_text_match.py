"""Text conditions keep the rows that plain Python keeps: held or not, scanned or reached, before and after changes."""

from __future__ import annotations

import pytest
from search_world import SearchWorld, some_docs

from omnigraph.engine import text_match
from omnigraph.errors import InvalidInputError
from omnigraph.testing.text_model import is_found, is_nearly_found

QUERIES = ["gold", "Gold WOLF", "house", "runs", "cafe", "CAFÉ river", "the", "", "...", "the gold", "absent"]


@pytest.fixture(scope="module", params=["memory", "stored"])
def world(request: pytest.FixtureRequest) -> SearchWorld:
    found = SearchWorld(some_docs(2, 30), mode=request.param)
    found.tag({"x": ["d001", "d003", "d007", "d008"], "y": ["d008", "d009"]})
    # Changes after a first search, so that what is kept of older versions is extended: more, other and fewer texts.
    assert found.names('$d: Doc  fuzzy($d.title, "gold")')
    found.load(some_docs(3, 12, prefix="b"))
    assert found.names('$d: Doc  search($d.title, "gold")')
    found.load(some_docs(4, 6))
    found.remove("d002", "b003")
    return found


@pytest.mark.parametrize("function", ["search", "match_text"])
def test_a_text_is_found_by_any_word_of_the_query(world: SearchWorld, function: str) -> None:
    for query in QUERIES:
        expected = world.where(lambda each, query=query: is_found(each["title"] or "", query))
        assert world.names(f"$d: Doc  {function}($d.title, $q)", q=("String", query)) == expected


@pytest.mark.parametrize("max_edits", [None, 0, 1, 2, 3, 40])
def test_a_text_is_found_by_similar_words(world: SearchWorld, max_edits: int | None) -> None:
    bound = "" if max_edits is None else f", {max_edits}"
    most = 2 if max_edits is None else max_edits
    for query in ["gold", "glod", "wlf stne", "hous", "the", ""]:
        expected = world.where(lambda each, query=query: is_nearly_found(each["title"] or "", query, most))
        assert world.names(f"$d: Doc  fuzzy($d.title, $q{bound})", q=("String", query)) == expected


def test_words_are_compared_as_they_are_spelled_too(world: SearchWorld) -> None:
    # "runninf" is its own stem, and far from "run"; as it is spelled it is one edit from "running".
    expected = world.where(lambda each: "running" in (each["title"] or ""))
    assert expected
    assert world.names('$d: Doc  fuzzy($d.title, "runninf", 1)') == expected


def test_several_conditions_must_all_hold(world: SearchWorld) -> None:
    match = '$d: Doc  search($d.title, "gold")  match_text($d.title, "wolf river")  fuzzy($d.title, "slt runing", 2)'
    titles = (("gold", 0), ("wolf river", 0), ("slt run", 2))
    expected = world.where(lambda each: all(is_nearly_found(each["title"] or "", *every) for every in titles))
    assert expected
    assert world.names(match) == expected


def test_a_variable_that_a_traversal_brings_is_searched_too(world: SearchWorld) -> None:
    expected = [
        (tag, name)
        for tag, names in sorted(world.tags.items())
        for name in sorted(names)
        if is_found(world.docs[name]["title"] or "", "gold wolf")
    ]
    assert expected
    rows = world.ask(
        '$t: Tag  $d tagged $t  search($d.title, "gold wolf")',
        "return { $t.name as tag, $d.name as name } order { tag, name }",
    )
    assert [(each["tag"], each["name"]) for each in rows] == expected


def test_a_negated_condition_keeps_the_other_rows(world: SearchWorld) -> None:
    expected = world.where(lambda each: not is_found(each["title"] or "", "gold"))
    assert world.names('$d: Doc  not { search($d.title, "gold") }') == expected


@pytest.mark.parametrize("call", ["search($d.title, $q)", "match_text($d.title, $q)", "fuzzy($d.title, $q)"])
def test_a_null_query_finds_nothing(world: SearchWorld, call: str) -> None:
    assert world.names(f"$d: Doc  {call}", q=("String?", None)) == []


def test_a_negative_number_of_edits_is_refused(world: SearchWorld) -> None:
    with pytest.raises(InvalidInputError, match="max_edits of fuzzy is -1"):
        world.names('$d: Doc  fuzzy($d.title, "gold", $n)', n=("I32", -1))


def test_a_null_number_of_edits_is_the_usual_one(world: SearchWorld) -> None:
    usual = world.names('$d: Doc  fuzzy($d.title, "glod")')
    assert usual
    assert world.names('$d: Doc  fuzzy($d.title, "glod", $n)', n=("I32?", None)) == usual


def test_few_rows_of_a_type_are_judged_without_its_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    world = SearchWorld(some_docs(5, 80))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the postings of the whole type were made")

    monkeypatch.setattr(text_match, "postings_of", refuse)
    name = next(name for name, each in sorted(world.docs.items()) if is_found(each["title"] or "", "gold"))
    assert world.names(f'$d: Doc {{ name: "{name}" }}  search($d.title, "gold")') == [name]
    assert world.names(f'$d: Doc {{ name: "{name}" }}  search($d.title, "absent")') == []


def test_an_empty_type_has_nothing_to_find() -> None:
    assert SearchWorld().names('$d: Doc  search($d.title, "gold")  fuzzy($d.title, "gold")') == []
