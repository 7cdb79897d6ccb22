"""Texts that nobody writes and somebody sends: each is answered rightly or refused clearly, and the answer is short."""

from __future__ import annotations

import pytest

from omnigraph.errors import CompileError, ParseError
from omnigraph.lang.codes import Code
from omnigraph.lang.decode import decode_source
from omnigraph.lang.diagnostics import MAX_ERRORS, Diagnostic, Report, render
from omnigraph.lang.source import SourceText
from omnigraph.query import ast, compile_queries, parse_queries, read_queries
from omnigraph.schema import compile_schema, parse_schema

MIB = 1024 * 1024
LEVELS = 100_000
SCHEMA = "node A { x: String  n: I64?  f: F64?  l: [I64]? }"


def read(clauses: str) -> str:
    return f"query q() {{ match {{ {clauses} }} return {{ $a }} }}"


def value(expression: str) -> str:
    return f"query q() {{ match {{ $a: A }} return {{ {expression} as n }} }}"


def refusals(text: str, parse=parse_queries) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        parse(SourceText.of(text))
    # Whatever was sent, what is sent back fits on a few screens.
    assert len(render(caught.value.diagnostics)) < 1500 * len(caught.value.diagnostics)
    return caught.value.diagnostics


def refusal(text: str, parse=parse_queries) -> Diagnostic:
    (found,) = refusals(text, parse)
    return found


def under_carets(found: Diagnostic) -> str:
    return found.source.text[found.span.start : found.span.end]


# ── nesting ──


@pytest.mark.parametrize(
    "text",
    [
        read("not { " * LEVELS + "$a: A" + " }" * LEVELS),
        read("not { " * LEVELS),
        value("[" * LEVELS + "]" * LEVELS),
        value("[" * LEVELS),
        value("count(" * LEVELS + "1" + ")" * LEVELS),
        value("search(1, " * LEVELS),
        value("rrf(nearest($a.v, " * LEVELS),
        read("$a: A { x: " + "[" * LEVELS + "]" * LEVELS + " }"),
        "query q() { insert A { x: " + "[" * LEVELS + "]" * LEVELS + " } }",
        "query q() { delete A where x = " + "[" * LEVELS + "]" * LEVELS + " }",
    ],
    ids=["not", "open not", "list", "open list", "call", "open call", "open rank", "match", "assignment", "predicate"],
)
def test_a_hundred_thousand_levels_are_one_refusal_at_the_first_level_too_many(text: str):
    found = refusals(text)
    assert found[0].code is Code.TOO_DEEP
    assert found[0].span.start < 2000
    assert len(found) <= 2


@pytest.mark.parametrize(("opened", "closed"), [("not { ", " }"), ("", "")])
def test_sixty_levels_of_negation_are_read(opened: str, closed: str):
    (query,) = parse_queries(SourceText.of(read(opened * 60 + "$a: A" + closed * 60))).queries
    clause, depth = query.body.clauses[0], 0
    while isinstance(clause, ast.Negation):
        clause, depth = clause.clauses[0], depth + 1
    assert depth == (60 if opened else 0)


@pytest.mark.parametrize(
    "opened", ["{", "(", "[", "enum(", "node A { a: [", "@x(", "node A {", "node A { a: enum(", "}", ")"]
)
def test_a_schema_of_openings_only_is_refused_within_the_limit_of_errors(opened: str):
    assert 1 <= len(refusals(opened * 20_000, parse_schema)) <= MAX_ERRORS


@pytest.mark.parametrize(
    "opened", ["{", "(", "[", "query q() {", "query q() { match {", "$a ", "$a: A {", "}", ")", "<", "@"]
)
def test_a_query_file_of_openings_only_is_refused_within_the_limit_of_errors(opened: str):
    assert 1 <= len(refusals(opened * 20_000)) <= MAX_ERRORS


# ── size ──


def test_a_string_of_one_mebibyte_is_read_to_its_last_character():
    text = "é" * (MIB - 1) + "!"
    (query,) = parse_queries(SourceText.of(value(f'"{text}"'))).queries
    assert query.body.projections[0].expression.value == text
    schema = parse_schema(SourceText.of(f'node A @description("{text}") {{ }}'))
    assert schema.declarations[0].annotations[0].value.value == text


def test_a_string_of_half_a_million_escapes_is_read():
    (query,) = parse_queries(SourceText.of(value('"' + r"\n" * (MIB // 2) + '"'))).queries
    assert query.body.projections[0].expression.value == "\n" * (MIB // 2)


def test_a_mebibyte_of_wrong_escapes_is_refused_within_the_limit_of_errors():
    found = refusals(value('"' + r"\d" * (MIB // 2) + '"'))
    assert len(found) == MAX_ERRORS
    assert {each.code for each in found} == {Code.UNSUPPORTED_ESCAPE, Code.TOO_MANY_ERRORS}


def test_a_name_of_one_mebibyte_is_a_name():
    name = "a" * MIB
    assert parse_schema(SourceText.of(f"node A {{ {name}: String }}")).declarations[0].properties[0].name.text == name
    catalog = compile_schema(SCHEMA)
    (query,) = compile_queries(f"query {name}(${name}: I64) {{ match {{ $a: A }} return {{ ${name} }} }}", catalog)
    assert (query.name, query.projections[0].name) == (name, name)


def test_an_unknown_name_of_one_mebibyte_is_refused_in_few_words():
    catalog = compile_schema(SCHEMA)

    def compiled(source: SourceText) -> object:
        return compile_queries(source, catalog)

    found = refusals(read(f"$a: A  $a.{'b' * MIB} = 1"), compiled)
    assert [each.code for each in found] == [Code.T6]
    assert len(under_carets(found[0])) == MIB


def test_ten_thousand_queries_in_one_file_are_ten_thousand_queries():
    text = "".join(f"query q{number}() {{ delete A where n = {number} }}\n" for number in range(10_000))
    queries = parse_queries(SourceText.of(text)).queries
    assert [each.name.text for each in queries] == [f"q{number}" for number in range(10_000)]
    assert queries[-1].span.end == len(text) - 1


def test_ten_thousand_broken_queries_are_refused_within_the_limit_of_errors():
    found = refusals("query q() { delete A }\n" * 10_000)
    assert len(found) == MAX_ERRORS
    assert found[-1].code is Code.TOO_MANY_ERRORS
    assert [each.position.line for each in found[:3]] == [1, 2, 3]


def test_behind_the_last_error_that_is_told_nothing_is_read():
    report = Report(SourceText.of("query q() { delete A }\n" * 200 + "query sound() { delete A where n = 1 }"))
    assert read_queries(report).queries == ()
    assert len(report) == MAX_ERRORS


def test_a_schema_of_a_thousand_types_is_checked_whole():
    text = "".join(f"node N{number} {{ k: String @key }}\n" for number in range(1_000))
    assert len(compile_schema(text + "edge E: N0 -> N999\n").nodes) == 1_000


# ── numbers ──


def test_an_integer_of_ten_thousand_digits_is_too_large():
    found = refusal(value("9" * 10_000))
    assert found.code is Code.NUMBER_OUT_OF_RANGE
    assert found.span.end - found.span.start == 10_000


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("18446744073709551615", 2**64 - 1),
        ("0" * 10_000 + "7", 7),
        ("007", 7),
    ],
)
def test_an_integer_up_to_the_largest_is_read_whatever_zeros_lead(digits: str, number: int):
    (query,) = parse_queries(SourceText.of(value(digits))).queries
    assert query.body.projections[0].expression.value == number


def test_one_above_the_largest_integer_is_refused_in_both_languages():
    assert refusal(value("18446744073709551616")).code is Code.NUMBER_OUT_OF_RANGE
    assert refusal("node A @x(18446744073709551616) { }", parse_schema).code is Code.NUMBER_OUT_OF_RANGE


def test_a_float_of_ten_thousand_digits_is_read_or_refused_by_its_value():
    (query,) = parse_queries(SourceText.of(value("0." + "0" * 10_000 + "1"))).queries
    assert query.body.projections[0].expression.value == 0.0
    assert refusal(value("1" * 10_000 + ".0")).code is Code.NUMBER_OUT_OF_RANGE


@pytest.mark.parametrize("dimension", ["0", "2147483648", "9" * 10_000])
def test_a_vector_dimension_outside_its_bounds_is_refused(dimension: str):
    codes = {Code.BAD_VECTOR_DIMENSION, Code.NUMBER_OUT_OF_RANGE}
    assert {each.code for each in refusals(f"node A {{ v: Vector({dimension}) }}", parse_schema)} <= codes
    assert {each.code for each in refusals(f"query q($v: Vector({dimension})) {{ delete A where n = 1 }}")} <= codes


# ── characters ──


def test_a_nul_character_stands_in_strings_and_comments_and_nowhere_else():
    (query,) = parse_queries(SourceText.of(value('"a\0b"') + "// \0")).queries
    assert query.body.projections[0].expression.value == "a\0b"
    for text, parse in ((read("$a:\0 A"), parse_queries), ("node A\0{ }", parse_schema)):
        found = refusal(text, parse)
        assert found.code is Code.UNEXPECTED_CHARACTER
        assert under_carets(found) == "\0"
        assert "\0" not in render([found])


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"\xff", (1, 1)),
        (b"node A { }\n  \xc3( }", (2, 3)),
        ("é\n".encode() + b"ab\xe2\x82", (2, 3)),
        (b"\xef\xbb\xbfx\xfe", (1, 2)),
        (b"// \xed\xa0\x80", (1, 4)),
        ("node A { }".encode("utf-16"), (1, 1)),
    ],
    ids=["first byte", "second line", "cut off", "behind a byte order mark", "surrogate", "utf-16"],
)
def test_bytes_that_are_not_utf8_are_refused_at_the_first_bad_one(data: bytes, place: tuple[int, int]):
    with pytest.raises(ParseError) as caught:
        decode_source(data, "x.pg")
    (found,) = caught.value.diagnostics
    assert found.code is Code.NOT_UTF8
    assert found.position == place
    assert f"0x{data[data_index(data)]:02x}" in render([found])


def data_index(data: bytes) -> int:
    """Where UTF-8 ends, found by trying ever longer prefixes."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("this is UTF-8")


def test_a_byte_order_mark_in_front_counts_for_nothing_and_elsewhere_is_refused():
    source = decode_source(b"\xef\xbb\xbfnode A { } nod B { }", "x.pg")
    with pytest.raises(ParseError) as caught:
        parse_schema(source)
    assert [each.position for each in caught.value.diagnostics] == [(1, 12)]
    found = refusal("node A { } \ufeff", parse_schema)
    assert (found.code, found.position) == (Code.UNEXPECTED_CHARACTER, (1, 12))


def test_line_ends_of_windows_change_neither_meaning_nor_places():
    unix = 'node A {\n  // note\n  a: String @x("t")\n  /* b\n */ c: I32\n}\n'
    windows = unix.replace("\n", "\r\n")
    one, other = (parse_schema(SourceText.of(text)) for text in (unix, windows))
    assert one == other
    source = SourceText.of(windows)
    assert source.position(other.declarations[0].properties[1].name.span.start) == (5, 5)
    found = refusal(windows.replace("c: I32", "c I32"), parse_schema)
    assert found.position == (5, 7)
    assert "\r" not in render([found])


def test_a_line_end_of_windows_inside_a_string_stays_as_it_is():
    (query,) = parse_queries(SourceText.of(value('"a\r\nb"'))).queries
    assert query.body.projections[0].expression.value == "a\r\nb"


def test_a_lone_carriage_return_is_a_blank_and_ends_no_line():
    schema = parse_schema(SourceText.of("node\rA\r{\ra: I32\r}"))
    assert schema.declarations[0].properties[0].name.text == "a"
    assert parse_schema(SourceText.of("// a comment\rnode A { }")).declarations == ()
    assert refusal("node A { }\r\rnod B { }", parse_schema).position == (1, 13)


@pytest.mark.parametrize("half", ["\ud800", "\udfff"])  # noqa: PT014 - they differ, and are told apart by no codec
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(half: str):
    for text in (f'"{half}"', f"1 /* {half} */", f"1 {half}"):
        found = refusals(value(text))
        assert found[0].code is Code.NOT_UTF8 or Code.UNEXPECTED_CHARACTER in {each.code for each in found}
        assert Code.NOT_UTF8 in {each.code for each in found}
        render(found).encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "🎬👩‍👩‍👧🇩🇪",
        "שלום עולם",
        "مرحبا",
        "\u202eabc\u202c",
        "e\u0301",
        "漢字",
        "\u2028",
        "\ufffd",
        "\uff21\uff22\uff23",
    ],
)
def test_every_script_stands_in_strings_and_comments(text: str):
    (query,) = parse_queries(SourceText.of(f"// {text}\n/* {text} */" + value(f'"{text}"'))).queries
    assert query.body.projections[0].expression.value == text
    schema = parse_schema(SourceText.of(f'/* {text} */ node A @x("{text}") {{ }} // {text}'))
    assert schema.declarations[0].annotations[0].value.value == text


@pytest.mark.parametrize("text", ["größe", "имя", "名", "\uff41", "a\u0301", "\u017f", "x²"])
def test_names_are_ascii(text: str):
    found = refusals(f"node A {{ {text}: I32 }}", parse_schema)
    assert Code.UNEXPECTED_CHARACTER in {each.code for each in found}
    assert all(each.position.line == 1 and 10 <= each.position.column < 10 + len(text) for each in found)


def test_columns_count_characters_not_bytes():
    found = refusal('node A @x("🎬é漢") { a I32 }', parse_schema)
    assert found.position == (1, 22)


def test_control_characters_never_reach_a_terminal():
    found = refusals("node A { a\x1b[31m: I32 }\x07", parse_schema)
    assert not any(ord(each) < 32 and each != "\n" for each in render(found))


# ── what is left open ──


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ('node A @x("abc', Code.UNCLOSED_STRING, (1, 11)),
        ("node A { }\n/* abc", Code.UNCLOSED_COMMENT, (2, 1)),
        ("node A { }\n/*/", Code.UNCLOSED_COMMENT, (2, 1)),
        ("node A {", Code.UNEXPECTED_TOKEN, (1, 9)),
        ("node A { a: enum(x", Code.UNEXPECTED_TOKEN, (1, 19)),
        ("node A { a: [I32", Code.UNEXPECTED_TOKEN, (1, 17)),
        ("node A { a: Vector(3", Code.BAD_VECTOR_DIMENSION, (1, 21)),
        ("node A @x(1", Code.UNEXPECTED_TOKEN, (1, 12)),
        ("node A { @key(a", Code.UNEXPECTED_TOKEN, (1, 16)),
        ("edge A: B ->", Code.UNEXPECTED_TOKEN, (1, 13)),
        ("edge A: B -> C @card(1..", Code.UNEXPECTED_TOKEN, (1, 25)),
        ("node", Code.UNEXPECTED_TOKEN, (1, 5)),
    ],
)
def test_a_schema_that_stops_too_early_is_refused_where_it_stops(text: str, code: Code, place: tuple[int, int]):
    found = refusals(text, parse_schema)
    assert (found[0].code, found[0].position) == (code, place)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ('query q() @description("abc', Code.UNCLOSED_STRING, (1, 24)),
        ("query q() { /* abc }", Code.UNCLOSED_COMMENT, (1, 13)),
        ("query", Code.UNEXPECTED_TOKEN, (1, 6)),
        ("query q", Code.UNEXPECTED_TOKEN, (1, 8)),
        ("query q(", Code.UNEXPECTED_TOKEN, (1, 9)),
        ("query q($a: [I32", Code.UNEXPECTED_TOKEN, (1, 17)),
        ("query q() {", Code.UNEXPECTED_TOKEN, (1, 12)),
        ("query q() { match {", Code.UNEXPECTED_TOKEN, (1, 20)),
        ("query q() { match { $a", Code.UNEXPECTED_TOKEN, (1, 23)),
        ("query q() { match { $a: A { x: [1", Code.UNEXPECTED_TOKEN, (1, 34)),
        ("query q() { match { $a: A } return { count($a", Code.UNEXPECTED_TOKEN, (1, 46)),
        ("query q() { match { $a: A } return { $a } order {", Code.UNEXPECTED_TOKEN, (1, 50)),
        ("query q() { match { $a: A } return { $a } limit", Code.UNEXPECTED_TOKEN, (1, 48)),
        ("query q() { insert A {", Code.UNEXPECTED_TOKEN, (1, 23)),
        ("query q() { update A set { x: 1 }", Code.UNEXPECTED_TOKEN, (1, 34)),
        ("query q() { delete A where x =", Code.UNEXPECTED_TOKEN, (1, 31)),
    ],
)
def test_a_query_that_stops_too_early_is_refused_where_it_stops(text: str, code: Code, place: tuple[int, int]):
    found = refusals(text)
    assert (found[0].code, found[0].position) == (code, place)
