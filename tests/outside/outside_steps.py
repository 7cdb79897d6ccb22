"""A writer that waits for a word before each operation, so that the world can be changed between two of them."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from dataclasses import dataclass

from outside_children import Child, join, wait_for


@dataclass(slots=True)
class Tap:
    """How the parent lets a writer go on: one line for each operation, with the size that files may have."""

    read_end: int
    write_end: int

    @classmethod
    def new(cls) -> Tap:
        return cls(*os.pipe())

    def let_go(self, file_bytes: int | None = None) -> None:
        os.write(self.write_end, json.dumps(file_bytes).encode() + b"\n")

    def wait(self) -> None:
        """In the writer: wait for the word, and limit files as it says."""
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.read_end, 1)
        limit = json.loads(line)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if limit is None else limit, hard))

    def close(self) -> None:
        os.close(self.read_end)
        os.close(self.write_end)


def end_of(child: Child, number: int, seconds: float) -> bool:
    """Wait until an operation ended, or its process did; False, and the process is killed, if that takes longer."""
    until = time.monotonic() + seconds
    while not {("acknowledged", number), ("refused", number)} & set(child.rung) and not child.is_over:
        if time.monotonic() > until:
            child.kill()
            return False
        wait_for([child], until)
    return True


def last_steps(child: Child, tap: Tap, seconds: float) -> None:
    """Let a writer end that has done its last operation, and close its tap."""
    join(child, seconds)
    tap.close()
