"""``new_session``: Lance's caches of metadata and indexes, with a bound.

Each version that is opened or made leaves its description in the session, and each file its footer: about 40 KB per
commit. Lance's own bounds are 1 GiB for these and 6 GiB for indexes, so a handle that only commits seems to leak.
Therefore no session is made anywhere else. The bounds are of what Lance counts; the allocator takes somewhat more.
"""

from __future__ import annotations

from typing import Final

from lance.lance import _Session

from omnigraph.config import Settings

Session = _Session
"""Lance's caches of metadata and indexes; Lance does not export the name to type checkers."""

_MOST: Final = 2**62
"""Lance takes 64 bits; a bound that is larger is none."""


def new_session() -> Session:
    """An empty session, bounded by the settings of the environment."""
    settings = Settings.from_environment()
    return Session(
        index_cache_size_bytes=min(settings.index_cache_bytes, _MOST),
        metadata_cache_size_bytes=min(settings.metadata_cache_bytes, _MOST),
    )


def new_log_session() -> Session:
    """The same for the lines of a manifest, which have no index.

    Every version of a line is made from the one before, in the same session; so it is not that of the tables, which is
    begun anew from time to time.
    """
    settings = Settings.from_environment()
    return Session(index_cache_size_bytes=0, metadata_cache_size_bytes=min(settings.metadata_cache_bytes, _MOST))
