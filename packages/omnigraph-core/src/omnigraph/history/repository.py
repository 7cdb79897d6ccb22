"""``Repository``: one graph at one place, and what this process remembers of it.

It gives logs and snapshots of branches. Everything it remembers is immutable and named by a version or a digest, so
forgetting costs requests and never correctness. Safe to share between threads.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Final

from omnigraph.config import Settings
from omnigraph.errors import (
    BranchReplacedError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.branches import (
    MAIN,
    BranchRef,
    is_of_one_branch,
    list_branch_names,
    refuse_other_graph,
    resolve_branch,
    tell_if_gone,
)
from omnigraph.history.commits import Commit
from omnigraph.history.heartbeats import Heart, Observer
from omnigraph.history.lifetime import Lifetime
from omnigraph.history.log import ManifestLog, Manifests, move_damage_away, open_manifest
from omnigraph.history.lost_version import find_lost_version, lost_version_error, rolled_back_error
from omnigraph.history.recoveries import Recovery
from omnigraph.history.ref_names import looks_like_commit_id
from omnigraph.history.rivals import Rivals
from omnigraph.history.schemas import GraphSchema, read_schema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.tags import read_tag
from omnigraph.history.warm import WarmColumns
from omnigraph.storage import StorageAdapter
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.tables.log import LogStore
from omnigraph.tables.native_memory import give_back

SnapshotLike = Snapshot | Commit | str | int
"""What names a moment: a snapshot, a commit or its id, a branch or a tag by name, or a version of the manifest."""

_MOMENTS: Final = "Give a snapshot, a commit or its id, the name of a tag or branch, or a version of the manifest."

MAX_REMEMBERED: Final = 256
"""Of so many branches the newest known log is kept."""

MAX_SCHEMAS: Final = 64
"""So many schemas are kept; each migration makes another one."""

_log: Final = logging.getLogger(__name__)


class Repository:
    """A graph's control objects, tables and manifest, with the newest known log of each branch.

    Attributes:
        main: the branch that the graph began with. It is the same as long as the graph lives, and tells the graph from
            a later one at the same place.
        on_published: is told of each commit that this process made, when it is durable: its log, and the versions that
            it was built on, of the types that it changed, by table key.
        lifetime: of the handle that all of it belongs to; the verbs of users are calls in it.
        settled: what was done about cut-off writes when it was opened for writing.
    """

    def __init__(self, adapter: StorageAdapter, main: BranchRef, tables: TableStorage, logs: LogStore) -> None:
        self.adapter = adapter
        self.main = main
        self.tables = tables
        self.logs = logs
        self.warm = WarmColumns()
        self.rivals = Rivals()
        self.heart = Heart(adapter)
        self.observer = Observer(adapter, patience=Settings.from_environment().recovery_patience)
        self.on_published: Callable[[ManifestLog, Mapping[str, TablePin]], None] | None = None
        self.lifetime = Lifetime(str(adapter.root), on_failure=lambda error: tell_if_gone(error, self.refuse_replaced))
        self.settled: tuple[Recovery, ...] = ()
        # Files that a late write of this process put where the graph was must not pass for it.
        self._is_gone = False
        self._lock = threading.Lock()
        self._newest: OrderedDict[str, ManifestLog] = OrderedDict()
        # Lines whose newest version was seen to be deleted.
        self._rolled_back: set[str] = set()
        self._schemas: OrderedDict[str, GraphSchema] = OrderedDict()

    @property
    def manifests(self) -> Manifests:
        """The lines of this graph's manifest."""
        return Manifests(self.logs, self.main)

    def resolve(self, branch: str) -> BranchRef:
        """The branch of this name; ``main`` costs no request, because it is the same as long as the graph lives.

        Raises:
            InvalidInputError, NotFoundError, FormatError: as ``resolve_branch``.
            BranchReplacedError: the graph was removed and made anew.
        """
        if branch == MAIN and not self._is_gone:
            return self.main
        return self.look_up(branch)

    def look_up(self, branch: str) -> BranchRef:
        """The branch of this name as its object says now, main too; one request. Raises as ``resolve``."""
        if branch == MAIN:
            return self._look_up_main()
        found = resolve_branch(self.adapter, branch)
        if found.root != self.main.physical:
            self._look_up_main()
            raise FormatError(
                f"The object of branch {branch} names a line of another graph.",
                help=f"Delete the branch: omnigraph branch delete {self.adapter.root} {branch}. "
                "Or restore its object from a copy of the graph.",
                details={"branch": branch, "expected": self.main.physical, "found": found.root},
            )
        return found

    def newest(self, branch: str = MAIN) -> ManifestLog:
        """The newest log of a branch: one request when nothing moved, four when something did, also beside main.

        Raises:
            NotFoundError: there is no such branch, or the graph was removed.
            BranchReplacedError: the graph was removed and made anew.
        """
        return self.newest_of(self.resolve(branch))

    def newest_of(self, branch: BranchRef) -> ManifestLog:
        """The newest log on the line of a branch, whether the branch still exists or not. Raises as ``open_newest``."""
        known = self._remembered(branch)
        if known is not None and self.is_newest(known):
            return known
        newest = self.open_newest(branch)
        if known is not None and branch.is_main and newest.version > known.version:
            # The swap of a writer that slept makes a version also where the line of a removed graph was.
            self.refuse_replaced()
        is_new = branch.incarnation not in self._rolled_back
        if is_new and known is not None and newest.version < known.version:
            self._rolled_back.add(branch.incarnation)
            error = rolled_back_error(known, newest)
            _log.warning("%s %s", error.message, error.help)
        return self.remember(newest)

    def is_newest(self, log: ManifestLog) -> bool:
        """Whether nothing was published after a log; one request.

        Raises:
            NotFoundError: the graph was removed, or the line of the branch.
            BranchReplacedError: the graph was removed and made anew.
        """
        try:
            return log.is_newest()
        except StorageError as error:
            if error.condition is not StorageCondition.NOT_FOUND:
                raise
            self.refuse_replaced()
            raise _line_is_gone(self.adapter, log.branch) from error

    def refuse_replaced(self) -> None:
        """Raise when the graph is not the one that was opened: one request, for the caller that misses its files.

        Raises:
            NotFoundError: the graph was removed.
            BranchReplacedError: it was removed and made anew.
        """
        self._look_up_main()

    def _look_up_main(self) -> BranchRef:
        try:
            found = refuse_other_graph(self.adapter, self.main.incarnation)
        except (NotFoundError, BranchReplacedError):
            self._is_gone = True
            raise
        self._is_gone = False
        return found

    def known(self, branch: str = MAIN) -> ManifestLog:
        """A log of a branch that may be out of date, without a request where one is remembered.

        Right for a writer: what it builds on an old log loses its compare-and-swap.
        """
        ref = self.resolve(branch)
        known = self._remembered(ref)
        return known if known is not None else self.remember(self.open_newest(ref))

    def open_newest(self, branch: BranchRef) -> ManifestLog:
        """The newest log on the line of a branch, whatever is remembered; what a loss of power damaged is no version.

        It is looked at for a deleted newest version where this process has not read the branch yet.

        Raises:
            NotFoundError: there is no such line, or the graph was removed.
            BranchReplacedError: the graph was removed and made anew.
            FormatError: it is damaged, and this may not write, or it cannot be helped.
            StorageError: the store did not answer.
        """
        newest = self._open_newest(branch)
        if self._remembered(branch) is None:
            self.look_for_lost_version(newest)
        return newest

    def _open_newest(self, branch: BranchRef) -> ManifestLog:
        try:
            return open_manifest(self.manifests, branch)
        except NotFoundError:
            self.refuse_replaced()
            raise
        except StorageError as error:
            move_damage_away(self.manifests, branch, error)
        # The caches of the session may hold what is gone.
        self.logs = LogStore(self.adapter)
        return open_manifest(self.manifests, branch)

    def look_for_lost_version(self, newest: ManifestLog, *, for_writing: bool = False) -> None:
        """Warn where the newest version of a branch was deleted, and remember it for writers.

        Raises:
            FormatError: for writing, where it is proved.
        """
        lost = find_lost_version(self.manifests, newest)
        if lost is None:
            return
        error = lost_version_error(lost, newest)
        if lost.is_proved and for_writing:
            raise error
        if lost.is_proved:
            self._rolled_back.add(newest.branch.incarnation)
        _log.warning("%s %s", error.message, error.help)

    def refuse_lost_version(self, log: ManifestLog) -> None:
        """Raise before a write where the newest version of its branch was seen to be deleted, and still is.

        Raises:
            FormatError: the next commit would take its number.
        """
        if log.branch.incarnation not in self._rolled_back:
            return
        newest = self._open_newest(log.branch)
        self.look_for_lost_version(newest, for_writing=True)
        known = self.newest_known(log)
        if newest.version < known.version:
            raise rolled_back_error(known, newest)
        self._rolled_back.discard(log.branch.incarnation)

    def newest_known(self, log: ManifestLog) -> ManifestLog:
        """The newest log that is remembered of the same branch, or this one; no request."""
        known = self._remembered(log.branch)
        return known if known is not None and known.version > log.version else log

    def remember(self, log: ManifestLog) -> ManifestLog:
        """Keep a log for later unless a newer one of its branch is kept already; of branches long unused none is."""
        with self._lock:
            kept = self._newest.get(log.branch.incarnation)
            if kept is None or log.version > kept.version:
                self._newest[log.branch.incarnation] = log
            if len(self._newest) > MAX_REMEMBERED:
                del self._newest[next(each for each in self._newest if each != self.main.incarnation)]
        return log

    def _remembered(self, branch: BranchRef) -> ManifestLog | None:
        with self._lock:
            found = self._newest.get(branch.incarnation)
            if found is not None:
                self._newest.move_to_end(branch.incarnation)
            return found

    def forget_branch(self, ref: BranchRef) -> None:
        """Let go of a branch that is gone, and of its versions of tables but those that another branch shows."""
        with self._lock:
            self._newest.pop(ref.incarnation, None)
            self._rolled_back.discard(ref.incarnation)
            shown = {entry.pin for log in self._newest.values() for entry in log.state.entries.values()}
        self.rivals.forget(ref.incarnation)

        def is_unused(pin: TablePin) -> bool:
            return ref.owns(pin) and pin not in shown

        self.tables.forget(is_unused)
        self.warm.forget(is_unused)

    def close(self) -> None:
        """Let go of everything that is remembered, of connections, and of the memory that native code took."""
        self.heart.close()
        self.forget()
        self.warm.clear()
        self._schemas.clear()
        self.tables.close()
        self.logs = LogStore(self.adapter)
        give_back()
        self.adapter.close()

    def check_writable(self) -> None:
        """Refuse a change of a graph that was opened for reading.

        Raises:
            ReadOnlyError: it was.
        """
        if self.adapter.is_read_only:
            uri = str(self.adapter.root)
            raise ReadOnlyError(f"{uri} was opened for reading.", uri=uri, help='Open it with mode="rw" to change it.')

    def forget(self) -> None:
        """Let the next read look for itself."""
        with self._lock:
            self._newest.clear()

    def schema(self, digest: str) -> GraphSchema:
        """The schema of a state; read once."""
        with self._lock:
            found = self._schemas.get(digest)
            if found is not None:
                self._schemas.move_to_end(digest)
                return found
        found = read_schema(self.adapter, digest)
        self.adopt_schemas({digest: found})
        return found

    @property
    def graph_id(self) -> str:
        """What tells this graph from every other one, as long as it lives."""
        return self.schema(self.known().state.schema_digest).ir.domain

    def adopt_schemas(self, schemas: Mapping[str, GraphSchema]) -> None:
        """Take over schemas that are known already, by digest."""
        with self._lock:
            self._schemas.update(schemas)
            while len(self._schemas) > MAX_SCHEMAS:
                self._schemas.popitem(last=False)

    def snapshot(self, log: ManifestLog) -> Snapshot:
        """The snapshot that a log shows."""
        return Snapshot(branch=log.branch, state=log.state, schema=self.schema(log.state.schema_digest))

    def log_of(self, branch: str = MAIN, at: SnapshotLike | None = None) -> ManifestLog:
        """A branch as it is now, or as it was at a moment, as a log. Raises as ``snapshot_of``."""
        if at is None:
            return self.newest(branch)
        if isinstance(at, Snapshot):
            self._refuse_foreign(at)
            return self.at_version(at.branch, at.state.version)
        if isinstance(at, Commit):
            return self.at_commit(at)
        if isinstance(at, int) and not isinstance(at, bool):
            return self._at_number(self.resolve(branch), at)
        if not isinstance(at, str):
            raise InvalidInputError(f"{at!r} names no moment.", help=_MOMENTS)
        return self.at_commit(self.find_commit(at, branch)) if looks_like_commit_id(at) else self._named(at)

    def _named(self, name: str) -> ManifestLog:
        """The newest log of a branch, or the one of a tag."""
        # What cannot be a name is not there either.
        with suppress(NotFoundError, InvalidInputError):
            return self.newest(name)
        try:
            tag = read_tag(self.adapter, name)
        except (NotFoundError, InvalidInputError) as error:
            raise NotFoundError(
                f'There is no commit, branch or tag "{name}".',
                help="List what there is: omnigraph commit list, omnigraph branch list, omnigraph tag list.",
                details={"name": name},
            ) from error
        return self.at_version(BranchRef.of_line(name, tag.line), tag.manifest_version)

    def _at_number(self, branch: BranchRef, version: int) -> ManifestLog:
        """A version in the history of a branch; those from before its own line are on the lines that it came from."""
        try:
            return self.at_version(branch, version)
        except NotFoundError:
            history = () if branch.is_main else self.newest_of(branch).commits()
            inherited = next((each for each in history if each.manifest_version == version), None)
            if inherited is None or inherited.line == branch.physical:
                raise
            return self.at_commit(inherited)

    def snapshot_of(self, branch: str = MAIN, at: SnapshotLike | None = None) -> Snapshot:
        """A branch as it is now, or as it was at a moment.

        Raises:
            NotFoundError: there is no such branch, commit or version, or its version was reclaimed.
            InvalidInputError: a snapshot of another graph.
        """
        if isinstance(at, Snapshot):
            self._refuse_foreign(at)
            return at
        return self.snapshot(self.log_of(branch, at))

    def at_commit(self, commit: Commit) -> ManifestLog:
        """The log whose head is this commit, on whatever line it was made; the branch may be gone.

        Raises:
            NotFoundError: its version was reclaimed.
        """
        log = self.at_version(BranchRef.of_line(commit.branch, commit.line), commit.manifest_version)
        if log.state.head.id != commit.id:
            raise NotFoundError(
                f"Version {commit.manifest_version} of {commit.branch} is not commit {commit.id}.",
                help="List what there is: omnigraph commit list, or g.commits.list().",
                details={"commit_id": commit.id, "branch": commit.branch},
            )
        return log

    def _refuse_foreign(self, snapshot: Snapshot) -> None:
        """Raise when a snapshot is of another graph: its pins may name tables of this one, by chance."""
        if snapshot.schema.ir.domain != self.graph_id:
            raise InvalidInputError(
                f"This snapshot is of another graph than {self.adapter.root}, at commit {snapshot.commit.id}.",
                help="Take it from the graph that you read: g.snapshot(at=...).",
                details={"commit_id": snapshot.commit.id},
            )

    def find_commit(self, commit_id: str, branch: str = MAIN) -> Commit:
        """The commit of this id, also of a branch that was deleted.

        Raises:
            NotFoundError: there is none.
            FormatError: it was not found, and a branch that may have it is damaged.
            StorageError: so too, or the store did not answer.
        """
        with self._lock:
            remembered = tuple(self._newest.values())
        found = next((each for log in remembered for each in log.state.recent if each.id == commit_id), None)
        unread: list[FormatError | StorageError] = []
        for log in () if found else self._logs(branch, unread):
            found = log.find_commit(commit_id)
            if found is not None:
                break
        if found is None and unread:
            raise unread[0]
        if found is None:
            raise NotFoundError(
                f'There is no commit "{commit_id}".',
                help="List what there is: omnigraph commit list, or g.commits.list().",
                details={"commit_id": commit_id},
            )
        return found

    def _logs(self, first: str, unread: list[FormatError | StorageError]) -> Iterator[ManifestLog]:
        """The newest log of every branch, this one first and main next; then those of lines that no branch has.

        What keeps a branch from being read is added to ``unread``.
        """
        seen: set[str] = set()
        for name in dict.fromkeys((first, MAIN, *list_branch_names(self.adapter))):
            try:
                log = self.newest(name)
            except NotFoundError:
                # It was deleted meanwhile.
                if name == first:
                    raise
                continue
            except (FormatError, StorageError) as error:
                if not is_of_one_branch(error):
                    raise
                unread.append(error)
                continue
            seen.add(log.branch.physical)
            yield log
        yield from self.logs_of_nobody(seen)

    def logs_of_nobody(self, lines_of_branches: Collection[str]) -> Iterator[ManifestLog]:
        """The newest log of every other line of the manifest: of branches that were deleted."""
        for line in self.known().table.lines():
            if line not in lines_of_branches:
                try:
                    yield self.open_newest(BranchRef.of_line(line, line))
                except (NotFoundError, FormatError):
                    # It was reclaimed meanwhile, or nothing of it was ever durable.
                    continue

    def at_version(self, branch: BranchRef, version: int) -> ManifestLog:
        """A version of the line of a branch, whether the branch still exists or not.

        Raises:
            NotFoundError: there is no such version.
        """
        known = self._remembered(branch)
        if known is not None and known.version == version:
            return known
        if not 0 < version < 2**63:
            raise NotFoundError(
                f"{self.adapter.root} has no manifest version {version}: they count from 1.",
                help="List what there is: omnigraph commit list, or g.commits.list().",
                details={"manifest_version": version},
            )
        return open_manifest(self.manifests, branch, version=version)


def _line_is_gone(adapter: StorageAdapter, branch: BranchRef) -> NotFoundError:
    return NotFoundError(
        f"{adapter.root} has no manifest of {branch.name} any more: its files were removed.",
        help="List what there is: omnigraph branch list. Else restore it from a copy.",
        details={"uri": str(adapter.root), "branch": branch.name},
    )
