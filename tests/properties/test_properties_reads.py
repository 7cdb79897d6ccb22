"""Random queries on random graphs: the engine gives the rows that the naive evaluator gives, however it goes about it.

A group is one graph with some queries. They are asked after a first load, after a merge load on top of it and after an
overwrite that removes rows; indexes are built never, after the first load (so that they cover a part later), or after
the second. Half of the modes take turns in one group, the others in the next. Every other six groups have the bounds of
``small_bounds``.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from read_cases import CATALOG, TURNS, Trial
from small_bounds import make_bounds_small

from omnigraph.errors import CompileError
from omnigraph.query import compile_query
from omnigraph.testing.query_strategies import make_question
from omnigraph.testing.strategies import make_changes, make_records, make_removals

CASES = int(os.environ.get("OMNIGRAPH_PROPERTY_CASES", "2000"))
"""How many queries are asked; every fourth one in two modes."""
SEED = int(os.environ.get("OMNIGRAPH_PROPERTY_SEED", "1"))
GROUP = 80


@pytest.mark.parametrize("group", range(-(-CASES // GROUP)))
def test_the_engine_answers_as_the_naive_evaluator_does(
    group: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    random = Random(f"{SEED}-{group}")
    sizes = f"OMNIGRAPH_PROPERTY_SEED={SEED} OMNIGRAPH_PROPERTY_CASES={CASES}"
    trial = Trial(f"{sizes} pytest '{request.node.nodeid}'", monkeypatch)
    if group // 6 % 2:
        make_bounds_small(monkeypatch)
    records = make_records(random)
    trial.load(records, "append")
    later = {
        GROUP // 3: lambda: trial.load(make_changes(random, records), "merge"),
        GROUP * 2 // 3: lambda: trial.load(make_removals(random, trial.records), "overwrite"),
    }
    if group % 3 == 1:
        trial.build_indexes()
    turns = TURNS[group % 2]
    asked = 0
    while asked < GROUP:
        if asked in later:
            later.pop(asked)()
            if group % 3 == 2 and len(later) == 1:
                trial.build_indexes()
        modes = turns[asked % 4], turns[(asked + 1) % 4]
        asked += trial.ask(make_question(random), *modes[: 2 if asked % 4 == 0 else 1])
    trial.close()


def test_the_questions_are_mostly_valid_and_of_every_kind():
    random = Random(7)
    texts = [make_question(random).text for _ in range(1_000)]
    valid = []
    for text in texts:
        try:
            compile_query(text, CATALOG)
        except CompileError:
            continue
        valid.append(text)
    assert len(valid) > 950
    kinds = (
        "not {", "search(", "match_text(", "fuzzy(", "nearest(", "bm25(", "rrf(", "count(", "sum(", "avg(", "min(",
        "max(", " order {", " limit ", " contains ", " starts_with ", "{2,", "<knows>", "$_ ", " $e1:", " $k1:<", "?",
        'date("', 'datetime("', " != ", " <= ", " as c", "Vector(3)",
    )  # fmt: skip
    assert [kind for kind in kinds if sum(kind in text for text in valid) < 5] == []
