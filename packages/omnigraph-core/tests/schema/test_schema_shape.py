"""The canonical shape: its exact bytes, what leaves no trace in it, and what does."""

from __future__ import annotations

import hashlib
import json

import pytest

from omnigraph.lang.source import Span
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import compile_schema
from omnigraph.schema.catalog import Annotation, Catalog, Index, NodeType, Property, Range
from omnigraph.schema.shape import compact_json, hash_of, shape_hash, shape_of

LIBRARY = r"""
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

# Written by hand from the rules; the line breaks are no part of it.
LIBRARY_SHAPE = r"""
{"interfaces":[{"name":"Titled","properties":[
{"name":"title","prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["index"],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]}
]}],"nodes":[{"name":"Film","annotations":[],"implements":["Titled"],"properties":[
{"name":"added","prop_type":{"scalar":"DateTime","nullable":false,"list":false,"enum_values":null},"annotations":[],
"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"code","prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["key"],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"genre","prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":["docu","drama",
"sci-fi"]},"annotations":[],"property_constraints":[],"embed_source":null,"declared_directly":true,
"satisfies_interface_properties":[]},
{"name":"plot","prop_type":{"scalar":"String","nullable":true,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["index"],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"plotVec","prop_type":{"scalar":{"Vector":4},"nullable":true,"list":false,"enum_values":null},
"annotations":[],"property_constraints":["index"],"embed_source":{"property_name":"plot","model":"demo/embed"},
"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"released","prop_type":{"scalar":"Date","nullable":true,"list":false,"enum_values":null},"annotations":[],
"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"stars","prop_type":{"scalar":"F32","nullable":true,"list":false,"enum_values":null},"annotations":[],
"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"tags","prop_type":{"scalar":"String","nullable":true,"list":true,"enum_values":null},"annotations":[],
"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"title","prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["index"],"embed_source":null,"declared_directly":false,
"satisfies_interface_properties":[{"owner_name":"Titled","property_name":"title"}]}
],"constraints":[
{"Check":{"property":"code","pattern":"^[A-Z]{2}-[0-9]+$"}},
{"Index":["plot"]},
{"Index":["plotVec"]},
{"Index":["title"]},
{"Key":["code"]},
{"Range":{"property":"stars","min":{"Float":0.0},"max":{"Float":5.0}}}
]},{"name":"Person","annotations":[],"implements":[],"properties":[
{"name":"handle","prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["key"],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},
{"name":"mail","prop_type":{"scalar":"String","nullable":true,"list":false,"enum_values":null},"annotations":[],
"property_constraints":["unique"],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]}
],"constraints":[{"Key":["handle"]},{"Unique":["mail"]}]}],"edges":[
{"name":"Directed","from_type":"Person","to_type":"Film","cardinality":{"min":0,"max":null},"annotations":[],
"properties":[],"constraints":[]},
{"name":"Follows","from_type":"Person","to_type":"Person","cardinality":{"min":0,"max":null},"annotations":[],
"properties":[],"constraints":[]},
{"name":"Rented","from_type":"Person","to_type":"Film","cardinality":{"min":0,"max":null},"annotations":[],
"properties":[
{"name":"on","prop_type":{"scalar":"Date","nullable":true,"list":false,"enum_values":null},"annotations":[],
"property_constraints":[],"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]}
],"constraints":[{"Unique":["dst","src"]}]}
]}
""".replace("\n", "")


def shape_text(schema: str) -> str:
    return compact_json(shape_of(compile_schema(schema)))


def hashed(schema: str) -> str:
    return shape_hash(compile_schema(schema))


def test_the_shape_of_the_example_schema_is_the_one_written_by_hand():
    assert shape_text(LIBRARY) == LIBRARY_SHAPE


def test_the_shape_hash_is_sha256_over_the_compact_text():
    digest = hashlib.sha256(LIBRARY_SHAPE.encode("utf-8")).hexdigest()
    assert hashed(LIBRARY) == f"sha256:{digest}"


def test_an_empty_schema_has_a_shape():
    assert shape_text("") == '{"interfaces":[],"nodes":[],"edges":[]}'


SAME = {
    "comments": ("node A { p: String }", "// about A\nnode A { /* p */ p: String }"),
    "blanks": ("node A { p: String q: I32 }", "node A {\n\tp: String\r\n\n  q: I32\n}"),
    "the order of declarations": (
        "interface I { p: String } node A { q: I32 } edge E: A -> A",
        "edge E: A -> A  node A { q: I32 }  interface I { p: String }",
    ),
    "the order of properties": ("node A { p: String q: I32 }", "node A { q: I32 p: String }"),
    "the order of enum values": ("node A { p: enum(x, y, z) }", "node A { p: enum(z, x, y) }"),
    "the order of annotations": (
        'node A @description("d") @instruction("i") { p: String @note("n") @description("d") }',
        'node A @instruction("i") @description("d") { p: String @description("d") @note("n") }',
    ),
    "the order of interfaces": (
        "interface I { p: String } interface J { q: I32 } node A implements I, J {}",
        "interface I { p: String } interface J { q: I32 } node A implements J, I {}",
    ),
    "the order of constraints": (
        'node A { p: I32 q: String @range(p, 1..2) @check(q, "x") }',
        'node A { p: I32 q: String @check(q, "x") @range(p, 1..2) }',
    ),
    "the order of columns": (
        "node A { p: String q: String @key(p, q) @unique(q, p) }",
        "node A { p: String q: String @key(q, p) @unique(p, q) }",
    ),
    "a rename hint on a node": ("node A { p: String }", 'node A @rename_from("B") { p: String }'),
    "a rename hint on an edge": ("node A {} edge E: A -> A", 'node A {} edge E: A -> A @rename_from("F")'),
    "a rename hint on a property": ("node A { p: String }", 'node A { p: String @rename_from("q") }'),
    "an index in the body beside one on the property": (
        "node A { p: String @index }",
        "node A { p: String @index  @index(p) }",
    ),
    "the quotes of an embed source": (
        'node A { p: String v: Vector(2) @embed("p") }',
        "node A { p: String v: Vector(2) @embed(p) }",
    ),
    "a default cardinality that is written": ("node A {} edge E: A -> A", "node A {} edge E: A -> A @card(0..)"),
}


@pytest.mark.parametrize("what", SAME)
def test_the_shape_hash_does_not_change_with(what):
    one, other = SAME[what]
    assert hashed(one) == hashed(other)


DIFFERENT = {
    "@key moved from the property to the body": ("node A { p: String @key }", "node A { p: String @key(p) }"),
    "@unique moved from the property to the body": ("node A { p: String @unique }", "node A { p: String @unique(p) }"),
    "@index moved from the property to the body": ("node A { p: String @index }", "node A { p: String @index(p) }"),
    "the name of a type": ("node A { p: String }", "node B { p: String }"),
    "the name of a property": ("node A { p: String }", "node A { q: String }"),
    "nullability": ("node A { p: String }", "node A { p: String? }"),
    "list-ness": ("node A { p: String }", "node A { p: [String] }"),
    "the dimension of a vector": ("node A { p: Vector(2) }", "node A { p: Vector(3) }"),
    "the values of an enum": ("node A { p: enum(x) }", "node A { p: enum(x, y) }"),
    "a whole bound and one with a point": (
        "node A { p: F64 @range(p, 1..2) }",
        "node A { p: F64 @range(p, 1.0..2) }",
    ),
    "an open bound": ("node A { p: F64 @range(p, 1..2) }", "node A { p: F64 @range(p, 1..) }"),
    "the side of an open bound": ("node A { p: F64 @range(p, 1..) }", "node A { p: F64 @range(p, ..1) }"),
    "a pattern": ('node A { p: String @check(p, "x") }', 'node A { p: String @check(p, "y") }'),
    "the model of an embed": (
        'node A { p: String v: Vector(2) @embed("p") }',
        'node A { p: String v: Vector(2) @embed("p", model="m") }',
    ),
    "the endpoints of an edge": (
        "node A {} node B {} edge E: A -> B",
        "node A {} node B {} edge E: B -> A",
    ),
    "the cardinality of an edge": ("node A {} edge E: A -> A", "node A {} edge E: A -> A @card(0..1)"),
    "a description": ("node A { p: String }", 'node A { p: String @description("d") }'),
    "an unknown annotation": ("node A {}", "node A @audited {}"),
    "an annotation value that looks alike": ("node A @level(1) {}", 'node A @level("1") {}'),
    "an annotation that is a flag": ("node A @level(1) {}", "node A @level(true) {}"),
    "whether an interface injects a property": (
        "interface I { p: String } node A implements I {}",
        "interface I { p: String } node A implements I { p: String }",
    ),
    "whether a node implements an interface": (
        "interface I {} node A {}",
        "interface I {} node A implements I {}",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_the_shape_hash_changes_with(what):
    one, other = DIFFERENT[what]
    assert hashed(one) != hashed(other)


def test_annotations_carry_kwargs_only_when_there_are_some():
    shape = shape_of(compile_schema('node A @plain @valued("v", size=3, exact=true) {}'))
    assert compact_json(shape["nodes"][0]["annotations"]) == (
        '[{"name":"plain","value":null},{"name":"valued","value":"v","kwargs":{"exact":true,"size":3}}]'
    )


def test_annotations_with_a_meaning_of_their_own_are_not_among_the_annotations():
    shape = shape_of(
        compile_schema(
            'node A { p: String @key @index @note v: Vector(2) @embed("p") q: I32? @unique @rename_from("o") }'
        )
    )
    assert [prop["annotations"] for prop in shape["nodes"][0]["properties"]] == [
        [{"name": "note", "value": None}],
        [],
        [],
    ]


def test_constraints_are_sorted_by_kind_then_columns_and_occur_once():
    shape = shape_of(
        compile_schema(
            'node A { b: String @unique a: String @index n: I32 @key(b, a) @range(n, 2..3) @check(a, "z")'
            ' @check(a, "b") @index(b, a) @index(a) @unique(n) @unique(b) }'
        )
    )
    assert shape["nodes"][0]["constraints"] == [
        {"Check": {"property": "a", "pattern": "b"}},
        {"Check": {"property": "a", "pattern": "z"}},
        {"Index": ["a"]},
        {"Index": ["a", "b"]},
        {"Key": ["a", "b"]},
        {"Range": {"property": "n", "min": {"Integer": 2}, "max": {"Integer": 3}}},
        {"Unique": ["b"]},
        {"Unique": ["n"]},
    ]


def test_an_injected_property_names_every_interface_it_stands_for():
    shape = shape_of(
        compile_schema("interface J { p: String } interface I { p: String } node A implements J, I { p: String }")
    )
    assert shape["nodes"][0]["implements"] == ["I", "J"]
    (prop,) = shape["nodes"][0]["properties"]
    assert prop["declared_directly"] is True
    assert prop["satisfies_interface_properties"] == [
        {"owner_name": "I", "property_name": "p"},
        {"owner_name": "J", "property_name": "p"},
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [("0.1", "0.1"), ("5.0", "5.0"), ("-0.5", "-0.5"), ("100000.25", "100000.25"), ("3.14159", "3.14159")],
)
def test_a_float_bound_is_written_by_its_shortest_digits(written, text):
    shape = shape_of(compile_schema(f"node A {{ p: F64 @range(p, {written}..) }}"))
    assert compact_json(shape["nodes"][0]["constraints"]) == (
        f'[{{"Range":{{"property":"p","min":{{"Float":{text}}},"max":null}}}}]'
    )


def test_an_open_lower_bound_has_a_maximum_only():
    shape = shape_of(compile_schema("node A { p: I32 @range(p, ..9) }"))
    assert shape["nodes"][0]["constraints"] == [{"Range": {"property": "p", "min": None, "max": {"Integer": 9}}}]


def test_text_stays_unescaped_in_the_hashed_form():
    shape = shape_of(compile_schema('node A @description("Füße, 図書\\n\\"x\\"") {}'))
    assert compact_json(shape["nodes"][0]["annotations"]) == ('[{"name":"description","value":"Füße, 図書\\n\\"x\\""}]')


def test_no_number_that_json_has_not_is_ever_hashed():
    with pytest.raises(ValueError, match="JSON"):
        hash_of({"x": float("nan")})


def test_a_catalog_in_any_order_has_the_canonical_shape():
    """The shape does not lean on whoever made the catalog."""
    place, text = Span(0, 0), ValueType(Scalar.STRING)
    notes = [
        Annotation(name="b"),
        Annotation(name="a", value=1, kwargs=(("y", 1), ("x", 2))),
        Annotation(name="a", value=1, kwargs=(("y", 1), ("x", 2))),
    ]
    prop = Property(
        name="p",
        type=text,
        constraints=("unique", "index", "unique"),
        satisfies=(("J", "p"), ("I", "p"), ("J", "p")),
        span=place,
    )
    node = NodeType(
        name="A",
        properties=(Property(name="q", type=text, span=place), prop),
        annotations=tuple(notes),
        implements=("J", "I", "J"),
        constraints=(
            Range(property="p", minimum=1, maximum=None),
            Index(columns=("q", "p", "q")),
            Index(columns=("p", "q")),
        ),
        span=place,
    )
    other = NodeType(name="B", properties=(), span=place)
    shape = shape_of(Catalog(interfaces={}, nodes={"B": other, "A": node}, edges={}))
    assert [each["name"] for each in shape["nodes"]] == ["A", "B"]
    first = shape["nodes"][0]
    assert compact_json(first["annotations"]) == (
        '[{"name":"a","value":1,"kwargs":{"x":2,"y":1}},{"name":"b","value":null}]'
    )
    assert first["implements"] == ["I", "J"]
    assert [each["name"] for each in first["properties"]] == ["p", "q"]
    assert first["properties"][0]["property_constraints"] == ["index", "unique"]
    links = first["properties"][0]["satisfies_interface_properties"]
    assert [each["owner_name"] for each in links] == ["I", "J"]
    assert first["constraints"] == [
        {"Index": ["p", "q"]},
        {"Range": {"property": "p", "min": {"Integer": 1}, "max": None}},
    ]


def test_the_shape_is_json_that_reads_back():
    shape = shape_of(compile_schema(LIBRARY))
    assert json.loads(compact_json(shape)) == shape
