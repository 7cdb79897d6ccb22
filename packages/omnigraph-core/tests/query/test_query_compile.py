"""From text to checked queries: which query is meant, and that everything wrong is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from omnigraph.errors import CheckError, CompileError, ParseError
from omnigraph.lang import Code, SourceText
from omnigraph.query import compile_queries, compile_query, parse_queries, select_query

FIRST = "query first() { match { $f: Film } return { $f.code } }"
SECOND = "query second($p: String) { insert Person { handle: $p } }"
BROKEN = "query broken() { match { $f Film } return { $f } }"
WRONG = "query wrong() { match { $f: Flim } return { $f } }"


def test_every_query_of_a_text_is_compiled_in_its_order(catalog):
    assert [each.name for each in compile_queries(f"{FIRST}\n{SECOND}", catalog)] == ["first", "second"]


def test_a_text_without_queries_compiles_to_none(catalog):
    assert compile_queries("// nothing here", catalog) == ()


def test_mistakes_of_all_queries_are_told_in_the_order_of_the_text(catalog):
    with pytest.raises(CheckError) as caught:
        compile_queries(f"{WRONG}\n{FIRST}\n{WRONG}", catalog)
    places = [(each.code, each.position) for each in caught.value.diagnostics]
    assert places == [(Code.T1, (1, 29)), (Code.T1, (3, 29))]


def test_mistakes_of_syntax_and_of_meaning_are_told_in_one_run(catalog):
    with pytest.raises(ParseError) as caught:
        compile_queries(f"{BROKEN}\n{WRONG}", catalog)
    assert [each.position.line for each in caught.value.diagnostics] == [1, 2]
    assert caught.value.diagnostics[1].code is Code.T1


def test_a_message_starts_with_the_area_and_the_code(catalog):
    with pytest.raises(CompileError) as caught:
        compile_query(WRONG, catalog)
    assert str(caught.value).startswith("type error: T1: ")


def test_the_name_of_the_text_is_told(catalog):
    with pytest.raises(CompileError, match=r"people\.gq:1:29"):
        compile_query(SourceText.of(WRONG, "people.gq"), catalog)


# ── which query ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_only_query_need_not_be_named(catalog):
    assert compile_query(FIRST, catalog).name == "first"


def test_a_query_is_chosen_by_its_name(catalog):
    assert compile_query(f"{FIRST}\n{SECOND}", catalog, "second").name == "second"


def test_of_two_queries_with_one_name_the_first_is_meant(catalog):
    other = "query first() { match { $p: Person } return { $p } }"
    query = compile_query(f"{FIRST}\n{other}", catalog, "first")
    assert query.variables["f"].type_name == "Film"


def test_other_queries_may_be_wrong_when_one_is_chosen(catalog):
    assert compile_query(f"{WRONG}\n{FIRST}", catalog, "first").name == "first"


def test_other_queries_must_be_readable_when_one_is_chosen(catalog):
    with pytest.raises(ParseError):
        compile_query(f"{BROKEN}\n{FIRST}", catalog, "first")


def test_an_unknown_query_is_refused_with_those_there_are(catalog):
    with pytest.raises(CheckError) as caught:
        compile_query(f"{FIRST}\n{SECOND}", catalog, "frist")
    (found,) = caught.value.diagnostics
    assert found.code is Code.UNKNOWN_QUERY
    assert found.message == 'there is no query "frist"'
    assert found.label == 'did you mean "first"?'
    assert found.help == "Name one of these: first, second."


def test_the_only_query_is_not_meant_by_another_name(catalog):
    with pytest.raises(CheckError, match="there is no query"):
        compile_query(FIRST, catalog, "second")


def test_several_queries_and_no_name_are_refused(catalog):
    with pytest.raises(CheckError) as caught:
        compile_query(f"{FIRST}\n{SECOND}", catalog)
    (found,) = caught.value.diagnostics
    assert (found.code, found.position) == (Code.UNKNOWN_QUERY, (2, 7))
    assert found.help == "Name one of these: first, second."


@pytest.mark.parametrize("name", [None, "first"])
def test_a_text_without_queries_is_refused_when_one_is_wanted(catalog, name):
    with pytest.raises(CheckError, match="the text holds no query"):
        compile_query("// nothing", catalog, name)


def test_a_query_can_be_chosen_from_a_parsed_file():
    file = parse_queries(SourceText.of(f"{FIRST}\n{SECOND}"))
    assert select_query(file, "second").name.text == "second"
    with pytest.raises(CheckError):
        select_query(file, None)


def test_the_compiler_loads_nothing_that_stores():
    heavy = ("pyarrow", "lance", "numpy", "datafusion", "omnigraph.storage", "omnigraph.tables", "omnigraph.plugins")
    program = f"import sys, omnigraph.query; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
