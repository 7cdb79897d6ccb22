"""What a writer promised and was told, line by line, on the disk before it goes on; outside of the graph.

A writer notes ``begun`` before it calls the product and ``acknowledged`` or ``refused`` after it. A process that is
killed leaves the first line alone. Times are those of one monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Journal:
    """The end at which one process writes."""

    def __init__(self, path: Path, bell: int | None = None) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._bell = bell

    def note(self, what: str, operation: dict[str, Any] | int, **facts: Any) -> None:
        """Write one line, let it reach the disk, and tell whoever waits at the other end of the pipe."""
        line = {"what": what, "operation": operation, "at": time.monotonic(), "clock": time.time(), **facts}
        with _unlimited():
            os.write(self._descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(self._descriptor)
        if self._bell is not None:
            number = operation if isinstance(operation, int) else operation["number"]
            os.write(self._bell, json.dumps([what, number]).encode() + b"\n")


@contextmanager
def _unlimited() -> Iterator[None]:
    """Lift a limit on the size of files, which stands for a full disk in some runs and is not meant for journals."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@dataclass(slots=True)
class Entry:
    """One operation and what became of it, as far as its writer could say."""

    operation: dict[str, Any]
    begun: float
    begun_clock: float
    ended: float | None = None
    answer: dict[str, Any] | None = None
    refusal: dict[str, Any] | None = None

    @property
    def number(self) -> int:
        return int(self.operation["number"])

    @property
    def is_acknowledged(self) -> bool:
        return self.answer is not None

    @property
    def is_open(self) -> bool:
        """Whether it may have happened or not: nobody was told."""
        return self.answer is None and (self.refusal is None or self.refusal["is_unknown"])

    @property
    def seconds(self) -> float | None:
        return None if self.ended is None else self.ended - self.begun


@dataclass(slots=True)
class JournalReader:
    """Reads what was added to the journals of a directory since it last looked."""

    directory: Path
    entries: dict[int, Entry] = field(default_factory=dict)
    _offsets: dict[Path, int] = field(default_factory=dict)

    def read(self) -> list[Entry]:
        """Take in all new whole lines; the entries that they are about."""
        touched: dict[int, Entry] = {}
        for path in sorted(self.directory.glob("*.journal")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                data = file.read()
            # The last line of a process that was killed may be cut; then it was not acknowledged to anybody.
            whole = data[: data.rfind(b"\n") + 1]
            self._offsets[path] = self._offsets.get(path, 0) + len(whole)
            for line in whole.splitlines():
                entry = self._take(json.loads(line))
                touched[entry.number] = entry
        return list(touched.values())

    def _take(self, line: dict[str, Any]) -> Entry:
        if line["what"] == "begun":
            operation = line["operation"]
            entry = self.entries[operation["number"]] = Entry(operation, line["at"], line["clock"])
            return entry
        entry = self.entries[line["operation"]]
        entry.ended = line["at"]
        if line["what"] == "acknowledged":
            entry.answer = line["answer"]
        else:
            entry.refusal = line["refusal"]
        return entry
