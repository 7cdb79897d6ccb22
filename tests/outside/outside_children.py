"""Processes of a run: forked from one that has imported everything and never opened a graph, each in its own group.

A child has a pipe by which it rings: one line of JSON for each line of its journal. The parent has one thread.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from outside_world import SCHEMA

import omnigraph as og

assert lance
assert pa

IMPORTED = (
    "omnigraph",
    "omnigraph_storage_local",
    "omnigraph_storage_s3",
    "lance",
    "pyarrow",
    "fsspec",
    "s3fs",
    "aiobotocore",
    "botocore",
    "aiohttp",
)


@dataclass(slots=True)
class Child:
    """One process that was started, and what it rang so far."""

    pid: int
    pipe: int
    rung: list[tuple[str, int]] = field(default_factory=list)
    exit_code: int | None = None
    _rest: bytes = b""
    _is_closed: bool = False

    def hear(self) -> None:
        """Take in what lies in the pipe; the child has ended where nothing will come any more."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            self.reap()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.rung += [tuple(json.loads(line)) for line in lines]

    def signal(self, number: int) -> None:
        if self.exit_code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, and wait until it is gone; what it rang before is taken in."""
        self.signal(signal.SIGKILL)
        while self.exit_code is None:
            self.hear()

    def reap(self) -> None:
        if self.exit_code is None:
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.pipe)

    @property
    def is_over(self) -> bool:
        return self.exit_code is not None


def start(work: Callable[[int], None], log: Path, environment: dict[str, str] | None = None) -> Child:
    """Fork a child that does the work and ends; it is given its end of the pipe."""
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Lance warns of forks; what it has in this process was never used.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        os.close(write_end)
        return Child(pid, read_end)
    exit_code = 1
    try:
        os.close(read_end)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(environment or {})
        work(write_end)
        exit_code = 0
    except BaseException:  # noqa: BLE001 - the child ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(exit_code)


def wait_for(children: Sequence[Child], until: float) -> None:
    """Let time pass until a child rings or ends, or until a moment of the monotonic clock."""
    living = {child.pipe: child for child in children if not child.is_over}
    ready, _, _ = select.select(list(living), [], [], max(0.0, until - time.monotonic()))
    for pipe in ready:
        living[pipe].hear()


def join(child: Child, seconds: float) -> bool:
    """Wait for the end of a child; False, and it is killed, if that takes longer."""
    until = time.monotonic() + seconds
    while not child.is_over and time.monotonic() < until:
        wait_for([child], until)
    if child.is_over:
        return True
    child.kill()
    return False


def import_everything(directory: Path, root: str, options: Mapping[str, Any] | None = None) -> None:
    """Import what the product imports on first use, so that children need not; a child tells which modules."""
    listing = directory / "modules.json"

    def use(_: int) -> None:
        with og.init(root, schema=SCHEMA, options=options) as graph:
            graph.load([{"type": "Person", "data": {"name": "p", "age": 1}}], "append")
            graph.mutate('query q() { update Person set { age: 2 } where name = "p" }')
            graph.branches.create("side")
            graph.mutate('query q() { update Person set { age: 3 } where name = "p" }', branch="side")
            graph.branches.merge("side")
            graph.maintain.ensure_indices()
            list(graph.export())
            graph.query("query q() { match { $p: Person  $p knows $q } return { $q.name } }").rows()
            graph.recoveries.list()
        listing.write_text(json.dumps(sorted(sys.modules)))

    if not join(start(use, directory / "warm.log"), 120):
        raise RuntimeError("A first graph took more than two minutes.")
    for name in json.loads(listing.read_text()):
        if name.split(".")[0] in IMPORTED:
            importlib.import_module(name)
