"""A root, an adapter and forked children for the tests of the local backend, and the kill histogram in the summary."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnigraph.storage import parse_uri
from omnigraph_storage_local.adapter import LocalAdapter

HISTOGRAM = "kill_histogram"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root that is not there yet, with a space, an accent and a percent sign in its way."""
    return tmp_path / "my gräph%20.omni"


@pytest.fixture
def adapter(root: Path) -> LocalAdapter:
    return LocalAdapter(parse_uri(root))


class Children:
    """Forked children of a test. What is left of them is killed, by process id, when the test ends."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._ended: dict[int, int] = {}

    def start(self, work: Callable[[], object]) -> int:
        """Run ``work`` in a forked child that exits with 0, or with 1 and a traceback; its process id."""
        pid = self.fork()
        if pid:
            self._running.add(pid)
            return pid
        exit_code = 1
        try:
            work()
            exit_code = 0
        finally:
            if exit_code:
                traceback.print_exc()
            os._exit(exit_code)

    @staticmethod
    def fork() -> int:
        """``os.fork`` without the warnings of Python and of Lance about threads, of which the children use none."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return os.fork()

    def wait(self, pid: int) -> int:
        """What ended the child: its exit code, or minus the number of the signal."""
        if self.is_running(pid):
            self._note_end(pid, os.waitpid(pid, 0)[1])
        return self._ended[pid]

    def is_running(self, pid: int) -> bool:
        if pid in self._running:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._note_end(pid, status)
        return pid in self._running

    def _note_end(self, pid: int, status: int) -> None:
        self._running.discard(pid)
        self._ended[pid] = os.waitstatus_to_exitcode(status)

    def wait_until_stopped(self, pid: int) -> None:
        _, status = os.waitpid(pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"the child ended with {status} instead of stopping"

    def run(self, work: Callable[[], object]) -> int:
        return self.wait(self.start(work))

    def end(self) -> None:
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.fixture
def children() -> Iterator[Children]:
    started = Children()
    yield started
    started.end()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        line
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for name, line in report.user_properties
        if name == HISTOGRAM
    ]
    if lines:
        terminalreporter.section("local writers killed: verb, step, kills, then what the object held")
        for line in lines:
            terminalreporter.line(str(line))
