"""What a test can let happen at a failpoint, in this process and in another one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.failpoints import (
    FAILPOINTS,
    INIT_CLAIMED,
    LOAD_STAGED,
    PUBLISH_AFTER_COMMIT,
    PUBLISH_BEFORE_COMMIT,
    reach,
)
from omnigraph.testing import faults
from omnigraph.testing.faults import (
    Barrier,
    Call,
    FailpointError,
    Once,
    OnNth,
    Raise,
    RaiseTimes,
    arm_from_environment,
    armed,
    recorded,
)


def test_the_error_is_raised_each_time_and_not_after_the_body():
    error = OSError("gone")
    with armed({PUBLISH_BEFORE_COMMIT: Raise(error)}):
        for _ in range(2):
            with pytest.raises(OSError, match="gone") as caught:
                reach(PUBLISH_BEFORE_COMMIT)
            assert caught.value is error
        reach(PUBLISH_AFTER_COMMIT)
    reach(PUBLISH_BEFORE_COMMIT)


def test_the_error_is_raised_so_many_times_and_then_no_more():
    with armed({PUBLISH_BEFORE_COMMIT: RaiseTimes(2, OSError("gone"))}):
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                reach(PUBLISH_BEFORE_COMMIT)
        reach(PUBLISH_BEFORE_COMMIT)


def test_an_action_can_wait_for_the_nth_time():
    called: list[str] = []
    with armed({LOAD_STAGED: OnNth(3, Call(called.append))}):
        for _ in range(4):
            reach(LOAD_STAGED)
    assert called == ["load.staged", "load.staged"]


def test_an_action_can_happen_once():
    called: list[str] = []
    with armed({LOAD_STAGED: OnNth(2, Once(Call(called.append)))}):
        for _ in range(4):
            reach(LOAD_STAGED)
    assert called == ["load.staged"]


def test_the_body_may_fail_and_the_failpoint_is_disarmed_all_the_same():
    with pytest.raises(KeyError), armed({PUBLISH_BEFORE_COMMIT: Raise(KeyError())}):
        reach(PUBLISH_BEFORE_COMMIT)
    reach(PUBLISH_BEFORE_COMMIT)


def test_an_inner_action_stands_in_for_the_outer_one_and_gives_its_place_back():
    called: list[str] = []
    with armed({LOAD_STAGED: Call(lambda name: called.append("outer"))}):
        with armed({LOAD_STAGED: Call(lambda name: called.append("inner"))}):
            reach(LOAD_STAGED)
        reach(LOAD_STAGED)
    reach(LOAD_STAGED)
    assert called == ["inner", "outer"]


def test_an_unknown_name_arms_nothing():
    with (
        pytest.raises(ValueError, match="nowhere"),
        armed({LOAD_STAGED: Raise(OSError()), "nowhere": Raise(OSError())}),
    ):
        pytest.fail("the body ran")
    reach(LOAD_STAGED)


def test_what_is_reached_is_recorded_in_order():
    with recorded() as reached:
        reach(PUBLISH_BEFORE_COMMIT)
        reach(INIT_CLAIMED)
        reach(PUBLISH_BEFORE_COMMIT)
    reach(INIT_CLAIMED)
    assert reached == ["publish.before_commit", "init.claimed", "publish.before_commit"]


def test_the_registry_is_to_be_had_where_the_actions_are():
    assert faults.FAILPOINTS is FAILPOINTS


# ── meetings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_threads_meet_at_a_barrier_and_later_ones_pass():
    with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, seconds=30)}), ThreadPoolExecutor(2) as pool:
        first = pool.submit(reach, PUBLISH_BEFORE_COMMIT)
        with pytest.raises(TimeoutError):
            first.result(0.1)
        pool.submit(reach, PUBLISH_BEFORE_COMMIT).result(30)
        first.result(30)
        reach(PUBLISH_BEFORE_COMMIT)


def test_who_waits_for_nobody_is_told():
    with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, seconds=0)}), pytest.raises(TimeoutError, match="fewer than 2"):
        reach(PUBLISH_BEFORE_COMMIT)


COME = """
import sys
from pathlib import Path
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT, reach
from omnigraph.testing.faults import Barrier, armed
with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, directory=Path(sys.argv[1]))}):
    reach(PUBLISH_BEFORE_COMMIT)
"""


def test_processes_meet_through_a_directory(tmp_path: Path):
    meeting = tmp_path / "meeting"
    with subprocess.Popen([sys.executable, "-c", COME, str(meeting)]) as other:
        with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, directory=meeting)}):
            reach(PUBLISH_BEFORE_COMMIT)
        assert other.wait(60) == 0
    # A third one passes: the meeting was held.
    with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, directory=meeting)}):
        reach(PUBLISH_BEFORE_COMMIT)


# ── by a variable, in a process that asks ────────────────────────────────────────────────────────────────────────────

SCRIPT = """
import sys
from omnigraph.failpoints import reach
from omnigraph.testing.faults import arm_from_environment
arm_from_environment()
for name in sys.argv[1:]:
    try:
        reach(name)
    except Exception as error:
        print("raised", type(error).__name__, flush=True)
    else:
        print("passed", name, flush=True)
"""


def run_script(setting: str, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        env={**os.environ, "OMNIGRAPH_FAILPOINTS": setting},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_another_process_is_killed_at_the_failpoint_that_the_variable_names():
    done = run_script("publish.before_commit=kill", "load.staged", "publish.before_commit", "load.staged")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "passed load.staged\n"


def test_another_process_is_killed_when_it_comes_the_second_time():
    done = run_script(" load.staged = kill@2 ", "load.staged", "publish.before_commit", "load.staged", "init.claimed")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "passed load.staged\npassed publish.before_commit\n"


def test_another_process_gets_an_error_of_its_own_kind():
    done = run_script("load.staged=raise*1,init.claimed=raise", "load.staged", "load.staged", "init.claimed")
    assert done.stdout.split() == ["raised", "FailpointError", "passed", "load.staged", "raised", "FailpointError"]
    assert done.returncode == 0


def test_without_the_variable_nothing_is_armed():
    arm_from_environment({})
    arm_from_environment({"OMNIGRAPH_FAILPOINTS": " "})
    for name in FAILPOINTS:
        reach(name)


def test_a_variable_can_ask_for_a_meeting(tmp_path: Path):
    """In a directory whose name holds an at sign and a colon only where the spelling allows them."""
    directory = tmp_path / "a:b"
    directory.mkdir()
    (directory / "publish.before_commit").mkdir()
    (directory / "publish.before_commit" / "who-came-first").touch()
    done = run_script(f"publish.before_commit=meet*2:{directory}@1", "publish.before_commit")
    assert done.stdout == "passed publish.before_commit\n"
    assert len(list((directory / "publish.before_commit").iterdir())) == 2


@pytest.mark.parametrize(
    "setting",
    ["publish.before_commit", "publish.before_commit=explode", "load.staged=kill@x", "load.staged=raise*x",
     "load.staged=meet*2", "load.staged=meet:/tmp", "nowhere=kill"],
)  # fmt: skip
def test_a_variable_that_says_nothing_known_is_refused_and_arms_nothing(setting: str):
    with pytest.raises(ValueError, match=r"There is no failpoint|has no action"):
        arm_from_environment({"OMNIGRAPH_FAILPOINTS": f"init.claimed=raise,{setting}"})
    reach(INIT_CLAIMED)


def test_the_error_of_the_variable_is_none_of_the_product():
    assert FailpointError.__mro__ == (FailpointError, Exception, BaseException, object)
