"""Reading: queries give on every backend what a naive evaluator gives, at every moment, with and without indexes.

What a query means is tested elsewhere; here it is whether the rows, the indexes and the versions that a query needs are
where the backend says. So there is one query for each way to reach into storage: by scan, along edges, for what is not
there, over groups, by words and by vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from omnigraph.schema import compile_schema
from omnigraph.testing.answers import disagreement
from omnigraph.testing.graph_contract.clauses import SEED, STORY, GraphClauses, GraphPlace, model_of, person, rated
from omnigraph.testing.model import ModelGraph, Record
from omnigraph.testing.query_model import QueryModel

if TYPE_CHECKING:
    from omnigraph.graph import Graph

SCAN: Final = """query scan($age: I32) {
    match { $p: Person  $p.age >= $age } return { $p, $p.age } order { $p.age desc } limit 10
}"""
LOOK_UP: Final = "query look_up($name: String) { match { $p: Person { name: $name } } return { $p.name, $p.age } }"
TRAVERSAL: Final = """query traversal($name: String) {
    match { $p: Person { name: $name }  $p rated $f  $q rated $f }
    return { $f.title, $q.name } order { $f.title, $q.name }
}"""
EDGES: Final = "query edges() { match { $p $e:rated $f  $e.stars > 1 } return { $p, $f, $e.stars } }"
NEGATION: Final = """query negation($genre: String) {
    match { $p: Person  not { $p rated $f  $f.genre = $genre } } return { $p }
}"""
AGGREGATE: Final = """query aggregate() {
    match { $p: Person  $p $e:rated $f } return { $f.title, count($p) as ratings, avg($e.stars) as mean }
    order { ratings desc, mean }
}"""

QUESTIONS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    (SCAN, {"age": 7}),
    (LOOK_UP, {"name": "ann"}),
    (TRAVERSAL, {"name": "bo"}),
    (EDGES, {}),
    (NEGATION, {"genre": "drama"}),
    (AGGREGATE, {}),
)
"""Queries with their parameters."""

LIBRARY: Final = """
node Book { code: String @key  blurb: String? @index  shelf: enum(low, high)? @index  mark: Vector(3)? @index }
node Reader { name: String @key }
edge Read: Reader -> Book { @unique(src, dst) }
"""


def book(code: str, blurb: str | None, shelf: str, mark: Sequence[float] | None) -> Record:
    """A record of a node that can be searched."""
    return {"type": "Book", "data": {"code": code, "blurb": blurb, "shelf": shelf, "mark": mark}}


def read(name: str, code: str) -> Record:
    """A record of an edge whose id follows from its ends."""
    return {"edge": "Read", "from": name, "to": code, "data": {"id": f"{name}-{code}"}}


BOOKS: Final[tuple[Record, ...]] = (
    book("b1", "The river and the stone", "low", [1.0, 0.0, 0.0]),
    book("b2", "gold, Gold and a river", "high", [0.0, 1.0, 0.0]),
    book("b3", "salt houses", "low", [1.0, 1.0, 0.0]),
    book("b4", None, "high", [1.0, 0.0, 1.0]),
    {"type": "Reader", "data": {"name": "ann"}},
    read("ann", "b1"),
    read("ann", "b3"),
)
MORE_BOOKS: Final[tuple[Record, ...]] = (
    book("b2", "a stone", "low", None),
    book("b5", "Running along the river", "high", [0.5, 0.0, 0.5]),
    read("ann", "b5"),
)

SEARCHES: Final = (
    'query words() { match { $b: Book  search($b.blurb, "RIVER house") } return { $b } }',
    'query nearly() { match { $b: Book  fuzzy($b.blurb, "stne", 1) } return { $b } }',
    'query of_a_reader() { match { $r: Reader  $r read $b  match_text($b.blurb, "river run") } return { $r, $b } }',
    """query near() {
        match { $b: Book { shelf: "low" } } return { $b, nearest($b.mark, [1, 0.5, 0]) as far } order { far } limit 2
    }""",
    'query best() { match { $b: Book } return { $b } order { bm25($b.blurb, "river gold") } }',
    """query both() {
        match { $b: Book } return { $b }
        order { rrf(nearest($b.mark, [1, 0.5, 0]), bm25($b.blurb, "stone river")) } limit 3
    }""",
)


class ReadClauses(GraphClauses):
    """Queries, at the newest state and at earlier ones."""

    def test_queries_give_what_the_model_gives(self, place: GraphPlace, graph: Graph) -> None:
        """Through a handle that stays open while the graph moves on, and through new ones."""
        for number in range(len(STORY)):
            mode, records = STORY[number]
            graph.load(records, mode)
            model = QueryModel(model_of(*STORY[: number + 1]))
            with place.open("r") as reader:
                for seen in (graph, reader):
                    check_answers(seen, model, QUESTIONS)

    def test_searches_give_what_the_model_gives_with_and_without_indexes(self, place: GraphPlace) -> None:
        """No index, all rows covered, a part of them covered, all of them again."""
        model = ModelGraph(compile_schema(LIBRARY))
        searches: list[tuple[str, Mapping[str, Any]]] = [(text, {}) for text in SEARCHES]
        with place.init(LIBRARY) as graph:
            for records in (BOOKS, MORE_BOOKS):
                graph.load(records, "merge")
                model.load(records, "merge")
                check_answers(graph, QueryModel(model), searches)
                graph.maintain.ensure_indices()
                check_answers(graph, QueryModel(model), searches)
                with place.open("r") as reader:
                    check_answers(reader, QueryModel(model), searches)

    def test_indexes_are_one_commit_and_change_no_row(self, seeded: Graph) -> None:
        before, commits = list(seeded.export()), seeded.commits.list()
        seeded.maintain.ensure_indices()
        assert list(seeded.export()) == before
        assert seeded.commits.list()[1:] == commits
        check_answers(seeded, QueryModel(model_of(("append", SEED))), QUESTIONS)
        # There is nothing left to do.
        seeded.maintain.ensure_indices()
        assert len(seeded.commits.list()) == len(commits) + 1

    def test_a_query_reads_one_commit_and_names_it(self, place: GraphPlace, seeded: Graph) -> None:
        first, kept = seeded.commits.list()[0], seeded.snapshot()
        more = [person("dee", 30), rated("dee", "F2", 4)]
        with place.open() as other:
            second = other.load(more, "append").commit
        old, new = model_of(("append", SEED)), model_of(("append", SEED), ("append", more))
        for text, given in QUESTIONS:
            assert seeded.query(text, params=given).commit_id == second.id
            for moment in (first.id, first.manifest_version, kept):
                result = seeded.query(text, params=given, snapshot=moment)
                assert result.commit_id == first.id
                answer = QueryModel(old).answer(text, given)
                assert disagreement(answer, result.columns, result.rows()) is None
        check_answers(seeded, QueryModel(new), QUESTIONS)


def check_answers(graph: Graph, model: QueryModel, questions: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Each query gives what the model says, the second time as well."""
    for text, given in questions:
        answer = model.answer(text, given)
        for _ in range(2):
            result = graph.query(text, params=given)
            wrong = disagreement(answer, result.columns, result.rows())
            assert wrong is None, f"{wrong}\n{text}\n{given}"
