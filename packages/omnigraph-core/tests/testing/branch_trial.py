"""``BranchTrial``: one graph with branches and its model side by side; each step is taken by both, and compared.

    BranchTrial.take(step) ──> AssertionError, or both refused it, or both hold the same afterwards
    BranchTrial.look_back() ─> the same for every commit that a branch still reaches, and for differences between them

Two handles take turns, so that each is often out of date.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, HeadMovedError, InvalidInputError, MergeConflictError, MergeConflictKind
from omnigraph.testing.answers import disagreement
from omnigraph.testing.branch_model import BranchedModel, ModelChange, ModelMerge, changes_between
from omnigraph.testing.branch_strategies import (
    STRATEGIES,
    CreateBranch,
    DeleteBranch,
    LoadRecords,
    Maintain,
    Merge,
    Mutate,
    Step,
    take_step,
)
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.merge_model import Conflict
from omnigraph.testing.model import ModelRefusalError
from omnigraph.testing.mutation_strategies import MutationWorld
from omnigraph.testing.mutation_text import spell_mutation
from omnigraph.testing.query_model import QueryModel
from omnigraph.write.tail import fold_type

REFUSED = "refused"


@dataclass
class BranchTrial:
    """A graph and its model. ``origin`` says how to get here again; it is told with the steps when something differs.

    Attributes:
        commits: ids of the real commits, by those of the model.
    """

    origin: str
    world: MutationWorld
    random: Random
    model: BranchedModel = field(init=False)
    commits: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        uri = f"memory://branches-{secrets.token_hex(8)}/g"
        self.handles = [og.init(uri, schema=self.world.schema), og.open(uri)]
        self.model = BranchedModel(self.world.catalog)
        self._note("main")
        self.take(LoadRecords(branch="main", mode="append", records=self.world.start))

    @property
    def graph(self) -> og.Graph:
        """One of the handles."""
        return self.random.choice(self.handles)

    def take(self, step: Step) -> None:
        self.told.append(f"{step}")
        try:
            self._take(step)
        except Exception as error:
            error.add_note("\n".join(["── again: " + self.origin, "── steps:", *self.told]))
            raise

    def close(self) -> None:
        for each in self.handles:
            each.close()

    # ── one step ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, step: Step) -> None:
        match step:
            case CreateBranch():
                take_step(self.model, step)
                made = self.graph.branches.create(step.name, base=step.base, at=step.at and self.commits[step.at])
                assert made.base_commit == made.head == self._head(step.name)
            case DeleteBranch():
                take_step(self.model, step)
                self.graph.branches.delete(step.name)
            case LoadRecords():
                self._load(step)
            case Mutate():
                self._mutate(step)
            case Maintain():
                self._maintain(step)
            case Merge():
                self._merge(step)
        self._compare_branches()
        for name in {getattr(step, each, None) for each in ("name", "branch", "source", "into")} & {
            *self.model.branches
        }:
            self._compare(name)

    def _load(self, step: LoadRecords) -> None:
        graph, records = self.graph, list(step.records)
        expected = outcome_of(lambda: take_step(self.model, step))
        found = outcome_of(lambda: graph.load(records, step.mode, branch=step.branch, base=step.base))
        assert (found == REFUSED) == (expected == REFUSED)
        if found != REFUSED:
            self._note(step.branch)

    def _mutate(self, step: Mutate) -> None:
        graph = self.graph
        source, params = spell_mutation(self.world.catalog, step.statements, seed=self.random.randint(0, 2**20))
        expected = outcome_of(lambda: take_step(self.model, step))
        found = outcome_of(lambda: graph.mutate(source, params=params, branch=step.branch))
        if REFUSED in (found, expected):
            same(found, expected)
            return
        same((found.affected_nodes, found.affected_edges), expected)
        assert (found.commit is None) == (expected == (0, 0))
        if found.commit is not None:
            self._note(step.branch)

    def _maintain(self, step: Maintain) -> None:
        """Fold what a branch has many parts of, or build its indexes; either may have nothing to do."""
        graph = self.graph
        if self.random.random() < 0.3:
            made = [graph.maintain.ensure_indices(step.branch).commit]
        else:
            keys = [*self.model.graph(step.branch).rows]
            made = [fold_type(graph._repository, step.branch, key)[0] for key in keys]
        for commit in made:
            if commit is not None:
                self.commits[self.model.maintain(step.branch)] = commit.id

    # ── a merge ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _merge(self, step: Merge) -> None:
        graph, strategy = self.graph, STRATEGIES[step.strategy]
        heads = [self._head(step.into), self._head(step.source)]
        image = self.model.commits[self.model.branch(step.into).head].image
        if self.random.random() < 0.3:
            expected = self.model.merge(step.source, step.into, strategy, is_dry_run=True)
            told = graph.branches.merge(step.source, step.into, strategy=strategy, dry_run=True)
            same((told.outcome, told.commit), (expected.outcome, None))
            same({identity(each) for each in told.conflicts}, expected.conflicts)
            if not expected.conflicts:
                same(shown(changes_of_arrow(told.changes)), shown(changes_between(image, expected.image)))
            with pytest.raises(HeadMovedError):
                graph.branches.merge(step.source, step.into, strategy=strategy, expect_head=heads[1] + "0")
        expected = take_step(self.model, step)
        assert isinstance(expected, ModelMerge)
        call = self.graph.branches.merge
        options = {"strategy": strategy, "delete_branch": step.deletes_source, "expect_head": heads[0]}
        conflicts: tuple[Any, ...] = ()
        try:
            found = call(step.source, step.into, **options)
        except MergeConflictError as error:
            conflicts = error.conflicts
        same({identity(each) for each in conflicts}, expected.conflicts)
        if conflicts:
            return
        same((found.outcome, found.branch_deleted), (expected.outcome, step.deletes_source))
        same((found.base_commit, found.resolved), (self.commits[expected.base], len(expected.resolved)))
        if expected.commit is None:
            assert found.commit is None
            return
        self._note(step.into)
        same(found.commit.id, self.commits[expected.commit])
        same([found.commit.parent_id, found.commit.merged_parent_id], heads)

    # ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _note(self, branch: str) -> None:
        """Remember the newest commit of a branch, and let the model have the ids of its new rows."""
        snapshot = self.graph.snapshot(branch)
        self.commits[self.model.branch(branch).head] = snapshot.commit.id
        self.model.adopt_ids(self.graph.export(branch=branch), branch)

    def _head(self, branch: str) -> str:
        return self.commits[self.model.branch(branch).head]

    def _compare_branches(self) -> None:
        listed = self.graph.branches.list()
        same([each.name for each in listed], ["main", *sorted({*self.model.branches} - {"main"})])
        same({each.name: each.head for each in listed}, {name: self._head(name) for name in self.model.branches})
        for each in listed[1:]:
            same(each.base_commit, self.commits[self.model.branch(each.name).base_commit])

    def _compare(self, branch: str) -> None:
        graph = self.graph
        assert self.model.agrees(graph.export(branch=branch), branch), self._difference(branch)
        listed = [each.id for each in graph.commits.list(branch)]
        same(listed[0], self._head(branch))
        same(sorted(listed), sorted(self.commits[each] for each in self.model.history(branch)))
        edge = self.world.catalog.edges[self.random.choice(sorted(self.world.catalog.edges))]
        step = f"{edge.name[0].lower()}{edge.name[1:]}"
        query = f"query follow() {{ match {{ $a: {edge.source}  $a {step} $b }} return {{ $a, $b }} }}"
        result = graph.query(query, branch=branch)
        wrong = disagreement(QueryModel(self.model.graph(branch)).answer(query), result.columns, result.rows())
        assert wrong is None, f"{query}: {wrong}"

    def _difference(self, branch: str) -> str:
        return f"{branch} should be {self.model.content(branch)}, and is {list(self.graph.export(branch=branch))}"

    def look_back(self, *, differences: int = 6) -> None:
        """Compare each commit that a branch reaches, and some differences between them; then the graph as a whole."""
        self.told.append("look back")
        try:
            self._look_back(differences)
        except Exception as error:
            error.add_note("\n".join(["── again: " + self.origin, "── steps:", *self.told]))
            raise

    def _look_back(self, differences: int) -> None:
        reached = sorted(set().union(*(self.model.history(each) for each in self.model.branches)))
        for each in reached:
            lines = list(self.graph.export(snapshot=self.commits[each]))
            assert self.model.agrees(lines, at=each), f"{each} {self.commits[each]}: {lines}"
            commit, known = self.graph.commits.show(self.commits[each]), self.model.commits[each]
            parents = [commit.parent_id, commit.merged_parent_id]
            same(parents, [parent and self.commits[parent] for parent in (known.parent, known.merged_parent)])
            same(commit.branch, known.branch)
        for _ in range(differences):
            one, other = self.random.choice(reached), self.random.choice(reached)
            found = shown(self.graph.diff(self.commits[one], self.commits[other]))
            same(found, shown(self.model.diff(one, other)), f"{one} to {other}")
        assert_graph_is_whole(self.graph)


def same(found: Any, expected: Any, about: str = "") -> None:
    """An assertion that tells both; this is no test module, where pytest would."""
    if found != expected:
        raise AssertionError(f"{about}\n── found:    {found}\n── expected: {expected}")


def outcome_of(call: Any) -> Any:
    """What a call gives, or that it was refused."""
    try:
        return call()
    except (ModelRefusalError, ConstraintError, InvalidInputError):
        return REFUSED


def identity(conflict: Any) -> Conflict:
    """A real conflict as the model tells it: the number of edges is that of the node in the message."""
    counted = re.search("source '(.*)' has", conflict.message)
    by_node = counted and conflict.kind is MergeConflictKind.CARDINALITY_VIOLATION
    return Conflict(conflict.kind, conflict.entity, conflict.type, counted[1] if by_node else conflict.id)


def shown(changes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Changes in a form that can be compared, in the order of nodes, edges, types and ids."""
    found = [
        (
            each.entity,
            each.type,
            each.id,
            str(each.op),
            each.from_id,
            each.to_id,
            _spelled(each.before),
            _spelled(each.after),
        )
        for each in changes
    ]
    return sorted(found, key=lambda each: (each[0] == "edge", each[1:4]))


def changes_of_arrow(table: Any) -> list[ModelChange]:
    """The changes that a dry run tells."""
    rows = [
        {**each, **{name: each[name] and json.loads(each[name]) for name in ("before", "after")}}
        for each in table.to_pylist()
    ]
    return [ModelChange(**each) for each in rows]


def _spelled(row: Mapping[str, Any] | None) -> str:
    return json.dumps(row, sort_keys=True)
