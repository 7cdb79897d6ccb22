"""A graph with every type of the schema language, and values at the ends of what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omnigraph as og

SCHEMA = """
node Thing {
  k: String @key
  s: String?
  kind: enum(red, green)?
  ok: Bool?
  i: I32?
  l: I64?
  u: U32?
  w: U64?
  f: F32?
  g: F64?
  d: Date?
  t: DateTime?
  v: Vector(3)?
  b: Blob?
  ss: [String]?
  oks: [Bool]?
  ls: [I64]?
  us: [U32]?
  ws: [U64]?
  fs: [F32]?
  ds: [Date]?
  ts: [DateTime]?
}
node Place { name: String @key  l: I64? }
edge Near: Thing -> Thing { since: Date? }
edge At: Thing -> Place { l: I64? }
"""

LOW: dict[str, Any] = {
    "k": "low",
    "s": "",
    "kind": "green",
    "ok": False,
    "i": -(2**31),
    "l": -(2**63),
    "u": 0,
    "w": 0,
    "f": -3.4028234663852886e38,
    "g": -1.7976931348623157e308,
    "d": "-262143-01-01",
    "t": "-262143-01-01T00:00:00Z",
    "v": [-1.0, 0.0, 1e-45],
    "b": "base64:",
    "ss": [],
    "oks": [],
    "ls": [],
    "us": [],
    "ws": [],
    "fs": [],
    "ds": [],
    "ts": [],
}
HIGH: dict[str, Any] = {
    "k": "high \U0001f600",
    "s": "\u0000\U0010ffff",
    "kind": "red",
    "ok": True,
    "i": 2**31 - 1,
    "l": 2**63 - 1,
    "u": 2**32 - 1,
    "w": 2**64 - 1,
    "f": 1.401298464324817e-45,
    "g": 5e-324,
    "d": "+262142-12-31",
    "t": "+262142-12-31T23:59:59.999Z",
    "v": [3.4028234663852886e38, -0.0, 0.1],
    "b": "base64:AAH/",
    "ss": ["", "a"],
    "oks": [True, False],
    "ls": [-(2**63), 2**63 - 1],
    "us": [0, 2**32 - 1],
    "ws": [0, 2**64 - 1],
    "fs": [0.1, -0.0],
    "ds": ["1969-12-31", "9999-12-31"],
    "ts": ["1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00.001Z"],
}


def make_graph(place: Path) -> og.Graph:
    """Two parts of things: extremes, and one of which everything but the key is null; two edges."""
    graph = og.init(place, schema=SCHEMA)
    graph.load([{"type": "Thing", "data": LOW}, {"type": "Thing", "data": HIGH}], "append")
    graph.load(
        [
            {"type": "Thing", "data": {"k": "none"}},
            {"type": "Place", "data": {"name": "none", "l": 5}},
            {"edge": "Near", "from": "low", "to": "none", "data": {"id": "n1", "since": "2024-02-29"}},
            {"edge": "At", "from": "low", "to": "none", "data": {"id": "a1"}},
        ],
        "append",
    )
    return graph
