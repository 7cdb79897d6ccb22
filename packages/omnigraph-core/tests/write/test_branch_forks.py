"""The first write of a branch to a type forks that type and no other; whatever happens meanwhile, no row is lost."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from branch_world import ADD, DROP, RENAME, codes, film, lines, new_graph, own_lines, place, saw

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import ConstraintError, HeadMovedError
from omnigraph.tables.counting import TableCounts, count_table_calls
from omnigraph.testing.faults import Barrier, Call, Once, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import fold_policy
from omnigraph.write.load import BRIEF_ROWS, LoadMode, LoadRequest, LoadResult, load
from omnigraph.write.tail import fold_type


@pytest.fixture
def graph() -> og.Graph:
    made = new_graph()
    made.branches.create("dev")
    return made


def spill(graph: og.Graph, branch: str, *new: str, mode: LoadMode = LoadMode.APPEND) -> LoadResult:
    """A load that keeps nothing in memory: each type goes to files as it is read."""
    request = LoadRequest(mode=mode, branch=branch, spill_bytes=1)
    return load(graph._repository, [film(each) for each in new], request)


def bulk(graph: og.Graph, branch: str, *new: str) -> LoadResult:
    receipt = graph.bulk(["Film"], branch=branch).write("Film", pa.table({"code": new}))
    return graph.bulk_publish([receipt], branch=branch)


# ── the first write ──────────────────────────────────────────────────────────────────────────────────────────────────

WRITES: dict[str, tuple[Callable[[og.Graph, str], object], list[str], set[str]]] = {
    "append": (lambda g, on: g.load([film("f3")], "append", branch=on), ["f1", "f2", "f3"], {"Film"}),
    "merge": (lambda g, on: g.load([film("f2", "t"), film("f3")], "merge", branch=on), ["f1", "f2", "f3"], {"Film"}),
    "overwrite": (lambda g, on: g.load([film("f1"), film("f3")], "overwrite", branch=on), ["f1", "f3"], {"Film"}),
    "insert": (lambda g, on: g.mutate(ADD, params={"code": "f3"}, branch=on), ["f1", "f2", "f3"], {"Film"}),
    "update": (lambda g, on: g.mutate(RENAME, params={"code": "f2", "title": "t"}, branch=on), ["f1", "f2"], {"Film"}),
    "delete": (lambda g, on: g.mutate(DROP, params={"code": "f2"}, branch=on), ["f1"], {"Film"}),
    "cascade": (lambda g, on: g.mutate(DROP, params={"code": "f1"}, branch=on), ["f2"], {"Film", "Saw"}),
    "two types": (lambda g, on: g.load(saw("bo", "f2"), "append", branch=on), ["f1", "f2"], {"Person", "Saw"}),
    "spilled append": (lambda g, on: spill(g, on, "f3"), ["f1", "f2", "f3"], {"Film"}),
    "spilled merge": (lambda g, on: spill(g, on, "f2", "f3", mode=LoadMode.MERGE), ["f1", "f2", "f3"], {"Film"}),
    "spilled overwrite": (lambda g, on: spill(g, on, "f1", "f3", mode=LoadMode.OVERWRITE), ["f1", "f3"], {"Film"}),
    "bulk": (lambda g, on: bulk(g, on, "f3"), ["f1", "f2", "f3"], {"Film"}),
}
"""What is written, which films there are then, and the types that it is about."""


@pytest.mark.parametrize("kind", WRITES)
def test_the_first_write_of_a_branch_touches_the_lines_of_its_types_only(graph: og.Graph, kind: str):
    run, left, types = WRITES[kind]
    before, head = [*graph.export()], graph.snapshot()
    with count_table_calls() as counts:
        run(graph, "dev")
    assert counts["fork"] == len(types)
    assert own_lines(graph, "dev") == types
    assert set(lines(graph, "dev")) == types
    assert codes(graph, "dev") == left
    for handle in (graph, og.open(graph.uri)):
        assert [*handle.export()] == before
        assert handle.snapshot().commit == head.commit
        assert lines(handle) == {}
        assert codes(handle, "dev") == left
    assert_graph_is_whole(graph, "dev")


@pytest.mark.parametrize("kind", WRITES)
def test_a_type_that_a_branch_has_on_its_own_line_is_not_forked_again(graph: og.Graph, kind: str):
    run, left, _types = WRITES[kind]
    graph.load([film("f1", "renamed")], "merge", branch="dev")
    graph.load(saw("cy", "f1"), "append", branch="dev")
    forked = lines(graph, "dev")
    with count_table_calls() as counts:
        run(graph, "dev")
    assert counts["fork"] == 0
    assert lines(graph, "dev") == forked
    assert codes(graph, "dev") == left
    assert lines(graph) == {}
    assert_graph_is_whole(graph, "dev")


@pytest.mark.parametrize("kind", WRITES)
def test_a_branch_of_a_branch_forks_what_its_parent_had_forked_and_the_parent_sees_nothing_of_it(
    graph: og.Graph, kind: str
):
    run, _left, types = WRITES[kind]
    graph.load([film("parent's")], "append", branch="dev")
    graph.branches.create("child", "dev")
    before, forked = [*graph.export(branch="dev")], lines(graph, "dev")
    run(graph, "child")
    assert own_lines(graph, "child") == types
    # What it did not write to it still shows as its parent has it.
    assert {name: line for name, line in lines(graph, "child").items() if name not in types} == {
        name: line for name, line in forked.items() if name not in types
    }
    assert lines(graph, "dev") == forked
    assert [*og.open(graph.uri).export(branch="dev")] == before
    assert_graph_is_whole(graph, "child")


def test_an_edge_without_new_ends_forks_the_type_of_the_edge_only(graph: og.Graph):
    graph.load([{"edge": "Saw", "from": "ann", "to": "f2"}], "append", branch="dev")
    assert own_lines(graph, "dev") == {"Saw"}


def test_a_mutation_that_matches_nothing_forks_nothing(graph: og.Graph):
    with count_table_calls() as counts:
        done = graph.mutate(DROP, params={"code": "nope"}, branch="dev")
    assert (done.commit, counts["fork"], lines(graph, "dev")) == (None, 0, {})


def test_a_write_that_is_refused_leaves_no_fork_that_anybody_sees(graph: og.Graph):
    with pytest.raises(ConstraintError):
        graph.load([film("f1")], "append", branch="dev")
    assert lines(graph, "dev") == {}
    assert graph.snapshot("dev").commit == graph.snapshot().commit
    graph.load([film("f3")], "append", branch="dev")
    assert codes(graph, "dev") == ["f1", "f2", "f3"]


def test_writes_to_the_parent_after_the_fork_do_not_show_on_the_branch(graph: og.Graph):
    graph.load([film("f3")], "append", branch="dev")
    graph.load([film("f4")], "append")
    graph.mutate(DROP, params={"code": "f1"})
    graph.load([film("f5")], "append", branch="dev")
    assert codes(graph, "dev") == ["f1", "f2", "f3", "f5"]
    assert codes(graph) == ["f2", "f4"]


# ── indexes and folds ────────────────────────────────────────────────────────────────────────────────────────────────


def built(report: og.IndexReport) -> set[str]:
    return {each.type_key for each in report.built}


def test_indexes_are_built_on_lines_of_the_branch_and_not_where_main_s_own_serve(graph: og.Graph):
    graph.load([film("f3")], "append", branch="dev")
    report = graph.maintain.ensure_indices("dev")
    assert built(report) == {"node:Film"}
    assert report.commit.branch == "dev"
    assert own_lines(graph, "dev") == {"Film"}
    assert built(graph.maintain.ensure_indices("dev")) == set()
    assert built(graph.maintain.ensure_indices()) == {"node:Film", "node:Person", "edge:Saw"}


def test_indexes_of_a_type_that_the_parent_forked_are_built_on_a_fork_of_it(graph: og.Graph):
    graph.load([film("f3")], "append", branch="dev")
    graph.branches.create("child", "dev")
    before = graph.snapshot("dev")
    with count_table_calls() as counts:
        assert built(graph.maintain.ensure_indices("child")) == {"node:Film"}
    assert counts["fork"] == 1
    assert own_lines(graph, "child") == {"Film"}
    assert graph.snapshot("dev").to_dict() == before.to_dict()
    assert {each.covered_rows for each in graph.stats("child").indexes if each.type_key == "node:Film"} == {3}
    assert {each.covered_rows for each in graph.stats("dev").indexes if each.type_key == "node:Film"} == {0}


def test_small_parts_are_folded_on_the_line_of_the_branch_and_never_on_another_s(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 4)
    for number in range(2):
        graph.load([film(f"m{number}")], "append")
    graph.branches.create("late")
    for number in range(4):
        graph.load([film(f"d{number}")], "append", branch="late")
    graph._tail.wait()
    newest = graph.commits.list("late", limit=1)[0]
    assert (str(newest.kind), newest.branch) == ("maintenance", "late")
    assert own_lines(graph, "late") == {"Film"}
    assert codes(graph, "late") == ["d0", "d1", "d2", "d3", "f1", "f2", "m0", "m1"]
    assert [str(each.kind) for each in graph.commits.list()].count("maintenance") == 0
    graph.branches.create("child", "late")
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 2)
    assert fold_type(graph._repository, "child", "node:Film") == (None, 0)
    assert fold_type(graph._repository, "child", "node:Person") == (None, 0)
    assert_graph_is_whole(graph, "late")


def test_a_fold_whose_branch_is_gone_is_nobody_s_failure(graph: og.Graph, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 2)
    other = og.open(graph.uri)
    with armed({failpoints.FOLD_STAGED: Once(Call(lambda _name: other.branches.delete("dev")))}):
        for number in range(3):
            graph.load([film(f"d{number}")], "append", branch="dev")
            graph._tail.wait()
            if [each.name for each in graph.branches.list()] == ["main"]:
                break
    assert [each.name for each in graph.branches.list()] == ["main"]
    stats = graph.stats().maintenance
    assert (stats.runs > 0, stats.failures) == (True, 0)
    assert graph.recoveries.pending() == []
    graph.load([film("f3")], "append")
    assert_graph_is_whole(graph)


# ── several writers ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_handles_that_write_to_a_fresh_branch_at_once_both_do(graph: og.Graph):
    handles = [graph, og.open(graph.uri)]
    # So many that neither keeps the other waiting before it publishes.
    new = [[f"{name}{number:04}" for number in range(BRIEF_ROWS + 1)] for name in "ab"]

    def write(number: int) -> None:
        handles[number].load([film(each) for each in new[number]], "append", branch="dev")

    with armed({failpoints.LOAD_STAGED: Barrier(2)}), count_table_calls() as counts, ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(write, number) for number in range(2)]:
            each.result()
    assert counts["fork"] == 2
    assert codes(og.open(graph.uri), "dev") == [*new[0], *new[1], "f1", "f2"]
    history = graph.commits.list("dev")
    assert [each.branch for each in history] == ["dev", "dev", "main", "main"]
    assert [each.parent_id for each in history[:3]] == [each.id for each in history[1:]]
    assert own_lines(graph, "dev") == {"Film"}
    assert codes(graph) == ["f1", "f2"]
    assert_graph_is_whole(graph, "dev")


def overtaken(graph: og.Graph, point: str, rival: Callable[[og.Graph], object], write: Callable[[], object]) -> None:
    """Let another handle write first, when this one has come to a failpoint."""
    other = og.open(graph.uri)
    with armed({point: Once(Call(lambda _name: rival(other)))}):
        write()


def test_a_spilled_load_that_loses_its_fork_to_another_writer_has_its_rows_on_the_winner_s_line(graph: og.Graph):
    def rival(other: og.Graph) -> None:
        other.load([film("rival's")], "append", branch="dev")

    new = [f"n{number}" for number in range(5)]
    overtaken(graph, failpoints.PUBLISH_BEFORE_SIDECAR, rival, lambda: spill(graph, "dev", *new))
    assert codes(og.open(graph.uri), "dev") == ["f1", "f2", *new, "rival's"]
    assert [each.branch for each in graph.commits.list("dev")] == ["dev", "dev", "main", "main"]
    # What the winner forked is what both are on.
    first = graph.snapshot("dev", at=graph.commits.list("dev")[1].id)
    assert lines(graph, "dev")["Film"] == next(
        each["physical_branch"] for each in first.to_dict()["types"] if each["name"] == "Film"
    )
    assert_graph_is_whole(graph, "dev")


def test_a_spilled_overwrite_that_loses_its_fork_is_a_conflict(graph: og.Graph):
    def rival(other: og.Graph) -> None:
        other.load([film("rival's")], "append", branch="dev")

    def overwrite() -> None:
        spill(graph, "dev", "f1", "f9", mode=LoadMode.OVERWRITE)

    with pytest.raises(HeadMovedError):
        overtaken(graph, failpoints.PUBLISH_BEFORE_SIDECAR, rival, overwrite)
    assert codes(graph, "dev") == ["f1", "f2", "rival's"]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_receipts_of_a_branch_that_was_written_to_meanwhile_are_still_right(graph: og.Graph, mode: str):
    ticket = graph.bulk(["Film"], branch="dev")
    receipts = [ticket.write("Film", pa.table({"code": [code]})).to_json() for code in ("r0", "r1", "r2")]
    if mode != "append":
        # Somebody has seen it, so it has to stay.
        receipts.append(ticket.write("Film", pa.table({"code": ["f1"]})).to_json())
    og.open(graph.uri).load([film("meanwhile")], "append", branch="dev")
    graph.bulk_publish(receipts, mode, branch="dev")
    kept = ["f1"] if mode == "overwrite" else ["f1", "f2", "meanwhile"]
    assert codes(og.open(graph.uri), "dev") == [*kept, "r0", "r1", "r2"]
    assert codes(graph) == ["f1", "f2"]
    assert own_lines(graph, "dev") == {"Film"}
    assert_graph_is_whole(graph, "dev")


def test_receipts_of_two_tickets_of_one_load_become_one_commit_on_one_line(graph: og.Graph):
    tickets = [graph.bulk(["Film"], branch="dev", load_id="night") for _ in range(2)]
    receipts = [each.write("Film", pa.table({"code": [f"t{n}"]})) for n, each in enumerate(tickets)]
    assert len({rows.branch for each in receipts for rows in each.written}) == 2
    graph.bulk_publish(receipts, branch="dev")
    assert codes(og.open(graph.uri), "dev") == ["f1", "f2", "t0", "t1"]
    assert own_lines(graph, "dev") == {"Film"}


def test_receipts_may_be_published_to_another_branch_than_their_ticket_s(graph: og.Graph):
    graph.branches.create("other")
    ticket = graph.bulk(["Film"], branch="dev")
    receipt = ticket.write("Film", pa.table({"code": ["f3"]}))
    graph.bulk_publish([receipt], branch="other")
    graph.bulk_publish([replace(receipt, load_id="again")])
    for branch in ("other", "main"):
        assert codes(og.open(graph.uri), branch) == ["f1", "f2", "f3"]
    assert own_lines(graph, "other") == {"Film"}
    assert lines(graph) == {}
    assert codes(graph, "dev") == ["f1", "f2"]


# ── what rows hold ───────────────────────────────────────────────────────────────────────────────────────────────────

RICH = """
node Doc { code: String @key  body: Blob?  about: String? @index  mood: Vector(2)? @index  year: I32? @index }
edge Cites: Doc -> Doc
"""
QUERIES = """
query text($word: String) {
    match { $d: Doc  search($d.about, $word) } return { $d.code as code } order { code }
}
query near($v: Vector(2)) { match { $d: Doc } return { $d.code as code } order { nearest($d.mood, $v) } limit 2 }
query since($year: I32) { match { $d: Doc  $d.year >= $year } return { $d.code as code } order { code } }
query cited() { match { $d: Doc  $d cites $other } return { $other.code as code } order { code } }
query retell($code: String, $about: String) { update Doc set { about: $about } where code = $code }
"""


def doc(code: str, about: str, mood: list[float], year: int) -> dict[str, Any]:
    body = f"base64:{base64.b64encode(code.encode()).decode()}"
    return {"type": "Doc", "data": {"code": code, "body": body, "about": about, "mood": mood, "year": year}}


@pytest.fixture
def docs() -> og.Graph:
    made = og.init(place(), schema=RICH)
    made.load([doc("m1", "red whale", [1.0, 0.0], 1990), doc("m2", "blue crane", [0.0, 1.0], 2000)], "append")
    return made


def found(graph: og.Graph, name: str, branch: str, **params: Any) -> list[str]:
    return [row["code"] for row in graph.query(QUERIES, name, branch=branch, params=params)]


@pytest.mark.parametrize("indexed", ["nowhere", "on main before", "on the branch after", "on both"])
def test_searches_on_a_branch_find_rows_of_its_parent_and_its_own(docs: og.Graph, indexed: str):
    if indexed in ("on main before", "on both"):
        docs.maintain.ensure_indices()
    docs.branches.create("dev")
    docs.load([doc("b1", "green whale", [0.9, 0.1], 2010)], "append", branch="dev")
    docs.mutate(QUERIES, "retell", params={"code": "m2", "about": "blue whale"}, branch="dev")
    docs.load([{"edge": "Cites", "from": "b1", "to": "m1"}], "append", branch="dev")
    docs.load([doc("late", "white whale", [1.0, 0.0], 2020)], "append")
    if indexed in ("on the branch after", "on both"):
        assert {each.type_key for each in docs.maintain.ensure_indices("dev").built} == {"node:Doc", "edge:Cites"}
    for handle in (docs, og.open(docs.uri, mode="r")):
        assert found(handle, "text", "dev", word="whale") == ["b1", "m1", "m2"]
        assert found(handle, "text", "main", word="whale") == ["late", "m1"]
        assert found(handle, "near", "dev", v=[1.0, 0.0]) == ["m1", "b1"]
        assert sorted(found(handle, "near", "main", v=[1.0, 0.0])) == ["late", "m1"]
        assert found(handle, "since", "dev", year=2000) == ["b1", "m2"]
        assert found(handle, "since", "main", year=2000) == ["late", "m2"]
        assert found(handle, "cited", "dev") == ["m1"]
        assert found(handle, "cited", "main") == []
    assert_graph_is_whole(docs, "dev")


def test_blobs_of_a_branch_are_those_of_its_parent_and_its_own(docs: og.Graph):
    docs.branches.create("dev")
    docs.load([doc("b1", "", [1.0, 1.0], 1)], "append", branch="dev")
    request = LoadRequest(mode=LoadMode.MERGE, branch="dev", spill_bytes=1)
    load(docs._repository, [doc("m1", "", [1.0, 1.0], 1), doc("b2", "", [1.0, 1.0], 1)], request)
    held = {}
    for line in og.open(docs.uri).export(branch="dev"):
        data = json.loads(line)["data"]
        held[data["code"]] = base64.b64decode(data["body"].removeprefix("base64:")).decode()
    assert held == {code: code for code in ("m1", "m2", "b1", "b2")}
    assert len([*docs.export()]) == 2


def test_a_spilled_load_of_blobs_that_loses_its_fork_is_still_right(docs: og.Graph):
    docs.branches.create("dev")

    def rival(other: og.Graph) -> None:
        other.load([doc("rival's", "", [1.0, 1.0], 1)], "append", branch="dev")

    request = LoadRequest(mode=LoadMode.APPEND, branch="dev", spill_bytes=1)
    overtaken(
        docs,
        failpoints.PUBLISH_BEFORE_SIDECAR,
        rival,
        lambda: load(docs._repository, [doc("b1", "", [1.0, 1.0], 1)], request),
    )
    held = {json.loads(line)["data"]["code"]: json.loads(line)["data"]["body"] for line in docs.export(branch="dev")}
    assert sorted(held) == ["b1", "m1", "m2", "rival's"]
    assert base64.b64decode(held["b1"].removeprefix("base64:")) == b"b1"


# ── what is kept in memory ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_shares_with_its_parent_what_is_open_and_decoded(graph: og.Graph):
    """A branch that is read for the first time costs its manifest, and no table of it is opened or decoded again."""
    query = "query q() { match { $p: Person  $p saw $f } return { $p.name as name, $f.code as code } }"
    expected = [{"name": "ann", "code": "f1"}]
    assert graph.query(query).rows() == expected
    kept = graph.stats()
    with count_table_calls() as counts:
        assert graph.query(query, branch="dev").rows() == expected
    assert (counts["open"], counts["read"], counts["take"], counts["lookup"]) == (0, 0, 0, 0)
    after = graph.stats("dev")
    assert after.open_versions == kept.open_versions
    for family, stats in kept.memory.items():
        assert after.memory[family].builds == stats.builds
    assert kept.memory["adjacency"].builds == 1


def test_after_a_write_to_a_branch_its_adjacency_is_extended_and_not_built_anew(graph: og.Graph):
    query = 'query q() { match { $p: Person { name: "ann" }  $p saw $f } return { $f.code as code } order { code } }'
    for who in ("bo", "cy", "di"):
        graph.load(saw(who, "f2"), "append")
    graph.branches.create("late")
    assert [row["code"] for row in graph.query(query)] == ["f1"]
    before = graph.stats().memory["adjacency"]
    graph.load([{"edge": "Saw", "from": "ann", "to": "f2"}], "append", branch="late")
    assert [row["code"] for row in graph.query(query, branch="late")] == ["f1", "f2"]
    after = graph.stats().memory["adjacency"]
    assert (after.builds - before.builds, after.extensions - before.extensions) == (1, 1)
    # What main shows is as warm as before.
    assert [row["code"] for row in graph.query(query)] == ["f1"]
    assert graph.stats().memory["adjacency"].builds == after.builds


def test_a_write_to_a_branch_leaves_the_parent_as_warm_as_it_was(graph: og.Graph):
    """Both go on from what is known of the version that they share, so neither reads it again."""

    def spent(code: str, branch: str) -> TableCounts:
        with count_table_calls() as counts:
            graph.mutate(ADD, params={"code": code}, branch=branch)
        return counts

    graph.mutate(ADD, params={"code": "f3"})
    graph.branches.create("late")
    usual = spent("f4", "main")
    assert usual["read"] == 0
    first, second, on_main = spent("d1", "late"), spent("d2", "late"), spent("f5", "main")
    assert (first["fork"], first["read"]) == (1, 0)
    assert second == on_main == usual
