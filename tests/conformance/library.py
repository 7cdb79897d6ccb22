"""The schema and the records of the conformance set (language reference, section 20)."""

from __future__ import annotations

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

NODES = (
    (
        '{"type":"Film","data":{"code":"SF-1","title":"Orbit","genre":"sci-fi","stars":4.5,"released":"2020-03-01",'
        '"added":"2026-01-01T00:00:00Z","tags":["space","slow"]}}'
    ),
    (
        '{"type":"Film","data":{"code":"DR-2","title":"Harbor","genre":"drama","stars":3.0,"released":"2021-07-09",'
        '"added":"2026-01-02T00:00:00Z"}}'
    ),
    '{"type":"Film","data":{"code":"DO-3","title":"Salt","genre":"docu","added":"2026-01-03T00:00:00.5Z"}}',
    '{"type":"Person","data":{"handle":"ann","mail":"ann@x.org"}}',
    '{"type":"Person","data":{"handle":"bo"}}',
    '{"type":"Person","data":{"handle":"cy"}}',
)
DIRECTED = ('{"edge":"Directed","from":"cy","to":"SF-1"}',)
RENTED = (
    '{"edge":"Rented","from":"ann","to":"SF-1","data":{"on":"2026-02-01"}}',
    '{"edge":"Rented","from":"ann","to":"DR-2"}',
    '{"edge":"Rented","from":"bo","to":"SF-1","data":{"on":"2026-02-03"}}',
)
FOLLOWS = (
    '{"edge":"Follows","from":"ann","to":"bo"}',
    '{"edge":"Follows","from":"bo","to":"cy"}',
    '{"edge":"Follows","from":"cy","to":"ann"}',
    '{"edge":"Follows","from":"bo","to":"bo"}',
)
EDGES = (*DIRECTED, *RENTED, *FOLLOWS)
EVERYTHING = "\n".join((*NODES, *EDGES))
