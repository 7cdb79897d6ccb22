"""Mistakes in the form of a schema: each is told once, at the word that is wrong, and the rest is read all the same."""

from __future__ import annotations

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang import Code, Report, SourceText
from omnigraph.schema import compile_schema, parse_schema
from omnigraph.schema.parser import read_schema


def found(text: str) -> list[tuple[Code, str]]:
    """Codes and the words that they stand at."""
    with pytest.raises(CompileError) as caught:
        compile_schema(text)
    return [(each.code, text[each.span.start : each.span.end]) for each in caught.value.diagnostics]


UNEXPECTED = Code.UNEXPECTED_TOKEN


@pytest.mark.parametrize(
    ("marked", "fragment"),
    [
        ("«nod» Film { code: String } edge E: Film -> Film", 'did you mean "node"?'),
        ("«Node» Film {} edge E: Film -> Film", 'did you mean "node"?'),
        ("node A {} «egde» E: A -> A", 'did you mean "edge"?'),
        ("«type» Film { code: String }", 'did you mean "node"?'),
        ("«enum» Genre { drama docu }", "genre: enum(drama, docu)"),
        ("«code»: String", "inside the braces"),
        ("node A {} «}» node B {} edge E: A -> B", "closes nothing"),
        ("node «film» {} edge E: Film -> Film", 'did you mean "Film"?'),
        ("interface «titled» { t: String } node A implements Titled { @unique(t) }", 'did you mean "Titled"?'),
        ("node A {} edge E: «a» -> A", 'did you mean "A"?'),
        ("node A implements «titled» {}", 'did you mean "Titled"?'),
        ("node «{» x: I32 }", "the name of a node type"),
        ("node A «x»: I32 }", 'expected "{"'),
        ("node A «edge» E: A -> A", "{}"),
        ("node A { x: I32 «node» B {} edge E: A -> B", 'expected "}"'),
        ("node A {} edge E: A «A»", 'expected "->"'),
        ("node A {} edge E: A «=»> A { @unique(src) }", 'expected "->"'),
        ("node A {} edge E: A «-» A", 'expected "->"'),
        ("node A {} edge E «A» -> A", "a colon is missing between E"),
        ("node A {} edge E: A -> «[»A]", "the node type at which the edge ends"),
        ("interface I «implements» J { x: I32 } interface J {}", "an interface cannot implement another one"),
        ("interface I «extends» J { x: I32 } interface J {}", "an interface cannot extend another one"),
        ("interface I {} interface J {} node A implements I «J» {}", 'expected ","'),
    ],
)
def test_a_mistake_in_a_declaration_is_told_at_its_word(refused, marked, fragment):
    refused(marked, UNEXPECTED, fragment)


def test_a_missing_last_brace_is_told_behind_the_last_word(refused):
    only = refused("node A { x: I32« »", UNEXPECTED, 'expected "}"', "the end of the file")
    assert [each.label for each in only.related] == ["opened here"]


@pytest.mark.parametrize(
    ("marked", "fragment"),
    [
        ("name «String»", 'a colon is missing between "name" and its type'),
        ("tags «[»String]", "a colon is missing"),
        ("genre «enum»(a, b)", "a colon is missing"),
        ("«Title»: String", 'did you mean "title"?'),
        ("a: String«,» b: I32, c: I32", "no commas"),
        ("a: String «=» 3", "no default values"),
        ("a: String?«?»", "One ?"),
        ("a«?»: String", "behind its type"),
        ('«"a"»: String', "without quotes"),
        ("«a» b: String", "name: Type"),
        ("a: «b»: String", "expected a type"),
        ("a: «7» b: I32", "expected a type"),
        ("a: String«[]»", 'did you mean "[String]"?'),
        ("a: [String«?»]", "[String]?"),
        ("a: [String «b»: I32", 'expected "]"'),
        ("a: [«]»", "type of the items"),
        ("a: enum «@»x", 'expected "("'),
        ("a: enum«[»b, c]", "enum(first, second)"),
        ('a: enum(«"b"», c)', "without quotes"),
        ("a: enum(b «c», d)", "a comma is missing"),
        ("a: enum(b, c«,»)", "no comma stands behind the last"),
        ("a: enum(b«.»c)", '"," or ")"'),
        ("a: enum(b-1«.5», c)", '".5" cannot be part of an enum value'),
        ("a: enum(b-«>»c)", '">" cannot be part of an enum value'),
        ("a: enum(b, «,»c)", "an enum value"),
        ("a: I32 @«Big»(3)", "the name of an annotation"),
        ("a: I32 @x(«A»)", 'Write it in quotes: "A".'),
        ("a: I32 @x(1, k=«b»)", "a literal"),
        ("a: I32 @x(1 «b»: I32", '"," or ")"'),
        ("a: I32 @range(«A», 1..5)", 'did you mean "a"?'),
        ("a: I32 @range(a, ..«)»", "a number"),
        ("a: I32 @range(a, -«a»)", "a number"),
        ("a: I32 @range(a, -1«)»", '".." between the bounds'),
        ("a: I32 @unique(a «b») b: I32", '"," or ")"'),
        ("a: I32 @unique(a, «)»", "the name of a property"),
        ("a: I32 @unique(a «@»index(a)", '"," or ")"'),
    ],
)
def test_a_mistake_in_a_body_is_told_at_its_word(refused, marked, fragment):
    refused(f"node A {{ {marked} }} node B {{}}", UNEXPECTED, fragment)


@pytest.mark.parametrize(
    ("marked", "guess"),
    [("«string»", "String"), ("«Int»", "I32"), ("«Strng»", "String"), ("«Datetime»", "DateTime"), ("«boolean»", "Bool"),
     ("[«Text»]", "String"), ("«Vectr»(3)", "Vector"), ("«Timestamp»?", "DateTime"), ("«varchar»(20)", "String")],
)  # fmt: skip
def test_an_unknown_type_comes_with_a_guess_and_the_choices(refused, marked, guess):
    only = refused(f"node A {{ a: {marked} @index }}", Code.UNKNOWN_SCALAR, f'did you mean "{guess}"?', "DateTime, F32")
    assert "edge" not in str(only.help)


def test_a_node_as_type_of_a_property_is_explained(refused):
    refused("node A { owner: «Person» } node Person {}", Code.UNKNOWN_SCALAR, "is an edge")


@pytest.mark.parametrize("marked", ["[«enum»(a, b)]", "[«Vector»(3)]", "[«[»String]]", "[«[»[[I32]]]]?"])
def test_a_list_of_enum_vector_or_list_is_refused(refused, marked):
    refused(f"node A {{ a: {marked} b: I32 @unique(b) }}", Code.LIST_OF_BLOB, "A list holds one of")


@pytest.mark.parametrize(
    "marked",
    ["«Vector»", "«Vector»[3]", "«Vector»<3>", "Vector(«0»)", "Vector(«2147483648»)", "Vector(«-»1)", "Vector(«n»)",
     "Vector(«3.0»)", "Vector(«)»", "Vector(3«,» 4)", f"Vector(«{'9' * 5000}»)"],
)  # fmt: skip
def test_a_vector_dimension_is_an_integer_from_1_to_2147483647(refused, marked):
    refused(f"node A {{ a: {marked} b: I32 @unique(b) }}", Code.BAD_VECTOR_DIMENSION)


def test_an_enum_without_values_is_refused(refused):
    refused("node A { a: «enum()»? b: I32 }", Code.BAD_ENUM, "no values")


def test_a_repeated_enum_value_is_refused_and_shows_the_first(refused):
    only = refused("node A { a: enum(x, y,\n «x») b: I32 }", Code.BAD_ENUM)
    assert [(each.span, each.label) for each in only.related] == [((17, 18), "first written here")]


@pytest.mark.parametrize(
    ("marked", "fragment"),
    [
        ("interface I { x: I32 «@unique»(x) y: I32 } node A implements I { @unique(x, y) }", "no constraints"),
        ("interface I { «@key»(x) x: I32 }", "no constraints"),
        ('interface I «@description»("x") { x: I32 }', "no annotations"),
        ("node A «@unique»(x) { x: I32 }", "in the body"),
        ("node A { x: I32 } edge E: A -> A «@unique»(src, dst)", "in the body"),
        ("node A { x: I32 } edge E: A -> A @x «@card»(0..1)", "right behind the target"),
        ("node A { x: I32 } edge E: A -> A { x: I32 «@card»(0..1) }", "right behind the target"),
        ("node A { «@card»(0..1) }", "right behind the target"),
        ("interface I {} node A implements I «@»x { x: I32 }", 'before "implements"'),
        ("node A { «@index» x: I32 }", "behind the type"),
        ("node A { x: I32 @range(x, 1..5) «@index» }", "in front of any constraint"),
    ],
)
def test_a_constraint_or_annotation_at_the_wrong_place_is_refused(refused, marked, fragment):
    refused(marked, Code.MISPLACED_ANNOTATION, fragment)


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ("a: I32 @x(«)»", Code.BAD_ANNOTATION_ARGUMENT),
        ("a: I32 @x(1, «2»)", Code.BAD_ANNOTATION_ARGUMENT),
        ("a: I32 @x(«k»=1)", Code.BAD_ANNOTATION_ARGUMENT),
        ("a: I32 @unique(«)»", Code.BAD_CONSTRAINT_ARGUMENT),
        ('a: I32 @x("«\\d»")', Code.UNSUPPORTED_ESCAPE),
        ("a: I32 @x(«9223372036854775808»)", Code.NUMBER_OUT_OF_RANGE),
        ("a: I32 @range(a, -«9223372036854775809»..)", Code.NUMBER_OUT_OF_RANGE),
        (f"a: I32 @range(a, ..«{'9' * 400}.0»)", Code.NUMBER_OUT_OF_RANGE),
        ("a: I32«;» b: I32", Code.UNEXPECTED_CHARACTER),
        ("a: I32 «#» b is not here\n", Code.UNEXPECTED_CHARACTER),
        ("a: I32 gr«öße»: I32", Code.UNEXPECTED_CHARACTER),
        ("a: Str«üng» b: I32", Code.UNEXPECTED_CHARACTER),
        ("a: enum(caf«é», b) b: I32", Code.UNEXPECTED_CHARACTER),
        ("} n«ödé» B {", Code.UNEXPECTED_CHARACTER),
        ("} node B«ü» {", Code.UNEXPECTED_CHARACTER),
        ('a: I32 @x(«"»)', Code.UNCLOSED_STRING),
        ("a: I32 «/*»", Code.UNCLOSED_COMMENT),
    ],
)
def test_arguments_and_characters_that_mean_nothing_are_refused(refused, marked, code):
    refused(f"node A {{ {marked} }}", code)


# ── going on ──


def test_one_run_tells_of_mistakes_in_several_places():
    text = "node A { a String b: Strng c: Vector(0) } edge E: A A edge F: A -> B @card(2..1) nod C { d: [Blob] }"
    assert found(text) == [
        (UNEXPECTED, "String"),
        (Code.UNKNOWN_SCALAR, "Strng"),
        (Code.BAD_VECTOR_DIMENSION, "0"),
        (UNEXPECTED, "A"),
        (Code.UNKNOWN_ENDPOINT, "B"),
        (Code.BAD_CARDINALITY, "@card(2..1)"),
        (UNEXPECTED, "nod"),
        (Code.LIST_OF_BLOB, "[Blob]"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "node A { = @key(b) @range(c, 1..2) v: Vector(2) @embed(d) }",
        "type Film {} edge E: Film -> Film node A implements Titled { @unique(x) }",
        "interface I { = } node A implements I { @unique(x) v: Vector(2) @embed(x) }",
        'node A { x: Strng @key @unique(x) @range(x, 1..5) @check(x, "a") }',
        "interface I { x: Strng } node A implements I { x: I32 }",
        "interface I { x: Strng } interface J { x: I32 } node A implements I, J {}",
        "node A { x: Strng v: Vector(2) @embed(x) }",
        "node A { Title: String title: String }",
        "node { x: I32 } edge E: A -> A",
        "interface I { x: I32 } node A implements i { @unique(x) }",
        "node A { x: Strng y String @unique(y) }",
        "node A { @range(x, 1.. x: I32 }",
    ],
)
def test_what_could_not_be_read_causes_no_further_errors(text):
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    ("kind", "code"),
    [("[enum(a, b)]", Code.LIST_OF_BLOB), ("[[F32]]?", Code.LIST_OF_BLOB), ("Foo(a, b(c))", Code.UNKNOWN_SCALAR),
     ("Vector[3]", Code.BAD_VECTOR_DIMENSION), ("Vector(3, 4)", Code.BAD_VECTOR_DIMENSION), ("enum(a.b)", UNEXPECTED),
     ("enum[a, b]", UNEXPECTED), ("enum { a b }", UNEXPECTED), ("[String(3)]", UNEXPECTED)],
)  # fmt: skip
def test_the_rest_of_a_body_is_known_in_spite_of_a_type_that_could_not_be_read(kind, code):
    codes = [each for each, _ in found(f"node A {{ x: {kind} @unique(y) }}")]
    assert codes == [code, Code.UNKNOWN_CONSTRAINT_PROPERTY]


def test_what_was_read_around_a_mistake_is_kept():
    report = Report(SourceText.of("node A { a: I32 = 3 b: Strng c: Bool } edge E: A -> A"))
    node, edge = read_schema(report).declarations
    assert [(each.name.text, each.is_whole) for each in node.properties] == [("a", True), ("b", False), ("c", True)]
    assert (node.is_whole, edge.is_whole) == (False, True)
    assert len(report) == 2


@pytest.mark.parametrize(("text", "is_whole"), [("type A {} node B {}", False), ("node A { = } node B {}", True)])
def test_a_schema_is_not_whole_when_a_declaration_is_left_out(text, is_whole):
    assert read_schema(Report(SourceText.of(text))).is_whole is is_whole


def test_reading_stops_at_a_hundred_errors():
    with pytest.raises(CompileError) as caught:
        parse_schema(SourceText.of("node A { " + "a: Strng " * 1000 + "}"))
    codes = [each.code for each in caught.value.diagnostics]
    assert (len(codes), codes[-1]) == (100, Code.TOO_MANY_ERRORS)
