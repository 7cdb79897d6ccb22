"""Types, names and interfaces: what goes together in a schema, and what a catalog holds of it."""

from __future__ import annotations

import pytest

from omnigraph.errors import CheckError, ParseError
from omnigraph.lang import Code, Report, Scalar, SourceText, ValueType
from omnigraph.schema import Annotation, Catalog, Embed, Index, Key, Unique, check_schema, compile_schema
from omnigraph.schema.parser import read_schema

EXAMPLE = """
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


def test_the_example_schema_means_what_it_says():
    catalog = compile_schema(EXAMPLE)
    assert (list(catalog.interfaces), list(catalog.nodes)) == (["Titled"], ["Film", "Person"])
    assert list(catalog.edges) == ["Directed", "Follows", "Rented"]
    film = catalog.nodes["Film"]
    assert {name: str(each.type) for name, each in film.by_name.items()} == {
        "added": "DateTime",
        "code": "String",
        "genre": "enum(docu, drama, sci-fi)",
        "plot": "String?",
        "plotVec": "Vector(4)?",
        "released": "Date?",
        "stars": "F32?",
        "tags": "[String]?",
        "title": "String",
    }
    assert film.key == ("code",)
    assert [type(each).__name__ for each in film.constraints] == ["Check", "Index", "Index", "Index", "Key", "Range"]
    assert film.by_name["plotVec"].embed == Embed(source="plot", model="demo/embed")
    rented = catalog.edges["Rented"]
    assert (rented.source, rented.target, rented.constraints) == ("Person", "Film", (Unique(columns=("dst", "src")),))


# ── types ──


@pytest.mark.parametrize(
    "kind",
    ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Vector(3)", "[String]",
     "[DateTime]", "enum(a, b)", "Blob"],
)  # fmt: skip
def test_every_type_is_accepted_required_and_nullable_on_nodes_and_edges(kind):
    catalog = compile_schema(f"node A {{ x: {kind} y: {kind}? }} edge E: A -> A {{ x: {kind} y: {kind}? }}")
    for owner in (catalog.nodes["A"], catalog.edges["E"]):
        assert [str(each.type) for each in owner.properties] == [kind, f"{kind}?"]


@pytest.mark.parametrize("kind", ["[Blob]", "[Blob]?"])
def test_a_list_of_blob_is_refused(refused, kind):
    refused(f"node A {{ x: «{kind}» y: I32 }}", Code.LIST_OF_BLOB)
    refused(f"interface I {{ x: «{kind}» }}", Code.LIST_OF_BLOB)
    refused(f"node A {{}} edge E: A -> A {{ x: «{kind}» @index }}", Code.LIST_OF_BLOB)


# ── names ──


@pytest.mark.parametrize(
    ("text", "kind"), [("node A {{}}", "node"), ("edge A: N -> N", "edge"), ("interface A {{}}", "interface")]
)
def test_two_declarations_of_a_kind_with_one_name_are_refused(refused, text, kind):
    first = text.format()
    only = refused(f"node N {{}} {first} {first.replace('A', '«A»', 1)}", Code.DUPLICATE_TYPE, kind, "declared twice")
    assert [each.label for each in only.related] == ["first declared here"]
    assert only.related[0].span.start < only.span.start


def test_a_node_an_edge_and_an_interface_may_share_a_name():
    catalog = compile_schema("node A {} edge A: A -> A interface A { x: I32 }")
    assert (list(catalog.nodes), list(catalog.edges), list(catalog.interfaces)) == (["A"], ["A"], ["A"])


@pytest.mark.parametrize(
    "marked",
    [
        "node A { x: I32 y: I32 «x»: String }",
        "interface I { x: I32 «x»: I32 }",
        "node A {} edge E: A -> A { x: I32 «x»: I32 }",
    ],
)
def test_a_property_declared_twice_in_one_owner_is_refused(refused, marked):
    only = refused(marked, Code.DUPLICATE_PROPERTY, 'duplicate property "x"')
    assert [each.label for each in only.related] == ["first declared here"]


def test_owners_may_have_properties_of_one_name():
    compile_schema("node A { x: I32 } node B { x: String } edge E: A -> B { x: Bool }")


@pytest.mark.parametrize(
    "name", ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version", "id"]
)
def test_names_of_columns_that_exist_already_are_refused_everywhere(refused, name):
    refused(f"node A {{ «{name}»: String }}", Code.RESERVED_PROPERTY, "reserved")
    refused(f"interface I {{ «{name}»: String }}", Code.RESERVED_PROPERTY, "reserved")
    refused(f"node A {{}} edge E: A -> A {{ «{name}»: String }}", Code.RESERVED_PROPERTY, "reserved")


@pytest.mark.parametrize("name", ["src", "dst", "from", "to"])
def test_names_for_the_ends_of_an_edge_are_refused_on_edges_only(refused, name):
    refused(f"node A {{}} edge E: A -> A {{ «{name}»: String }}", Code.RESERVED_PROPERTY, "reserved")
    assert list(compile_schema(f"node A {{ {name}: Date @unique }}").nodes["A"].by_name) == [name]


@pytest.mark.parametrize("name", ["_rowId", "_row", "rowid", "_tombstone", "iD", "type", "name", "date"])
def test_other_names_are_free(name):
    compile_schema(f"node A {{ {name}: String }} edge E: A -> A {{ {name}: String }}")


# ── edges ──


def test_an_edge_may_stand_before_its_nodes():
    edge = compile_schema("edge E: A -> B node B {} node A {}").edges["E"]
    assert (edge.source, edge.target) == ("A", "B")


@pytest.mark.parametrize(("marked", "end"), [("«Flim» -> Film", "source"), ("Film -> «Flim»", "target")])
def test_an_end_that_is_no_node_type_is_refused(refused, marked, end):
    refused(f"node Film {{}} edge E: {marked}", Code.UNKNOWN_ENDPOINT, f"unknown {end} type", 'did you mean "Film"?')


def test_an_interface_is_no_end_of_an_edge(refused):
    refused("interface I {} node A implements I {} edge E: A -> «I»", Code.UNKNOWN_ENDPOINT, "this is an interface")


def test_an_edge_is_no_end_of_an_edge(refused):
    refused("node A {} edge F: A -> A edge E: «F» -> A", Code.UNKNOWN_ENDPOINT, "unknown source type")


def test_edges_that_differ_in_case_only_are_refused(refused):
    only = refused("node A {} edge RentedBy: A -> A edge «Rentedby»: A -> A", Code.EDGE_CASE_FOLDING, "case folding")
    assert [each.label for each in only.related] == ["first declared here"]


def test_nodes_may_differ_in_case_only():
    assert list(compile_schema("node RentedBy {} node Rentedby {}").nodes) == ["RentedBy", "Rentedby"]


# ── constraints and unknown properties ──


@pytest.mark.parametrize(
    "constraint", ["@key(«y»)", "@unique(x, «y»)", "@index(«y»)", "@range(«y», 1..5)", '@check(«y», "a")']
)
def test_a_constraint_that_names_an_unknown_property_is_refused(refused, constraint):
    refused(f"node A {{ x: I32 {constraint} }}", Code.UNKNOWN_CONSTRAINT_PROPERTY, 'A has no property "y"', "A has: x")


def test_a_constraint_may_name_a_property_that_an_interface_injects():
    constraints = (
        compile_schema("interface I { x: I32 } node A implements I { y: I32 @unique(y, x) }").nodes["A"].constraints
    )
    assert constraints == (Unique(columns=("x", "y")),)


# ── interfaces ──


def test_an_interface_injects_its_properties_with_their_annotations():
    catalog = compile_schema(
        "node A implements I { s: String } "
        'interface I { k: I32 @key  u: I32? @unique  i: I32 @index @note("n")  v: Vector(2)? @embed(s) '
        'o: I32 @rename_from("p") }'
    )
    node = catalog.nodes["A"]
    assert node.constraints == (Index(columns=("i",)), Key(columns=("k",)), Unique(columns=("u",)))
    assert node.by_name["v"].embed == Embed(source="s")
    assert node.by_name["i"].annotations == (Annotation(name="note", value="n"),)
    assert node.by_name["o"].rename_from == "p"
    assert {name: (each.is_direct, each.satisfies) for name, each in node.by_name.items()} == {
        "i": (False, (("I", "i"),)),
        "k": (False, (("I", "k"),)),
        "o": (False, (("I", "o"),)),
        "s": (True, ()),
        "u": (False, (("I", "u"),)),
        "v": (False, (("I", "v"),)),
    }
    assert all(each.is_direct and not each.satisfies for each in catalog.interfaces["I"].properties)
    assert node.implements == ("I",)


def test_a_property_that_the_node_declares_inherits_no_annotations():
    node = compile_schema("interface I { x: I32 @key } node A implements I { x: I32 @index }").nodes["A"]
    (prop,) = node.properties
    assert (prop.is_direct, prop.satisfies, prop.constraints) == (True, (("I", "x"),), ("index",))
    assert node.constraints == (Index(columns=("x",)),)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("String", "I32"), ("String", "String?"), ("[I32]", "I32"), ("enum(a, b)", "enum(a, c)"), ("enum(a)", "String"),
     ("Vector(2)", "Vector(3)")],
)  # fmt: skip
def test_a_property_of_another_type_than_its_interface_says_is_refused(refused, theirs, ours):
    only = refused(
        f"interface I {{ x: {theirs} }} node A implements I {{ x: «{ours}» }}",
        Code.INTERFACE_TYPE_MISMATCH,
        theirs,
        ours,
    )
    assert [each.label for each in only.related] == ["declared by I"]


def test_the_order_of_enum_values_makes_no_other_type():
    compile_schema("interface I { x: enum(a, b) } node A implements I { x: enum(b, a) }")


def test_an_unknown_interface_is_refused(refused):
    refused(
        "interface Titled {} node A implements «Titeld» {}", Code.UNKNOWN_INTERFACE, "unknown interface", '"Titled"?'
    )
    refused("node B {} node A implements «B» {}", Code.UNKNOWN_INTERFACE, "unknown interface")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I32", "I64"),
        ("I32", "I32?"),
        ("I32", "I32 @index"),
        ('I32 @x("a")', 'I32 @x("b")'),
        ("I32 @x(1)", "I32 @x(1.0)"),
        ("I32 @x(1)", "I32 @x(true)"),
        ("I32 @x(1, y=0)", "I32 @x(1, y=false)"),
        ("I32", 'I32 @rename_from("y")'),
    ],
)
def test_interfaces_that_inject_one_name_differently_are_refused(refused, one, other):
    refused(
        f"interface I {{ x: {one} }} interface J {{ x: {other} }} node A implements I, «J» {{}}",
        Code.INTERFACE_CONFLICT,
        "incompatible property semantics",
    )


def test_interfaces_that_embed_one_name_differently_are_refused(refused):
    refused(
        'interface I { x: Vector(2) @embed("s") } interface J { x: Vector(2) @embed("s", model="m") } '
        "node A implements I, «J» { s: String }",
        Code.INTERFACE_CONFLICT,
        "incompatible property semantics",
    )


def test_interfaces_may_inject_one_name_alike():
    node = compile_schema(
        "interface J { x: I32 @index @note } interface I { x: I32 @note @index } node A implements J, I {}"
    ).nodes["A"]
    (prop,) = node.properties
    assert (prop.is_direct, prop.satisfies) == (False, (("I", "x"), ("J", "x")))
    assert node.implements == ("I", "J")


def test_a_node_settles_a_conflict_of_its_interfaces_by_declaring_the_property():
    text = "interface I { x: I32 @index } interface J { x: I32 @unique } node A implements I, J { x: I32 }"
    (prop,) = compile_schema(text).nodes["A"].properties
    assert (prop.satisfies, prop.constraints) == ((("I", "x"), ("J", "x")), ())


def test_an_interface_named_twice_counts_once_with_a_warning():
    text = "interface I { x: I32 } node A implements I, I {}"
    report = Report(SourceText.of(text))
    catalog = check_schema(read_schema(report), report)
    assert catalog.nodes["A"].implements == ("I",)
    assert [(each.code, each.span.start, each.severity) for each in report.diagnostics] == [
        (Code.DUPLICATE_IMPLEMENTS, text.rindex("I"), "warning")
    ]
    assert compile_schema(text) == catalog


def test_marks_in_an_interface_are_checked_there_and_once(refused):
    refused("interface I { x: [I32] «@unique» } node A implements I {} node B implements I {}", Code.BAD_UNIQUE_COLUMN)


def test_a_source_that_an_interface_asks_for_is_missed_at_the_node(refused):
    text = "interface I { v: Vector(2) @embed(plot) } node A implements I { plot: String } node B implements «I» {}"
    only = refused(text, Code.BAD_EMBED, 'B has no property "plot"')
    assert [each.label for each in only.related] == ["asked for by I"]


# ── the catalog ──


def test_everything_is_in_ascending_order_of_names():
    catalog = compile_schema(
        "edge Z: B -> A {b: I32 a: I32} edge Y: A -> B node B {z: I32 Y_: I32} node A {}".replace("Y_", "y")
    )
    assert (list(catalog.nodes), list(catalog.edges)) == (["A", "B"], ["Y", "Z"])
    assert [each.name for each in catalog.nodes["B"].properties] == ["y", "z"]
    assert list(catalog.edges["Z"].by_name) == ["a", "b"]


def test_names_are_ordered_by_their_bytes():
    names = [
        each.name for each in compile_schema("node A { b: I32 _z: I32 aB: I32 aa: I32 a1: I32 }").nodes["A"].properties
    ]
    assert names == ["_z", "a1", "aB", "aa", "b"]


def test_the_order_of_the_text_does_not_change_the_catalog():
    one = "interface I { a: I32 } node A implements I { x: enum(b, a) y: I32 @unique(x, y) } edge E: A -> A"
    other = "edge E: A -> A node A implements I { @unique(y, x) y: I32 x: enum(a, b) } interface I { a: I32 }"
    assert compile_schema(one) == compile_schema(other)


def test_the_mappings_of_a_catalog_cannot_be_changed():
    catalog = compile_schema("node A {}")
    with pytest.raises(TypeError):
        catalog.nodes["B"] = catalog.nodes["A"]


def test_an_empty_schema_is_an_empty_catalog():
    assert compile_schema("") == Catalog(interfaces={}, nodes={}, edges={})


def test_meaning_alone_is_a_check_error_and_syntax_makes_it_a_parse_error():
    with pytest.raises(CheckError, match="catalog error: OG-S-103"):
        compile_schema("edge E: A -> A")
    with pytest.raises(ParseError, match="and 2 more"):
        compile_schema("node B { x: Strng } edge E: A -> C")


def test_a_property_points_to_its_place_in_the_text():
    text = "node A { first: I32 }"
    span = compile_schema(text).nodes["A"].by_name["first"].span
    assert text[span.start : span.end] == "first"
    assert compile_schema(text).nodes["A"].by_name["first"].type == ValueType(Scalar.I32)
