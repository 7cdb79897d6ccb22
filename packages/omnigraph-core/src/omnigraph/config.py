"""``Settings``: what a process is told by ``OMNIGRAPH_*`` variables, read when asked and never at import."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from omnigraph.errors import InvalidInputError

DISABLE_PLUGINS = "OMNIGRAPH_DISABLE_PLUGINS"
"""Comma-separated plugin names that are not loaded; ``*`` stands for every plugin that is not built in."""

TRAVERSAL_MODE = "OMNIGRAPH_TRAVERSAL_MODE"
"""``csr`` or ``indexed``: how every traversal is run, in place of the engine's choice."""

SCAN_MODE = "OMNIGRAPH_SCAN_MODE"
"""``memory`` or ``stored``: where every scan reads from, in place of the engine's choice."""

CACHE_BYTES = "OMNIGRAPH_CACHE_BYTES"
"""What decoded types and adjacency of one open graph may take in memory."""

METADATA_CACHE_BYTES = "OMNIGRAPH_METADATA_CACHE_BYTES"
"""What Lance may keep of descriptions of versions and of files, for one open graph."""

INDEX_CACHE_BYTES = "OMNIGRAPH_INDEX_CACHE_BYTES"
"""What Lance may keep of indexes, for one open graph."""

WRITE_DEADLINE = "OMNIGRAPH_WRITE_DEADLINE"
"""Seconds for which a write goes on against others that publish first."""

RECOVERY_PATIENCE = "OMNIGRAPH_RECOVERY_PATIENCE"
"""Seconds for which a writer on another machine shows no life before its cut-off write is finished or discarded."""

QUERY_DEADLINE = "OMNIGRAPH_QUERY_DEADLINE"
QUERY_MAX_ROWS = "OMNIGRAPH_QUERY_MAX_ROWS"
QUERY_MAX_BYTES = "OMNIGRAPH_QUERY_MAX_BYTES"
QUERY_MAX_FRONTIER = "OMNIGRAPH_QUERY_MAX_FRONTIER"
"""The budget of queries that are given none: seconds, rows, bytes, nodes per hop."""

MAX_HELD_BYTES = "OMNIGRAPH_MAX_HELD_BYTES"
"""What one load, merge or diff may gather in memory where it cannot stream."""

TAIL_MAINTENANCE = "OMNIGRAPH_TAIL_MAINTENANCE"
"""``on`` or ``off``: whether small parts are folded in the background after a commit."""

DEFAULT_CACHE_BYTES: Final = 1024**3
DEFAULT_METADATA_CACHE_BYTES: Final = 8 * 1024**2
DEFAULT_INDEX_CACHE_BYTES: Final = 256 * 1024**2
DEFAULT_MAX_HELD_BYTES: Final = 4 * 1024**3
DEFAULT_WRITE_SECONDS: Final = 60.0
DEFAULT_RECOVERY_PATIENCE: Final = 20.0

_TRAVERSAL_MODES: Final = ("auto", "csr", "indexed")
_SCAN_MODES: Final = ("auto", "memory", "stored")
_SWITCH: Final = ("on", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Process-wide settings.

    Attributes:
        disabled_plugins: names from ``OMNIGRAPH_DISABLE_PLUGINS``; ``*`` for all that are not built in.
        traversal_mode: ``auto``, ``csr`` or ``indexed``.
        scan_mode: ``auto``, ``memory`` or ``stored``.
        cache_bytes: bound of what one open graph keeps decoded; 0 keeps nothing.
        metadata_cache_bytes: bound of what Lance keeps of descriptions of versions and of files, for one open graph.
        index_cache_bytes: bound of what Lance keeps of indexes, for one open graph.
        folds_tails: whether small parts are folded after a commit.
        write_deadline: seconds for which a write goes on against others.
        recovery_patience: seconds without a sign of life after which a writer elsewhere counts as dead.
        max_held_bytes: bound of what one load, merge or diff gathers in memory where it cannot stream.
        query_deadline: seconds; None leaves the default of ``QueryBudget``. So the other three.
    """

    disabled_plugins: frozenset[str] = frozenset()
    traversal_mode: str = "auto"
    scan_mode: str = "auto"
    cache_bytes: int = DEFAULT_CACHE_BYTES
    metadata_cache_bytes: int = DEFAULT_METADATA_CACHE_BYTES
    index_cache_bytes: int = DEFAULT_INDEX_CACHE_BYTES
    folds_tails: bool = True
    write_deadline: float = DEFAULT_WRITE_SECONDS
    recovery_patience: float = DEFAULT_RECOVERY_PATIENCE
    max_held_bytes: int = DEFAULT_MAX_HELD_BYTES
    query_deadline: float | None = None
    query_max_rows: int | None = None
    query_max_bytes: int | None = None
    query_max_frontier: int | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Settings as the variables give them.

        Raises:
            InvalidInputError: a variable has a value that means nothing.

        Example:
            >>> sorted(Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": "s3, local"}).disabled_plugins)
            ['local', 's3']
        """
        variables = os.environ if environment is None else environment
        names = (name.strip() for name in variables.get(DISABLE_PLUGINS, "").split(","))
        cache_bytes = _count(variables, CACHE_BYTES)
        metadata_bytes = _count(variables, METADATA_CACHE_BYTES)
        index_bytes = _count(variables, INDEX_CACHE_BYTES)
        held_bytes = _count(variables, MAX_HELD_BYTES)
        write_deadline = _seconds(variables, WRITE_DEADLINE)
        patience = _seconds(variables, RECOVERY_PATIENCE)
        return cls(
            disabled_plugins=frozenset(name for name in names if name),
            traversal_mode=_choice(variables, TRAVERSAL_MODE, _TRAVERSAL_MODES),
            scan_mode=_choice(variables, SCAN_MODE, _SCAN_MODES),
            cache_bytes=DEFAULT_CACHE_BYTES if cache_bytes is None else cache_bytes,
            metadata_cache_bytes=DEFAULT_METADATA_CACHE_BYTES if metadata_bytes is None else metadata_bytes,
            index_cache_bytes=DEFAULT_INDEX_CACHE_BYTES if index_bytes is None else index_bytes,
            folds_tails=_choice(variables, TAIL_MAINTENANCE, _SWITCH) == "on",
            write_deadline=DEFAULT_WRITE_SECONDS if write_deadline is None else write_deadline,
            recovery_patience=DEFAULT_RECOVERY_PATIENCE if patience is None else patience,
            max_held_bytes=DEFAULT_MAX_HELD_BYTES if held_bytes is None else held_bytes,
            query_deadline=_seconds(variables, QUERY_DEADLINE),
            query_max_rows=_count(variables, QUERY_MAX_ROWS),
            query_max_bytes=_count(variables, QUERY_MAX_BYTES),
            query_max_frontier=_count(variables, QUERY_MAX_FRONTIER),
        )


def _choice(variables: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = variables.get(name) or choices[0]
    if value not in choices:
        raise InvalidInputError(f"{name} is {value!r}.", help=f"Set it to one of: {', '.join(choices)}.")
    return value


def _count(variables: Mapping[str, str], name: str) -> int | None:
    value = variables.get(name)
    if not value:
        return None
    if not (value.isascii() and value.isdecimal()):
        raise InvalidInputError(f"{name} is {value!r}.", help="Set it to a number of 0 or more.")
    return int(value)


def _seconds(variables: Mapping[str, str], name: str) -> float | None:
    value = variables.get(name)
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise InvalidInputError(f"{name} is {value!r}.", help="Set it to a number of seconds.")
    return seconds
