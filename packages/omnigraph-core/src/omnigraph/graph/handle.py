"""``Graph``: what a user holds. Each method says what it does and hands it to the layer that does it.

A graph is safe to share between threads. It holds no locks and no open files; ``close`` lets go of connections, when
the calls that are under way in other threads have ended. Each verb is a call in the lifetime of the handle, so that one
that begins after the close is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Literal, Self

from omnigraph.cancellation import TimeLimit, patient
from omnigraph.engine.reader import QuerySource
from omnigraph.engine.stats import GraphStats, graph_stats
from omnigraph.engine.type_names import select_types
from omnigraph.graph.comparing import Comparing
from omnigraph.graph.reads import ReadVerbs
from omnigraph.graph.schema import Schema
from omnigraph.history.commits import Commit
from omnigraph.history.repository import Repository
from omnigraph.write.branches import Branches
from omnigraph.write.branching import ensure_branch
from omnigraph.write.bulk import BulkAttempt, BulkPublish, BulkReceipt, BulkTicket, make_ticket, publish_receipts
from omnigraph.write.bulk.leases import leased
from omnigraph.write.load import LoadProgress, LoadRequest, LoadResult, load, parse_mode
from omnigraph.write.maintenance import Maintenance
from omnigraph.write.mutate import MutationRequest, MutationResult, OnConflict, mutate
from omnigraph.write.names import check_name
from omnigraph.write.opening import open_repository
from omnigraph.write.records import LoadInput
from omnigraph.write.recovery.listing import Recoveries
from omnigraph.write.recovery.sweep import heal
from omnigraph.write.row_merging import BulkMerger
from omnigraph.write.tags import Tags
from omnigraph.write.tail import TailMaintenance
from omnigraph.write.validation.row_sets import BulkJudge


class Graph(ReadVerbs, Comparing):
    """One open graph. It pickles as its place, its options and its mode, so mind who reads that.

    Attributes:
        actor: who writes through this handle; kept with each commit.
    """

    def __init__(self, repository: Repository, *, actor: str | None = None) -> None:
        super().__init__(repository)
        self._tail = TailMaintenance(repository, is_on=self._reader.settings.folds_tails and self.mode == "rw")
        self.actor = actor

    def __repr__(self) -> str:
        return f"<Graph {self.uri} mode={self.mode!r}>"

    def __enter__(self) -> Self:
        self._lifetime.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        self._lifetime.check_open()
        return Graph._reopen, (self.uri, self.mode, self.actor, dict(self._repository.adapter.options))

    @classmethod
    def _reopen(cls, uri: str, mode: Literal["r", "rw"], actor: str | None, options: dict[str, Any]) -> Graph:
        return cls(open_repository(uri, mode=mode, options=options), actor=actor)

    @property
    def uri(self) -> str:
        """Where the graph is, without credentials."""
        return str(self._repository.adapter.root)

    @property
    def mode(self) -> Literal["r", "rw"]:
        return "r" if self._repository.adapter.is_read_only else "rw"

    @property
    def schema(self) -> Schema:
        """The schema of main, as it was when this handle last looked."""
        with self._lifetime:
            return Schema(self._repository.snapshot(self._repository.known()).schema, self._lifetime)

    @property
    def branches(self) -> Branches:
        """The branches of the graph: make, list, delete and merge them."""
        self._lifetime.check()
        return Branches(self._repository, actor=self.actor, settings=self._reader.settings)

    @property
    def tags(self) -> Tags:
        """Names of commits that are to stay."""
        self._lifetime.check()
        return Tags(self._repository, actor=self.actor)

    @property
    def recoveries(self) -> Recoveries:
        """Writes that were cut off, and what was done about them."""
        self._lifetime.check()
        return Recoveries(self._repository)

    @property
    def maintain(self) -> Maintenance:
        """What changes how the graph is stored, and never what is in it."""
        self._lifetime.check()
        self._repository.check_writable()
        return Maintenance(self._repository, actor=self.actor)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────

    def load(
        self,
        data: LoadInput,
        mode: str,
        *,
        branch: str = "main",
        base: str | None = None,
        actor: str | None = None,
        load_id: str | None = None,
        progress: Callable[[LoadProgress], None] | None = None,
        deadline: float | None = None,
    ) -> LoadResult:
        """Load records as one commit: all of them, or none.

        Args:
            data: a path of a JSONL file, JSONL text or bytes, a file, an iterable of dicts of the same form, or Arrow
                data by type: ``{"Film": table}``.
            mode: ``append``: ids must be new. ``merge``: rows of equal id are replaced whole. ``overwrite``: what is
                loaded is all there is of its types.
            branch: the branch to load to.
            base: make the branch from this one if it is missing; it stays when the load fails.
            actor: who loads, where it is not who opened the graph.
            load_id: names this load; repeating it under the same name does nothing. Its content is compared by a
                digest, for which the input is read again.
            progress: is called as the load goes on.
            deadline: seconds that the call may take; None is no bound. A call that has announced its commit goes on to
                its end.

        Raises:
            InvalidInputError: records that are no rows of the schema, with file and line, up to 100 of each reason.
            LoadIdReusedError: a load of this name had other content.
            ConstraintError: rows that break a rule of the schema, told the same way.
            EmbeddingError: the embedder failed to make a vector that records leave out.
            HeadMovedError: the graph moved on while an overwrite was under way.
            NotFoundError: there is no such branch.
            DeadlineError: it took longer than ``deadline``; nothing was written.
        """
        with TimeLimit(deadline, "load"), self._writing():
            check_name(actor, "actor")
            check_name(load_id, "load id")
            request = LoadRequest(
                mode=parse_mode(mode),
                branch=branch,
                base_branch=base,
                branch_created=base is not None and ensure_branch(self._repository, branch, base),
                actor=actor or self.actor,
                load_id=load_id,
                progress=progress,
                deadline_seconds=self._reader.settings.write_deadline,
                max_held_bytes=self._reader.settings.max_held_bytes,
            )
            return load(self._repository, data, request)

    def mutate(
        self,
        source: QuerySource,
        name: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        branch: str = "main",
        actor: str | None = None,
        if_commit: str | Commit | None = None,
        on_conflict: OnConflict = "fail",
        deadline: float | None = None,
    ) -> MutationResult:
        """Insert, update or delete, as one commit; none when nothing matched.

        Args:
            source: the text of a mutation, or the path of a ``.gq`` file.
            name: which query, when there are several.
            params: values by name, without ``$``.
            branch: the branch to change.
            actor: who does it, where it is not who opened the graph.
            if_commit: do it only if this is the newest commit of the branch; maintenance after it does not count.
            on_conflict: when others change what an update or delete is about while it is under way: ``fail`` with a
                conflict, or ``retry`` on the state as it is then. Inserts are always tried again.
            deadline: seconds that the call may take; None is no bound. A call that has announced its commit goes on to
                its end.

        Raises:
            CompileError: the mutation is wrong; every mistake is told, with its place.
            InvalidInputError: a value is wrong, or the query is a read.
            ConstraintError: the graph would break a rule of the schema.
            ConflictError: others changed what it is about, ``if_commit`` is not the newest commit, or the deadline
                passed.
            NotFoundError: there is no such branch.
            DeadlineError: it took longer than ``deadline``; nothing was written.
        """
        with TimeLimit(deadline, "mutation"), self._writing():
            check_name(actor, "actor")
            request = MutationRequest(
                name=name,
                params=params,
                branch=branch,
                actor=actor or self.actor,
                if_commit=if_commit.id if isinstance(if_commit, Commit) else if_commit,
                on_conflict=on_conflict,
            )
            return mutate(self._repository, self._reader, source, request)

    def bulk(
        self, types: Sequence[str] | None = None, *, branch: str = "main", load_id: str | None = None
    ) -> BulkTicket:
        """A ticket by which other processes write rows of these types, by default of all; see ``bulk_publish``."""
        with self._writing():
            check_name(load_id, "load id")
            declared = self._repository.snapshot(self._repository.newest(branch)).schema.tables
            return make_ticket(self._repository, select_types(declared, types), branch=branch, load_id=load_id)

    def bulk_lease(self, ticket: BulkTicket) -> AbstractContextManager[None]:
        """Say during a block that a load writes files by this ticket, so that nobody takes them for litter.

        A load that takes minutes should hold one from before its first file until it is published; see
        ``recoveries.loads``.
        """
        with self._writing():
            return leased(self._repository, ticket)

    def bulk_publish(
        self,
        receipts: Sequence[BulkAttempt | BulkReceipt | str],
        mode: str = "append",
        *,
        branch: str = "main",
        actor: str | None = None,
        load_id: str | None = None,
        content_digest: str | None = None,
        judge: BulkJudge | None = None,
        merger: BulkMerger | None = None,
        locate: Callable[[BulkReceipt, int], tuple[str | None, int | None]] | None = None,
        progress: Callable[[LoadProgress], None] | None = None,
    ) -> LoadResult:
        """Publish what tickets of one load wrote, as one commit.

        Args:
            receipts: what ``write`` and ``attempt`` of the ticket gave, or their JSON.
            mode: as in ``load``.
            branch: the branch of the ticket.
            actor: who loads, where it is not who opened the graph.
            load_id: that of the ticket; needed when there are no receipts.
            content_digest: the caller's own digest of what was loaded, kept with the commit and compared with that of
                an earlier load of this name. Without it nothing is compared: a load of a name that is there already
                does nothing, whatever it holds.
            judge: answers questions about more rows than this process should read; by default it reads them.
            merger: finds and marks what more rows replace than this process should match; by default it does.
            locate: from a receipt and the ordinal of a row in it to the source and line of that row, for messages.
            progress: is called as it goes on.

        Raises:
            InvalidInputError, ConstraintError, HeadMovedError, LoadIdReusedError, NotFoundError: as ``load``.
        """
        with self._writing():
            check_name(actor, "actor")
            check_name(load_id, "load id")
            check_name(content_digest, "content digest")
            request = LoadRequest(
                mode=parse_mode(mode),
                branch=branch,
                actor=actor or self.actor,
                load_id=load_id,
                content_digest=content_digest,
                progress=progress,
                deadline_seconds=self._reader.settings.write_deadline,
                max_held_bytes=self._reader.settings.max_held_bytes,
            )
            given = BulkPublish(attempts=receipts, judge=judge, locate=locate, merger=merger)
            return publish_receipts(self._repository, given, request)

    def stats(self, branch: str = "main") -> GraphStats:
        """What this handle was asked for and keeps in memory, and how far the indexes of a branch reach."""
        with self._lifetime:
            seen = self._repository.snapshot_of(branch)
            return graph_stats(self._reader, self._repository.tables, seen, self._tail.stats)

    def refresh(self) -> Commit:
        """Look at the graph as it is now; the newest commit of main.

        A handle for writing finishes writes that were cut off when all of them was done but the last step.
        """
        with patient(), self._lifetime:
            self._repository.forget()
            if self.mode == "rw":
                heal(self._repository)
            return self._repository.newest().state.head

    def close(self) -> None:
        """Let go of connections, and give memory that was kept back to the system; a second time does nothing.

        Calls that are under way in other threads go on to their ends, and the last of them lets go; so does maintenance
        in the background. Whatever is asked of this handle from now on, or of what it gave out to ask, is a
        ``ClosedError``; snapshots and results stay.
        """
        self._lifetime.close(self._release)

    def _release(self) -> None:
        self._tail.close()
        self._reader.close()
        self._repository.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A call that changes the graph.

        Raises:
            ClosedError: the handle was closed.
            ReadOnlyError: it was opened for reading.
        """
        with patient(), self._lifetime:
            self._repository.check_writable()
            heal(self._repository)
            yield
