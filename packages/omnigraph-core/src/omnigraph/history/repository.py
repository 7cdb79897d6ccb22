"""``Repository``: one graph at one place, and what this process remembers of it.

It gives logs and snapshots of branches. Everything it remembers is immutable and named by a version or a digest, so
forgetting costs requests and never correctness. Safe to share between threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from omnigraph.config import Settings
from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.branches import MAIN, BranchRef, resolve_branch
from omnigraph.history.commits import Commit
from omnigraph.history.heartbeats import Heart, Observer
from omnigraph.history.lifetime import Lifetime
from omnigraph.history.log import ManifestLog, open_manifest
from omnigraph.history.recoveries import Recovery
from omnigraph.history.rivals import Rivals
from omnigraph.history.schemas import GraphSchema, read_schema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.warm import WarmColumns
from omnigraph.storage import StorageAdapter
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.tables.log import LogStore

SnapshotLike = Snapshot | Commit | str | int
"""What names a moment: a snapshot, a commit or its id, or a version of the manifest."""


class Repository:
    """A graph's control objects, tables and manifest, with the newest known log of each branch.

    Attributes:
        on_published: is told of each commit that this process made, when it is durable: its log, and the versions that
            it was built on, of the types that it changed, by table key.
        lifetime: of the handle that all of it belongs to; the verbs of users are calls in it.
        settled: what was done about cut-off writes when it was opened for writing.
    """

    def __init__(self, adapter: StorageAdapter, tables: TableStorage, logs: LogStore) -> None:
        self.adapter = adapter
        self.tables = tables
        self.logs = logs
        self.warm = WarmColumns()
        self.rivals = Rivals()
        self.heart = Heart(adapter)
        self.observer = Observer(adapter, patience=Settings.from_environment().recovery_patience)
        self.on_published: Callable[[ManifestLog, Mapping[str, TablePin]], None] | None = None
        self.lifetime = Lifetime(str(adapter.root))
        self.settled: tuple[Recovery, ...] = ()
        self._lock = threading.Lock()
        self._newest: dict[str, ManifestLog] = {}
        self._schemas: dict[str, GraphSchema] = {}

    def newest(self, branch: str = MAIN.name) -> ManifestLog:
        """The newest log of a branch: one request when nothing moved, three when something did.

        Raises:
            NotFoundError: there is no such branch.
        """
        ref = resolve_branch(self.adapter, branch)
        known = self._newest.get(ref.incarnation)
        if known is not None and known.is_newest():
            return known
        found = open_manifest(self.logs, ref)
        if known is not None and found.version < known.version:
            # The graph was removed and made anew: nothing that is known of the old one counts.
            with self._lock:
                if self._newest.get(ref.incarnation) is known:
                    del self._newest[ref.incarnation]
        return self.remember(found)

    def known(self, branch: str = MAIN.name) -> ManifestLog:
        """A log of a branch that may be out of date, without a request where one is remembered.

        Right for a writer: what it builds on an old log loses its compare-and-swap.
        """
        ref = resolve_branch(self.adapter, branch)
        known = self._newest.get(ref.incarnation)
        return known if known is not None else self.remember(open_manifest(self.logs, ref))

    def newest_known(self, log: ManifestLog) -> ManifestLog:
        """The newest log that is remembered of the same branch, or this one; no request."""
        known = self._newest.get(log.branch.incarnation)
        return known if known is not None and known.version > log.version else log

    def remember(self, log: ManifestLog) -> ManifestLog:
        """Keep a log for later unless a newer one of its branch is kept already."""
        with self._lock:
            kept = self._newest.get(log.branch.incarnation)
            if kept is None or log.version > kept.version:
                self._newest[log.branch.incarnation] = log
        return log

    def forget(self) -> None:
        """Let the next read look for itself."""
        with self._lock:
            self._newest.clear()

    def schema(self, digest: str) -> GraphSchema:
        """The schema of a state; read once."""
        found = self._schemas.get(digest)
        if found is None:
            found = self._schemas[digest] = read_schema(self.adapter, digest)
        return found

    @property
    def graph_id(self) -> str:
        """What tells this graph from every other one, as long as it lives."""
        return self.schema(self.known().state.schema_digest).ir.domain

    def adopt_schemas(self, schemas: Mapping[str, GraphSchema]) -> None:
        """Take over schemas that are known already, by digest."""
        self._schemas.update(schemas)

    def snapshot(self, log: ManifestLog) -> Snapshot:
        """The snapshot that a log shows."""
        return Snapshot(branch=log.branch, state=log.state, schema=self.schema(log.state.schema_digest))

    def snapshot_of(self, branch: str = MAIN.name, at: SnapshotLike | None = None) -> Snapshot:
        """A branch as it is now, or as it was at a moment.

        Raises:
            NotFoundError: there is no such branch, commit or version, or its version was reclaimed.
            InvalidInputError: a snapshot of another graph.
        """
        if isinstance(at, Snapshot):
            self._refuse_foreign(at)
            return at
        if at is None:
            return self.snapshot(self.newest(branch))
        if isinstance(at, Commit):
            at = at.id
        if isinstance(at, int) and not isinstance(at, bool):
            return self.snapshot(self._at_version(resolve_branch(self.adapter, branch), at))
        if not isinstance(at, str):
            raise InvalidInputError(
                f"{at!r} names no moment.", help="Give a snapshot, a commit or its id, or a version of the manifest."
            )
        commit = self.find_commit(at, branch)
        log = self._at_version(resolve_branch(self.adapter, commit.branch), commit.manifest_version)
        if log.state.head.id != commit.id:
            raise NotFoundError(
                f"Version {commit.manifest_version} of {commit.branch} is not commit {commit.id} any more: the branch "
                "was made anew.",
                details={"commit_id": commit.id, "branch": commit.branch},
            )
        return self.snapshot(log)

    def _refuse_foreign(self, snapshot: Snapshot) -> None:
        """Raise when a snapshot is of another graph: its pins may name tables of this one, by chance."""
        if snapshot.schema.ir.domain != self.graph_id:
            raise InvalidInputError(
                f"This snapshot is of another graph than {self.adapter.root}, at commit {snapshot.commit.id}.",
                help="Take it from the graph that you read: g.snapshot(at=...).",
                details={"commit_id": snapshot.commit.id},
            )

    def find_commit(self, commit_id: str, branch: str = MAIN.name) -> Commit:
        """The commit of this id.

        Raises:
            NotFoundError: there is none.
        """
        known = self._newest.get(MAIN.incarnation)
        found = None if known is None else known.find_commit(commit_id)
        # What is remembered may be older than the commit.
        if found is None and (newest := self.newest(branch)) is not known:
            found = newest.find_commit(commit_id)
        if found is None:
            raise NotFoundError(
                f'There is no commit "{commit_id}".',
                help="List what there is: omnigraph commit list, or g.commits.list().",
                details={"commit_id": commit_id},
            )
        return found

    def at_commit(self, commit: Commit) -> ManifestLog:
        """The log of the version that a commit made.

        Raises:
            NotFoundError: its version was reclaimed.
        """
        return self._at_version(MAIN, commit.manifest_version)

    def _at_version(self, branch: BranchRef, version: int) -> ManifestLog:
        known = self._newest.get(branch.incarnation)
        if known is not None and known.version == version:
            return known
        if not 0 < version < 2**63:
            raise NotFoundError(
                f"{self.adapter.root} has no manifest version {version}: they count from 1.",
                help="List what there is: omnigraph commit list, or g.commits.list().",
                details={"manifest_version": version},
            )
        return open_manifest(self.logs, branch, version=version)
