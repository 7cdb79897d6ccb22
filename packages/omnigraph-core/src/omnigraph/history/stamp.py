"""The format stamp: which layout a graph is written in, checked before anything else is read.

One layout is served and everything else refused, in both modes, with the way out in the message. The stamp is metadata
of the manifest's schema: it is part of the first commit, travels with every version and is inherited by branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.errors import FormatError

STAMP_KEY: Final = "omnigraph:internal_schema_version"
STAMP: Final = 1

_REBUILD: Final = (
    "Export it with the release that wrote it (omnigraph export GRAPH > graph.jsonl), make a new graph with this one "
    "(omnigraph init --schema SCHEMA NEW) and load it (omnigraph load NEW --data graph.jsonl --mode overwrite). Data, "
    "vectors and blobs are kept; history and branches are not. See docs/how-to/upgrade.md."
)


def check_stamp(metadata: Mapping[str, str], uri: str) -> None:
    """Refuse a manifest that this release does not serve.

    Raises:
        FormatError: the stamp is another one, no number, or missing.
    """
    raw = metadata.get(STAMP_KEY)
    if raw is None:
        raise FormatError(
            f"{uri} has a manifest without a format stamp: its init was interrupted, or its metadata is damaged.",
            help="If you know that its init never completed, delete it and init it again; else restore it from a copy.",
            details={"uri": uri, "expected": STAMP},
        )
    # int() would take signs, blanks and digits of other scripts, and fail on thousands of digits.
    if not (raw.isascii() and raw.isdigit() and len(raw) < 20):
        raise FormatError(
            f'{uri} has the format stamp "{raw}", which is no number.',
            help="Its metadata is damaged; restore it from a copy.",
            details={"uri": uri, "found": raw, "expected": STAMP},
        )
    found = int(raw)
    if found > STAMP:
        raise FormatError(
            f"{uri} is written in format {found}; this release reads format {STAMP}.",
            help="Upgrade OmniGraph: the graph was made by a newer release.",
            details={"uri": uri, "found": found, "expected": STAMP},
        )
    if found < STAMP:
        raise FormatError(
            f"{uri} is written in format {found} of an older release; this release reads format {STAMP} only.",
            help=_REBUILD,
            details={"uri": uri, "found": found, "expected": STAMP},
        )
