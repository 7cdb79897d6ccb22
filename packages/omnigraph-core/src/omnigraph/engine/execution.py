"""``Execution``: what every operator of one run shares: the snapshot, the values given, the budget and the trace.

It is made when a query starts and dropped when it ends; nothing of it outlives the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnigraph.config import Settings
from omnigraph.engine.budget import Spending
from omnigraph.engine.source import Source
from omnigraph.plan.explain import explain_operator
from omnigraph.plan.ir import Operator
from omnigraph.query.checked import Constant, ConstantValue, CurrentTime, Given, Nearest, ParameterRef

Embed = Callable[[str, Nearest], np.ndarray[Any, np.dtype[np.float32]]]
"""From a text to a unit vector of the dimension of the ranked property, by the configured embedder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of one read.

    Attributes:
        now: what ``now()`` is, in milliseconds since 1970; one instant for the whole run.
        embed: makes a vector of the text of a ``nearest``.
    """

    source: Source
    parameters: Mapping[str, ConstantValue]
    now: int
    spending: Spending
    settings: Settings
    embed: Embed
    trace: Trace | None = None

    def given(self, value: Given) -> ConstantValue:
        """What a constant, parameter or ``now()`` is in this run; dates and times are integers."""
        match value:
            case Constant():
                return value.value
            case ParameterRef():
                return self.parameters[value.name]
            case CurrentTime():
                return self.now

    def note(self, operator: Operator, **facts: Any) -> None:
        """Keep facts about how an operator was run, such as ``traversal="csr"``, for who asked to see them."""
        if self.trace is not None:
            self.trace.of(operator).facts.update(facts)


def label(operator: Operator) -> str:
    """The operator as errors name it: one line of a plan, cut where nobody reads on."""
    text = explain_operator(operator)
    return text if len(text) <= 120 else text[:119] + "…"


@dataclass(slots=True)
class Measures:
    """What one operator did: rows it gave, time it took without its inputs, what it asked of storage."""

    rows: int | None = None
    seconds: float = 0.0
    requests: int = 0
    read_bytes: int = 0
    nbytes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """Measures by operator, for ``explain(analyze=True)``. Operators are told apart by identity, not by equality."""

    read_counts: Callable[[], tuple[int, int]]
    # With the operators, so that no other one gets the identity of one that was made for a moment.
    _kept: dict[int, tuple[Operator, Measures]] = field(default_factory=dict)
    _open: list[list[float]] = field(default_factory=list)

    def of(self, operator: Operator) -> Measures:
        """The measures of an operator, to be read or filled."""
        return self._kept.setdefault(id(operator), (operator, Measures()))[1]

    @contextmanager
    def measuring(self, operator: Operator) -> Iterator[Measures]:
        """Measure the block as one operator; what operators inside it measure is theirs."""
        found = self.of(operator)
        began = time.perf_counter(), *self.read_counts()
        inner = [0.0, 0.0, 0.0]
        self._open.append(inner)
        try:
            yield found
        finally:
            self._open.pop()
            used = [now - then for now, then in zip((time.perf_counter(), *self.read_counts()), began, strict=True)]
            found.seconds += used[0] - inner[0]
            found.requests += int(used[1] - inner[1])
            found.read_bytes += int(used[2] - inner[2])
            if self._open:
                for index, amount in enumerate(used):
                    self._open[-1][index] += amount
