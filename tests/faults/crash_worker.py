"""A process whose children write to a graph and meet trouble at a failpoint; ``workers.py`` is the other side.

It imports everything once and forks for each job, because starting Python and Lance anew takes most of a second.
Jobs come as lines of JSON on stdin; for each, how its child ended goes to stdout.

``tell_story`` arms what ``OMNIGRAPH_FAILPOINTS`` of its job says, and writes each acknowledged commit to a file before
it goes on. ``stumble`` meets a full disk or closed directories from a failpoint on, until the load is over, and says
how that ended.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lance
import pyarrow as pa

import omnigraph as og
from omnigraph.errors import OmnigraphError
from omnigraph.testing.faults import FAILPOINTS_VARIABLE, Call, arm_from_environment, armed
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED

NOBODY = 65534

assert lance
assert pa
assert og.Graph


def tell_story(job: dict[str, Any]) -> None:
    """Make the graph or open it, then load what the job says, one commit after the other."""
    arm_from_environment({FAILPOINTS_VARIABLE: job["failpoints"]})
    with open(job["acknowledged"], "ab", buffering=0) as acknowledged:
        if job["is_new"]:
            graph = og.init(job["root"], schema=SCHEMA, force=job["force"])
            acknowledged.write(f"{graph.commits.list()[0].id}\n".encode())
        else:
            graph = og.open(job["root"])
        for mode, records in job["loads"]:
            commit = graph.load(records, mode).commit
            acknowledged.write(f"{commit.id}\n".encode())


@contextmanager
def full_disk(job: dict[str, Any]) -> Iterator[Callable[[str], None]]:
    """No file may grow once the function was called, as if the disk were full; until the context ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda name: resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def closed_directories(job: dict[str, Any]) -> Iterator[Callable[[str], None]]:
    """No name may be made or removed below the graph once the function was called; until the context ends."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    def close(mode: int) -> None:
        for directory, _, _ in os.walk(job["root"]):
            os.chmod(directory, mode)

    yield lambda name: close(0o555)
    close(0o755)


TROUBLES = {"full disk": full_disk, "closed directories": closed_directories}


def load_every_module() -> None:
    """Write and read elsewhere, while this user may still read the files of Python itself."""
    with og.init("memory://elsewhere", schema=SCHEMA) as graph:
        graph.load(SEED, "append")
        list(graph.export())


def stumble(job: dict[str, Any]) -> None:
    """Load once in trouble and, if nothing came of it, once more without."""
    ((mode, records),) = job["loads"]
    outcome: dict[str, Any] = {}
    load_every_module()
    with TROUBLES[job["trouble"]](job) as begin, og.open(job["root"]) as graph:
        before = len(graph.commits.list())
        with armed({job["at"]: Call(begin)}):
            try:
                graph.load(records, mode)
            except OmnigraphError as error:
                outcome = {
                    "error": error.to_dict(),
                    "message": str(error),
                    "condition": getattr(error, "condition", None),
                }
        with og.open(job["root"], mode="r") as reader:
            outcome["is_new"] = len(reader.commits.list()) > before
    with og.open(job["root"]) as again:
        # Opening for writing finishes or discards what was left.
        outcome["is_there"] = len(again.commits.list()) > before
        if not outcome["is_there"]:
            again.load(records, mode)
    with open(job["acknowledged"], "w") as told:
        json.dump(outcome, told)


def run(job: dict[str, Any]) -> int:
    """Run a job in a child; its exit code, or minus the number of the signal that ended it."""
    with warnings.catch_warnings():
        # Python and Lance warn of threads, of which there are none yet that a child would miss.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    exit_code = 1
    try:
        if job.get("trouble"):
            stumble(job)
        else:
            tell_story(job)
        exit_code = 0
    except BaseException:  # noqa: BLE001 - the child ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(exit_code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(run(json.loads(line)), flush=True)
