"""The tokenizer: every kind of token with its exact span, what stands between tokens, and what starts none."""

from __future__ import annotations

import pytest
from hang_guard import no_hang
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.lang import Code, Report, SourceText
from omnigraph.lang.tokens import END, ERROR, Token, float_value, integer_value, scan, string_value, tokenize


def read(text: str) -> tuple[list[Token], Report]:
    """The tokens up to the end, and what was reported."""
    report = Report(SourceText.of(text, "a.gq"))
    found = scan(report)
    tokens = list(map(Token, *found))
    return tokens[: found.kinds.index(END) + 1], report


def shown(text: str) -> list[tuple[str, str]]:
    """Kinds and texts of the tokens of a text that has no mistakes, without the end."""
    tokens, report = read(text)
    assert report.diagnostics == []
    return [(each.kind, each.text) for each in tokens[:-1]]


def mistakes(text: str) -> list[tuple[Code, str]]:
    """The codes, each with the text under its carets."""
    _, report = read(text)
    return [(each.code, text[each.span.start : each.span.end]) for each in report.diagnostics]


# ── kinds ──


@pytest.mark.parametrize(
    "word", ["a", "_", "_1", "title", "camelCase", "snake_case_2", "true", "false", "node", "x" * 5000]
)
def test_an_ident_starts_with_a_lower_case_letter_or_an_underscore(word):
    assert shown(word) == [("ident", word)]


@pytest.mark.parametrize("word", ["A", "Film", "I32", "BORROWED_BY", "Aa_9"])
def test_a_type_name_starts_with_a_capital(word):
    assert shown(word) == [("type_name", word)]


@pytest.mark.parametrize("word", ["$a", "$_", "$_x", "$camelCase9"])
def test_a_variable_is_a_dollar_and_an_ident(word):
    assert shown(word) == [("variable", word)]


@pytest.mark.parametrize("word", ["0", "7", "007", "9223372036854775807", "9" * 5000])
def test_an_integer_is_made_of_digits(word):
    assert shown(word) == [("integer", word)]


@pytest.mark.parametrize("word", ["0.0", "1.5", "007.100", "9" * 400 + ".5"])
def test_a_float_has_digits_on_both_sides_of_its_point(word):
    assert shown(word) == [("float", word)]


@pytest.mark.parametrize(
    "word", ['""', '"a"', '"über 日本"', '"a\\"b"', '"\\\\"', '"two\nlines"', '"// no comment"', '"/*"', '"\\q"']
)
def test_a_string_goes_from_quote_to_quote_over_lines_and_escapes(word):
    assert shown(word) == [("string", word)]


@pytest.mark.parametrize("mark", ["->", "..", "<=", ">=", "!=", *"{}()[]:,.<>=?@-"])
def test_a_mark_is_its_own_kind(mark):
    assert shown(mark) == [(mark, mark)]


def test_an_enum_value_is_read_as_the_tokens_that_it_is_made_of():
    assert [text for _, text in shown("sci-fi t2d 3d -x Top")] == ["sci", "-", "fi", "t2d", "3", "d", "-", "x", "Top"]


# ── where one ends and the next begins ──


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..5", ["1", "..", "5"]),
        ("..9", ["..", "9"]),
        ("0.5..1.5", ["0.5", "..", "1.5"]),
        ("1.", ["1", "."]),
        (".5", [".", "5"]),
        ("1.5.2", ["1.5", ".", "2"]),
        ("1.a", ["1", ".", "a"]),
        ("...", ["..", "."]),
        ("-1", ["-", "1"]),
        ("1e5", ["1", "e5"]),
        ("1_000", ["1", "_000"]),
        ("->", ["->"]),
        ("- >", ["-", ">"]),
        ("-->", ["-", "->"]),
        ("<=>", ["<=", ">"]),
        ("<follows>", ["<", "follows", ">"]),
        ("$a.b", ["$a", ".", "b"]),
        ("$a$b", ["$a", "$b"]),
        ("nodeFilm{}", ["nodeFilm", "{", "}"]),
        ("limit10", ["limit10"]),
        ("Film9x", ["Film9x"]),
        ("9Film", ["9", "Film"]),
        ('"a""b"', ['"a"', '"b"']),
        ("[String]?", ["[", "String", "]", "?"]),
        ("@card(0..)", ["@", "card", "(", "0", "..", ")"]),
    ],
)
def test_the_longest_token_is_taken(text, expected):
    assert [each for _, each in shown(text)] == expected


def test_every_token_knows_its_exact_place():
    text = '  $p: Person\n\t{ "ä" 1.5 } // end\n'
    tokens, _ = read(text)
    assert [(each.kind, each.start, each.end) for each in tokens] == [
        ("variable", 2, 4), (":", 4, 5), ("type_name", 6, 12),
        ("{", 14, 15), ("string", 16, 19), ("float", 20, 23), ("}", 24, 25),
        ("end", 33, 33),
    ]  # fmt: skip
    assert all(text[each.start : each.end] == each.text for each in tokens)
    assert tokens[2].span == (6, 12)


# ── between tokens ──


@pytest.mark.parametrize(
    "gap",
    [" ", "\t", "\r", "\n", "\r\n", "  \n\t", "// c\n", "/**/", "/* c */", "/* // */", "/* /* */", "/***/",
     "// /*\n", "/*\n*\n/ */", "// \x00 日本 # ;\n", " // a\r\n /* b */ // c\n"],
)  # fmt: skip
def test_blanks_and_comments_may_stand_between_any_two_tokens(gap):
    assert shown(f"a{gap}b") == [("ident", "a"), ("ident", "b")]
    assert shown(f"{gap}a{gap}") == [("ident", "a")]
    assert shown(f"<{gap}=") == [("<", "<"), ("=", "=")]


@pytest.mark.parametrize("text", ["", " \n", "// only a comment", "/* c */"])
def test_a_text_without_tokens_has_an_end(text):
    tokens, report = read(text)
    assert [(each.kind, each.text, each.start, each.end) for each in tokens] == [("end", "", len(text), len(text))]
    assert report.diagnostics == []


def test_a_comment_may_end_with_the_text():
    assert shown("a // b") == [("ident", "a")]


# ── what starts no token ──


@pytest.mark.parametrize(
    ("text", "place", "message", "advice"),
    [
        ("a # b c\nd", "#", '"#" cannot stand here', "Comments start with // here."),
        ("$ a", "$", '"$" cannot stand here', "A variable is $ and, right behind it"),
        ("$Film x", "$Film", '"$Film" cannot stand here', "A variable is $ and, right behind it"),
        ("$1", "$1", '"$1" cannot stand here', "A variable is $ and, right behind it"),
        ("say 'a b' c", "'a b'", "\"'a b'\" cannot stand here", "Strings stand in double quotes"),
        ("don't", "'", '"\'" cannot stand here', "Strings stand in double quotes"),
        ("“a” b", "“a”", '"“a”" cannot stand here', "Strings stand in double quotes"),
        ("“a", "“", '"“" cannot stand here', "Strings stand in double quotes"),
        ("a & b", "&", '"&" cannot stand here', "There is no and/or"),
        ("a && b", "&&", '"&&" cannot stand here', "There is no and/or"),
        ("a || b", "||", '"||" cannot stand here', "There is no and/or"),
        ("a | b", "|", '"|" cannot stand here', "There is no and/or"),
        ("1 + 2", "+", '"+" cannot stand here', "There is no arithmetic"),
        ("a / b", "/", '"/" cannot stand here', "There is no arithmetic"),
        ("a; b", ";", '";" cannot stand here', "Nothing needs a semicolon"),
        ("a \0", "\0", "the character U+0000 cannot stand here", "This is a NUL byte"),
        ("größe", "öße", '"öße" cannot stand here', "Names are made of the letters A-Z and a-z"),
        ("日本語 x", "日本語", '"日本語" cannot stand here', "Names are made of the letters A-Z and a-z"),
        ("a\u00a0b", "\u00a0", "the character U+00A0 cannot stand here", None),
        ("a \ufeff", "\ufeff", "the character U+FEFF cannot stand here", None),
        ("a \x1b[31m", "\x1b", "the character U+001B cannot stand here", None),
        ("!", "!", '"!" cannot stand here', None),
        ("a ~ b", "~", '"~" cannot stand here', None),
        ("a\\b", "\\", '"\\" cannot stand here', None),
    ],
)
def test_a_character_that_starts_no_token_is_reported_with_advice(text, place, message, advice):
    tokens, report = read(text)
    first = report.diagnostics[0]
    assert first.code is Code.UNEXPECTED_CHARACTER
    assert text[first.span.start : first.span.end] == place
    assert first.message == message
    assert (first.help or "").startswith(advice or "")
    assert (first.help is None) == (advice is None)
    assert ERROR in [each.kind for each in tokens]


def test_what_follows_a_number_sign_on_its_line_is_taken_for_a_comment():
    tokens, report = read("a # ; ' $\nb")
    assert [each.kind for each in tokens] == ["ident", "error", "ident", "end"]
    assert len(report) == 1


def test_one_run_reports_every_character_that_starts_no_token():
    assert mistakes("a ; b ! c ~") == [(Code.UNEXPECTED_CHARACTER, each) for each in ";!~"]


def test_reading_goes_on_behind_a_wrong_character():
    tokens, _ = read("a ; b")
    assert [(each.kind, each.text) for each in tokens] == [("ident", "a"), ("error", ";"), ("ident", "b"), ("end", "")]


def test_a_string_without_its_closing_quote_is_reported_where_it_opens():
    assert mistakes('a "b c\nd') == [(Code.UNCLOSED_STRING, '"')]
    assert mistakes('"ends with \\"') == [(Code.UNCLOSED_STRING, '"')]
    assert mistakes('"a" "') == [(Code.UNCLOSED_STRING, '"')]


def test_a_comment_that_is_not_closed_is_reported_where_it_opens():
    assert mistakes("a /* b\nc * /") == [(Code.UNCLOSED_COMMENT, "/*")]
    assert mistakes("/*/") == [(Code.UNCLOSED_COMMENT, "/*")]


def test_half_of_a_surrogate_pair_is_reported_at_its_place():
    text = 'a "\ud800"'
    assert mistakes(text) == [(Code.NOT_UTF8, "\ud800")]


def test_a_text_full_of_mistakes_is_not_read_to_its_end():
    tokens, report = read("; " * 5_000)
    assert len(report) == 100
    assert [each.code for each in report.in_order()][-2:] == [Code.UNEXPECTED_CHARACTER, Code.TOO_MANY_ERRORS]
    assert tokens[-1].kind == "end"
    assert len(tokens) == 101


# ── values ──


def value(read_value, text: str):
    tokens, report = read(text)
    return read_value(tokens[0], report), report


@pytest.mark.parametrize(
    ("text", "expected"),
    [(r'""', ""), (r'"a"', "a"), (r'"\""', '"'), (r'"\\"', "\\"), (r'"\n\r\t"', "\n\r\t"), (r'"\\n"', "\\n"),
     ('"a\nb"', "a\nb"), ('"a\r\nb"', "a\r\nb"), (r'"\\d+"', r"\d+"), ('"日本"', "日本")],
)  # fmt: skip
def test_a_string_means_its_text_with_the_five_escapes_replaced(text, expected):
    found, report = value(string_value, text)
    assert found == expected
    assert report.diagnostics == []


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        (r'"ab\d+"', r"\d", 'unsupported escape sequence "\\d"'),
        (r'"\u0041"', r"\u", 'unsupported escape sequence "\\u"'),
        (r'"\0"', r"\0", 'unsupported escape sequence "\\0"'),
        (r'"\N"', r"\N", 'unsupported escape sequence "\\N"'),
        (r'"\'"', r"\'", 'unsupported escape sequence "\\\'"'),
        ('"\\\n"', "\\\n", "unsupported escape sequence of \\ and the character U+000A"),
        ('"\\\x1b"', "\\\x1b", "unsupported escape sequence of \\ and the character U+001B"),
    ],
)
def test_any_other_escape_is_reported_at_its_backslash(text, under, message):
    found, report = value(string_value, text)
    (problem,) = report.diagnostics
    assert problem.code is Code.UNSUPPORTED_ESCAPE
    assert text[problem.span.start : problem.span.end] == under
    assert problem.message == message
    assert problem.help == 'The escapes are \\" \\\\ \\n \\r \\t; a backslash itself is written \\\\.'
    assert found == text[1:-1]


def test_every_wrong_escape_of_a_string_is_reported():
    _, report = value(string_value, r'"\a \n \b"')
    assert [tuple(each.span) for each in report.diagnostics] == [(1, 3), (7, 9)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("42", 42), ("007", 7), ("9223372036854775807", 2**63 - 1), ("0" * 9000 + "1", 1)],
)
def test_an_integer_means_its_number_up_to_64_bits(text, expected):
    found, report = value(integer_value, text)
    assert found == expected
    assert report.diagnostics == []


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 20, "9" * 100_000])
def test_an_integer_above_64_bits_is_reported(text):
    _, report = value(integer_value, text)
    (problem,) = report.diagnostics
    assert problem.code is Code.NUMBER_OUT_OF_RANGE
    assert problem.span == (0, len(text))
    assert problem.label == "the largest is 9223372036854775807"


@pytest.mark.parametrize(("text", "expected"), [("0.5", 0.5), ("1.10", 1.1), ("1" + "0" * 308 + ".0", 1e308)])
def test_a_float_means_its_number(text, expected):
    found, report = value(float_value, text)
    assert found == expected
    assert report.diagnostics == []


def test_a_float_that_is_not_finite_is_reported():
    _, report = value(float_value, "1" + "0" * 309 + ".0")
    (problem,) = report.diagnostics
    assert problem.code is Code.NUMBER_OUT_OF_RANGE
    assert problem.span == (0, 312)


# ── any text ──


@given(
    st.lists(
        st.sampled_from(
            ["a", "Ab", "$x", "1", "2.5", '"s"', '"\\""', "->", "..", "<", "=", "{", " ", "\n", "// c\n", "/**/"]
        )
    )
)
def test_reading_all_at_once_and_one_by_one_is_the_same(pieces):
    text = "".join(pieces)
    tokens, report = read(text)
    assert tokens == tokenize(Report(SourceText.of(text)))
    assert report.diagnostics == []


@given(st.text(max_size=60) | st.text(st.sampled_from('ab1$."\\/*#{}<>=!-\n é\ud800'), max_size=60))
def test_tokens_and_what_is_between_them_make_up_the_text(text):
    tokens, report = read(text)
    text = report.source.text
    place = 0
    for token in tokens:
        between = text[place : token.start]
        assert text[token.start : token.end] == token.text
        assert not between.strip(" \t\r\n") or between.strip(" \t\r\n").startswith(("//", "/*"))
        place = token.end
    assert tokens[-1].kind == "end"
    assert place == len(text) or report.is_full
    assert (ERROR in [each.kind for each in tokens]) <= report.has_errors


@pytest.mark.parametrize(
    "piece", ["a", "é", "1", "1.", "a.", '"', "\\", '"\\', "/", "/*", "/* *", "// ", "#", "'", "“", "$", ";", " ", "\n"]
)
def test_long_texts_do_not_hang(piece):
    for start in ("", '"', "/*", "//"):
        text = start + piece * 2**14
        with no_hang():
            read(text)


def test_a_string_of_a_mebibyte_is_one_token():
    tokens, report = read('"' + "ab\\n" * 2**18 + '"')
    assert [each.kind for each in tokens] == ["string", "end"]
    assert string_value(tokens[0], report) == "ab\n" * 2**18
