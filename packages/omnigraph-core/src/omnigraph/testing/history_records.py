"""``CallRecord``: what one call of a writer was about and what it was told; and the notes that writers leave.

    {"intent": …}    before a call begins      {"hit": …}        the writer ends itself at a failpoint
    {"ending": …}    when it has ended         {"sidecar": …}    before and after one is written, withdrawn or deleted
    {"open": …}      an open that failed       {"pause": …}      the writer stops itself at a failpoint
    {"fault": …}     a store failed            on purpose, as all of this

Notes are lines of JSON in one file per writer, each written at once, so that a writer that is killed leaves what it was
told. A call without an ending never answered.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from omnigraph.testing.history_calls import Work, work_of_json, work_to_json


class Outcome(StrEnum):
    """How a call ended."""

    ACKNOWLEDGED = "acknowledged"
    NOTHING = "nothing"
    """Nothing matched, so there is no commit."""
    REFUSED = "refused"
    """It would break a rule of the schema."""
    CONFLICT = "conflict"
    """The graph moved on meanwhile."""
    UNKNOWN = "unknown"
    """It never answered, or said that it does not know."""
    SEEN = "seen"
    """It has read what there was."""
    TROUBLE = "trouble"
    """The store failed, and nothing was written; a problem of the history where stores do not fail on purpose."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of a writer.

    Attributes:
        call: its name, and the actor of its commit.
        before: the newest manifest version right before the call began.
        after: the newest one right after it ended; None when it never did.
        attempts: how often it was begun: again, where the answer to a load with a name was missing.
        commit_id: of the commit that was acknowledged, whose outcome is not known, or that was read.
        affected: nodes and edges, as they were acknowledged.
        digest: of what was read.
        error: the message that it ended with.
    """

    call: str
    work: Work
    before: int
    after: int | None = None
    attempts: int = 1
    outcome: Outcome = Outcome.UNKNOWN
    commit_id: str | None = None
    affected: tuple[int, int] | None = None
    digest: str | None = None
    error: str | None = None

    def intent(self) -> dict[str, Any]:
        """What is written down before the call begins, as JSON."""
        return {"intent": self.call, "before": self.before, **work_to_json(self.work)}

    def ending(self) -> dict[str, Any]:
        """What is written down when it has ended, as JSON."""
        return {
            "ending": self.call,
            "after": self.after,
            "outcome": str(self.outcome),
            "commit_id": self.commit_id,
            "affected": self.affected,
            "digest": self.digest,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarNote:
    """What a process did with the sidecar of an operation.

    Attributes:
        what: ``writing``, ``written``, ``withdrawing``, ``withdrawn``, ``deleting`` or ``deleted``.
        at: the time by a clock that all processes of a machine share.
    """

    operation_id: str
    what: str
    process: int
    at: float


class NoteReader:
    """The notes of one writer, read as they grow.

    Attributes:
        records: the calls by name, in the order in which they began.
        hits: by failpoint and by what was under way, how often the writer ended itself there.
        pauses: the same, where it stopped itself and went on.
        faults: by what was asked for, how often a store failed on purpose.
        sidecars: what was done with sidecars, in order.
        failed_opens: how often the graph could not be opened because of faults.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, CallRecord] = {}
        self.hits: Counter[tuple[str, str]] = Counter()
        self.pauses: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[str] = Counter()
        self.sidecars: list[SidecarNote] = []
        self.failed_opens = 0
        self._offset = 0

    def read(self) -> Self:
        """Take in what was written since; a last line that is cut off waits for the next time."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._offset += len(whole)
            for line in whole.splitlines():
                self._take(json.loads(line))
        return self

    @property
    def unanswered(self) -> CallRecord | None:
        """The last call, if it never ended."""
        last = next(reversed(self.records.values()), None)
        return last if last is not None and last.after is None else None

    def _take(self, facts: dict[str, Any]) -> None:
        if "intent" in facts:
            call, before = facts.pop("intent"), facts.pop("before")
            earlier = self.records.get(call)
            if earlier is None:
                self.records[call] = CallRecord(call=call, work=work_of_json(facts), before=before)
            else:
                self.records[call] = replace(earlier, attempts=earlier.attempts + 1)
        elif "ending" in facts:
            self._end(facts)
        elif "hit" in facts:
            self.hits[facts["hit"], facts["during"]] += 1
        elif "pause" in facts:
            self.pauses[facts["pause"], facts["during"]] += 1
        elif "fault" in facts:
            self.faults[facts["fault"]] += 1
        elif "sidecar" in facts:
            self.sidecars.append(
                SidecarNote(operation_id=facts["sidecar"], what=facts["is"], process=facts["pid"], at=facts["at"])
            )
        elif "open" in facts:
            self.failed_opens += 1

    def _end(self, facts: Mapping[str, Any]) -> None:
        call, affected = facts["ending"], facts["affected"]
        self.records[call] = replace(
            self.records[call],
            after=facts["after"],
            outcome=Outcome(facts["outcome"]),
            commit_id=facts["commit_id"],
            affected=None if affected is None else (affected[0], affected[1]),
            digest=facts["digest"],
            error=facts["error"],
        )


def read_records(path: Path) -> tuple[CallRecord, ...]:
    """The calls that a file of notes tells of, in the order in which they began; none of a file that is not there."""
    return tuple(NoteReader(path).read().records.values())
