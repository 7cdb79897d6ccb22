"""The text of queries, whatever they were given as: tasks run where the file is not."""

from __future__ import annotations

import os
from pathlib import Path


def query_text(source: str | os.PathLike[str]) -> str:
    """The text itself, or what is in the ``.gq`` file that a path or a name says, as ``Graph.query`` takes it."""
    if isinstance(source, str) and ("\n" in source or not source.rstrip().endswith(".gq")):
        return source
    return Path(source).read_text("utf-8-sig")
