"""Let the disk become full at a random level during each operation, and see what is left when there is room again.

The graph lies on a small file system. Before each operation the disk is filled up to a random number of free bytes,
from none to more than the operation takes. A call that fails has to say so with a ``storage`` error, has to leave the
disk as free as it was, but for what a table version of a few kilobytes takes, and has to leave nothing that is visible.
When there is room again the next operation of the same handle works.

Where no file system may be mounted, files may not grow over a random size instead; then no room is measured.
"""

from __future__ import annotations

import sys
import time
from random import Random

from outside_plans import SHARES
from outside_runs import Run, World, arguments, run_of
from outside_small_disk import SmallDisk, go_apart, small_disk
from outside_steps import Tap, end_of, last_steps

DISK_BYTES = 96 << 20
OPERATIONS_OF_A_WRITER = 12
WRITERS_OF_A_WORLD = 4
LIFE_SECONDS = 120.0
KEPT_BYTES = 256 << 10
"""What a failed operation may leave: versions of tables that had moved, the withdrawn plan, an audit row."""

ALLOWED = frozenset({"storage", "outcome_unknown", "recovery_required"})
WRITES = SHARES | {"bulk": 20, "query": 0, "create tag": 1, "delete tag": 1}


def level(random: Random) -> int:
    """How many bytes to leave: mostly less than an operation takes, on all scales."""
    return random.choice(
        (0, random.randrange(4096), int(2 ** random.uniform(10, 17)), int(2 ** random.uniform(16, 23)))
    )


def run_writer(run: Run, world: World, disk: SmallDisk | None, wanted: int) -> int:
    """One writer: each operation on a disk that is nearly full, and a small one after each failure when it is not."""
    random, tap = world.planner.random, Tap.new()
    plan = [world.planner.opening()]
    for _ in range(min(OPERATIONS_OF_A_WRITER, wanted)):
        plan += [world.planner.operation(0), world.planner.simple()]
    child = world.writer(plan, wait=tap.wait)
    tried = 0
    for number, operation in enumerate(plan):
        # Opening meets a full disk too, now and then; the small writes between never do.
        is_narrow = (number == 0 and random.random() < 0.15) or number % 2 == 1
        left = level(random)
        if is_narrow and disk is not None:
            disk.leave(left)
        before = disk.free_bytes if disk is not None else 0
        tap.let_go(left if is_narrow and disk is None else None)
        if not end_of(child, operation["number"], LIFE_SECONDS):
            world.oracle.find("overrun", f"operation {operation['number']} takes {LIFE_SECONDS:.0f} s on a full disk")
        after = disk.free_bytes if disk is not None else 0
        if disk is not None:
            disk.empty()
        world.oracle.listen()
        entry = world.oracle.journal.entries.get(operation["number"])
        if entry is None or (child.is_over and number < len(plan) - 1 and entry.ended is None):
            world.oracle.find("unreadable", f"the writer ended in operation {operation['number']}, see the log")
            break
        tried += is_narrow and number > 0
        if is_narrow and entry.refusal is not None:
            run.counts["operations that met a full disk"] += entry.refusal["kind"] in ALLOWED
            run.counts["bytes kept at most"] = max(run.counts["bytes kept at most"], before - after)
            if before - after > KEPT_BYTES:
                what = f"operation {entry.number} ({operation['verb']})"
                world.oracle.find("full", f"{what} failed and keeps {before - after:,} bytes: {entry.refusal['text']}")
        if not is_narrow and not entry.is_acknowledged:
            world.oracle.find("unreadable", f"operation {entry.number} had to succeed with room: {entry.refusal}")
        if number == 0 and not entry.is_acknowledged:
            break
    last_steps(child, tap, LIFE_SECONDS)
    return tried


def run_world(run: Run, wanted: int, until: float) -> int:
    tried = 0
    place = run.directory / f"disk-{run.worlds + 1}"
    with (
        small_disk(place, DISK_BYTES) as disk,
        run.world(root=str(place / "graph"), allowed=ALLOWED, shares=WRITES, note_bytes=1500) as world,
    ):
        first = Tap.new()
        plan = [world.planner.numbered(verb="init", force=False), world.planner.simple()]
        child = world.writer(plan, wait=first.wait)
        for _ in plan:
            first.let_go()
        last_steps(child, first, LIFE_SECONDS)
        for _ in range(WRITERS_OF_A_WORLD):
            if tried >= wanted or world.oracle.findings or time.monotonic() > until:
                break
            tried += run_writer(run, world, disk, wanted - tried)
            world.look("rw", is_settled=True)
        if not world.oracle.findings:
            world.go_on()
            world.look("rw", is_settled=True)
        run.counts["on a full file system"] += tried if disk is not None else 0
    return tried


def main() -> int:
    parser = arguments(__doc__ or "", 500, "operations on a disk that becomes full")
    parser.add_argument("--limit-files", action="store_true", help="limit the size of files, and mount nothing")
    asked = parser.parse_args()
    if not asked.limit_files:
        go_apart()
    with run_of("full-disk", asked) as run:
        run.warm_up()
        tried, until = 0, time.monotonic() + asked.seconds
        while tried < asked.count and time.monotonic() < until and len(run.findings) <= 20:
            tried += run_world(run, asked.count - tried, until)
        return run.tell(operations=tried)


if __name__ == "__main__":
    sys.exit(main())
