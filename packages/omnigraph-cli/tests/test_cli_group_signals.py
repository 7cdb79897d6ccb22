"""Signals as a terminal and ``timeout`` send them: to the command and to the processes that race for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 60


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_the_whole_group_ends_racing_processes_and_leaves_nothing_behind(
    omnigraph: Any, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    root = tmp_path / "graph"
    words = [omnigraph.executable, "-q", "storage", "check", str(root), "--rounds", "10000", "--seconds", "600"]
    with subprocess.Popen(words, **omnigraph.settings(), stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            # Writers are at it once objects of a race are there.
            while not list(root.glob("*/__race_*/*")):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            os.killpg(process.pid, sent)
            _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == code
    assert stderr.decode().splitlines() == [
        f"error: {'Interrupted' if code == 130 else 'Terminated'}. What the check wrote is removed."
    ]
    assert list(root.iterdir()) == []


def test_an_interrupted_check_that_cannot_remove_what_it_wrote_says_so(
    omnigraph: Any, install_vault: Callable[[str], None], tmp_path: Path
) -> None:
    install_vault(
        """
        def _write_if_absent(self, key, data):
            os.kill(os.getpid(), 2)
            time.sleep(600)

        def _delete_prefix(self, prefix):
            raise PermissionError(13, "no")
        """
    )
    result = omnigraph("-q", "storage", "check", "vault://x")
    assert result.returncode == 130
    assert "Interrupted. What the check wrote could not be removed: " in result.stderr
    assert "vault://x/__omnigraph_check_" in result.stderr


def test_racing_processes_do_not_outlive_a_command_that_was_killed(omnigraph: Any, tmp_path: Path) -> None:
    root = tmp_path / "graph"
    words = [omnigraph.executable, "-q", "storage", "check", str(root), "--rounds", "10000", "--seconds", "600"]
    with subprocess.Popen(words, **omnigraph.settings(), stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not list(root.glob("*/__race_*/*")):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            # Alone, and not its group: whoever kills it knows nothing of its writers.
            process.kill()
            process.wait(PATIENCE_SECONDS)
            while _is_group_alive(process.pid):
                assert time.monotonic() < deadline, "its writers race on"
                time.sleep(0.05)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _is_group_alive(group: int) -> bool:
    """Whether a process of the group still runs; one that ended and is not yet reaped does not."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, of_group = status.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                return True
    return False
