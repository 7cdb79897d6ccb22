"""``AsyncGraph``: a ``Graph`` whose verbs are awaited. What they do is said there; here is how they are waited for."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from omnigraph.aio.calls import CallThreads
from omnigraph.aio.changes import AsyncChanges
from omnigraph.aio.comparing import AsyncDiff
from omnigraph.aio.history import AsyncBranches, AsyncCommits, AsyncTags
from omnigraph.history.lifetime import Lifetime
from omnigraph.tables.processes import is_copy

if TYPE_CHECKING:
    from omnigraph.engine.budget import QueryBudget
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.reader import QuerySource
    from omnigraph.engine.result import Result
    from omnigraph.engine.stats import GraphStats
    from omnigraph.engine.type_scan import TypeScan
    from omnigraph.graph import Graph
    from omnigraph.history.commits import Commit
    from omnigraph.history.recoveries import Recovery
    from omnigraph.history.repository import SnapshotLike
    from omnigraph.history.snapshot import Snapshot
    from omnigraph.write.bulk import BulkAttempt, BulkReceipt, BulkTicket
    from omnigraph.write.bulk.leases import LoadLease
    from omnigraph.write.indices import IndexReport
    from omnigraph.write.load import LoadProgress, LoadResult
    from omnigraph.write.mutate import MutationResult, OnConflict
    from omnigraph.write.records import LoadInput
    from omnigraph.write.recovery.listing import PendingWrite
    from omnigraph.write.relocation import RepairReport
    from omnigraph.write.row_merging import BulkMerger
    from omnigraph.write.validation.row_sets import BulkJudge

T = TypeVar("T")

EXPORTED_LINES: Final = 1_000
"""How many lines of an export are fetched at a time."""


class Ask(Protocol):
    """Makes a call on the graph in a thread of its own."""

    def __call__(self, call: Callable[[Graph], T], /) -> Awaitable[T]: ...


class AsyncGraph:
    """One open graph; get one by ``aio.open`` or ``aio.init``. Tasks and event loops may share it.

    Every verb takes and gives what that of ``Graph`` does, and raises the same. Data that a load iterates over and
    ``progress`` are used in the thread of the call.
    """

    def __init__(self, graph: Graph, threads: CallThreads) -> None:
        self._graph = graph
        self._threads = threads
        self._lifetime = Lifetime(graph.uri)

    def __repr__(self) -> str:
        return f"<AsyncGraph {self.uri} mode={self.mode!r}>"

    async def __aenter__(self) -> Self:
        self._lifetime.check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def uri(self) -> str:
        """Where the graph is, without credentials."""
        return self._graph.uri

    @property
    def mode(self) -> Literal["r", "rw"]:
        return self._graph.mode

    @property
    def actor(self) -> str | None:
        """Who writes through this handle; kept with each commit."""
        return self._graph.actor

    @property
    def schema(self) -> AsyncSchema:
        """The schema of main, as it was when this handle last looked."""
        return AsyncSchema(self._ask)

    @property
    def branches(self) -> AsyncBranches:
        """The branches of the graph."""
        return AsyncBranches(self._ask)

    @property
    def tags(self) -> AsyncTags:
        """Names of commits that are to stay."""
        return AsyncTags(self._ask)

    @property
    def commits(self) -> AsyncCommits:
        """The history of the graph."""
        return AsyncCommits(self._ask)

    @property
    def changes(self) -> AsyncChanges:
        """What happened to the graph, commit by commit; ``await g.changes(...)`` gives a page."""
        return AsyncChanges(self._ask, self._lines)

    @property
    def recoveries(self) -> AsyncRecoveries:
        """Writes that were cut off, and what was done about them."""
        return AsyncRecoveries(self._ask)

    @property
    def maintain(self) -> AsyncMaintenance:
        """What changes how the graph is stored, and never what is in it."""
        return AsyncMaintenance(self._ask)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────

    async def load(
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
        """As ``Graph.load``."""
        return await self._ask(
            lambda g: g.load(
                data,
                mode,
                branch=branch,
                base=base,
                actor=actor,
                load_id=load_id,
                progress=progress,
                deadline=deadline,
            )
        )

    async def mutate(
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
        """As ``Graph.mutate``."""
        return await self._ask(
            lambda g: g.mutate(
                source,
                name,
                params=params,
                branch=branch,
                actor=actor,
                if_commit=if_commit,
                on_conflict=on_conflict,
                deadline=deadline,
            )
        )

    async def bulk(
        self, types: Sequence[str] | None = None, *, branch: str = "main", load_id: str | None = None
    ) -> BulkTicket:
        """As ``Graph.bulk``."""
        return await self._ask(lambda g: g.bulk(types, branch=branch, load_id=load_id))

    async def bulk_publish(
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
        """As ``Graph.bulk_publish``; what it calls back is called in another thread."""
        return await self._ask(
            lambda g: g.bulk_publish(
                receipts,
                mode,
                branch=branch,
                actor=actor,
                load_id=load_id,
                content_digest=content_digest,
                judge=judge,
                merger=merger,
                locate=locate,
                progress=progress,
            )
        )

    @asynccontextmanager
    async def bulk_lease(self, ticket: BulkTicket) -> AsyncIterator[None]:
        """As ``Graph.bulk_lease``."""
        lease = await self._ask(lambda g: g.bulk_lease(ticket))
        await self._ask(lambda _: lease.__enter__())
        try:
            yield
        finally:
            await self._ask(lambda _: lease.__exit__(None, None, None))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    async def snapshot(self, branch: str = "main", *, at: SnapshotLike | None = None) -> Snapshot:
        """As ``Graph.snapshot``."""
        return await self._ask(lambda g: g.snapshot(branch, at=at))

    async def query(
        self,
        source: QuerySource,
        name: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        snapshot: SnapshotLike | None = None,
        budget: QueryBudget | None = None,
    ) -> Result:
        """As ``Graph.query``."""
        return await self._ask(
            lambda g: g.query(source, name, params=params, branch=branch, snapshot=snapshot, budget=budget)
        )

    async def explain(
        self,
        source: QuerySource,
        name: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        snapshot: SnapshotLike | None = None,
        budget: QueryBudget | None = None,
        analyze: bool = False,
    ) -> Explanation:
        """As ``Graph.explain``."""
        return await self._ask(
            lambda g: g.explain(
                source, name, params=params, branch=branch, snapshot=snapshot, budget=budget, analyze=analyze
            )
        )

    async def stats(self, branch: str = "main") -> GraphStats:
        """As ``Graph.stats``."""
        return await self._ask(lambda g: g.stats(branch))

    async def table(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
    ) -> Result:
        """As ``Graph.table``."""
        return await self._ask(lambda g: g.table(type_name, columns, branch=branch, snapshot=snapshot))

    async def scan(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
    ) -> TypeScan:
        """As ``Graph.scan``."""
        return await self._ask(lambda g: g.scan(type_name, columns, branch=branch, snapshot=snapshot))

    async def scans(
        self, types: Sequence[str] | None = None, *, branch: str = "main", snapshot: SnapshotLike | None = None
    ) -> tuple[TypeScan, ...]:
        """As ``Graph.scans``."""
        return await self._ask(lambda g: g.scans(types, branch=branch, snapshot=snapshot))

    async def export(
        self,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
        types: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> AsyncIterator[str]:
        """As ``Graph.export``, for ``async for``; what is wrong is told with the first line."""
        async for line in self._lines(
            lambda g: g.export(branch=branch, snapshot=snapshot, types=types, deadline=deadline)
        ):
            yield line

    async def _lines(self, begin: Callable[[Graph], Iterator[str]]) -> AsyncIterator[str]:
        lines = await self._ask(begin)
        while fetched := await self._ask(lambda _: [*islice(lines, EXPORTED_LINES)]):
            for line in fetched:
                self._lifetime.check()
                yield line

    async def diff(
        self,
        a: SnapshotLike,
        b: SnapshotLike,
        *,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> AsyncDiff:
        """As ``Graph.diff``; what it gives is read by ``async for`` and by awaiting its members."""
        found = await self._ask(lambda g: g.diff(a, b, kinds=kinds, types=types, ops=ops, deadline=deadline))
        return AsyncDiff(found, self._ask)

    async def entity_at(self, type_name: str, id: str, at: SnapshotLike) -> dict[str, Any] | None:  # noqa: A002
        """As ``Graph.entity_at``."""
        return await self._ask(lambda g: g.entity_at(type_name, id, at))

    async def refresh(self) -> Commit:
        """As ``Graph.refresh``."""
        return await self._ask(lambda g: g.refresh())

    async def close(self) -> None:
        """Wait for the calls that were begun, then close the graph; whatever is asked from now on is refused."""
        self._lifetime.close(lambda: None)
        # A forked child has none of the threads, and what they left cannot be waited for.
        if not is_copy():
            await self._threads.close(self._graph.close)

    async def _ask(self, call: Callable[[Graph], T]) -> T:
        self._lifetime.check()
        return await self._threads.run(lambda: call(self._graph))


class AsyncSchema:
    """The schema of an open graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def text(self) -> str:
        """As ``Schema.text``."""
        return await self._ask(lambda g: g.schema.text)

    async def digest(self) -> str:
        """As ``Schema.digest``."""
        return await self._ask(lambda g: g.schema.digest)


class AsyncRecoveries:
    """The recoveries of a graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def list(self, *, commit: str | None = None) -> builtins.list[Recovery]:
        """As ``Recoveries.list``."""
        return await self._ask(lambda g: g.recoveries.list(commit=commit))

    async def pending(self) -> builtins.list[PendingWrite]:
        """As ``Recoveries.pending``."""
        return await self._ask(lambda g: g.recoveries.pending())

    async def loads(self) -> builtins.list[LoadLease]:
        """As ``Recoveries.loads``."""
        return await self._ask(lambda g: g.recoveries.loads())

    async def settled(self) -> builtins.list[Recovery]:
        """As ``Recoveries.settled``."""
        return await self._ask(lambda g: g.recoveries.settled())


class AsyncMaintenance:
    """Maintenance of one open graph."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def ensure_indices(self, branch: str = "main", *, deadline: float | None = None) -> IndexReport:
        """As ``Maintenance.ensure_indices``."""
        return await self._ask(lambda g: g.maintain.ensure_indices(branch, deadline=deadline))

    async def repair(self, *, relocate: bool = False, deadline: float | None = None) -> RepairReport:
        """As ``Maintenance.repair``."""
        return await self._ask(lambda g: g.maintain.repair(relocate=relocate, deadline=deadline))
