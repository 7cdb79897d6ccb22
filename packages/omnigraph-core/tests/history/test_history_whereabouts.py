"""Where a process runs, and what another one of the same machine can tell of it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from omnigraph.history import whereabouts as module
from omnigraph.history.whereabouts import Fate, Whereabouts, fate_of, whereabouts

TELL = (
    "import json, sys; from omnigraph.history.whereabouts import whereabouts; "
    "print(json.dumps(whereabouts().to_dict()), flush=True); sys.stdin.read()"
)


def started() -> tuple[subprocess.Popen[str], Whereabouts]:
    """A process, and what it says of itself; it ends when its input does."""
    import json

    child = subprocess.Popen([sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, Whereabouts(**json.loads(child.stdout.readline()))


def test_this_process_is_here():
    assert fate_of(whereabouts()) is Fate.HERE
    assert whereabouts().pid == os.getpid()


def test_a_process_that_lives_is_not_told_dead_and_one_that_was_killed_is():
    child, told = started()
    assert fate_of(told) is Fate.UNKNOWN
    child.kill()
    # Nobody has looked at how it ended, so it still has its number.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert fate_of(told) is Fate.GONE
    child.communicate()
    assert fate_of(told) is Fate.GONE


def test_another_process_of_the_same_number_is_not_the_same():
    here = whereabouts()
    assert here.began is not None
    assert fate_of(replace(here, began=here.began - 1)) is Fate.GONE


@pytest.mark.parametrize("change", [{"machine": "elsewhere"}, {"machine": None}])
def test_of_a_process_elsewhere_nothing_is_told(change):
    assert fate_of(replace(whereabouts(), pid=1, **change)) is Fate.UNKNOWN


def test_a_machine_that_tells_nothing_of_its_processes_takes_nobody_for_dead(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_PROC", tmp_path)
    module._whereabouts_of.cache_clear()
    try:
        here = whereabouts()
        assert (here.machine, here.began) == (None, None)
        assert fate_of(here) is Fate.HERE
        assert fate_of(replace(here, pid=here.pid + 1)) is Fate.UNKNOWN
    finally:
        module._whereabouts_of.cache_clear()


FORKING = """
import os
from omnigraph.history.whereabouts import Fate, fate_of, whereabouts

parent = whereabouts()
if os.fork() == 0:
    os._exit(0 if whereabouts().pid == os.getpid() and fate_of(parent) is Fate.UNKNOWN else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_child_is_another_process():
    assert subprocess.run([sys.executable, "-c", FORKING], check=False).returncode == 0
