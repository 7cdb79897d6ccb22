"""The format stamp: which layout a graph is written in, checked before anything else is read.

One layout is served and everything else refused, in both modes, with the way out in the message. Beside the stamp a
manifest lists the features that its reader must know, so that a later release adds content without a new stamp: a
release refuses a feature that it does not know, by name. Stamp and features are metadata of the manifest's schema: they
are part of the first commit, travel with every version and are inherited by branches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.errors import FormatError

STAMP_KEY: Final = "omnigraph:internal_schema_version"
STAMP: Final = 2

REQUIRES_KEY: Final = "omnigraph:requires"
"""The features that a manifest needs its reader to know, as a JSON array of names in ascending order."""

FEATURES: Final[frozenset[str]] = frozenset()
"""The features that this release knows beside what every graph of format 2 has."""

_MAX_REQUIRES: Final = 10_000
"""How long the list of features may be; parsing what is longer is refused."""

_REBUILD: Final = (
    "Export it with the release that wrote it (omnigraph export GRAPH > graph.jsonl), make a new graph with this one "
    "(omnigraph init --schema SCHEMA NEW) and load it (omnigraph load NEW --data graph.jsonl --mode overwrite). Data, "
    "vectors and blobs are kept; history and branches are not. See docs/how-to/upgrade.md."
)


def check_stamp(metadata: Mapping[str, str], uri: str) -> None:
    """Refuse a manifest that this release does not serve.

    Raises:
        FormatError: the stamp is another one, is not a number, or is missing; or a required feature is not known.
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
            f'{uri} has the format stamp "{raw}", which is not a number.',
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
    _check_features(metadata.get(REQUIRES_KEY), uri)


def spell_features(names: frozenset[str]) -> str:
    """The list of required features as a manifest holds it."""
    return json.dumps(sorted(names), separators=(",", ":"))


def _check_features(raw: str | None, uri: str) -> None:
    required = None if raw is None or len(raw) > _MAX_REQUIRES else _parse_features(raw)
    if required is None:
        raise FormatError(
            f"{uri} has a manifest whose list of required features cannot be read.",
            help="Its metadata is damaged; restore it from a copy.",
            details={"uri": uri, "found": None if raw is None else raw[:100], "key": REQUIRES_KEY},
        )
    unknown = sorted(set(required) - FEATURES)
    if unknown:
        names = ", ".join(unknown)
        raise FormatError(
            f"{uri} requires features that this release does not know: {names}.",
            help="Upgrade OmniGraph: the graph was written by a newer release.",
            details={"uri": uri, "unknown": unknown, "known": sorted(FEATURES)},
        )


def _parse_features(raw: str) -> list[str] | None:
    """The names, or None for what is not an array of names."""
    try:
        found = read_control_json(raw)
    except ControlJsonError:
        return None
    # They are shown to people, so half of a surrogate pair or a control character is no name.
    is_named = isinstance(found, list) and all(isinstance(each, str) and each and each.isprintable() for each in found)
    return found if is_named else None
