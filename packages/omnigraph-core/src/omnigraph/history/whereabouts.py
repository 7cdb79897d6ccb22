"""``Whereabouts``: where a writer runs, so that others on the same machine can tell for sure that it is gone.

A process is named by its machine since it was started, its space of process numbers, its number and the moment it
began, which no other process shares. Of one on another machine nothing can be told this way; see ``heartbeats``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

_PROC: Final = Path("/proc")
_GONE_STATES: Final = frozenset("ZX")
"""States of a process that has ended and whose parent has not looked yet."""


class Fate(StrEnum):
    """What one process knows of another without waiting."""

    HERE = "here"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """One process.

    Attributes:
        machine: the machine since its last start, and the space of process numbers; None where that cannot be told.
        pid: the number of the process.
        began: when it began, in ticks of that machine; None where that cannot be told.
    """

    machine: str | None
    pid: int
    began: int | None

    def to_dict(self) -> dict[str, Any]:
        return {"machine": self.machine, "pid": self.pid, "began": self.began}


def whereabouts() -> Whereabouts:
    """Where this process runs."""
    return _whereabouts_of(os.getpid())


def fate_of(other: Whereabouts) -> Fate:
    """What can be told of a process at once; ``UNKNOWN`` too when it is alive on this machine."""
    here = whereabouts()
    if other == here:
        return Fate.HERE
    if here.machine is None or other.machine != here.machine or other.began is None:
        return Fate.UNKNOWN
    return Fate.UNKNOWN if _began(other.pid) == other.began else Fate.GONE


@lru_cache(maxsize=1)
def _whereabouts_of(pid: int) -> Whereabouts:
    return Whereabouts(machine=_machine(), pid=pid, began=_began(pid))


def _machine() -> str | None:
    try:
        booted = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{booted}/{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return None


def _began(pid: int) -> int | None:
    """When a process of this machine began; None when there is none, or it has ended."""
    try:
        # The name of the program comes in parentheses and may hold anything.
        facts = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return None if facts[0] in _GONE_STATES else int(facts[19])
    except (OSError, ValueError, IndexError):
        return None
