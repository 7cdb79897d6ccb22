"""The lexical rules of query files, and how words are told apart, which are never reserved."""

from __future__ import annotations

import pytest

from omnigraph.lang import SourceText, Span
from omnigraph.lang.source import Name
from omnigraph.query import ast
from omnigraph.query.ast import Operator
from omnigraph.query.parser import parse_queries

HERE = Span(0, 0)
X = ast.StringLiteral("x", HERE)
ONE = ast.IntegerLiteral(1, HERE)


def name(text: str) -> Name:
    return Name(text, HERE)


def variable(text: str) -> ast.Variable:
    return ast.Variable(text, HERE)


def access(owner: str, text: str) -> ast.PropertyAccess:
    return ast.PropertyAccess(name(owner), name(text), HERE)


def query_of(text: str) -> ast.Query:
    (query,) = parse_queries(SourceText.of(text)).queries
    return query


def read_of(body: str) -> ast.Read:
    body = query_of(f"query q() {{ {body} }}").body
    assert isinstance(body, ast.Read)
    return body


def clause_of(text: str) -> ast.Clause:
    (clause,) = read_of(f"match {{ {text} }} return {{ $f }}").clauses
    return clause


def expression_of(text: str) -> ast.Expression:
    (projection,) = read_of(f"match {{ $f: Film }} return {{ {text} }}").projections
    assert projection.alias is None
    return projection.expression


def statement_of(text: str) -> ast.Statement:
    body = query_of(f"query q() {{ {text} }}").body
    assert isinstance(body, ast.Mutation)
    (statement,) = body.statements
    return statement


def test_1_1_blanks_and_comments_may_stand_between_any_two_tokens():
    tight = (
        'query q($a:[I32]?)@description("d"){match{$f:Film{a:$a,b:[1,2]}$f<e>{1,}$g $f.x>=1}'
        "return{$f.x as y}order{y desc}limit 3}"
    )
    words = ["query", "q", "(", "$a", ":", "[", "I32", "]", "?", ")", "@", "description", "(", '"d"', ")", "{", "match",
             "{", "$f", ":", "Film", "{", "a", ":", "$a", ",", "b", ":", "[", "1", ",", "2", "]", "}", "$f", "<", "e",
             ">", "{", "1", ",", "}", "$g", "$f", ".", "x", ">=", "1", "}", "return", "{", "$f", ".", "x", "as", "y",
             "}", "order", "{", "y", "desc", "}", "limit", "3", "}"]  # fmt: skip
    expected = parse_queries(SourceText.of(tight))
    for between in (" ", "\t", "\r\n", "\n\n", " // a { comment\n", "/* } */", "/* 1 *//* 2 */"):
        assert parse_queries(SourceText.of(between.join(["", *words, ""]))) == expected


@pytest.mark.parametrize("word", ["a", "_", "_a", "aB9_", "x1"])
def test_1_2_ident(word: str):
    assert expression_of(f"$f.{word}") == access("f", word)


@pytest.mark.parametrize("word", ["A", "Z9_", "Film_Type", "X"])
def test_1_2_type_name(word: str):
    assert clause_of(f"$f: {word}") == ast.Binding(name("f"), name(word), (), HERE)


@pytest.mark.parametrize("word", ["a", "_", "_a", "aB9_", "type"])
def test_1_2_variable(word: str):
    assert expression_of(f"${word}") == variable(word)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1)])
def test_1_2_integer(text: str, value: int):
    assert expression_of(text) == ast.IntegerLiteral(value, HERE)


@pytest.mark.parametrize(("text", "value"), [("0.0", 0.0), ("007.50", 7.5), ("0." + "0" * 400 + "1", 0.0)])
def test_1_2_float(text: str, value: float):
    assert expression_of(text) == ast.FloatLiteral(value, HERE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        (r'"\" \\ \n \r \t"', '" \\ \n \r \t'),
        ('"two\nlines"', "two\nlines"),
        ('"// no comment /* nor this */"', "// no comment /* nor this */"),
        ('"naïve 映画 🎬"', "naïve 映画 🎬"),
        (r'"\\d+"', r"\d+"),
    ],
)
def test_1_2_string(text: str, value: str):
    assert expression_of(text) == ast.StringLiteral(value, HERE)


@pytest.mark.parametrize("word", ["trueName", "falseHits", "true_", "nowhere", "notable", "counts", "dates"])
def test_1_5_a_word_may_begin_like_a_literal_or_a_keyword(word: str):
    assert expression_of(word) == ast.Identifier(word, HERE)


KEYWORDS = (
    "query", "match", "return", "order", "limit", "not", "as", "asc", "desc", "insert", "update", "delete", "set",
    "where", "now", "nearest", "search", "fuzzy", "match_text", "bm25", "rrf", "count", "sum", "avg", "min", "max",
    "date", "datetime", "contains", "starts_with", "description", "instruction", "true", "false", "type", "null",
)  # fmt: skip


@pytest.mark.parametrize("word", KEYWORDS)
def test_1_4_keywords_are_not_reserved(word: str):
    assert query_of(f"query {word}() {{ delete A where {word} = 1 }}").name == name(word)
    assert clause_of(f"$f: Film {{ {word}: 1 }}").matches[0].property == name(word)
    assert clause_of(f"$f.{word} = 1") == ast.Filter(access("f", word), Operator.EQ, ONE, HERE)
    assert clause_of(f"${word}: Film").variable == name(word)
    assert expression_of(f"$f.{word}") == access("f", word)
    (projection,) = read_of(f"match {{ $f: Film }} return {{ $f as {word} }}").projections
    assert projection.alias == name(word)
    assert [each.property.text for each in statement_of(f"insert A {{ {word}: 1 x: 1 {word}: 1 }}").assignments] == [
        word,
        "x",
        word,
    ]


@pytest.mark.parametrize("word", [each for each in KEYWORDS if each != "not"])
def test_1_4_an_edge_word_may_be_any_keyword_but_not(word: str):
    assert clause_of(f"$a {word} $b").edge == name(word)
    assert clause_of(f"$a <{word}> $b").edge == name(word)
    assert clause_of(f"$a $e:{word}{{1,2}} $b").edge == name(word)


@pytest.mark.parametrize("word", ["nothing", "notes", "not1", "nota_b"])
def test_1_4_an_edge_word_may_begin_with_not_when_a_letter_or_digit_follows(word: str):
    assert clause_of(f"$a {word} $b").edge == name(word)


@pytest.mark.parametrize("word", ["contains", "starts_with"])
def test_1_5_an_operator_word_between_two_bare_variables_is_an_edge(word: str):
    assert isinstance(clause_of(f"$q {word} $m"), ast.Traversal)
    assert isinstance(clause_of(f"$q {word}{{1,2}} $m"), ast.Traversal)
    assert clause_of(f'$q {word} "x"') == ast.Filter(variable("q"), Operator(word), X, HERE)
    assert clause_of(f"$q.x {word} $m") == ast.Filter(access("q", "x"), Operator(word), variable("m"), HERE)
    assert clause_of(f"[1] {word} $m.x").operator is Operator(word)


def test_1_5_less_than_a_word_is_a_filter_unless_the_word_is_closed():
    assert clause_of("$a < word") == ast.Filter(variable("a"), Operator.LT, ast.Identifier("word", HERE), HERE)
    first, second = read_of("match { $a < word $b follows $c } return { $a }").clauses
    assert isinstance(first, ast.Filter)
    assert isinstance(second, ast.Traversal)


def test_1_5_a_word_is_a_function_only_before_a_parenthesis():
    words = ("now", "nearest", "search", "fuzzy", "match_text", "bm25", "rrf", "count", "sum", "date", "datetime")
    projections = read_of(f"match {{ $f: Film }} return {{ {' '.join(words)} }}").projections
    assert [each.expression for each in projections] == [ast.Identifier(each, HERE) for each in words]
    assert clause_of("not = 1") == ast.Filter(ast.Identifier("not", HERE), Operator.EQ, ONE, HERE)
