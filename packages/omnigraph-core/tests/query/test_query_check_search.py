"""Search functions: section 8.3 of the language, codes T15 (nearest), T19, T20 and T21."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.lang import Code, Report, Scalar, SourceText, ValueType
from omnigraph.query.ast import TextFunction
from omnigraph.query.check import check_query
from omnigraph.query.checked import Bm25, Constant, Nearest, ParameterRef, Rrf, TextMatch
from omnigraph.query.parser import parse_queries

VECTOR = ValueType(Scalar.VECTOR, dimension=4)
FILM = "match { $f: Film  %s } return { $f.code }"
RANKED = "match { $f: Film } return { $f.code } order { %s } limit 5"


@pytest.fixture
def ranked(accept):
    """The first sort key of films."""

    def check(call: str, parameters: str = ""):
        return accept(RANKED % call, parameters).orderings[0].expression

    return check


# ── search, fuzzy, match_text, bm25 ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("function", ["search", "fuzzy", "match_text"])
@pytest.mark.parametrize("field", ["title", "plot", "genre"])
@pytest.mark.parametrize("query", ['"x"', "$q"])
def test_a_text_function_takes_a_string_property_and_a_text(accept, function, field, query):
    found = accept(FILM % f"{function}($f.{field}, {query})", "$q: String?").clauses[1]
    assert isinstance(found, TextMatch)
    assert (found.function, found.field.property) == (TextFunction(function), field)


def test_bm25_takes_a_string_property_and_a_text(ranked):
    found = ranked("bm25($f.plot, $q)", "$q: String")
    assert isinstance(found, Bm25)
    assert found.query == ParameterRef("q", ValueType(Scalar.STRING))


CODES = [("search", Code.T19), ("fuzzy", Code.T19), ("match_text", Code.T20)]


@pytest.mark.parametrize(("function", "code"), CODES)
@pytest.mark.parametrize("field", ["tags", "votes", "released", "plotVec"])
def test_t19_t20_a_field_that_is_no_string_is_refused(refuse, function, code, field):
    refuse(FILM % f'{function}($f.«{field}», "x")', code)


@pytest.mark.parametrize(("function", "code"), CODES)
@pytest.mark.parametrize("subject", ["$f", '"text"', "$q", "title", "now()"])
def test_t19_t20_a_subject_that_is_no_property_is_refused(refuse, function, code, subject):
    refuse(FILM % f'{function}(«{subject}», "x")', code, parameters="$q: String")


@pytest.mark.parametrize(("function", "code"), CODES)
@pytest.mark.parametrize("query", ["3", '["x"]', "$n", "now()", "$f", "$f.title"])
def test_t19_t20_a_query_that_is_no_text_is_refused(refuse, function, code, query):
    refuse(FILM % f"{function}($f.plot, «{query}»)", code, parameters="$n: I32")


@pytest.mark.parametrize("argument", ["«$f.votes»", "«$f»", "«3»"])
def test_t20_a_query_of_bm25_that_is_no_text_is_refused(refuse, argument):
    refuse(RANKED % f"bm25($f.plot, {argument})", Code.T20)


def test_t20_a_field_of_bm25_that_is_no_string_is_refused(refuse):
    refuse(RANKED % 'bm25($f.«votes», "x")', Code.T20)


def test_both_arguments_of_a_text_function_are_judged(refuse):
    refuse(FILM % "search($f.«votes», «3»)", Code.T19, Code.T19)


def test_an_undeclared_query_text_is_refused(refuse):
    refuse(FILM % "search($f.plot, «$q»)", Code.NOT_BOUND)


def test_t6_a_search_of_an_unbound_variable_is_refused(refuse):
    refuse(FILM % 'search(«$g».plot, "x")', Code.T6)
    refuse(FILM % 'search($f.«plott», "x")', Code.T6)


def test_t24_a_blob_cannot_be_searched(refuse):
    refuse(FILM % 'search($f.«poster», "x")', Code.T24)


@pytest.mark.parametrize("edits", ["1", "$n"])
def test_fuzzy_takes_a_number_of_edits(accept, edits):
    found = accept(FILM % f'fuzzy($f.plot, "x", {edits})', "$n: U32").clauses[1]
    assert found.max_edits is not None
    assert found.max_edits.type.scalar.is_integer


@pytest.mark.parametrize("edits", ['"1"', "1.5", "[1]", "$s", "$f.votes", "now()"])
def test_t19_a_number_of_edits_that_is_no_integer_is_refused(refuse, edits):
    refuse(FILM % f'fuzzy($f.plot, "x", «{edits}»)', Code.T19, parameters="$s: String")


# ── nearest ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "value"), [("[1, 2.5, 3, 4]", (1.0, 2.5, 3.0, 4.0)), ('"a text"', "a text")], ids=["list", "text"]
)
def test_nearest_takes_numbers_or_a_text(ranked, query, value):
    found = ranked(f"nearest($f.plotVec, {query})")
    assert isinstance(found, Nearest)
    assert found.query.value == value


def test_the_numbers_of_nearest_are_a_vector(ranked):
    found = ranked("nearest($f.plotVec, [1, 2, 3, 4])")
    assert found.query == Constant((1.0, 2.0, 3.0, 4.0), VECTOR)
    assert [type(each) for each in found.query.value] == [float] * 4


@pytest.mark.parametrize("declared", ["Vector(4)", "Vector(4)?", "String", "String?"])
def test_nearest_takes_a_vector_or_text_parameter(ranked, declared):
    assert ranked("nearest($f.plotVec, $q)", f"$q: {declared}").query.name == "q"


def test_nearest_knows_the_model_that_the_vector_is_embedded_with(ranked, accept):
    assert ranked('nearest($f.plotVec, "x")').model == "demo/embed"
    query = accept('match { $s: Studio } return { $s } order { nearest($s.face, "x") } limit 1')
    assert query.orderings[0].expression.model is None


def test_t15_nearest_of_an_unbound_variable_is_refused(refuse):
    refuse(RANKED % 'nearest(«$g».plotVec, "x")', Code.T15)


def test_t15_nearest_of_an_unknown_property_is_refused(refuse):
    (found,) = refuse(RANKED % 'nearest($f.«plotvec», "x")', Code.T15)
    assert found.label == 'did you mean "plotVec"?'


@pytest.mark.parametrize("field", ["plot", "stars", "tags", "marks"])
def test_t15_nearest_of_a_property_that_is_no_vector_is_refused(refuse, field):
    (found,) = refuse(RANKED % f'nearest($f.«{field}», "x")', Code.T15)
    assert found.help == "Vectors of Film: plotVec"


@pytest.mark.parametrize("query", ["[1, 2, 3]", "[1, 2, 3, 4, 5]", "[]"])
def test_t15_a_query_of_another_dimension_is_refused(refuse, query):
    (found,) = refuse(RANKED % f"nearest($f.plotVec, «{query}»)", Code.T15)
    assert "expects 4 dimensions, got" in found.message


def test_t15_a_vector_parameter_of_another_dimension_is_refused(refuse):
    (found,) = refuse(RANKED % "nearest($f.plotVec, «$q»)", Code.T15, parameters="$q: Vector(3)")
    assert found.message == "the query of nearest expects Vector(4) or String, but $q is Vector(3)"


@pytest.mark.parametrize("query", ["3", "$f", "$f.plotVec", "now()", "$l", "true"])
def test_t15_a_query_of_another_type_is_refused(refuse, query):
    refuse(RANKED % f"nearest($f.plotVec, «{query}»)", Code.T15, parameters="$l: [F32]")


def test_t15_an_element_that_is_no_number_is_refused(refuse):
    refuse(RANKED % 'nearest($f.plotVec, [1, «"2"», 3, 4])', Code.T15)


def test_an_undeclared_query_of_nearest_is_refused(refuse):
    refuse(RANKED % "nearest($f.plotVec, «$q»)", Code.NOT_BOUND)


# ── rrf ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

ARMS = 'nearest($f.plotVec, "x"), bm25($f.plot, "x")'


@pytest.mark.parametrize("k", ["60", "$k"])
def test_rrf_takes_two_rankings_and_k(ranked, k):
    found = ranked(f"rrf({ARMS}, {k})", "$k: I64")
    assert isinstance(found, Rrf)
    assert isinstance(found.first, Nearest)
    assert isinstance(found.second, Bm25)
    assert found.k is not None


def test_k_of_rrf_can_be_left_out(ranked):
    assert ranked(f"rrf({ARMS})").k is None


def test_rrf_takes_two_rankings_of_one_kind(ranked):
    assert isinstance(ranked('rrf(bm25($f.plot, "x"), bm25($f.title, "x"))').first, Bm25)


@pytest.mark.parametrize("k", ["0", "1.5", '"60"', "$s", "$f.votes", "[1]"])
def test_t21_a_k_that_is_no_positive_integer_is_refused(refuse, k):
    refuse(RANKED % f"rrf({ARMS}, «{k}»)", Code.T21, parameters="$s: String")


def test_t21_two_rankings_of_different_variables_cannot_be_fused(refuse):
    refuse(
        'match { $f: Film  $g: Film } return { $f } order { rrf(bm25($f.plot, "x"), «bm25($g.plot, "x")») } limit 3',
        Code.T21,
    )


def test_t21_an_arm_that_does_not_rank_is_refused(catalog):
    body = RANKED % 'rrf(bm25($f.plot, "x"), bm25($f.plot, "x"))'
    source = SourceText.of(f"query q() {{ {body} }}")
    (query,) = parse_queries(source).queries
    (ordering,) = query.body.orderings
    rrf = ordering.expression
    # The parser refuses such a text; a tree can still be built by hand.
    search = replace(rrf.first, function=TextFunction.SEARCH)
    read = replace(query.body, orderings=(replace(ordering, expression=replace(rrf, first=search)),))
    report = Report(source)
    assert check_query(replace(query, body=read), catalog, report) is None
    assert [(each.code, each.span) for each in report.diagnostics] == [(Code.T21, search.span)]


def test_both_arms_of_rrf_are_judged(refuse):
    refuse(RANKED % 'rrf(nearest($f.«plot», "x"), bm25($f.plot, «3»), «0»)', Code.T15, Code.T20, Code.T21)
