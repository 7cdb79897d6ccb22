"""Branch names and what they stand for: an incarnation, and the physical line that its commits are on.

A branch is one object, ``_refs/branches/<encoded name>.json``, created if absent; deleting it deletes the branch. It
names a physical line that is used once and never again, so a writer that slept through a delete and a create of the
same name cannot write into the new branch. ``main`` has no such object: it is the line on which the graph was made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from omnigraph.errors import FormatError, InvalidInputError, NotFoundError
from omnigraph.history.commits import from_micros, to_micros
from omnigraph.history.ref_names import is_unicode, name_of_segment, ref_segment
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.interface import TablePin

REFS_PREFIX: Final = "_refs/branches"
_LINE_PREFIX: Final = "b"
_FORK_MARK: Final = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRef:
    """A branch as it is now.

    Attributes:
        physical: the line of the manifest that holds its commits; None for the main line.
        incarnation: tells it from earlier and later branches of the same name.
        base_commit: what it began as; None for main, and where it is not known.
        created_at: when it was made; None as ``base_commit``.
    """

    name: str
    physical: str | None
    incarnation: str
    base_commit: str | None = field(default=None, compare=False)
    created_at: datetime | None = field(default=None, compare=False)

    @classmethod
    def of_line(cls, name: str, line: str | None) -> BranchRef:
        """The branch of this name whose commits are on a line, whether it still exists or not."""
        return MAIN if line is None else cls(name=name, physical=line, incarnation=line.removeprefix(_LINE_PREFIX))

    @classmethod
    def new(cls, name: str, incarnation: str, *, base_commit: str, created_at: datetime) -> BranchRef:
        """A branch to be, on a line that nobody has used."""
        return cls(
            name=name,
            physical=f"{_LINE_PREFIX}{incarnation}",
            incarnation=incarnation,
            base_commit=base_commit,
            created_at=created_at,
        )

    def owns(self, pin: TablePin) -> bool:
        """Whether the line of a pinned version is this branch's own, so that its next version may be written there."""
        if self.physical is None or pin.branch is None:
            return self.physical is pin.branch
        return pin.branch.startswith(f"{self.physical}{_FORK_MARK}")

    def fork_name(self, operation_id: str) -> str:
        """What the fork of a table is called that an operation makes for this branch; used once and never again."""
        return f"{self.physical}{_FORK_MARK}{operation_id}"


MAIN: Final = BranchRef(name="main", physical=None, incarnation="main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch as users see it.

    Attributes:
        head: the id of its newest commit.
        base_commit: the commit that it began as; None for main.
        created_at: when it was made, in UTC; None for main.
    """

    name: str
    head: str
    base_commit: str | None
    created_at: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "name": self.name,
            "head": self.head,
            "base_commit": self.base_commit,
            "created_at": None if self.created_at is None else to_micros(self.created_at),
        }


def resolve_branch(adapter: StorageAdapter, name: str) -> BranchRef:
    """The branch of this name; ``main`` costs no request, another one a single read.

    Raises:
        InvalidInputError: the name is empty or no text.
        NotFoundError: there is no such branch.
        FormatError: its object is damaged.
    """
    given: object = name
    if not isinstance(given, str) or not given.strip() or not is_unicode(given):
        raise InvalidInputError(f"{name!r} is no branch name.", help='Branches have names such as "main".')
    if name == MAIN.name:
        return MAIN
    key = branch_key(adapter, name)
    data = adapter.read_if_exists(key)
    if data is None:
        raise NotFoundError(
            f'There is no branch "{name}".',
            help=f'List what there is: omnigraph branch list. Make it: omnigraph branch create URI "{name}".',
            details={"branch": name},
        )
    try:
        return _parse_ref(data, name)
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise FormatError(
            f"The branch object {adapter.uri(key)} is damaged.",
            help="Restore it from a copy of the graph.",
            details={"branch": name, "uri": adapter.uri(key)},
        ) from error


def list_branch_names(adapter: StorageAdapter) -> list[str]:
    """Every branch but main, by name; one request. Objects that are of no branch are passed over."""
    found = (name_of_segment(each.name) for each in adapter.list_dir(adapter.key(REFS_PREFIX)))
    return sorted(each for each in found if each is not None)


def spell_ref(ref: BranchRef) -> bytes:
    """The object of a branch."""
    facts = {
        "name": ref.name,
        "physical": ref.physical,
        "incarnation": ref.incarnation,
        "base_commit": ref.base_commit,
        "created_at": None if ref.created_at is None else to_micros(ref.created_at),
    }
    return json.dumps(facts, ensure_ascii=False, indent=1).encode()


def branch_key(adapter: StorageAdapter, name: str) -> ObjectKey:
    """The object of a branch; the name is quoted into one segment, so that any names can live side by side."""
    return adapter.key(f"{REFS_PREFIX}/{ref_segment(name)}")


def _parse_ref(data: bytes, name: str) -> BranchRef:
    facts = json.loads(data)
    physical, incarnation = facts["physical"], facts["incarnation"]
    if facts["name"] != name or not all(isinstance(each, str) and each for each in (physical, incarnation)):
        raise ValueError(facts)
    created_at = facts.get("created_at")
    return BranchRef(
        name=name,
        physical=physical,
        incarnation=incarnation,
        base_commit=facts.get("base_commit"),
        created_at=None if created_at is None else from_micros(created_at),
    )
