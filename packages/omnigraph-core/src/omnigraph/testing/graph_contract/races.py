"""Two writers at once: threads, and processes where the store is shared between them."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar
from unittest.mock import patch

import pytest

from omnigraph.errors import ConstraintError, HeadMovedError, OmnigraphError
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.storage import Capability
from omnigraph.testing.faults import Barrier, armed
from omnigraph.testing.graph_contract.clauses import (
    SEED,
    GraphClauses,
    GraphPlace,
    film,
    holds,
    model_of,
    person,
    rated,
)
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import Record

if TYPE_CHECKING:
    from omnigraph.graph import Graph


class RaceClauses(GraphClauses):
    """Writers that share nothing but the store, or a handle."""

    def test_two_writers_lose_nothing(self, place: GraphPlace, seeded: Graph) -> None:
        with ThreadPoolExecutor(2) as threads:
            made = [*threads.map(lambda writer: write_on(place, writer, self.loads_per_writer), range(2))]
        check_nothing_is_lost(place, seeded, made)

    def test_threads_may_share_a_handle(self, place: GraphPlace, seeded: Graph) -> None:
        def write(writer: int) -> list[str]:
            return [seeded.load(news(writer, number), "append").commit.id for number in range(self.loads_per_writer)]

        with ThreadPoolExecutor(2) as threads:
            made = [*threads.map(write, range(2))]
        check_nothing_is_lost(place, seeded, made)

    def test_a_handle_sees_what_another_one_published(self, place: GraphPlace, seeded: Graph) -> None:
        with place.open() as other, place.open("r") as reader:
            commit = other.load([person("dee")], "append").commit
            for graph in (seeded, reader):
                assert graph.commits.list()[0] == commit
                assert len(graph.table("Person")) == 3
            # And writes on top of it, although it has not looked before.
            other.load([person("eve")], "append")
            assert seeded.load([person("flo")], "append").commit.manifest_version == commit.manifest_version + 2

    def test_of_two_overwrites_on_one_state_one_is_refused(self, place: GraphPlace, seeded: Graph) -> None:
        loads = [("overwrite", [film("F1", title), film("F2", title)]) for title in ("one", "two")]
        outcomes = meet(place, *loads)
        lost = [each for each in outcomes if each is not None]
        assert [type(each) for each in lost] == [HeadMovedError], outcomes
        won = loads[outcomes.index(None)]
        assert holds(seeded, model_of(("append", SEED), won))  # type: ignore[arg-type]
        assert_graph_is_whole(seeded)

    def test_one_key_that_two_writers_append_is_stored_once(self, place: GraphPlace, seeded: Graph) -> None:
        loads = [("append", [person("zed", age)]) for age in (1, 2)]
        outcomes = meet(place, *loads)
        lost = [each for each in outcomes if each is not None]
        assert [type(each) for each in lost] == [ConstraintError], outcomes
        won = loads[outcomes.index(None)]
        assert holds(seeded, model_of(("append", SEED), won))  # type: ignore[arg-type]
        assert_graph_is_whole(seeded)

    def test_an_edge_never_outlives_its_end(self, place: GraphPlace, seeded: Graph) -> None:
        """One writer reads the films to check an edge, the other replaces them: each alone would be right."""
        outcomes = meet(place, ("append", [rated("bo", "F2", 2)]), ("overwrite", [film("F1", "alone")]))
        assert outcomes.count(None) == 1, outcomes
        assert_graph_is_whole(seeded)


class GraphProcessContract(GraphClauses):
    """What holds where several processes share the store."""

    contract_of: ClassVar[Capability] = Capability.SHARED_BETWEEN_PROCESSES

    @pytest.fixture
    def processes(self) -> Iterator[ProcessPoolExecutor]:
        """At most two processes that share nothing with this one, each started when it is needed."""
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool

    def test_two_processes_lose_nothing(self, place: GraphPlace, seeded: Graph, processes: ProcessPoolExecutor) -> None:
        running = [processes.submit(write_on, place, writer, self.loads_per_writer) for writer in range(2)]
        made = [each.result(timeout=300) for each in running]
        check_nothing_is_lost(place, seeded, made)

    def test_another_process_writes_rows_for_this_one_to_publish(
        self, seeded: Graph, processes: ProcessPoolExecutor
    ) -> None:
        ticket = seeded.bulk(["Person", "Rated"])
        receipts = processes.submit(write_by_ticket, pickle.dumps(ticket)).result(timeout=300)
        before = list(seeded.export())
        result = seeded.bulk_publish(receipts, "append")
        assert list(seeded.export()) != before
        assert result.nodes == {"Person": 2}
        assert result.edges == {"Rated": 1}
        more = [person("dee", 1), person("eve"), rated("dee", "F2", 2)]
        assert holds(seeded, model_of(("append", SEED), ("append", more)))
        assert_graph_is_whole(seeded)


def news(writer: int, number: int) -> list[Record]:
    """What one writer loads at one time; disjoint from all others, and with an edge to a film that all of them read."""
    name = f"w{writer}n{number}"
    return [person(name, number), rated(name, "F1", 1 + number % 5)]


def write_on(place: GraphPlace, writer: int, loads: int, branch: str = "main") -> list[str]:
    """Load again and again through a handle of one's own; the commits that were acknowledged."""
    with place.open() as graph:
        return [graph.load(news(writer, number), "append", branch=branch).commit.id for number in range(loads)]


def meet(place: GraphPlace, *loads: tuple[str, list[Record]]) -> list[OmnigraphError | None]:
    """Let loads, on handles of their own, all come to the swap before one goes on; the error of each, None for none.

    As if they were made by processes: within one, gates would let them come one after the other.
    """

    def attempt(load: tuple[str, list[Record]]) -> OmnigraphError | None:
        with place.open() as graph:
            try:
                graph.load(load[1], load[0])
            except OmnigraphError as error:
                return error
        return None

    barrier = Barrier(len(loads), seconds=20)
    with (
        patch("omnigraph.write.gates.LONGEST_WAIT_SECONDS", 0.0),
        armed({PUBLISH_BEFORE_COMMIT: barrier}),
        ThreadPoolExecutor(len(loads)) as threads,
    ):
        return list(threads.map(attempt, loads))


def check_nothing_is_lost(place: GraphPlace, graph: Graph, made: list[list[str]]) -> None:
    """Every commit that a writer was told of is there once, on one line, with its rows and no others."""
    loaded = [
        record for writer, ids in enumerate(made) for number in range(len(ids)) for record in news(writer, number)
    ]
    with place.open("r") as reader:
        for seen in (graph, reader):
            listed = [each.id for each in seen.commits.list()]
            assert sorted(listed[:-2]) == sorted(each for ids in made for each in ids)
            assert holds(seen, model_of(("append", SEED), ("append", loaded)))
            assert_graph_is_whole(seen)


def write_by_ticket(packed: bytes) -> list[str]:
    """Runs in another process: rows of two types, none of which is visible before they are published."""
    import pyarrow as pa

    ticket = pickle.loads(packed)  # bytes of our own making
    people = pa.table({"name": ["dee", "eve"], "age": pa.array([1, None], pa.int32())})
    edges = pa.table({"id": ["dee-F2"], "src": ["dee"], "dst": ["F2"], "stars": pa.array([2], pa.int32())})
    return [ticket.write("Person", people), ticket.write("Rated", edges)]
