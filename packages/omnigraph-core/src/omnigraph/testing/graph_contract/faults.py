"""A write that fails half way, and readers that must not write: the graph shows the old state or the new one."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import pytest

from omnigraph.errors import NotFoundError, OutcomeUnknownError, ReadOnlyError, StorageCondition, StorageError
from omnigraph.failpoints import (
    FAILPOINTS,
    INIT_AFTER_GENESIS,
    PUBLISH_AFTER_COMMIT,
    PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION,
)
from omnigraph.storage import StorageAdapter, StorageBackend
from omnigraph.testing.faults import CountingAdapter, FailpointError, Fault, FaultyAdapter, RaiseTimes, Verb, armed
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
from omnigraph.testing.model import Mode, Record

if TYPE_CHECKING:
    from omnigraph.graph import Graph

INIT_POINTS: Final = [name for name in FAILPOINTS if name.startswith("init.")]
LOAD_POINTS: Final = [
    name
    for name in FAILPOINTS
    # The other one is reached only where a race is lost.
    if name.startswith(("load.", "publish.")) and name != PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
]
CHANGING_VERBS: Final[tuple[Verb, ...]] = (
    "write", "write_if_absent", "write_if_match", "rename", "delete", "delete_prefix", "make_durable",
)  # fmt: skip

W = TypeVar("W", bound=StorageAdapter)
Load = tuple[Mode, list[Record]]


class FaultClauses(GraphClauses):
    """Errors at each step of a write, errors of the store, and reading."""

    def test_an_error_at_any_step_leaves_the_old_state_or_the_new_one(self, place: GraphPlace, seeded: Graph) -> None:
        story: list[Load] = [("append", list(SEED))]
        with place.open("r") as reader:
            for number, name in enumerate(LOAD_POINTS):
                load: Load = ("merge", [*_news(f"p{number}"), film("F1", f"title {number}")])
                with (
                    armed({name: RaiseTimes(1, FailpointError(name))}),
                    pytest.raises(FailpointError, match=name),
                ):
                    seeded.load(load[1], "merge")
                assert holds(reader, model_of(*story)) or holds(reader, model_of(*story, load)), name
                story.append(load)
                seeded.load(load[1], "merge")
                assert holds(reader, model_of(*story)), name
        with place.open() as again:
            assert_graph_is_whole(again)

    def test_a_failed_init_can_be_repeated(self, place: GraphPlace) -> None:
        for number, name in enumerate(INIT_POINTS):
            here = replace(place, uri=f"{place.uri}-{number}")
            with (
                armed({name: RaiseTimes(1, FailpointError(name))}),
                pytest.raises(FailpointError, match=name),
            ):
                here.init()
            if name != INIT_AFTER_GENESIS:
                with pytest.raises(NotFoundError):
                    here.open()
            # From its first commit on there is a graph, whatever its init still had to do.
            with here.open() if name == INIT_AFTER_GENESIS else here.init(force=True) as graph:
                graph.load(SEED, "append")
                assert holds(graph, model_of(("append", SEED))), name

    def test_an_answer_that_is_lost_once_is_found_out(self, seeded: Graph) -> None:
        error = StorageError("the connection was lost", condition=StorageCondition.TRANSIENT)
        before = len(seeded.commits.list())
        with armed({PUBLISH_AFTER_COMMIT: RaiseTimes(1, error)}):
            result = seeded.load([person("dee")], "append")
        assert seeded.commits.list()[0] == result.commit
        assert len(seeded.commits.list()) == before + 1
        assert_graph_is_whole(seeded)

    def test_a_store_that_fails_at_any_request_of_a_load_leaves_old_or_new(
        self, place: GraphPlace, seeded: Graph
    ) -> None:
        check_old_or_new(place, seeded, "main")

    def test_reading_changes_nothing(self, place: GraphPlace, seeded: Graph) -> None:
        with opened_through(CountingAdapter, place, "r") as (reader, counts):
            assert list(reader.export()) == list(seeded.export())
            assert len(reader.table("Person")) == 2
            assert reader.commits.list() == seeded.commits.list()
            reader.refresh()
            with pytest.raises(ReadOnlyError):
                reader.load([person("dee")], "append")
            assert {verb: count for verb, count in counts.calls.items() if verb in CHANGING_VERBS} == {}
        assert_graph_is_whole(seeded)


def check_old_or_new(place: GraphPlace, seeded: Graph, branch: str) -> None:
    """Each request of a load to a branch fails in its turn: what the caller is told is so, and the next load works."""
    story: list[Load] = [("append", list(SEED)), ("append", _news("counted"))]
    with opened_through(CountingAdapter, place) as (graph, counts):
        graph.snapshot(branch)
        counts.calls.clear()
        graph.load(story[1][1], "append", branch=branch)
        requests = dict(counts.calls)
    with opened_through(FaultyAdapter, place) as (graph, store):
        for number, fault in enumerate(faults_of(requests)):
            load: Load = ("append", _news(f"p{number}"))
            store.strike(fault)
            error = _outcome(graph, load, branch)
            store.strike()
            old, new = model_of(*story), model_of(*story, load)
            is_new = holds(seeded, new, branch)
            what = f"{fault.moment} {fault.verb} number {fault.skip}: {error!r}"
            assert is_new or holds(seeded, old, branch), what
            # Only an outcome that is said to be unknown may be either.
            assert isinstance(error, OutcomeUnknownError) or is_new == (error is None), what
            if is_new:
                story.append(load)
        graph.load(_news("last"), "append", branch=branch)
        assert holds(seeded, model_of(*story, ("append", _news("last"))), branch)
        assert_graph_is_whole(graph, branch, is_settled=False)


@contextmanager
def opened_through(
    wrapper: Callable[[StorageAdapter], W], place: GraphPlace, mode: Literal["r", "rw"] = "rw"
) -> Iterator[tuple[Graph, W]]:
    """A graph whose adapter is wrapped, and the wrapper."""
    wrapped: list[W] = []
    opened = StorageBackend.open

    def open_wrapped(*arguments: Any) -> StorageAdapter:
        wrapped.append(wrapper(opened(*arguments)))
        return wrapped[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StorageBackend, "open", open_wrapped)
        graph = place.open(mode)
    with graph:
        yield graph, wrapped[-1]


def _news(name: str) -> list[Record]:
    return [person(name), rated(name, "F1", 1)]


def faults_of(calls: Mapping[str, int]) -> Iterator[Fault]:
    """Each of these requests, failing before its effect, and losing its answer after it."""
    error = OSError(errno.EIO, "input/output error")
    for verb, count in sorted(calls.items()):
        for skip in range(count):
            yield Fault(verb=cast("Verb", verb), error=error, moment="before", skip=skip)
            yield Fault(verb=cast("Verb", verb), error=error, moment="after", skip=skip)


def _outcome(graph: Graph, load: Load, branch: str) -> StorageError | OutcomeUnknownError | None:
    try:
        graph.load(load[1], load[0], branch=branch)
    except (StorageError, OutcomeUnknownError) as error:
        return error
    return None
