"""Rows of the manifest: their form in Arrow, and every way in which one can contradict itself."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import FormatError
from omnigraph.history.commits import Commit, CommitKind, from_micros, to_micros
from omnigraph.history.rows import MANIFEST_COLUMNS, ManifestRow, rows_from_arrow, rows_to_arrow
from omnigraph.history.state import head_row, pin_row, registration_row, schema_row
from omnigraph.tables.interface import TablePin, TableState

IDENTITY = (0x1F, 0x2E)
PIN = TablePin(location="nodes/000000000000001f-000000000000002e", branch=None, version=7)
COMMIT = Commit(
    id="01JC0000000000000000000001",
    parent_id=None,
    branch="main",
    line="b0",
    manifest_version=3,
    kind=CommitKind.DATA,
    created_at=from_micros(1_700_000_000_000_001),
)

TABLE = registration_row("node:Film", IDENTITY, 3)
VERSION = pin_row("node:Film", IDENTITY, PIN, TableState(row_count=5, version_metadata='{"manifest_path":"x"}'), 3)
SCHEMA = schema_row("ab" * 32, 3)
HEAD = head_row(COMMIT, "main")
GOOD = [TABLE, VERSION, SCHEMA, HEAD, COMMIT.to_row()]


def test_rows_go_through_arrow_unchanged_and_in_order():
    table = rows_to_arrow(GOOD)
    assert table.schema == MANIFEST_COLUMNS
    assert list(rows_from_arrow(table)) == GOOD
    assert list(rows_from_arrow(rows_to_arrow(reversed(GOOD)))) == GOOD[::-1]
    assert rows_from_arrow(rows_to_arrow([])) == ()


def test_the_columns_are_those_of_the_format():
    assert [(each.name, str(each.type), each.nullable) for each in MANIFEST_COLUMNS] == [
        ("object_id", "string", False),
        ("object_type", "string", False),
        ("seq", "uint64", False),
        ("location", "string", True),
        ("metadata", "string", True),
        ("table_key", "string", False),
        ("stable_table_id", "uint64", True),
        ("table_incarnation_id", "uint64", True),
        ("table_version", "uint64", True),
        ("table_branch", "string", True),
        ("row_count", "uint64", True),
    ]


def test_names_and_places_are_made_of_identities():
    assert TABLE.object_id == "table:000000000000001f:000000000000002e"
    assert TABLE.location == "nodes/000000000000001f-000000000000002e"
    assert VERSION.object_id == "table_version:000000000000001f:000000000000002e"
    assert registration_row("edge:Saw", (2**64 - 1, 1), 1).location == "edges/ffffffffffffffff-0000000000000001"
    assert SCHEMA.object_id == "schema"
    assert HEAD.object_id == "graph_head:main"
    assert json.loads(HEAD.metadata) == {"incarnation": "main", "head": COMMIT.id}


def test_the_largest_numbers_are_kept():
    largest = dataclasses.replace(VERSION, seq=2**64 - 1, table_version=2**64 - 1, row_count=2**64 - 1)
    assert rows_from_arrow(rows_to_arrow([largest])) == (largest,)


DAMAGES = {
    "a table under another name": (TABLE, {"object_id": "table:000000000000001f:000000000000002f"}),
    "a table at another place": (TABLE, {"location": "nodes/000000000000001f-000000000000002f"}),
    "a table nowhere": (TABLE, {"location": None}),
    "a node among the edges": (TABLE, {"table_key": "edge:Film"}),
    "a table of an unknown sort": (TABLE, {"table_key": "view:X", "location": TABLE.location.replace("node", "view")}),
    "a table without a name": (TABLE, {"table_key": "node:"}),
    "a table without identity": (TABLE, {"stable_table_id": None}),
    "a table without incarnation": (TABLE, {"table_incarnation_id": None}),
    "a pin under another name": (VERSION, {"object_id": "table:000000000000001f:000000000000002e"}),
    "a pin of no table": (VERSION, {"stable_table_id": None}),
    "a pin of no version": (VERSION, {"table_version": None}),
    "a pin of version 0": (VERSION, {"table_version": 0}),
    "a pin without a number of rows": (VERSION, {"row_count": None}),
    "a second schema": (SCHEMA, {"object_id": "schema:2"}),
    "a schema row without a schema": (SCHEMA, {"metadata": "{}"}),
    "a schema row with a number": (SCHEMA, {"metadata": '{"digest":3}'}),
    "a head of another branch": (HEAD, {"object_id": "graph_head:dev"}),
    "a head without a branch": (HEAD, {"metadata": "{}"}),
    "a head that is no JSON": (HEAD, {"metadata": "{"}),
    "a head that is a list": (HEAD, {"metadata": "[]"}),
    "a commit of another version": (COMMIT.to_row(), {"table_version": 4}),
    "a row of an unknown kind": (TABLE, {"object_type": "view"}),
    "a row of no kind": (TABLE, {"object_type": ""}),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_row_that_contradicts_itself_is_damage(damage):
    row, changes = DAMAGES[damage]
    row.check()
    broken = dataclasses.replace(row, **changes)
    with pytest.raises(FormatError):
        broken.check()
    with pytest.raises(FormatError) as caught:
        rows_from_arrow(rows_to_arrow([row, broken]))
    assert "damaged" in caught.value.message
    assert caught.value.help


@pytest.mark.parametrize("column", [each.name for each in MANIFEST_COLUMNS if not each.nullable])
def test_a_row_without_what_every_row_has_is_damage(column):
    nullable = pa.schema([each.with_nullable(True) for each in MANIFEST_COLUMNS])
    facts = [dataclasses.asdict(TABLE), dataclasses.asdict(TABLE) | {column: None}]
    with pytest.raises(FormatError):
        rows_from_arrow(pa.Table.from_pylist(facts, schema=nullable))


# ── commits ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
COMMITS = st.builds(
    Commit,
    id=TEXT,
    parent_id=st.none() | TEXT,
    merged_parent_id=st.none() | TEXT,
    branch=TEXT,
    manifest_version=st.integers(1, 2**63),
    kind=st.sampled_from(CommitKind),
    actor=st.none() | TEXT,
    created_at=st.integers(0, 253_402_300_799_999_999).map(from_micros),
    properties=st.dictionaries(TEXT, TEXT, max_size=3),
)


@given(COMMITS)
def test_a_commit_goes_through_its_row_unchanged(commit):
    [row] = rows_from_arrow(rows_to_arrow([commit.to_row()]))
    assert Commit.of_row(row) == commit


@given(COMMITS)
def test_a_commit_pickles(commit):
    import pickle

    assert pickle.loads(pickle.dumps(commit)) == commit


@given(st.integers(-(10**15), 253_402_300_799_999_999))
def test_times_are_exact_to_the_microsecond(micros):
    assert to_micros(from_micros(micros)) == micros


def test_the_order_of_commits_is_version_then_time_then_id():
    made = [
        dataclasses.replace(COMMIT, manifest_version=version, created_at=from_micros(micros), id=name)
        for version, micros, name in [(2, 5, "a"), (1, 9, "z"), (2, 4, "b"), (2, 4, "a")]
    ]
    ordered = sorted(made, key=lambda each: each.order)
    assert [(each.manifest_version, to_micros(each.created_at), each.id) for each in ordered] == [
        (1, 9, "z"), (2, 4, "a"), (2, 4, "b"), (2, 5, "a"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "metadata",
    [
        "{}",
        '{"kind":"data"}',
        '{"kind":"guess","created_at":1}',
        '{"kind":"data","created_at":"noon"}',
        '{"kind":"data","created_at":null}',
        '{"kind":"data","created_at":100000000000000000000000000}',
        '{"kind":"data","created_at":1,"properties":3}',
        "nothing",
    ],
)
def test_a_commit_that_cannot_be_read_is_damage(metadata):
    row: ManifestRow = dataclasses.replace(COMMIT.to_row(), metadata=metadata)
    with pytest.raises(FormatError):
        Commit.of_row(row)


def test_the_json_form_of_a_commit():
    assert dataclasses.replace(COMMIT, actor="ann", properties={"load_id": "n"}).to_dict() == {
        "id": "01JC0000000000000000000001",
        "parent_id": None,
        "merged_parent_id": None,
        "branch": "main",
        "manifest_version": 3,
        "kind": "data",
        "actor": "ann",
        "created_at": 1_700_000_000_000_001,
        "properties": {"load_id": "n"},
    }
