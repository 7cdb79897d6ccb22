"""Kill processes that write to a graph, at any time, and see that nothing acknowledged is lost and nothing partial.

In each round one to three processes do random histories on one graph. Some of them are killed by SIGKILL, at a time
that is drawn over how long such an operation took so far: opening the graph, which finishes what the dead of the
round before left, and making it, too. Then fresh processes look at the graph and write to it.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from random import Random

from outside_children import Child, wait_for
from outside_runs import Run, World, arguments, run_of

ROUNDS_OF_A_WORLD = 25
LIFE_SECONDS = 120.0


@dataclass(slots=True)
class Durations:
    """How long operations took, by verb: the longest of late, so that kills spread over all of it."""

    random: Random
    _seconds: dict[str, float] = field(default_factory=dict)

    def learn(self, verb: str, seconds: float) -> None:
        self._seconds[verb] = max(seconds, 0.9 * self._seconds.get(verb, 0.0))

    def moment(self, verb: str) -> float:
        return self.random.uniform(0.0, 1.1 * self._seconds.get(verb, 0.05))


@dataclass(slots=True)
class Victim:
    """A writer, the operation in which it is to die, and when, once that has begun."""

    child: Child
    number: int
    verb: str
    dies_at: float | None = None


def kill_in(world: World, plans: list[list[dict[str, object]]], victims: list[int], durations: Durations) -> int:
    """Run writers and kill some of them; how many were alive when they were killed."""
    children = [world.writer(plan) for plan in plans]
    doomed = []
    for lane in victims:
        # Openings are short and matter: they are where a recovery is cut off.
        plan = plans[lane]
        operation = plan[0] if world.planner.random.random() < 0.2 else world.planner.random.choice(plan)
        doomed.append(Victim(children[lane], operation["number"], operation["verb"]))
    kills, until = 0, time.monotonic() + LIFE_SECONDS
    while not all(child.is_over for child in children):
        for each in doomed:
            if each.dies_at is None and ("begun", each.number) in each.child.rung:
                each.dies_at = time.monotonic() + durations.moment(each.verb)
            if each.dies_at is not None and time.monotonic() >= each.dies_at and not each.child.is_over:
                each.child.kill()
                kills += 1
        if time.monotonic() > until:
            world.oracle.find("overrun", f"a writer lives after {LIFE_SECONDS:.0f} s")
            for child in children:
                child.kill()
        next_death = min((each.dies_at for each in doomed if each.dies_at and not each.child.is_over), default=until)
        if not all(child.is_over for child in children):
            wait_for(children, min(next_death, until))
    for entry in world.oracle.listen():
        if entry.seconds is not None:
            durations.learn(entry.operation["verb"], entry.seconds)
    return kills


def make(world: World, durations: Durations) -> int:
    """Let a process make the graph, killed in some worlds; how many kills that took."""
    kills = 0
    random = world.planner.random
    while not world.oracle.is_made:
        plan = [world.planner.numbered(verb="init", force=kills > 0)]
        is_doomed = kills < 3 and random.random() < 0.5
        kills += kill_in(world, [plan], [0] if is_doomed else [], durations)
        if is_doomed:
            # A graph that is there is whole; otherwise the next one makes it.
            world.look("r", is_settled=False)
        elif not world.oracle.is_made and not world.oracle.findings:
            world.oracle.find("unreadable", "the graph could not be made")
        if world.oracle.findings:
            break
    return kills


def run_world(run: Run, durations: Durations, wanted: int, until: float) -> int:
    kills = 0
    with run.world() as world:
        random = world.planner.random
        kills += make(world, durations)
        for _ in range(ROUNDS_OF_A_WORLD):
            if kills >= wanted or world.oracle.findings or time.monotonic() > until:
                break
            lanes = random.choice((1, 2, 3, 3))
            plans = [
                [world.planner.opening(), *world.planner.history(lane, random.randrange(2, 7))] for lane in range(lanes)
            ]
            victims = random.sample(range(lanes), random.randrange(1, lanes + 1))
            kills += kill_in(world, plans, victims[: wanted - kills], durations)
            if random.random() < 0.4:
                world.look("r", is_settled=False)
            # Otherwise the next writers settle what the dead left, and may be killed while they do.
            if random.random() < 0.6:
                world.look("rw", is_settled=True)
                world.go_on()
        if not world.oracle.findings:
            world.look("rw", is_settled=True)
    return kills


def main() -> int:
    asked = arguments(__doc__ or "", 2000, "processes to kill").parse_args()
    with run_of("kills", asked) as run:
        run.warm_up()
        durations, kills, until = Durations(Random(asked.seed)), 0, time.monotonic() + asked.seconds
        while kills < asked.count and time.monotonic() < until:
            kills += run_world(run, durations, asked.count - kills, until)
            if len(run.findings) > 20:
                break
        return run.tell(kills=kills)


if __name__ == "__main__":
    sys.exit(main())
