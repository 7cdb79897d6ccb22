"""Branches of a whole graph: what they begin as, that nobody sees what is written to another one, and how they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest

from omnigraph.errors import AlreadyExistsError, BranchReplacedError, NotFoundError, StorageError
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.testing.faults import Barrier, Call, CountingAdapter, FaultyAdapter, Once, armed
from omnigraph.testing.graph_contract.clauses import (
    SEED,
    STORY,
    GraphClauses,
    GraphPlace,
    film,
    holds,
    model_of,
    person,
    rated,
)
from omnigraph.testing.graph_contract.faults import check_old_or_new, faults_of, opened_through
from omnigraph.testing.graph_contract.races import news, write_on
from omnigraph.testing.invariants import assert_graph_is_whole

if TYPE_CHECKING:
    from omnigraph.graph import Graph

SEEDED: Final = ("append", SEED)
NAMES: Final = ("a", "a/b", "a%2Fb", "Ü", "a b")


class BranchClauses(GraphClauses):
    """Branches: made, written to, deleted."""

    def test_a_branch_begins_as_its_base_and_then_goes_its_own_way(self, place: GraphPlace, seeded: Graph) -> None:
        before, head = list(seeded.export()), seeded.snapshot().commit
        made = seeded.branches.create("dev")
        assert (made.head, made.base_commit) == (head.id, head.id)
        assert list(seeded.export(branch="dev")) == before
        on_dev = [seeded.load(records, mode, branch="dev").commit.id for mode, records in STORY[1:]]
        on_main = seeded.load([person("only main")], "append").commit.id
        with place.open("r") as reader:
            for graph in (seeded, reader):
                assert holds(graph, model_of(*STORY), "dev")
                assert holds(graph, model_of(SEEDED, ("append", [person("only main")])))
                assert [each.id for each in graph.commits.list("dev", limit=4)] == [*on_dev[::-1], head.id]
                assert [each.id for each in graph.commits.list(limit=2)] == [on_main, head.id]
        assert_graph_is_whole(seeded, "dev")
        assert_graph_is_whole(seeded)

    def test_branches_of_any_name_stand_side_by_side(self, place: GraphPlace, seeded: Graph) -> None:
        for name in NAMES:
            seeded.branches.create(name)
            seeded.load([person(f"of {name}")], "append", branch=name)
        with place.open("r") as reader:
            assert [each.name for each in reader.branches.list()] == ["main", *sorted(NAMES)]
            for name in NAMES:
                assert holds(reader, model_of(SEEDED, ("append", [person(f"of {name}")])), name)
                assert reader.branches.show(name).head == seeded.snapshot(name).commit.id

    def test_a_branch_may_begin_as_any_commit_of_any_branch(self, graph: Graph) -> None:
        commits = [graph.load(records, mode).commit for mode, records in STORY]
        graph.branches.create("second", at=commits[1].id)
        assert holds(graph, model_of(*STORY[:2]), "second")
        later = graph.load([person("dee")], "append", branch="second").commit
        graph.load([person("eve")], "append", branch="second")
        for name, moment in (("by id", later.id), ("by commit", later)):
            graph.branches.create(name, at=moment)
            assert holds(graph, model_of(*STORY[:2], ("append", [person("dee")])), name)
        graph.branches.create("newest", "second")
        assert holds(graph, model_of(*STORY[:2], ("append", [person("dee"), person("eve")])), "newest")
        assert holds(graph, model_of(*STORY))

    def test_of_several_that_make_one_branch_exactly_one_does(self, place: GraphPlace, seeded: Graph) -> None:
        def make(number: int) -> str | None:
            with place.open() as graph:
                start("made")
                try:
                    return graph.branches.create("dev", at=number + 1).head
                except AlreadyExistsError:
                    return None

        start = Barrier(2)
        with ThreadPoolExecutor(2) as threads:
            made = [each for each in threads.map(make, range(2)) if each is not None]
        assert [seeded.branches.show("dev").head] == made
        with pytest.raises(AlreadyExistsError):
            seeded.branches.create("dev")
        assert [seeded.branches.show("dev").head] == made
        seeded.load([person("zed")], "append", branch="dev")
        assert_graph_is_whole(seeded, "dev")

    def test_two_writers_on_a_fresh_branch_lose_nothing(self, place: GraphPlace, seeded: Graph) -> None:
        seeded.branches.create("dev")
        with ThreadPoolExecutor(2) as threads:
            loads = self.loads_per_writer
            made = [*threads.map(lambda writer: write_on(place, writer, loads, branch="dev"), range(2))]
        loaded = [record for writer in range(2) for number in range(loads) for record in news(writer, number)]
        with place.open("r") as reader:
            listed = [each.id for each in reader.commits.list("dev")]
            assert sorted(listed[:-2]) == sorted(each for ids in made for each in ids)
            assert holds(reader, model_of(SEEDED, ("append", loaded)), "dev")
            assert holds(reader, model_of(SEEDED))
            assert_graph_is_whole(reader, "dev")

    def test_a_deleted_branch_is_gone_and_those_made_from_it_stay(self, place: GraphPlace, seeded: Graph) -> None:
        seeded.branches.create("parent")
        last = seeded.load([person("dee"), rated("dee", "F2", 3)], "append", branch="parent").commit
        seeded.branches.create("child", "parent")
        seeded.branches.delete("parent")
        with pytest.raises(NotFoundError):
            seeded.branches.delete("parent")
        with place.open() as other:
            for graph in (seeded, other):
                assert [each.name for each in graph.branches.list()] == ["main", "child"]
                with pytest.raises(NotFoundError):
                    graph.snapshot("parent")
                with pytest.raises(NotFoundError):
                    graph.load([person("eve")], "append", branch="parent")
            other.load([film("F3", "New")], "append", branch="child")
        more = [person("dee"), rated("dee", "F2", 3)]
        assert holds(seeded, model_of(SEEDED, ("append", more), ("append", [film("F3", "New")])), "child")
        # Until garbage collection it comes back with its last commit.
        seeded.branches.create("parent", at=last.id)
        assert holds(seeded, model_of(SEEDED, ("append", more)), "parent")
        assert_graph_is_whole(seeded, "child")

    def test_a_branch_made_anew_is_another_one(self, place: GraphPlace, seeded: Graph) -> None:
        with place.open() as other:
            seeded.branches.create("dev")
            seeded.load([person("old")], "append", branch="dev")
            assert holds(other, model_of(SEEDED, ("append", [person("old")])), "dev")

            def make_anew(_name: str) -> None:
                other.branches.delete("dev")
                other.branches.create("dev")
                other.load([person("new")], "append", branch="dev")

            with armed({PUBLISH_BEFORE_COMMIT: Once(Call(make_anew))}), pytest.raises(BranchReplacedError):
                seeded.load([person("late")], "append", branch="dev")
            for graph in (seeded, other):
                assert holds(graph, model_of(SEEDED, ("append", [person("new")])), "dev")
            seeded.load([person("later")], "append", branch="dev")
            assert holds(other, model_of(SEEDED, ("append", [person("new"), person("later")])), "dev")
        assert_graph_is_whole(seeded, "dev")

    def test_a_store_that_fails_at_any_request_of_a_load_to_a_branch_leaves_old_or_new(
        self, place: GraphPlace, seeded: Graph
    ) -> None:
        seeded.branches.create("dev")
        check_old_or_new(place, seeded, "dev")
        assert holds(seeded, model_of(SEEDED))

    def test_a_store_that_fails_at_any_request_about_branches_leaves_a_whole_one_or_none(
        self, place: GraphPlace, seeded: Graph
    ) -> None:
        with opened_through(CountingAdapter, place) as (graph, counts):
            counts.calls.clear()
            graph.branches.create("counted")
            graph.branches.delete("counted")
            requests = dict(counts.calls)
        with opened_through(FaultyAdapter, place) as (graph, store):
            for number, fault in enumerate(faults_of(requests)):
                name = f"b{number}"
                store.strike(fault)
                error = _make_and_delete(graph, name)
                store.strike()
                what = f"{fault.moment} {fault.verb} number {fault.skip}: {error!r}"
                there = name in [each.name for each in seeded.branches.list()]
                assert error is not None or not there, what
                if not there:
                    seeded.branches.create(name)
                assert holds(graph, model_of(SEEDED), name), what
                graph.load([person("dee")], "append", branch=name)
                assert holds(seeded, model_of(SEEDED, ("append", [person("dee")])), name), what
            assert holds(seeded, model_of(SEEDED))


def _make_and_delete(graph: Graph, name: str) -> StorageError | None:
    try:
        graph.branches.create(name)
        graph.branches.delete(name)
    except StorageError as error:
        return error
    return None
