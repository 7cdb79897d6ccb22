"""What a verb costs beside the bare system calls that it cannot do without, as ratios within one run.

Local verbs are measured against the same durable write done by hand: temporary file, fsync, replace, fsync of the
directory. In-memory verbs are measured against a dictionary assignment behind a lock. Rounds of both sides alternate,
so that a noisy machine disturbs both alike; the figure is the ratio of medians.

Run it with: tox run -e bench
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from omnigraph.plugins import open_adapter

ROUNDS = 300
DATA = b"x" * 512


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-", dir=os.getcwd()) as folder:
        rows = [*local_rows(Path(folder)), *memory_rows(), *start_up_rows()]
    print(f"{'what':<44}{'ours':>12}{'bare':>12}{'ratio':>8}")
    for what, ours, bare in rows:
        print(f"{what:<44}{ours * 1e6:>10.0f}µs{bare * 1e6:>10.0f}µs{ours / bare:>8.2f}")


def local_rows(folder: Path) -> list[tuple[str, float, float]]:
    adapter = open_adapter(folder / "ours")
    bare_folder = folder / "bare"
    bare_folder.mkdir()
    numbers = itertools.count()
    key = adapter.key("object")
    adapter.write(key, DATA)
    (bare_folder / "object").write_bytes(DATA)

    def swap() -> None:
        adapter.write_if_match(key, b"%d" % next(numbers), adapter.read_versioned(key).token)

    return [
        ("local write", *compare(lambda: adapter.write(key, DATA), lambda: durable_write(bare_folder, "object"))),
        (
            "local create",
            *compare(
                lambda: adapter.write_if_absent(adapter.key(f"new/{next(numbers)}"), DATA),
                lambda: durable_write(bare_folder, f"new-{next(numbers)}"),
            ),
        ),
        ("local read and swap", *compare(swap, lambda: durable_write(bare_folder, "object"))),
        ("local read", *compare(lambda: adapter.read(key), (bare_folder / "object").read_bytes)),
    ]


def memory_rows() -> list[tuple[str, float, float]]:
    adapter = open_adapter("memory://bench/graph")
    key, lock, store = adapter.key("object"), threading.Lock(), dict[str, bytes]()

    def put() -> None:
        with lock:
            store["memory://bench/graph/object"] = DATA

    return [("memory write", *compare(lambda: adapter.write(key, DATA), put))]


def start_up_rows() -> list[tuple[str, float, float]]:
    command = Path(sys.executable).with_name("omnigraph")

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    ours, bare = compare(run(str(command), "--help"), run(sys.executable, "-c", "import click"), rounds=15)
    return [("omnigraph --help against import click", ours, bare)]


def durable_write(folder: Path, name: str) -> None:
    """The least that makes a replaced file whole and durable."""
    temporary = folder / f"{name}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(descriptor, DATA)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, folder / name)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def compare(ours: Callable[[], object], bare: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Median seconds of both sides, measured in turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for side, act in enumerate((ours, bare)):
            started = time.perf_counter()
            act()
            seconds[side].append(time.perf_counter() - started)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


if __name__ == "__main__":
    main()
