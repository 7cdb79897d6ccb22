"""Stop processes that write to a graph for longer than anybody waits for them, let others go on, and continue them.

SIGSTOP hits at a time that is drawn over how long such an operation took so far. While the process is stopped, another
one opens the graph, which settles what looks cut off after ``OMNIGRAPH_RECOVERY_PATIENCE``, and writes to it. Then the
first goes on with a plan that may have been published or taken back by others. Afterwards nothing acknowledged may be
lost, nothing partial, and the list of recoveries has to agree with the history.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from random import Random

from kills import Durations
from outside_children import Child, join, wait_for
from outside_runs import Run, World, arguments, run_of

ROUNDS_OF_A_WORLD = 20
PATIENCE_SECONDS = 0.3
LIFE_SECONDS = 120.0


def is_stopped(child: Child) -> bool:
    """Whether the kernel holds it; a process that ended before the signal came is not."""
    with open(f"/proc/{child.pid}/stat", "rb") as file:
        return file.read().rsplit(b")", 1)[1].split()[0] == b"T"


def stop_in(world: World, child: Child, number: int, delay: float) -> bool:
    """Stop a process so long after it began an operation; whether it was stopped before it ended."""
    until = time.monotonic() + LIFE_SECONDS
    while ("begun", number) not in child.rung and not child.is_over:
        wait_for([child], until)
        if time.monotonic() > until:
            world.oracle.find("overrun", f"operation {number} was not begun after {LIFE_SECONDS:.0f} s")
            child.kill()
    deadline = time.monotonic() + delay
    while time.monotonic() < deadline and not child.is_over:
        wait_for([child], deadline)
    child.signal(signal.SIGSTOP)
    if child.is_over:
        return False
    # It counts as stopped once the kernel says so; a process that has just ended becomes a zombie instead.
    for _ in range(1000):
        if is_stopped(child):
            return True
        if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.001)
    return is_stopped(child)


def run_round(world: World, durations: Durations) -> int:
    """One stop and all that others do meanwhile; 1 if the process was stopped, else 0."""
    random = world.planner.random
    plan = [world.planner.opening(), *world.planner.history(0, random.randrange(1, 4))]
    chosen = plan[0] if random.random() < 0.1 else random.choice(plan[1:])
    sleeper = world.writer(plan)
    was_stopped = stop_in(world, sleeper, chosen["number"], durations.moment(chosen["verb"]))
    others = [world.planner.opening(), *world.planner.history(1, random.randrange(0, 4))]
    if was_stopped:
        if random.random() < 0.3:
            world.look("r", is_settled=False)
        if random.random() < 0.3:
            world.look("rw", is_settled=False)
        if not join(world.writer(others), LIFE_SECONDS):
            world.oracle.find("overrun", f"a writer beside a stopped one lives after {LIFE_SECONDS:.0f} s")
        sleeper.signal(signal.SIGCONT)
    if not join(sleeper, LIFE_SECONDS):
        world.oracle.find("overrun", f"a writer lives {LIFE_SECONDS:.0f} s after it was continued")
    for entry in world.oracle.listen():
        is_plain = entry.number != chosen["number"] and entry.operation["verb"] != "open"
        if entry.seconds is not None and (is_plain or not was_stopped):
            durations.learn(entry.operation["verb"], entry.seconds)
    return int(was_stopped)


def run_world(run: Run, durations: Durations, wanted: int, until: float) -> int:
    stops = 0
    with run.world(environment={"OMNIGRAPH_RECOVERY_PATIENCE": str(PATIENCE_SECONDS)}) as world:
        join(world.writer([world.planner.numbered(verb="init", force=False), world.planner.simple()]), LIFE_SECONDS)
        world.oracle.listen()
        for _ in range(ROUNDS_OF_A_WORLD):
            if stops >= wanted or world.oracle.findings or time.monotonic() > until:
                break
            stops += run_round(world, durations)
            if world.planner.random.random() < 0.7:
                world.look("rw", is_settled=True)
        if not world.oracle.findings:
            world.look("rw", is_settled=True)
            world.go_on()
            world.look("rw", is_settled=True)
    return stops


def main() -> int:
    asked = arguments(__doc__ or "", 300, "processes to stop").parse_args()
    with run_of("stops", asked) as run:
        run.warm_up()
        durations, stops, until = Durations(Random(asked.seed)), 0, time.monotonic() + asked.seconds
        while stops < asked.count and time.monotonic() < until and len(run.findings) <= 20:
            stops += run_world(run, durations, asked.count - stops, until)
        return run.tell(stops=stops)


if __name__ == "__main__":
    sys.exit(main())
