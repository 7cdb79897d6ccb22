"""Parameters as declared, literals, and several mistakes at once: sections 7.5, 8.2 and 8.5 of the language."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Report, Scalar, SourceText, ValueType
from omnigraph.lang.diagnostics import MAX_ERRORS
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedParameter, Constant
from omnigraph.query.parser import parse_queries

RETURN = "match { $f: Film } return { %s }"


@pytest.fixture
def literal(accept):
    """The one literal that a query returns."""

    def check(text: str) -> Constant:
        (column,) = accept(RETURN % text).projections
        assert isinstance(column.expression, Constant)
        return column.expression

    return check


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_parameters_are_kept_in_the_order_of_declaration(accept):
    query = accept(RETURN % "$b", "$b: I32, $a: [String]?, $v: Vector(3)")
    assert query.parameters == (
        CheckedParameter("b", ValueType(Scalar.I32)),
        CheckedParameter("a", ValueType(Scalar.STRING, is_list=True, is_nullable=True)),
        CheckedParameter("v", ValueType(Scalar.VECTOR, dimension=3)),
    )


def test_a_parameter_need_not_be_used(accept):
    assert len(accept(RETURN % "$f", "$unused: Date").parameters) == 1


def test_the_name_of_the_time_parameter_is_reserved(refuse):
    refuse(RETURN % "$f", Code.RESERVED_PARAMETER, parameters="«$__nanograph_now»: DateTime")


def test_a_parameter_that_is_declared_twice_is_refused(refuse):
    (found,) = refuse(RETURN % "$f", Code.DUPLICATE_PARAMETER, parameters="$a: I32, «$a»: String")
    (first,) = found.related
    assert found.source.text[first.span.start : first.span.end] == "$a"
    assert first.span.start < found.span.start


def test_of_two_parameters_with_one_name_the_first_counts(refuse):
    refuse(
        RETURN % "sum($a), sum(«$b»)",
        Code.DUPLICATE_PARAMETER,
        Code.T8,
        parameters="$a: I32, «$a»: String, $b: String",
    )


# ── literals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "value", "scalar"),
    [
        ('"a\\nb"', "a\nb", Scalar.STRING),
        ("12", 12, Scalar.I64),
        ("1.5", 1.5, Scalar.F64),
        ("true", True, Scalar.BOOL),
        ('date("1970-02-01")', 31, Scalar.DATE),
        ('datetime("1970-01-01T00:00:00.250Z")', 250, Scalar.DATETIME),
    ],
)
def test_a_literal_has_the_type_that_it_looks_like(literal, text, value, scalar):
    found = literal(text)
    assert found == Constant(value, ValueType(scalar))
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("text", "value", "scalar"),
    [
        ('["a", "b"]', ("a", "b"), Scalar.STRING),
        ("[1, 2]", (1, 2), Scalar.I64),
        ("[1, 2.5]", (1.0, 2.5), Scalar.F64),
        ("[2.5, 1]", (2.5, 1.0), Scalar.F64),
        ("[true]", (True,), Scalar.BOOL),
        ('[date("1970-01-02")]', (1,), Scalar.DATE),
    ],
)
def test_a_list_has_the_type_of_its_items(literal, text, value, scalar):
    found = literal(text)
    assert found == Constant(value, ValueType(scalar, is_list=True))
    assert isinstance(found.value, tuple)
    assert [type(each) for each in found.value] == [type(each) for each in value]


@pytest.mark.parametrize(
    "text", ['[1, «"a"»]', '["a", «1»]', '["2020-01-01", «date("2020-01-01")»]', "[true, «1»]", "[1, «true»]"]
)
def test_a_list_of_different_types_is_refused(refuse, text):
    refuse(RETURN % text, Code.BAD_LIST_LITERAL)


def test_a_list_of_lists_is_refused(refuse):
    refuse(RETURN % "[«[1]»]", Code.BAD_LIST_LITERAL)


def test_an_empty_list_has_no_type(refuse):
    refuse(RETURN % "«[]»", Code.BAD_LIST_LITERAL)


@pytest.mark.parametrize("text", ['«date("yesterday")»', '«datetime("2020-01-01T10:00")»', '[«date("x")»]'])
def test_a_text_that_is_no_date_is_refused(refuse, text):
    refuse(RETURN % text, Code.BAD_DATE)


# ── several mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_independent_mistakes_are_all_told(refuse):
    refuse(
        'match { $f: Film { «nme»: "x" }  $f.«stras» > 3  $p «rentd» $f } return { $f.«a», «$g» } order { «zz» }',
        Code.T2,
        Code.T6,
        Code.T4,
        Code.T6,
        Code.NOT_BOUND,
        Code.UNKNOWN_COLUMN,
    )


@pytest.mark.parametrize(
    "query",
    [
        "match { $f: «Flim» { code: $c }  $f.code = 3  $p rented $f  $p.a = 1 } return { $f, $p.x, $f.y }",
        "match { $a «rentd» $b  $a.x = $b.y  $b made $c  $c.z = 1 } return { $a, $b.q, $c.r }",
        "match { $a $e:«rentd» $b  $e.x = 1 } return { $e.y }",
        "match { $f: «Flim»  not { $f.x = 1 }  search($f.y, $c) } return { count($f) as n } order { n }",
        "match { $f: «Flim» } return { nearest($f.v, $c) as d } order { d }",
    ],
)
def test_what_follows_from_a_mistake_is_not_told(refuse, query):
    code = Code.T4 if "rentd" in query else Code.T1
    refuse(query, code, parameters="$c: String")


def test_an_ordering_by_a_column_that_was_refused_is_not_told(refuse):
    refuse("match { $f: Film } return { $f.«nme» as n } order { n }", Code.T6)


def test_an_end_that_did_not_fit_leaves_the_other_unknown(refuse):
    refuse("match { $s: Studio  «$s» rented $x  $x.anything = 1 } return { $x }", Code.T5)


def test_values_are_judged_although_their_property_is_unknown(refuse):
    refuse('match { $f: «Flim» { a: «$x», b: «date("z")» } } return { $f }', Code.T1, Code.NOT_BOUND, Code.BAD_DATE)
    refuse("insert «Flim» { a: «$x» }", Code.T10, Code.T14)


def test_a_query_that_is_wrong_is_none_although_the_report_is_full(catalog):
    source = SourceText.of("query q() { match { $f: Flim } return { $f } }")
    report = Report(source)
    for place in range(MAX_ERRORS):
        report.add(Code.T1, (place, place + 1), "another")
    assert report.is_full
    assert check_query(parse_queries(source).queries[0], catalog, report) is None


def test_a_query_that_is_wrong_is_none_when_it_is_checked_again(catalog):
    source = SourceText.of("query q() { match { $f: Flim } return { $f } }")
    report = Report(source)
    (query,) = parse_queries(source).queries
    assert check_query(query, catalog, report) is None
    assert check_query(query, catalog, report) is None
    assert len(report) == 1


def test_a_right_query_is_checked_although_another_was_wrong(catalog):
    source = SourceText.of(
        "query a() { match { $f: Flim } return { $f } }\nquery b() { match { $f: Film } return { $f } }"
    )
    report = Report(source)
    first, second = (check_query(each, catalog, report) for each in parse_queries(source).queries)
    assert first is None
    assert second is not None


def test_descriptions_are_kept(catalog):
    source = SourceText.of('query q() @description("d") @instruction("i") { match { $f: Film } return { $f } }')
    query = check_query(parse_queries(source).queries[0], catalog, Report(source))
    assert query is not None
    assert (query.name, query.description, query.instruction) == ("q", "d", "i")
