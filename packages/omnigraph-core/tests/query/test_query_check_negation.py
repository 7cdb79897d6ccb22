"""Negations: sections 8.6 and 9.8 of the language, code T9 (a)."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code
from omnigraph.query.checked import Binding, BoundVariable, Direction, Negation, TextMatch, Traversal

PERSON = "match { $p: Person  %s } return { $p.handle }"


@pytest.fixture
def negated(accept):
    """The last clause of a match block that starts with a person and a film."""

    def check(clause: str, parameters: str = "") -> Negation:
        query = accept(f"match {{ $p: Person  $f: Film  {clause} }} return {{ $p.handle }}", parameters)
        negation = query.clauses[-1]
        assert isinstance(negation, Negation)
        return negation

    return check


@pytest.mark.parametrize(
    ("clause", "correlated"),
    [
        ("not { $p rented $_ }", ("p",)),
        ("not { $_ follows $p }", ("p",)),
        ("not { $p rented $f }", ("f", "p")),
        ("not { $f.stars > 3.0 }", ("f",)),
        ("not { 3.0 < $f.stars }", ("f",)),
        ('not { $p: Person { handle: "x" } }', ("p",)),
        ('not { search($f.plot, "x") }', ("f",)),
        ("not { $q: Person  $q.handle = $p.handle }", ("p",)),
    ],
    ids=["left end", "right end", "both ends", "filter", "right side", "re-binding", "text clause", "beside its own"],
)
def test_a_negation_mentions_a_variable_from_outside(negated, clause, correlated):
    assert negated(clause).correlated == correlated


@pytest.mark.parametrize(
    "clause",
    [
        "«not» { $a follows $b }",
        "«not» { $q: Person }",
        '«not» { $q: Person  $q.handle = "x" }',
        "«not» { $_ rented $_ }",
        "«not» { 1 = 2 }",
        "«not» { $q: Person { handle: $h } }",
    ],
)
def test_t9_a_negation_that_mentions_nothing_from_outside_is_refused(refuse, clause):
    (found,) = refuse(PERSON % clause, Code.T9, parameters="$h: String")
    assert found.help == "Use one of $p in it."


def test_t9_a_negation_in_front_of_everything_is_refused(refuse):
    (found,) = refuse("match { «not» { $p rented $_ }  $p: Person } return { $p }", Code.T9)
    assert found.help == "Write it behind what binds the variable."


def test_t9_a_mention_in_a_nested_negation_does_not_count_for_the_outer_one(refuse):
    refuse(PERSON % "«not» { $q: Person  not { $q follows $p } }", Code.T9)


def test_t9_a_nested_negation_needs_a_mention_too(refuse):
    refuse(PERSON % "not { $p rented $f  «not» { $g: Film } }", Code.T9)


def test_a_parameter_of_the_name_of_a_variable_is_no_mention(refuse):
    refuse(PERSON % "«not» { $q: Person { handle: $p } }", Code.T9, parameters="$p: String")


def test_names_of_a_negation_are_its_own(negated):
    negation = negated("not { $p rented $g }")
    assert negation.variables == {"g": BoundVariable("g", "Film")}


def test_names_of_a_negation_do_not_leave_it(refuse):
    refuse(PERSON % 'not { $p $r:rented $g }  «$g».title = "x"  «$r».note = "x"', Code.T6, Code.T6)


def test_two_negations_may_use_one_name_for_different_types(accept):
    query = accept(PERSON % 'not { $p rented $x }  not { $p follows $x  $x.mail = "y" }')
    types = [each.variables["x"].type_name for each in query.clauses if isinstance(each, Negation)]
    assert types == ["Film", "Person"]


def test_a_negation_may_use_a_name_that_is_bound_behind_it(accept):
    query = accept(PERSON % "not { $p rented $x }  $x: Studio")
    assert query.variables["x"].type_name == "Studio"
    assert query.clauses[1].variables["x"].type_name == "Film"


def test_a_traversal_in_a_negation_is_flipped_by_the_types_from_outside(negated):
    (traversal,) = negated("not { $f directed $q }").clauses
    assert isinstance(traversal, Traversal)
    assert (traversal.direction, traversal.left_type, traversal.right_type) == (Direction.BACKWARD, "Film", "Person")


def test_a_traversal_in_a_negation_that_is_written_the_other_way_says_the_same(negated):
    (traversal,) = negated("not { $q directed $f }").clauses
    assert (traversal.direction, traversal.left_type) == (Direction.FORWARD, "Person")


def test_a_re_binding_in_a_negation_is_about_the_outer_variable(negated):
    negation = negated('not { $p: Person { handle: "x" } }')
    (binding,) = negation.clauses
    assert isinstance(binding, Binding)
    assert (binding.variable, negation.variables, negation.correlated) == ("p", {}, ("p",))


def test_a_re_binding_in_a_negation_to_another_type_is_refused(refuse):
    refuse(PERSON % "not { $p: «Film» }", Code.ALREADY_BOUND)


def test_a_nested_negation_mentions_outer_variables_for_all_levels(negated):
    outer = negated("not { $p rented $g  not { $g.title = $f.title } }")
    inner = outer.clauses[1]
    assert isinstance(inner, Negation)
    assert outer.correlated == ("f", "p")
    assert inner.correlated == ("f", "g")


def test_a_text_clause_in_a_negation_is_a_condition(negated):
    (found,) = negated('not { search($f.plot, "x") = true }').clauses
    assert isinstance(found, TextMatch)


def test_what_is_wrong_in_a_negation_is_told_once(refuse):
    refuse(PERSON % "not { $q «rentd» $g }", Code.T4)


def test_an_edge_binding_from_outside_is_a_mention(accept):
    query = accept('match { $p $r:rented $f  not { $r.note = "x" } } return { $p }')
    assert query.clauses[1].correlated == ("r",)


def test_t23_an_edge_binding_in_a_negation_needs_a_name_that_is_not_used_outside(refuse):
    refuse(PERSON % "not { $p «$p»:rented $f }", Code.T23)
    refuse("match { $q: Person  $p: Person  not { $p «$q»:rented $f } } return { $p }", Code.T23)
