"""The stored form of a schema with identities: its exact bytes, the way back, and what is refused on that way."""

from __future__ import annotations

import copy
import hashlib
import json
from itertools import count

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import assign_identities
from omnigraph.schema.ir import SchemaState, ir_from_json, ir_hash, ir_to_json
from omnigraph.schema.shape import shape_hash

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

SCHEMA = r"""
interface Named { name: String @index }
node Tag @description("ein Schlüssel") implements Named {
    code: String @key
    vec: Vector(2)? @embed("name", model="m")
    weight: F64
    @range(weight, 0..1.5)
    @check(code, "^x")
}
edge Near: Tag -> Tag @card(0..3) { since: Date?  @unique(src, since) }
"""

# Written by hand: types have the counters 1 to 3 and properties 4 to 9, a hash gives the lower bits; tables are 10, 11.
# A number is made with: x=$(printf '%s' 0/node/Tag | sha256sum | cut -c1-8); echo $(((2 << 31) + (0x$x >> 1)))
NAMED, TAG_TYPE, NEAR = 3440889975, 4635614924, 7317388118
NAME = '{"owner_type_id":3440889975,"owner_type_name":"Named","property_id":9300107355,"property_name":"name"}'
STRING = '"prop_type":{"scalar":"String","nullable":false,"list":false,"enum_values":null}'
SCHEMA_IR = (
    '{"ir_version":2,"schema_identity_domain":"01ARZ3NDEKTSV4RRFFQ69G5FAV","next_identity_id":10,'
    '"interfaces":[{"name":"Named","type_id":3440889975,"properties":['
    f'{{"name":"name","property_id":9300107355,{STRING},"annotations":[],"property_constraints":["index"],"embed_source":null,'
    '"declared_directly":true,"satisfies_interface_properties":[]}]}],'
    '"nodes":[{"name":"Tag","type_id":4635614924,"table_incarnation_id":10,'
    '"annotations":[{"name":"description","value":"ein Schlüssel"}],'
    '"implements":[{"type_id":3440889975,"type_name":"Named"}],'
    '"properties":['
    f'{{"name":"code","property_id":11038743428,{STRING},"annotations":[],"property_constraints":["key"],'
    '"embed_source":null,"declared_directly":true,"satisfies_interface_properties":[]},'
    f'{{"name":"name","property_id":14023454945,{STRING},"annotations":[],"property_constraints":["index"],"embed_source":null,'
    f'"declared_directly":false,"satisfies_interface_properties":[{NAME}]}},'
    '{"name":"vec","property_id":16987079305,"prop_type":{"scalar":{"Vector":2},"nullable":true,"list":false,"enum_values":null},'
    '"annotations":[],"property_constraints":[],'
    '"embed_source":{"owner_type_id":4635614924,"owner_type_name":"Tag","property_id":14023454945,"property_name":"name","model":"m"},'
    '"declared_directly":true,"satisfies_interface_properties":[]},'
    '{"name":"weight","property_id":18981981487,"prop_type":{"scalar":"F64","nullable":false,"list":false,"enum_values":null},'
    '"annotations":[],"property_constraints":[],"embed_source":null,"declared_directly":true,'
    '"satisfies_interface_properties":[]}],'
    '"constraints":['
    '{"kind":"check","field":{"kind":"property","owner_type_id":4635614924,"owner_type_name":"Tag","property_id":11038743428,'
    '"property_name":"code"},"pattern":"^x"},'
    '{"kind":"index","fields":[{"kind":"property","owner_type_id":4635614924,"owner_type_name":"Tag","property_id":14023454945,'
    '"property_name":"name"}]},'
    '{"kind":"key","fields":[{"kind":"property","owner_type_id":4635614924,"owner_type_name":"Tag","property_id":11038743428,'
    '"property_name":"code"}]},'
    '{"kind":"range","field":{"kind":"property","owner_type_id":4635614924,"owner_type_name":"Tag","property_id":18981981487,'
    '"property_name":"weight"},"min":{"Integer":0},"max":{"Float":1.5}}]}],'
    '"edges":[{"name":"Near","type_id":7317388118,"table_incarnation_id":11,'
    '"from_type":{"type_id":4635614924,"type_name":"Tag"},"to_type":{"type_id":4635614924,"type_name":"Tag"},'
    '"cardinality":{"min":0,"max":3},"annotations":[],"properties":['
    '{"name":"since","property_id":20277407446,"prop_type":{"scalar":"Date","nullable":true,"list":false,"enum_values":null},'
    '"annotations":[],"property_constraints":[],"embed_source":null,"declared_directly":true,'
    '"satisfies_interface_properties":[]}],'
    '"constraints":[{"kind":"unique","fields":[{"kind":"property","owner_type_id":7317388118,"owner_type_name":"Near",'
    '"property_id":20277407446,"property_name":"since"},{"kind":"system","stable_table_id":7317388118,"table_type_name":"Near",'
    '"table_incarnation_id":11,"role":"src"}]}]}]}'
)


def identified(text: str = SCHEMA):
    """Tables get the incarnations 10, 11 and so on."""
    return assign_identities(compile_schema(text), DOMAIN, incarnations=count(10).__next__)


def test_the_stored_form_is_the_one_written_by_hand():
    assert json.loads(ir_to_json(identified())) == json.loads(SCHEMA_IR)
    assert json.dumps(json.loads(ir_to_json(identified())), ensure_ascii=False, separators=(",", ":")) == SCHEMA_IR


def test_the_stored_form_is_indented_and_leaves_text_unescaped():
    lines = ir_to_json(identified()).splitlines()
    assert lines[:3] == ["{", '  "ir_version": 2,', f'  "schema_identity_domain": "{DOMAIN}",']
    assert any("ein Schlüssel" in line for line in lines)


def test_the_hash_is_sha256_over_the_compact_form():
    digest = hashlib.sha256(SCHEMA_IR.encode("utf-8")).hexdigest()
    assert ir_hash(identified()) == f"sha256:{digest}"


def test_the_stored_form_reads_back():
    schema = identified()
    assert ir_from_json(ir_to_json(schema)) == schema
    assert ir_from_json(SCHEMA_IR) == schema


EVERYTHING = r"""
interface I { v: Vector(3)? @embed("s")  e: enum(b, a)? }
interface J { e: enum(a, b)? }
node A @note(1) @note(1.0) @note(true) @other("x", size=3, exact=false, ratio=0.5) implements J, I {
    s: String @check(s, "\\d+ \"q\" \n ü")
    b: Blob?  f: Bool  i: I32  l: [I64]?  u: U32  w: U64  g: F32  d: Date  t: DateTime
    @key(s, i) @unique(d) @unique(t, f) @index(w, u) @range(i, -5..) @range(u, ..9) @range(g, -0.5..1)
}
edge E: A -> A @card(2..) @instruction("how") { x: F64? @unique @description("d") @index(src, dst, x) }
"""


def test_everything_that_a_schema_can_say_reads_back():
    schema = identified(EVERYTHING)
    again = ir_from_json(ir_to_json(schema))
    assert again == schema
    assert ir_to_json(again) == ir_to_json(schema)
    assert ir_hash(again) == ir_hash(schema)


def test_whole_numbers_floats_and_flags_stay_apart():
    annotations = ir_from_json(ir_to_json(identified(EVERYTHING))).nodes[0].annotations
    # Sorted by their JSON text, in which "1.0}" stands before "1}".
    assert [type(each.value) for each in annotations if each.name == "note"] == [float, int, bool]


def test_an_empty_schema_reads_back():
    assert ir_from_json(ir_to_json(identified(""))) == identified("")


# ── what is refused ──


def refusal(text: str) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        ir_from_json(text)
    assert caught.value.details["path"] in str(caught.value) or caught.value.details["path"] == "$"
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, column 1"),
        ("{", "line 1, column 2"),
        ('{"b": 0, "a": 1,\n "a": 2}', '"a" occurs twice'),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ("[" * 200_000, "too deeply"),
        ("9" * 5000, "digits"),
        ('{"a": 1e999}', "range"),
        (r'{"a": "\ud800"}', "surrogate"),
        ('{"ir_version": 2} x', "line 1, column 19"),
    ],
)
def test_a_text_that_is_no_json_is_refused(text, words):
    error = refusal(text)
    assert "not valid JSON" in error.message
    assert words in error.message


@pytest.mark.parametrize("text", ["[]", "null", "1", '"x"', "true"])
def test_a_root_that_is_no_object_is_refused(text):
    assert refusal(text).details["expected"] == "an object"


@pytest.mark.parametrize("version", [1, 3, "2", None, True, 2.0])
def test_another_version_is_refused_before_anything_else(version):
    error = refusal(json.dumps({"ir_version": version, "some": "new field"}))
    assert error.details["path"] == "$.ir_version"


def everywhere(value, path="$"):
    """Every object of a document with its path."""
    if isinstance(value, dict):
        yield path, value
        for name, each in value.items():
            yield from everywhere(each, f"{path}.{name}")
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from everywhere(each, f"{path}[{number}]")


def edited(path: str, change):
    """The document with one object of it changed."""
    document = copy.deepcopy(json.loads(SCHEMA_IR))
    change(dict(everywhere(document))[path])
    return json.dumps(document)


OBJECTS = [(path, name) for path, each in everywhere(json.loads(SCHEMA_IR)) for name in each]


@pytest.mark.parametrize(("path", "name"), OBJECTS)
def test_a_missing_field_is_refused_at_its_path(path, name):
    error = refusal(edited(path, lambda each: each.pop(name)))
    # A bound is one of two forms, so what lacks its only field is wrong as a whole.
    assert error.details["path"] == (path if name in ("Integer", "Float") else f"{path}.{name}")


@pytest.mark.parametrize("path", sorted({path for path, _ in OBJECTS}))
def test_a_field_that_is_not_known_is_ignored(path):
    text = edited(path, lambda each: each.update(later=[{"some": "new field"}]))
    assert ir_from_json(text) == ir_from_json(SCHEMA_IR)


def test_a_bound_that_is_a_whole_number_and_a_float_is_refused():
    path = f"{TAG}.constraints[3].min"
    assert refusal(edited(path, lambda each: each.update(Float=1.0))).details["path"] == path


@pytest.mark.parametrize(("path", "name"), OBJECTS)
def test_a_value_of_another_type_is_refused_at_its_path(path, name):
    error = refusal(edited(path, lambda each: each.update({name: [[]] if name == "value" else {"no": "such"}})))
    found = error.details["path"]
    assert found.startswith(path)
    assert name in found or name in ("Integer", "Float")


TAG, CODE, WEIGHT = "$.nodes[0]", "$.nodes[0].properties[0]", "$.nodes[0].properties[3]"
WRONG = {
    "a domain that is no ULID": ("$", "schema_identity_domain", DOMAIN.lower(), "$.schema_identity_domain"),
    "a counter below one": ("$", "next_identity_id", 0, "$.next_identity_id"),
    "a number that is a flag": (TAG, "type_id", True, f"{TAG}.type_id"),
    "a number with a point": (TAG, "type_id", 2.0, f"{TAG}.type_id"),
    "a number that is a text": (TAG, "type_id", "2", f"{TAG}.type_id"),
    "a number below one": (TAG, "type_id", 0, f"{TAG}.type_id"),
    "an empty name": (TAG, "name", "", f"{TAG}.name"),
    "a number that something else has": (TAG, "type_id", 3440889975, f"{TAG}.type_id"),
    "a number that was not given out": (CODE, "property_id", 10 << 31, f"{CODE}.property_id"),
    "a number without a counter": (CODE, "property_id", (1 << 31) - 1, f"{CODE}.property_id"),
    "a number of 64 bits": (CODE, "property_id", 2**63, f"{CODE}.property_id"),
    "an incarnation of 64 bits": (TAG, "table_incarnation_id", 2**63, f"{TAG}.table_incarnation_id"),
    "a counter beyond the last number": ("$", "next_identity_id", 2**32 + 1, "$.next_identity_id"),
    "a property number given twice": (CODE, "property_id", 14023454945, "$.nodes[0].properties[1].property_id"),
    "an unknown scalar": (f"{CODE}.prop_type", "scalar", "Text", f"{CODE}.prop_type.scalar"),
    "a vector without a dimension": (f"{CODE}.prop_type", "scalar", "Vector", f"{CODE}.prop_type.scalar"),
    "a vector of dimension 0": (f"{CODE}.prop_type", "scalar", {"Vector": 0}, f"{CODE}.prop_type.scalar.Vector"),
    "a vector that is too long": (
        f"{CODE}.prop_type",
        "scalar",
        {"Vector": 2147483648},
        f"{CODE}.prop_type.scalar.Vector",
    ),
    "an enum of no values": (f"{CODE}.prop_type", "enum_values", [], f"{CODE}.prop_type.enum_values"),
    "an enum out of order": (f"{CODE}.prop_type", "enum_values", ["b", "a"], f"{CODE}.prop_type.enum_values"),
    "an enum with a value twice": (f"{CODE}.prop_type", "enum_values", ["a", "a"], f"{CODE}.prop_type.enum_values"),
    "an enum of numbers": (f"{WEIGHT}.prop_type", "enum_values", ["1"], f"{WEIGHT}.prop_type.enum_values"),
    "a list of vectors": (
        "$.nodes[0].properties[2].prop_type",
        "list",
        True,
        "$.nodes[0].properties[2].prop_type.list",
    ),
    "nullability that is a number": (f"{CODE}.prop_type", "nullable", 0, f"{CODE}.prop_type.nullable"),
    "an unknown property constraint": (CODE, "property_constraints", ["range"], f"{CODE}.property_constraints[0]"),
    "a cardinality upside down": ("$.edges[0].cardinality", "min", 4, "$.edges[0].cardinality.max"),
    "a negative cardinality": ("$.edges[0].cardinality", "min", -1, "$.edges[0].cardinality.min"),
    "empty kwargs": ("$.nodes[0].annotations[0]", "kwargs", {}, "$.nodes[0].annotations[0].kwargs"),
    "kwargs of lists": ("$.nodes[0].annotations[0]", "kwargs", {"k": []}, "$.nodes[0].annotations[0].kwargs.k"),
    "an annotation value that is a list": ("$.nodes[0].annotations[0]", "value", [], "$.nodes[0].annotations[0].value"),
    "a pattern that is null": (f"{TAG}.constraints[0]", "pattern", None, f"{TAG}.constraints[0].pattern"),
    "an unknown kind of constraint": (f"{TAG}.constraints[0]", "kind", "foreign", f"{TAG}.constraints[0].kind"),
    "a constraint of no fields": (f"{TAG}.constraints[2]", "fields", [], f"{TAG}.constraints[2].fields"),
    "a bound that is a flag": (f"{TAG}.constraints[3].min", "Integer", True, f"{TAG}.constraints[3].min"),
    "a whole bound with a point": (f"{TAG}.constraints[3].min", "Integer", 1.5, f"{TAG}.constraints[3].min"),
    "a float bound without a point": (f"{TAG}.constraints[3].max", "Float", 1, f"{TAG}.constraints[3].max"),
    "an unknown kind of field": (f"{TAG}.constraints[0].field", "kind", "row", f"{TAG}.constraints[0].field.kind"),
    "a range over a system field": (
        f"{TAG}.constraints[3]",
        "field",
        {
            "kind": "system",
            "stable_table_id": TAG_TYPE,
            "table_type_name": "Tag",
            "table_incarnation_id": 10,
            "role": "id",
        },
        f"{TAG}.constraints[3].field.kind",
    ),
    "an unknown role": (
        "$.edges[0].constraints[0].fields[1]",
        "role",
        "mid",
        "$.edges[0].constraints[0].fields[1].role",
    ),
    "an interface by a wrong name": (f"{TAG}.implements[0]", "type_name", "Tag", f"{TAG}.implements[0]"),
    "an interface by the number of a node": (f"{TAG}.implements[0]", "type_id", TAG_TYPE, f"{TAG}.implements[0]"),
    "a source that is an interface": ("$.edges[0].from_type", "type_id", NAMED, "$.edges[0].from_type"),
    "a target by an old name": ("$.edges[0].to_type", "type_name", "Old", "$.edges[0].to_type"),
    "a constraint on a property of another owner": (
        f"{TAG}.constraints[0].field",
        "owner_type_id",
        NEAR,
        f"{TAG}.constraints[0].field",
    ),
    "a constraint on a property by an old name": (
        f"{TAG}.constraints[2].fields[0]",
        "property_name",
        "old",
        f"{TAG}.constraints[2].fields[0]",
    ),
    "a property with the name of the id": (CODE, "name", "id", f"{CODE}.name"),
    "a second key": (f"{TAG}.constraints[1]", "kind", "key", f"{TAG}.constraints[2].kind"),
    "a key of an edge": ("$.edges[0].constraints[0]", "kind", "key", "$.edges[0].constraints[0].kind"),
    "an id in a constraint": (
        "$.edges[0].constraints[0].fields[1]",
        "role",
        "id",
        "$.edges[0].constraints[0].fields[1]",
    ),
    "a system field of another table": (
        "$.edges[0].constraints[0].fields[1]",
        "table_incarnation_id",
        10,
        "$.edges[0].constraints[0].fields[1]",
    ),
    "an embed source that is not there": (
        "$.nodes[0].properties[2].embed_source",
        "property_id",
        20277407446,
        "$.nodes[0].properties[2].embed_source",
    ),
    "an embed source of a node without a number": (
        "$.nodes[0].properties[2].embed_source",
        "property_id",
        None,
        "$.nodes[0].properties[2].embed_source",
    ),
    "a link to what is no interface property": (
        "$.nodes[0].properties[1].satisfies_interface_properties[0]",
        "property_id",
        11038743428,
        "$.nodes[0].properties[1].satisfies_interface_properties[0]",
    ),
}


@pytest.mark.parametrize("value", [5, "x", [], None, True])
@pytest.mark.parametrize(
    ("path", "name"),
    [(TAG, "implements"), (CODE, "annotations"), ("$", "nodes"), (TAG, "constraints"), (TAG, "properties")],
)
def test_an_item_that_is_no_object_is_refused_at_its_path(path, name, value):
    error = refusal(edited(path, lambda each: each.update({name: [value]})))
    assert error.details == {"path": f"{path}.{name}[0]", "expected": "an object"}


@pytest.mark.parametrize("value", [5, "x", []])
@pytest.mark.parametrize(
    ("path", "name"),
    [
        (CODE, "prop_type"),
        ("$.nodes[0].properties[2]", "embed_source"),
        ("$.edges[0]", "from_type"),
        ("$.edges[0]", "cardinality"),
        (f"{TAG}.constraints[0]", "field"),
    ],
)
def test_a_field_that_is_no_object_is_refused_at_its_path(path, name, value):
    error = refusal(edited(path, lambda each: each.update({name: value})))
    assert error.details == {"path": f"{path}.{name}", "expected": "an object"}


def test_the_longest_vector_reads_back():
    assert (
        ir_from_json(ir_to_json(identified("node A { v: Vector(2147483647) }"))).nodes[0].properties[0].type.dimension
    )


@pytest.mark.parametrize("what", WRONG)
def test_refused_at_its_path(what):
    path, name, value, expected = WRONG[what]
    assert refusal(edited(path, lambda each: each.update({name: value}))).details["path"] == expected


@pytest.mark.parametrize(
    ("path", "field", "expected"),
    [("$", "nodes", "$.nodes[1].name"), (TAG, "properties", f"{TAG}.properties[1].name")],
)
def test_names_out_of_order_or_twice_are_refused(path, field, expected):
    twice = edited(path, lambda each: each[field].insert(0, each[field][0]))
    assert refusal(twice).details["path"] == expected


def test_a_refusal_says_what_was_expected_and_what_was_found():
    error = refusal(edited(TAG, lambda each: each.update(type_id="two")))
    assert error.message == (
        'The schema IR is wrong at $.nodes[0].type_id: expected a whole number, 1 or above, got "two".'
    )
    assert error.details["expected"] == "a whole number, 1 or above"


def test_a_wrong_reference_says_what_it_should_name():
    not_interface = refusal(edited(f"{TAG}.implements[0]", lambda each: each.update(type_id=TAG_TYPE)))
    assert not_interface.details["expected"] == "the number and name of an interface of this schema"
    not_node = refusal(edited("$.edges[0].to_type", lambda each: each.update(type_id=NAMED)))
    assert not_node.details["expected"] == "the number and name of a node type of this schema"


def test_a_long_wrong_value_is_cut():
    error = refusal(edited(TAG, lambda each: each.update(type_id="x" * 5000)))
    assert len(error.message) < 200


# ── the state object ──


def test_the_state_names_both_hashes_and_the_domain():
    catalog = compile_schema(SCHEMA)
    schema = assign_identities(catalog, DOMAIN)
    assert json.dumps(SchemaState.of(catalog, schema).to_dict()) == json.dumps(
        {
            "format_version": 2,
            "schema_shape_hash": shape_hash(catalog),
            "schema_ir_hash": ir_hash(schema),
            "schema_identity_version": 2,
            "schema_identity_domain": DOMAIN,
        }
    )


def test_the_state_reads_back():
    state = SchemaState.of(compile_schema(SCHEMA), identified())
    assert SchemaState.from_json(json.dumps(state.to_dict())) == state


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format_version", 1),
        ("schema_identity_version", 3),
        ("schema_shape_hash", "md5:0"),
        ("schema_ir_hash", "sha256:" + "A" * 64),
        ("schema_identity_domain", "x"),
    ],
)
def test_a_wrong_state_is_refused_at_its_path(field, value):
    facts = SchemaState.of(compile_schema(SCHEMA), identified()).to_dict() | {field: value}
    with pytest.raises(InvalidInputError) as caught:
        SchemaState.from_json(json.dumps(facts))
    assert caught.value.details["path"] == f"$.{field}"
    assert "schema state" in caught.value.message
