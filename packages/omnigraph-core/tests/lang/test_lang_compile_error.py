"""The exception that carries diagnostics: its words, its facts, and its way to other processes."""

from __future__ import annotations

import json
import pickle

import pytest

from omnigraph.errors import CheckError, CompileError, ParseError
from omnigraph.lang import Code, Diagnostic, Report, SourceText, Span
from omnigraph.lang.diagnostics import Related, render_one

SOURCE = SourceText.of("query q() {\n  nme ; }", "people.gq")


def raised(*codes: Code, label: str | None = None, help: str | None = None) -> CompileError:
    report = Report(SOURCE)
    for place, code in enumerate(codes):
        report.add(code, Span(14 + place, 17 + place), f"problem {place}", label=label, help=help)
    with pytest.raises(CompileError) as caught:
        report.raise_if_errors()
    return caught.value


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        (Code.UNEXPECTED_TOKEN, ParseError, "parse error: OG-L-007: problem 0 (people.gq:2:3)"),
        (Code.EDGE_CASE_FOLDING, CheckError, "catalog error: OG-S-104: problem 0 (people.gq:2:3)"),
        (Code.T6, CheckError, "type error: T6: problem 0 (people.gq:2:3)"),
    ],
)
def test_the_message_starts_with_the_words_of_the_original_and_names_the_place(code, kind, expected):
    error = raised(code)
    assert type(error) is kind
    assert error.message == expected


def test_the_message_says_how_many_more_there_are():
    assert raised(Code.T6, Code.T7, Code.T3).message == "type error: T6: problem 0 (people.gq:2:3), and 2 more"


def test_what_a_traceback_shows_is_the_message_and_every_diagnostic_with_its_line():
    error = raised(Code.T6, Code.T7, help="Do it.")
    assert str(error).split("\n\n") == [error.message, *map(render_one, error.diagnostics)]


def test_the_message_is_about_an_error_although_a_warning_stands_before_it():
    error = raised(Code.RENAME_IGNORED, Code.T7)
    assert error.message == "type error: T7: problem 1 (people.gq:2:4), and 1 more"


def test_the_next_move_is_the_help_or_else_the_label():
    assert raised(Code.T6, label="the label", help="The help.").help == "The help."
    assert raised(Code.T6, label="the label").help == "the label"
    assert raised(Code.T6).help is None


def test_the_facts_hold_every_diagnostic_and_are_json():
    error = raised(Code.T6, Code.T7)
    facts = json.loads(json.dumps(error.to_dict()))
    assert facts["kind"] == "compile"
    assert [each["code"] for each in facts["details"]["diagnostics"]] == ["T6", "T7"]
    assert facts["details"]["diagnostics"][0] == error.diagnostics[0].to_dict()


@pytest.mark.parametrize("code", [Code.UNEXPECTED_TOKEN, Code.T6])
def test_the_error_comes_whole_through_pickle(code):
    error = raised(code, Code.T7, help="Do it.")
    error.add_note("while opening a graph")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.diagnostics == error.diagnostics
    assert again.diagnostics[0].code is code
    assert (str(again), again.help, again.details) == (str(error), error.help, error.details)
    assert again.__notes__ == ["while opening a graph"]


def test_a_diagnostic_comes_through_pickle_with_its_text_and_related_places():
    found = Diagnostic(
        code=Code.T13,
        message="twice",
        source=SOURCE,
        span=Span(14, 17),
        related=(Related(span=Span(0, 5), label="first"),),
    )
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.source.text == SOURCE.text
    assert again.position == (2, 3)


def test_it_is_a_value_error_too():
    assert isinstance(raised(Code.T6), ValueError)
