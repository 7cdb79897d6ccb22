"""``Reader``: what an open graph keeps for reading: plans by schema, decoded types, counters.

    text, parameters, snapshot ── plan (remembered) ── run ──> Result

One snapshot serves the whole of a query; nothing that is kept can be stale, because all of it is named by versions and
digests. Safe to share between threads.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.config import Settings
from omnigraph.embedding import Purpose
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.execution import Embed, Execution, Trace
from omnigraph.engine.memory import Memory
from omnigraph.engine.result import Result
from omnigraph.engine.run import run_plan
from omnigraph.engine.source import Source
from omnigraph.engine.spans import span
from omnigraph.errors import EmbeddingError, InvalidInputError, OmnigraphError
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.lang.decode import read_source
from omnigraph.lang.source import SourceText
from omnigraph.plan.compiler import Compiler
from omnigraph.plan.ir import Plan, ReadPlan
from omnigraph.plugins import embed_texts
from omnigraph.query.checked import ConstantValue, Nearest
from omnigraph.query.params import bind_parameters
from omnigraph.tables.interface import TableStorage

MAX_SCHEMAS: Final = 8
"""Of how many schemas plans are remembered; reads of the past may need an older one."""

_log: Final = logging.getLogger("omnigraph.query")

QuerySource = str | os.PathLike[str] | SourceText
"""The text of a query file, or its path; a text that ends in ``.gq`` is the name of one.

A ``SourceText`` is a text that brings the name by which messages call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A read and the values for it."""

    plan: ReadPlan
    parameters: Mapping[str, ConstantValue]
    schema: GraphSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCounts:
    """What a handle was asked for so far.

    Attributes:
        seconds: that reads took, all together.
    """

    queries: int = 0
    failures: int = 0
    rows: int = 0
    seconds: float = 0.0


class Reader:
    """Runs reads against snapshots of one graph."""

    def __init__(self, tables: TableStorage, *, settings: Settings | None = None) -> None:
        self.settings = Settings.from_environment() if settings is None else settings
        self.memory = Memory(self.settings.cache_bytes)
        self._tables = tables
        self._lock = threading.Lock()
        self._compilers: OrderedDict[str, Compiler] = OrderedDict()
        self.counts = ReadCounts()

    def query(
        self,
        source: QuerySource,
        name: str | None,
        params: Mapping[str, Any] | None,
        *,
        find_snapshot: Callable[[], Snapshot],
        budget: QueryBudget | None = None,
        is_named: bool = False,
    ) -> Result:
        """Run a read; ``is_named`` says that the snapshot was asked for by name."""
        began = time.perf_counter()
        rows: pa.Table | None = None
        spending = self.spending(budget)
        with span("omnigraph.query", query=name) as note:
            try:
                with spending.limit:
                    snapshot = find_snapshot()
                    prepared = self.prepare(source, name, params, snapshot)
                    execution = self.execution(prepared, snapshot, spending)
                    rows = run_plan(prepared.plan, execution)
            finally:
                self._count(rows, time.perf_counter() - began)
            note(branch=snapshot.branch.name, commit=snapshot.commit.id, rows=rows.num_rows)
        _log.debug(
            "%s: %d rows of %s at %s in %.1f ms",
            prepared.plan.name,
            rows.num_rows,
            snapshot.branch.name,
            snapshot.commit.id,
            1000 * (time.perf_counter() - began),
        )
        return Result(
            rows,
            branch=snapshot.branch.name,
            commit_id=snapshot.commit.id,
            snapshot=snapshot.commit.id if is_named else None,
            query_name=prepared.plan.name,
        )

    def prepare(
        self,
        source: QuerySource,
        name: str | None,
        params: Mapping[str, Any] | None,
        snapshot: Snapshot,
        *,
        is_run: bool = True,
    ) -> Prepared:
        """The plan of a read, and its parameters as values; none where it is not run and none are given.

        Raises:
            CompileError: the query is wrong; every mistake is told.
            InvalidInputError: a parameter is wrong, or the query changes the graph.
        """
        plan = self.plan(source, name, snapshot.schema)
        if not isinstance(plan, ReadPlan):
            raise InvalidInputError(
                f"{plan.name} changes the graph, so it cannot be run as a read.",
                help="Run it with mutate: g.mutate(...), or omnigraph mutate."
                if is_run
                else "Its plan needs no graph: omnigraph.explain(source, schema), or omnigraph explain --schema FILE.",
                details={"query": plan.name},
            )
        parameters = bind_parameters(plan, params) if is_run or params is not None else {}
        return Prepared(plan=plan, parameters=parameters, schema=snapshot.schema)

    def plan(self, source: QuerySource, name: str | None, schema: GraphSchema) -> Plan:
        """The plan of a read or a mutation, by a schema; remembered.

        Raises:
            CompileError: the query is wrong; every mistake is told.
            InvalidInputError: the name or the source is none.
        """
        if name is not None and not isinstance(name, str):
            raise InvalidInputError(f"{name!r} is no name of a query.", help="Give a text, or leave it out.")
        return self.compiler(schema).plan(_text(source), name)

    def spending(self, budget: QueryBudget | None) -> Spending:
        """What a query may use, from now on.

        Raises:
            InvalidInputError: the budget is not one.
        """
        if budget is not None and not isinstance(budget, QueryBudget):
            raise InvalidInputError(
                f"{budget!r} is no budget.", help="Give a QueryBudget, such as QueryBudget(deadline=5, max_rows=1000)."
            )
        return Spending(QueryBudget.of(self.settings) if budget is None else budget)

    def execution(
        self, prepared: Prepared, snapshot: Snapshot, spending: Spending, *, is_traced: bool = False
    ) -> Execution:
        """What the operators of one run share."""
        return Execution(
            source=Source(snapshot, self._tables, self.memory, self.settings),
            parameters=prepared.parameters,
            now=time.time_ns() // 1_000_000,
            spending=spending,
            settings=self.settings,
            embed=_embedding(spending),
            trace=Trace(self._tables.read_counts) if is_traced else None,
        )

    def compiler(self, schema: GraphSchema) -> Compiler:
        """The compiler of a schema, with the plans it remembers."""
        with self._lock:
            found = self._compilers.get(schema.digest)
            if found is None:
                found = self._compilers[schema.digest] = Compiler(schema.catalog)
            self._compilers.move_to_end(schema.digest)
            if len(self._compilers) > MAX_SCHEMAS:
                self._compilers.popitem(last=False)
            return found

    def close(self) -> None:
        """Let go of what is kept; the counters stay."""
        self.memory.clear()
        with self._lock:
            self._compilers.clear()

    def plan_counts(self) -> dict[str, int]:
        """How often plans were remembered, made and are held."""
        with self._lock:
            compilers = [*self._compilers.values()]
        infos = [each.plan.cache_info() for each in compilers]  # type: ignore[attr-defined]
        return {
            "hits": sum(each.hits for each in infos),
            "misses": sum(each.misses for each in infos),
            "entries": sum(each.currsize for each in infos),
        }

    def _count(self, rows: pa.Table | None, seconds: float) -> None:
        with self._lock:
            before = self.counts
            self.counts = ReadCounts(
                queries=before.queries + 1,
                failures=before.failures + (rows is None),
                rows=before.rows + (0 if rows is None else rows.num_rows),
                seconds=before.seconds + seconds,
            )


def _text(source: QuerySource) -> SourceText | str:
    if isinstance(source, SourceText):
        return source
    if isinstance(source, str) and ("\n" in source or not source.rstrip().endswith(".gq")):
        return source
    if not isinstance(source, str | os.PathLike):
        raise InvalidInputError(
            f"A {type(source).__name__} is no query.", help="Give the text of a query, or the path of a .gq file."
        )
    try:
        return read_source(Path(source))
    except (OSError, ValueError) as error:
        if isinstance(error, OmnigraphError):
            raise
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(
            f"The query file {os.fspath(source)!r} could not be read: {why}.",
            help="Give the path of a .gq file, or the text of a query.",
        ) from error


def _embedding(spending: Spending) -> Embed:
    """Asks the configured embedder, for no longer than the query has time."""

    def embed(text: str, nearest: Nearest) -> np.ndarray[Any, np.dtype[np.float32]]:
        try:
            (vector,) = embed_texts(
                [text],
                dimension=nearest.field.type.dimension or 0,
                recorded_model=nearest.model,
                purpose=Purpose.QUERY,
                within_seconds=spending.seconds_left,
            )
        except EmbeddingError:
            # An embedder that was cut off because the query had no time left is the query's deadline.
            spending.check_time("nearest")
            raise
        return vector

    return embed
