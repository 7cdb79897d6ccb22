"""One run tells every mistake of a file, each once; and no input makes the parser crash or hang."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hang_guard import no_hang

from omnigraph.errors import CompileError, ParseError
from omnigraph.lang import Code, Report, SourceText
from omnigraph.lang.cursor import MAX_DEPTH
from omnigraph.lang.diagnostics import MAX_ERRORS
from omnigraph.query import ast
from omnigraph.query.parser import parse_queries, read_queries

TOKEN, FOREIGN, EMPTY, COLON = Code.UNEXPECTED_TOKEN, Code.UNSUPPORTED_SYNTAX, Code.EMPTY_BLOCK, Code.MISSING_COLON


def refused(marked: str, *codes: Code) -> None:
    """Hold that exactly the marked places are refused, with these codes."""
    places, text = [], ""
    for part in re.split("([«»])", marked):
        if part == "«":
            places.append((len(text),))
        elif part == "»":
            places[-1] = (places[-1][0], len(text))
        else:
            text += part
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    found = [(each.code, text[each.span.start : each.span.end], each.span.start) for each in caught.value.diagnostics]
    assert found == [(code, text[start:end], start) for code, (start, end) in zip(codes, places, strict=True)]


def test_mistakes_in_several_clauses_sections_and_queries_are_told_in_one_run():
    refused(
        """query first($a «String», $b: «Strng») {
            match {
                $f «Film»
                $f.stars «==» 3
                $p «Rented» $f
                $p: Person { mail: «null», handle «=» "x", }
                not { $f.x = «-1»  $f.y «is» null }
                $f.z = 1
            }
            return { $f.«Title», $f.stars as «Stars» }
            order { $f.stars «DESC», nearest($f.v, "x") «desc» }
            limit «$n»
        }
        query second() { match «{ }» return «{ }» }
        query third() { insert «film» { x: 1 } update Film set { x «=» 1 } where y«:» 2 delete Film where «$f».x = 1 }
        """,
        COLON, Code.UNKNOWN_SCALAR,
        COLON, FOREIGN, TOKEN, FOREIGN, COLON, FOREIGN, FOREIGN,
        TOKEN, TOKEN,
        TOKEN, Code.NEAREST_DIRECTION,
        FOREIGN,
        EMPTY, EMPTY,
        TOKEN, COLON, TOKEN, TOKEN,
    )  # fmt: skip


def test_places_are_told_by_line_and_column():
    text = "query q() {\n  match {\n    $f Film\n    $f.x == 1\n  }\n  return { $f, ] }\n}\n"
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text, "q.gq"))
    assert [each.position for each in caught.value.diagnostics] == [(3, 8), (4, 10), (6, 16)]


@pytest.mark.parametrize(
    "text",
    [
        # a block that is not closed
        "query a() { match { $f: Film «return» { $f } } query b() { match { $f: Film } return { $f } }",
        "query a() { match { $f: Film } return { $f «order» { $f.x } } query b() { delete A where x = 1 }",
        "query a() { match { $f: Film } return { $f } «query» b() { delete A where x = 1 }",
        "query a() { match { not { $f: Film } «return» { $f } } query b() { delete A where x = 1 }",
        "query a() { insert Film { x: 1 «delete» Film where x = 1 } query b() { delete A where x = 1 }",
        "query a() { match { $f: Film { x: 1 \n «$f».x = 1 } return { $f } } query b() { delete A where x = 1 }",
        # one that is closed too early
        "query a() { match { $f: Film } «}» return { $f } } query b() { delete A where x = 1 }",
        # a clause that makes no sense at all
        "query a() { match { $f: Film\n«]»[)( 1 2 3\n$f.x = 1 } return { $f } } query b() { delete A where x = 1 }",
        "query a() { match { $f: A\n$f.x «foo» { a { } }\n$f.x = 2} return { $f } } query b() { delete A where x = 1 }",
        # the end of the text
        "query a() { match { $f: Film } return { $f }« »",
    ],
)  # fmt: skip
def test_one_mistake_is_told_once_and_the_next_query_is_read(text: str):
    refused(text, TOKEN)


def test_a_mistake_of_the_tokenizer_is_not_told_again_by_the_parser():
    refused(
        "query a() { match { $f.x «+» 1 = 2 \n $f.y = «é» } return { $f } } query «ü»() { delete A where x = 1 }",
        *[Code.UNEXPECTED_CHARACTER] * 3,
    )


def test_only_whole_queries_are_read_on():
    report = Report(
        SourceText.of(
            "query a() { delete A where x = 1 } query b() { match { } return { $f } }\n"
            "query c($x: Foo) { delete A where x = 1 } query d() { delete A where x = # 1\n 1 }\n"
            'query e() { delete A where x = "\\q" } query f() { delete A where x = 1 }'
        )
    )
    assert [each.name.text for each in read_queries(report).queries] == ["a", "f"]
    assert [each.code for each in report.in_order()] == [
        EMPTY, Code.UNKNOWN_SCALAR, Code.UNEXPECTED_CHARACTER, Code.UNSUPPORTED_ESCAPE,
    ]  # fmt: skip


def test_a_text_with_very_many_mistakes_ends_with_a_word_about_it():
    text = "query a() { match {" + "\n$f Film" * 500 + "} return { $f } }"
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    assert len(caught.value.diagnostics) == MAX_ERRORS
    assert caught.value.diagnostics[-1].code is Code.TOO_MANY_ERRORS


# ── depth ──


def nested_not(levels: int) -> str:
    return f"query q() {{ match {{ {'not { ' * levels} $f.x = 1 {'} ' * levels} }} return {{ $f }} }}"


def test_negations_may_be_nested_to_the_limit():
    (query,) = parse_queries(SourceText.of(nested_not(MAX_DEPTH - 1))).queries
    clause = query.body.clauses[0]
    for _ in range(MAX_DEPTH - 2):
        assert isinstance(clause, ast.Negation)
        (clause,) = clause.clauses


@pytest.mark.parametrize(
    "text",
    [
        nested_not(MAX_DEPTH),
        nested_not(10_000),
        f"query q() {{ delete A where x = {'[' * 10_000} }}",
        f"query q() {{ match {{ $f: A }} return {{ {'count(' * 10_000} }} }}",
        f"query q() {{ match {{ {'fuzzy($f.x, ' * 10_000} }} return {{ $f }} }}",
    ],
    ids=["one-too-many", "not", "list", "aggregate", "fuzzy"],
)
def test_deeper_nesting_is_refused_once(text: str):
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    assert [each.code for each in caught.value.diagnostics].count(Code.TOO_DEEP) == 1


# ── size ──


@pytest.mark.parametrize(
    "piece",
    [*"aA0_ $\"'#/\\{}()[]:,.<>=!?@-+*;\n\té\0", "/*", '\\"', "/* */", "$a ", "$a:", "query ",
     "query a(", "not {", "{ a: ", "1.", "<a", "a.", '"\\', "->", "@description"],
)  # fmt: skip
def test_a_long_repetition_does_not_hang(piece: str):
    for around in ("{}", "query q() {{ match {{ {}", "query q() {{ match {{ $f: A }} return {{ {}"):
        text = around.format(piece * (100_000 // len(piece)))
        with no_hang(), suppress(CompileError):
            parse_queries(SourceText.of(text))


def test_ten_thousand_queries_are_read():
    text = "".join(f"query q{number}() {{ delete A where x = {number} }}\n" for number in range(10_000))
    queries = parse_queries(SourceText.of(text)).queries
    assert len(queries) == 10_000
    assert queries[-1].body.statements[0].predicate.value.value == 9_999


def test_a_string_of_a_mebibyte_is_read():
    text = "ü" * 2**20
    (query,) = parse_queries(SourceText.of(f'query q() {{ delete A where x = "{text}" }}')).queries
    assert query.body.statements[0].predicate.value.value == text


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_query():
    text = "\ufeffquery q() {\r\n  delete A where x = 1\r\n}\r\n"
    assert parse_queries(SourceText.of(text)) == parse_queries(SourceText.of(text[1:].replace("\r", "")))


@pytest.mark.parametrize(
    "call",
    [
        'rrf(«search»($f.x, "a, b"), bm25($f.x, "a"))',
        'rrf(bm25($f.x, "a"), «$f», 3)',
        "bm25($f.x, [1, «x», 3])",
        'nearest(«"x"», [1, 2], 3)',
    ],
)
def test_commas_inside_a_call_that_cannot_be_read_start_nothing_new(call):
    read = "query q() { match { $f: Film } return { %s } order { %s } limit 3 }"
    refused(read % (f"{call}, $f.«X»", "$f.x"), TOKEN, TOKEN)
    refused(read % ("$f.x", f"{call}, $f.«X»"), TOKEN, TOKEN)


def test_a_parenthesis_that_is_never_closed_hides_no_other_section():
    refused("query q() { match { $f: Film } return { bm25(1 «as» x } limit «$n» }", TOKEN, FOREIGN)
