"""Whatever JSON comes in as parameters, it is bound as the table says or refused as invalid input.

The table is written down here a second time, as a function that knows nothing of the binder. Where it leaves something
open (numbers beyond F32, spellings such as "+5"), the binder may do either, but nothing else.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from random import Random
from typing import Any

import pytest
from fuzz_languages import catalog_of

from omnigraph.errors import InvalidInputError
from omnigraph.query import CheckedQuery, bind_parameters, compile_queries

INPUTS = int(os.environ.get("OMNIGRAPH_FUZZ_INPUTS", "6000"))
SCALARS = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
TYPES = (*SCALARS, *(f"[{each}]" for each in SCALARS if each != "Blob"), "Vector(1)", "Vector(3)")
RANGES = {
    "I32": (-(2**31), 2**31 - 1),
    "I64": (-(2**63), 2**63 - 1),
    "U32": (0, 2**32 - 1),
    "U64": (0, 2**64 - 1),
}
DAYS = {"1970-01-01": 0, "1970-01-02": 1, "2000-03-01": 11017, "1969-12-31": -1, "2024-02-29": 19782}
TIMES = {
    "1970-01-01T00:00:00Z": 0,
    "1970-01-01T00:00:01.5Z": 1500,
    "1970-01-01T02:00:00+02:00": 0,
    "1970-01-02": 86400000,
}
NO_DATES = ("", "2023-02-29", "yesterday", "1970-13-01", "1970", "12:00")
EDGES = tuple(each + step for low, high in RANGES.values() for each in (low, high) for step in (-1, 0, 1))

REFUSED = object()
OPEN = object()


def expected(value: Any, declared: str) -> Any:
    """What the table makes of a value: what is bound, or ``REFUSED``, or ``OPEN``."""
    if declared.endswith("?"):
        return None if value is None else expected(value, declared[:-1])
    if declared.startswith("["):
        return _expected_items(value, declared[1:-1])
    if declared.startswith("Vector"):
        size = int(declared[7:-1])
        return _expected_items(value, "F64") if isinstance(value, list) and len(value) == size else REFUSED
    return _expected_scalar(value, declared)


def _expected_items(value: Any, item: str) -> Any:
    if not isinstance(value, list):
        return REFUSED
    items = tuple(expected(each, item) for each in value)
    return REFUSED if REFUSED in items else OPEN if OPEN in items else items


def _expected_scalar(value: Any, declared: str) -> Any:
    match declared:
        case "String" | "Blob":
            return value if isinstance(value, str) else REFUSED
        case "Bool":
            return value if isinstance(value, bool) else REFUSED
        case "F32" | "F64":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return REFUSED
            return OPEN if abs(value) > 3e38 else float(value)
        case "Date":
            return _expected_date(value, DAYS)
        case "DateTime":
            return _expected_date(value, TIMES)
    if isinstance(value, str):
        if not re.fullmatch(r"-?[0-9]+", value):
            return OPEN if re.fullmatch(r"\s*[+-]?[0-9_]+\s*", value) else REFUSED
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return REFUSED
    low, high = RANGES[declared]
    return value if low <= value <= high else REFUSED


def _expected_date(value: Any, known: dict[str, int]) -> Any:
    if not isinstance(value, str):
        return REFUSED
    return known.get(value, REFUSED if value in NO_DATES else OPEN)


def make_json(random: Random, depth: int = 2) -> Any:
    """A JSON value that may be a parameter of some type, or of none."""
    match random.randrange(12 if depth else 9):
        case 0:
            return None
        case 1:
            return random.random() < 0.5
        case 2:
            return random.choice((0, 1, -1, 5, 10**30, *EDGES))
        case 3:
            return random.choice((0.0, 5.0, -1.5, 0.1, 1e300, 1e-300, 3.0e38))
        case 4:
            return str(random.choice((0, 7, -7, 10**25, *EDGES)))
        case 5:
            return random.choice((*DAYS, *TIMES, *NO_DATES))
        case 6:
            return random.choice(("", "x", "true", "null", "5.0", "0x10", "\uff11", "é", "\0", "🎬", "--5", "1e3"))
        case 7 | 8:
            return random.choice((1, 2.5, "a"))
        case 9 | 10:
            return [make_json(random, depth - 1) for _ in range(random.choice((0, 1, 1, 3, 3)))]
        case _:
            return {random.choice("abc"): make_json(random, depth - 1) for _ in range(random.randrange(3))}


@cache
def query_with(declared: str) -> CheckedQuery:
    (query,) = compile_queries(
        f"query q($p: {declared}) {{ match {{ $f: Film }} return {{ $f }} }}", catalog_of("film")
    )
    return query


def attempt(declared: str, value: Any) -> tuple[Any, InvalidInputError | None]:
    """What is bound, or the error; any other error passes through."""
    try:
        return bind_parameters(query_with(declared), {"p": value})["p"], None
    except InvalidInputError as error:
        return None, error


@pytest.mark.parametrize("declared", [each + mark for each in TYPES for mark in ("", "?")])
def test_a_parameter_is_bound_as_the_table_says_or_refused(declared: str):
    random = Random(declared)
    bound_count = 0
    for _ in range(INPUTS // 40):
        value = make_json(random)
        wanted = expected(value, declared)
        bound, error = attempt(declared, value)
        assert wanted is OPEN or (wanted is REFUSED) == (error is not None), (declared, value, bound)
        if error is not None:
            assert "$p" in str(error), (declared, value)
            json.dumps(error.to_dict())
        elif wanted is not OPEN:
            assert (bound, type(bound)) == (wanted, type(wanted)), (declared, value)
            bound_count += 1
    # Vectors of three numbers are rare among random values; everything else comes up.
    assert bound_count or declared.startswith("Vector")


@pytest.mark.parametrize("declared", TYPES)
def test_a_missing_parameter_is_an_error_unless_it_may_be_null(declared: str):
    for given in ({}, None):
        with pytest.raises(InvalidInputError, match="parameter 'p' not provided"):
            bind_parameters(query_with(declared), given)
        assert bind_parameters(query_with(declared + "?"), given)["p"] is None


def test_parameters_that_are_no_object_are_refused():
    for given in ([], "p", 3, True, [["p", 1]], 1.5):
        with pytest.raises(InvalidInputError):
            bind_parameters(query_with("String"), given)  # type: ignore[arg-type]


def test_a_parameter_that_is_not_declared_is_refused_by_name_whatever_it_holds():
    random = Random(5)
    for _ in range(INPUTS // 20):
        with pytest.raises(InvalidInputError, match=r"\$other"):
            bind_parameters(query_with("String?"), {"other": make_json(random)})


def test_a_number_of_ten_thousand_digits_is_refused_like_any_other_too_large():
    for value in ("9" * 10_000, 10**5_000, -(10**5_000)):
        for declared in ("I32", "I64", "U32", "U64"):
            with pytest.raises(InvalidInputError) as caught:
                bind_parameters(query_with(declared), {"p": value})
            assert len(str(caught.value)) < 1000


def test_a_list_of_a_thousand_levels_is_refused():
    value: Any = 1
    for _ in range(1000):
        value = [value]
    for declared in ("[I32]", "I32", "Vector(1)", "String?"):
        with pytest.raises(InvalidInputError) as caught:
            bind_parameters(query_with(declared), {"p": value})
        assert len(str(caught.value)) < 1000
