"""The oracle keeps the rules of branches and merges by itself: each row of the tables of the specification, once."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from omnigraph.errors import MergeConflictKind
from omnigraph.schema import compile_schema
from omnigraph.testing.branch_model import BranchedModel, ModelChange
from omnigraph.testing.branch_strategies import Merge, branch_world, decide_by_id, make_step, take_step
from omnigraph.testing.merge_model import Conflict
from omnigraph.testing.model import ModelRefusalError, Record
from omnigraph.testing.mutation_model import DeleteEdges, DeleteNodes, InsertEdge, InsertNode, Update, Where

SCHEMA = """
node Person { name: String @key  mail: String? @unique  age: I32?  @range(age, 0..99) }
node Note { text: String  weight: F64?  tags: [String]? }
edge Knows: Person -> Person { since: I32? }
edge Sits: Person -> Note @card(0..1)
edge Cites: Note -> Note @card(2..)
"""


def person(name: str, **values: Any) -> Record:
    return {"type": "Person", "data": {"name": name, **values}}


def note(id_: str, **values: Any) -> Record:
    return {"type": "Note", "data": {"id": id_, "text": id_, **values}}


def edge(name: str, id_: str, source: str, target: str, **values: Any) -> Record:
    return {"edge": name, "from": source, "to": target, "data": {"id": id_, **values}}


START = [
    *(person(name) for name in ("ann", "bo", "cy")),
    *(note(each) for each in ("n1", "n2")),
    edge("Knows", "k1", "ann", "bo"),
    *(edge("Cites", f"c{number}", "n1", "n2") for number in range(3)),
]


def named(name: str) -> Where:
    return Where(property="name", value=name)


@pytest.fixture
def model() -> BranchedModel:
    """``main`` and ``side`` at the same commit."""
    model = BranchedModel(compile_schema(SCHEMA))
    model.load(START, "append")
    model.create("side")
    return model


def rows(model: BranchedModel, key: str, branch: str = "main") -> dict[str, Any]:
    return dict(model.commits[model.branch(branch).head].image[key])


def conflicts(model: BranchedModel, strategy: Any = "fail") -> set[tuple[str, ...]]:
    """Of a merge of ``side`` into ``main``."""
    return {(str(kind), *rest) for kind, *rest in model.merge("side", "main", strategy).conflicts}


# ── branches and commits ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_begins_as_what_it_was_made_from_and_goes_its_own_way(model: BranchedModel):
    assert model.content("side") == model.content("main")
    model.mutate([InsertNode(type="Person", values={"name": "dee"})], "side")
    assert set(rows(model, "node:Person", "side")) - set(rows(model, "node:Person")) == {"dee"}
    assert model.commits[model.branch("side").head].parent == model.branch("main").head


def test_a_branch_may_begin_at_an_old_commit(model: BranchedModel):
    old = model.branch("main").head
    model.load([person("dee")], "append")
    assert model.create("back", at=old).head == old
    assert "dee" not in rows(model, "node:Person", "back")


def test_a_name_that_is_used_again_is_another_branch(model: BranchedModel):
    model.load([person("dee")], "append", "side")
    before = model.branch("side")
    model.delete("side")
    assert model.create("side").incarnation != before.incarnation
    assert "dee" not in rows(model, "node:Person", "side")
    assert before.head not in model.history("side")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.create("side"),
        lambda model: model.create("main"),
        lambda model: model.create(" "),
        lambda model: model.create("new", base="nowhere"),
        lambda model: model.create("new", at="c99"),
        lambda model: model.delete("main"),
        lambda model: model.delete("nowhere"),
        lambda model: model.load([], "append", "nowhere"),
        lambda model: model.load([person("ann")], "append", "side"),
        lambda model: model.mutate([DeleteNodes(type="Person", where=named("ann"))], "nowhere"),
        lambda model: model.merge("side", "side"),
        lambda model: model.merge("nowhere", "main"),
    ],
)
def test_what_is_refused_leaves_everything_as_it_was(model: BranchedModel, call: Any):
    before = dict(model.branches), dict(model.commits)
    with pytest.raises(ModelRefusalError):
        call(model)
    assert (model.branches, model.commits) == before


def test_a_mutation_that_affects_nothing_makes_no_commit(model: BranchedModel):
    before = model.branch("side").head
    assert model.mutate([DeleteNodes(type="Person", where=named("nobody"))], "side") == (0, 0)
    assert model.branch("side").head == before


def test_commits_stay_as_they_were_whatever_comes_after(model: BranchedModel):
    seen = {each: model.content(at=each) for each in model.commits}
    model.mutate([Update(type="Person", values={"age": 3}, where=named("ann"))], "side")
    model.mutate([DeleteNodes(type="Person", where=named("bo"))], "main")
    model.merge("side", "main")
    assert {each: model.content(at=each) for each in seen} == seen


def test_new_rows_get_the_ids_of_a_real_graph(model: BranchedModel):
    model.mutate([InsertEdge(type="Knows", source="cy", target="ann")] * 2, "side")
    lines = [
        json.dumps({"edge": "Knows", "from": "ann", "to": "bo", "data": {"id": "k1", "since": None}}),
        json.dumps({"edge": "Knows", "from": "cy", "to": "ann", "data": {"id": "01A", "since": None}}),
        json.dumps({"edge": "Knows", "from": "cy", "to": "ann", "data": {"id": "01B", "since": None}}),
    ]
    model.adopt_ids(lines, "side")
    assert set(rows(model, "edge:Knows", "side")) == {"k1", "01A", "01B"}
    assert not model.agrees(lines, "side"), "an export has nodes, too"


# ── merge bases and outcomes ─────────────────────────────────────────────────────────────────────────────────────────


def test_without_commits_of_the_source_there_is_nothing_to_merge(model: BranchedModel):
    assert model.merge("side", "main").outcome == "already_up_to_date"
    model.load([person("dee")], "append", "main")
    before = dict(model.commits)
    assert (model.merge("side", "main").outcome, model.merge("side", "main").commit) == ("already_up_to_date", None)
    assert model.commits == before


def test_a_fast_forward_records_both_parents(model: BranchedModel):
    model.load([person("dee")], "append", "side")
    heads = model.branch("main").head, model.branch("side").head
    merged = model.merge("side", "main")
    assert merged.outcome == "fast_forward"
    assert model.commits[str(merged.commit)].parents == heads
    assert model.content("main") == model.content("side")
    # The other way round there is now a commit that only main has.
    assert model.merge("main", "side").outcome == "fast_forward"


def test_a_merge_has_the_changes_of_both(model: BranchedModel):
    model.load([person("dee")], "append", "side")
    model.mutate([Update(type="Person", values={"age": 7}, where=named("cy"))], "main")
    assert model.merge("side", "main").outcome == "merged"
    assert set(rows(model, "node:Person")) == {"ann", "bo", "cy", "dee"}
    assert rows(model, "node:Person")["cy"].values["age"] == 7
    assert "dee" in rows(model, "node:Person", "side"), "the source stays"
    assert rows(model, "node:Person", "side")["cy"].values["age"] is None


def test_the_base_is_the_nearest_common_commit(model: BranchedModel):
    fork = model.branch("main").head
    model.load([person("dee")], "append", "side")
    first = model.branch("side").head
    model.load([person("eve")], "append", "main")
    assert model.merge("side", "main").base == fork
    model.load([person("flo")], "append", "side")
    assert model.merge("side", "main").base == first


def test_of_bases_at_equal_distance_the_one_of_the_newest_version_counts(model: BranchedModel):
    """A criss-cross: each merged the other, so the two heads before are both bases."""
    for name in ("dee", "eve", "flo"):
        model.load([person(name)], "append", "side")
    model.load([person("gus")], "append", "main")
    on_main, on_side = model.branch("main").head, model.branch("side").head
    model.create("was-main", at=on_main)
    model.merge("side", "main")
    model.merge("was-main", "side")
    assert model.commits[on_main].number > model.commits[on_side].number
    assert model.commits[on_main].version < model.commits[on_side].version
    assert model.merge_base(model.branch("main").head, model.branch("side").head) == on_side


def test_a_base_that_another_one_descends_from_does_not_count_however_near_it_is(model: BranchedModel):
    """``old`` took all of side in one step, so by that step the first commit of all is the nearest."""
    model.create("old", at="c0")
    for name in ("dee", "eve"):
        model.load([person(name)], "append", "side")
    fork = model.branch("main").head
    model.merge("side", "old")
    model.mutate([DeleteNodes(type="Person", where=named("cy"))], "main")
    assert model.merge("old", "main").base == fork
    assert set(rows(model, "node:Person")) == {"ann", "bo", "dee", "eve"}


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ends_are_part_of_an_edge(model: BranchedModel):
    model.load([edge("Knows", "k1", "ann", "cy")], "merge", "side")
    model.load([edge("Knows", "k1", "cy", "bo")], "merge", "main")
    assert conflicts(model) == {("divergent_update", "edge", "Knows", "k1")}


def test_a_strategy_may_be_asked_conflict_by_conflict(model: BranchedModel):
    for branch, age in (("side", 1), ("main", 2)):
        model.mutate([Update(type="Person", values={"age": age}, where=named(name)) for name in ("ann", "bo")], branch)
    merged = model.merge("side", "main", lambda conflict: "ours" if conflict.id == "ann" else "theirs")
    assert {row.id: row.values["age"] for row in rows(model, "node:Person").values()} == {"ann": 2, "bo": 1, "cy": None}
    assert {each.id for each in merged.resolved} == {"ann", "bo"}


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_edge_to_a_node_that_the_other_side_deleted_is_a_conflict_both_ways(model: BranchedModel):
    model.mutate([DeleteNodes(type="Person", where=named("bo"))], "side")
    model.load([edge("Knows", "k2", "cy", "bo")], "append", "main")
    for strategy in ("fail", "ours", "theirs"):
        assert conflicts(model, strategy) == {("orphan_edge", "edge", "Knows", "k2")}
    back = model.merge("main", "side").conflicts
    assert back == {Conflict(MergeConflictKind.ORPHAN_EDGE, "edge", "Knows", "k2")}


def test_a_unique_value_on_both_sides_is_a_conflict_of_the_row_that_is_to_be_written(model: BranchedModel):
    model.mutate([Update(type="Person", values={"mail": "m"}, where=named("ann"))], "side")
    model.mutate([Update(type="Person", values={"mail": "m"}, where=named("bo"))], "main")
    assert conflicts(model) == {("unique_violation", "node", "Person", "ann")}
    assert {each.id for each in model.merge("main", "side").conflicts} == {"bo"}


def test_a_strategy_that_leaves_a_rule_broken_does_not_help(model: BranchedModel):
    model.load([person("ann", mail="m")], "merge")
    model.create("late")
    free = Update(type="Person", values={"mail": None}, where=named("ann"))
    take = Update(type="Person", values={"mail": "m"}, where=named("bo"))
    model.mutate([free, take], "late")
    model.mutate([Update(type="Person", values={"age": 5}, where=named("ann"))], "main")
    assert {each.kind for each in model.merge("late", "main").conflicts} == {
        MergeConflictKind.DIVERGENT_UPDATE,
        MergeConflictKind.UNIQUE_VIOLATION,
    }
    (left,) = model.merge("late", "main", "ours").conflicts
    assert (left.kind, left.id) == (MergeConflictKind.UNIQUE_VIOLATION, "bo")
    assert model.merge("late", "main", "theirs").outcome == "merged"


def test_too_many_and_too_few_edges_are_conflicts_of_their_source(model: BranchedModel):
    model.load([edge("Sits", "s1", "ann", "n1")], "append", "side")
    model.load([edge("Sits", "s2", "ann", "n2")], "append", "main")
    keep = [edge("Cites", f"c{number}", "n1", "n2") for number in range(3)]
    model.load(keep[1:], "overwrite", "side")
    model.load(keep[:2], "overwrite", "main")
    assert conflicts(model) == {
        ("cardinality_violation", "edge", "Sits", "ann"),
        ("cardinality_violation", "edge", "Cites", "n1"),
    }


def test_edges_of_a_source_that_is_deleted_are_not_counted(model: BranchedModel):
    model.mutate([DeleteNodes(type="Note", where=Where(property="text", value="n1"))], "side")
    model.load([note("n3")], "append", "main")
    assert model.merge("side", "main").outcome == "merged"
    assert rows(model, "edge:Cites") == {}


def test_rules_are_judged_beside_rows_that_are_open(model: BranchedModel):
    for branch, name in (("side", "ann"), ("main", "bo")):
        model.mutate([Update(type="Person", values={"mail": "m"}, where=named(name))], branch)
        model.mutate([Update(type="Person", values={"age": len(name)}, where=named("cy"))], branch)
    broken = ("unique_violation", "node", "Person", "ann")
    assert conflicts(model) == {("divergent_update", "node", "Person", "cy"), broken}
    assert conflicts(model, "theirs") == {broken}


def test_a_row_that_is_open_is_there_while_rules_are_judged(model: BranchedModel):
    """Main deleted a node that side changed and hung an edge on: only the node is to be decided."""
    model.load([person("bo", age=5), edge("Knows", "k2", "cy", "bo")], "merge", "side")
    model.mutate([DeleteNodes(type="Person", where=named("bo"))], "main")
    assert conflicts(model) == {("delete_vs_update", "node", "Person", "bo")}
    assert conflicts(model, "ours") == {("orphan_edge", "edge", "Knows", "k2")}
    assert model.merge("side", "main", "theirs").outcome == "merged"


def test_with_conflicts_and_in_a_dry_run_nothing_is_published(model: BranchedModel):
    model.load([person("dee", age=1)], "append", "side")
    before = dict(model.commits), dict(model.branches)
    assert model.merge("side", "main", is_dry_run=True).image["node:Person"].keys() == {"ann", "bo", "cy", "dee"}
    assert (model.commits, model.branches) == before
    model.load([person("dee", age=2)], "append", "main")
    before = dict(model.commits), dict(model.branches)
    assert conflicts(model) == {("divergent_insert", "node", "Person", "dee")}
    assert (model.commits, model.branches) == before


def test_the_same_change_on_both_sides_is_none(model: BranchedModel):
    for branch in ("side", "main"):
        model.load([person("dee", age=1), person("ann", age=4)], "merge", branch)
        model.mutate([DeleteEdges(type="Knows", where=Where(property="from", value="ann"))], branch)
    before = model.content("main")
    assert model.merge("side", "main").outcome == "merged"
    assert model.content("main") == before


# ── differences ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_difference_tells_each_row_that_is_not_the_same(model: BranchedModel):
    before = model.branch("main").head
    model.mutate([DeleteNodes(type="Person", where=named("bo"))], "main")
    model.load([person("ann", age=4), person("dee")], "merge")
    blank = {"mail": None, "age": None}
    node = {"entity": "node", "type": "Person", "from_id": None, "to_id": None}
    edge = {"entity": "edge", "type": "Knows", "from_id": "ann", "to_id": "bo"}
    aged = {"name": "ann", "mail": None, "age": 4}
    assert model.diff(before, model.branch("main").head) == [
        ModelChange(**node, id="ann", op="update", before={"name": "ann", **blank}, after=aged),
        ModelChange(**node, id="bo", op="delete", before={"name": "bo", **blank}, after=None),
        ModelChange(**node, id="dee", op="insert", before=None, after={"name": "dee", **blank}),
        ModelChange(**edge, id="k1", op="delete", before={"since": None}, after=None),
    ]
    assert model.diff(before, before) == []


# ── random histories ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_random_histories_reach_every_outcome_and_every_conflict_that_rows_can_have():
    world, seen = branch_world(), Counter[str]()
    for seed in range(400):
        random, model = Random(seed), BranchedModel(world.catalog)
        model.load(world.start, "append")
        for _ in range(16):
            step = make_step(random, world, model)
            seen[type(step).__name__] += 1
            try:
                result = take_step(model, step)
            except ModelRefusalError:
                seen["refused"] += 1
                continue
            if isinstance(step, Merge):
                seen["conflicts" if result.conflicts else result.outcome] += 1
                seen.update({f"{each.kind} {each.entity}" for each in result.conflicts})
                seen.update({"resolved" for _ in result.resolved})
    wanted = (
        "CreateBranch", "DeleteBranch", "LoadRecords", "Mutate", "Maintain", "Merge", "refused", "conflicts",
        "resolved", "already_up_to_date", "fast_forward", "merged", "divergent_insert node", "divergent_insert edge",
        "divergent_update node", "divergent_update edge", "delete_vs_update node", "delete_vs_update edge",
        "orphan_edge edge", "unique_violation node", "unique_violation edge", "cardinality_violation edge",
    )  # fmt: skip
    assert [each for each in wanted if seen[each] == 0] == []
    # Whatever is taken from either side kept its own rules there.
    assert not any("value" in each for each in seen)


def test_the_choice_by_id_takes_both_sides():
    people = [Conflict(MergeConflictKind.DIVERGENT_UPDATE, "node", "Person", name) for name in ("ann", "bo", "cy")]
    assert {decide_by_id(each) for each in people} == {"ours", "theirs"}
