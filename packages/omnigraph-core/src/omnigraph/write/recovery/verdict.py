"""What lies there of a cut-off write, in classes, and what is done about it: two tables, and nothing is guessed.

Both are read from the top; the first line whose condition holds counts. The classes are reported per type, the decision
is about the write as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class OwnVersion(StrEnum):
    """What is found on a table of the transaction that was planned for it."""

    NONE = "none"
    EXACT = "exact"
    MISPLACED = "misplaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table of a plan.

    Attributes:
        expected: the version that the plan was built on.
        pinned: the version that the branch shows now; None when it shows this table no more, or another line of it.
        newest: the newest version there is; None as ``pinned``.
        restores: the version that the newest one shows again, if it does.
        is_published: the branch has the commit of the plan.
    """

    key: str
    expected: int
    pinned: int | None
    newest: int | None
    restores: int | None
    own: OwnVersion
    is_published: bool

    @property
    def is_behind(self) -> bool:
        return self.pinned is not None and self.newest is not None and self.newest < self.pinned

    @property
    def is_at_pin(self) -> bool:
        return self.pinned in (self.newest, self.restores)


class TableClass(StrEnum):
    """What lies there of one table's part of a write."""

    INVARIANT_VIOLATION = "InvariantViolation"
    """The newest version is older than the one that is published. We never do that."""

    ROLLED_PAST_EXPECTED = "RolledPastExpected"
    """Its own version is there and whole, or was published."""

    UNEXPECTED_AT_P1 = "UnexpectedAtP1"
    """Others have published since: the version that it was built on is not shown any more."""

    INCOMPLETE_PHASE_B = "IncompletePhaseB"
    """It began, and no version was made that holds it and nothing else."""

    NO_MOVEMENT = "NoMovement"
    """Nothing happened."""

    UNEXPECTED_EFFECT_IDENTITY = "UnexpectedEffectIdentity"
    """Where its own version would be lies somebody else's, which nobody published."""

    UNEXPECTED_MULTISTEP = "UnexpectedMultistep"
    """Several versions of others lie there, which nobody published."""


_CLASSES: Final[tuple[tuple[TableClass, Callable[[TableFacts], bool]], ...]] = (
    (TableClass.INVARIANT_VIOLATION, lambda facts: facts.is_behind),
    (TableClass.ROLLED_PAST_EXPECTED, lambda facts: facts.is_published),
    (TableClass.NO_MOVEMENT, lambda facts: facts.pinned is None),
    (TableClass.UNEXPECTED_AT_P1, lambda facts: facts.expected != facts.pinned),
    (TableClass.ROLLED_PAST_EXPECTED, lambda facts: facts.own is OwnVersion.EXACT),
    (TableClass.INCOMPLETE_PHASE_B, lambda facts: facts.own is OwnVersion.MISPLACED),
    (TableClass.NO_MOVEMENT, lambda facts: facts.is_at_pin),
    (TableClass.UNEXPECTED_EFFECT_IDENTITY, lambda facts: facts.newest == facts.expected + 1),
    (TableClass.UNEXPECTED_MULTISTEP, lambda facts: True),
)


def classify(facts: TableFacts) -> TableClass:
    """The class of what lies there."""
    return next(each for each, holds in _CLASSES if holds(facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """A cut-off write as a whole.

    Attributes:
        has_branch: the branch that it was for is there, the same and not one made anew under its name.
        is_published: the branch has its commit.
        is_withdrawn: its own writer gave it up.
        holds: nothing that it relied on has moved, and no garbage collection came in between.
    """

    has_branch: bool
    is_published: bool
    is_withdrawn: bool
    holds: bool
    tables: tuple[TableClass, ...]

    @property
    def is_complete(self) -> bool:
        return all(each is TableClass.ROLLED_PAST_EXPECTED for each in self.tables)


class Decision(StrEnum):
    """What is done about a cut-off write."""

    ABANDON = "abandon"
    """Nothing: its branch is gone."""

    ABORT = "abort"
    """Nothing, and loudly: this must not be touched by a program."""

    CLEAN_UP = "clean_up"
    """It is published; only its sidecar is left."""

    ROLL_FORWARD = "roll_forward"
    """Publish the same plan: all of it is there, and it still holds."""

    DISCARD = "discard"
    """Make the tables show what is published."""


_DECISIONS: Final[tuple[tuple[Decision, Callable[[PlanFacts], bool]], ...]] = (
    (Decision.ABANDON, lambda facts: not facts.has_branch),
    (Decision.ABORT, lambda facts: TableClass.INVARIANT_VIOLATION in facts.tables),
    (Decision.CLEAN_UP, lambda facts: facts.is_published),
    (Decision.DISCARD, lambda facts: facts.is_withdrawn),
    (Decision.ROLL_FORWARD, lambda facts: facts.holds and facts.is_complete),
    (Decision.DISCARD, lambda facts: True),
)


def decide(facts: PlanFacts) -> Decision:
    """What is to be done."""
    return next(each for each, holds in _DECISIONS if holds(facts))
