"""A small graph in memory for tests of the publish path, and the plans that its writers make.

Plans are built by hand here, from rows that are nothing but ids, so that a test decides what a write relies on and what
it changes. ``swaps`` steps in at the one request that makes a graph change.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog, open_manifest
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import pin_row
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import LanceLocation, ObjectKey, StorageAdapter, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import StagedHandle, TablePin
from omnigraph.tables.log import LogTable
from omnigraph.write.deadlines import Deadline
from omnigraph.write.forks import Forks
from omnigraph.write.init import init_graph
from omnigraph.write.opening import repository_at
from omnigraph.write.plan import CommitIntent, PublishPlan, ReadSet, TableEffect, WriterKind
from omnigraph.write.publish import Published, publish

LIBRARY = """
node Person {
    name: String @key
    age: I32?
}
node Film {
    title: String @key
}
edge Saw: Person -> Film
"""

PERSON, FILM, SAW = "node:Person", "node:Film", "edge:Saw"

Change = Callable[[Repository, TablePin, TypeTable], StagedHandle]
"""How one table of a plan is changed."""


def new_adapter() -> MemoryAdapter:
    return MemoryAdapter(parse_uri(f"memory://world-{secrets.token_hex(8)}"))


class DiskAdapter(StorageAdapter):
    """The five methods over a directory of this machine, without a thought for durability or races."""

    directory: Path

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        return (self.directory / key.value).read_bytes()[:limit]

    def _write(self, key: ObjectKey, data: bytes) -> None:
        path = self.directory / key.value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        if (self.directory / key.value).exists():
            return False
        self._write(key, data)
        return True

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        for path in (self.directory / prefix.value).rglob("*"):
            if path.is_file():
                yield ObjectKey(str(path.relative_to(self.directory)))

    def _delete(self, key: ObjectKey) -> None:
        path = self.directory / key.value
        if not path.is_dir():
            path.unlink(missing_ok=True)

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        return LanceLocation(str(self.directory / key.value))


def disk_adapter(directory: Path) -> DiskAdapter:
    adapter = DiskAdapter(new_adapter().root)
    adapter.directory = directory
    return adapter


def new_graph(adapter: StorageAdapter | None = None, schema: str = LIBRARY) -> Repository:
    """A graph that was just made, as its maker holds it."""
    return init_graph(new_adapter() if adapter is None else adapter, schema)


def another_handle(repository: Repository, adapter: StorageAdapter | None = None) -> Repository:
    """The same graph as another process would hold it: nothing is known yet."""
    return repository_at(repository.adapter if adapter is None else adapter, repository.main)


def newest_manifest(repository: Repository) -> ManifestLog:
    """The newest log of main, looked at from outside."""
    fresh = another_handle(repository)
    return open_manifest(fresh.manifests, fresh.main)


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(target: TypeTable, ids: Iterable[str]) -> pa.Table:
    """Rows that have an id, which is their key too; every other column is null, or the id where it may not be."""
    names = list(ids)
    columns: dict[str, Any] = {}
    for each in target.schema:
        if pa.types.is_string(each.type):
            columns[each.name] = names
        else:
            columns[each.name] = [None] * len(names)
    return pa.table(columns, schema=target.schema)


def ids_at(repository: Repository, log: ManifestLog, key: str) -> list[str]:
    """The ids that a version shows of one type, in ascending order; a repeated one is there twice."""
    handle = repository.tables.open_at(log.state.entries[key].pin)
    return sorted(repository.tables.read(handle, columns=["id"]).read_all()["id"].to_pylist())


def ids_now(repository: Repository, key: str) -> list[str]:
    """The same of the newest version, looked at from outside."""
    fresh = another_handle(repository)
    return ids_at(fresh, open_manifest(fresh.manifests, fresh.main), key)


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────


def appending(*ids: str) -> Change:
    def stage(repository: Repository, pin: TablePin, target: TypeTable) -> StagedHandle:
        return repository.tables.stage_append(repository.tables.open_at(pin), rows(target, ids))

    return stage


def replacing_all(*ids: str) -> Change:
    def stage(repository: Repository, pin: TablePin, target: TypeTable) -> StagedHandle:
        return repository.tables.stage_overwrite(repository.tables.open_at(pin), rows(target, ids))

    return stage


def intent(kind: CommitKind = CommitKind.DATA, **properties: str) -> CommitIntent:
    return CommitIntent(
        id=new_ulid(), kind=kind, actor="tester", created_at=datetime.now(UTC), properties=dict(properties)
    )


def plan(
    repository: Repository,
    log: ManifestLog,
    changes: Mapping[str, Change],
    *,
    reads: Sequence[str] = (),
    of: CommitIntent | None = None,
) -> PublishPlan:
    """A plan on a log: the tables that it changes, and others that it only reads."""
    snapshot = repository.snapshot(log)
    pins = {key: log.state.entries[key].pin for key in sorted({*changes, *reads})}
    forks = Forks(repository)
    bases = {key: forks.base_of(log.branch, pins[key]) for key in changes}
    return PublishPlan(
        operation_id=new_ulid(),
        writer=WriterKind.LOAD,
        intent=intent() if of is None else of,
        base=log,
        read_set=ReadSet(pins=pins, schema_digest=log.state.schema_digest, incarnation=log.branch.incarnation),
        effects=tuple(
            TableEffect(
                target=snapshot.schema.tables[key],
                pin=pins[key],
                base=bases[key],
                staged=(change(repository, bases[key], snapshot.schema.tables[key]),),
            )
            for key, change in sorted(changes.items())
        ),
    )


def write(
    repository: Repository, changes: Mapping[str, Change], *, kind: CommitKind = CommitKind.DATA, seconds: float = 60.0
) -> Published:
    """One write on the newest state, without a second try."""
    log = repository.newest()
    return publish(repository, plan(repository, log, changes, of=intent(kind)), Deadline(seconds=seconds))


def write_elsewhere(
    repository: Repository, changes: Mapping[str, Change], kind: CommitKind = CommitKind.DATA
) -> Commit:
    """The same by another process, of which this handle knows nothing."""
    return write(another_handle(repository), changes, kind=kind).commit


def commit_after(log: ManifestLog, kind: CommitKind = CommitKind.DATA, **facts: Any) -> Commit:
    """A commit that could follow a log."""
    return Commit(
        **{
            "id": new_ulid(),
            "parent_id": log.state.head.id,
            "branch": "main",
            "line": log.branch.physical,
            "manifest_version": log.version + 1,
            "kind": kind,
            "created_at": datetime.now(UTC),
        }
        | facts
    )


def publish_bare(log: ManifestLog, **facts: Any) -> ManifestLog:
    """The next version with a commit and nothing else, without the publish path around it."""
    return log.publish(log.stage(commit_after(log, **facts), []))


def finish_for(repository: Repository, started: PublishPlan) -> Commit:
    """What a recovery does that finds a plan and all its table commits: publish the same rows as the same commit."""
    other = another_handle(repository)
    log = other.newest()
    committed = [
        other.tables.commit_exact(other.tables.open_at(effect.pin), effect.staged) for effect in started.effects
    ]
    commit = commit_after(log, started.intent.kind, id=started.intent.id, created_at=started.intent.created_at)
    pins = [
        pin_row(
            effect.target.key, effect.target.identity, handle.pin, other.tables.table_state(handle), log.version + 1
        )
        for effect, handle in zip(started.effects, committed, strict=True)
    ]
    log.publish(log.stage(commit, pins))
    return commit


# ── what lies around ─────────────────────────────────────────────────────────────────────────────────────────────


def sidecars(repository: Repository) -> list[str]:
    """The keys of all sidecars."""
    return sorted(each.value for each in repository.adapter.list_dir(repository.adapter.key("__recovery")))


def history(repository: Repository) -> list[Commit]:
    """Every commit, oldest first, looked at from outside; the chain of parents is checked."""
    commits = list(reversed(newest_manifest(repository).commits()))
    assert [each.parent_id for each in commits] == [None, *(each.id for each in commits[:-1])]
    assert [each.manifest_version for each in commits] == list(range(1, len(commits) + 1))
    return commits


def history_ids(repository: Repository) -> list[str]:
    """The ids of all commits, newest first, looked at from outside; their versions may have been reclaimed."""
    return [each.id for each in newest_manifest(repository).commits()]


def snapshot_of(repository: Repository) -> Snapshot:
    return repository.snapshot(repository.newest())


# ── trouble at the swap ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Swaps:
    """What happens at each request to publish a log; the first entry is for the first request.

    ``None`` lets it pass. ``("before", error)`` raises in its place, ``("after", error)`` loses its answer, and a
    callable is called before it passes. When the list is used up, every request passes.
    """

    script: list[Any] = field(default_factory=list)
    asked: int = 0


@contextmanager
def swaps(*script: Any) -> Iterator[Swaps]:
    """Step in at the publishes of the whole process."""
    state = Swaps(list(script))
    genuine = LogTable.publish

    def publish_log(self: LogTable, **arguments: Any) -> LogTable:
        state.asked += 1
        step = state.script.pop(0) if state.script else None
        if callable(step):
            step()
            step = None
        if step is not None and step[0] == "before":
            raise step[1]
        made = genuine(self, **arguments)
        if step is not None:
            raise step[1]
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogTable, "publish", publish_log)
        yield state
