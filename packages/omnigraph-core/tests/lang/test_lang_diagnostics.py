"""How a mistake looks: the rendered text, the JSON form, what a report keeps, and which word was probably meant.

Every expected rendering is written by hand.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import CheckError, ParseError
from omnigraph.lang import Code, Diagnostic, Report, SourceText, Span, render
from omnigraph.lang.diagnostics import Related, closest, did_you_mean, listed, render_one


def problem(text: str, under: str, *, name: str = "people.gq", code: Code = Code.T6, **more) -> Diagnostic:
    """Something wrong with the first occurrence of ``under``."""
    source = SourceText.of(text, name)
    start = source.text.index(under)
    more.setdefault("message", "this is wrong")
    return Diagnostic(code=code, source=source, span=Span(start, start + len(under)), **more)


def lines(diagnostic: Diagnostic) -> list[str]:
    return render_one(diagnostic).split("\n")


# ── the rendered text ──


def test_a_mistake_is_shown_with_its_place_its_line_carets_and_help():
    text = "query q($name: String) {\n  match {\n    $p: Person  $p.nme = $name\n  }\n}\n"
    found = problem(
        text,
        "nme",
        message='Person has no property "nme"',
        label='did you mean "name"?',
        help="Person has: age, name",
    )
    assert render_one(found) == (
        'error[T6]: Person has no property "nme"\n'
        " --> people.gq:3:20\n"
        "  |\n"
        "3 |     $p: Person  $p.nme = $name\n"
        '  |                    ^^^ did you mean "name"?\n'
        "  = help: Person has: age, name"
    )


def test_without_label_and_help_only_the_place_is_shown():
    assert lines(problem("a b c", "b")) == [
        "error[T6]: this is wrong",
        " --> people.gq:1:3",
        "  |",
        "1 | a b c",
        "  |   ^",
    ]


def test_the_margin_is_as_wide_as_the_line_number():
    text = "\n" * 1233 + "  here\n"
    assert lines(problem(text, "here", label="look", help="Go on.")) == [
        "error[T6]: this is wrong",
        "    --> people.gq:1234:3",
        "     |",
        "1234 |   here",
        "     |   ^^^^ look",
        "     = help: Go on.",
    ]


def test_a_warning_says_that_it_is_one():
    found = problem("edge A", "A", code=Code.RENAME_IGNORED, message="it has no effect")
    assert lines(found)[0] == "warning[OG-S-305]: it has no effect"


def test_a_tab_is_four_blanks_in_the_line_and_above_the_carets():
    assert lines(problem("\ta\tbad", "bad"))[3:] == [
        "1 |     a    bad",
        "  |          ^^^",
    ]


def test_carets_stand_under_wide_characters():
    assert lines(problem("日本 = bad語 x", "bad語"))[3:] == [
        "1 | 日本 = bad語 x",
        "  |        ^^^^^",
    ]


def test_marks_that_combine_take_no_room():
    # An e with an accent on top, a heart with a variation selector, and a letter in a circle.
    text = "e\u0301 \u2764\ufe0f a\u20dd bad"
    assert lines(problem(text, "bad"))[3:] == [
        f"1 | {text}",
        "  |       ^^^",
    ]


def test_a_span_over_several_lines_is_shown_on_its_first():
    found = problem('x "ab\ncd" y', '"ab\ncd"')
    assert lines(found)[3:] == [
        '1 | x "ab',
        "  |   ^^^",
    ]


def test_a_span_without_length_has_one_caret():
    found = Diagnostic(code=Code.T6, message="m", source=SourceText.of("abc", "f"), span=Span(1, 1))
    assert lines(found)[3:] == ["1 | abc", "  |  ^"]


def test_the_end_of_the_text_is_shown_behind_its_last_character():
    found = Diagnostic(code=Code.T6, message="m", source=SourceText.of("a {", "f"), span=Span(3, 4), label="here")
    assert lines(found) == ["error[T6]: m", " --> f:1:4", "  |", "1 | a {", "  |    ^ here"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_end_of_a_line_is_shown_behind_its_last_character(ending):
    source = SourceText.of(f"a {{{ending}b", "f")
    found = Diagnostic(code=Code.T6, message="m", source=source, span=Span(3, 4))
    assert lines(found)[3:] == ["1 | a {", "  |    ^"]


def test_an_empty_text_has_a_place():
    found = Diagnostic(code=Code.T6, message="m", source=SourceText.of("", "f"), span=Span(0, 0))
    assert lines(found) == ["error[T6]: m", " --> f:1:1", "  |", "1 |", "  | ^"]


def test_a_line_with_cr_lf_is_shown_without_them():
    assert lines(problem("a\r\nbad x\r\n", "bad"))[3:] == ["2 | bad x", "  | ^^^"]


# ── long lines ──


def test_a_line_of_a_hundred_characters_is_shown_whole():
    text = "x" * 97 + "bad"
    assert lines(problem(text, "bad"))[3:] == [f"1 | {text}", "  | " + " " * 97 + "^^^"]


def test_a_long_line_is_cut_around_the_place():
    text = "a" * 200 + "bad" + "b" * 200
    assert lines(problem(text, "bad"))[3:] == [
        "1 | …" + "a" * 50 + "bad" + "b" * 47 + "…",
        "  | " + " " * 51 + "^^^",
    ]


def test_a_long_line_is_cut_behind_when_the_place_is_at_its_start():
    text = "a bad" + "b" * 200
    assert lines(problem(text, "bad"))[3:] == ["1 | a bad" + "b" * 95 + "…", "  |   ^^^"]


def test_a_long_line_is_cut_before_when_the_place_is_at_its_end():
    text = "a" * 200 + "bad"
    assert lines(problem(text, "bad"))[3:] == ["1 | …" + "a" * 50 + "bad", "  | " + " " * 51 + "^^^"]


def test_carets_end_where_the_line_is_cut():
    found = problem("a" * 60 + '"' + "s" * 2**20 + '"', '"' + "s" * 2**20 + '"')
    shown = lines(found)
    assert shown[3] == "1 | …" + "a" * 50 + '"' + "s" * 49 + "…"
    assert shown[4] == "  | " + " " * 51 + "^" * 50


# ── foreign text ──


def test_control_characters_are_shown_and_never_sent():
    found = problem("a\x1b[31m\x00\u202e\x7f bad", "bad", name="a\x1b.gq", message="\x07m", label="l\x9b", help="h\r\n")
    assert lines(found) == [
        "error[T6]: \\u{7}m",
        " --> a\\u{1b}.gq:1:11",
        "  |",
        "1 | a\\u{1b}[31m\\u{0}\\u{202e}\\u{7f} bad",
        "  | " + " " * len("a\\u{1b}[31m\\u{0}\\u{202e}\\u{7f} ") + "^^^ l\\u{9b}",
        "  = help: h\\u{d}\\u{a}",
    ]


def test_half_of_a_surrogate_pair_can_be_shown():
    found = problem('a "\ud800"', "\ud800")
    assert lines(found)[3:] == ['1 | a "\\u{d800}"', "  |    ^^^^^^^^"]
    render_one(found).encode("utf-8")


@given(st.text(max_size=30), st.integers(0, 30), st.integers(0, 30), st.text(max_size=10))
def test_whatever_is_shown_is_printable_and_the_carets_are_inside(text, start, length, words):
    source = SourceText.of(text, words)
    start = min(start, len(source.text))
    span = Span(start, start + length)
    found = Diagnostic(code=Code.T6, message=words, source=source, span=span, label=words, help=words or None)
    shown = lines(found)
    assert all(each.isprintable() for each in shown)
    assert len(shown) == 5 + bool(words)
    assert "^" in shown[4]


# ── related places ──


def test_a_related_place_is_shown_with_dashes_in_the_order_of_the_text():
    text = "node Film {}\n\nnode Film {}\n"
    found = Diagnostic(
        code=Code.DUPLICATE_TYPE,
        message="the node type Film is declared twice",
        source=SourceText.of(text, "a.pg"),
        span=Span(19, 23),
        label="declared again here",
        related=(Related(span=Span(5, 9), label="first declared here"),),
    )
    assert render_one(found) == (
        "error[OG-S-101]: the node type Film is declared twice\n"
        " --> a.pg:3:6\n"
        "  |\n"
        "1 | node Film {}\n"
        "  |      ---- first declared here\n"
        "...\n"
        "3 | node Film {}\n"
        "  |      ^^^^ declared again here"
    )


def test_two_places_on_one_line_are_marked_below_it_and_lines_that_follow_each_other_have_no_gap():
    source = SourceText.of("ab\ncd ef", "f")
    found = Diagnostic(
        code=Code.T6,
        message="m",
        source=source,
        span=Span(6, 8),
        label="here",
        related=(Related(span=Span(3, 5), label="beside"), Related(span=Span(0, 2), label="above")),
    )
    assert lines(found)[3:] == [
        "1 | ab", "  | -- above", "2 | cd ef", "  |    ^^ here", "  | -- beside",
    ]  # fmt: skip


def test_the_margin_is_as_wide_as_the_longest_line_number_of_all_places():
    source = SourceText.of("a\n" * 12, "f")
    found = Diagnostic(
        code=Code.T6,
        message="m",
        source=source,
        span=Span(2, 3),
        related=(Related(span=Span(20, 21), label="there"),),
        help="h",
    )
    assert lines(found)[1:] == [
        "  --> f:2:1", "   |", " 2 | a", "   | ^", "...", "11 | a", "   | - there", "   = help: h",
    ]  # fmt: skip


def test_two_mistakes_are_shown_with_an_empty_line_between_them():
    one, two = problem("a b", "a"), problem("a b", "b")
    assert render([one, two]) == render_one(one) + "\n\n" + render_one(two)
    assert render([]) == ""


# ── forms for programs ──


def test_the_json_form_has_the_place_from_one_with_an_exclusive_end():
    found = problem("ab\n  nme x", "nme", message="no", label="l", help="h")
    assert found.to_dict() == {
        "severity": "error",
        "code": "T6",
        "message": "no",
        "label": "l",
        "help": "h",
        "file": "people.gq",
        "line": 2,
        "column": 3,
        "end_line": 2,
        "end_column": 6,
        "related": [],
    }
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_the_json_form_has_the_other_places_in_the_order_of_the_diagnostic():
    text = "ab\n  nme x"
    places = (Related(span=Span(9, 10), label="two"), Related(span=Span(0, 2), label="one"))
    found = problem(text, "nme", related=places)
    assert found.to_dict()["related"] == [
        {"line": 2, "column": 7, "label": "two"},
        {"line": 1, "column": 1, "label": "one"},
    ]
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_the_json_form_says_null_for_what_is_not_told():
    facts = problem("a", "a").to_dict()
    assert facts["label"] is None
    assert facts["help"] is None


def test_the_json_form_of_a_span_over_lines_ends_on_another_line():
    facts = problem('x "ab\ncd" y', '"ab\ncd"').to_dict()
    assert (facts["line"], facts["column"], facts["end_line"], facts["end_column"]) == (1, 3, 2, 4)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.UNEXPECTED_TOKEN, "parse error: OG-L-007: m"),
        (Code.DUPLICATE_TYPE, "catalog error: OG-S-101: m"),
        (Code.T7, "type error: T7: m"),
    ],
)
def test_the_headline_starts_with_the_words_of_the_original(code, expected):
    assert problem("a", "a", code=code, message="m").headline == expected


def test_the_headline_is_one_printable_line():
    assert problem("a", "a", message='the string "a\n\x1b"').headline == 'type error: T6: the string "a\\u{a}\\u{1b}"'


# ── reports ──


def report_of(text: str = "x" * 300) -> Report:
    return Report(SourceText.of(text, "f"))


def test_a_report_is_in_the_order_of_the_text():
    report = report_of()
    for place in (7, 3, 5):
        report.add(Code.T6, Span(place, place + 1), str(place))
    assert [each.message for each in report.in_order()] == ["3", "5", "7"]
    assert [each.message for each in report.diagnostics] == ["7", "3", "5"]


def test_two_mistakes_at_one_place_stay_in_the_order_in_which_they_were_found():
    report = report_of()
    report.add(Code.T7, Span(1, 2), "first")
    report.add(Code.T6, Span(1, 2), "second")
    assert [each.message for each in report.in_order()] == ["first", "second"]


def test_at_one_place_each_code_is_told_once():
    report = report_of()
    report.add(Code.T6, Span(1, 2), "first")
    report.add(Code.T6, Span(1, 2), "again")
    report.add(Code.T6, Span(1, 3), "elsewhere")
    report.add(Code.T7, Span(1, 2), "other")
    assert [each.message for each in report.diagnostics] == ["first", "elsewhere", "other"]
    assert len(report) == 3


def fill(report: Report, count: int, code: Code = Code.T6) -> None:
    for place in range(count):
        report.add(code, Span(place, place + 1), str(place))


def test_ninety_nine_errors_are_told_and_nothing_else():
    report = report_of()
    fill(report, 99)
    assert [each.code for each in report.in_order()] == [Code.T6] * 99
    assert not report.is_full


@pytest.mark.parametrize("count", [100, 101, 300])
def test_of_more_errors_the_first_are_told_and_that_there_are_more(count):
    report = report_of()
    fill(report, count)
    found = report.in_order()
    assert [each.message for each in found[:99]] == [str(place) for place in range(99)]
    assert [each.code for each in found[99:]] == [Code.TOO_MANY_ERRORS]
    assert found[99].message == "more than 99 errors"
    assert found[99].span == (99, 100)
    assert report.is_full


def test_that_there_are_more_comes_last_wherever_it_was_noticed():
    report = report_of()
    for place in reversed(range(200)):
        report.add(Code.T6, Span(place, place + 1), "m")
    assert report.in_order()[-1].code is Code.TOO_MANY_ERRORS


def test_a_repeated_mistake_does_not_make_a_report_full():
    report = report_of()
    fill(report, 99)
    fill(report, 99)
    assert len(report) == 99
    assert not report.is_full


def test_warnings_alone_are_never_too_many():
    report = report_of()
    fill(report, 200, Code.RENAME_IGNORED)
    assert len(report) == 99
    assert not report.has_errors
    report.raise_if_errors()


def test_an_error_behind_many_warnings_is_not_lost():
    report = report_of()
    fill(report, 200, Code.RENAME_IGNORED)
    report.add(Code.T6, Span(250, 251), "m")
    assert report.has_errors
    with pytest.raises(CheckError):
        report.raise_if_errors()


def test_a_report_without_mistakes_raises_nothing():
    report = report_of()
    report.raise_if_errors()
    assert not report.has_errors


def test_a_mistake_of_syntax_makes_it_a_parse_error():
    report = report_of()
    report.add(Code.T6, Span(1, 2), "meaning")
    report.add(Code.UNEXPECTED_TOKEN, Span(5, 6), "syntax")
    with pytest.raises(ParseError) as caught:
        report.raise_if_errors()
    assert [each.message for each in caught.value.diagnostics] == ["meaning", "syntax"]


@pytest.mark.parametrize("count", [1, 99, 150])
def test_mistakes_of_meaning_make_it_a_check_error_however_many_they_are(count):
    report = report_of()
    fill(report, count)
    with pytest.raises(CheckError):
        report.raise_if_errors()


# ── guesses ──


@pytest.mark.parametrize(
    ("word", "choices", "expected"),
    [
        ("nme", ["name", "age"], "name"),
        ("Persn", ["Person", "Film"], "Person"),
        ("rented", ["Rented"], "Rented"),
        ("FILM", ["Film", "Firm"], "Film"),
        ("titel", ["title", "tile"], "title"),
        ("xyz", ["name", "age"], None),
        ("", ["name"], None),
        ("name", [], None),
        ("n" * 65, ["n" * 65], None),
        ("short", ["short" * 20], None),
    ],
)
def test_the_word_that_was_probably_meant_is_guessed(word, choices, expected):
    assert closest(word, choices) == expected
    assert did_you_mean(word, choices) == (None if expected is None else f'did you mean "{expected}"?')


def test_a_guess_does_not_depend_on_the_order_of_the_choices():
    choices = ["abcx", "abcy", "abcz"]
    assert closest("abcw", choices) == closest("abcw", reversed(choices)) == closest("abcw", set(choices))


def test_a_guess_among_many_is_right():
    choices = [f"SomeTypeName{number}Of{number * 7 % 1000}Things" for number in range(10_000)]
    assert closest("SomeTypName5000Of0Things", choices) == "SomeTypeName5000Of0Things"
    assert closest("omeTypeName41Of287Things", choices) == "SomeTypeName41Of287Things"


def test_choices_are_listed_in_order_and_cut_when_there_are_many():
    assert listed([]) == "none"
    assert listed(["b", "a"]) == "a, b"
    assert listed((f"p{number:02}" for number in range(14)), at_most=12) == (
        "p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11 and 2 more"
    )
    assert listed(["a", "b"], at_most=2) == "a, b"
