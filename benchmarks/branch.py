"""Branches beside what people would use instead, as ratios within one run, on graphs of two sizes.

    one row        create, read, write, diff, merge, write again; and a merge after main has moved on
    10,000 rows    inserts, updates and deletes of people and of edges: diff and merge

The sides are those of ``branch_sides`` and ``branch_copies``. Each begins with the same graph, and in each round all
sides do one verb after another, in another order each time, so that a noisy machine disturbs them alike. Those that
copy everything take part in the first rounds only. The figure is a ratio of medians. What diffs and reads give is
compared at once, and what main holds after the rounds that all take part in, and at the end.

Run it with: tox run -e bench-branch
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from branch_copies import Copies, Duckdb, Sqlite
from branch_sides import Bare, ByHand, Icechunk, Ours, Side
from ring import Changes, Ring
from write import line, mark, shown

SIDES: dict[str, type[Side]] = {each.name: each for each in (Ours, Bare, ByHand, Icechunk, Duckdb, Sqlite)}
WARM_UP = 2

CREATE = "create a branch"
READ_MAIN = "read by key, main"
READ = "read by key, a new branch, first"
FIRST = "update by key, the first on a branch"
SECOND = "update by key, the second"
DIFF = "diff, one row apart"
FORWARD = "merge of one row, fast-forward"
DIVERGED = "merge of one row, main has moved on"
MANY_DIFF = "diff, 10,000 rows apart"
MANY = "merge of 10,000 rows"

AIMS: dict[str, tuple[str, float | None]] = {
    CREATE: ("bare", 2.0),
    READ_MAIN: ("lance", None),
    READ: ("lance", None),
    FIRST: ("bare", None),
    SECOND: ("bare", None),
    DIFF: ("lance", None),
    FORWARD: ("bare", 10.0),
    DIVERGED: ("bare", 10.0),
    MANY_DIFF: ("lance", None),
    MANY: ("bare", None),
}
"""What ours is compared with, and the most that is aimed at."""

LEAST_ROWS = 50_000
"""A merge of many rows is to do at least so many per second."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    people: tuple[int, ...] = (100_000, 1_000_000)
    rounds: int = 20
    rounds_of_copies: int = 4
    deltas: int = 5


QUICK = Size(people=(100_000,), rounds=4, rounds_of_copies=3, deltas=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs: its figures say little")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the graphs are made, for a while")
    parser.add_argument("--people", type=int, action="append", help="the size of a graph, instead of those usual")
    parser.add_argument("--only", choices=list(SIDES), action="append", help="these sides alone, and ours")
    given = parser.parse_args()
    size = QUICK if given.quick else Size()
    names = [each for each in SIDES if not given.only or each in (Ours.name, *given.only)]
    for count in given.people or size.people:
        with tempfile.TemporaryDirectory(prefix="omnigraph-bench-", dir=given.folder) as made:
            Bench(Path(made), Ring(count), names).run(size)


@dataclass
class Bench:
    """All sides with one graph, and the times of each verb."""

    folder: Path
    ring: Ring
    names: list[str]
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    number: int = 0

    def run(self, size: Size) -> None:
        for name in self.names:
            SIDES[name].make(self.folder / name, self.ring)
        os.sync()
        sides = {name: SIDES[name](self.folder / name) for name in self.names}
        quick = {name: side for name, side in sides.items() if not isinstance(side, Copies)}
        for number in range(size.rounds_of_copies):
            self.one_row(sides, number)
        for number in range(size.deltas):
            self.many_rows(sides, number)
        check_equal(sides)
        for number in range(size.rounds_of_copies, size.rounds):
            self.one_row(quick, number)
        check_equal(quick)
        for side in sides.values():
            side.close()
        self.show(size)

    # ── rounds ───────────────────────────────────────────────────────────────────────────────────────────────

    def one_row(self, sides: Mapping[str, Side], number: int) -> None:
        key, other, third, fourth = (self.ring.single(4 * number + each) for each in range(4))
        age = 100 + number
        branch = f"one_{number}"
        self.each(READ_MAIN, sides, lambda side: side.read("main", key))
        self.each(CREATE, sides, lambda side: side.create(branch))
        self.each(READ, sides, lambda side: side.read(branch, key))
        self.each(FIRST, sides, lambda side: side.update(branch, key, age))
        self.each(DIFF, sides, lambda side: side.diff(branch), Changes(0, 1, 0))
        self.each(FORWARD, sides, lambda side: side.merge(branch))
        self.each("", sides, lambda side: side.read("main", key), age)
        self.each(SECOND, sides, lambda side: side.update(branch, other, age))
        merging = {name: side for name, side in sides.items() if side.merges}
        apart = f"apart_{number}"
        for side in merging.values():
            side.create(apart, will_part=True)
            side.update(apart, third, age)
            side.update("main", fourth, age)
        self.each(DIVERGED, merging, lambda side: side.merge(apart))
        for wanted in (third, fourth):
            self.each("", merging, lambda side, wanted=wanted: side.read("main", wanted), age)
        for side in sides.values():
            side.drop(branch)
        for side in merging.values():
            side.drop(apart)

    def many_rows(self, sides: Mapping[str, Side], number: int) -> None:
        branch, delta = f"many_{number}", self.ring.delta(number)
        able = {name: side for name, side in sides.items() if side.has_rows}
        for side in able.values():
            side.create(branch)
            side.apply(branch, delta)
        self.each(MANY_DIFF, able, lambda side: side.diff(branch), delta.changes)
        self.each(MANY, able, lambda side: side.merge(branch))
        for side in able.values():
            side.drop(branch)

    def each(
        self, verb: str, sides: Mapping[str, Side], act: Callable[[Side], object], expected: object = None
    ) -> None:
        """One verb of every side; what they give must be as expected, or the same."""
        names = list(sides)
        self.number += 1
        shift = self.number % len(names)
        given: dict[str, object] = {}
        # Who comes next finds the disk and the caches as the one before left them.
        for name in [*names[shift:], *names[:shift]]:
            begun = time.perf_counter()
            found = act(sides[name])
            passed = time.perf_counter() - begun
            if found is not None:
                given[name] = found
            self.times.setdefault(verb, {}).setdefault(name, []).append(passed)
        wrong = {name: found for name, found in given.items() if found != (expected or next(iter(given.values())))}
        if wrong:
            raise SystemExit(f"{verb}: {given}, expected {expected}")

    # ── printing ─────────────────────────────────────────────────────────────────────────────────────────────

    def show(self, size: Size) -> None:
        counted, copied = size.rounds - WARM_UP, size.rounds_of_copies - WARM_UP
        print(f"\n{self.ring.size:,} people and as many edges, {os.cpu_count()} cores; medians of {counted} rounds,")
        print(f"of {copied} where files are copied, of {size.deltas} with 10,000 rows:\n")
        print(line("what", *self.names, "figure", "aim", ""))
        print("|---|" + "---|" * (len(self.names) + 3))
        for verb, (other, most) in AIMS.items():
            found = {name: statistics.median(self._counted(verb, name)) for name in self.times[verb]}
            cells = [shown(found[name]) if self._has(name, verb) else "" for name in self.names]
            print(line(verb, *cells, *self._figure(verb, found, other, most)))

    def _counted(self, verb: str, name: str) -> list[float]:
        times = self.times[verb][name]
        return times if verb in (MANY, MANY_DIFF) else times[WARM_UP:]

    def _has(self, name: str, verb: str) -> bool:
        if name == Bare.name:
            return AIMS[verb][0] == Bare.name
        return name in self.times[verb]

    def _figure(self, verb: str, found: Mapping[str, float], other: str, most: float | None) -> tuple[str, str, str]:
        if verb == MANY:
            rate = sum(self.ring.delta(0).changes) / found[Ours.name]
            return f"{rate:,.0f} rows/s", f">= {LEAST_ROWS:,}", mark(rate >= LEAST_ROWS)
        if other not in found:
            return "", "", ""
        ratio = found[Ours.name] / found[other]
        aim = ("", "") if most is None else (f"<= {most:g}", mark(ratio <= most))
        return f"{ratio:.2f} x {other}", *aim


def check_equal(sides: Mapping[str, Side]) -> None:
    held = {name: found for name, side in sides.items() if (found := side.counts()) is not None}
    if len(set(held.values())) != 1:
        raise SystemExit(f"people, edges and ages differ: {held}")


if __name__ == "__main__":
    main()
