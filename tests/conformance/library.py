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

EARLY = "\n".join((NODES[0], NODES[2], NODES[3], NODES[4], RENTED[0], RENTED[2], FOLLOWS[0], FOLLOWS[3]))
LATE = "\n".join((NODES[1], NODES[5], *DIRECTED, RENTED[1], FOLLOWS[1], FOLLOWS[2]))
"""The same records in two loads, between which indexes can be built."""

PLOTS = (
    (
        '{"type":"Film","data":{"code":"AA-1","title":"River","genre":"docu","added":0,"stars":2.0,'
        '"plot":"The river and the old stone","plotVec":[1,0,0,0]}}'
    ),
    (
        '{"type":"Film","data":{"code":"AA-2","title":"Gold","genre":"drama","added":0,"stars":4.0,'
        '"plot":"Gold, gold: a river of gold","plotVec":[0,1,0,0]}}'
    ),
    (
        '{"type":"Film","data":{"code":"AA-3","title":"Salt","genre":"drama","added":0,'
        '"plot":"Salt houses at the Café","plotVec":[1,1,0,0]}}'
    ),
    '{"type":"Film","data":{"code":"AA-4","title":"Twin","genre":"docu","added":0,"stars":1.0,"plotVec":[1,1,0,0]}}',
    '{"type":"Film","data":{"code":"AA-5","title":"Stone","genre":"docu","added":0,"plot":"stone"}}',
    '{"type":"Person","data":{"handle":"ann"}}',
    '{"type":"Person","data":{"handle":"bo"}}',
    '{"edge":"Rented","from":"ann","to":"AA-1"}',
    '{"edge":"Rented","from":"ann","to":"AA-3"}',
    '{"edge":"Rented","from":"bo","to":"AA-2"}',
)
"""Films to be searched: one has no plot, one no vector, and two have the same one."""
