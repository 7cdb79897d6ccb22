"""Columns and their order: sections 8.3, 11.1, 11.2 and 11.4 of the language, codes T8, T9 (b), T17, T18, T21, T24."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Scalar, ValueType
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import (
    COUNT,
    Aggregate,
    Bm25,
    ColumnRef,
    Constant,
    CurrentTime,
    EntityRef,
    Nearest,
    Ordering,
    ParameterRef,
    PropertyRef,
    Rrf,
)

STRING = ValueType(Scalar.STRING)
SCORES = (
    'bm25($f.plot, "x") as score, nearest($f.plotVec, "x") as far, rrf(bm25($f.plot, "x"), bm25($f.title, "x")) as both'
)


@pytest.fixture
def returned(accept):
    """The one column of a query over films, their renters and the edges between."""

    def check(projection: str, parameters: str = ""):
        query = accept(f"match {{ $p $r:rented $f }} return {{ {projection} }}", parameters)
        (column,) = query.projections
        return column

    return check


@pytest.fixture
def ordered(accept):
    """The sort keys of films."""

    def check(orderings: str, projections: str = "$f.code", parameters: str = "") -> tuple[Ordering, ...]:
        query = accept(f"match {{ $f: Film }} return {{ {projections} }} order {{ {orderings} }} limit 5", parameters)
        return query.orderings

    return check


def films(orderings: str, projections: str = "$f.code", limit: str = "limit 5") -> str:
    return f"match {{ $f: Film }} return {{ {projections} }} order {{ {orderings} }} {limit}"


# ── names of columns ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("projection", "name"),
    [
        ("$f.title", "f.title"),
        ("$r.on", "r.on"),
        ("$f", "f"),
        ("$q", "q"),
        ('"text"', "literal"),
        ("3", "literal"),
        ("[1, 2]", "literal"),
        ('date("2020-01-01")', "literal"),
        ("now()", "now"),
        ("count($f)", "f"),
        ("avg($f.stars)", "f.stars"),
        ("count($q)", "q"),
        ("max(3)", "literal"),
        ('bm25($f.plot, "x")', "bm25"),
        ('nearest($f.plotVec, "x")', "nearest"),
        ('rrf(bm25($f.plot, "x"), bm25($f.title, "x"))', "rrf"),
    ],
)
def test_a_column_without_an_alias_is_named_by_what_it_is(returned, projection, name):
    column = returned(projection, "$q: String")
    assert (column.name, column.is_aliased) == (name, False)


@pytest.mark.parametrize("projection", ["$f.title", "$f", "$q", "3", "count($f)", 'bm25($f.plot, "x")'])
def test_an_alias_is_the_name_of_its_column(returned, projection):
    column = returned(f"{projection} as n", "$q: String")
    assert (column.name, column.is_aliased) == ("n", True)


def test_columns_are_in_the_order_of_the_text(accept):
    query = accept("match { $p rented $f } return { $f.title $p, $f.code }")
    assert [each.name for each in query.projections] == ["f.title", "p", "f.code"]


def test_one_property_of_two_variables_makes_two_columns(accept):
    query = accept("match { $a follows $b } return { $a.handle, $b.handle }")
    assert [each.name for each in query.projections] == ["a.handle", "b.handle"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("$f.code", "«$f.code»"), ("$f.code as n", "$f.title as «n»"), ("$f", "«count($f)»"), ("3", "«4»"),
     ("$f.stars", "«avg($f.stars)»")],
)  # fmt: skip
def test_two_columns_of_one_name_are_refused_and_both_are_named(refuse, first, second):
    (found,) = refuse(f"match {{ $f: Film }} return {{ {first}, {second} }}", Code.DUPLICATE_OUTPUT)
    plain = second.replace("«", "").replace("»", "")
    assert found.message.endswith(f": {first} and {plain}")
    (other,) = found.related
    assert found.source.text[other.span.start : other.span.end] == first


# ── values of columns ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("projection", "expression"),
    [
        ("$f.stars", PropertyRef("f", "stars", ValueType(Scalar.F32, is_nullable=True))),
        ("$r.on", PropertyRef("r", "on", ValueType(Scalar.DATE, is_nullable=True), is_edge=True)),
        ("$f", EntityRef("f", "Film", STRING)),
        ("$q", ParameterRef("q", STRING)),
        ('"x"', Constant("x", STRING)),
        ("now()", CurrentTime()),
    ],
)
def test_a_column_holds_a_property_a_node_id_a_parameter_a_literal_or_the_time(returned, projection, expression):
    assert returned(projection, "$q: String").expression == expression


def test_a_parameter_wins_over_a_node_of_its_name(returned):
    assert returned("$f", "$f: I32").expression == ParameterRef("f", ValueType(Scalar.I32))


def test_scores_are_columns(accept):
    query = accept(f"match {{ $f: Film }} return {{ {SCORES} }}")
    assert [type(each.expression) for each in query.projections] == [Bm25, Nearest, Rrf]
    assert {each.type.scalar for each in query.projections} == {Scalar.F64}


def test_a_score_needs_no_ordering_and_no_limit(returned):
    assert isinstance(returned('nearest($f.plotVec, "x")').expression, Nearest)


@pytest.mark.parametrize("call", ['search($f.plot, "x")', 'fuzzy($f.plot, "x")', 'match_text($f.plot, "x")'])
def test_a_condition_is_no_column(refuse, call):
    (found,) = refuse(f"match {{ $f: Film }} return {{ «{call}» }}", Code.BAD_PROJECTION)
    assert "bm25" in found.help


def test_a_bare_word_is_no_column_and_its_property_is_guessed(refuse):
    (found,) = refuse("match { $f: Film } return { «title» }", Code.BAD_PROJECTION)
    assert found.label == 'did you mean "$f.title"?'


def test_t6_an_unknown_property_cannot_be_returned(refuse):
    refuse("match { $f: Film } return { $f.«nme», «$g».title }", Code.T6, Code.T6)


def test_a_variable_that_is_not_bound_cannot_be_returned(refuse):
    refuse("match { $f: Film } return { «$g» }", Code.NOT_BOUND)


def test_t24_a_blob_cannot_be_returned(refuse):
    refuse("match { $f: Film } return { $f.«poster» }", Code.T24)
    refuse("match { $f: Film } return { «$b» }", Code.T24, parameters="$b: Blob")


@pytest.mark.parametrize("projection", ["$f.tags", "$f.plotVec"])
def test_lists_and_vectors_can_be_returned(returned, projection):
    assert returned(projection).name == projection[1:]


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("argument", ["$f", "$f.title", "$f.tags", "$f.plotVec", "$f.added", "$q", "1", "now()"])
def test_count_takes_anything(returned, argument):
    column = returned(f"count({argument})", "$q: String")
    assert column.expression.type == COUNT


@pytest.mark.parametrize("function", ["sum", "avg"])
@pytest.mark.parametrize("argument", ["$f.votes", "$f.gross", "$f.stars", "$f.rating", "$n", "1.5", "$f"])
def test_sum_and_avg_take_numbers(returned, function, argument):
    expression = returned(f"{function}({argument})", "$n: I32").expression
    assert isinstance(expression, Aggregate)
    assert expression.function is AggregateFunction(function)
    assert expression.type == ValueType(Scalar.F64, is_nullable=True)


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize(
    ("argument", "scalar"), [("$f.votes", Scalar.I32), ("$f.title", Scalar.STRING), ("$f", Scalar.STRING)]
)
def test_min_and_max_take_numbers_and_strings_and_keep_their_type(returned, function, argument, scalar):
    assert returned(f"{function}({argument})").type == ValueType(scalar, is_nullable=True)


@pytest.mark.parametrize("function", ["sum", "avg"])
@pytest.mark.parametrize("argument", ["$f.title", "$f.added", "$f.seen", "$f.marks", '"x"', "now()"])
def test_t8_sum_and_avg_of_anything_else_are_refused(refuse, function, argument):
    refuse(f"match {{ $f: Film }} return {{ {function}(«{argument}») }}", Code.T8)


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("argument", ["$f.released", "$f.added", "$f.seen", "$f.tags", "$f.plotVec", "now()"])
def test_t8_min_and_max_of_anything_else_are_refused(refuse, function, argument):
    refuse(f"match {{ $f: Film }} return {{ {function}(«{argument}») }}", Code.T8)


@pytest.mark.parametrize("argument", ["count($f)", 'bm25($f.plot, "x")', "title", 'search($f.plot, "x")'])
def test_t8_an_aggregate_of_a_call_or_a_word_is_refused(refuse, argument):
    refuse(f"match {{ $f: Film }} return {{ count(«{argument}») as n }}", Code.T8)


def test_t24_a_blob_cannot_be_counted(refuse):
    refuse("match { $f: Film } return { count($f.«poster») }", Code.T24)


def test_beside_an_aggregate_properties_nodes_and_parameters_are_the_group_key(accept):
    query = accept("match { $p rented $f } return { $f.genre, $f, $q, count($p) as n }", "$q: String")
    assert query.is_aggregate


def test_without_an_aggregate_nothing_is_grouped(accept):
    assert not accept("match { $f: Film } return { $f.genre, 3 }").is_aggregate


@pytest.mark.parametrize("other", ["3", '"x"', "now()", 'bm25($f.plot, "x")', "[1]"])
def test_t9_anything_else_beside_an_aggregate_is_refused(refuse, other):
    refuse(f"match {{ $f: Film }} return {{ $f.genre, «{other}», count($f) as n }}", Code.T9)


@pytest.mark.parametrize("other", ["title", 'search($f.plot, "x")', 'bm25($f.votes, "x")'])
def test_t9_is_told_once_of_what_could_not_stand_by_itself_either(refuse, other):
    refuse(f"match {{ $f: Film }} return {{ «{other}», count($f) as n }}", Code.T9)


def test_t9_says_all_of_two_literals_without_a_name(refuse):
    refuse("match { $f: Film } return { «1», «2», count($f) as n } order { literal }", Code.T9, Code.T9)


def test_t9_a_bare_word_beside_an_aggregate_is_guessed_to_be_a_property(refuse):
    (found,) = refuse("match { $f: Film } return { «title», count($f) as n }", Code.T9)
    assert found.label == 'did you mean "$f.title"?'


def test_t9_is_also_told_of_a_projection_in_front_of_the_aggregate(refuse):
    refuse("match { $f: Film } return { «3» as three, count($f) as n, «now()» }", Code.T9, Code.T9)


# ── orderings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_can_be_ordered_by_a_property_that_is_not_returned(ordered):
    (key,) = ordered("$f.stars desc")
    assert key == Ordering(PropertyRef("f", "stars", ValueType(Scalar.F32, is_nullable=True)), is_descending=True)


def test_rows_can_be_ordered_by_an_alias(ordered):
    assert ordered("n", "$f.code as n") == (Ordering(ColumnRef("n", STRING)),)


@pytest.mark.parametrize(("column", "name"), [("$f", "f"), ("3", "literal"), ("now()", "now")])
def test_rows_can_be_ordered_by_the_name_of_a_column(ordered, column, name):
    assert ordered(name, column)[0].expression.name == name


def test_rows_can_be_ordered_by_a_property_of_an_edge(accept):
    query = accept("match { $p $r:rented $f } return { $p } order { $r.on }")
    assert query.orderings[0].expression.is_edge


def test_an_unknown_column_is_refused_with_the_choices(refuse):
    (found,) = refuse(films("«scor»", "$f.code, $f.votes as score"), Code.UNKNOWN_COLUMN)
    assert found.label == 'did you mean "score"?'
    assert found.help == "Columns: f.code, score"


def test_an_unknown_column_that_is_a_property_is_recognised(refuse):
    (found,) = refuse(films("«released»"), Code.UNKNOWN_COLUMN)
    assert found.label == 'did you mean "$f.released"?'


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("count($f)", "as n"),
        ("$f", "Use one of its properties"),
        ("3", "Order by a property or a column."),
        ('"code"', "Order by a property or a column."),
        ("now()", "Order by a property or a column."),
        ("$q", "Order by a property."),
        ('search($f.plot, "x")', "bm25"),
    ],
)
def test_what_has_no_order_is_refused_with_what_to_write_instead(refuse, key, advice):
    (found,) = refuse(films(f"«{key}»"), Code.BAD_ORDERING, parameters="$q: String")
    assert advice in found.help


def test_an_ordering_by_a_returned_aggregate_names_its_alias(refuse):
    (found,) = refuse(films("«count($f)» desc", "$f.genre, count($f) as films"), Code.BAD_ORDERING)
    assert found.help == "Order by its column: films."


@pytest.mark.parametrize("key", ["$f.tags", "$f.plotVec"])
def test_lists_and_vectors_have_no_order(refuse, key):
    refuse(films(f"«{key}»"), Code.BAD_ORDERING)
    (found,) = refuse(films("«n»", f"{key} as n"), Code.BAD_ORDERING)
    assert (found.help is not None) == (key == "$f.plotVec")


@pytest.mark.parametrize("key", ["$f.tags", "$f.plotVec"])
def test_lists_and_vectors_have_no_order_in_groups_either(refuse, key):
    refuse(films(f"«{key}»", f"{key}, count($f) as n"), Code.BAD_ORDERING)


def test_an_ordering_by_a_variable_that_is_not_bound_says_so(refuse):
    (found,) = refuse(films("«$fi»"), Code.NOT_BOUND)
    assert found.label == 'did you mean "$f"?'


def test_t23_rows_cannot_be_ordered_by_an_edge_binding(refuse):
    refuse("match { $p $r:rented $f } return { $p } order { «$r» }", Code.T23)


def test_an_ordering_by_a_node_names_properties_that_it_has(refuse):
    (found,) = refuse("match { $p: Person } return { $p.mail } order { «$p» }", Code.BAD_ORDERING)
    assert "$p.handle" in found.help


def test_a_refused_variable_is_not_refused_again_in_the_order(refuse):
    refuse("match { $x: «Flim» } return { $x } order { $x }", Code.T1)


def test_t24_rows_cannot_be_ordered_by_a_blob(refuse):
    refuse(films("$f.«poster»"), Code.T24)


def test_t6_rows_cannot_be_ordered_by_what_is_not_there(refuse):
    refuse(films("$f.«nme», «$g».title"), Code.T6, Code.T6)


def test_groups_can_be_ordered_by_a_property_that_is_a_column(ordered):
    assert ordered("$f.genre, n", "$f.genre, count($f) as n")[0].expression.name == "f.genre"


def test_groups_can_be_ordered_by_the_column_that_an_aggregate_has_without_alias(ordered):
    (key,) = ordered("$f.stars", "avg($f.stars)")
    assert key.expression == ColumnRef("f.stars", ValueType(Scalar.F64, is_nullable=True))


def test_groups_cannot_be_ordered_by_a_property_that_is_no_column(refuse):
    refuse(films("«$f.title»", "$f.genre, count($f) as n"), Code.BAD_ORDERING)


def test_groups_cannot_be_ordered_by_a_property_under_an_alias(refuse):
    (found,) = refuse(films("«$f.genre»", "$f.genre as kind, count($f) as n"), Code.BAD_ORDERING)
    assert found.help == "Order by its column: kind."


def test_groups_cannot_be_ranked(refuse):
    refuse(films('bm25($f.«votes», "x")', "$f.genre, count($f) as n"), Code.T20)
    refuse(films('«bm25($f.plot, "x")»', "$f.genre, count($f) as n"), Code.BAD_ORDERING)


# ── rankings and limits ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("alias", "ranking"), [("score", Bm25), ("far", Nearest), ("both", Rrf)])
def test_the_alias_of_a_ranking_means_the_ranking(ordered, alias, ranking):
    (key,) = ordered(alias, SCORES)
    assert isinstance(key.expression, ranking)


def test_the_default_name_of_a_ranking_means_the_ranking(ordered):
    assert isinstance(ordered("bm25", 'bm25($f.plot, "x")')[0].expression, Bm25)


def test_properties_behind_a_ranking_break_its_ties(ordered):
    keys = ordered('nearest($f.plotVec, "x"), $f.title desc, $f.code')
    assert [type(each.expression) for each in keys] == [Nearest, PropertyRef, PropertyRef]


def test_bm25_needs_no_limit(accept):
    assert accept(films('bm25($f.plot, "x")', limit="")).limit is None


def test_t17_an_ordering_by_nearest_without_a_limit_is_refused(refuse):
    refuse(films('«nearest($f.plotVec, "x")»', limit=""), Code.T17)


def test_t17_looks_through_aliases(refuse):
    refuse(films("«far»", SCORES, limit=""), Code.T17)


def test_t17_a_nearest_behind_another_key_needs_a_limit_too(refuse):
    refuse(films('$f.genre, «nearest($f.plotVec, "x")»', limit=""), Code.T17)


def test_t21_an_ordering_by_rrf_without_a_limit_is_refused(refuse):
    refuse(films('«rrf(nearest($f.plotVec, "x"), bm25($f.plot, "x"))»', limit=""), Code.T21)


def test_t21_looks_through_aliases(refuse):
    refuse(films("«both»", SCORES, limit=""), Code.T21)


@pytest.mark.parametrize("key", ["far", "$f.genre, far"])
def test_the_alias_of_nearest_takes_no_direction_as_nearest_does_not(refuse, ordered, key):
    assert ordered(f"{key} asc", SCORES)
    (found,) = refuse(films(f"{key.replace('far', '«far desc»')}", SCORES), Code.BAD_ORDERING)
    assert found.label == "leave desc out"
    assert "smallest distance first" in found.help


def test_t18_an_ordering_by_an_alias_with_one_by_nearest_is_refused(refuse):
    refuse(films('nearest($f.plotVec, "x"), «n»', "$f.code as n"), Code.T18)
    refuse(films("«n», far", f"$f.code as n, {SCORES}"), Code.T18)


def test_t18_does_not_concern_bm25_and_rrf(ordered):
    assert len(ordered("score, n", f"$f.code as n, {SCORES}")) == 2
    assert len(ordered("both, n", f"$f.code as n, {SCORES}")) == 2


def test_t18_does_not_concern_the_alias_of_another_ranking(ordered):
    assert [type(each.expression) for each in ordered("far, score", SCORES)] == [Nearest, Bm25]


def test_a_limit_is_kept(accept):
    assert accept("match { $f: Film } return { $f } limit 0").limit == 0
