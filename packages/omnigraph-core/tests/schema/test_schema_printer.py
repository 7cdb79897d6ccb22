"""Printing: canonical text that means the same."""

from __future__ import annotations

import pytest

from omnigraph.lang import SourceText
from omnigraph.schema import ast, parse_schema, print_schema


def parse(text: str) -> ast.Schema:
    return parse_schema(SourceText.of(text))


CANONICAL = """\
interface Titled {
    title: String @index
}

node Film @description("a film") @x implements Titled, Dated {
    code: String @key
    genre: enum(2nd, docu, sci-fi)?
    tags: [String]?
    plotVec: Vector(4)? @embed("plot", model="demo/embed") @index
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}

node Empty {}

edge Directed: Person -> Film @card(0..)

edge Rented: Person -> Film @card(1..2) @x(7, y=true) {
    on: Date?
    @unique(src, dst)
}
"""


def test_canonical_text_is_printed_as_it_is():
    assert print_schema(parse(CANONICAL)) == CANONICAL


def test_an_empty_schema_is_an_empty_text():
    assert print_schema(parse("// nothing")) == ""


def test_layout_comments_and_enum_order_leave_no_trace():
    loose = (
        CANONICAL.replace("2nd, docu, sci-fi", "sci-fi,2nd, // c\n docu")
        .replace("\n\n", "/* c */\n")
        .replace("    ", "")
    )
    assert print_schema(parse(loose)) == CANONICAL


def test_a_constraint_on_the_line_of_a_property_moves_into_the_body():
    text = print_schema(parse("node A { mail: String @index @unique(mail) stars: I32 }"))
    assert text == "node A {\n    mail: String @index\n    stars: I32\n    @unique(mail)\n}\n"


def test_an_empty_body_of_an_edge_is_left_out():
    assert print_schema(parse("edge E: A -> B { }")) == "edge E: A -> B\n"


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("0.10", "0.1"),
        ("100000000000000000000000000.0", "100000000000000000000000000.0"),
        ("0.00000000000012", "0.00000000000012"),
        ("1.0", "1.0"),
        ("007", "7"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_numbers_are_printed_without_exponent_and_with_their_kind(written, printed):
    schema = parse(f"node A {{ @range(x, -{written}..{written}) y: I32 @z({written}) }}")
    text = print_schema(schema)
    assert f"@range(x, -{printed}..{printed})" in text
    assert f"@z({printed})" in text
    assert parse(text) == schema


@pytest.mark.parametrize("value", ['"', "\\", "\n", "\r", "\t", "\\n", "é 東京", "\x00", "// no comment", "/*", ""])
def test_strings_are_escaped(value):
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    schema = parse(f'node A @description("{escaped}") {{}}')
    assert print_schema(schema) == f'node A @description("{escaped}") {{}}\n'
    assert parse(print_schema(schema)) == schema


@pytest.mark.parametrize(
    "constraint",
    ["@key(a)", "@key(b, a, b)", "@unique(src, dst)", "@index(a)", "@range(a, 1..5)", "@range(a, ..9)",
     "@range(a, -3..)", '@check(a, "\\\\d+")', "@range(a, 1)", "@unique(true, 1.5, \"x\")", "@check(a)"],
)  # fmt: skip
def test_every_form_of_a_constraint_survives(constraint):
    schema = parse(f"node A {{ {constraint} }}")
    assert print_schema(schema) == f"node A {{\n    {constraint}\n}}\n"
    assert parse(print_schema(schema)) == schema


@pytest.mark.parametrize(
    "annotation", ["@x", '@x("a")', "@x(a)", "@x(true)", '@x(a, k="v", n=1.5, t=false)', "@card", "@card(1)"]
)
def test_every_form_of_an_annotation_survives_everywhere(annotation):
    text = f"node A {annotation} {{\n    x: I32 {annotation} {annotation}\n}}\n\nedge E: A -> A {annotation}\n"
    assert print_schema(parse(text)) == text
