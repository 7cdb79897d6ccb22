"""The library of the conformance set: its schema and its graph, as the toy engine holds graphs."""

from __future__ import annotations

from typing import Any

SCHEMA = """
interface Titled { title: String @index }

node Film implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    stars: F32?
    released: Date?
    added: DateTime
    plot: String? @index
    plotVec: Vector(4)? @embed("plot", model="demo/embed") @index
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
edge Directed: Person -> Film @card(0..)
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
"""

DAY = 86_400_000
FEBRUARY_1_2026 = 20_485
"""Days since 1970: 56 years with 14 leap days make 20,454 until 2026 begins, and January has 31."""


def make_graph(toy: Any) -> Any:
    january_1 = (FEBRUARY_1_2026 - 31) * DAY
    films = [
        {
            "code": "SF-1",
            "title": "Orbit",
            "genre": "sci-fi",
            "stars": 4.5,
            "released": 18_322,
            "added": january_1,
            "tags": ["space", "slow"],
        },
        {
            "code": "DR-2",
            "title": "Harbor",
            "genre": "drama",
            "stars": 3.0,
            "released": 18_817,
            "added": january_1 + DAY,
        },
        {"code": "DO-3", "title": "Salt", "genre": "docu", "added": january_1 + 2 * DAY + 500},
    ]
    people = [{"handle": "ann", "mail": "ann@x.org"}, {"handle": "bo"}, {"handle": "cy"}]
    rented = [("ann", "SF-1", FEBRUARY_1_2026), ("ann", "DR-2", None), ("bo", "SF-1", FEBRUARY_1_2026 + 2)]
    follows = [("ann", "bo"), ("bo", "cy"), ("cy", "ann"), ("bo", "bo")]
    return toy.Graph(
        {
            "Film": {each["code"]: each for each in films},
            "Person": {each["handle"]: each for each in people},
        },
        {
            "Directed": [toy.Edge("d1", "cy", "SF-1")],
            "Rented": [
                toy.Edge(f"r{number}", source, target, {"on": day})
                for number, (source, target, day) in enumerate(rented)
            ],
            "Follows": [toy.Edge(f"f{number}", *ends) for number, ends in enumerate(follows)],
        },
    )
