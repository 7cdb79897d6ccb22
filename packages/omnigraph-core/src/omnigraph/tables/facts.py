"""What the table layer says of tables, as plain facts: versions, parts, indexes, rows that lie in files.

They are values: they compare, hash and pickle, and nothing of Lance is in them. ``interface`` hands them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePin:
    """One published version of one table: what a manifest row says and what every read opens.

    Attributes:
        location: key of the table below the graph's root.
        branch: the physical branch that holds the version; None for the table's main line.
        version: the version on that branch.
    """

    location: str
    branch: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestVersion:
    """The newest version of a line of a table.

    Attributes:
        restores: the version that it shows again; None when it is no such version.
    """

    version: int
    restores: int | None = None

    def shows(self, version: int) -> bool:
        """Whether other readers of Lance see that version of the table."""
        return version in (self.version, self.restores)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a manifest row records of a version beside its pin."""

    row_count: int
    version_metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedVersion:
    """A version that is about to be made, as it will be known."""

    pin: TablePin
    state: TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpec:
    """An index to build: the column, the kind (``btree``, ``inverted``, ``vector``) and a name of its own."""

    column: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCoverage:
    """How far an index of a version reaches.

    Attributes:
        covered_rows: rows that are there and that it knows.
        uncovered_rows: rows that are there and that came after it was built, the tail; searches scan them.
    """

    spec: IndexSpec
    covered_rows: int
    uncovered_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """One of the immutable pieces that a version is made of. Versions share the pieces that did not change.

    The same number with equal ``files`` and ``deletions`` in another version of the same line, or of a fork of it, has
    the same rows at the same addresses.

    Attributes:
        number: the upper half of the addresses of its rows.
        files: names of the data files.
        deletions: name of what says which rows are deleted; None when none is.
        row_count: rows that were written, deleted ones included.
        live_count: rows that are there.
        byte_count: of the data files; 0 where that is not known.
    """

    number: int
    files: str
    deletions: str | None
    row_count: int
    live_count: int
    byte_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """Rows that lie in files of a table and belong to no version yet. Plain data: it pickles and is JSON.

    Attributes:
        location: key of the table below the graph's root.
        branch: the physical branch below which the files lie.
        fragments: what Lance needs to take the files up, as JSON values.
        row_count: how many rows they hold.
        byte_count: the size of the files.
    """

    location: str
    branch: str | None
    fragments: tuple[dict[str, Any], ...]
    row_count: int
    byte_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedRows:
    """Rows of some parts of a table, written together to new files that belong to no version yet.

    They stand for those parts in any version that has them unchanged.

    Attributes:
        parts: what they were read from.
        fragments: what Lance needs to take the files up, as JSON values.
    """

    location: str
    branch: str | None
    parts: tuple[TablePart, ...]
    fragments: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPart:
    """A part of a version with more rows marked as deleted, which no version has yet. Plain data: it is JSON.

    Attributes:
        pin: the version that it was made from.
        number: of the part.
        fragment: what Lance needs to take the part up with its marks, as JSON values; None when no row is left.
    """

    pin: TablePin
    number: int
    fragment: dict[str, Any] | None
