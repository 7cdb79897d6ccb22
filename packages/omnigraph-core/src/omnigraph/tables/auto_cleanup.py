"""Settings of another Lance tool that make Lance delete old versions with each commit: they are seen before ours.

    lance.auto_cleanup.interval, lance.auto_cleanup.older_than    in the configuration of a table

Lance looks for them in the version that a commit made, and removes older ones in the same call; a commit cannot be told
to leave that out. Old versions of a table and of the manifest are the history of the graph.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Final

from lance import LanceDataset

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, RecentlyUsed
from omnigraph.tables.opening import Place, open_dataset

PREFIX: Final = "lance.auto_cleanup."

_log: Final = logging.getLogger(__name__)

_looked_at: Final[RecentlyUsed[str, bool]] = RecentlyUsed(10_000)
_warned_of: Final[RecentlyUsed[str, bool]] = RecentlyUsed(1_000)
os.register_at_fork(after_in_child=_looked_at.renew_lock)
os.register_at_fork(after_in_child=_warned_of.renew_lock)


def warn_of_auto_cleanup(dataset: LanceDataset, place: Place) -> None:
    """Say once in this process that a table has such settings; looks at a held version, without a request."""
    keys = _keys(dataset)
    if keys and _warned_of.get(place.uri) is None:
        _warned_of.put(place.uri, True)
        _log.warning("%s Commits of other tools carry them out. %s", _message(place, keys), _way_out(place, keys))


def refuse_auto_cleanup(dataset: LanceDataset, place: Place) -> None:
    """Raise if a commit on this version would delete older ones.

    Raises:
        StorageError: condition ``configuration``; the message names the settings.
    """
    keys = _keys(dataset)
    if keys:
        raise StorageError(
            f"{_message(place, keys)} A commit would delete the history of the graph, so nothing was written.",
            condition=StorageCondition.CONFIGURATION,
            uri=place.uri,
            help=_way_out(place, keys),
        )


def has_auto_cleanup(dataset: LanceDataset) -> bool:
    """Whether a commit on this version would delete older ones; no request."""
    return bool(_keys(dataset))


def is_foreign_newest(base: LanceSnapshot) -> bool:
    """Whether the newest version of a line is another one than a base, so that an ordinary commit must not follow it.

    Such a commit would take over the settings of that version. On a disk each commit looks, which is cheap. On a
    server that costs a request, so only the first commit of this process to a table does.
    """
    place = base.place
    is_cheap = place.is_on_disk or not place.has_files
    if not is_cheap and (base.pin.branch is not None or _looked_at.get(place.uri) is not None):
        return False
    with translating("look at", place.uri):
        newest = int(base.dataset.latest_version)
    if not is_cheap:
        _looked_at.put(place.uri, True)
    if newest == base.pin.version:
        return False
    # The newest version may be what a loss of power damaged; then it has no settings, and the commit steps over it.
    with contextlib.suppress(StorageError):
        warn_of_auto_cleanup(open_dataset(place, version=None, session=None, counted="open_newest"), place)
    return True


def _keys(dataset: LanceDataset) -> list[str]:
    return sorted(key for key in dataset.config() if key.startswith(PREFIX))


def _message(place: Place, keys: list[str]) -> str:
    return f"The table {place.uri} has settings of another Lance tool that delete old versions: {', '.join(keys)}."


def _way_out(place: Place, keys: list[str]) -> str:
    return f"Remove them: lance.dataset({place.uri!r}).delete_config_keys({keys!r})."
