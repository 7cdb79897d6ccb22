"""What queries cost at an S3 server (DESIGN 14, 18; engine.md 4.9): one probe when warm, the delta after a commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cost_counts import CountedPlace

SCHEMA = """
node Person { name: String @key  age: I64? @index  bio: String? @index }
node Film { code: String @key }
edge Knows: Person -> Person
edge Seen: Person -> Film
"""
PROBE = {"manifest": {"LIST": 1}}
PEOPLE = 40

FRIENDS = "query q($n: String) { match { $p: Person { name: $n }  $p knows $q } return { $q.name, $q.age } }"
EVERYTHING = """query q() {
    match { $p: Person  $p knows $q  $q seen $f  not { $p seen $f } }
    return { $p.name, count($f) as n }
}"""
OLDEST = "query q() { match { $p: Person } return { $p.name, $p.age } order { $p.age desc } limit 3 }"
WORDS = 'query q() { match { $p: Person  search($p.bio, "tall") } return { $p.name } }'
QUERIES = {"friends": FRIENDS, "everything": EVERYTHING, "oldest": OLDEST, "words": WORDS}


def person(number: int) -> dict[str, Any]:
    bio = "tall and quiet" if number % 3 else "short"
    return {"type": "Person", "data": {"name": f"p{number:03d}", "age": number % 7, "bio": bio}}


def knows(source: int, target: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{source:03d}", "to": f"p{target:03d}"}


def records() -> list[dict[str, Any]]:
    films = [{"type": "Film", "data": {"code": f"f{number}"}} for number in range(5)]
    seen = [{"edge": "Seen", "from": f"p{number:03d}", "to": f"f{number % 5}"} for number in range(PEOPLE)]
    ring = [knows(number, (number + 1) % PEOPLE) for number in range(PEOPLE)]
    return [*map(person, range(PEOPLE)), *films, *seen, *ring]


@pytest.fixture(scope="module")
def social(new_place: Callable[[], CountedPlace]) -> CountedPlace:
    place = new_place()
    with place.init(SCHEMA) as graph:
        graph.load(records(), "append")
        graph.maintain.ensure_indices()
    return place


def ask(graph: Any, text: str) -> list[dict[str, Any]]:
    return graph.query(text, params={"n": "p001"} if "$n" in text else None).rows()


@pytest.mark.parametrize("name", QUERIES)
def test_a_warm_repeat_of_any_query_is_one_probe(social: CountedPlace, name: str):
    with social.open("r") as graph:
        first = ask(graph, QUERIES[name])
        spent = social.spent(lambda: ask(graph, QUERIES[name]))
        assert spent.by_part == PROBE, str(spent)
        assert ask(graph, QUERIES[name]) == first


def test_a_query_over_several_types_reads_the_manifest_no_more_than_a_query_over_one(social: CountedPlace):
    with social.open("r") as graph:
        ask(graph, OLDEST)
        spent = social.spent(lambda: ask(graph, EVERYTHING))
        assert spent.by_part["manifest"] == {"LIST": 1}, str(spent)
        assert spent.writes == 0


def test_a_query_along_one_edge_type_touches_no_other(social: CountedPlace):
    with social.open("r") as graph:
        ask(graph, FRIENDS)
        # Not by graph.stats(), which opens every type to ask for its indexes.
        stats = graph._reader.memory.stats()
        assert (stats["adjacency"].builds, stats["endpoints"].builds) == (1, 1), stats
        # The types that the query did not name are opened now and not before.
        spent = social.spent(lambda: ask(graph, EVERYTHING))
        assert spent.by_part["tables"].get("HEAD", 0) == 2, str(spent)


def test_a_traversal_right_after_a_one_edge_commit_reads_only_the_delta(place: CountedPlace):
    with place.init(SCHEMA) as graph:
        graph.load(records(), "append")
        whole = "query q() { match { $p: Person  $p knows $q } return { count($q) as n } }"
        cold = place.spent(lambda: ask(graph, whole))
        graph.load([knows(0, 5)], "append")
        warm = place.spent(lambda: ask(graph, whole))
        assert ask(graph, whole) == [{"n": PEOPLE + 1}]
        assert warm.by_part["manifest"] == {"LIST": 1}, str(warm)
        # The one new file of the edge type, and no other.
        assert sum(warm.by_part.get("tables", {}).values()) <= 2, str(warm)
        assert warm.received["tables"] < cold.received["tables"] / 2, (str(cold), str(warm))


def test_a_query_after_a_one_node_commit_reads_only_the_delta_and_keeps_the_edges(place: CountedPlace):
    with place.init(SCHEMA) as graph:
        graph.load(records(), "append")
        ask(graph, FRIENDS), ask(graph, OLDEST)
        before = graph.stats().memory["adjacency"]
        graph.load([person(900)], "append")
        warm = place.spent(lambda: (ask(graph, FRIENDS), ask(graph, OLDEST)))
        assert warm.by_part["manifest"] == {"LIST": 2}, str(warm)
        assert sum(warm.by_part.get("tables", {}).values()) <= 2, str(warm)
        after = graph.stats().memory["adjacency"]
        assert after.builds - after.extensions == before.builds - before.extensions


def test_queries_by_one_handle_do_not_grow_with_history(place: CountedPlace):
    with place.init(SCHEMA) as graph:
        graph.load(records(), "append")
        ask(graph, FRIENDS)
        early = place.spent(lambda: ask(graph, FRIENDS))
        for number in range(20):
            graph.load([knows(number, number + 7)], "append")
        ask(graph, FRIENDS)
        late = place.spent(lambda: ask(graph, FRIENDS))
        assert late.by_part == early.by_part == PROBE, str(late)


def test_a_handle_for_reading_queries_without_a_write(social: CountedPlace):
    def read() -> None:
        with social.open("r") as graph:
            for text in QUERIES.values():
                ask(graph, text)
            graph.explain(OLDEST, analyze=True)
            graph.stats()

    spent = social.spent(read)
    assert spent.total > 0
    assert spent.writes == 0, str(spent)
