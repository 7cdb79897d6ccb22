"""A process whose children write to a graph and are killed or stopped at a failpoint; see ``other_processes``.

Jobs come as lines of JSON on stdin; how each ended goes to stdout.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from recovery_matrix import POINTS
from recovery_world import SMALL_TAIL, write_until
from recovery_writes import WRITES

import omnigraph as og
import omnigraph_storage_local.adapter
import omnigraph_storage_s3.adapter
from omnigraph.errors import OmnigraphError
from omnigraph.plugins import installed_plugins
from omnigraph.testing.faults import FAILPOINTS_VARIABLE, Kill, arm_from_environment
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.write import fold_policy

assert lance
assert pa
assert og.Graph
assert omnigraph_storage_local.adapter
assert omnigraph_storage_s3.adapter
assert installed_plugins()


def place_of(job: dict[str, Any]) -> GraphPlace:
    return GraphPlace(uri=job["uri"], options=job["options"])


def write(job: dict[str, Any]) -> None:
    """Make a write; die at its point, or stand still there and say afterwards how it ended."""
    os.environ.update(job["environment"])
    place, end = place_of(job), Kill() if job["end"] == "kill" else StandStill()
    point = next(each for each in POINTS if each.name == job["point"])
    outcome: dict[str, Any] = {"error": None}
    with place.open() as graph:
        try:
            write_until(graph, place, WRITES[job["write"]], job["number"], point, end)
        except OmnigraphError as error:
            outcome = {"error": error.kind, "message": str(error)}
    Path(job["told"]).write_text(json.dumps(outcome))


class StandStill:
    """Stops this process, once."""

    def __init__(self) -> None:
        self.has_stopped = False

    def __call__(self, name: str) -> None:
        if not self.has_stopped:
            self.has_stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)


def open_for_writing(job: dict[str, Any]) -> None:
    arm_from_environment({FAILPOINTS_VARIABLE: job["failpoints"]})
    place_of(job).open().close()


def fork(work: Callable[[dict[str, Any]], None], job: dict[str, Any]) -> int:
    with warnings.catch_warnings():
        # Python and Lance warn of threads, of which there are none yet that a child would miss.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        return pid
    exit_code = 1
    try:
        work(job)
        exit_code = 0
    except BaseException:  # noqa: BLE001 - the child ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(exit_code)


def wait(pid: int) -> dict[str, int]:
    """How a child ended, or that it stands still."""
    status = os.waitpid(pid, os.WUNTRACED)[1]
    return {"stopped": pid} if os.WIFSTOPPED(status) else {"exit": os.waitstatus_to_exitcode(status)}


def run(job: dict[str, Any]) -> dict[str, int]:
    match job["do"]:
        case "write":
            return wait(fork(write, job))
        case "open":
            children = [fork(open_for_writing, job) for _ in range(job.get("count", 1))]
            ended = {wait(each)["exit"] for each in children}
            return {"exit": max(ended, key=abs)}
        case "resume":
            os.kill(job["pid"], signal.SIGCONT)
            return wait(job["pid"])
        case other:
            raise ValueError(other)


if __name__ == "__main__":
    os.environ["OMNIGRAPH_TAIL_MAINTENANCE"] = "off"
    fold_policy.TAIL_PARTS = SMALL_TAIL
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
