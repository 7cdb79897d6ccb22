"""Hostile and huge schemas: an answer or a ``CompileError``, never anything else, and soon."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hang_guard import no_hang

from omnigraph.errors import CompileError
from omnigraph.lang import SourceText
from omnigraph.schema import compile_schema, parse_schema, print_schema

MIB = 1 << 20


def compile_without_hang(text: str) -> None:
    """Whatever comes of it, as long as it is an answer or a ``CompileError``."""
    with no_hang(), suppress(CompileError):
        compile_schema(SourceText.of(text))


@pytest.mark.parametrize("character", [*"aA_0#/;+*$&|~'`\\\x00é\ud800 \n", '"'])
def test_a_mebibyte_of_one_character_does_not_hang(character):
    compile_without_hang(character * MIB)


@pytest.mark.parametrize("mark", list("{}()[]:,.<>=?@-!"))
def test_many_repeated_marks_do_not_hang(mark):
    compile_without_hang(mark * (MIB // 4))
    compile_without_hang("node A { x: " + mark * (MIB // 16))


@pytest.mark.parametrize(
    "piece",
    ["node A {", "x: I32 ", "x:", "@", "@x(", "@range(x,", "enum(", "a,", "[", "node ", "edge E: A -> ", "} ", "{ ",
     "Vector(", "interface I ", "implements ", '"', "-", "1..", "A -> "],
)  # fmt: skip
def test_repeated_pieces_neither_crash_nor_hang(piece):
    for prefix in ("", "node A { ", "node A { x: enum(", "edge E: A -> A @card("):
        compile_without_hang(prefix + piece * 2000)


def test_brackets_may_be_nested_beyond_the_depth_of_the_interpreter():
    compile_without_hang("node A { x: " + "[" * 20_000 + "I32" + "]" * 20_000 + " }")
    compile_without_hang("node A { " * 20_000 + "}" * 20_000)


def test_a_string_of_a_mebibyte_is_read_whole():
    text = "ä" * MIB
    catalog = compile_schema(f'node A @description("{text}") {{}}')
    assert catalog.nodes["A"].annotations[0].value == text


def test_a_name_of_a_mebibyte_is_a_name():
    name = "x" * MIB
    assert list(compile_schema(f"node A {{ {name}: I32 @index }}").nodes["A"].by_name) == [name]


def test_an_enum_of_many_values_is_read_whole():
    values = [f"value-{number}" for number in range(5000)]
    compile_without_hang(f"node A {{ x: enum({', '.join(values)}) }}")
    found = compile_schema(f"node A {{ x: enum({', '.join(values)}) }}").nodes["A"].by_name["x"].type.enum_values
    assert found == tuple(sorted(values))


@pytest.mark.parametrize(
    "text", ["node A {\0}", "\0", "node A { x: I32 \x1b[31m }", "\ufeff\ufeff", "node A { x: \u202e }"]
)
def test_characters_that_mean_nothing_are_refused(text):
    with pytest.raises(CompileError):
        compile_schema(text)


EXAMPLE = """
interface Titled { title: String @index }
node Film @description("a film") implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, // comment
                docu)
    tags: [String]?
    plotVec: Vector(4)? @embed("plot", model="demo/embed") @index
    plot: String? @unique(plot)
    @range(stars, 0.0..5.0)  stars: F32?
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
edge Rented: Film -> Film @card(0..3) @x { on: Date?  @unique(src, dst) }
"""


def test_an_example_cut_anywhere_is_answered():
    for end in range(len(EXAMPLE)):
        compile_without_hang(EXAMPLE[:end])
        compile_without_hang(EXAMPLE[end:])


def test_random_changes_of_an_example_are_answered_and_what_parses_survives_printing():
    choose = random.Random(20)
    pieces = [
        "{",
        "}",
        "(",
        ")",
        "@",
        ":",
        "->",
        "..",
        ",",
        '"',
        "-",
        "?",
        "[",
        "]",
        "node",
        "edge",
        "A",
        "x",
        "1",
        "é",
        "/*",
        "\n",
    ]
    survived = 0
    for _ in range(400):
        text = EXAMPLE
        for _ in range(choose.randint(1, 4)):
            start = choose.randrange(len(text))
            text = text[:start] + choose.choice(["", *pieces]) + text[start + choose.randint(0, 3) :]
        compile_without_hang(text)
        try:
            schema = parse_schema(SourceText.of(text))
        except CompileError:
            continue
        survived += 1
        assert parse_schema(SourceText.of(print_schema(schema))) == schema
    assert survived > 20
