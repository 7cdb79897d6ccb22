"""What a query may use: bounds, and how a query that passes one is told."""

from __future__ import annotations

import math
import pickle
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

import omnigraph as og
from omnigraph.cancellation import TimeLimit
from omnigraph.config import Settings
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.errors import DeadlineError, InvalidInputError, ResourceLimitError

CHECKS = {"max_rows": "check_rows", "max_bytes": "check_bytes", "max_frontier": "check_frontier"}


@pytest.mark.parametrize("name", CHECKS)
def test_a_bound_is_reached_by_one_more_than_it_and_names_itself_and_the_step(name: str) -> None:
    spending = Spending(QueryBudget(**{name: 10}))
    check = getattr(spending, CHECKS[name])
    check("Expand $p Knows -> $q", 10)
    with pytest.raises(ResourceLimitError) as told:
        check("Expand $p Knows -> $q", 11)
    error = told.value
    assert (error.resource, error.limit, error.actual, error.operator) == (name, 10, 11, "Expand $p Knows -> $q")
    assert name in str(error)
    assert "QueryBudget" in str(error.help)


@pytest.mark.parametrize("name", CHECKS)
def test_no_bound_is_never_reached(name: str) -> None:
    getattr(Spending(QueryBudget(**{name: None})), CHECKS[name])("Sort", 2**62)


def test_a_deadline_that_has_passed_is_told_at_the_next_check_of_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    spending = Spending(QueryBudget(deadline=5.0))
    spending.check_time("NodeScan")
    later = time.monotonic() + 5.1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    for check in (
        lambda: spending.check_time("Sort"),
        lambda: spending.check_rows("Sort", 1),
        lambda: spending.check_bytes("Sort", 1),
        lambda: spending.check_frontier("Sort", 1),
    ):
        with pytest.raises(DeadlineError) as told:
            check()
        assert (told.value.deadline, told.value.operator) == (5.0, "Sort")


def test_no_deadline_never_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    spending = Spending(QueryBudget(deadline=None))
    later = time.monotonic() + 1e9
    monkeypatch.setattr(time, "monotonic", lambda: later)
    spending.check_time("Sort")


@pytest.mark.parametrize("name", ["deadline", *CHECKS])
@pytest.mark.parametrize("value", [-1, math.nan, "7", True])
def test_what_is_no_bound_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        QueryBudget(**{name: value})


def test_the_environment_gives_the_bounds_that_it_has_and_leaves_the_others() -> None:
    settings = Settings.from_environment({"OMNIGRAPH_QUERY_MAX_ROWS": "7", "OMNIGRAPH_QUERY_DEADLINE": "0.5"})
    budget, default = QueryBudget.of(settings), QueryBudget()
    assert (budget.max_rows, budget.deadline) == (7, 0.5)
    assert (budget.max_bytes, budget.max_frontier) == (default.max_bytes, default.max_frontier)


def test_a_passed_deadline_crosses_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(DeadlineError("late", deadline=1.5, operator="Sort", help="wait")))
    assert (error.deadline, error.operator, error.help) == (1.5, "Sort", "wait")
    assert isinstance(error, TimeoutError)


def test_the_time_of_compiling_counts_and_says_so() -> None:
    with og.init(f"memory://budget-{uuid.uuid4().hex}", schema="node P { age: I64 }") as g:
        conditions = " ".join(f"$p.age > {each}" for each in range(20_000))
        text = f"query q() {{ match {{ $p: P {conditions} }} return {{ $p.age }} }}"
        for ask in (g.query, g.explain):
            with pytest.raises(DeadlineError) as told:
                ask(text, budget=QueryBudget(deadline=0.001))
            assert (told.value.deadline, told.value.operator) == (0.001, "compiling")
            assert "QueryBudget(deadline=...)" in str(told.value.help)
        assert g.query("query q() { match { $p: P } return { $p.age } }").rows() == []


def test_the_adjacency_of_an_edge_type_is_not_built_to_its_end_when_the_time_is_over() -> None:
    with og.init(f"memory://budget-{uuid.uuid4().hex}", schema="node P { k: String @key }\nedge K: P -> P") as g:
        nodes = [{"type": "P", "data": {"k": str(each)}} for each in range(10)]
        g.load([*nodes, {"edge": "K", "from": "1", "to": "2"}], "append")
        text = "query q() { match { $p: P $p k{1,3} $x } return { $x.k } }"
        looks = _looks(lambda: g.query(text))
        assert any("adjacency_building" in each for each in looks)


def _looks(ask: Callable[[], object]) -> list[str]:
    """The modules that looked at the time during a call."""
    found: list[str] = []

    def clock() -> float:
        frame = sys._getframe()
        while frame.f_back is not None and "cancellation" not in frame.f_code.co_filename:
            frame = frame.f_back
        while frame.f_back is not None and "cancellation" in frame.f_code.co_filename:
            frame = frame.f_back
        found.append(frame.f_code.co_filename)
        return 0.0

    with TimeLimit(1.0, "test", clock=clock):
        ask()
    return found
