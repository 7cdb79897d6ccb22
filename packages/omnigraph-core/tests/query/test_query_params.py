"""Parameters from JSON and from Python: sections 7.1 to 7.4 of the language."""

from __future__ import annotations

import json
import pickle
from array import array
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.query.params import bind_parameters


class Boxed:
    """A number of an array library."""

    def __init__(self, number: float) -> None:
        self.number = number

    def tolist(self) -> float:
        return self.number


@pytest.fixture
def bind(accept):
    """Give values to parameters that are declared in a query."""

    def check(parameters: str, given):
        query = accept("match { $f: Film } return { $f }", parameters)
        return bind_parameters(query, given)

    return check


@pytest.fixture
def value(bind):
    """What the parameter ``$v`` of a type becomes."""

    def check(declared: str, given):
        return bind(f"$v: {declared}", {"v": given})["v"]

    return check


@pytest.fixture
def misfit(bind):
    """What is said of a value that does not fit the parameter ``$v`` of a type."""

    def check(declared: str, given) -> str:
        with pytest.raises(InvalidInputError) as caught:
            bind(f"$v: {declared}", {"v": given})
        (problem,) = caught.value.details["problems"]
        assert problem["parameter"] == "v"
        assert problem["message"] == caught.value.message
        return problem["message"]

    return check


# ── the table of types ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("String", "", ""),
        ("String", "Zoë\n", "Zoë\n"),
        ("Blob", "base64:AA==", "base64:AA=="),
        ("I32", 5, 5),
        ("I32", "-5", -5),
        ("I32", -(2**31), -(2**31)),
        ("I32", 2**31 - 1, 2**31 - 1),
        ("I64", 2**63 - 1, 2**63 - 1),
        ("I64", "-9223372036854775808", -(2**63)),
        ("I64", "007", 7),
        ("U32", 0, 0),
        ("U32", "4294967295", 2**32 - 1),
        ("U64", 2**63 - 1, 2**63 - 1),
        ("U64", 2**64 - 1, 2**64 - 1),
        ("U64", "18446744073709551615", 2**64 - 1),
        ("F32", 1.5, 1.5),
        ("F32", 4, 4.0),
        ("F64", -1e300, -1e300),
        ("F64", 2**70, float(2**70)),
        ("Bool", True, True),
        ("Bool", False, False),
        ("Date", "2024-05-01", 19844),
        ("DateTime", "1970-01-01T00:00:01Z", 1000),
        ("DateTime", "1970-01-01T02:00:00+02:00", 0),
        ("[String]", ["a", "b"], ("a", "b")),
        ("[String]", [], ()),
        ("[I32]", [1, "2"], (1, 2)),
        ("[F64]", [1, 2.5], (1.0, 2.5)),
        ("[Date]", ["1970-01-02"], (1,)),
        ("Vector(3)", [1, 2.5, -3], (1.0, 2.5, -3.0)),
        ("Vector(3)", [1.5, 2.5, -3.5], (1.5, 2.5, -3.5)),
        ("String?", "a", "a"),
        ("I32?", None, None),
        ("[String]?", None, None),
        ("Vector(3)?", None, None),
    ],
)
def test_a_value_of_the_declared_type_is_taken(value, declared, given, expected):
    found = value(declared, given)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("String", 12),
        ("String", True),
        ("String", ["a"]),
        ("String", {}),
        ("String", b"bytes"),
        ("Blob", 3),
        ("I32", 5.0),
        ("I32", 5.5),
        ("I32", True),
        ("I32", "5.0"),
        ("I32", " 5"),
        ("I32", "5_000"),
        ("I32", ""),
        ("I32", "٣"),
        ("I32", "0x10"),
        ("I32", 2**31),
        ("I32", -(2**31) - 1),
        ("I64", 2**63),
        ("I64", "9223372036854775808"),
        ("U32", -1),
        ("U32", "-1"),
        ("U32", 2**32),
        ("U64", -1),
        ("U64", 2**64),
        ("F32", "1.5"),
        ("F32", True),
        ("F32", 1e39),
        ("F64", float("nan")),
        ("F64", float("inf")),
        ("F64", 10**400),
        ("Bool", 1),
        ("Bool", "true"),
        ("Date", 19844),
        ("Date", "2024-13-01"),
        ("Date", "soon"),
        ("DateTime", 12),
        ("DateTime", "2024-05-01T10:00"),
        ("[String]", "a"),
        ("[String]", ["a", 1]),
        ("[String]", ["a", None]),
        ("[String]", [["a"]]),
        ("[I32]", {"a": 1}),
        ("Vector(3)", [1, 2]),
        ("Vector(3)", [1, 2, 3, 4]),
        ("Vector(3)", [1, 2, "3"]),
        ("Vector(3)", [1, 2, None]),
        ("Vector(3)", [1, 2, float("nan")]),
        ("Vector(3)", [1, 2, 1e39]),
        ("Vector(3)", [1.0, 2.0, -1e39]),
        ("Vector(3)", [1.0, 2.0, float("nan")]),
        ("Vector(3)", [1e308, 1e308, 1.0]),
        ("Vector(3)", [True, 2.0, 1.0]),
        ("Vector(3)", "1,2,3"),
        ("String", None),
        ("[String]", None),
        ("Bool?", 0),
    ],
)
def test_a_value_of_another_type_is_refused(misfit, declared, given):
    assert misfit(declared, given).startswith(f"$v expects {declared}, got ")


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        ("DateTime", 12, "$v expects DateTime, got 12"),
        ("String", None, "$v expects String, got null"),
        ("I32", 5.0, "$v expects I32, got 5.0 (write it without a fraction)"),
        ("I32", 2**31, "$v expects I32, got 2147483648 (outside -2147483648 to 2147483647)"),
        ("U64", 2**64, "$v expects U64, got 18446744073709551616 (outside 0 to 18446744073709551615)"),
        ("Vector(3)", [1, 2], "$v expects Vector(3), got [1, 2] (expects 3 dimensions, got 2)"),
        ("Vector(2)", [1, "a"], '$v expects Vector(2), got [1, "a"] (element 2 is "a"; elements must be numeric)'),
        ("[I32]", [1, None], "$v expects [I32], got [1, null] (item 2 is null)"),
        ("F64", float("nan"), "$v expects F64, got NaN (only finite numbers can be stored)"),
        ("Bool", "yes", '$v expects Bool, got "yes"'),
        ("Bool", {"a": 1}, "$v expects Bool, got an object"),
        ("Bool", object(), "$v expects Bool, got a Python object"),
        ("Bool", "x" * 100, f'$v expects Bool, got "{"x" * 36}...'),
    ],
)
def test_a_misfit_says_what_was_expected_and_what_came(misfit, declared, given, message):
    assert misfit(declared, given) == message


def test_an_integer_of_thousands_of_digits_is_refused(misfit):
    assert "a very large integer" in misfit("I64", 10**5000)
    assert misfit("I64", "9" * 5000).startswith("$v expects I64")
    assert "too large" in misfit("F64", 10**5000)


def test_half_of_a_surrogate_pair_is_refused(misfit):
    assert "surrogate" in misfit("String", "\ud800")


def test_a_date_that_is_none_says_why(misfit):
    assert "2024-02-30" in misfit("Date", "2024-02-30")


# ── Python values ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("Date", date(1970, 1, 3), 2),
        ("Date", date(1969, 12, 31), -1),
        ("Date", datetime(1970, 1, 3, 23, 59, tzinfo=UTC), 2),
        ("Date", datetime(1970, 1, 3, 23, 0, tzinfo=timezone(timedelta(hours=-2))), 3),
        ("DateTime", datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC), 1999),
        ("DateTime", datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), -1),
        ("DateTime", datetime(1970, 1, 1, 2, 0, tzinfo=timezone(timedelta(hours=2))), 0),
        ("DateTime", datetime(1970, 1, 1, 0, 0, 2), 2000),
        ("DateTime", date(1970, 1, 2), 86_400_000),
        ("[Date]", (date(1970, 1, 2),), (1,)),
        ("[String]", ("a",), ("a",)),
        ("Vector(2)", (1, 2), (1.0, 2.0)),
        ("Vector(2)", array("f", [1, 2]), (1.0, 2.0)),
        ("[I64]", array("q", [1, 2]), (1, 2)),
        ("[I64]", [Boxed(1), 2], (1, 2)),
        ("Vector(2)", [Boxed(1.5), 2.0], (1.5, 2.0)),
        ("F64", Boxed(1.5), 1.5),
    ],
)
def test_python_dates_tuples_and_arrays_are_taken(value, declared, given, expected):
    assert value(declared, given) == expected


def test_a_point_in_time_that_utc_cannot_hold_is_refused(misfit):
    far = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    assert "UTC" in misfit("DateTime", far)


# ── missing and undeclared ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("given", [None, {}])
def test_no_parameters_are_an_empty_object(bind, given):
    assert bind("", given) == {}


def test_a_nullable_parameter_that_is_left_out_is_null(bind):
    assert bind("$a: String?, $b: I32", {"b": 1}) == {"a": None, "b": 1}


def test_values_are_in_the_order_of_declaration(bind):
    assert list(bind("$b: I32, $a: I32", {"a": 1, "b": 2})) == ["b", "a"]


@pytest.mark.parametrize("given", [[], [("a", 1)], "a", 3, True])
def test_parameters_that_are_no_object_are_refused(bind, given):
    with pytest.raises(InvalidInputError, match="must be an object"):
        bind("$a: I32?", given)


def test_a_missing_parameter_is_refused_before_anything_runs(bind):
    with pytest.raises(InvalidInputError) as caught:
        bind("$since: Date", {})
    assert "parameter 'since' not provided" in caught.value.message
    assert caught.value.help == "Parameters: $since: Date."


def test_an_undeclared_parameter_is_refused_with_a_guess(bind):
    with pytest.raises(InvalidInputError, match=r'^\$snce is not a parameter of q, did you mean "since"\?'):
        bind("$since: Date?", {"snce": "2024-01-01"})


def test_an_undeclared_parameter_of_a_query_without_any_is_refused(bind):
    with pytest.raises(InvalidInputError) as caught:
        bind("", {"a": 1})
    assert caught.value.help == "The query has no parameters."


def test_a_name_with_its_dollar_is_recognised(bind):
    with pytest.raises(InvalidInputError, match="without"):
        bind("$a: I32?", {"$a": 1})


def test_a_name_with_its_dollar_is_not_missing_too(bind):
    with pytest.raises(InvalidInputError) as caught:
        bind("$a: I32", {"$a": 1})
    assert caught.value.message == 'the name of a parameter is given without "$": "a", not "$a"'


def test_a_key_that_is_no_text_is_refused(bind):
    with pytest.raises(InvalidInputError, match=r"\$1 is not a parameter"):
        bind("", {1: 1})


def test_every_problem_is_told_at_once(bind):
    with pytest.raises(InvalidInputError) as caught:
        bind("$a: I32, $b: Date, $c: String, $d: Bool", {"a": "x", "b": 3, "d": True, "e": 1})
    problems = caught.value.details["problems"]
    assert [each["parameter"] for each in problems] == ["a", "b", "c", "e"]
    assert caught.value.message == "; ".join(each["message"] for each in problems)


def test_the_error_pickles_and_is_json(bind):
    with pytest.raises(InvalidInputError) as caught:
        bind("$a: I32", {"a": object()})
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.details == caught.value.details
    assert json.loads(json.dumps(again.to_dict()))["kind"] == "invalid_input"
