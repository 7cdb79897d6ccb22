"""Random graphs for one schema that has every type, as loader records; drawn from a seed.

    Random ── make_records ──> a first load
           ├─ make_changes ──> one on top of it, in merge mode
           └─ make_removals ─> one on top of these, in overwrite mode

Values come from small sets, so that comparisons, ties and joins hit; they hold the edges of every type and numbers that
widths tell apart. Ids order otherwise by byte than by number or by word, and ids of different types are spelled alike.
Edges are often parallel, or lead back to where they start. ``query_strategies`` asks about these graphs.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

Record = dict[str, Any]

SCHEMA: Final = """
interface Described { text: String? @index }

node Item implements Described {
    code: String @key
    name: String? @index
    kind: enum(plain, b-2, 9x, Zed)? @index
    small: I32? @index
    big: I64? @index
    wide: U64?
    half: F32? @index
    full: F64?
    flag: Bool?
    day: Date? @index
    moment: DateTime?
    tags: [String]?
    sizes: [I64]?
    halves: [F32]?
    vec: Vector(3)? @index
}
node Place implements Described {
    number: I64 @key
    name: String?
    count: U32? @index
    full: F64? @index
    moment: DateTime? @index
    vec: Vector(3)?
}
node Note { text: String  kind: enum(b-2, Zed)  small: I32  flag: Bool? }
edge Knows: Item -> Item { small: I32?  half: F32?  day: Date?  name: String? }
edge Near: Place -> Place { full: F64?  flag: Bool? }
edge Stays: Item -> Place { big: I64?  @unique(src, dst) }
edge Owns: Place -> Item { kind: enum(plain, 9x)? }
edge Tells: Note -> Item { small: I32 }
"""

ENDS: Final = {
    "Knows": ("Item", "Item"),
    "Near": ("Place", "Place"),
    "Stays": ("Item", "Place"),
    "Owns": ("Place", "Item"),
    "Tells": ("Note", "Item"),
}
"""Where edges lead, by type."""

PROPERTIES: Final[dict[str, dict[str, str]]] = {
    "Item": {
        "code": "String", "name": "String", "kind": "enum", "small": "I32", "big": "I64", "wide": "U64",
        "half": "F32", "full": "F64", "flag": "Bool", "day": "Date", "moment": "DateTime", "tags": "[String]",
        "sizes": "[I64]", "halves": "[F32]", "text": "text", "vec": "Vector",
    },
    "Place": {
        "number": "I64", "name": "String", "count": "U32", "full": "F64", "moment": "DateTime", "text": "text",
        "vec": "Vector",
    },
    "Note": {"text": "text", "kind": "enum", "small": "I32", "flag": "Bool"},
    "Knows": {"small": "I32", "half": "F32", "day": "Date", "name": "String"},
    "Near": {"full": "F64", "flag": "Bool"},
    "Stays": {"big": "I64"},
    "Owns": {"kind": "enum"},
    "Tells": {"small": "I32"},
}  # fmt: skip
"""The kind of each property by type; ``text`` is a String that is searched."""

ENUMS: Final = {
    "Item": ("plain", "b-2", "9x", "Zed"),
    "Note": ("b-2", "Zed"),
    "Owns": ("plain", "9x"),
}

CODES: Final = ("a", "Z", "b", "10", "9", "ä", "\uffee", "\U0001f600", "a b", "", "A")
NUMBERS: Final = (10, 9, -1, 2, 100, 0)

VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "String": ("a", "A", "ab", "b", "", "ä", "10", "9", "\uffee", "\U0001f600", 'say "so" \\ now', "two\nlines"),
    "I32": (-1, 0, 1, 1, 2, 3, -(2**31), 2**31 - 1),
    "I64": (-1, 0, 1, 1, 2, 2**53, 2**53 + 1, -(2**63), 2**63 - 1),
    "U32": (0, 1, 1, 2, 2**32 - 1),
    "U64": (0, 1, 1, 2, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1),
    "F32": (-1.0, 0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 16777216.0, 3.4028234663852886e38),
    "F64": (-1.0, 0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 9007199254740992.0, 18446744073709551616.0, 1e300, -1e300),
    "Bool": (True, False),
    "Date": ("1969-12-31", "1970-01-01", "2020-02-29", "2026-02-01", "2026-02-02"),
    "DateTime": (
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00.000Z",
        "2020-02-29T00:00:00.000Z",
        "2026-02-01T12:00:00.500Z",
    ),
    "Vector": (
        (1.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.6, 0.8, 0.0),
        (-1.0, 0.5, 0.25),
        (2.0, 1.0, 0.75),
        (0.1, 0.2, 0.9),
        (3.0, -2.0, 1.0),
    ),
}
"""What properties hold beside null, by kind. Vectors differ clearly in their distance from every vector asked for."""

SPELLINGS: Final = (
    "river", "River", "RIVER", "stone", "salt", "orbit", "film", "gold", "wolf", "map", "boat", "boats", "café",
    "Cafe", "Über", "house", "houses", "running", "run", "jumped", "the", "and", "of",
)  # fmt: skip
"""Words of texts as they are written."""


def make_records(random: Random) -> list[Record]:
    """A first load: a few nodes of each type and edges between them, in any order."""
    nodes: dict[str, list[Any]] = {
        "Item": random.sample(CODES, random.randint(2, 9)),
        "Place": random.sample(NUMBERS, random.randint(2, 6)),
        "Note": [f"n{number}" for number in range(random.randint(0, 4))],
    }
    records = [make_node(random, kind, each) for kind, keys in nodes.items() for each in keys]
    for edge, (source, target) in ENDS.items():
        if nodes[source] and nodes[target]:
            most = 18 if source == target else 12
            records += make_edges(random, edge, nodes[source], nodes[target], random.randint(most // 4, most))
    random.shuffle(records)
    return records


def make_changes(random: Random, records: list[Record]) -> list[Record]:
    """A load in merge mode on top of others: nodes with other values, new nodes, edges elsewhere, new edges."""
    keys = {kind: [_key(each) for each in records if each.get("type") == kind] for kind in ("Item", "Place", "Note")}
    changed = {kind: random.sample(found, random.randint(0, min(3, len(found)))) for kind, found in keys.items()}
    new_items = [each for each in CODES if each not in keys["Item"]]
    added: dict[str, list[Any]] = {
        "Item": random.sample(new_items, min(2, len(new_items))),
        "Place": [77],
        "Note": ["m1"],
    }
    found = [make_node(random, kind, each) for kind in keys for each in (*changed[kind], *added[kind])]
    for edge, (source, target) in ENDS.items():
        sources, targets = [*keys[source], *added[source]], [*keys[target], *added[target]]
        new = make_edges(random, edge, sources, targets, random.randint(0, 5))
        if edge == "Stays":
            # Merging recognises these by their ends, and then the id would be another one.
            taken = {(each["from"], each["to"]) for each in records if each.get("edge") == edge}
            new = [each for each in new if (each["from"], each["to"]) not in taken]
            for each in new:
                each["data"]["id"] = "later-" + each["data"]["id"]
        found += new
    random.shuffle(found)
    return found


def make_removals(random: Random, records: list[Record]) -> list[Record]:
    """A load in overwrite mode on top of others, which leaves only some of the edges and notes; may be empty."""
    current = {(each.get("type") or each["edge"], str(_id(each))): each for each in records}
    found: list[Record] = []
    for edge in ("Knows", "Near", "Owns"):
        edges = [each for (kind, _), each in current.items() if kind == edge]
        if edges and random.random() < 0.7:
            found += random.sample(edges, random.randint(1, len(edges)))
    notes = {name: each for (kind, name), each in current.items() if kind == "Note"}
    kept = set(random.sample(sorted(notes), random.randint(min(1, len(notes)), len(notes))))
    tells = [each for (kind, _), each in current.items() if kind == "Tells" and each["from"] in kept]
    if tells:
        found += [*(notes[name] for name in sorted(kept)), *tells]
    random.shuffle(found)
    return found


def make_node(random: Random, kind: str, key: Any) -> Record:
    """A node with this key, or this id where the type has no key."""
    is_required = kind == "Note"
    name = {"Item": "code", "Place": "number", "Note": "id"}[kind]
    data = {each: make_value(random, kind, each, is_required=is_required) for each in PROPERTIES[kind] if each != name}
    given = {each: value for each, value in data.items() if value is not None or random.random() < 0.5}
    return {"type": kind, "data": {name: key, **given}}


def make_edges(random: Random, edge: str, sources: list[Any], targets: list[Any], count: int) -> list[Record]:
    """Edges with ids that are in no order; of ``Stays`` one per pair, because it is unique."""
    numbers = random.sample(range(count * 3), count)
    found = []
    for number in numbers:
        source, target = str(random.choice(sources)), str(random.choice(targets))
        if edge == "Knows" and random.random() < 0.2:
            target = source
        data = {
            name: make_value(random, edge, name, is_required=edge == "Tells")
            for name in PROPERTIES[edge]
            if edge == "Tells" or random.random() < 0.8
        }
        found.append({"edge": edge, "from": source, "to": target, "data": {"id": f"{edge[0]}{number}", **data}})
    if edge == "Stays":
        found = list({(each["from"], each["to"]): each for each in found}.values())
    return found


def make_value(random: Random, owner: str, name: str, *, is_required: bool = False) -> Any:
    """A value of a property, rarely null."""
    if not is_required and random.random() < 0.15:
        return None
    kind = PROPERTIES[owner][name]
    if kind == "text":
        return make_text(random)
    if kind == "enum":
        return random.choice(ENUMS[owner])
    if kind.startswith("["):
        return random.choices(VALUES[kind[1:-1]], k=random.randint(0, 3))
    value = random.choice(VALUES[kind])
    return list(value) if kind == "Vector" else value


def make_text(random: Random) -> str:
    """A few words, some of them in another form."""
    return random.choice((" ", ", ", "-")).join(random.choices(SPELLINGS, k=random.randint(0, 5)))


def _id(record: Record) -> Any:
    return _key(record) if "type" in record else record["data"]["id"]


def _key(record: Record) -> Any:
    return record["data"][{"Item": "code", "Place": "number", "Note": "id"}[record["type"]]]
