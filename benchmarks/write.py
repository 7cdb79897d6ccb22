"""Small writes beside what people would use instead, all of them durable, as ratios within one run.

    one write     a keyed insert, an update, an edge, a delete with its edges; and a hundred inserts in a row
    growth        an update of a graph after 10 commits, and of the same graph after 1,000
    processes     commits per second of one process, of four on four graphs, and of four on one branch

The sides are those of ``write_sides``. Each begins with the same graph, everything is warm, and rounds of all sides
alternate, in another order each time, so that a noisy machine disturbs them alike. The figure is the ratio of the
medians. At the end the sides that hold whole graphs must hold the same.

Run it with: tox run -e bench-write
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from social import make_social
from write_sides import SIDES, Ours, Side, keys_by_degree

PROCESSES = 4
WARM_UP = 3
IN_A_ROW = 100
YOUNG, OLD = 10, 1_000
"""How many commits a graph has, to show what those before a write cost it."""

Act = Callable[[Side], object]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    people: int = 10_000
    edges: int = 50_000
    rounds: int = 25
    repetitions: int = 3
    old: int = OLD
    in_a_row: int = IN_A_ROW
    seconds: float = 8.0


QUICK = Size(people=1_000, edges=5_000, rounds=5, repetitions=1, old=100, in_a_row=10, seconds=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs: its figures say little")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the graphs are made, for a while")
    parser.add_argument("--only", choices=["one", "growth", "processes"], action="append")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        side, place, name, seconds = given.child
        write_and_tell(SIDES[side](Path(place)), name, float(seconds))
        return
    size = QUICK if given.quick else Size()
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-", dir=given.folder) as made:
        bench = Bench(Path(made), size)
        print(f"{size.people:,} people, {size.edges:,} edges, {os.cpu_count()} cores; everything durable")
        for part, measure in (("one", bench.one_write), ("growth", bench.growth), ("processes", bench.processes)):
            if not given.only or part in given.only:
                measure()


class Bench:
    """The graph of each side, to be copied, and the parts of the benchmark."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder = folder
        self._size = size
        self._social = make_social(size.people, size.edges)
        self._copies = count()
        for name, side in SIDES.items():
            side.make(folder / name, self._social)

    def _copy(self, side: str) -> Path:
        target = self._folder / f"{side}-{next(self._copies)}"
        shutil.copytree(self._folder / side, target)
        os.sync()
        return target

    # ── one write ────────────────────────────────────────────────────────────────────────────────────────────

    def one_write(self) -> None:
        size = self._size
        places = {name: self._copy(name) for name in SIDES}
        sides = {name: side(places[name]) for name, side in SIDES.items()}
        print(f"\nOne write, medians of {size.rounds} rounds; in a row: of {size.repetitions}, per commit\n")
        print("| write | " + " | ".join(SIDES) + " | figure | aim | |")
        print("|---|" + "---|" * (len(SIDES) + 3))
        for what, acts, most in self._writes():
            print(compared(what, alternate(sides, acts, size.rounds + WARM_UP, leave_out=WARM_UP), most))
        rows = in_a_row(size.in_a_row)
        times = alternate(sides, rows, size.repetitions)
        what = f"{size.in_a_row} keyed inserts in a row"
        print(compared(what, {name: each / size.in_a_row for name, each in times.items()}, 3.0))
        check_equal(sides)
        for side in sides.values():
            side.close()

    def _writes(self) -> Iterator[tuple[str, Iterator[Act], float | None]]:
        """What is measured, one act per round that is the same for every side, and the most that is aimed at."""
        keys = keys_by_degree(self._social)
        half = len(keys) // 2
        # Whom a delete takes away nobody may need later.
        removed, kept = keys[:half], keys[half:]

        def insert(number: int, side: Side) -> None:
            side.insert(f"new-{number}", number % 90)

        def update(number: int, side: Side) -> None:
            side.update(kept[number], number % 90)

        def connect(number: int, side: Side) -> None:
            side.connect(kept[number], kept[-1 - number], 2026)

        def remove(number: int, side: Side) -> None:
            side.remove(removed[number])

        for what, act, most in (
            ("keyed insert", insert, 3.0),
            ("update by key", update, None),
            ("one edge", connect, None),
            ("delete with its edges", remove, None),
        ):
            yield what, (partial(act, number) for number in count()), most

    # ── growth ───────────────────────────────────────────────────────────────────────────────────────────────

    def growth(self) -> None:
        size = self._size
        keys = self._social.keys
        sides: dict[str, Side] = {}
        for name, commits in (("young", YOUNG), ("old", size.old)):
            sides[name] = Ours(self._copy(Ours.name))
            for number in range(commits):
                write_something(sides[name], keys, number)
        acts = (lambda side, n=n: side.update(keys[n % len(keys)], n % 90) for n in count(size.old))
        times = alternate(sides, acts, size.rounds + WARM_UP, leave_out=WARM_UP)
        ratio = times["old"] / times["young"]
        print(f"\nAn update of one row after {YOUNG} commits and after {size.old:,}, ours alone:\n")
        print(f"| write | after {YOUNG} | after {size.old:,} | figure | aim | |\n|---|---|---|---|---|---|")
        cells = ["update by key", shown(times["young"]), shown(times["old"]), f"{ratio:.2f}", "<= 1.5"]
        print(line(*cells, mark(ratio <= 1.5)))
        for side in sides.values():
            side.close()

    # ── processes ────────────────────────────────────────────────────────────────────────────────────────────

    def processes(self) -> None:
        size = self._size
        cores = os.cpu_count() or 1
        alone: dict[str, list[float]] = {name: [] for name in SIDES}
        apart: dict[str, list[float]] = {name: [] for name in SIDES}
        together: dict[str, list[float]] = {name: [] for name, side in SIDES.items() if side.can_share}
        for _ in range(size.repetitions):
            for name, side in SIDES.items():
                alone[name].append(self._throughput(name, [self._copy(name)]))
                apart[name].append(self._throughput(name, [self._copy(name) for _ in range(PROCESSES)]))
                if side.can_share:
                    together[name].append(self._throughput(name, [self._copy(name)] * PROCESSES))
        print(f"\nKeyed inserts per second, medians of {size.repetitions} runs of {size.seconds:g} s each:\n")
        print("| writers | " + " | ".join(SIDES) + " | ours to one process | aim | |")
        print("|---|" + "---|" * (len(SIDES) + 3))
        one = statistics.median(alone["ours"])
        rows: list[tuple[str, dict[str, list[float]], float | None]] = [
            ("one process", alone, None),
            ("four on four graphs", apart, float(min(cores, PROCESSES))),
            ("four on one branch", together, 0.5),
        ]
        for what, counted, least in rows:
            cells = [f"{statistics.median(counted[name]):,.1f}" if name in counted else "" for name in SIDES]
            ratio = statistics.median(counted["ours"]) / one
            aim = ("", "", "") if least is None else (f"{ratio:.2f}", f">= {least:g}", mark(ratio >= least))
            print(line(what, *cells, *aim))

    def _throughput(self, side: str, places: list[Path]) -> float:
        """Commits per second of one process per place, all at once."""
        seconds = self._size.seconds
        command = [sys.executable, str(Path(__file__).resolve()), "--child", side]
        running = [
            subprocess.Popen(
                [*command, str(place), f"w{number}", str(seconds)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number, place in enumerate(places)
        ]  # fmt: skip
        for each in running:
            # Open and warm.
            if each.stdout is None or each.stdout.readline() != "ready\n":
                raise SystemExit(f"a writer of {side} did not start")
        for each in running:
            if each.stdin is not None:
                each.stdin.write("go\n")
                each.stdin.flush()
        told = [each.communicate()[0] for each in running]
        if any(each.returncode for each in running):
            raise SystemExit(f"a writer of {side} failed")
        for place in set(places):
            shutil.rmtree(place)
        return sum(map(float, told))


def write_and_tell(side: Side, name: str, seconds: float) -> None:
    """A writer of its own: when it is told to, it inserts for so long and tells how many it did per second."""
    numbers = count()
    for _ in range(WARM_UP):
        side.insert(f"{name}-{next(numbers)}", 7)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.perf_counter()
    written = 0
    while (passed := time.perf_counter() - begun) < seconds:
        side.insert(f"{name}-{next(numbers)}", 7)
        written += 1
    print(written / passed)
    side.close()


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def alternate(sides: Mapping[str, Side], acts: Iterator[Act], rounds: int, *, leave_out: int = 0) -> dict[str, float]:
    """The median time of each side; the first rounds, which warm up, are not counted."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        act = next(acts)
        # Who comes next finds the disk and the caches as the one before left them.
        for name in [*names[number % len(names) :], *names[: number % len(names)]]:
            begun = time.perf_counter()
            act(sides[name])
            if number >= leave_out:
                times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(each) for name, each in times.items()}


def in_a_row(length: int) -> Iterator[Act]:
    for begin in count(step=length):

        def act(side: Side, begin: int = begin) -> None:
            for number in range(begin, begin + length):
                side.insert(f"row-{number}", number % 90)

        yield act


def write_something(side: Side, keys: list[str], number: int) -> None:
    """Commits of all kinds in turn, as a graph in use gets them."""
    here = keys[number % len(keys)]
    match number % 3:
        case 0:
            side.insert(f"new-{number}", number % 90)
        case 1:
            side.update(here, number % 90)
        case _:
            side.connect(here, keys[-1 - number % len(keys)], 2026)


def check_equal(sides: Mapping[str, Side]) -> None:
    held = {name: found for name, side in sides.items() if (found := side.counts()) is not None}
    if len(set(held.values())) != 1:
        raise SystemExit(f"people, edges and ages differ: {held}")


# ── printing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compared(what: str, times: Mapping[str, float], most: float | None) -> str:
    ratio = times["ours"] / times["lance"]
    aim = ("", "") if most is None else (f"<= {most:g}", mark(ratio <= most))
    return line(what, *(shown(each) for each in times.values()), f"{ratio:.2f} x lance", *aim)


def line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def shown(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.2f} ms"


def mark(holds: bool) -> str:
    return "holds" if holds else "missed"


if __name__ == "__main__":
    main()
