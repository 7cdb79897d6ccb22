"""``ReadVerbs``: the verbs of a graph that change nothing: each asks one snapshot, and says which.

``Graph`` has them, beside those that write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omnigraph.cancellation import TimeLimit
from omnigraph.engine.budget import QueryBudget
from omnigraph.engine.explanation import Explanation, make_explanation
from omnigraph.engine.export import export_parts
from omnigraph.engine.reader import QuerySource, Reader
from omnigraph.engine.result import Result
from omnigraph.engine.run import run_plan
from omnigraph.engine.type_names import check_columns, find_type, select_types
from omnigraph.engine.type_scan import TypeScan, make_scan
from omnigraph.graph.changes import Changes
from omnigraph.history.commit_listing import Commits
from omnigraph.history.lifetime import Lifetime
from omnigraph.history.repository import Repository, SnapshotLike
from omnigraph.history.snapshot import Snapshot


class ReadVerbs:
    """What can be asked of an open graph."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lifetime: Lifetime = repository.lifetime
        self._reader = Reader(repository.tables)

    @property
    def commits(self) -> Commits:
        """The history of the graph."""
        self._lifetime.check()
        return Commits(self._repository)

    @property
    def changes(self) -> Changes:
        """What happened to the graph, commit by commit, for those who follow it; ``g.changes(...)`` gives a page."""
        self._lifetime.check()
        return Changes(self._repository)

    def snapshot(self, branch: str = "main", *, at: SnapshotLike | None = None) -> Snapshot:
        """A branch as it is now, or as it was at a commit id or a manifest version; costs nothing to keep.

        Raises:
            NotFoundError: there is no such branch, commit or version.
        """
        with self._lifetime:
            return self._repository.snapshot_of(branch, at)

    def query(
        self,
        source: QuerySource,
        name: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        branch: str | None = None,
        snapshot: SnapshotLike | None = None,
        budget: QueryBudget | None = None,
    ) -> Result:
        """Run a read on one snapshot.

        Args:
            source: the text of a query, or the path of a ``.gq`` file.
            name: which query, when there are several.
            params: values by name, without ``$``.
            branch: the branch to read, as it is now; by default main.
            snapshot: a moment instead: a snapshot, the id of a commit or a version of the manifest.
            budget: what the query may use; by default what the environment says.

        Raises:
            CompileError: the query is wrong; every mistake is told, with its place.
            InvalidInputError: a parameter is wrong, or the query changes the graph.
            ResourceLimitError: it would use more rows, bytes or nodes per hop than the budget allows.
            DeadlineError: it took longer than the budget allows.
            NotFoundError: there is no such branch, commit or version.
        """
        with self._lifetime:
            return self._reader.query(
                source,
                name,
                params,
                find_snapshot=lambda: self._repository.snapshot_of(branch or "main", snapshot),
                budget=budget,
                is_named=snapshot is not None,
            )

    def explain(
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
        """How a read is run: its plan, what traversals go by and why, estimates and indexes.

        With ``analyze`` it is run, and each step tells its rows, time, bytes and requests. Parameters need values then,
        and wherever ``params`` are given: an empty mapping gives none of them. Raises as ``query``.
        """
        with self._lifetime:
            spending = self._reader.spending(budget)
            with spending.limit:
                seen = self._repository.snapshot_of(branch or "main", snapshot)
                prepared = self._reader.prepare(source, name, params, seen, is_run=analyze)
                execution = self._reader.execution(prepared, seen, spending, is_traced=analyze)
                row_count = run_plan(prepared.plan, execution).num_rows if analyze else None
                return make_explanation(
                    prepared.plan, execution, seen.schema.catalog, row_count=row_count, is_named=snapshot is not None
                )

    def table(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
    ) -> Result:
        """All rows of one type, in no order; ``node:Film`` and ``edge:Film`` tell types of one name apart.

        Raises:
            NotFoundError: there is no such type, branch, commit or version.
            InvalidInputError: the type has no such column.
        """
        with self._lifetime:
            seen = self._repository.snapshot_of(branch, snapshot)
            target = find_type(seen.schema.tables, type_name)
            if columns is not None:
                check_columns(target, columns)
            tables = self._repository.tables
            rows = tables.read(tables.open_at(seen.entry(target).pin), columns=columns)
            named = None if snapshot is None else seen.commit.id
            return Result(rows, branch=seen.branch.name, commit_id=seen.commit.id, snapshot=named)

    def scan(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
    ) -> TypeScan:
        """All rows of one type, to be read part by part and by other processes; no row is read now.

        Raises:
            NotFoundError: there is no such type, branch, commit or version.
            InvalidInputError: the type has no such column.
        """
        with self._lifetime:
            seen = self._repository.snapshot_of(branch, snapshot)
            return make_scan(self._repository, seen, find_type(seen.schema.tables, type_name), columns)

    def scans(
        self, types: Sequence[str] | None = None, *, branch: str = "main", snapshot: SnapshotLike | None = None
    ) -> tuple[TypeScan, ...]:
        """A scan of every type, or of some, all of one commit; in the order of ``export``, and with its names.

        Raises:
            NotFoundError: there is no such type, branch, commit or version.
        """
        with self._lifetime:
            seen = self._repository.snapshot_of(branch, snapshot)
            wanted = select_types(seen.schema.tables, types)
            return tuple(make_scan(self._repository, seen, target, None) for target in wanted)

    def export(
        self,
        *,
        branch: str = "main",
        snapshot: SnapshotLike | None = None,
        types: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Iterator[str]:
        """One branch as JSONL, line by line without the line ends, in an order that depends on content only.

        Rows are read as lines are asked for; after a close there are no more lines.

        Args:
            branch: the branch.
            snapshot: a moment instead: a snapshot, the id of a commit or a version of the manifest.
            types: names of types; by default all.
            deadline: seconds from this call to the last line, with what the caller does in between; None is no bound.

        Raises:
            NotFoundError: there is no such type, branch, commit or version.
            DeadlineError: it took longer than ``deadline``; raised while iterating too.
        """
        limit = TimeLimit(deadline, "export")
        with limit, self._lifetime:
            seen = self._repository.snapshot_of(branch, snapshot)
            parts = export_parts(seen, self._repository.tables, types=types)
        return self._lifetime.each_of(limit.each(parts))
