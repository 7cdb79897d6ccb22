"""``OtherProcesses``: lets children of another process write to a graph, and be killed or stopped while they do.

That process imports everything once and forks for each job, because starting Python and Lance anew takes most of a
second. It never uses a graph itself, so that its children may.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recovery_matrix import Point
from recovery_writes import Write

from omnigraph.config import RECOVERY_PATIENCE
from omnigraph.testing.graph_contract.clauses import GraphPlace

SCRIPT = Path(__file__).parent / "dying_children.py"


@dataclass(frozen=True)
class StoppedChild:
    """A child that stands still.

    Attributes:
        told: the file that it will write its end to.
    """

    pid: int
    told: str


class OtherProcesses:
    """One process and its children; all end with the context."""

    def __enter__(self) -> Self:
        self._printed = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._printed, text=True
        )
        self._directory = tempfile.TemporaryDirectory()
        self._stopped: set[int] = set()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self._stopped:
            os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.communicate()
        self._printed.close()
        self._directory.cleanup()

    def kill_at(self, place: GraphPlace, write: Write, number: int, point: Point) -> None:
        """Let a child make a write, and be killed at a point of it."""
        answer = self._send({"do": "write", "end": "kill", **_job(place, write, number, point)})
        assert answer == {"exit": -signal.SIGKILL}, self.printed()

    def kill_in_recovery(self, place: GraphPlace, failpoint: str, nth: int) -> None:
        """Let a child open the graph for writing, and be killed at a failpoint of the recovery."""
        answer = self._send({"do": "open", "failpoints": f"{failpoint}=kill@{nth}", **_of(place)})
        assert answer == {"exit": -signal.SIGKILL}, self.printed()

    def open(self, place: GraphPlace, failpoint: str) -> None:
        """Let a child open the graph for writing, and be killed at a failpoint if it comes by."""
        answer = self._send({"do": "open", "failpoints": f"{failpoint}=kill", **_of(place)})
        assert answer in ({"exit": -signal.SIGKILL}, {"exit": 0}), self.printed()

    def stop_at(self, place: GraphPlace, write: Write, number: int, point: Point) -> StoppedChild:
        """Let a child make a write, and stop it at a point of it."""
        _, told = tempfile.mkstemp(dir=self._directory.name)
        answer = self._send({"do": "write", "end": "stop", "told": told, **_job(place, write, number, point)})
        assert "stopped" in answer, self.printed()
        self._stopped.add(answer["stopped"])
        return StoppedChild(answer["stopped"], told)

    def resume(self, child: StoppedChild) -> dict[str, Any]:
        """Let a stopped child go on to its end; what became of its write, as it was told."""
        answer = self._send({"do": "resume", "pid": child.pid})
        assert answer == {"exit": 0}, self.printed()
        self._stopped.discard(child.pid)
        outcome: dict[str, Any] = json.loads(Path(child.told).read_text())
        return outcome

    def open_at_once(self, place: GraphPlace, failpoint: str, *, count: int) -> None:
        """Let so many children open the graph for writing and meet at a failpoint; none fails."""
        meeting = tempfile.mkdtemp(dir=self._directory.name)
        job = {"do": "open", "count": count, "failpoints": f"{failpoint}=meet*{count}:{meeting}", **_of(place)}
        assert self._send(job) == {"exit": 0}, self.printed()

    def printed(self) -> str:
        """What the children wrote to stderr."""
        self._printed.seek(0)
        return self._printed.read()[-5000:]

    def _send(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the process itself ended: {self.printed()}"
        found: dict[str, Any] = json.loads(answer)
        return found


def _of(place: GraphPlace) -> dict[str, Any]:
    return {"uri": place.uri, "options": dict(place.options)}


def _job(place: GraphPlace, write: Write, number: int, point: Point) -> dict[str, Any]:
    # What a test set after that process was started holds for its children, too.
    environment = {name: os.environ[name] for name in (RECOVERY_PATIENCE,) if name in os.environ}
    return {**_of(place), "write": write.name, "number": number, "point": point.name, "environment": environment}
