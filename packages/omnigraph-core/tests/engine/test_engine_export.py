"""The export: which lines, in which order, spelled how; read back with ``json`` and nothing of ours."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Mapping
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine import export
from omnigraph.engine.export import export_parts
from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import GraphState, head_row, pin_row, registration_row, schema_row
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.lance_tables import LanceTables

MAIN = BranchRef.of_line("main", "b0")

FILMS = """
node Film { code: String @key  title: String  stars: F32?  tags: [String]? }
node Person { handle: String @key }
edge Rented: Person -> Film { on: Date?  why: String? }
edge Follows: Person -> Person
edge Film: Person -> Film
"""

EVERYTHING = """
node Everything {
    key: String @key
    text: String?  flag: Bool?  form: enum(novel, essay)?
    i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    day: Date?  moment: DateTime?  vector: Vector(3)?  blob: Blob?
    texts: [String]?  flags: [Bool]?  numbers: [I64]?  days: [Date]?  moments: [DateTime]?  floats: [F32]?
}
"""


class Graph:
    """A snapshot over tables in memory, made without a writer."""

    def __init__(self, schema: str, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        self.tables = LanceTables(MemoryAdapter(parse_uri(f"memory://export-{secrets.token_hex(6)}")))
        graph_schema = GraphSchema.new(schema, "0" * 26)
        commit = Commit(
            id="01J",
            parent_id=None,
            branch="main",
            line="b0",
            manifest_version=1,
            kind=CommitKind.DATA,
            created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        )
        facts = [commit.to_row(), head_row(commit, MAIN.incarnation), schema_row(graph_schema.digest, 1)]
        for key, target in graph_schema.tables.items():
            first = pa.Table.from_pylist(rows.get(key, []), target.schema)
            made = self.tables.commit_create(self.tables.stage_create(target.location, target.schema, first))
            state = self.tables.table_state(made)
            facts += [registration_row(key, target.identity, 1), pin_row(key, target.identity, made.pin, state, 1)]
        self.snapshot = Snapshot(branch=MAIN, state=GraphState.of(facts, 1), schema=graph_schema)

    def export(self, types: list[str] | None = None) -> list[str]:
        return list(chain.from_iterable(export_parts(self.snapshot, self.tables, types=types)))


@pytest.fixture
def films() -> Graph:
    return Graph(
        FILMS,
        {
            "node:Film": [
                {"id": "SF-1", "code": "SF-1", "title": "Orbit", "stars": 4.5, "tags": ["space", "slow"]},
                {"id": "DO-3", "code": "DO-3", "title": 'Salt "and" señal', "stars": None, "tags": []},
            ],
            "node:Person": [{"id": name, "handle": name} for name in ("ann", "Zoe", "émile", "bo")],
            "edge:Rented": [
                {"id": "e2", "src": "ann", "dst": "SF-1", "on": dt.date(2026, 2, 1), "why": None},
                {"id": "e1", "src": "bo", "dst": "DO-3", "on": None, "why": "rain\nall day"},
            ],
            "edge:Film": [{"id": "f", "src": "ann", "dst": "SF-1"}],
        },
    )


def test_the_lines_are_exactly_those_of_the_language(films: Graph):
    # Edge types, then node types, by name; ids by their bytes; columns in order; compact; letters as they are.
    assert films.export() == [
        '{"edge":"Film","from":"ann","to":"SF-1","data":{"id":"f"}}',
        '{"edge":"Rented","from":"bo","to":"DO-3","data":{"id":"e1","on":null,"why":"rain\\nall day"}}',
        '{"edge":"Rented","from":"ann","to":"SF-1","data":{"id":"e2","on":"2026-02-01","why":null}}',
        '{"type":"Film","data":{"id":"DO-3","code":"DO-3","stars":null,"tags":[],"title":"Salt \\"and\\" señal"}}',
        '{"type":"Film","data":{"id":"SF-1","code":"SF-1","stars":4.5,"tags":["space","slow"],"title":"Orbit"}}',
        '{"type":"Person","data":{"id":"Zoe","handle":"Zoe"}}',
        '{"type":"Person","data":{"id":"ann","handle":"ann"}}',
        '{"type":"Person","data":{"id":"bo","handle":"bo"}}',
        '{"type":"Person","data":{"id":"émile","handle":"émile"}}',
    ]


@pytest.mark.parametrize(
    ("types", "starts"),
    [
        (["Person"], ['{"type":"Person"'] * 4),
        (["Film"], ['{"edge":"Film"', *['{"type":"Film"'] * 2]),
        (["node:Film"], ['{"type":"Film"'] * 2),
        (["edge:Film"], ['{"edge":"Film"']),
        (["Rented", "edge:Film", "Rented"], ['{"edge":"Film"', *['{"edge":"Rented"'] * 2]),
        (["Follows"], []),
        ([], []),
    ],
)
def test_types_select_by_name_or_exactly_and_keep_the_order(films: Graph, types: list[str], starts: list[str]):
    assert [line.partition(",")[0] for line in films.export(types)] == starts


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("film", 'There is no type "film". Did you mean "Film"?'),
        ("node:Rented", 'There is no node type "Rented".'),
        ("edge:Rentd", 'There is no edge type "Rentd". Did you mean "Rented"?'),
        ("table:Film", 'There is no type "table:Film".'),
        ("Zebra", 'There is no type "Zebra".'),
        ("", 'There is no type "".'),
    ],
)
def test_an_unknown_type_is_refused_by_the_call_before_any_line(films: Graph, name: str, message: str):
    with pytest.raises(NotFoundError) as raised:
        export_parts(films.snapshot, films.tables, types=["Person", name])
    assert raised.value.message == message
    assert raised.value.details == {"type": name}
    assert raised.value.help


def test_a_bare_name_in_place_of_a_list_is_refused(films: Graph):
    with pytest.raises(InvalidInputError, match="no list of type names"):
        export_parts(films.snapshot, films.tables, types="Film")


def test_lines_are_read_as_they_are_asked_for(films: Graph, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    open_at = LanceTables.open_at
    monkeypatch.setattr(LanceTables, "open_at", lambda self, pin: opened.append(pin.location) or open_at(self, pin))
    lines = chain.from_iterable(export_parts(films.snapshot, films.tables))
    assert opened == []
    next(lines)
    assert len(opened) == 1


def test_a_graph_without_rows_has_no_lines():
    assert Graph(FILMS, {}).export() == []


FULL = {
    "text": 'line 1\nline 2 \u2028 "quoted" \\ \t \x00 🎬 é',
    "flag": False,
    "form": "novel",
    "i32": -(2**31),
    "i64": -(2**63),
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "f32": 0.10000000149011612,
    "f64": -0.0,
    "day": "-0044-03-15",
    "moment": "1969-12-31T23:59:59.999Z",
    "vector": [0.5, -0.0, 3.4028234663852886e38],
    "blob": "base64:AP9h",
    "texts": ["", "a", "ü"],
    "flags": [True, False],
    "numbers": [2**63 - 1, 0],
    "days": ["1970-01-01", "+12345-01-01"],
    "moments": ["2026-01-03T00:00:00.500Z"],
    "floats": [1.5],
}
EMPTY = dict.fromkeys(FULL) | {
    "text": "", "blob": "base64:", "texts": [], "flags": [], "numbers": [], "days": [], "moments": [], "floats": [],
}  # fmt: skip
COUNTS = {"-0044-03-15": -735_525, "+12345-01-01": 3_789_391}


def stored(record: dict[str, Any]) -> dict[str, Any]:
    """The record as Arrow takes it; what its types cannot say is given as counts."""
    epoch = dt.date(1970, 1, 1)

    def days(text: str) -> int:
        return COUNTS[text] if text in COUNTS else (dt.date.fromisoformat(text) - epoch).days

    def milliseconds(text: str) -> int:
        since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        return since // dt.timedelta(milliseconds=1)

    found = dict(record)
    for name, convert in (("day", days), ("moment", milliseconds)):
        found[name] = None if record[name] is None else convert(record[name])
        many = record[f"{name}s"]
        found[f"{name}s"] = None if many is None else [convert(each) for each in many]
    blobs = {None: None, "base64:AP9h": b"\x00\xffa", "base64:": b""}
    return found | {"blob": blobs[record["blob"]]}


def everything(*records: dict[str, Any]) -> Graph:
    """A graph of these; dates go in as counts, for Python has no year 12345."""
    graph = Graph(EVERYTHING, {})
    target = graph.snapshot.schema.node("Everything")
    counted = pa.schema([
        each.with_type({"day": pa.int32(), "days": pa.list_(pa.int32()), "moment": pa.int64(),
                        "moments": pa.list_(pa.int64())}.get(each.name, each.type))
        for each in target.schema
    ])  # fmt: skip
    rows = [stored(each) | {"id": f"k{place}", "key": f"k{place}"} for place, each in enumerate(records)]
    handle = graph.tables.open_at(graph.snapshot.entry(target).pin)
    table = pa.Table.from_pylist(rows, counted).cast(target.schema)
    made = graph.tables.commit_exact(handle, [graph.tables.stage_append(handle, table)])
    moved = pin_row(target.key, target.identity, made.pin, graph.tables.table_state(made), 2)
    state = graph.snapshot.state.advanced([moved], 2)
    graph.snapshot = Snapshot(branch=MAIN, state=state, schema=graph.snapshot.schema)
    return graph


@pytest.mark.parametrize("record", [FULL, EMPTY, dict.fromkeys(FULL)], ids=["full", "empty", "nulls"])
def test_every_type_reads_back_as_it_was(record: dict[str, Any]):
    (line,) = everything(record).export()
    read = json.loads(line)
    expected = {"id": "k0", "key": "k0", **record}
    assert read == {"type": "Everything", "data": expected}
    # Equal is not the same: 0.0 equals -0.0 and 1 equals 1.0 and True.
    data = read["data"]
    assert {name: repr(data[name]) for name in expected} == {name: repr(value) for name, value in expected.items()}
    assert list(data) == ["id", *sorted(expected.keys() - {"id"})]


def test_a_line_is_one_line_to_every_tool():
    (line,) = everything(FULL).export()
    assert line.splitlines() == [line]


@pytest.mark.parametrize("slice_bytes", [1, 1_000, export.SLICE_BYTES])
def test_however_a_batch_is_cut_the_lines_are_the_same(slice_bytes: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "SLICE_BYTES", slice_bytes)
    lines = everything(*[FULL, EMPTY] * 50).export()
    assert [json.loads(line)["data"]["id"] for line in lines] == sorted(f"k{place}" for place in range(100))
    assert {json.loads(line)["data"]["text"] for line in lines} == {FULL["text"], ""}


def test_rows_of_many_batches_come_by_the_bytes_of_their_ids():
    names = [f"{place:x}é" if place % 2 else f"{place:X}Z" for place in range(20_000)]
    rows = [{"id": name, "handle": name} for name in names]
    lines = Graph(FILMS, {"node:Person": rows}).export()
    assert [json.loads(line)["data"]["id"] for line in lines] == sorted(names, key=str.encode)
