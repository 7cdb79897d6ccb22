"""Bindings and inline matches: sections 8.1 to 8.3 of the language, codes T1, T2, T3 and T7."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Scalar, ValueType
from omnigraph.query.checked import (
    Binding,
    BoundVariable,
    CheckedRead,
    Constant,
    CurrentTime,
    ParameterRef,
    PropertyMatch,
    PropertyRef,
)

FILM = "match { $f: Film %s } return { $f.code }"


@pytest.fixture
def matched(accept):
    """The inline matches of a film."""

    def check(matches: str, parameters: str = "") -> tuple[PropertyMatch, ...]:
        query = accept(FILM % f"{{ {matches} }}", parameters)
        assert isinstance(query, CheckedRead)
        (binding,) = query.clauses
        assert isinstance(binding, Binding)
        return binding.matches

    return check


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_binding_introduces_a_variable_of_its_type(accept):
    query = accept("match { $f: Film } return { $f.code }")
    assert query.variables == {"f": BoundVariable("f", "Film")}
    assert query.clauses == (Binding("f", "Film"),)


def test_t1_an_unknown_node_type_is_refused_with_a_guess(refuse):
    (found,) = refuse("match { $f: «Flim» } return { $f.code }", Code.T1)
    assert found.message == 'there is no node type "Flim"'
    assert found.label == 'did you mean "Film"?'
    assert found.help == "Node types: Film, Person, Review, Seat, Studio"


def test_t1_an_interface_cannot_be_bound(refuse):
    (found,) = refuse("match { $f: «Titled» } return { $f }", Code.T1)
    assert found.help == "It is implemented by: Film"


def test_t1_an_edge_type_cannot_be_bound(refuse):
    (found,) = refuse("match { $f: «Rented» } return { $f }", Code.T1)
    assert "$a rented $b" in found.help


def test_node_types_are_spelled_exactly(refuse):
    refuse("match { $f: «FILM» } return { $f }", Code.T1)


def test_a_variable_can_be_bound_to_its_type_again(accept):
    query = accept('match { $f: Film  $f: Film { code: "a" } } return { $f }')
    assert [each.type_name for each in query.clauses] == ["Film", "Film"]


def test_a_variable_cannot_be_bound_to_another_type(refuse):
    (found,) = refuse("match { $f: Film  $f: «Person» } return { $f }", Code.ALREADY_BOUND)
    assert "already bound to type Film" in found.message


def test_a_binding_that_contradicts_an_earlier_unbound_traversal_is_refused(refuse):
    (found,) = refuse("match { $f rented $p  $f: «Film» } return { $f }", Code.ALREADY_BOUND)
    assert "already bound to type Person" in found.message


def test_the_anonymous_variable_cannot_be_bound(refuse):
    refuse("match { $f: Film «$_»: Person } return { $f }", Code.NOT_BOUND)


# ── inline matches ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_inline_match_compares_a_property_with_a_literal(matched):
    (found,) = matched('code: "SF-1"')
    assert found == PropertyMatch(
        PropertyRef("f", "code", ValueType(Scalar.STRING)), Constant("SF-1", ValueType(Scalar.STRING))
    )
    assert not found.is_membership


def test_t2_an_unknown_property_is_refused_with_a_guess(refuse):
    (found,) = refuse(FILM % '{ «titel»: "x" }', Code.T2)
    assert found.message == 'Film has no property "titel"'
    assert found.label == 'did you mean "title"?'
    assert found.help.startswith("Film has: added, code, days")


def test_t2_the_id_is_no_property(refuse):
    refuse(FILM % '{ «id»: "x" }', Code.T2)


@pytest.mark.parametrize(
    ("match", "value"),
    [
        ('released: date("2020-03-01")', 18322),
        ('added: datetime("1970-01-02T00:00:01Z")', 86_401_000),
        ("seen: true", True),
        ("votes: 3", 3),
        ("votes: 2.7", 2.7),
        ("stars: 4", 4),
        ("seats: 5", 5),
        ("votes: 3000000000", 3_000_000_000),
    ],
)
def test_a_literal_of_a_compatible_type_matches(matched, match, value):
    (found,) = matched(match)
    assert found.value.value == value
    assert type(found.value.value) is type(value)


@pytest.mark.parametrize(
    "match",
    ['released: «"2020-03-01"»', 'added: «date("2020-03-01")»', 'released: «datetime("2020-03-01")»', 'votes: «"3"»',
     "code: «3»", "seen: «1»", 'seen: «"true"»', "title: «true»", 'code: «["a"]»', "votes: «[1]»"],
)  # fmt: skip
def test_t3_a_literal_of_another_type_is_refused(refuse, match):
    refuse(FILM % f"{{ {match} }}", Code.T3)


def test_t3_a_string_for_a_date_says_how_to_write_it(refuse):
    (found,) = refuse(FILM % '{ released: «"2020-03-01"» }', Code.T3)
    assert found.message == 'Film.released expects Date, got "2020-03-01"'
    assert found.help == 'Write date("2020-03-01").'


def test_an_enum_member_matches(matched):
    assert matched('genre: "sci-fi"')[0].value.value == "sci-fi"


def test_t3_a_literal_that_is_no_enum_member_is_refused(refuse):
    (found,) = refuse(FILM % '{ genre: «"scifi"» }', Code.T3)
    assert found.message == '"scifi" is not a value of Film.genre'
    assert found.label == 'did you mean "sci-fi"?'
    assert found.help == "Film.genre takes: docu, drama, sci-fi"


def test_a_declared_parameter_matches(matched):
    (found,) = matched("genre: $g", "$g: String?")
    assert found.value == ParameterRef("g", ValueType(Scalar.STRING, is_nullable=True))


@pytest.mark.parametrize("declared", ["I32", "I64", "U32", "U64", "F32", "F64"])
def test_a_number_matches_a_parameter_of_any_numeric_type(matched, declared):
    assert matched("votes: $n", f"$n: {declared}")


@pytest.mark.parametrize(
    ("match", "parameters"),
    [("genre: «$g»", "$g: I32"), ("released: «$g»", "$g: String"), ("released: «$g»", "$g: DateTime"),
     ("seen: «$g»", "$g: I32"), ("code: «$g»", "$g: [String]"), ("code: «$g»", "$g: Blob")],
)  # fmt: skip
def test_t7_a_parameter_of_another_type_is_refused(refuse, match, parameters):
    refuse(FILM % f"{{ {match} }}", Code.T7, parameters=parameters)


def test_t7_a_parameter_of_another_type_says_how_to_declare_it(refuse):
    (found,) = refuse(FILM % "{ genre: «$g» }", Code.T7, parameters="$g: I32")
    assert found.message == "Film.genre expects enum(docu, drama, sci-fi), but $g is I32"
    assert found.help == "Declare the parameter as $g: String."


def test_now_matches_a_point_in_time(matched):
    assert matched("added: now()")[0].value == CurrentTime()


def test_t7_now_matches_nothing_else(refuse):
    refuse(FILM % "{ released: «now()» }", Code.T7)


def test_an_undeclared_variable_as_a_match_value_is_refused(refuse):
    (found,) = refuse(FILM % "{ genre: «$gnre» }", Code.NOT_BOUND, parameters="$genre: String")
    assert found.message == "$gnre is not bound"
    assert found.label == 'did you mean "$genre"?'


def test_a_node_is_no_match_value(refuse):
    refuse("match { $p: Person  $f: Film { code: «$p» } } return { $f }", Code.T7)


def test_the_anonymous_variable_is_no_match_value(refuse):
    refuse(FILM % "{ code: «$_» }", Code.NOT_BOUND)


def test_a_match_on_a_list_property_is_a_membership_test(matched):
    (found,) = matched('tags: "space"')
    assert found.is_membership
    assert found.value == Constant("space", ValueType(Scalar.STRING))


def test_a_match_on_a_list_property_takes_a_scalar_parameter(matched):
    assert matched("days: $d", "$d: Date")[0].is_membership


def test_t3_a_list_literal_does_not_match_a_list_property(refuse):
    refuse(FILM % '{ tags: «["space"]» }', Code.T3)
    refuse(FILM % "{ tags: «[]» }", Code.T3)


def test_t7_a_list_parameter_does_not_match_a_list_property(refuse):
    refuse(FILM % "{ tags: «$t» }", Code.T7, parameters="$t: [String]")


def test_t3_an_item_of_another_type_does_not_match_a_list_property(refuse):
    (found,) = refuse(FILM % "{ tags: «3» }", Code.T3)
    assert found.message == "an item of Film.tags expects String, got 3"


def test_t3_a_vector_cannot_be_matched_by_a_literal(refuse):
    refuse(FILM % "{ «plotVec»: [1.0, 2.0, 3.0, 4.0] }", Code.T3)


def test_t7_a_vector_cannot_be_matched_by_a_parameter(refuse):
    refuse(FILM % "{ «plotVec»: $v }", Code.T7, parameters="$v: Vector(4)")


def test_t3_a_blob_cannot_be_matched(refuse):
    refuse(FILM % '{ «poster»: "x" }', Code.T3)
    refuse(FILM % "{ «poster»: $b }", Code.T3, parameters="$b: Blob")


def test_a_date_that_is_none_is_refused_at_the_literal(refuse):
    refuse(FILM % '{ released: «date("2020-13-01")» }', Code.BAD_DATE)
    refuse(FILM % '{ added: «datetime("2020-01-01T10:00")» }', Code.BAD_DATE)
