"""``Worker``: lets another process write to a graph, and die at a failpoint while it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from omnigraph.testing.model import Mode, Record

SCRIPT = Path(__file__).parent / "crash_worker.py"


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        acknowledged: the commits that were reported as made, in order.
        printed: what it wrote to stderr.
    """

    exit_code: int
    acknowledged: tuple[str, ...]
    printed: str

    @property
    def is_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL


class Worker:
    """One process that forks a child for each job; ends with the context."""

    def __enter__(self) -> Self:
        self._printed = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._printed, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._printed.close()

    def run(
        self,
        root: Path,
        loads: Sequence[tuple[Mode, Sequence[Record]]] = (),
        *,
        is_new: bool = False,
        force: bool = False,
        failpoints: str = "",
    ) -> Ended:
        """Make the graph or open it, and load; wait until that child has ended."""
        exit_code, written, printed = self._send(
            {"root": str(root), "is_new": is_new, "force": force, "loads": list(loads), "failpoints": failpoints}
        )
        return Ended(exit_code, tuple(written.split()), printed)

    def stumble(self, root: Path, load: tuple[Mode, Sequence[Record]], *, trouble: str, at: str) -> dict[str, Any]:
        """Load once with trouble from a failpoint on, and again without; how the first one ended."""
        exit_code, written, printed = self._send({"root": str(root), "loads": [load], "trouble": trouble, "at": at})
        assert exit_code == 0, printed
        outcome: dict[str, Any] = json.loads(written)
        return outcome

    def _send(self, job: dict[str, Any]) -> tuple[int, str, str]:
        """How the child ended, what it wrote to its file, and what it printed."""
        assert self._process.stdin
        assert self._process.stdout
        with tempfile.NamedTemporaryFile() as told:
            os.chmod(told.name, 0o666)
            start = self._printed.tell()
            self._process.stdin.write(json.dumps({**job, "acknowledged": told.name}) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            assert answer, "the worker itself ended"
            self._printed.seek(start)
            return int(answer), told.read().decode(), self._printed.read()
