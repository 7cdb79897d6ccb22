"""Branch names and what they stand for: an incarnation, and the physical line that its commits are on.

A branch is one object, ``_refs/branches/<encoded name>.json``, created if absent; deleting it deletes the branch. It
names a physical line that is used once and never again, so a writer that slept through a delete and a create of the
same name cannot write into the new branch. ``main`` is such a branch too: its object is made by ``init`` and makes the
graph exist, and its line tells the graph from a later one at the same place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from omnigraph.control_json import ControlJsonError
from omnigraph.errors import (
    AlreadyExistsError,
    BranchReplacedError,
    ChangeFeedGapError,
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    OmnigraphError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.commits import from_micros, to_micros
from omnigraph.history.ref_names import is_unicode, name_of_segment, ref_segment
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.storage.control_objects import MAX_REF_BYTES, read_control_object
from omnigraph.tables.interface import TablePin

MAIN: Final = "main"
"""The name of the branch that every graph begins with and always has."""

REFS_PREFIX: Final = "_refs/branches"
_LINE_PREFIX: Final = "b"
_FORK_MARK: Final = "."
_MAY_BE_FOR_LACK_OF_THE_GRAPH: Final = (
    NotFoundError,
    AlreadyExistsError,
    ChangeFeedGapError,
    FormatError,
    InternalError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRef:
    """A branch as it is now.

    Attributes:
        physical: the line of the manifest that holds its commits.
        incarnation: tells it from earlier and later branches of the same name.
        base_commit: what it began as; None for main, and where it is not known.
        created_at: when it was made; None where it is not known.
        root: the line of main of its graph; its own line lies below that one, or is that one.
        reclaimed_below: versions of its line below this one may have been removed, and their names may be free. A swap
            that lands on such a name is part of no history; see ``publish``.
    """

    name: str
    physical: str
    incarnation: str
    base_commit: str | None = field(default=None, compare=False)
    created_at: datetime | None = field(default=None, compare=False)
    root: str = field(default="", compare=False)
    reclaimed_below: int = field(default=0, compare=False)

    @classmethod
    def of_line(cls, name: str, line: str) -> BranchRef:
        """The branch of this name whose commits are on a line, whether it still exists or not."""
        return cls(name=name, physical=line, incarnation=line.removeprefix(_LINE_PREFIX))

    @classmethod
    def new(cls, name: str, incarnation: str, *, base_commit: str, created_at: datetime, root: str) -> BranchRef:
        """A branch to be, on a line that was never used."""
        return replace(
            cls.of_line(name, f"{_LINE_PREFIX}{incarnation}"),
            base_commit=base_commit,
            created_at=created_at,
            root=root,
        )

    @classmethod
    def new_main(cls, incarnation: str, *, created_at: datetime) -> BranchRef:
        """The first branch of a graph that is being made."""
        line = f"{_LINE_PREFIX}{incarnation}"
        return replace(cls.of_line(MAIN, line), created_at=created_at, root=line)

    @property
    def is_main(self) -> bool:
        """Whether it is the branch that the graph began with."""
        return self.name == MAIN

    def owns(self, pin: TablePin) -> bool:
        """Whether the line of a pinned version is this branch's own, so that its next version may be written there.

        The line that a table began with belongs to main.
        """
        if pin.branch is None:
            return self.is_main
        return pin.branch.startswith(f"{self.physical}{_FORK_MARK}")

    def fork_name(self, operation_id: str) -> str:
        """What the fork of a table is called that an operation makes for this branch; used once and never again."""
        return f"{self.physical}{_FORK_MARK}{operation_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch as users see it.

    Attributes:
        head: the id of its newest commit; None where ``problem`` says why it cannot be read.
        base_commit: the commit that it began as; None for main.
        created_at: when it was made, in UTC; of main, when the graph was made.
        problem: why the branch cannot be read, in a listing; None for a branch that can.
    """

    name: str
    head: str | None
    base_commit: str | None
    created_at: datetime | None
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "name": self.name,
            "head": self.head,
            "base_commit": self.base_commit,
            "created_at": None if self.created_at is None else to_micros(self.created_at),
            "problem": self.problem,
        }


def resolve_branch(adapter: StorageAdapter, name: str) -> BranchRef:
    """The branch of this name, as its object says; one request.

    Raises:
        InvalidInputError: the name is empty or no text.
        NotFoundError: there is no such branch.
        FormatError: its object is damaged.
    """
    given: object = name
    if not isinstance(given, str) or not given.strip() or not is_unicode(given):
        raise InvalidInputError(f"{name!r} is no branch name.", help='Branches have names such as "main".')
    key = branch_key(adapter, name)
    try:
        facts = read_control_object(adapter, key, max_bytes=MAX_REF_BYTES)
    except ControlJsonError as error:
        raise _damaged(adapter, name, error) from error
    if facts is None:
        raise NotFoundError(
            f'There is no branch "{name}".',
            help=f'List what there is: omnigraph branch list. Make it: omnigraph branch create URI "{name}".',
            details={"branch": name},
        )
    try:
        return _parse_ref(facts, name)
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise _damaged(adapter, name, "it does not say what the object of this branch says") from error


def refuse_other_graph(adapter: StorageAdapter, main: str) -> BranchRef:
    """The main branch as its object says now, if it is the one of this incarnation; one request.

    Raises:
        NotFoundError: the graph was removed.
        BranchReplacedError: it was removed, and another one was made at the same place.
        FormatError: its object is damaged.
    """
    try:
        found = resolve_branch(adapter, MAIN)
    except NotFoundError as error:
        raise NotFoundError(
            f"There is no graph at {adapter.root} any more: it was removed since it was opened.",
            help="Open another one, or restore it from a copy and open it again.",
            details={"uri": str(adapter.root)},
        ) from error
    if found.incarnation != main:
        raise BranchReplacedError(branch=MAIN, expected=main, actual=found.incarnation)
    return found


def tell_if_gone(error: BaseException, refuse: Callable[[], object]) -> None:
    """Say of a call that failed that its graph is not there any more, if that is why; one request where it may be.

    Whoever misses a file, a name or a version may miss it for many reasons, and this one explains all of them.

    Args:
        error: why the call failed.
        refuse: raises when the graph is not there any more; see ``refuse_other_graph``.

    Raises:
        NotFoundError: the graph was removed.
        BranchReplacedError: it was removed and made anew.
    """
    if isinstance(error, StorageError):
        if error.condition is not StorageCondition.NOT_FOUND:
            return
    elif not isinstance(error, _MAY_BE_FOR_LACK_OF_THE_GRAPH):
        return
    try:
        refuse()
    except (NotFoundError, BranchReplacedError) as gone:
        raise gone from error
    except OmnigraphError as another:
        error.add_note(f"Looking whether the graph is still there failed as well: {another}")


def _damaged(adapter: StorageAdapter, name: str, why: object) -> FormatError:
    uri = adapter.uri(branch_key(adapter, name))
    # Without the object of main there is no graph, so main cannot be deleted.
    delete = f', or delete the branch with what was not merged of it: omnigraph branch delete {adapter.root} "{name}"'
    return FormatError(
        f"The branch object {uri} is damaged: {why}.",
        help=f"Restore it from a copy of the graph{'' if name == MAIN else delete}.",
        details={"branch": name, "uri": uri},
    )


def is_of_one_branch(error: OmnigraphError) -> bool:
    """Whether a failure to open a branch says something of this branch, and nothing of the store as a whole."""
    return not (isinstance(error, StorageError) and error.condition is StorageCondition.TRANSIENT)


def list_branch_names(adapter: StorageAdapter) -> list[str]:
    """Every branch but main, by name; one request. Objects that are of no branch are passed over."""
    found = (name_of_segment(each.name) for each in adapter.list_dir(adapter.key(REFS_PREFIX)))
    return sorted(each for each in found if each is not None and each != MAIN)


def spell_ref(ref: BranchRef) -> bytes:
    """The object of a branch."""
    facts = {
        "name": ref.name,
        "physical": ref.physical,
        "incarnation": ref.incarnation,
        "root": ref.root,
        "base_commit": ref.base_commit,
        "created_at": None if ref.created_at is None else to_micros(ref.created_at),
        "reclaimed_below": ref.reclaimed_below,
    }
    return json.dumps(facts, ensure_ascii=False, indent=1).encode()


def branch_key(adapter: StorageAdapter, name: str) -> ObjectKey:
    """The object of a branch; the name is quoted into one segment, so that any names can live side by side."""
    return adapter.key(f"{REFS_PREFIX}/{ref_segment(name)}")


def _parse_ref(facts: Any, name: str) -> BranchRef:
    physical, incarnation, root = facts["physical"], facts["incarnation"], facts["root"]
    if facts["name"] != name or not all(isinstance(each, str) and each for each in (physical, incarnation, root)):
        raise ValueError(facts)
    # A line is used once, by the incarnation that it is named for; another one may be that of another branch.
    if physical != f"{_LINE_PREFIX}{incarnation}":
        raise ValueError(facts)
    created_at, reclaimed_below = facts.get("created_at"), facts.get("reclaimed_below", 0)
    # bool is an int to Python.
    if type(reclaimed_below) is not int or reclaimed_below < 0:
        raise ValueError(facts)
    return BranchRef(
        name=name,
        physical=physical,
        incarnation=incarnation,
        base_commit=facts.get("base_commit"),
        created_at=None if created_at is None else from_micros(created_at),
        root=root,
        reclaimed_below=reclaimed_below,
    )
