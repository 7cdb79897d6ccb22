"""Schemas full of mistakes: one run tells all of them, each at its place, and nothing else.

What is expected stands in the schemas: a comment ``// ^^^ CODE kind`` marks the words right above the carets.
"""

from __future__ import annotations

import re

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang import SourceText, render
from omnigraph.schema import compile_schema

ONE_OF_EACH_CODE = """
    interface Titled { title: String @index }
    interface Dated { title: String  at: Date }

    nod Film implements Titled {
 // ^^^ OG-L-007 a misspelled keyword
        code: String @key
        kind: Strng
 //           ^^^^^ OG-L-011 an unknown type
        vec: Vector(0)
 //                 ^ OG-L-010 an impossible dimension
        genre: enum(drama, sci-fi, docu, sci-fi)
 //                                      ^^^^^^ OG-S-109 a repeated enum value
        tags: [enum(a, b)]
 //            ^^^^ OG-S-110 a list of enum
        @check(code, "^\\d+$")
 //                    ^^ OG-L-005 an unsupported escape
        seen: Bool;
 //               ^ OG-L-002 a character that means nothing
        code: I32
 //     ^^^^ OG-S-102 a repeated property
        _rowid: I64
 //     ^^^^^^ OG-S-108 a reserved name
    }

    node Person @index {
 //             ^^^^^^ OG-S-201 an annotation at the wrong place
        handle: String @key
        mail: String @unique @unique
 //                          ^^^^^^^ OG-S-202 a repeated annotation
        phone: String? @description(" ")
 //                                 ^^^ OG-S-203 a blank text
        other: I32 @key
 //                ^^^^ OG-S-204 a second key
    }

    node Person {}
 //      ^^^^^^ OG-S-101 a repeated node type

    node Show implements Titled, Datd {
 //                              ^^^^ OG-S-105 an unknown interface
        title: String?
 //            ^^^^^^^ OG-S-106 another type than the interface says
        size: F64? @key
 //                ^^^^ OG-S-205 a key that may be missing
    }

    interface Named { title: I32 }
    node Book implements Titled, Named {}
 //                              ^^^^^ OG-S-107 two interfaces that contradict each other

    edge Rented: Person -> Flim
 //                        ^^^^ OG-S-103 an unknown end
    edge RENTED: Person -> Film
 //      ^^^^^^ OG-S-104 two edges that differ in case only
"""

TYPICAL_SLIPS = """
    node person {
 //      ^^^^^^ OG-L-007 a type name in lower case
        name String @key
 //          ^^^^^^ OG-L-007 a missing colon
        Nick: String?
 //     ^^^^ OG-L-007 a property name in upper case
        age: I32, size: I32
 //             ^ OG-L-007 a comma between properties
        level: I32 = 3
 //                ^ OG-L-007 a default value
    }

    node Film {
        code: String @key
        phase: enum(phase-1, phase-2,)
 //                                 ^ OG-L-007 a comma behind the last enum value
        vec: Vector @index
 //          ^^^^^^ OG-L-010 a vector without a dimension
        grid: [[F32]]
 //            ^ OG-S-110 a list of lists
        sum: U64 @top(18446744073709551615)
 //                   ^^^^^^^^^^^^^^^^^^^^ OG-L-006 an integer that is too large
        tags: [String] @unique
 //                    ^^^^^^^ OG-S-206 uniqueness of a list
        raw: Blob @index
 //               ^^^^^^ OG-S-207 an index on a Blob
        stars: F32? @range(stars, 5..1)
 //                               ^^^^ OG-S-208 a range that holds nothing
        @check(code, "[A-Z")
 //                  ^^^^^^ OG-S-209 an invalid pattern
        plotVec: Vector(4)? @embed("plt")
 //                                ^^^^^ OG-S-211 a source that does not exist
        plot: String
        @range(plot)
 //     ^^^^^^^^^^^^ OG-S-213 arguments of another form
        @index(cdoe)
 //            ^^^^ OG-S-212 a property that does not exist

    edge Directed: Person Film
 // ^^^^ OG-L-007 a missing brace
 //                       ^^^^ OG-L-007 a missing arrow
    edge Rented: Person -> Film @card(2..1) {
 //                             ^^^^^^^^^^^ OG-S-210 a minimum above the maximum
        on: Date? @key
 //               ^^^^ OG-S-201 a key on an edge
    }
"""


def planted(text: str) -> list[tuple[int, int, int, str]]:
    """Line, column, length and code of each mark."""
    found = []
    line_of_code = 0
    for number, line in enumerate(text.split("\n"), start=1):
        mark = re.match(r" // *(\^+) (\S+) .+$", line)
        if mark is None:
            line_of_code = number
        else:
            found.append((line_of_code, mark.start(1) + 1, len(mark[1]), mark[2]))
    return sorted(found)


@pytest.mark.parametrize("text", [ONE_OF_EACH_CODE, TYPICAL_SLIPS], ids=["one_of_each_code", "typical_slips"])
def test_twenty_planted_mistakes_are_all_told_and_nothing_else(text):
    expected = planted(text)
    assert len(expected) == 20
    with pytest.raises(CompileError) as caught:
        compile_schema(SourceText.of(text, "planted.pg"))
    found = [(*each.position, each.span.end - each.span.start, str(each.code)) for each in caught.value.diagnostics]
    assert found == expected, render(caught.value.diagnostics)


def test_the_first_schema_has_twenty_different_codes():
    assert len({code for *_, code in planted(ONE_OF_EACH_CODE)}) == 20


@pytest.mark.parametrize("text", [ONE_OF_EACH_CODE, TYPICAL_SLIPS], ids=["one_of_each_code", "typical_slips"])
def test_the_json_form_has_the_same_places(text):
    with pytest.raises(CompileError) as caught:
        compile_schema(text)
    facts = caught.value.details["diagnostics"]
    assert [
        (each["line"], each["column"], each["end_column"] - each["column"], each["code"]) for each in facts
    ] == planted(text)


# ── what is known of a type that was not understood whole ──


def codes_and_words(text: str) -> list[tuple[str, str]]:
    with pytest.raises(CompileError) as caught:
        compile_schema(text)
    return [(str(each.code), each.source.text[slice(*each.span)]) for each in caught.value.diagnostics]


def test_a_slip_is_told_although_an_unknown_interface_might_bring_the_property():
    assert codes_and_words("node A implements Gone { score: F64  @range(scor, 0..10)  @index(other) }") == [
        ("OG-S-105", "Gone"),
        ("OG-S-212", "scor"),
    ]


def test_a_slip_in_an_embed_source_is_told_although_an_unknown_interface_might_bring_it():
    assert codes_and_words('node A implements Gone { about: String  v: Vector(2) @embed("abuot") }') == [
        ("OG-S-105", "Gone"),
        ("OG-S-211", '"abuot"'),
    ]


def test_a_slip_in_an_endpoint_or_interface_is_told_although_a_declaration_could_not_be_read():
    text = """
    interface Named { name: String }
    node 7 { x: I32 }
    node Company implements Namd { name: String }
    edge Owns: Compny -> Person
    """
    found = codes_and_words(text)
    assert [each for each in found if each[0].startswith("OG-S")] == [("OG-S-105", "Namd"), ("OG-S-103", "Compny")]
