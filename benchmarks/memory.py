"""What a process takes in memory while one handle lives through many commits, and what ``close`` gives back.

    shapes of commits    inserts, updates, deletes, edges, loads, refused writes, all of them mixed with queries
    branches             inserts on a branch; a branch that is made, written, merged and deleted, again and again
    readers              a handle for reading that follows the commits of another process
    indexes              inserts, and searches by text, vector, key and number that are answered from storage
    handles and texts    graphs that are opened and closed; queries of which each has another text

Each shape runs in a process of its own, whose resident memory is read after 1,000 steps, every 1,000 after, and after
the close. The figure is the greatest of these less the first; the aim is 64 MiB for 20,000 steps. With fewer it is
extrapolated by the growth per step over the second half, and the verdict says so.

Run it with: tox run -e bench-memory
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import omnigraph as og

AIM_BYTES = 64 << 20
AIM_STEPS = 20_000
FIRST = 1_000
"""After so many steps the caches have what they need, and growth is counted from here."""

SCHEMA = """
node Person {
    key: String @key
    name: String
    age: I32
}
edge Knows: Person -> Person {
    since: I32
}
"""
INSERT = """query insert($key: String, $name: String, $age: I32) {
    insert Person { key: $key, name: $name, age: $age }
}"""
UPDATE = "query update($key: String, $age: I32) { update Person set { age: $age } where key = $key }"
DELETE = "query delete($key: String) { delete Person where key = $key }"
CONNECT = """query connect($source: String, $target: String, $since: I32) {
    insert Knows { from: $source, to: $target, since: $since }
}"""
AGE = "query age($key: String) { match { $p: Person { key: $key } } return { $p.age as age } }"
FRIENDS = "query friends($key: String) { match { $p: Person { key: $key }  $p knows $q } return { count($q) as n } }"

DOCUMENTS = """
node Doc {
    key: String @key
    age: I32 @index
    text: String @index
    taste: Vector(64) @index
}
"""
ADD = """query add($key: String, $age: I32, $text: String, $taste: Vector(64)) {
    insert Doc { key: $key, age: $age, text: $text, taste: $taste }
}"""
BY_TEXT = "query q($w: String) { match { $d: Doc } return { $d.key as key } order { bm25($d.text, $w) } limit 10 }"
BY_VECTOR = (
    "query q($v: Vector(64)) { match { $d: Doc } return { $d.key as key } order { nearest($d.taste, $v) } limit 10 }"
)
BY_AGE = "query q($age: I32) { match { $d: Doc { age: $age } } return { count($d) as n } }"
BY_KEY = "query q($key: String) { match { $d: Doc { key: $key } } return { $d.age as age } }"
WORDS = tuple(f"word{number}" for number in range(5_000))
COUNT = 10_000
"""Documents that are there from the beginning, with their indexes."""

STEADY = 200
"""People who are there from the beginning, and are updated and connected."""

WRITER = "writer"
"""The process beside one that follows."""

Step = Callable[[og.Graph, int], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=AIM_STEPS, help="of each shape")
    parser.add_argument("--only", choices=SHAPES, action="append")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the graphs are made, for a while")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        shape, place = given.child
        run_shape(shape, Path(place), given.steps)
        return
    print("| shape | steps | ms a step, first and last | " + " | ".join(HEADS) + " | verdict |", flush=True)
    print("|---|---|---|" + "---|" * (len(HEADS) + 1), flush=True)
    for shape in given.only or SHAPES:
        with tempfile.TemporaryDirectory(prefix="omnigraph-bench-", dir=given.folder) as made:
            print(report(shape, given.steps, measure(shape, Path(made), given.steps)), flush=True)


# ── the process that measures ────────────────────────────────────────────────────────────────────────────────────


def measure(shape: str, place: Path, steps: int) -> list[dict[str, Any]]:
    """What a run of its own wrote down, line by line."""
    words = [sys.executable, __file__, "--child", shape, str(place / "graph"), "--steps", str(steps)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        lines = [json.loads(line) for line in child.stdout or ()]
    if child.returncode:
        raise SystemExit(f"{shape} failed")
    return lines


HEADS = ("opened", "first", "last", "greatest growth", "at 20,000", "closed")


def report(shape: str, steps: int, lines: list[dict[str, Any]]) -> str:
    """One row of the table: MiB, and whether the aim holds."""
    opened, *during, closed = lines
    pace = [
        1000 * (later["at"] - earlier["at"]) / (later["step"] - earlier["step"])
        for earlier, later in itertools.pairwise([opened, *during])
    ]
    during = [each for each in during if each["step"] >= min(FIRST, steps // 2)]
    sizes = [each["rss"] for each in during]
    growth = max(sizes) - sizes[0]
    late = during[len(during) // 2 :]
    per_step = (late[-1]["rss"] - late[0]["rss"]) / max(1, late[-1]["step"] - late[0]["step"])
    at_aim = growth + max(0.0, per_step) * max(0, AIM_STEPS - steps)
    cells = [opened["rss"], sizes[0], sizes[-1], growth, at_aim, closed["rss"]]
    figures = " | ".join(f"{each / (1 << 20):,.0f}" for each in cells)
    verdict = "holds" if at_aim <= AIM_BYTES else "missed"
    said = verdict if steps >= AIM_STEPS else f"{verdict}, extrapolated"
    return f"| {shape} | {steps:,} | {pace[0]:.1f}, {pace[-1]:.1f} | {figures} | {said} |"


# ── the process that is measured ─────────────────────────────────────────────────────────────────────────────────


def run_shape(shape: str, place: Path, steps: int) -> None:
    """Make the graph, take the steps on one handle, and write down the memory."""
    if shape == WRITER:
        with og.open(place) as graph:
            for number in range(1, steps + 1):
                insert(graph, number)
        return
    begun = SHAPES[shape]
    with og.init(place, schema=SCHEMA) as graph:
        people = steps if shape == "delete" else STEADY
        graph.load(person_lines(0, people), "append")
    gc.collect()
    note(0)
    with begun(place, steps) as (graph, step):
        every = max(1, min(FIRST, steps // 10))
        for number in range(1, steps + 1):
            step(graph, number)
            if number % every == 0:
                gc.collect()
                note(number)
    gc.collect()
    note(steps)


def note(step: int) -> None:
    print(json.dumps({"step": step, "rss": resident(), "at": time.perf_counter()}), flush=True)


def resident() -> int:
    """The resident memory of this process, as Linux counts it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def person_lines(first: int, count: int) -> str:
    numbers = range(first, first + count)
    return "\n".join(
        json.dumps({"type": "Person", "data": {"key": f"p{each}", "name": f"name {each}", "age": each % 90}})
        for each in numbers
    )


def insert(graph: og.Graph, number: int, branch: str = "main") -> None:
    values = {"key": f"new-{number}", "name": f"name {number}", "age": number % 90}
    graph.mutate(INSERT, params=values, branch=branch)


def update(graph: og.Graph, number: int) -> None:
    graph.mutate(UPDATE, params={"key": f"p{number % STEADY}", "age": number % 90})


def delete(graph: og.Graph, number: int) -> None:
    graph.mutate(DELETE, params={"key": f"p{number - 1}"})


def connect(graph: og.Graph, number: int) -> None:
    ends = {"source": f"p{number % STEADY}", "target": f"p{7 * number % STEADY}"}
    graph.mutate(CONNECT, params={**ends, "since": number % 90})


def load(graph: og.Graph, number: int) -> None:
    graph.load(person_lines(1_000_000 + number, 1), "append")


def refused(graph: og.Graph, number: int) -> None:
    """A write that breaks a rule, one that lost its race, and one that does not compile."""
    with contextlib.suppress(og.errors.OmnigraphError):
        if number % 3 == 0:
            graph.mutate(CONNECT, params={"source": f"none-{number}", "target": "p0", "since": 1})
        elif number % 3 == 1:
            graph.mutate(UPDATE, params={"key": "p1", "age": 1}, if_commit="01ARZ3NDEKTSV4RRFFQ69G5FAV")
        else:
            graph.mutate(f"query q() {{ delete Person where no_{number} = 1 }}")
        raise SystemExit("a write was not refused")


def mixed(graph: og.Graph, number: int) -> None:
    if number % 4 == 0:
        insert(graph, number)
    elif number % 4 == 1:
        update(graph, number)
    elif number % 4 == 2:
        connect(graph, number)
    else:
        graph.mutate(DELETE, params={"key": f"new-{number - 3}"})
    graph.query(AGE, params={"key": f"p{number % STEADY}"}).rows()
    graph.query(FRIENDS, params={"key": f"p{number % STEADY}"}).rows()


def on_branch(graph: og.Graph, number: int) -> None:
    if number == 1:
        graph.branches.create("work")
    insert(graph, number, "work")


def many_branches(graph: og.Graph, number: int) -> None:
    name = f"work-{number}"
    graph.branches.create(name)
    insert(graph, number, name)
    graph.branches.merge(name, into="main", delete_branch=True)


def follow(graph: og.Graph, number: int) -> None:
    """Go on when the writer has made one more commit."""
    version = 2 + number
    began = time.monotonic()
    while graph.refresh().manifest_version < version:
        if time.monotonic() - began > 60:
            raise SystemExit("the writer stopped")
        time.sleep(0.001)
    graph.query(AGE, params={"key": f"p{number % STEADY}"}).rows()
    graph.query("query n() { match { $p: Person } return { count($p) as n } }").rows()


def ask_new_text(graph: og.Graph, number: int) -> None:
    graph.query(f"query n() {{ match {{ $p: Person  $p.age > {number} }} return {{ count($p) as n }} }}").rows()


@contextlib.contextmanager
def one_handle(place: Path, step: Step) -> Iterator[tuple[og.Graph, Step]]:
    with og.open(place) as graph:
        yield graph, step


@contextlib.contextmanager
def following(place: Path, steps: int) -> Iterator[tuple[og.Graph, Step]]:
    """A handle for reading beside a process that writes; what this one takes is measured."""
    words = [sys.executable, __file__, "--child", WRITER, str(place), "--steps", str(steps)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as writer:
        with og.open(place, mode="r") as graph:
            yield graph, follow
        writer.kill()


@contextlib.contextmanager
def searching(place: Path, _steps: int) -> Iterator[tuple[og.Graph, Step]]:
    """A graph of its own, whose indexes are read from storage and made anew by folds."""
    chance = random.Random(7)

    def document(number: int) -> dict[str, Any]:
        text = " ".join(chance.choice(WORDS) for _ in range(20))
        return {"key": f"d{number}", "age": number % 90, "text": text, "taste": vector()}

    def vector() -> list[float]:
        return [chance.gauss(0, 1) for _ in range(64)]

    def add_and_search(graph: og.Graph, number: int) -> None:
        graph.mutate(ADD, params=document(COUNT + number))
        graph.query(BY_TEXT, params={"w": chance.choice(WORDS)}).rows()
        graph.query(BY_VECTOR, params={"v": vector()}).rows()
        graph.query(BY_AGE, params={"age": number % 90}).rows()
        graph.query(BY_KEY, params={"key": f"d{chance.randrange(COUNT)}"}).rows()

    os.environ["OMNIGRAPH_SCAN_MODE"] = "stored"
    with og.init(place.with_name("documents"), schema=DOCUMENTS) as graph:
        graph.load([{"type": "Doc", "data": document(number)} for number in range(COUNT)], "append")
        graph.maintain.ensure_indices()
        yield graph, add_and_search


@contextlib.contextmanager
def opening(place: Path, _steps: int) -> Iterator[tuple[og.Graph, Step]]:
    def open_and_close(_graph: og.Graph, number: int) -> None:
        with og.open(place, mode="r" if number % 2 else "rw") as graph:
            graph.query(AGE, params={"key": f"p{number % STEADY}"}).rows()

    with og.open(place, mode="r") as graph:
        yield graph, open_and_close


SHAPES: dict[str, Callable[[Path, int], contextlib.AbstractContextManager[tuple[og.Graph, Step]]]] = {
    "insert": lambda place, _: one_handle(place, insert),
    "update": lambda place, _: one_handle(place, update),
    "delete": lambda place, _: one_handle(place, delete),
    "edge": lambda place, _: one_handle(place, connect),
    "load": lambda place, _: one_handle(place, load),
    "refused": lambda place, _: one_handle(place, refused),
    "mixed": lambda place, _: one_handle(place, mixed),
    "branch": lambda place, _: one_handle(place, on_branch),
    "branches": lambda place, _: one_handle(place, many_branches),
    "follow": following,
    "indexes": searching,
    "open": opening,
    "texts": lambda place, _: one_handle(place, ask_new_text),
}


if __name__ == "__main__":
    main()
