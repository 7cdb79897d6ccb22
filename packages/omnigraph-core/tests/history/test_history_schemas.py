"""Schemas as objects: named by content, found by every snapshot, and refused when they are not what their name says."""

from __future__ import annotations

import json
from itertools import count

import pytest
from publish_world import new_adapter

from omnigraph.errors import CompileError, FormatError, StorageError
from omnigraph.history.schemas import GraphSchema, read_schema, schema_key, write_schema
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import resolve_identities
from omnigraph.storage import StorageAdapter
from omnigraph.testing.faults import Fault, FaultyAdapter

DOMAIN = "01JCZZZZZZZZZZZZZZZZZZZZZZ"
SOURCE = """
interface Named { name: String }
// Everybody we know.
node Person implements Named { name: String @key  age: I32? }
node Film { code: String @key  year: I32? @index }
edge Saw: Person -> Film { stars: F32?  @unique(src, dst) }
edge Knows: Person -> Person @card(0..3)
"""


def stored(source: str = SOURCE) -> tuple[StorageAdapter, GraphSchema]:
    adapter, schema = new_adapter(), GraphSchema.new(source, DOMAIN)
    write_schema(adapter, schema)
    return adapter, schema


def test_a_schema_is_read_back_as_it_was_written():
    adapter, schema = stored()
    again = read_schema(adapter, schema.digest)
    assert again == schema
    assert again.source == SOURCE
    assert list(again.tables) == ["edge:Knows", "edge:Saw", "node:Film", "node:Person"]
    assert again.node("Person").schema == schema.node("Person").schema
    assert again.edge("Saw").schema.names == ["id", "src", "dst", "stars"]


def test_both_objects_are_named_by_the_digest():
    adapter, schema = stored()
    assert sorted(each.value for each in adapter.list(adapter.key("__schema"))) == [
        f"__schema/{schema.digest}.json",
        f"__schema/{schema.digest}.pg",
    ]
    assert adapter.read(schema_key(adapter, schema.digest, ".pg")).decode() == SOURCE
    assert len(schema.digest) == 64
    assert set(schema.digest) <= set("0123456789abcdef")


def test_writing_it_again_changes_nothing():
    adapter, schema = stored()
    key = schema_key(adapter, schema.digest)
    before = adapter.read_versioned(key)
    write_schema(adapter, schema)
    assert adapter.read_versioned(key) == before


def test_a_schema_of_another_graph_has_another_digest_and_one_that_says_the_same_has_the_same():
    def digest(domain: str) -> str:
        return GraphSchema.new(SOURCE, domain, incarnations=count(1).__next__).digest

    assert digest(DOMAIN) != digest(DOMAIN.replace("Z", "Y"))
    assert digest(DOMAIN) == digest(DOMAIN)
    assert GraphSchema.new(SOURCE, DOMAIN).digest != GraphSchema.new(SOURCE, DOMAIN).digest


def test_a_wrong_schema_is_refused_before_anything_is_written():
    with pytest.raises(CompileError):
        GraphSchema.new("node {", DOMAIN)


def test_a_missing_schema_is_damage():
    with pytest.raises(FormatError, match="missing"):
        read_schema(new_adapter(), "ab" * 32)


def test_a_store_that_does_not_answer_is_no_damage():
    adapter, schema = stored()
    faulty = FaultyAdapter(adapter, Fault(verb="read", error=TimeoutError()))
    with pytest.raises(StorageError):
        read_schema(faulty, schema.digest)
    assert read_schema(faulty, schema.digest) == schema


def tampered(document: dict, path: list, value: object) -> dict:
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], 2),
        (["format"], None),
        (["source"], "node {"),
        (["source"], 7),
        (["source"], SOURCE.replace("I32?", "I64?")),
        (["source"], SOURCE.replace("@card(0..3)", "")),
        (["source"], SOURCE.replace("@key  age", "age")),
        (["source"], SOURCE.replace("edge Knows: Person -> Person @card(0..3)", "")),
        (["source"], SOURCE + "node Extra { name: String @key }"),
        (["ir", "nodes", 0, "name"], "Movie"),
        (["ir", "nodes"], []),
        (["ir"], {}),
    ],
    ids=str,
)
def test_content_that_was_tampered_with_is_refused(path, value):
    adapter, schema = stored()
    key = schema_key(adapter, schema.digest)
    document = tampered(json.loads(adapter.read(key)), path, value)
    adapter.write(key, json.dumps(document).encode())
    with pytest.raises(FormatError) as caught:
        read_schema(adapter, schema.digest)
    assert caught.value.details["uri"] == adapter.uri(key)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"{}"])
def test_content_that_is_no_schema_is_refused(data):
    adapter, schema = stored()
    adapter.write(schema_key(adapter, schema.digest), data)
    with pytest.raises(FormatError):
        read_schema(adapter, schema.digest)


def test_another_schema_under_this_name_is_refused():
    adapter, schema = stored()
    other = GraphSchema.new(SOURCE + "node Extra { name: String @key }", DOMAIN)
    write_schema(adapter, other)
    adapter.write(schema_key(adapter, schema.digest), adapter.read(schema_key(adapter, other.digest)))
    with pytest.raises(FormatError, match="another schema"):
        read_schema(adapter, schema.digest)


def test_a_rename_keeps_every_table_where_it_is():
    before = GraphSchema.new(SOURCE, DOMAIN)
    source = SOURCE.replace("node Person implements", 'node Human @rename_from("Person") implements').replace(
        "Person -> ", "Human -> "
    ).replace("-> Person", "-> Human")  # fmt: skip
    report = Report(SourceText.of(source, "<schema>"))
    catalog = compile_schema(source)
    after = GraphSchema.of(source, catalog, resolve_identities(catalog, before.ir, report))
    assert not report.has_errors
    assert after.node("Human").location == before.node("Person").location
    assert after.edge("Saw").location == before.edge("Saw").location
    assert after.digest != before.digest
    adapter = new_adapter()
    write_schema(adapter, after)
    assert read_schema(adapter, after.digest) == after


def test_a_type_that_was_dropped_and_added_again_has_a_new_place():
    before = GraphSchema.new(SOURCE, DOMAIN)
    steps = [before]
    dropped = SOURCE.replace("edge Knows: Person -> Person @card(0..3)", "")
    for source in (dropped, SOURCE):
        catalog = compile_schema(source)
        report = Report(SourceText.of(source, "<schema>"))
        steps.append(GraphSchema.of(source, catalog, resolve_identities(catalog, steps[-1].ir, report)))
    assert steps[2].edge("Knows").location != before.edge("Knows").location
    assert steps[2].edge("Saw").location == before.edge("Saw").location


def test_places_are_made_of_identities():
    schema = GraphSchema.new(SOURCE, DOMAIN)
    for table in schema.tables.values():
        number, incarnation = table.identity
        assert table.location == f"{table.kind}s/{number:016x}-{incarnation:016x}"
    assert len({each.location for each in schema.tables.values()}) == 4
