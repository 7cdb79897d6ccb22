"""What annotations and constraints mean, and where each may stand."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code
from omnigraph.schema import Annotation, Check, Constraint, Embed, Index, Key, Property, Range, Unique, compile_schema

ANY_SCALAR = ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "enum(a, b)"]
NUMBERS = ["I32", "I64", "U32", "U64", "F32", "F64"]


def node_constraints(body: str) -> tuple[Constraint, ...]:
    return compile_schema(f"node A {{ {body} }}").nodes["A"].constraints


def edge_constraints(body: str) -> tuple[Constraint, ...]:
    return compile_schema(f"node A {{}} edge E: A -> A {{ {body} }}").edges["E"].constraints


def property_of(body: str, name: str = "x") -> Property:
    return compile_schema(f"node A {{ {body} }}").nodes["A"].by_name[name]


# ── @key ──


@pytest.mark.parametrize("kind", ANY_SCALAR)
def test_a_key_on_a_property_of_any_single_type_is_accepted(kind):
    node = compile_schema(f"node A {{ x: {kind} @key }}").nodes["A"]
    assert (node.key, node.constraints, node.by_name["x"].constraints) == (("x",), (Key(columns=("x",)),), ("key",))


@pytest.mark.parametrize("kind", ["String?", "[String]", "Vector(2)", "Blob", "enum(a)?"])
def test_a_key_on_a_nullable_list_vector_or_blob_property_is_refused(refused, kind):
    refused(f"node A {{ x: {kind} «@key» }}", Code.BAD_KEY_COLUMN, f'"x", which is {kind}')
    refused(f"node A {{ y: I32 x: {kind} @key(y, «x») }}", Code.BAD_KEY_COLUMN, f'"x", which is {kind}')


def test_the_columns_of_a_key_are_sorted_and_stand_once():
    assert node_constraints("b: I32 a: I32 @key(b, a, b)") == (Key(columns=("a", "b")),)


def test_a_key_in_the_body_is_no_mark_of_the_property():
    assert property_of("x: I32 @key(x)").constraints == ()


@pytest.mark.parametrize(
    "marked",
    [
        "node A { x: I32 @key y: I32 «@key» }",
        "node A { x: I32 @key y: I32 «@key»(y) }",
        "node A { x: I32 @key «@key»(x) }",
        "node A { x: I32 y: I32 @key(x) «@key»(y) }",
        "interface I { x: I32 @key } node A implements I { y: I32 «@key» }",
        "interface I { x: I32 @key } interface J { y: I32 @key } node A implements I, «J» {}",
    ],
)
def test_a_second_key_is_refused(refused, marked):
    only = refused(marked, Code.MULTIPLE_KEYS, "multiple @key")
    assert [each.label for each in only.related] == ["the first key"]


def test_a_node_needs_no_key():
    assert compile_schema("node A { x: I32 }").nodes["A"].key == ()


# ── @unique and @index ──


@pytest.mark.parametrize("kind", [*ANY_SCALAR, "String?"])
def test_uniqueness_of_any_single_type_is_accepted_on_nodes_and_edges(kind):
    assert node_constraints(f"x: {kind} @unique") == (Unique(columns=("x",)),)
    assert edge_constraints(f"x: {kind} @unique") == (Unique(columns=("x",)),)
    assert node_constraints(f"y: I32 x: {kind} @unique(y, x)") == (Unique(columns=("x", "y")),)


@pytest.mark.parametrize("kind", ["[String]", "[I32]?", "Vector(2)", "Blob?"])
def test_uniqueness_of_a_list_vector_or_blob_is_refused(refused, kind):
    refused(f"node A {{ x: {kind} «@unique» }}", Code.BAD_UNIQUE_COLUMN, f"which is {kind}")
    refused(f"node A {{}} edge E: A -> A {{ x: {kind} «@unique» }}", Code.BAD_UNIQUE_COLUMN)
    refused(f"node A {{ x: {kind} @unique(«x») }}", Code.BAD_UNIQUE_COLUMN)
    refused(f"node A {{}} edge E: A -> A {{ x: {kind} @unique(src, «x») }}", Code.BAD_UNIQUE_COLUMN)


@pytest.mark.parametrize("kind", [*ANY_SCALAR, "String?", "Vector(2)"])
def test_an_index_on_a_scalar_or_vector_is_accepted_on_nodes_and_edges(kind):
    assert node_constraints(f"x: {kind} @index") == (Index(columns=("x",)),)
    assert edge_constraints(f"x: {kind} @index @index(x)") == (Index(columns=("x",)),)


def test_an_index_on_a_list_is_accepted_in_the_body_only(refused):
    assert node_constraints("x: [String] @index(x)") == (Index(columns=("x",)),)
    refused("node A { x: [String] «@index» }", Code.BAD_INDEX_COLUMN)


def test_an_index_on_a_blob_is_refused(refused):
    refused("node A { x: Blob «@index» }", Code.BAD_INDEX_COLUMN)
    refused("node A { x: Blob @index(«x») }", Code.BAD_INDEX_COLUMN)


def test_constraints_of_an_edge_may_use_its_ends():
    assert edge_constraints("@unique(src, dst) @index(dst) x: I32 @unique(x, src)") == (
        Index(columns=("dst",)),
        Unique(columns=("dst", "src")),
        Unique(columns=("src", "x")),
    )


def test_constraints_of_a_node_may_not_use_ends(refused):
    refused("node A { x: I32 @unique(«src») }", Code.UNKNOWN_CONSTRAINT_PROPERTY)


@pytest.mark.parametrize(("word", "guess"), [("from", "src"), ("to", "dst"), ("srcc", "src")])
def test_the_ends_of_an_edge_are_guessed(refused, word, guess):
    refused(f"node A {{}} edge E: A -> A {{ @unique(«{word}») }}", Code.UNKNOWN_CONSTRAINT_PROPERTY, f'"{guess}"?')


@pytest.mark.parametrize("argument", ['"x"', "1..5", "7", "true"])
@pytest.mark.parametrize("name", ["key", "unique", "index"])
def test_a_constraint_on_columns_takes_names_only(refused, name, argument):
    refused(f"node A {{ x: I32 @{name}(«{argument}») }}", Code.BAD_CONSTRAINT_ARGUMENT)


# ── @range ──


@pytest.mark.parametrize("kind", [*NUMBERS, "I32?"])
def test_a_range_of_a_number_is_accepted(kind):
    assert node_constraints(f"x: {kind} @range(x, 1..5)") == (Range(property="x", minimum=1, maximum=5),)


@pytest.mark.parametrize(
    "kind", ["String", "Bool", "Date", "DateTime", "Vector(2)", "Blob", "enum(a)", "[I32]", "[F64]?"]
)
def test_a_range_of_anything_else_is_refused_even_of_a_list_of_numbers(refused, kind):
    refused(f"node A {{ x: {kind} @range(«x», 1..5) }}", Code.BAD_RANGE, f"which is {kind}")


def test_a_range_that_is_open_below_is_a_maximum():
    assert node_constraints("x: I32 @range(x, ..9)") == (Range(property="x", minimum=None, maximum=9),)


def test_a_range_that_is_open_above_is_a_minimum():
    assert node_constraints("x: I32 @range(x, -3..)") == (Range(property="x", minimum=-3, maximum=None),)


def test_a_range_may_hold_a_single_value_and_never_none(refused):
    assert node_constraints("x: F64 @range(x, 2..2.0)") == (Range(property="x", minimum=2, maximum=2.0),)
    refused("node A { x: I32 @range(x, «5..1») }", Code.BAD_RANGE, "holds nothing")


@pytest.mark.parametrize(
    "constraint",
    [
        "@range(1..5)",
        "@range(x)",
        "@range(x, 1, 5)",
        "@range(x, 1)",
        '@range("x", 1..5)',
        "@range(x, 1..5, 2)",
        "@range(1..5, x)",
    ],
)
def test_a_range_takes_a_property_and_bounds(refused, constraint):
    refused(f"node A {{ x: I32 «{constraint}» }}", Code.BAD_CONSTRAINT_ARGUMENT, "@range(property, 1..5)")


# ── @check ──


@pytest.mark.parametrize("kind", ["String", "String?", "enum(a, b)"])
def test_a_check_of_a_string_or_enum_is_accepted(kind):
    assert node_constraints(rf'x: {kind} @check(x, "^\\d+$")') == (Check(property="x", pattern=r"^\d+$"),)


@pytest.mark.parametrize("kind", ["I32", "Bool", "Date", "Blob", "Vector(2)", "[String]"])
def test_a_check_of_anything_else_is_refused_even_of_a_list_of_strings(refused, kind):
    refused(f'node A {{ x: {kind} @check(«x», "a") }}', Code.BAD_CHECK, f"which is {kind}")


@pytest.mark.parametrize("pattern", ["(", "[a", "(?=a)", "(?<!a)", r"(a)\\1", "*a", "a{2,1}"])
def test_a_check_with_an_invalid_pattern_is_refused(refused, pattern):
    refused(f'node A {{ x: String @check(x, «"{pattern}"») }}', Code.BAD_CHECK, "not valid")


@pytest.mark.parametrize(
    "constraint", ['@check("a")', "@check(x)", "@check(x, a)", "@check(x, 1..2)", '@check(x, "a", "b")']
)
def test_a_check_takes_a_property_and_a_pattern(refused, constraint):
    refused(f"node A {{ x: String «{constraint}» }}", Code.BAD_CONSTRAINT_ARGUMENT, '@check(property, "pattern")')


# ── @embed ──


@pytest.mark.parametrize("argument", ['"s"', "s"])
@pytest.mark.parametrize("kind", ["String", "String?", "enum(a, b)"])
def test_a_vector_is_embedded_from_a_string_property(argument, kind):
    assert property_of(f"s: {kind} x: Vector(2) @embed({argument})").embed == Embed(source="s")


def test_an_embedding_may_name_its_model():
    assert property_of('x: Vector(2)? @embed("s", model="a/b") s: String').embed == Embed(source="s", model="a/b")


def test_an_embedding_is_no_metadata():
    assert property_of("x: Vector(2) @embed(s) s: String").annotations == ()


@pytest.mark.parametrize("kind", ["String", "[F32]", "I32"])
def test_an_embedding_on_anything_but_a_vector_is_refused(refused, kind):
    refused(f"node A {{ s: String x: {kind} «@embed»(s) }}", Code.BAD_EMBED, f"which is {kind}")


@pytest.mark.parametrize("kind", ["[String]", "I32", "Blob", "Vector(2)"])
def test_the_source_of_an_embedding_is_a_single_string(refused, kind):
    refused(f"node A {{ s: {kind} x: Vector(2) @embed(«s») }}", Code.BAD_EMBED, f"which is {kind}")


def test_the_source_of_an_embedding_must_exist(refused):
    refused('node A { plot: String x: Vector(2) @embed(«"plott"») }', Code.BAD_EMBED, 'did you mean "plot"?')


@pytest.mark.parametrize(
    ("marked", "fragment"),
    [
        ("«@embed»", "needs an argument"),
        ("@embed(«7»)", "needs a text"),
        ('@embed(«" "»)', "is blank"),
        ('@embed(s, «modl»="m")', 'did you mean "model"?'),
        ("@embed(s, model=«7»)", "name of a model"),
        ('@embed(s, model=«""»)', "name of a model"),
        ('@embed(s, model="a", «model»="b")', "two arguments"),
    ],
)
def test_an_embedding_takes_a_source_and_at_most_a_model(refused, marked, fragment):
    refused(f"node A {{ s: String x: Vector(2) {marked} }}", Code.BAD_ANNOTATION_ARGUMENT, fragment)


# ── @rename_from, @description, @instruction, others ──


def test_a_rename_hint_is_kept_apart_on_nodes_edges_and_properties():
    catalog = compile_schema(
        'node A @rename_from("B") { x: I32 @rename_from("y") z: I32 @rename_from(w) } edge E: A -> A @rename_from("F")'
    )
    node, edge = catalog.nodes["A"], catalog.edges["E"]
    assert (node.rename_from, edge.rename_from) == ("B", "F")
    assert [each.rename_from for each in node.properties] == ["y", "w"]
    assert (node.annotations, edge.annotations, node.properties[0].annotations) == ((), (), ())


@pytest.mark.parametrize(
    "marked", ["«@rename_from»", '@rename_from(«""»)', '@rename_from("a", «k»=1)', "@rename_from(«7»)"]
)
def test_a_rename_hint_takes_exactly_one_name(refused, marked):
    refused(f"node A {marked} {{}}", Code.BAD_ANNOTATION_ARGUMENT)
    refused(f"node A {{}} edge E: A -> A {marked}", Code.BAD_ANNOTATION_ARGUMENT)
    refused(f"node A {{ x: I32 {marked} }}", Code.BAD_ANNOTATION_ARGUMENT)


@pytest.mark.parametrize("name", ["description", "instruction"])
def test_texts_on_types_are_metadata(name):
    catalog = compile_schema(f'node A @{name}("t") {{}} edge E: A -> A @{name}("t")')
    assert catalog.nodes["A"].annotations == catalog.edges["E"].annotations == (Annotation(name=name, value="t"),)


def test_a_description_may_stand_on_a_property_and_an_instruction_may_not(refused):
    assert property_of('x: I32 @description("t")').annotations == (Annotation(name="description", value="t"),)
    refused('node A { x: I32 «@instruction»("t") }', Code.MISPLACED_ANNOTATION)
    refused('node A {} edge E: A -> A { x: I32 «@instruction»("t") }', Code.MISPLACED_ANNOTATION)


@pytest.mark.parametrize("name", ["description", "instruction"])
@pytest.mark.parametrize("marked", ["«@{}»", '@{}(«""»)', '@{}(«" \\t"»)', "@{}(«7»)"])
def test_a_text_must_not_be_blank(refused, name, marked):
    refused(f"node A {marked.format(name)} {{}}", Code.BAD_ANNOTATION_ARGUMENT)


@pytest.mark.parametrize("name", ["description", "instruction", "rename_from"])
def test_a_text_or_hint_stands_at_most_once_on_a_type(refused, name):
    only = refused(f'node A @{name}("a") «@{name}»("b") {{}}', Code.REPEATED_ANNOTATION)
    assert [each.label for each in only.related] == ["first given here"]


@pytest.mark.parametrize(
    "annotation", ["@key", "@unique", "@index", "@other", '@description("a")', '@rename_from("a")']
)
def test_a_repeated_annotation_of_a_property_is_refused(refused, annotation):
    head, _, arguments = annotation.partition("(")
    rest = f"({arguments}" if arguments else ""
    refused(f"node A {{ x: I32 {annotation} @between «{head}»{rest} }}", Code.REPEATED_ANNOTATION)


def test_any_other_annotation_is_kept_sorted_and_once():
    catalog = compile_schema(
        'node A @z @b(2) @b(10) @z @a(word, k=1, j="x") @default("v") { x: I32 @default(7) @on } '
        "edge E: A -> A @on(true)"
    )
    assert catalog.nodes["A"].annotations == (
        Annotation(name="a", value="word", kwargs=(("j", "x"), ("k", 1))),
        Annotation(name="b", value=10),
        Annotation(name="b", value=2),
        Annotation(name="default", value="v"),
        Annotation(name="z"),
    )
    assert catalog.nodes["A"].by_name["x"].annotations == (Annotation(name="default", value=7), Annotation(name="on"))
    assert catalog.edges["E"].annotations == (Annotation(name="on", value=True),)


@pytest.mark.parametrize("name", ["key", "unique", "index", "embed"])
def test_marks_of_properties_are_refused_on_types(refused, name):
    refused(f"node A «@{name}» {{ x: I32 }}", Code.MISPLACED_ANNOTATION)
    refused(f"node A {{}} edge E: A -> A «@{name}»", Code.MISPLACED_ANNOTATION)


def test_a_key_or_an_embedding_on_a_property_of_an_edge_is_refused(refused):
    refused("node A {} edge E: A -> A { x: I32 «@key» }", Code.MISPLACED_ANNOTATION)
    refused("node A {} edge E: A -> A { s: String x: Vector(2) «@embed»(s) }", Code.MISPLACED_ANNOTATION)


@pytest.mark.parametrize("constraint", ["«@key»(x)", "«@range»(x, 1..5)", '«@check»(x, "a")'])
def test_a_key_range_or_check_in_the_body_of_an_edge_is_refused(refused, constraint):
    refused(f"node A {{}} edge E: A -> A {{ x: I32 {constraint} }}", Code.MISPLACED_ANNOTATION)


@pytest.mark.parametrize("name", ["range", "check"])
def test_a_range_or_check_without_arguments_is_not_taken_for_metadata(refused, name):
    refused(f"node A {{ x: I32 «@{name}» }}", Code.BAD_CONSTRAINT_ARGUMENT, "needs its arguments")


# ── @card ──


@pytest.mark.parametrize(
    ("card", "expected"),
    [("", (0, None)), ("@card(0..)", (0, None)), ("@card(1..1)", (1, 1)), ("@card(2..)", (2, None))],
)
def test_a_cardinality_bounds_the_edges_of_a_source(card, expected):
    found = compile_schema(f"node A {{}} edge E: A -> A {card}").edges["E"].cardinality
    assert (found.minimum, found.maximum) == expected


def test_a_cardinality_with_its_minimum_above_its_maximum_is_refused(refused):
    refused("node A {} edge E: A -> A «@card(2..1)»", Code.BAD_CARDINALITY)


def test_a_cardinality_without_a_range_is_not_taken_for_metadata(refused):
    refused("node A {} edge E: A -> A «@card»(1)", Code.BAD_ANNOTATION_ARGUMENT, "@card(0..1)")
    refused("node A {} edge E: A -> A «@card»", Code.BAD_ANNOTATION_ARGUMENT)
    refused("node A { x: I32 «@card»(1) }", Code.MISPLACED_ANNOTATION)


# ── together ──


def test_constraints_are_in_canonical_order_whatever_the_text_says():
    assert node_constraints(
        'u: I32 @unique @range(u, 1..2) c: String @check(c, "b") @check(c, "a") '
        "k: I32 @key i: I32 @index @index(c, i) @unique(u)"
    ) == (
        Check(property="c", pattern="a"),
        Check(property="c", pattern="b"),
        Index(columns=("c", "i")),
        Index(columns=("i",)),
        Key(columns=("k",)),
        Range(property="u", minimum=1, maximum=2),
        Unique(columns=("u",)),
    )
