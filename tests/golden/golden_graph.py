"""The golden graph: one small graph with something of everything, as each format stores it.

``python tests/golden/golden_graph.py FILE.zip`` makes the file of the format that the installed release writes. A file
is made once for each format and never again: it stands for the graphs that users have.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

import omnigraph as og

SCHEMA = """
interface Named {
    name: String
}

node Person implements Named {
    name: String @key
    age: I32? @index
    born: Date?
    seen: DateTime?
    score: F64?
    tags: [String]?
    mood: Vector(3)?
    kind: enum(human, robot)?
    @range(age, 0..150)
}

node Note {
    text: String
    stars: U64?
}

edge Knows: Person -> Person {
    since: Date?
    @unique(src, dst)
}

edge Wrote: Person -> Note @card(0..10)
"""

PEOPLE = [
    {
        "type": "Person",
        "data": {
            "name": "Ann",
            "age": 41,
            "born": "1985-02-28",
            "seen": "2026-01-02T03:04:05.000Z",
            "score": 0.5,
            "tags": ["a", "b"],
            "mood": [1.0, 0.0, 0.5],
            "kind": "human",
        },
    },
    {"type": "Person", "data": {"name": "Bo"}},
    {"type": "Person", "data": {"name": "Cy", "age": 7, "kind": "robot"}},
    {"edge": "Knows", "from": "Ann", "to": "Bo", "data": {"since": "2020-02-29"}},
]
NOTE = [
    {"type": "Note", "data": {"id": "01KA7X3J8Q0000000000000001", "text": "first", "stars": 18446744073709551615}},
    {"edge": "Wrote", "from": "Ann", "to": "01KA7X3J8Q0000000000000001"},
]
LATER = 'query grow() { update Person set { age: 42 } where name = "Ann" }'


def make(place: Path) -> None:
    """Make the golden graph: five commits on main, a tag on the second, indexes, and a branch with one commit."""
    with og.init(place, schema=SCHEMA, actor="ann") as graph:
        graph.load(PEOPLE, "append")
        graph.tags.create("people")
        graph.load(NOTE, "append", actor="bo")
        graph.maintain.ensure_indices()
        graph.branches.create("draft")
        graph.load([{"type": "Person", "data": {"name": "Di"}}], "append", branch="draft")
        graph.mutate(LATER, "grow")


def pack(place: Path, file: Path) -> None:
    """Write the files of a graph into one archive, the same for the same files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for each in sorted(place.rglob("*")):
            if each.is_file():
                name = zipfile.ZipInfo(each.relative_to(place).as_posix(), (2026, 1, 1, 0, 0, 0))
                archive.writestr(name, each.read_bytes())


def unpack(file: Path, place: Path) -> Path:
    """The graph of an archive at a new place."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(place)
    return place


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        make(Path(directory) / "graph.omni")
        pack(Path(directory) / "graph.omni", Path(sys.argv[1]))
