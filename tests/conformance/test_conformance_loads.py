"""Cases 25 to 28 of the conformance set, through the public API, on every place."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from library import DIRECTED, EDGES, EVERYTHING, FOLLOWS, SCHEMA

import omnigraph as og
from omnigraph.errors import ConstraintError


@pytest.fixture
def graph(root) -> og.Graph:
    graph = root.init(SCHEMA)
    graph.load(EVERYTHING, mode="overwrite")
    return graph


def edges(graph: og.Graph, name: str) -> list[tuple[str, str]]:
    return sorted((row["src"], row["dst"]) for row in graph.table(name, columns=["src", "dst"]).rows())


def counts(graph: og.Graph) -> dict[str, int]:
    return {each["name"]: each["count"] for each in graph.snapshot().to_dict()["types"]}


def test_case_25_an_overwrite_that_would_strand_retained_edges_is_refused(graph: og.Graph):
    before, exported = graph.snapshot().commit, [*graph.export()]
    with pytest.raises(ConstraintError) as refused:
        graph.load('{"type":"Person","data":{"handle":"ann"}}', mode="overwrite")
    assert {each["reason"] for each in refused.value.details["problems"]} == {"orphan_edge"}
    # Directed: cy. Rented: bo. Follows: ann->bo, bo->cy (both ends), cy->ann, bo->bo (both ends).
    assert refused.value.details["total"] == 1 + 1 + 6
    assert graph.snapshot().commit == before
    assert [*graph.export()] == exported


def test_case_26_merging_the_edges_again_upserts_by_the_unique_tuple_and_doubles_the_others(graph: og.Graph):
    rented = edges(graph, "Rented")
    graph.load("\n".join(EDGES), mode="merge")
    assert counts(graph) == {"Film": 3, "Person": 3, "Rented": 3, "Follows": 8, "Directed": 2}
    assert edges(graph, "Rented") == rented


def test_case_26_appending_the_edges_again_is_refused_and_changes_nothing(graph: og.Graph):
    exported = [*graph.export()]
    with pytest.raises(ConstraintError, match=r"@unique violation on Rented\.\(dst, src\)"):
        graph.load("\n".join(EDGES), mode="append")
    assert [*graph.export()] == exported
    graph.load("\n".join((*FOLLOWS, *DIRECTED)), mode="append")


def test_case_27_merging_edges_without_ids_and_tuple_makes_them_exist_twice(graph: og.Graph):
    graph.load("\n".join((*FOLLOWS, *DIRECTED)), mode="merge")
    assert Counter(edges(graph, "Follows")) == {
        ("ann", "bo"): 2, ("bo", "cy"): 2, ("cy", "ann"): 2, ("bo", "bo"): 2,
    }  # fmt: skip
    assert edges(graph, "Directed") == [("cy", "SF-1")] * 2


def test_case_28_doubled_edges_double_as_edges_and_not_as_pairs(graph: og.Graph):
    """What the two queries of this case count, from the rows: pairs for ``follows``, edges for ``$e:follows``."""
    graph.load("\n".join((*FOLLOWS, *DIRECTED)), mode="merge")
    pairs, each = defaultdict(set), Counter()
    for source, target in edges(graph, "Follows"):
        pairs[source].add(target)
        each[source] += 1
    assert {source: len(targets) for source, targets in pairs.items()} == {"ann": 1, "bo": 2, "cy": 1}
    assert each == {"ann": 2, "bo": 4, "cy": 2}
