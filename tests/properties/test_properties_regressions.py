"""Cases that random tests found wrong once, kept in a form that is easy to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from read_cases import MODES, Trial
from small_bounds import make_bounds_small

from omnigraph.testing.query_strategies import Question
from omnigraph.testing.strategies import Record


def item(code: str, **values: Any) -> Record:
    return {"type": "Item", "data": {"code": code, **values}}


def knows(number: int, source: str, target: str, **values: Any) -> Record:
    return {"edge": "Knows", "from": source, "to": target, "data": {"id": f"K{number}", **values}}


FEW = (
    item("a", small=1, big=2**53 + 1, full=9007199254740992.0, text="river"),
    item("", small=2, wide=2**64 - 1, half=0.1, full=-0.0),
    item("Z", wide=2**63, full=0.0, text="the"),
    knows(1, "a", ""),
    knows(2, "", "", small=1),
    knows(3, "", "Z"),
)


@dataclass(frozen=True)
class Case:
    """A query, and the loads before it: one, or two with all queries asked in between as well."""

    body: str
    declared: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    records: tuple[Record, ...] = FEW
    later: tuple[Record, ...] = ()


REGRESSIONS = {
    "an id may be empty": Case("match { $a: Item  $a knows $b } return { $a, $b } order { b }"),
    "the least node of each group, where there is no row": Case(
        'match { $a: Item { code: "none" } } return { $a.name, min($a) as least, max($a) as most }'
    ),
    "groups of unsigned numbers beyond signed ones": Case(
        "match { $a: Item } return { $a.wide, $a.small, count($a) as n } order { $a.wide desc }"
    ),
    "similar words in texts without words": Case(
        'match { $a: Item  fuzzy($a.text, "river") } return { $a }', records=(item("a", text="the"), item("b"))
    ),
    "texts without words that come later": Case(
        'match { $a: Item } return { $a, bm25($a.text, "river") as score } order { a }',
        later=(item("b"), item("a", text="of"), item("c", text="")),
    ),
}
"""By what was wrong."""


@pytest.mark.parametrize("is_small", [False, True], ids=["usual bounds", "small bounds"])
@pytest.mark.parametrize("what", REGRESSIONS)
def test_what_was_wrong_once_stays_right(what: str, is_small: bool, monkeypatch: pytest.MonkeyPatch):
    case = REGRESSIONS[what]
    if is_small:
        make_bounds_small(monkeypatch)
    question = Question(f"query q({case.declared}) {{ {case.body} }}", case.params)
    trial = Trial(what, monkeypatch)
    trial.load(case.records, "append")
    assert trial.ask(question, *MODES)
    trial.build_indexes()
    assert trial.ask(question, *MODES)
    if case.later:
        trial.load(case.later, "merge")
        assert trial.ask(question, *MODES)
    trial.close()
