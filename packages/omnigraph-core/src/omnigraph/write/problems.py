"""What is wrong with the rows of a write: every problem counted, the first of each reason kept with their places.

Readers of records and validators of rules fill one log; whoever holds it raises at a point where nothing has happened
yet. So a user corrects a file in one go, and a file with a million mistakes costs no memory: reasons are few.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from omnigraph.errors import ConstraintError, InvalidInputError, OmnigraphError
from omnigraph.errors.examples import share

KEPT: Final = 100
"""How many problems of one reason a log keeps in full."""

SHOWN: Final = 20
"""How many problems the text of an error shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with one row.

    Attributes:
        reason: a stable word for programs, such as ``wrong_type``, ``duplicate_member``, ``unique``, ``endpoint``.
        message: what is wrong, without the place.
        type_key: ``node:Film``, where it is known.
        property: the property concerned, where there is one.
        id: the id of the row, where it has one.
        source: the file or input that the row came from.
        line: 1-based line of a text, or ordinal of a record in an input without lines.
        constraint: the violated rule, nearly as the schema writes it: ``@key(code)``, ``@unique(dst, src)`` with the
            columns in ascending order, ``@range(stars)``, ``@check(code)``, ``@card(0..2)``; ``required``, ``enum``,
            ``id``, ``endpoint src`` and ``endpoint dst`` for those that have no annotation.
        holders: the ids that collide. Of ``@key``, ``@unique`` and ``id`` always two, the row that has the value and
            the row that wants it, and the same twice where the value is the id; of an endpoint the node that is not
            there, of ``@card`` the node that the edges leave.
    """

    reason: str
    message: str
    type_key: str | None = None
    property: str | None = None
    id: str | None = None
    source: str | None = None
    line: int | None = None
    constraint: str | None = None
    holders: tuple[str, ...] = ()

    @builtins.property
    def place(self) -> str:
        """``seed.jsonl:12``; ``record 12 of Film`` where there are no lines: Arrow counts each type; or nothing."""
        if self.line is None:
            return self.source or ""
        if self.source is not None:
            return f"{self.source}:{self.line}"
        return f"record {self.line}" if self.type_key is None else f"record {self.line} of {_name(self.type_key)}"

    def to_dict(self) -> dict[str, Any]:
        names = ("reason", "message", "type_key", "property", "id", "source", "line", "constraint")
        facts = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.holders:
            facts["holders"] = list(self.holders)
        return facts | {"reason": str(self.reason)}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The problem whose ``to_dict`` this is."""
        return cls(**{**facts, "holders": tuple(facts.get("holders", ()))})


@dataclass(slots=True)
class ProblemLog:
    """Problems as they are found. ``counts`` knows them all; ``kept`` has the first of each reason, as they were found.

    Of rows of one text or one Arrow table, the first are those that stand first in it, in whatever order they are
    found: so a text that is read in pieces, by one process or by many, is told the same. Texts and tables are expected
    one after another.

    Attributes:
        again: the next move of whoever gave the rows.
        limit: how many of each reason are kept.
    """

    again: str = "Correct the input and load it again."
    limit: int = KEPT
    kept: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _kept_of: Counter[str] = field(default_factory=Counter, init=False)
    _last_of: dict[str, Problem] = field(default_factory=dict, init=False)

    def add(self, problem: Problem) -> bool:
        """Count a problem, and keep it if it is among the first of its reason; whether it was."""
        self.counts[problem.reason] += 1
        return self._keep(problem)

    def merge(self, problems: Iterable[Problem], counts: Mapping[str, int]) -> None:
        """Add what another log kept and counted of rows that come later."""
        self.counts.update(counts)
        for each in problems:
            self._keep(each)

    def copy(self) -> ProblemLog:
        """The same, to be added to."""
        same = ProblemLog(again=self.again, limit=self.limit)
        same.merge(self.kept, self.counts)
        return same

    def _keep(self, problem: Problem) -> bool:
        reason = problem.reason
        if self._kept_of[reason] < self.limit:
            self.kept.append(problem)
            self._kept_of[reason] += 1
            if self._kept_of[reason] == self.limit:
                self._find_last(problem)
            return True
        last = self._last_of.get(reason)
        if last is None or not _stands_before(problem, last):
            return False
        self.kept = [each for each in self.kept if each is not last]
        self.kept.append(problem)
        self._find_last(problem)
        return True

    def _find_last(self, newest: Problem) -> None:
        """Note which problem gives way to one that stands before it: in the text of the newest, the last."""
        own = [each for each in self.kept if each.reason == newest.reason and _text_of(each) == _text_of(newest)]
        self._last_of[newest.reason] = max(own, key=lambda each: each.line or 0)

    @property
    def total(self) -> int:
        return self.counts.total()

    def __bool__(self) -> bool:
        return bool(self.counts)

    def raise_invalid(self, advice: str = "Rules of the schema are judged when every record can be read.") -> None:
        """Raise when anything was found: rows that are no rows of their type.

        Raises:
            InvalidInputError: with every kept problem in its details.
        """
        if self:
            raise self._error(InvalidInputError, advice)

    def raise_violated(self) -> None:
        """Raise when anything was found: rows that break rules of the schema.

        Raises:
            ConstraintError: with every kept problem in its details.
        """
        if self:
            raise self._error(ConstraintError)

    def _error(self, error: type[OmnigraphError], *advice: str) -> OmnigraphError:
        ordered = sorted(self.kept, key=_place_order)
        shown = [ordered[index] for index in share([each.reason for each in ordered], SHOWN)]
        lines = [f"{each.place}: {each.message}" if each.place else each.message for each in shown]
        message = lines[0]
        if self.total > 1:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.counts.items()))
            message = "\n".join((f"{self.total} problems ({reasons}):", *(f"  {line}" for line in lines)))
            if self.total > len(lines):
                message += f"\n  and {self.total - len(lines)} more"
        return error(
            message,
            help=" ".join(("Nothing was written.", self.again, *filter(None, advice))),
            details={
                "problems": [each.to_dict() for each in ordered],
                "counts": {str(reason): count for reason, count in sorted(self.counts.items())},
                "total": self.total,
            },
        )


def _stands_before(one: Problem, other: Problem) -> bool:
    """Whether both are of one text or table, and one stands further up in it."""
    if one.line is None or other.line is None or _text_of(one) != _text_of(other):
        return False
    return one.line < other.line


def _text_of(problem: Problem) -> str | None:
    """What the line of a problem counts in: its source, or the rows of its type."""
    return problem.type_key if problem.source is None else problem.source


def _place_order(problem: Problem) -> tuple[bool, int, int, str]:
    """By line; without lines by source, and ``statement 2`` before ``statement 10``."""
    source = problem.source or ""
    return problem.line is None, problem.line or 0, 0 if problem.line else len(source), "" if problem.line else source


def _name(type_key: str) -> str:
    """``Film`` of ``node:Film``."""
    return type_key.partition(":")[2]
