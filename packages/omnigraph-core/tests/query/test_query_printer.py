"""Printed queries read back to what they were, in one canonical form."""

from __future__ import annotations

import pytest

from omnigraph.lang import SourceText, Span
from omnigraph.query import ast
from omnigraph.query.parser import parse_queries
from omnigraph.query.printer import print_queries, print_query

HERE = Span(0, 0)
CANONICAL = """query all($a: String, $v: Vector(4)?, $l: [I32]?)
    @description("a \\"b\\" \\\\ \\n\\r\\t ü")
    @instruction("")
{
    match {
        $f: Film { genre: $a, tags: [1, 2.5, true], on: now() }
        $p $r:rented{1,3} $f
        $p <follows> $q
        $q $e:<follows>{2,} $_
        not {
            $p rented $_
            not {
                $q contains $p
            }
        }
        $q contains "x"
        fuzzy($f.plot, $a, 2)
        search($f.plot, "y") = true
        $r.on >= date("2026-02-02")
        [] != datetime("2026")
        word < false
    }
    return {
        $f.code,
        count($p) as as,
        as as x,
        rrf(nearest($f.v, $v), bm25($f.plot, "x"), 60) as score
    }
    order {
        score desc,
        nearest($f.v, "x"),
        $f.x
    }
    limit 10
}

query change() {
    insert Film {
        code: $a,
        added: now()
    }
    update Film set {
        type: 1
    } where code = "x"
    delete Film where order >= 3
}
"""


def test_a_canonical_text_is_printed_as_it_is():
    assert print_queries(parse_queries(SourceText.of(CANONICAL))) == CANONICAL


@pytest.mark.parametrize(
    "text",
    [
        "query q(){match{$f:A{a:1,}}return{$f,}order{$f asc}limit 007}",
        "query q() { match { $f: A } return { limit 3, query count($f) as order } }",
        "query q() { match { not = 1 $a < b $b < c } return { now date true_ } }",
        "query q() { insert A { x: 1y: 2, z: [[], [[]]] } delete A where where = 1 }",
        "// a comment\nquery q() /* another */ { delete A where x = \"two\nlines\" }",
    ],
)  # fmt: skip
def test_what_was_printed_reads_back_as_itself(text: str):
    file = parse_queries(SourceText.of(text))
    printed = print_queries(file)
    assert parse_queries(SourceText.of(printed)) == file
    assert print_queries(parse_queries(SourceText.of(printed))) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0.0"),
        (1.5, "1.5"),
        (0.1, "0.1"),
        (1e16, "10000000000000000.0"),
        (1e22, "10000000000000000000000.0"),
        (1.5e-7, "0.00000015"),
        (1.7976931348623157e308, "17976931348623157" + "0" * 292 + ".0"),
        (5e-324, "0." + "0" * 323 + "5"),
    ],
)
def test_a_float_is_printed_without_exponent_and_reads_back_exactly(value: float, printed: str):
    predicate = ast.Predicate(ast.Name("x", HERE), ast.Operator.EQ, ast.FloatLiteral(value, HERE), HERE)
    body = ast.Mutation((ast.Delete(ast.Name("A", HERE), predicate, HERE),), HERE)
    text = print_query(ast.Query(ast.Name("q", HERE), (), None, None, body, HERE))
    assert f"where x = {printed}\n" in text
    (query,) = parse_queries(SourceText.of(text)).queries
    assert query.body == body


def test_an_empty_file_is_an_empty_text():
    assert print_queries(ast.QueryFile(())) == ""
