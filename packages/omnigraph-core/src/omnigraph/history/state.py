"""``GraphState``: what the rows of a manifest amount to, by one function for a scan and for a publish in memory.

    rows of a version ──────────────┐
                                    ├── GraphState.of ──> pins, schema, head, recent commits
    state + rows of a new publish ──┘

A state costs no request and never changes. ``GraphState.rows`` gives the rows back, so that the next publish can write
the whole state as one small fragment; see ``log``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from omnigraph.history.commits import Commit
from omnigraph.history.rows import (
    GRAPH_COMMIT,
    GRAPH_HEAD,
    SCHEMA,
    TABLE,
    TABLE_VERSION,
    ManifestRow,
    compact_json,
    damaged,
    table_id,
    table_location,
    version_id,
)
from omnigraph.tables.interface import TablePin, TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One table of a graph state.

    Attributes:
        key: ``node:Film``.
        identity: stable table id and incarnation.
        pin: the version that this state shows.
        seq: the manifest version that last moved the pin.
        version_metadata: what ``TableStorage.table_state`` said of the version, as JSON.
    """

    key: str
    identity: tuple[int, int]
    pin: TablePin
    row_count: int
    seq: int
    version_metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphState:
    """A graph at one version of its manifest.

    Attributes:
        version: of the manifest.
        entries: by table key, in ascending order.
        schema_digest: names the schema objects.
        head: the newest commit of the line that this state is on.
        recent: the newest commits, oldest first; ``head`` is the last of them. Older ones lie in history fragments.
        rows: what it was made of, the newest row per object, ordered by object id.
    """

    version: int
    entries: Mapping[str, TableEntry]
    schema_digest: str
    head: Commit
    recent: tuple[Commit, ...]
    rows: tuple[ManifestRow, ...]

    @classmethod
    def of(cls, rows: Iterable[ManifestRow], version: int) -> GraphState:
        """What rows amount to; order plays no part.

        Raises:
            FormatError: they contradict each other.
        """
        newest: dict[str, ManifestRow] = {}
        for row in rows:
            if row.seq > version:
                raise damaged(f"{row.object_id} is of version {row.seq}, which is still to come")
            held = newest.get(row.object_id)
            if held is None or row.seq > held.seq:
                newest[row.object_id] = row
            elif row.seq == held.seq and row != held:
                raise damaged(f"version {row.seq} wrote {row.object_id} twice")
        kept = tuple(newest[name] for name in sorted(newest))
        by_type: dict[str, list[ManifestRow]] = {}
        for row in kept:
            by_type.setdefault(row.object_type, []).append(row)
        commits = sorted((Commit.of_row(row) for row in by_type.get(GRAPH_COMMIT, ())), key=lambda each: each.order)
        schemas = by_type.get(SCHEMA, [])
        if len(schemas) != 1:
            raise damaged(f"it names {len(schemas)} schemas")
        return cls(
            version=version,
            entries=_entries(by_type),
            schema_digest=str(schemas[0].facts["digest"]),
            head=_head(by_type.get(GRAPH_HEAD, []), commits),
            recent=tuple(commits),
            rows=kept,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy does not pickle.
        return GraphState.of, (self.rows, self.version)

    def advanced(self, rows: Iterable[ManifestRow], version: int, *, forgetting: Iterable[str] = ()) -> GraphState:
        """This state after a publish of these rows. ``forgetting`` names commits that moved to a history fragment."""
        gone = set(forgetting)
        return GraphState.of((*(row for row in self.rows if row.object_id not in gone), *rows), version)


def registration_row(key: str, identity: tuple[int, int], seq: int) -> ManifestRow:
    """The row that says where the table of a type lies."""
    return ManifestRow(
        object_id=table_id(identity),
        object_type=TABLE,
        seq=seq,
        location=table_location(key.partition(":")[0], identity),
        table_key=key,
        stable_table_id=identity[0],
        table_incarnation_id=identity[1],
    )


def pin_row(key: str, identity: tuple[int, int], pin: TablePin, state: TableState, seq: int) -> ManifestRow:
    """The row that says which version of a table the graph shows."""
    return ManifestRow(
        object_id=version_id(identity),
        object_type=TABLE_VERSION,
        seq=seq,
        metadata=state.version_metadata,
        table_key=key,
        stable_table_id=identity[0],
        table_incarnation_id=identity[1],
        table_version=pin.version,
        table_branch=pin.branch,
        row_count=state.row_count,
    )


def schema_row(digest: str, seq: int) -> ManifestRow:
    """The row that says which schema a graph has."""
    return ManifestRow(object_id=SCHEMA, object_type=SCHEMA, seq=seq, metadata=compact_json({"digest": digest}))


def head_row(commit: Commit, incarnation: str) -> ManifestRow:
    """The row that says which commit is the newest of a branch."""
    facts: dict[str, Any] = {"incarnation": incarnation, "head": commit.id, "parent": commit.parent_id}
    return ManifestRow(
        object_id=f"{GRAPH_HEAD}:{incarnation}",
        object_type=GRAPH_HEAD,
        seq=commit.manifest_version,
        metadata=compact_json(facts),
    )


def _entries(by_type: Mapping[str, list[ManifestRow]]) -> Mapping[str, TableEntry]:
    registered = {row.identity: row for row in by_type.get(TABLE, ())}
    entries: dict[str, TableEntry] = {}
    for row in by_type.get(TABLE_VERSION, ()):
        registration = registered.pop(row.identity, None)
        if registration is None:
            raise damaged(f"{row.object_id} pins a table that is not registered")
        key = registration.table_key
        if key in entries:
            raise damaged(f"two tables are called {key}")
        # ManifestRow.check saw to it that none of these is None.
        version, row_count = int(row.table_version or 0), int(row.row_count or 0)
        entries[key] = TableEntry(
            key=key,
            identity=row.identity,
            pin=TablePin(location=str(registration.location), branch=row.table_branch, version=version),
            row_count=row_count,
            seq=row.seq,
            version_metadata=row.metadata or "{}",
        )
    if registered:
        raise damaged(f"{min(each.table_key for each in registered.values())} is registered and has no version")
    return MappingProxyType(dict(sorted(entries.items())))


def _head(heads: list[ManifestRow], commits: list[Commit]) -> Commit:
    """The commit that the newest head row names; a branch that was just made still shows its parent's."""
    if not heads:
        raise damaged("it has no head")
    newest = max(heads, key=lambda each: each.seq)
    wanted = newest.facts.get("head")
    found = next((each for each in commits if each.id == wanted), None)
    if found is None:
        raise damaged(f"its head {wanted} is not among its recent commits")
    return found
