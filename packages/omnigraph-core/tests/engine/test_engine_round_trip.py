"""Export, init, load, export: the same bytes, for a graph that uses every type at its edges."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
interface Named { name: String? }
node Everything implements Named {
    key: String @key
    text: String?  flag: Bool?  form: enum(novel, sci-fi)?
    i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    day: Date?  moment: DateTime?  vector: Vector(3)?  blob: Blob?
    texts: [String]?  flags: [Bool]?  i32s: [I32]?  i64s: [I64]?  u32s: [U32]?  u64s: [U64]?
    f32s: [F32]?  f64s: [F64]?  days: [Date]?  moments: [DateTime]?
}
node Pair { a: I64  b: Date  @key(a, b) }
node Keyless { text: String }
edge Joins: Everything -> Pair { weight: F64?  note: String?  proof: Blob? }
edge Follows: Keyless -> Keyless
"""

# What F32 makes of 0.1, and its smallest number.
TENTH, TINIEST = 0.10000000149011612, 1.401298464324817e-45

LEAST = {
    "i32": -(2**31), "i64": -(2**63), "u32": 0, "u64": 0, "f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308,
    "day": "-262143-01-01", "moment": "-262143-01-01T00:00:00.000Z", "flag": False, "form": "novel", "text": "",
    "name": "", "vector": [-3.4028234663852886e38, -0.0, TINIEST], "blob": "base64:", "texts": [], "flags": [],
    "i32s": [], "i64s": [], "u32s": [], "u64s": [], "f32s": [], "f64s": [], "days": [], "moments": [],
}  # fmt: skip
MOST = {
    "i32": 2**31 - 1, "i64": 2**63 - 1, "u32": 2**32 - 1, "u64": 2**64 - 1, "f32": TINIEST, "f64": 5e-324,
    "day": "+262142-12-31", "moment": "+262142-12-31T23:59:59.999Z", "flag": True, "form": "sci-fi",
    "text": 'quote " backslash \\ newline \n tab \t nul \x00 line separator \u2028 é 山 🎬 e\u0301', "name": "ñ",
    "vector": [TENTH, 3.4028234663852886e38, -1.5], "blob": "base64:AAECA/8=", "texts": ["", "\n", "🎬"],
    "flags": [True, False], "i32s": [-(2**31)], "i64s": [-(2**63), 2**63 - 1], "u32s": [2**32 - 1],
    "u64s": [2**64 - 1], "f32s": [-0.0, TENTH], "f64s": [-0.0, 0.1, 1e300], "days": ["0000-01-01", "9999-12-31"],
    "moments": ["1969-12-31T23:59:59.999Z"],
}  # fmt: skip


def node(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


RECORDS = [
    edge("Joins", "least", '["-1","0"]', weight=-0.0, note="née", proof="base64:AA=="),
    edge("Joins", "most", '["-1","0"]', id="given"),
    node("Everything", key="least", **LEAST),
    node("Everything", key="most", **MOST),
    node("Everything", key="nulls"),
    node("Everything", key='\x01odd " key 🎬'),
    node("Pair", a=-1, b="1970-01-01"),
    node("Keyless", id="k1", text="one"),
    node("Keyless", text="two"),
    edge("Follows", "k1", "k1"),
]


@pytest.fixture(scope="module")
def exported() -> str:
    with og.init(f"memory://{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        graph.load(RECORDS, "append")
        return "\n".join(graph.export())


def test_what_was_loaded_is_what_is_exported(exported: str):
    found = {each["data"]["id"]: each["data"] for each in map(json.loads, exported.splitlines())}
    for key, values in (("least", LEAST), ("most", MOST)):
        # By their spelling: -0.0 equals 0.0 and True equals 1.
        assert {name: repr(found[key][name]) for name in values} == {
            name: repr(value) for name, value in values.items()
        }
    assert {found["nulls"][name] for name in MOST} == {None}
    assert '\x01odd " key 🎬' in found


@pytest.mark.parametrize("form", ["text", "records"])
def test_a_rebuilt_graph_exports_the_same_bytes(exported: str, form: str):
    data: Any = exported if form == "text" else [json.loads(line) for line in exported.splitlines()]
    with og.init(f"memory://{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        graph.load(data, "overwrite")
        assert "\n".join(graph.export()) == exported
        # Merged once more, nothing is added or changed: every row has its id.
        graph.load(data, "merge")
        assert "\n".join(graph.export()) == exported


def test_arrow_tables_of_every_type_rebuild_the_graph_too(exported: str):
    with (
        og.init(f"memory://{secrets.token_hex(6)}", schema=SCHEMA) as first,
        og.init(f"memory://{secrets.token_hex(6)}", schema=SCHEMA) as second,
    ):
        first.load(exported, "append")
        names = [f"{each['kind']}:{each['name']}" for each in first.snapshot().to_dict()["types"]]
        second.load({name: first.table(name) for name in names}, "append")
        assert "\n".join(second.export()) == exported
