"""The rows of ``__manifest``: what each kind says, and their form in Arrow.

    table           where a type's table lies; changes when the type is renamed
    table_version   the version of a table that this graph state shows: the pin
    schema          the digest of the schema
    graph_head      the newest commit of a branch
    graph_commit    one commit; written once and never changed
    merged_commit   a commit of another line, which a merge made part of this history

Every row carries ``seq``, the manifest version of the publish that wrote it. Of rows with one ``object_id`` the
greatest ``seq`` counts. ``object_id`` and ``location`` follow from the rest of a row, and a reader checks that they do:
a row that disagrees with itself is damage, never tolerated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.errors import FormatError

TABLE: Final = "table"
TABLE_VERSION: Final = "table_version"
SCHEMA: Final = "schema"
GRAPH_HEAD: Final = "graph_head"
GRAPH_COMMIT: Final = "graph_commit"
MERGED_COMMIT: Final = "merged_commit"

MANIFEST_COLUMNS: Final = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("seq", pa.uint64(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("table_key", pa.string(), nullable=False),
        pa.field("stable_table_id", pa.uint64()),
        pa.field("table_incarnation_id", pa.uint64()),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """One row. ``metadata`` is a JSON object as text."""

    object_id: str
    object_type: str
    seq: int
    location: str | None = None
    metadata: str | None = None
    table_key: str = ""
    stable_table_id: int | None = None
    table_incarnation_id: int | None = None
    table_version: int | None = None
    table_branch: str | None = None
    row_count: int | None = None

    @property
    def identity(self) -> tuple[int, int]:
        """The identity of the table that the row is about."""
        if self.stable_table_id is None or self.table_incarnation_id is None:
            raise damaged(f"the row {self.object_id} names no table")
        return self.stable_table_id, self.table_incarnation_id

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata, taken apart."""
        try:
            facts = read_control_json(self.metadata or "{}")
        except ControlJsonError as error:
            raise damaged(f"the metadata of {self.object_id} cannot be read: {error}") from error
        if not isinstance(facts, dict):
            raise damaged(f"the metadata of {self.object_id} is no object")
        return facts

    def check(self) -> None:
        """Refuse a row whose names do not follow from its content.

        Raises:
            FormatError: they do not.
        """
        match self.object_type:
            case "table":
                expected = table_id(self.identity)
                kind, _, name = self.table_key.partition(":")
                if kind not in ("node", "edge") or not name:
                    raise damaged(f"{self.object_id} is called {self.table_key!r}")
                if self.location != table_location(kind, self.identity):
                    raise damaged(f"{self.object_id} lies at {self.location!r}")
            case "table_version":
                expected = version_id(self.identity)
                if not self.table_version or self.row_count is None:
                    raise damaged(f"{self.object_id} names no version, or no number of rows")
            case "schema":
                expected = SCHEMA
                if not isinstance(self.facts.get("digest"), str):
                    raise damaged("its schema row names no schema")
            case "graph_head":
                expected = f"{GRAPH_HEAD}:{self.facts.get('incarnation')}"
            case "graph_commit":
                expected = self.object_id
                if self.table_version != self.seq:
                    raise damaged(f"the commit {self.object_id} of version {self.seq} says {self.table_version}")
            case "merged_commit":
                expected = self.object_id
                if not self.table_version:
                    raise damaged(f"the commit {self.object_id} of another branch names no version")
            case unknown:
                raise damaged(f"{self.object_id} is a row of the unknown kind {unknown!r}")
        if self.object_id != expected:
            raise damaged(f"a row that should be {expected} calls itself {self.object_id}")


def table_id(identity: tuple[int, int]) -> str:
    """The object id of a table's registration."""
    return f"{TABLE}:{identity[0]:016x}:{identity[1]:016x}"


def version_id(identity: tuple[int, int]) -> str:
    """The object id of a table's pin."""
    return f"{TABLE_VERSION}:{identity[0]:016x}:{identity[1]:016x}"


def table_location(kind: str, identity: tuple[int, int]) -> str:
    """Where the table of a type lies, below the graph's root."""
    return f"{kind}s/{identity[0]:016x}-{identity[1]:016x}"


def damaged(why: str) -> FormatError:
    """The error about a manifest that contradicts itself."""
    return FormatError(
        f"The graph's manifest is damaged: {why}.",
        help="Open an older commit, or restore the graph from a copy. Please report how it came to this.",
    )


def rows_to_arrow(rows: Iterable[ManifestRow]) -> pa.Table:
    """Rows as a table, in their order."""
    kept = tuple(rows)
    columns = {name: [getattr(row, name) for row in kept] for name in MANIFEST_COLUMNS.names}
    return pa.table(columns, schema=MANIFEST_COLUMNS)


def rows_from_arrow(table: pa.Table) -> tuple[ManifestRow, ...]:
    """The rows of a table, each checked.

    Raises:
        FormatError: a row disagrees with itself.
    """
    chosen = table.select(MANIFEST_COLUMNS.names)
    if any(chosen[each.name].null_count for each in MANIFEST_COLUMNS if not each.nullable):
        raise damaged("a row lacks its name, its kind or its version")
    rows = tuple(ManifestRow(**facts) for facts in chosen.to_pylist())
    for row in rows:
        row.check()
    return rows


def compact_json(facts: dict[str, Any]) -> str:
    """A JSON object in its shortest form; members that are None are left out."""
    kept = {name: value for name, value in facts.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
