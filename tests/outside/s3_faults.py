"""Let the network between writers and an S3 server fail, and see that nothing is lost and every call ends in time.

A writer with a deadline for each call reaches the server through a proxy that hangs, resets, refuses, is slow, loses
answers after the server did what was asked, and cuts answers short. Sometimes another writer goes on beside it that has
a good network. Each call has to end within its deadline, one timeout more and a second of grace; calls that take no
deadline (opening, branches, tags) within a fixed time. Then fresh processes look at the graph over a good network.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from random import Random

from outside_children import join
from outside_network import FAULTS, Proxy, failing_network
from outside_plans import SHARES
from outside_runs import Run, World, arguments, run_of
from outside_s3 import BUCKET, options_of, s3_server
from outside_steps import Tap, end_of, last_steps

CONNECT_SECONDS, READ_SECONDS = 1, 2
TIMEOUT_SECONDS = CONNECT_SECONDS + READ_SECONDS
GRACE_SECONDS = 1.0
FREE_SECONDS = 30.0
"""How long a call may take that has no deadline, with its three tries of each request."""

WAIT_SECONDS = 15.0
"""How long a call is waited for that has overrun, before its process is killed."""

OPERATIONS_OF_A_WRITER = 10
WRITERS_OF_A_WORLD = 4
LIFE_SECONDS = 180.0
ALLOWED = frozenset({"storage", "outcome_unknown", "deadline"})
WITHOUT_DEADLINE = ("open", "init", "create branch", "delete branch", "create tag", "delete tag")
OPERATIONS = SHARES | {"query": 12, "export": 5, "bulk": 3}


@dataclass(frozen=True, slots=True)
class Trouble:
    """What may go wrong.

    Attributes:
        is_once: each operation meets one fault, and its time is not judged.
    """

    faults: list[str]
    is_once: bool


def weather(random: Random, trouble: Trouble) -> dict[str, object]:
    """What goes wrong during one operation."""
    faults = trouble.faults
    fault = random.choice(faults)
    match 0 if trouble.is_once else random.randrange(4):
        case 0:
            return {"fault": fault, "after": random.randrange(20), "times": 1}
        case 1:
            # From some request on, until the call is over.
            return {"fault": fault, "after": random.randrange(12), "times": 10**6}
        case 2:
            return {"fault": fault, "after": random.randrange(15), "times": random.randrange(2, 5)}
        case _:
            chosen = random.sample(faults, min(3, len(faults)))
            return {"shares": {each: random.choice((0.02, 0.1, 0.2)) for each in chosen}}


def bound_of(operation: dict[str, object]) -> float:
    deadline = operation.get("deadline")
    if operation["verb"] in WITHOUT_DEADLINE or not isinstance(deadline, int | float):
        return FREE_SECONDS
    return deadline + TIMEOUT_SECONDS + GRACE_SECONDS


def run_writer(run: Run, world: World, proxy: Proxy, reached: dict[str, object], trouble: Trouble, wanted: int) -> int:
    """One writer whose every second operation meets faults; the others have a good network and have to succeed."""
    random, tap = world.planner.random, Tap.new()
    plan = [world.planner.opening()]
    for _ in range(min(OPERATIONS_OF_A_WRITER, wanted)):
        plan.append(world.planner.operation(0) | {"deadline": random.choice((1.0, 2.0, 4.0)), "meets": "faults"})
        if random.random() < 0.3:
            plan.append(world.planner.simple())
    if random.random() < 0.15:
        plan[0]["meets"] = "faults"
    child = world.writer(plan, options=reached, wait=tap.wait)
    other = None
    if random.random() < 0.4:
        other = world.writer([world.planner.opening(), *world.planner.history(1, 8)])
    tried = 0
    for number, operation in enumerate(plan):
        is_bad = "meets" in operation
        bad = weather(random, trouble) if is_bad else {}
        proxy.set(random.randrange(10**9), **bad)
        began = time.monotonic()
        tap.let_go()
        is_over = end_of(child, operation["number"], bound_of(operation) + WAIT_SECONDS)
        facts = proxy.set(0)
        world.oracle.listen()
        entry = world.oracle.journal.entries.get(operation["number"])
        tried += is_bad and number > 0
        seconds = (entry and entry.seconds) or time.monotonic() - began
        longest = f"longest {operation['verb']}, ms"
        run.counts[longest] = max(run.counts[longest], int(1000 * seconds))
        is_late = seconds > bound_of(operation) and not trouble.is_once
        if is_late and entry is not None and entry.is_acknowledged:
            # A write that has announced its commit goes on to its end, as the documentation says.
            run.counts["acknowledged after its bound"] += 1
        elif is_late:
            end = f"{seconds:.1f} s" if is_over else f"more than {seconds:.0f} s, and was killed"
            told = entry.refusal and entry.refusal["kind"] if entry else None
            what = f"operation {operation['number']} ({operation['verb']}, deadline {operation.get('deadline')})"
            run.counts[f"overruns of {operation['verb']}"] += 1
            world.oracle.find(
                "overrun", f"{what} took {end}; it ended with {told}; {facts['requests']} requests met {bad}"
            )
        if not is_over or (child.is_over and entry is not None and entry.ended is None):
            break
        if not is_bad and (entry is None or not entry.is_acknowledged) and other is None:
            refusal = entry and entry.refusal
            world.oracle.find("unreadable", f"operation {operation['number']} had a good network: {refusal}")
        if number == 0 and (entry is None or not entry.is_acknowledged):
            break
    last_steps(child, tap, LIFE_SECONDS)
    if other is not None and not join(other, LIFE_SECONDS):
        world.oracle.find("overrun", f"a writer with a good network lives after {LIFE_SECONDS:.0f} s")
    proxy.quiet()
    return tried


def run_world(run: Run, proxy: Proxy, url: str, trouble: Trouble, wanted: int, until: float) -> int:
    tried = 0
    reached = options_of(proxy.url, connect_timeout_seconds=CONNECT_SECONDS, read_timeout_seconds=READ_SECONDS)
    root = f"s3://{BUCKET}/world-{run.worlds + 1}"
    with run.world(root=root, allowed=ALLOWED, shares=OPERATIONS, options=options_of(url), is_local=False) as world:
        join(world.writer([world.planner.numbered(verb="init", force=False), world.planner.simple()]), LIFE_SECONDS)
        for _ in range(WRITERS_OF_A_WORLD):
            severe = [each for each in world.oracle.findings if each.kind != "overrun"]
            if tried >= wanted or severe or time.monotonic() > until:
                break
            tried += run_writer(run, world, proxy, reached, trouble, wanted - tried)
            world.look("rw", is_settled=True)
        world.go_on()
        world.look("rw", is_settled=True)
    return tried


def main() -> int:
    parser = arguments(__doc__ or "", 1000, "operations that meet faults")
    parser.add_argument("--once", action="store_true", help="let each operation meet one fault, and do not judge time")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS), help="only these")
    asked = parser.parse_args()
    began, trouble = time.monotonic(), Trouble(asked.faults, asked.once)
    with run_of("s3-faults", asked) as run, s3_server(run.directory) as url:
        run.warm_up(f"s3://{BUCKET}/first", options_of(url))
        tried = 0
        with failing_network(url, run.directory) as proxy:
            while tried < asked.count and time.monotonic() < began + asked.seconds:
                tried += run_world(run, proxy, url, trouble, asked.count - tried, began + asked.seconds)
                kinds = Counter(finding.kind for finding, _ in run.findings)
                if kinds.total() - kinds["overrun"] > 20:
                    break
            faults = proxy.set(0)["counts"]
        return run.tell(operations=tried, requests=faults)


if __name__ == "__main__":
    sys.exit(main())
