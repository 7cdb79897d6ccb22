"""Ranks that DataFusion makes are those that plain Python makes, whatever batches they come in."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.config import Settings
from omnigraph.engine import relational
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.execution import Execution
from omnigraph.engine.grouping import encode, group_rows
from omnigraph.engine.ordering import text_ranks
from omnigraph.engine.relational import value_ranks
from omnigraph.errors import DeadlineError, ResourceLimitError


def execution(**budget: Any) -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget(**budget)),
        settings=Settings(),
        embed=cast("Any", None),
    )


def ranks_of(values: list[str | None]) -> list[int]:
    known = sorted({each.encode() for each in values if each is not None})
    return [0 if each is None else 1 + known.index(each.encode()) for each in values]


@given(st.lists(st.none() | st.sampled_from(["", "a", "ab", "z", "é", "\uffff", "😀"]), max_size=12), st.integers(1, 5))
@settings(max_examples=40)
def test_equal_strings_share_a_rank_in_the_order_of_their_bytes(values, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relational, "_BATCH_ROWS", batch)
        found = value_ranks(pa.array(values, pa.string()), execution())
    assert found.tolist() == ranks_of(values)


def test_ranks_go_on_over_many_batches():
    random = np.random.default_rng(3)
    values = [None if each % 97 == 0 else f"value {each}" for each in random.integers(0, 5_000, 200_000).tolist()]
    column = pa.array(values)
    found = value_ranks(column, execution())
    by_name = {name: rank for rank, name in enumerate(sorted({each for each in values if each is not None}), start=1)}
    assert found.tolist() == [by_name.get(each, 0) for each in values]


@pytest.mark.parametrize("most", [0, 10**9], ids=["relational", "memory"])
def test_codes_and_ranks_say_the_same_whoever_makes_them(most, monkeypatch):
    monkeypatch.setattr(relational, "MOST_VALUES", most)
    values = ["b", None, "a", "b", "", None]
    grouping = group_rows([encode(pa.array(values), execution())], len(values))
    assert grouping.first_rows.tolist() == [0, 1, 2, 4]
    assert grouping.numbers().tolist() == [0, 1, 2, 0, 3, 1]
    lists = pa.array([["b"], None, ["a"], ["b"], [], None, ["a", None], ["a"]])
    assert group_rows([encode(lists, execution())], len(lists)).numbers().tolist() == [0, 1, 2, 0, 3, 1, 4, 2]
    ranks = text_ranks(pa.array(["b", "a", "", "b"]), execution())
    assert np.argsort(ranks, kind="stable").tolist() == [2, 1, 0, 3]
    assert ranks[0] == ranks[3]


def test_values_that_do_not_fit_into_memory_are_ranked_on_disk():
    """Strings of 100 MB, and 64 MiB to sort them in."""
    column = pa.array([f"{each * 7_919 % 20_000:05000}" for each in range(20_000)])
    found = value_ranks(column, execution(max_bytes=column.nbytes))
    assert found.tolist() == [1 + each * 7_919 % 20_000 for each in range(20_000)]


def test_too_little_memory_to_sort_in_is_told_as_a_limit(monkeypatch):
    monkeypatch.setattr(relational, "_pool_bytes", lambda execution: 4096)
    column = pa.array([f"{each:0200}" for each in range(100_000)])
    with pytest.raises(ResourceLimitError, match=r"\(max_bytes\)"):
        value_ranks(column, execution())


def test_values_that_take_more_than_the_budget_are_not_sorted_at_all():
    with pytest.raises(ResourceLimitError, match=r"Sort.*\(max_bytes\)"):
        value_ranks(pa.array(["a" * 1_000]), execution(max_bytes=1_000))


def test_the_deadline_is_asked_for_between_batches():
    with pytest.raises(DeadlineError):
        value_ranks(pa.array(["a"]), execution(deadline=0))
