"""Schemas as objects: named by content, found by every snapshot, and refused when they are not what their name says."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import replace
from itertools import count

import pytest
from publish_world import new_adapter

from omnigraph.errors import CompileError, FormatError, ResourceLimitError, StorageError
from omnigraph.history.schemas import GraphSchema, read_schema, schema_key, write_schema
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import resolve_identities
from omnigraph.schema.ir import CheckConstraint
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


def test_the_digest_is_the_sha256_of_the_object():
    adapter, schema = stored()
    assert hashlib.sha256(adapter.read(schema_key(adapter, schema.digest))).hexdigest() == schema.digest


def changed(document: dict, path: list, value: object) -> bytes:
    """The document with one value of it replaced, as bytes."""
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], 3),
        (["source"], "node {"),
        (["source"], SOURCE.replace("Everybody", "Everyone")),
        (["source"], SOURCE.replace("I32?", "I64?")),
        (["ir", "nodes", 0, "name"], "Movie"),
        (["ir", "nodes"], []),
        (["more"], 1),
    ],
    ids=str,
)
def test_content_that_was_changed_is_refused_whatever_part_it_is(path, value):
    adapter, schema = stored()
    key = schema_key(adapter, schema.digest)
    adapter.write(key, changed(json.loads(adapter.read(key)), path, value))
    with pytest.raises(FormatError, match="SHA-256") as caught:
        read_schema(adapter, schema.digest)
    assert caught.value.details["uri"] == adapter.uri(key)


def test_every_bit_that_turns_is_seen():
    adapter, schema = stored("node Film { code: String @key }")
    key = schema_key(adapter, schema.digest)
    data = adapter.read(key)
    for place in range(0, len(data), 7):
        adapter.write(key, data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(FormatError):
            read_schema(adapter, schema.digest)


def named_by_content(data: bytes) -> tuple[StorageAdapter, str]:
    """A schema object of these bytes under the name that is right for them."""
    adapter, digest = new_adapter(), hashlib.sha256(data).hexdigest()
    adapter.write(schema_key(adapter, digest), data)
    return adapter, digest


def facts(source: str = SOURCE) -> dict:
    return json.loads(GraphSchema.new(source, DOMAIN).document)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["format"], 1, "$.format"),
        (["format"], None, "$.format"),
        (["source"], None, "$.source"),
        (["source"], 7, "$.source"),
        (["ir"], {}, "$.ir_version"),
        (["ir"], [], "an object"),
        (["ir", "ir_version"], 3, "$.ir_version"),
        (["ir", "nodes", 0, "properties", 0, "prop_type", "scalar"], "Text", "prop_type.scalar"),
        (["ir", "nodes", 0, "properties", 0, "name"], "id", "$.nodes[0].properties[0].name"),
        (["ir", "edges", 1, "properties", 0, "name"], "dst", "$.edges[1].properties[0].name"),
        (["ir", "edges", 0, "from_type", "type_id"], 1 << 31, "$.edges[0].from_type"),
        (["ir", "nodes", 1, "constraints", 0, "kind"], "foreign", "$.nodes[1].constraints[0].kind"),
        (["ir", "edges", 1, "constraints", 0, "kind"], "key", "$.edges[1].constraints[0].kind"),
        (["ir", "edges", 1, "constraints", 0, "fields", 0, "role"], "id", "$.edges[1].constraints[0].fields[0]"),
        (["ir", "next_identity_id"], 2**32 + 1, "$.next_identity_id"),
        (["ir", "nodes", 0, "type_id"], 2**63, "$.nodes[0].type_id"),
    ],
    ids=str,
)
def test_a_structure_that_cannot_be_is_refused_with_its_path(path, value, told):
    adapter, digest = named_by_content(changed(facts(), path, value))
    with pytest.raises(FormatError) as caught:
        read_schema(adapter, digest)
    assert told in caught.value.message


def test_a_second_key_of_a_node_is_refused():
    document = facts()
    keys = document["ir"]["nodes"][1]["constraints"]
    keys.append(next(each for each in keys if each["kind"] == "key"))
    adapter, digest = named_by_content(json.dumps(document).encode())
    with pytest.raises(FormatError, match="at most one key"):
        read_schema(adapter, digest)


def test_a_column_of_an_edge_in_a_constraint_of_a_node_is_refused():
    document = facts()
    system = document["ir"]["edges"][1]["constraints"][0]["fields"][0]
    assert system["kind"] == "system"
    document["ir"]["nodes"][0]["constraints"][0]["fields"] = [system]
    adapter, digest = named_by_content(json.dumps(document).encode())
    with pytest.raises(FormatError, match="src or dst of an edge"):
        read_schema(adapter, digest)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"{}", b'{"format": 2, "format": 2}'])
def test_content_that_is_no_schema_is_refused(data):
    adapter, digest = named_by_content(data)
    with pytest.raises(FormatError):
        read_schema(adapter, digest)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 1_000_000,
        b'{"format": 2, "source": "", "ir": ' + b'{"a":' * 200_000,
        b'{"format": 2, "source": "", "ir": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"format": ' + b"9" * 100_000 + b"}",
        b'{"format": 2, "source": "", "ir": {"ir_version": 1e999}}',
        b'{"format": 2, "source": "\\ud800", "ir": {}}',
    ],
    ids=["lists", "objects", "shallow enough", "digits", "huge number", "half a pair"],
)
def test_content_that_is_nested_deeply_or_holds_what_cannot_be_is_refused(data):
    adapter, digest = named_by_content(data)
    with pytest.raises(FormatError):
        read_schema(adapter, digest)


def test_an_object_that_is_too_large_is_refused():
    adapter, digest = new_adapter(), "ab" * 32
    key = schema_key(adapter, digest)
    adapter._write(key, b" " * (8 * 1024 * 1024 + 1))
    with pytest.raises(FormatError, match="larger than 8388608 bytes"):
        read_schema(adapter, digest)


def test_a_schema_that_is_too_large_to_be_stored_is_refused_before_anything_is_written():
    with pytest.raises(ResourceLimitError) as caught:
        GraphSchema.new(f"// {'x' * 8 * 1024 * 1024}\nnode Film {{ code: String @key }}", DOMAIN)
    assert (caught.value.resource, caught.value.limit) == ("storage_object_bytes", 8 * 1024 * 1024)


# ── what a stricter or a later release has written or would refuse ──


def test_a_text_that_the_compiler_refuses_now_is_read_and_shown():
    ir = GraphSchema.new(SOURCE, DOMAIN).ir
    for text in ("node {", "", "table film (code text)", SOURCE.replace("I32", "I31")):
        schema, adapter = GraphSchema.of(text, ir), new_adapter()
        write_schema(adapter, schema)
        again = read_schema(adapter, schema.digest)
        assert (again.source, again.ir) == (text, ir)
        assert again.catalog == compile_schema(SOURCE)


def test_a_pattern_that_the_compiler_refuses_now_is_read():
    schema = with_pattern(GraphSchema.new('node Film { code: String  @check(code, "^a") }', DOMAIN), "(unclosed")
    adapter = new_adapter()
    write_schema(adapter, schema)
    assert read_schema(adapter, schema.digest).catalog.nodes["Film"].constraints[0].pattern == "(unclosed"


def with_pattern(schema: GraphSchema, pattern: str) -> GraphSchema:
    """The schema with another pattern of its first ``@check``, in the text too."""
    node = schema.ir.nodes[0]
    check = next(each for each in node.constraints if isinstance(each, CheckConstraint))
    others = tuple(each for each in node.constraints if each is not check)
    node = replace(node, constraints=(replace(check, pattern=pattern), *others))
    return GraphSchema.of(schema.source.replace(check.pattern, pattern), replace(schema.ir, nodes=(node,)))


def with_members_everywhere(value: object) -> object:
    if isinstance(value, dict):
        return {"before": [None], **{name: with_members_everywhere(each) for name, each in value.items()}, "later": {}}
    if isinstance(value, list):
        return [with_members_everywhere(each) for each in value]
    return value


def test_members_that_are_not_known_are_ignored_and_kept_with_the_digest():
    plain = GraphSchema.new(SOURCE, DOMAIN)
    data = json.dumps(with_members_everywhere(json.loads(plain.document))).encode()
    adapter, digest = named_by_content(data)
    schema = read_schema(adapter, digest)
    assert (schema.source, schema.ir, schema.catalog) == (plain.source, plain.ir, plain.catalog)
    assert schema.digest == digest
    assert pickle.loads(pickle.dumps(schema)) == schema
    elsewhere = new_adapter()
    write_schema(elsewhere, schema)
    assert elsewhere.read(schema_key(elsewhere, digest)) == data


def test_a_schema_pickles_with_what_it_says():
    schema = GraphSchema.new(SOURCE, DOMAIN)
    assert list(schema.tables)
    again = pickle.loads(pickle.dumps(schema))
    assert again == schema
    assert again.catalog == schema.catalog
    assert [each.location for each in again.tables.values()] == [each.location for each in schema.tables.values()]


def test_another_schema_under_this_name_is_refused():
    adapter, schema = stored()
    other = GraphSchema.new(SOURCE + "node Extra { name: String @key }", DOMAIN)
    write_schema(adapter, other)
    adapter.write(schema_key(adapter, schema.digest), adapter.read(schema_key(adapter, other.digest)))
    with pytest.raises(FormatError, match=f"SHA-256.*{other.digest}"):
        read_schema(adapter, schema.digest)


def test_a_rename_keeps_every_table_where_it_is():
    before = GraphSchema.new(SOURCE, DOMAIN)
    source = SOURCE.replace("node Person implements", 'node Human @rename_from("Person") implements').replace(
        "Person -> ", "Human -> "
    ).replace("-> Person", "-> Human")  # fmt: skip
    report = Report(SourceText.of(source, "<schema>"))
    after = GraphSchema.of(source, resolve_identities(compile_schema(source), before.ir, report))
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
        report = Report(SourceText.of(source, "<schema>"))
        steps.append(GraphSchema.of(source, resolve_identities(compile_schema(source), steps[-1].ir, report)))
    assert steps[2].edge("Knows").location != before.edge("Knows").location
    assert steps[2].edge("Saw").location == before.edge("Saw").location


def test_places_are_made_of_identities():
    schema = GraphSchema.new(SOURCE, DOMAIN)
    for table in schema.tables.values():
        number, incarnation = table.identity
        assert table.location == f"{table.kind}s/{number:016x}-{incarnation:016x}"
    assert len({each.location for each in schema.tables.values()}) == 4
