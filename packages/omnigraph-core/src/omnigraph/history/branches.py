"""Branch names and what they stand for: an incarnation, and the physical line that its commits are on.

A branch is one object, ``_refs/branches/<encoded name>.json``, created if absent; deleting it deletes the branch. It
names a physical line that is used once and never again, so a writer that slept through a delete and a create of the
same name cannot write into the new branch. ``main`` has no such object: it is the line on which the graph was made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError
from omnigraph.storage import ObjectKey, StorageAdapter

REFS_PREFIX: Final = "_refs/branches"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRef:
    """A branch as it is now.

    Attributes:
        physical: the line of the manifest that holds its commits; None for the main line.
        incarnation: tells it from earlier and later branches of the same name.
    """

    name: str
    physical: str | None
    incarnation: str


MAIN: Final = BranchRef(name="main", physical=None, incarnation="main")


def resolve_branch(adapter: StorageAdapter, name: str) -> BranchRef:
    """The branch of this name; ``main`` costs no request, another one a single read.

    Raises:
        InvalidInputError: the name is empty or no text.
        NotFoundError: there is no such branch.
        FormatError: its object is damaged.
    """
    if not _is_name(name):
        raise InvalidInputError(f"{name!r} is no branch name.", help='Branches have names such as "main".')
    if name == MAIN.name:
        return MAIN
    key = branch_key(adapter, name)
    data = adapter.read_if_exists(key)
    if data is None:
        raise NotFoundError(
            f'There is no branch "{name}".',
            help="Use main: this release makes no other branches.",
            details={"branch": name},
        )
    try:
        return _parse_ref(data, name)
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"The branch object {adapter.uri(key)} is damaged.",
            help="Restore it from a copy of the graph.",
            details={"branch": name, "uri": adapter.uri(key)},
        ) from error


def branch_key(adapter: StorageAdapter, name: str) -> ObjectKey:
    """The object of a branch; the name is quoted into one segment, so that any names can live side by side."""
    return adapter.key(f"{REFS_PREFIX}/{quote(name, safe='')}.json")


def _parse_ref(data: bytes, name: str) -> BranchRef:
    facts = json.loads(data)
    physical, incarnation = facts["physical"], facts["incarnation"]
    if facts["name"] != name or not all(isinstance(each, str) and each for each in (physical, incarnation)):
        raise ValueError(facts)
    return BranchRef(name=name, physical=physical, incarnation=incarnation)


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not name.strip():
        return False
    try:
        # A lone surrogate is text to Python and to nobody else.
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
