"""Making a graph, finding it again, and refusing what is none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import AlreadyExistsError, CompileError, ConflictError, NotFoundError, OmnigraphError
from omnigraph.plugins import open_adapter
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED, GraphClauses, GraphPlace, holds, model_of
from omnigraph.testing.invariants import assert_graph_is_whole

if TYPE_CHECKING:
    from omnigraph.graph import Graph


class LifecycleClauses(GraphClauses):
    """Init, open, reopen."""

    def test_a_new_graph_is_empty_and_has_one_commit(self, graph: Graph) -> None:
        assert list(graph.export()) == []
        (first,) = graph.commits.list()
        assert first.parent_id is None
        assert first.manifest_version == 1
        assert graph.schema.text == SCHEMA
        assert_graph_is_whole(graph)

    def test_a_second_init_is_refused_and_leaves_the_graph_alone(self, place: GraphPlace, seeded: Graph) -> None:
        before = list(seeded.export())
        for force in (False, True):
            with pytest.raises(AlreadyExistsError):
                place.init("node Other { name: String }", force=force)
        assert list(seeded.export()) == before
        with place.open() as again:
            assert list(again.export()) == before
            assert_graph_is_whole(again)

    def test_a_place_without_a_graph_is_not_found_and_stays_empty(self, place: GraphPlace) -> None:
        with open_adapter(place.uri, options=dict(place.options)) as adapter:
            before = sorted(map(str, adapter.list()))
            for mode in ("r", "rw"):
                with pytest.raises(NotFoundError):
                    place.open(mode)
            assert sorted(map(str, adapter.list())) == before

    def test_a_schema_with_mistakes_makes_no_graph(self, place: GraphPlace) -> None:
        with pytest.raises(CompileError):
            place.init("node Person { name: Strin }")
        with pytest.raises(NotFoundError):
            place.open()
        with place.init() as graph:
            assert_graph_is_whole(graph)

    def test_a_graph_is_the_same_when_it_is_opened_again(self, place: GraphPlace, seeded: Graph) -> None:
        commits, rows = seeded.commits.list(), list(seeded.export())
        seeded.close()
        for mode in ("r", "rw"):
            with place.open(mode) as again:
                assert again.mode == mode
                assert again.schema.text == SCHEMA
                assert again.commits.list() == commits
                assert list(again.export()) == rows
                assert_graph_is_whole(again)

    def test_of_several_inits_at_once_exactly_one_makes_the_graph(self, place: GraphPlace) -> None:
        def make(_: int) -> Graph | OmnigraphError:
            try:
                return place.init()
            except (AlreadyExistsError, ConflictError) as error:
                return error

        with ThreadPoolExecutor(4) as threads:
            outcomes = list(threads.map(make, range(4)))
        made = [each for each in outcomes if not isinstance(each, OmnigraphError)]
        assert len(made) == 1, outcomes
        made[0].load(SEED, "append")
        made[0].close()
        with place.open() as again:
            assert holds(again, model_of(("append", SEED)))
            assert_graph_is_whole(again)
