"""A writer is stopped, its graph is removed, another one is made at its place or none, and the writer goes on.

It is stopped at each failpoint that it reaches, and before each request for a control object. The new graph stays as it
is, the writer says that its graph is gone, and so does a reader that was open. Only a commit that was confirmed before
the graph was removed is acknowledged. What the writer leaves lies in directories that no other graph looks at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeVar

import pytest
from remade_world import (
    NEW,
    OLD,
    PEOPLE,
    READS,
    SCHEMA,
    TICKETED,
    WRITES,
    Kept,
    Place,
    person,
    said,
    says_that_it_is_gone,
    stray_files,
)

import omnigraph as og
from omnigraph.errors import BranchReplacedError, FormatError, NotFoundError, StorageError
from omnigraph.failpoints import (
    BRANCH_CREATE_POST_REF,
    BRANCH_DELETE_POST_NATIVE,
    FAILPOINTS,
    PUBLISH_ACKNOWLEDGED,
    PUBLISH_BEFORE_COMMIT,
    PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION,
    PUBLISH_SIDECAR_DELETED,
    PUBLISH_SIDECAR_WRITTEN,
    RECOVERY_RECORD_AUDIT,
    RECOVERY_SIDECAR_DELETE,
)
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.testing.faults import Call, DiedError, DyingAdapter, Once, Verb, WrappedAdapter, armed, recorded
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import opened_through

T = TypeVar("T")

IS_WHOLE = os.environ.get("OMNIGRAPH_REMADE_MATRIX") == "full"
STOPPED = ("insert", "load to a branch to be", "merging receipts from before", "branch", "tag")
ON_S3 = frozenset({*STOPPED, "update", "merge", "deleting a branch", "deleting a tag", "lease", "indexes"})
"""What is stopped on a server, where each point takes some seconds. The steps are those of the local backend; what a
server answers to somebody whose objects are gone is another thing, and each kind of write is told it.
"""

LATE = frozenset(
    {
        PUBLISH_ACKNOWLEDGED,
        PUBLISH_SIDECAR_DELETED,
        RECOVERY_SIDECAR_DELETE,
        BRANCH_CREATE_POST_REF,
        BRANCH_DELETE_POST_NATIVE,
    }
)
"""What is reached here is done, and was confirmed: that it was is the truth, whatever happens afterwards."""


class StoppingAdapter(WrappedAdapter):
    """Lets something happen before one of the requests from now on.

    Attributes:
        requests: what was asked for, in order.
    """

    def __init__(self, inner: StorageAdapter) -> None:
        super().__init__(inner)
        self.requests: list[tuple[str, str]] = []
        self._stop: Callable[[], None] | None = None
        self._at = -1

    def stop(self, at: int, happens: Callable[[], None]) -> None:
        self.requests.clear()
        self._at, self._stop = at, happens

    def _around(self, verb: Verb, key: ObjectKey, act: Callable[[], T]) -> T:
        self.requests.append((verb, key.value))
        if self._stop is not None and len(self.requests) > self._at:
            happens, self._stop = self._stop, None
            happens()
        return act()


@dataclass(frozen=True)
class Kinds:
    """What an old graph and a new one are at a place: made once, since forks name the place that they lie at."""

    place: Place
    old: dict[str, bytes]
    new: dict[str, bytes]
    told: dict[str, Any]

    @classmethod
    def at(cls, place: Place) -> Kinds:
        # As many versions: with fewer or more a swap could be lost for the number alone.
        place.build(OLD, 3)
        old = place.files()
        place.remove()
        place.build(NEW, 3)
        new, told = place.files(), place.told()
        place.remove()
        return cls(place, old, new, told)


@dataclass
class Graphs:
    """An old graph and a new one, which are put to their place as often as is wanted."""

    kinds: Kinds
    is_made_anew: bool
    is_built: bool = False

    @property
    def place(self) -> Place:
        return self.kinds.place

    @property
    def old(self) -> dict[str, bytes]:
        return self.kinds.old

    @property
    def new(self) -> dict[str, bytes]:
        return self.kinds.new

    @property
    def told(self) -> dict[str, Any]:
        return self.kinds.told

    def change(self) -> None:
        """The old one goes; the new one comes."""
        self.place.remove()
        if self.is_made_anew:
            self.place.put(self.new)

    def check(self) -> list[object]:
        """What is wrong at the place; afterwards it is empty."""
        try:
            wrong: list[object] = [*stray_files(self.place.files(), self.new if self.is_made_anew else {})]
            if self.is_made_anew:
                with self.place.open() as fresh:
                    wrong += fresh.recoveries.settled()
                return [*wrong, *(name for name, found in self.place.told().items() if found != self.told[name])]
            with pytest.raises(NotFoundError, match="There is no graph"):
                self.place.open()
            if IS_WHOLE or not self.is_built:
                # What lies there is in the way of no other graph.
                self.is_built = True
                self.place.build(NEW, 1)
                wrong += {"main", "dev", "only new"}.symmetric_difference(self.place.told()["branches"])
            return wrong
        finally:
            self.place.remove()


_KINDS: Final[dict[str, Kinds]] = {}


@pytest.fixture
def new_graphs(new_place: Callable[[str], Place]) -> Iterator[Callable[..., Graphs]]:
    """Gives both graphs of a backend, at a place that is empty before and after a test."""
    used: list[Place] = []

    def new(backend: str, *, is_made_anew: bool = True) -> Graphs:
        if backend not in _KINDS:
            _KINDS[backend] = Kinds.at(new_place(backend))
        used.append(_KINDS[backend].place)
        return Graphs(_KINDS[backend], is_made_anew)

    yield new
    for place in used:
        place.remove()


def points_of(graphs: Graphs, name: str, branch: str) -> list[str]:
    """The failpoints that a verb reaches."""
    graphs.place.put(graphs.old)
    with graphs.place.open() as graph:
        kept = Kept.of(graph, branch, has_ticket=name in TICKETED)
        with recorded() as reached:
            said(WRITES[name], kept)
    graphs.place.remove()
    return [*dict.fromkeys(reached)]


def stopped(graphs: Graphs, name: str, branch: str, where: str | int) -> list[object] | None:
    """What goes wrong when a verb is stopped there; None where it does not come there."""
    place, happened = graphs.place, []
    place.put(graphs.old)

    def happens(*_: object) -> None:
        happened.append(True)
        graphs.change()

    with (
        opened_through(StoppingAdapter, GraphPlace(uri=place.uri, options=place.options)) as (graph, adapter),
        place.open("r") as reader,
    ):
        kept = Kept.of(graph, branch, has_ticket=name in TICKETED)
        watching = Kept.of(reader, branch, is_warm=True)
        before = [READS[each](watching) for each in ("query", "export")]
        if isinstance(where, int):
            adapter.stop(where, happens)
            found = said(WRITES[name], kept)
            # Then all of it was confirmed; a sidecar, a lease or the heartbeat of a slow write is taken away.
            looks = [n for n, each in enumerate(adapter.requests) if each[1].startswith("_refs/branches/")]
            is_late = bool(looks) and where > looks[-1]
        else:
            with armed({where: Once(Call(happens))}):
                found = said(WRITES[name], kept)
            is_late = where in LATE
        if not happened:
            place.remove()
            return None
        wrong: list[object] = []
        if not says_that_it_is_gone(found, is_made_anew=graphs.is_made_anew) and not is_late:
            wrong.append(found)
        for each, answer in zip(("query", "export"), before, strict=True):
            read = said(READS[each], watching)
            if read != answer and not says_that_it_is_gone(read, is_made_anew=graphs.is_made_anew):
                wrong.append(f"{each}: {read}")
    return wrong + graphs.check()


AT_FAILPOINTS = [
    ("local", branch, name, is_made_anew)
    for branch in ("main", "dev")
    for name in (WRITES if IS_WHOLE else STOPPED)
    for is_made_anew in (True, False)
    if IS_WHOLE or (branch == "dev" if name == "insert" else is_made_anew and branch == "main")
]
if IS_WHOLE:
    AT_FAILPOINTS += [("s3", "main", name, True) for name in sorted(ON_S3)]
    AT_FAILPOINTS += [("s3", "dev", "insert", is_made_anew) for is_made_anew in (True, False)]


@pytest.mark.parametrize(("backend", "branch", "name", "is_made_anew"), AT_FAILPOINTS)
def test_a_writer_that_was_stopped_at_a_failpoint_touches_nothing(
    new_graphs: Callable[..., Graphs], backend: str, branch: str, name: str, is_made_anew: bool
):
    graphs = new_graphs(backend, is_made_anew=is_made_anew)
    wrong = {
        point: found for point in points_of(graphs, name, branch) if (found := stopped(graphs, name, branch, point))
    }
    assert wrong == {}


AT_THE_DELETE = frozenset(
    {"deleting a branch", "deleting a tag", "deleting its branch", "deleting its tag", "merge and delete"}
)
"""A branch or a tag is deleted by name, right after it was seen to be of this graph. The stores delete an object by its
name, whatever it holds by then; so whoever is stopped between these two requests deletes what is there when he goes on.
"""

AT_REQUESTS = [("local", "main", name) for name in ("insert", "branch", "tag", "lease")]
if IS_WHOLE:
    AT_REQUESTS = [
        ("local", branch, name) for branch in ("main", "dev") for name in sorted(WRITES.keys() - AT_THE_DELETE)
    ]
    AT_REQUESTS += [("s3", "dev" if name == "insert" else "main", name) for name in sorted(ON_S3 - AT_THE_DELETE)]


@pytest.mark.parametrize(("backend", "branch", "name"), AT_REQUESTS)
def test_a_writer_that_was_stopped_before_any_request_touches_nothing(
    new_graphs: Callable[..., Graphs], backend: str, branch: str, name: str
):
    graphs = new_graphs(backend)
    wrong: dict[int, list[object]] = {}
    for number in count():
        found = stopped(graphs, name, branch, number)
        if found is None:
            break
        if found:
            wrong[number] = found
    assert number > 1
    assert wrong == {}


def test_a_writer_that_died_in_the_new_graph_keeps_nobody_from_it(new_graphs: Callable[..., Graphs]):
    """It had announced its plan where the new graph was by then; nobody finishes it, and nobody waits for it."""
    graphs = new_graphs("local")
    place = graphs.place
    place.put(graphs.old)
    with opened_through(DyingAdapter, GraphPlace(uri=place.uri)) as (graph, adapter):
        old_id = graph.snapshot().schema.ir.domain

        def die(name: str) -> None:
            plan = {each: data for each, data in place.files().items() if each.startswith("__recovery/")}
            graphs.change()
            place.put(plan)
            adapter.die(name)

        with armed({PUBLISH_SIDECAR_WRITTEN: die}), pytest.raises(DiedError):
            graph.load([person("late", 5)], "append")
    with place.open() as fresh:
        assert fresh.recoveries.settled() == []
        (pending,) = fresh.recoveries.pending()
        assert (pending.state, pending.reason) == ("refused", f"it belongs to another graph, {old_id}")
        fresh.load([person("newest", 6)], "append")
        fresh.refresh()
        assert fresh.recoveries.list() == []
    og.discard_sidecar(place.uri, pending.operation_id)
    with place.open() as fresh:
        assert fresh.recoveries.pending() == []
        assert "newest" in str(fresh.query(PEOPLE).rows())


def test_a_writer_that_lost_a_race_and_was_stopped_then_leaves_no_plan(new_graphs: Callable[..., Graphs]):
    graphs = new_graphs("local")
    place = graphs.place
    place.put(graphs.old)

    def overtake(_: str) -> None:
        with place.open() as rival:
            rival.load([person("first", 4)], "append")

    with (
        place.open() as graph,
        armed(
            {
                PUBLISH_BEFORE_COMMIT: Once(Call(overtake)),
                PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION: Once(Call(lambda _: graphs.change())),
            }
        ),
        pytest.raises(BranchReplacedError, match="another one was made at the same place"),
    ):
        graph.load([person("late", 5)], "append")
    assert graphs.check() == []


def test_a_recovery_that_was_stopped_tells_nothing_in_the_new_graph(new_graphs: Callable[..., Graphs]):
    graphs = new_graphs("local")
    place = graphs.place
    place.put(graphs.old)
    with (
        opened_through(DyingAdapter, GraphPlace(uri=place.uri)) as (graph, adapter),
        armed({PUBLISH_SIDECAR_WRITTEN: adapter.die}),
        pytest.raises(DiedError),
    ):
        graph.load([person("late", 5)], "append")
    with (
        armed({RECOVERY_RECORD_AUDIT: Once(Call(lambda _: graphs.change()))}),
        place.open() as late,
        pytest.raises(BranchReplacedError),
    ):
        late.load([person("later", 6)], "append")
    assert graphs.check() == []


def test_a_branch_whose_maker_died_in_the_new_graph_is_told_of_and_can_be_deleted(new_graphs: Callable[..., Graphs]):
    graphs = new_graphs("local")
    place = graphs.place
    place.put(graphs.old)
    name = "_refs/branches/only%20old.json"
    stale = place.files()[name]
    graphs.change()
    place.put({name: stale})
    with place.open() as graph:
        problems = {each.name: each.problem for each in graph.branches.list()}
        assert {each for each, problem in problems.items() if problem} == {"only old"}
        assert "another graph" in str(problems["only old"])
        with pytest.raises(FormatError, match="another graph"):
            graph.query(PEOPLE, branch="only old")
        graph.branches.delete("only old")
    assert graphs.check() == []


@pytest.mark.parametrize("name", sorted(AT_THE_DELETE))
def test_what_is_deleted_by_name_was_seen_right_before(new_graphs: Callable[..., Graphs], name: str):
    graphs = new_graphs("local")
    graphs.place.put(graphs.old)
    with opened_through(StoppingAdapter, GraphPlace(uri=graphs.place.uri)) as (graph, adapter):
        kept = Kept.of(graph, "main")
        adapter.requests.clear()
        WRITES[name](kept)
    deleted = next(n for n, each in enumerate(adapter.requests) if each[0] == "delete" and each[1].startswith("_refs/"))
    assert adapter.requests[deleted - 1] == (
        "read",
        "_refs/branches/main.json" if "tag" in name else adapter.requests[deleted][1],
    )


@pytest.mark.parametrize("point", [each for each in FAILPOINTS if each.startswith("init.")])
def test_an_init_whose_place_was_removed_makes_a_whole_graph_or_none(new_place: Callable[[str], Place], point: str):
    place = new_place("local")
    with armed({point: Once(Call(lambda _: place.remove()))}), suppress(NotFoundError, StorageError):
        og.init(place.uri, schema=SCHEMA).close()
    try:
        place.open().close()
    except NotFoundError:
        # Not a damaged one, so another can be made.
        place.build(NEW, 1)
    assert place.told()["branches"].keys() >= {"main"}
