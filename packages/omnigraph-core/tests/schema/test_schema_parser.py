"""The grammar of the schema language: what each form means, as it is written."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.lang import Scalar, SourceText, ValueType
from omnigraph.schema import ast, parse_schema


def parse(text: str) -> ast.Schema:
    return parse_schema(SourceText.of(text))


def only(text: str) -> ast.Interface | ast.Node | ast.Edge:
    (declaration,) = parse(text).declarations
    return declaration


def node(body: str) -> ast.Node:
    found = only(f"node A {{ {body} }}")
    assert isinstance(found, ast.Node)
    return found


def type_of(text: str) -> ValueType:
    (prop,) = node(f"x: {text}").properties
    return prop.type


def bounds_of(text: str) -> tuple[object, object]:
    ((_, found),) = [each.arguments for each in node(f"@range(x, {text})").constraints]
    assert isinstance(found, ast.RangeBounds)
    return found.minimum, found.maximum


# ── declarations ──


@pytest.mark.parametrize("text", ["", "  \r\n\t", "// only a comment", "/* a */ // b"])
def test_a_schema_may_be_empty(text):
    assert parse(text).declarations == ()


def test_an_interface_has_properties():
    found = only("interface Titled { title: String @index  year: I32? }")
    assert isinstance(found, ast.Interface)
    assert (found.name.text, [each.name.text for each in found.properties]) == ("Titled", ["title", "year"])


def test_a_node_has_annotations_then_interfaces_then_a_body():
    found = only('node Film @description("a film") @x implements Titled, Dated { code: String @key @range(n, 1..2) }')
    assert isinstance(found, ast.Node)
    assert [each.name.text for each in found.annotations] == ["description", "x"]
    assert [each.text for each in found.implements] == ["Titled", "Dated"]
    assert [each.name.text for each in found.properties] == ["code"]
    assert [each.name.text for each in found.constraints] == ["range"]


def test_a_body_may_be_empty():
    assert node("").properties == ()
    assert parse("interface I {} node N{}").declarations[1].name.text == "N"


def test_an_edge_has_two_ends_and_needs_no_body():
    found = only("edge Rented: Person -> Film")
    assert isinstance(found, ast.Edge)
    assert (found.name.text, found.source.text, found.target.text) == ("Rented", "Person", "Film")
    assert (found.cardinality, found.properties, found.constraints) == (None, (), ())


@pytest.mark.parametrize(("text", "minimum", "maximum"), [("0..1", 0, 1), ("2..", 2, None), ("1 .. 1", 1, 1)])
def test_a_cardinality_stands_behind_the_target(text, minimum, maximum):
    found = only(f"edge E: A -> B @card({text}) @x")
    assert isinstance(found, ast.Edge)
    assert found.cardinality is not None
    assert (found.cardinality.minimum, found.cardinality.maximum) == (minimum, maximum)
    assert [each.name.text for each in found.annotations] == ["x"]


def test_cardinality_and_a_constraint_fit_into_one_edge_header():
    found = only("edge E: A -> B @card(1..1) { @unique(src) }")
    assert isinstance(found, ast.Edge)
    assert found.cardinality is not None
    assert [each.name.text for each in found.constraints] == ["unique"]


def test_declarations_keep_the_order_of_the_text():
    found = parse("edge E: B -> A node B {} interface C {} node A {}")
    assert [each.name.text for each in found.declarations] == ["E", "B", "C", "A"]


def test_properties_need_no_separator():
    assert [each.name.text for each in node("a: I32 b: I32? c: [I32]d: I32").properties] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("word", ["node", "edge", "interface", "implements", "enum", "type", "date", "order", "match",
                                  "key", "card", "true"])  # fmt: skip
def test_keywords_are_not_reserved(word):
    (prop,) = node(f"{word}: String").properties
    assert prop.name.text == word


def test_names_have_their_place():
    text = "node Film {\n  code: String @key\n}"
    found = only(text)
    assert isinstance(found, ast.Node)
    (prop,) = found.properties
    cut = [text[span.start : span.end] for span in (found.name.span, prop.name.span, prop.type_span, prop.span)]
    assert cut == ["Film", "code", "String", "code: String @key"]
    assert text[found.span.start : found.span.end] == text


# ── types ──


@pytest.mark.parametrize(
    "name", ["String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date"]
)
def test_a_scalar_type_alone_nullable_and_as_list(name):
    scalar = Scalar(name)
    assert type_of(name) == ValueType(scalar)
    assert type_of(f"{name}?") == ValueType(scalar, is_nullable=True)
    assert type_of(f"[{name}]") == ValueType(scalar, is_list=True)
    assert type_of(f"[ {name} ] ?") == ValueType(scalar, is_list=True, is_nullable=True)


@pytest.mark.parametrize("dimension", [1, 384, 2147483647])
def test_a_vector_has_a_dimension(dimension):
    assert type_of(f"Vector({dimension})?") == ValueType(Scalar.VECTOR, dimension=dimension, is_nullable=True)


@pytest.mark.parametrize("value", ["sci-fi", "phase-1", "partner-1on1", "t2d", "-x", "2nd", "UPPER", "_", "-", "a--b-",
                                   "0", "true", "enum", "1-2-3", "007"])  # fmt: skip
def test_an_enum_value_is_made_of_letters_digits_underscores_and_hyphens(value):
    assert type_of(f"enum({value})") == ValueType(Scalar.STRING, enum_values=(value,))
    assert type_of(f"enum(zz, {value},yy)?") == ValueType(
        Scalar.STRING, is_nullable=True, enum_values=tuple(sorted(("zz", value, "yy")))
    )


def test_enum_values_are_a_set():
    assert type_of("enum(b, a, C)") == type_of("enum(C, b, a)")
    assert type_of("enum(b, a, C)").enum_values == ("C", "a", "b")


def test_an_enum_may_span_lines_with_comments_in_between():
    text = "enum(\n  phase-1, // the first -\n  /* then, */ phase-2\n  ,phase-3// last\n)"
    assert type_of(text).enum_values == ("phase-1", "phase-2", "phase-3")


# ── annotations and constraints ──


def annotation(text: str) -> ast.Annotation:
    ((found,),) = [each.annotations for each in node(f"x: I32 {text}").properties]
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [('@x("a b")', "a b"), ("@x(7)", 7), ("@x(1.50)", 1.5), ("@x(true)", True), ("@x(false)", False), ('@x("")', "")],
)
def test_an_annotation_takes_a_literal(text, value):
    found = annotation(text).value
    assert isinstance(found, ast.Literal)
    assert (type(found.value), found.value) == (type(value), value)


@pytest.mark.parametrize("word", ["plot", "trueName", "falsehood", "node"])
def test_an_annotation_takes_a_bare_name(word):
    found = annotation(f"@x({word})").value
    assert not isinstance(found, ast.Literal)
    assert found is not None
    assert found.text == word


def test_an_annotation_takes_named_arguments_behind_its_value():
    found = annotation('@embed("plot", model="m", size=3, exact=true)')
    assert [(each.name.text, each.value.value) for each in found.kwargs] == [
        ("model", "m"),
        ("size", 3),
        ("exact", True),
    ]


def test_an_annotation_needs_no_arguments():
    found = annotation("@anything")
    assert (found.name.text, found.value, found.kwargs) == ("anything", None, ())


@pytest.mark.parametrize("name", ["key", "unique", "index", "range", "check"])
def test_a_constraint_name_with_a_parenthesis_is_a_constraint_and_without_one_an_annotation(name):
    found = node(f"x: I32 @{name} y: I32 @{name} (y)")
    assert [[each.name.text for each in prop.annotations] for prop in found.properties] == [[name], []]
    assert [each.name.text for each in found.constraints] == [name]


def test_a_constraint_on_the_line_of_a_property_is_one_of_the_body():
    same_line = node("mail: String @index @unique(mail) stars: I32? @range(stars, 1..5)")
    assert same_line == node("mail: String @index stars: I32? @unique(mail) @range(stars, 1..5)")


def test_a_constraint_names_columns_that_start_like_literals():
    (found,) = node("@unique(trueName, falseHits)").constraints
    assert [str(each) for each in found.arguments] == ["trueName", "falseHits"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..5", (1, 5)),
        ("0.0..5.0", (0.0, 5.0)),
        ("..9", (None, 9)),
        ("..-9", (None, -9)),
        ("-3..", (-3, None)),
        ("-1.5..-0.5", (-1.5, -0.5)),
        ("0..1.5", (0, 1.5)),
        ("1 .. 5", (1, 5)),
        ("..9223372036854775807", (None, 2**63 - 1)),
        ("-9223372036854775808..", (-(2**63), None)),
    ],
)
def test_a_range_has_one_or_two_bounds(text, expected):
    found = bounds_of(text)
    assert found == expected
    assert [type(each) for each in found] == [type(each) for each in expected]


def test_a_pattern_is_a_string_with_doubled_backslashes():
    (found,) = node(r'@check(x, "^\\d+\"\t$")').constraints
    pattern = found.arguments[1]
    assert isinstance(pattern, ast.Literal)
    assert pattern.value == '^\\d+"\t$'


# ── text around ──


def test_comments_and_strings_hold_any_characters():
    found = only('node A @description("größer als 東京 // no comment") { // ünï\n a: I32 /* } */ }')
    assert isinstance(found, ast.Node)
    value = found.annotations[0].value
    assert isinstance(value, ast.Literal)
    assert value.value == "größer als 東京 // no comment"
    assert len(found.properties) == 1


def test_line_ends_and_a_byte_order_mark_change_nothing():
    unix = "node A {\n  x: I32\n  y: enum(a,\n b)\n}\n"
    assert parse("\ufeff" + unix.replace("\n", "\r\n")) == parse(unix)


def test_blanks_and_comments_may_stand_between_any_two_tokens():
    tight = parse('node A@x("v",k=1)implements I{a:[I32]?@key @range(a,-1..2)}edge E:A->A@card(0..1)')
    loose = 'node A @ x ( "v" , k = 1 ) implements I { a : [ I32 ] ? @ key @ range ( a , - 1 .. 2 ) }'
    loose += "edge E : A -> A @ card ( 0 .. 1 )"
    assert parse(loose) == tight
    assert parse(loose.replace(" ", " /* c */ // d\n ")) == tight


@pytest.mark.parametrize(
    "text",
    [
        "nodeFilm {}",
        "node Film { title: Stringtitle2: I32 }",
        "node A { x: I32 @range(x, 1..5) @index }",
        "interface I { x: I32 @unique(x) }",
        "interface I @x {}",
        "node A implements I @x {}",
        "edge E: A -> B @x @card(0..1)",
        "node A",
        "node A { x: String?? }",
        "node A { x: I32 @y() }",
        "node A { x: I32 @y(-1) }",
        "node A { x: I32 @y(1, 2) }",
        "node A { @range(x, 1e3..) }",
        "node A { @range(x, ..) }",
        "node A { @range(x, .5..) }",
        "edge E: A -> B @card(-1..2)",
        "edge E: A -> B @card(0.5..2)",
        "node A { x: enum(a->b) }",
        "node A { x: enum(a,) }",
        "node A { größe: I32 }",
        "# comment",
    ],
)
def test_what_the_grammar_does_not_know_is_refused(text):
    with pytest.raises(ParseError):
        parse(text)
