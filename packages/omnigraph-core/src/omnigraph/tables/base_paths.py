"""Where a version names files that lie below another line, and whether that place is still its own.

A line that is forked from another one reads the files of that one. Lance writes the absolute place of it, a *base*,
into every version of the new line, and follows it wherever the files of the version lie by now. So of a table that was
moved or copied with other tools, a fork would read files that are gone, or those of the table that it was copied from.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from omnigraph.errors import RelocationRequiredError

if TYPE_CHECKING:
    from lance import LanceDataset

    from omnigraph.tables.opening import Place

_LINE: Final = re.compile(r"(?P<table>.+?)(?P<line>/tree/[^/]+)?/?", re.DOTALL)
"""A table, or one of the lines that lie below it."""


def refuse_foreign_bases(dataset: LanceDataset, place: Place) -> None:
    """Raise when a version names a line that is none of its table; no request.

    Raises:
        RelocationRequiredError: it does.
    """
    for base in dataset.base_paths().values():
        if not is_same_table(base.path, place):
            raise RelocationRequiredError(place.uri, uri=place.root, found=base.path)


def is_same_table(base: str, place: Place) -> bool:
    """Whether a base is the main line of the table at a place, or one below that."""
    table, _ = split_line(base)
    if table == place.main_uri:
        return True
    if not place.is_on_disk:
        return False
    # A directory may have several names: links, and mounts of it in two places.
    try:
        return os.path.samefile(table, place.main_uri)
    except OSError:
        return False


def split_line(base: str) -> tuple[str, str]:
    """A base as the place of its table, and ``/tree/<line>``, which is empty for the main line."""
    found = _LINE.fullmatch(base)
    return ("", "") if found is None else (found["table"], found["line"] or "")
