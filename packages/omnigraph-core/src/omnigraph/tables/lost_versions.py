"""Whether the newest version of a line of a log was deleted, as far as a disk shows it: Lance leaves a hint of it.

    _versions/latest_version_hint.json    written by Lance after each commit; nothing reads it for its answers

A hint of a version that is not there says that somebody deleted it, or that power was lost before it was durable, and
then it was never acknowledged. So a version that was moved to quarantine explains the hint, and so does a start of the
machine after it was written. A store on a server tells nothing here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from omnigraph.errors import StorageError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.opening import manifest_name, place_of
from omnigraph.tables.quarantine import QUARANTINE

HINT: Final = "_versions/latest_version_hint.json"
_PROC_STAT: Final = Path("/proc/stat")


@dataclass(frozen=True, slots=True, kw_only=True)
class LostVersion:
    """A version that was there and is not.

    Attributes:
        is_proved: no loss of power explains it.
        uri: of its file.
        hint_uri: of what tells of it.
    """

    version: int
    is_proved: bool
    uri: str
    hint_uri: str


def hinted_version(adapter: StorageAdapter, location: str, branch: str | None) -> int | None:
    """The newest version that a disk tells of; None when it tells of none. Look for the newest one afterwards."""
    place = place_of(adapter, location, branch)
    if not place.is_on_disk:
        return None
    try:
        data = adapter.read_if_exists(place.file(HINT))
        version = None if data is None else json.loads(data)["version"]
    except (StorageError, ValueError, KeyError, TypeError):
        # A loss of power may have left anything there, and Lance does without it.
        return None
    return version if isinstance(version, int) else None


def lost_version(adapter: StorageAdapter, location: str, branch: str | None, *, hinted: int) -> LostVersion | None:
    """What is to be said of a hinted version that is not there; None when it was moved to quarantine."""
    place = place_of(adapter, location, branch)
    name = place.file(manifest_name(hinted))
    kept = adapter.key(f"{QUARANTINE}/{name}")
    if any(each.name.startswith(name.name) for each in adapter.list_dir(kept.parent)):
        return None
    hint = Path(place.uri, HINT)
    try:
        is_proved = hint.stat().st_mtime >= started_at()
    except (OSError, ValueError, StopIteration):
        is_proved = False
    return LostVersion(version=hinted, is_proved=is_proved, uri=adapter.uri(name), hint_uri=str(hint))


def started_at() -> float:
    """When this machine was started, in seconds since 1970. Raises ``OSError`` where that cannot be told."""
    lines = _PROC_STAT.read_text().splitlines()
    return float(next(each for each in lines if each.startswith("btime ")).split()[1])
