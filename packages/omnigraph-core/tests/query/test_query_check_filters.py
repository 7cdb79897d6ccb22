"""Filters: sections 8.1 to 8.3 of the language, codes T6, T7 and T24."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Scalar, ValueType
from omnigraph.query.ast import Operator, TextFunction
from omnigraph.query.checked import Comparison, Constant, ParameterRef, PropertyRef, TextMatch

FILM = "match { $f: Film %s } return { $f.code }"


@pytest.fixture
def compared(accept):
    """The one filter behind the binding of a film."""

    def check(clause: str, parameters: str = ""):
        _, found = accept(FILM % clause, parameters).clauses
        return found

    return check


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_filter_compares_a_property_with_a_value(compared):
    assert compared("$f.stars > 3.0") == Comparison(
        PropertyRef("f", "stars", ValueType(Scalar.F32, is_nullable=True)),
        Operator.GT,
        Constant(3.0, ValueType(Scalar.F64)),
    )


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    "sides",
    ['$f.title {} "x"', "$f.seen {} true", '$f.genre {} "drama"', "$f.votes {} 2.7", "2 {} $f.stars",
     '$f.released {} date("2020-01-01")', "$f.added {} now()", "$f.votes {} $f.rating", "1 {} 2"],
)  # fmt: skip
def test_all_six_operators_compare_every_scalar(compared, operator, sides):
    assert compared(sides.format(operator)).operator is Operator(operator)


def test_enum_membership_is_not_checked_in_a_filter(compared):
    assert compared('$f.genre = "horror"').right.value == "horror"


@pytest.mark.parametrize(
    "clause",
    ['$f.released = «"2020-03-01"»', "$f.seen = «1»", '«"3"» < $f.votes', "$f.released = «now()»",
     '$f.added >= «date("2020-01-01")»', "«$f.title = $f.votes»", "«$f.released = $f.added»"],
)  # fmt: skip
def test_t7_a_comparison_of_different_types_is_refused(refuse, clause):
    refuse(FILM % clause, Code.T7)


def test_t7_a_date_compared_with_text_says_how_to_write_it(refuse):
    (found,) = refuse(FILM % '$f.released = «"2020-03-01"»', Code.T7)
    assert found.message.startswith('$f.released (Date?) cannot be compared with "2020-03-01" (String)')
    assert found.help == 'Write date("2020-03-01").'


def test_t7_a_parameter_of_another_type_is_refused_in_a_filter(refuse):
    refuse(FILM % "$f.released >= «$d»", Code.T7, parameters="$d: String")


@pytest.mark.parametrize("clause", ['«$f.tags» = "a"', '«$f.tags» = ["a"]', "«$f.tags» = $f.tags", "$f.title = «[1]»"])
def test_t7_a_list_cannot_be_compared(refuse, clause):
    refuse(FILM % clause, Code.T7)


def test_t7_a_vector_cannot_be_compared(refuse):
    refuse(FILM % "«$f.plotVec» = $v", Code.T7, parameters="$v: Vector(4)")


def test_t24_a_blob_property_cannot_be_compared(refuse):
    (found,) = refuse(FILM % '$f.«poster» = "x"', Code.T24)
    assert found.message == "Film.poster is a Blob, which a query cannot read"


def test_t24_a_blob_parameter_cannot_be_compared(refuse):
    refuse(FILM % "$f.title = «$b»", Code.T24, parameters="$b: Blob")


def test_t7_a_node_variable_is_no_operand(refuse):
    (found,) = refuse('match { $f: Person «$f» = "x" } return { $f }', Code.T7)
    assert found.help == "Use one of its properties: $f.born, $f.handle, $f.mail"


def test_t7_an_alias_is_no_operand(refuse):
    refuse("match { $f: Film «score» > 1 } return { $f.code, $f.votes as score }", Code.T7)


def test_t7_an_aggregate_is_no_operand(refuse):
    refuse(FILM % "«count($f)» > 1", Code.T7)


@pytest.mark.parametrize(
    "call", ['bm25($f.plot, "x")', 'nearest($f.plotVec, "x")', 'rrf(bm25($f.plot, "x"), bm25($f.plot, "y"))']
)
def test_t7_a_ranking_is_no_operand(refuse, call):
    (found,) = refuse(FILM % f"«{call}» > 0.5", Code.T7)
    assert "order" in found.help


def test_t6_a_filter_before_its_variable_is_introduced_is_refused(refuse):
    (found,) = refuse("match { «$f».stars > 3.0  $f: Film } return { $f }", Code.T6)
    assert found.message == "$f is not bound"


def test_t6_an_unknown_property_is_refused_with_a_guess_and_the_choices(refuse):
    (found,) = refuse('match { $p: Person  $p.«handel» = "x" } return { $p }', Code.T6)
    assert found.message == 'Person has no property "handel"'
    assert found.label == 'did you mean "handle"?'
    assert found.help == "Person has: born, handle, mail"


def test_t6_the_id_is_no_property_and_the_help_says_where_it_is(refuse):
    (found,) = refuse('match { $p: Person  $p.«id» = "x" } return { $p }', Code.T6)
    assert found.help == "The id of a node is the value of its variable: $p."


def test_t6_a_parameter_has_no_properties(refuse):
    (found,) = refuse(FILM % '«$who».name = "x"', Code.T6, parameters="$who: String")
    assert "is a parameter" in found.help


def test_t6_an_edge_binding_has_the_properties_of_its_edge_only(refuse):
    refuse('match { $p $r:rented $f  $r.«src» = "x" } return { $p }', Code.T6)


def test_a_bare_variable_that_is_not_bound_is_refused(refuse):
    (found,) = refuse(FILM % "$f.title = «$nobody»", Code.NOT_BOUND)
    assert "is not bound" in found.message


def test_a_parameter_wins_over_a_variable_of_its_name(compared):
    assert compared("$f.title = $f", "$f: String").right == ParameterRef("f", ValueType(Scalar.STRING))


def test_a_property_is_that_of_the_variable_although_a_parameter_has_its_name(compared):
    assert compared('$f.title = "x"', "$f: String").left.variable == "f"


# ── contains and starts_with ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "clause",
    ['$f.tags contains "a"', "$f.marks contains 3", "$f.marks contains 3.5", '$f.days contains date("2020-01-01")',
     '["a", "b"] contains $f.title', "$f.tags contains $t"],
)  # fmt: skip
def test_contains_looks_for_an_item_in_a_list(compared, clause):
    assert compared(clause, "$t: String").operator is Operator.CONTAINS


@pytest.mark.parametrize(
    "clause", ['$f.title contains "a"', '"the great film" contains $f.title', '$f.genre contains "d"']
)
def test_contains_looks_for_a_text_in_a_text(compared, clause):
    assert compared(clause).operator is Operator.CONTAINS


@pytest.mark.parametrize(
    "clause",
    ["$f.tags contains «3»", '$f.tags contains «["a"]»', "$f.title contains «3»", '«$f.votes» contains "1"',
     "$f.title contains «$f.tags»", '«$f.plotVec» contains 1.0'],
)  # fmt: skip
def test_t7_contains_of_anything_else_is_refused(refuse, clause):
    refuse(FILM % clause, Code.T7)


def test_starts_with_compares_two_texts(compared):
    assert compared('$f.title starts_with "The"').operator is Operator.STARTS_WITH


@pytest.mark.parametrize(
    "clause", ["$f.title starts_with «3»", '«$f.votes» starts_with "1"', '«$f.tags» starts_with "a"']
)
def test_t7_starts_with_of_anything_else_is_refused(refuse, clause):
    refuse(FILM % clause, Code.T7)


# ── text calls as conditions ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "clause",
    [
        'search($f.plot, "x")',
        'search($f.plot, "x") = true',
        'true = search($f.plot, "x")',
        'search($f.plot, "x") != false',
    ],
)
def test_a_text_call_that_is_true_is_a_condition(compared, clause):
    found = compared(clause)
    assert isinstance(found, TextMatch)
    assert (found.function, found.field.property) == (TextFunction.SEARCH, "plot")


@pytest.mark.parametrize("clause", ['«search($f.plot, "x") = false»', '«search($f.plot, "x") != true»'])
def test_t7_a_text_call_that_is_false_is_written_as_a_negation(refuse, clause):
    (found,) = refuse(FILM % clause, Code.T7)
    assert "not { search(..) }" in found.help


@pytest.mark.parametrize(
    "clause", ['«search($f.plot, "x") = 1»', '«fuzzy($f.plot, "x") > true»', '«match_text($f.plot, "x") = $f.seen»']
)
def test_t7_a_text_call_cannot_be_compared_otherwise(refuse, clause):
    refuse(FILM % clause, Code.T7)
