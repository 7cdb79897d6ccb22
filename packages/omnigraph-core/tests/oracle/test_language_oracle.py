"""The oracle is judged first: by sentences of the language description, and by what it says of itself."""

# ruff: noqa: E501 - one text, one line

from __future__ import annotations

import logging

import pytest
from language_oracle import HERE, accepts, query_oracle, schema_oracle
from lark import Lark
from lark import logger as lark_logger

SCHEMAS = {
    "nothing": "",
    "only comments": "// a\n/* b { */",
    "an empty interface": "interface Titled { }",
    "an empty node": "node Film { }",
    "an edge without a body": "edge Follows: Person -> Person",
    "an edge with an empty body": "edge Follows: Person -> Person { }",
    "everything on one line": "node A{a:String b:I32?c:[Bool]d:enum(x,y)?e:Vector(3)}",
    "every scalar": "node A { a: String b: Blob c: Bool d: I32 e: I64 f: U32 g: U64 h: F32 i: F64 j: DateTime k: Date }",
    "a list of blobs": "node A { a: [Blob] }",
    "enum values that are no names": "node A { a: enum(sci-fi, 1on1, -x, UPPER, 0, enum, String) }",
    "an enum over lines with comments": "node A { a: enum(\n  x, // first\n  /* second */ y-1\n)? }",
    "keywords as property names": "node A { node: String edge: I32 enum: Bool key: Date card: F32 true: Bool }",
    "scalars as type names": "node String { } edge Date: String -> Vector",
    "implements": "node Film implements Titled, Rated { }",
    "annotations before implements": 'node Film @description("x") @x implements Titled { }',
    "a cardinality": "edge A: B -> C @card(1..1)",
    "an open cardinality": "edge A: B -> C @card(0..)",
    "a cardinality, annotations and a body": 'edge A: B -> C @card(1..1) @description("d") { on: Date? @unique(src) }',
    "card as an annotation": 'edge A: B -> C @x @card @card("x")',
    "blanks inside a cardinality": "edge A: B -> C @ card ( 1 .. 2 )",
    "a constraint on the line of a property": "node A { stars: I32? @range(stars, 1..5) }",
    "constraints before properties": "node A { @key(a, b) a: String b: String }",
    "a constraint name as an annotation": "node A { a: String @key @index b: I32 @unique }",
    "ranges": "node A { @range(a, 1..5) @range(a, -1.5..) @range(a, ..9) @range(a, - 1 .. -0.5) }",
    "a literal in a constraint": 'node A { @check(a, "x\\\\d+") @unique(1, 2.5, true) }',
    "a name that starts like a bool": "node A { @unique(trueName, falsehood) }",
    "annotation arguments": 'node A { v: Vector(4) @embed("plot", model="m") @embed(plot) @x(1) @y(1.5) @z(true, true=1) }',
    "annotations of an interface property": "interface A { a: String @index @key }",
    "all escapes": 'node A @x("\\" \\\\ \\n \\r \\t") { }',
    "a string over lines": 'node A @x("a\nb") { }',
    "a string with what looks like a comment": 'node A @x("// /* ") { }',
}  # fmt: skip

NOT_SCHEMAS = {
    "a word": "nodes",
    "keyword and name glued together": "nodeFilm { }",
    "scalar and name glued together": "node A { a: Stringb: I32 }",
    "a node without a body": "node Film",
    "a lower-case type name": "node film { }",
    "an upper-case property": "node A { Title: String }",
    "a hash comment": "# comment\nnode A { }",
    "an open comment": "/* comment",
    "a nested comment": "/* a /* b */ c */",
    "an open string": 'node A @x("a) { }',
    "an unknown escape": 'node A @x("\\d") { }',
    "single quotes": "node A @x('a') { }",
    "a list of lists": "node A { a: [[String]] }",
    "a list of enums": "node A { a: [enum(a)] }",
    "a list of vectors": "node A { a: [Vector(3)] }",
    "a nullable list item": "node A { a: [String?] }",
    "an empty enum": "node A { a: enum() }",
    "an enum with a comma at its end": "node A { a: enum(a, ) }",
    "an enum value with a dot": "node A { a: enum(1.5) }",
    "an enum value in quotes": 'node A { a: enum("a") }',
    "a vector without dimension": "node A { a: Vector }",
    "a vector with a fraction": "node A { a: Vector(1.5) }",
    "an unknown scalar": "node A { a: Text }",
    "a colon that is missing": "node A { a String }",
    "commas between properties": "node A { a: String, b: I32 }",
    "an edge without its arrow": "edge A: B C",
    "an edge to nothing": "edge A: B ->",
    "a cardinality behind an annotation": "edge A: B -> C @x @card(0..1)",
    "a cardinality without a minimum": "edge A: B -> C @card(..1)",
    "a cardinality without dots": "edge A: B -> C @card()",
    "a constraint in front of the body": "node A @key(a) { a: String }",
    "a constraint in front of an edge's body": "edge A: B -> C @unique(src) { }",
    "a constraint in an interface": "interface A { a: String @unique(a) }",
    "an annotated interface": "interface A @x { }",
    "an interface that extends": "interface A implements B { }",
    "an annotation behind a constraint": "node A { a: String @unique(a) @index }",
    "an annotation at the start of a body": "node A { @index a: String }",
    "annotations behind implements": "node A implements B @x { }",
    "an empty implements": "node A implements { }",
    "a negative literal": "node A @x(-1) { }",
    "a bare minus in a constraint": "node A { @range(a, -1) }",
    "a range of nothing": "node A { @range(a, ..) }",
    "an empty constraint": "node A { @unique() }",
    "an empty annotation": "node A @x() { }",
    "two positional arguments": 'node A @x("a", "b") { }',
    "a keyword argument first": 'node A @x(a="b") { }',
    "an exponent": "node A @x(1e5) { }",
    "half a float": "node A @x(5.) { }",
    "the other half": "node A @x(.5) { }",
    "letters that are not ASCII": "node A { größe: I32 }",
    "a brace too many": "node A { } }",
    "a standalone enum": "enum Genre { a }",
}  # fmt: skip

QUERIES = {
    "nothing": "",
    "the smallest read": "query q() { match { $f: Film } return { $f } }",
    "all parts": "query q($a: String) { match { $f: Film } return { $f } order { $f.x desc, n } limit 3 }",
    "every parameter type": (
        "query q($a: String, $b: Blob?, $c: [Bool], $d: [I32]?, $e: Vector(3), $f: Vector(3)?, $g: DateTime, $h: Date, "
        "$i: I64, $j: U32, $k: U64, $l: F32, $m: F64) { delete A where x = $a }"
    ),
    "annotations in either order": (
        'query a() @description("d") @instruction("i") { delete A where x = 1 } '
        'query b() @instruction("i") @description("d") { delete A where x = 1 }'
    ),
    "a binding with matches": 'query q() { match { $f: Film { a: 1, b: "x", c: $p, d: now(), e: [1, 2], } } return { $f } }',
    "a traversal": "query q() { match { $a follows $b } return { $a } }",
    "a bound traversal": "query q() { match { $a $e:follows $b } return { $a } }",
    "an undirected traversal": "query q() { match { $a <follows> $b $a $e:<follows>{1,2} $b } return { $a } }",
    "hops": "query q() { match { $a follows{1,3} $b $b follows { 2 , } $c } return { $a } }",
    "anonymous ends": "query q() { match { $a: A not { $a follows $_ } not { $_ follows $a } } return { $a } }",
    "keywords as edges": "query q() { match { $a contains $b $a match $b $a order{1,2} $b $a <as> $b } return { $a } }",
    "an edge that starts like not": "query q() { match { $a nothing $b } return { $a } }",
    "every operator": (
        "query q() { match { $a.x = 1 $a.x != 1 $a.x < 1 $a.x <= 1 $a.x > 1 $a.x >= 1 "
        '$a.x contains "x" $a.x starts_with "x" } return { $a } }'
    ),
    "a filter between literals and calls": 'query q() { match { "a b" contains $f.t  search($f.a, "x") = true } return { $f } }',
    "a parameter compared with a call": 'query q() { match { $d < date("2020-01-01") $d < x $d > now() } return { $f } }',
    "contains with no variable behind it": 'query q() { match { $q contains "x" $q starts_with x } return { $f } }',
    "text clauses": 'query q() { match { search($f.a, $q) fuzzy($f.a, "x", 2) match_text($f.a, "x") } return { $f } }',
    "nested negation": "query q() { match { not { not { $a: A } $b: B } } return { $a } }",
    "bare words as operands": "query q() { match { not = 1 search = now count < date } return { as } }",
    "projections with and without commas": "query q() { match { $a: A } return { $a.x as n, $a.y $a, count($a) as as } }",
    "every call": (
        'query q() { match { $a: A } return { now() nearest($a.v, [1.0]) search($a.t, "x") fuzzy($a.t, "x") '
        'match_text($a.t, "x") bm25($a.t, $q) rrf(nearest($a.v, $q), bm25($a.t, $q), 60) rrf(bm25(a, b), bm25(a, b)) '
        "count($a) sum($a.n) avg($a.n) min($a.n) max($a.n) } }"
    ),
    "every literal": 'query q() { match { $a: A } return { "s" 1 1.5 true false date("d") datetime("t") [] [[1], "x"] } }',
    "orderings": "query q() { match { $a: A } return { $a } order { nearest($a.v, $q), bm25(a, b) desc, n asc } }",
    "statements": (
        "query q($x: I32) { insert A { a: 1, b: $x c: now() } update A set { a: 1 } where b >= 2 delete E where from = $x }"
    ),
    "commas behind assignments": "query q() { insert A { a: 1, b: 2, } }",
    "keywords as names": "query query() { match { $a: A { match: 1, true: 2, not: 3 } $a.order = $a.limit } return { $a.not } }",
    "several queries": "query a() { delete A where x = 1 } query a() { delete A where x = 1 }",
    "a variable that is a keyword": "query q($match: I32) { delete A where x = $match }",
}  # fmt: skip

NOT_QUERIES = {
    "an empty body": "query q() { }",
    "an empty match": "query q() { match { } return { $a } }",
    "an empty return": "query q() { match { $a: A } return { } }",
    "an empty order": "query q() { match { $a: A } return { $a } order { } }",
    "no return": "query q() { match { $a: A } }",
    "limit before order": "query q() { match { $a: A } return { $a } limit 1 order { $a } }",
    "keyword and number glued together": "query q() { match { $a: A } return { $a } limit10 }",
    "a limit that is a parameter": "query q() { match { $a: A } return { $a } limit $n }",
    "a missing colon": "query q() { match { $c Company } return { $c } }",
    "empty braces at a binding": "query q() { match { $a: A { } } return { $a } }",
    "a match without a comma": "query q() { match { $a: A { x: 1 y: 2 } } return { $a } }",
    "an edge called not": "query q() { match { $a not $b } return { $a } }",
    "an edge that starts with not_": "query q() { match { $a not_x $b } return { $a } }",
    "a bound edge called not": "query q() { match { $a $e:not $b } return { $a } }",
    "an undirected edge called not": "query q() { match { $a <not> $b } return { $a } }",
    "an edge with a capital": "query q() { match { $a Follows $b } return { $a } }",
    "one hop bound": "query q() { match { $a follows{2} $b } return { $a } }",
    "an open lower bound": "query q() { match { $a follows{,2} $b } return { $a } }",
    "a negative literal": "query q() { match { $a.x = -1 } return { $a } }",
    "arithmetic": "query q() { match { $a.x = 1 + 1 } return { $a } }",
    "or": "query q() { match { $a.x = 1 or $a.x = 2 } return { $a } }",
    "contains between a variable and a property": "query q() { match { $q contains $f.t } return { $f } }",
    "a filter without an operator": "query q() { match { $a.x } return { $a } }",
    "a lone bm25 clause": 'query q() { match { bm25($a.x, "q") } return { $a } }',
    "search with one argument": "query q() { match { search($a.x) } return { $a } }",
    "search with three arguments": "query q() { match { search($a.x, 1, 2) } return { $a } }",
    "nearest without a property": "query q() { match { $a: A } return { nearest($a, 1) } }",
    "rrf of a search": "query q() { match { $a: A } return { rrf(search(a, b), bm25(a, b)) } }",
    "count of nothing": "query q() { match { $a: A } return { count() } }",
    "now with an argument": "query q() { match { $a: A } return { now(1) } }",
    "date of a variable": "query q() { match { $a: A } return { date($x) } }",
    "nearest with a direction": "query q() { match { $a: A } return { $a } order { nearest($a.v, $q) desc } limit 1 }",
    "an alias without a name": "query q() { match { $a: A } return { $a as } }",
    "two commas": "query q() { match { $a: A } return { $a,, $b } }",
    "a comma in front": "query q() { match { $a: A } return { , $a } }",
    "orderings without a comma": "query q() { match { $a: A } return { $a } order { a b } }",
    "an enum parameter": "query q($a: enum(a)) { delete A where x = 1 }",
    "an unknown parameter type": "query q($a: Text) { delete A where x = 1 }",
    "a list of vectors": "query q($a: [Vector(3)]) { delete A where x = 1 }",
    "a parameter without a dollar": "query q(a: I32) { delete A where x = 1 }",
    "a blank behind the dollar": "query q($ a: I32) { delete A where x = 1 }",
    "a comma behind the parameters": "query q($a: I32,) { delete A where x = 1 }",
    "an annotation twice": 'query q() @description("a") @description("b") { delete A where x = 1 }',
    "another annotation": 'query q() @name("a") { delete A where x = 1 }',
    "an annotation without text": "query q() @description { delete A where x = 1 }",
    "reading and changing": "query q() { match { $a: A } return { $a } delete A where x = 1 }",
    "an insert of nothing": "query q() { insert A { } }",
    "an insert with a lower-case type": "query q() { insert a { x: 1 } }",
    "an update without where": "query q() { update A set { x: 1 } }",
    "a delete without where": "query q() { delete A }",
    "a predicate with contains": 'query q() { delete A where x contains "a" }',
    "a predicate with and": "query q() { delete A where x = 1 and y = 2 }",
    "a predicate between properties": "query q() { delete A where x = y }",
    "an assignment of a call": "query q() { insert A { x: count(1) } }",
    "the mutation keyword": "mutation q() { insert A { x: 1 } }",
    "a list with a comma at its end": "query q() { match { $a: A } return { [1, ] } }",
    "null": "query q() { insert A { x: null } }",
}  # fmt: skip


@pytest.mark.parametrize("text", SCHEMAS.values(), ids=SCHEMAS)
def test_the_oracle_reads_a_schema_with(text: str):
    assert accepts(schema_oracle(), text)


@pytest.mark.parametrize("text", NOT_SCHEMAS.values(), ids=NOT_SCHEMAS)
def test_the_oracle_refuses_a_schema_with(text: str):
    assert not accepts(schema_oracle(), text)


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_the_oracle_reads_a_query_with(text: str):
    assert accepts(query_oracle(), text)


@pytest.mark.parametrize("text", NOT_QUERIES.values(), ids=NOT_QUERIES)
def test_the_oracle_refuses_a_query_with(text: str):
    assert not accepts(query_oracle(), text)


def test_the_grammars_hide_no_conflict_but_the_three_that_the_header_decides(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger=lark_logger.name)
    Lark((HERE / "schema.lark").read_text("utf-8"), parser="lalr", lexer="contextual", debug=True)
    assert caplog.messages == []
    Lark((HERE / "query.lark").read_text("utf-8"), parser="lalr", lexer="basic", debug=True)
    decided = [each for each in caplog.messages if "onflict" in each]
    assert sorted(each.split()[4] for each in decided) == ["AS:", "CONTAINS:", "STARTS_WITH:"]
