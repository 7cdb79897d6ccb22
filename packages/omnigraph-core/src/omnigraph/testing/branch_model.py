"""``BranchedModel``: a graph with branches as plain dicts, each commit with all its rows; the oracle of random tests.

    create, delete            names, each with its incarnation and its newest commit
    load, mutate, maintain    one more commit on a branch, or ModelRefusalError and everything as it was
    merge                     the outcome, and the conflicts or one more commit with two parents
    diff, merge_base          what two commits differ in, and where they come from

It says again what ``ModelGraph``, ``mutate`` and ``merge_rows`` say about one image, for a history of them. Commits are
never changed, with one exception: ``adopt_ids`` gives new rows the ids that a real graph made for them, so that from
then on both are compared id by id.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from omnigraph.schema import Catalog
from omnigraph.testing.merge_model import Conflict, Rows, Strategy, is_same, merge_rows
from omnigraph.testing.model import FRESH, Mode, ModelGraph, ModelRefusalError, ModelRow, Record, content_of_export
from omnigraph.testing.mutation_model import Statement, mutate

MAIN: Final = "main"

Outcome = Literal["already_up_to_date", "fast_forward", "merged"]
Operation = Literal["insert", "update", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCommit:
    """One commit.

    Attributes:
        number: how many commits the model had before it.
        branch: the name of the branch that it was made on.
        version: one more than that of its parent, as the versions of a real manifest on any of its lines.
        image: all rows after it.
    """

    number: int
    parent: str | None
    merged_parent: str | None = None
    branch: str
    version: int
    image: Rows

    @property
    def id(self) -> str:
        return f"c{self.number}"

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(each for each in (self.parent, self.merged_parent) if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBranch:
    """A branch.

    Attributes:
        incarnation: tells it from earlier and later branches of its name.
        head: the id of its newest commit.
        base_commit: the id of the commit that it began at.
    """

    name: str
    incarnation: int
    head: str
    base_commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMerge:
    """What a merge does, or did.

    Attributes:
        base: the common ancestor.
        image: the rows of the target afterwards, if there are no conflicts.
        resolved: row conflicts that the strategy decided.
        commit: the new commit; None when there is none.
    """

    outcome: Outcome
    base: str
    image: Rows
    conflicts: frozenset[Conflict] = frozenset()
    resolved: frozenset[Conflict] = frozenset()
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """One row in which two commits differ; of an edge with its ends, as they are afterwards or else were before."""

    entity: str
    type: str
    id: str
    op: Operation
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    from_id: str | None
    to_id: str | None


class BranchedModel:
    """Branches, and all commits that ever were, by id. There is ``main`` with one commit at first."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._fresh = itertools.count()
        self._incarnations = itertools.count()
        empty = ModelCommit(number=0, parent=None, branch=MAIN, version=1, image=ModelGraph(catalog).rows)
        self.commits: dict[str, ModelCommit] = {empty.id: empty}
        self.branches: dict[str, ModelBranch] = {}
        self._begin(MAIN, empty.id)

    # ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(self, name: str, base: str = MAIN, at: str | None = None) -> ModelBranch:
        """A new branch at the newest commit of another, or at any commit.

        Raises:
            ModelRefusalError: the name is taken or none, or there is no such branch or commit; so do the others here.
        """
        head = self.branch(base).head if at is None else self._commit(at).id
        if not name.strip() or name in self.branches:
            raise ModelRefusalError(f"{name!r} is taken, or no name")
        return self._begin(name, head)

    def delete(self, name: str) -> None:
        """Remove a branch; its commits stay, and those that other branches reach are still theirs."""
        if name == MAIN:
            raise ModelRefusalError(f"{MAIN} cannot be deleted")
        del self.branches[self.branch(name).name]

    def branch(self, name: str) -> ModelBranch:
        """The branch of this name."""
        if name not in self.branches:
            raise ModelRefusalError(f"there is no branch {name!r}")
        return self.branches[name]

    def graph(self, branch: str = MAIN, at: str | None = None) -> ModelGraph:
        """One state as a graph of its own: that of a branch as it is now, or of a commit."""
        image = self._commit(at or self.branch(branch).head).image
        return ModelGraph(self.catalog, {key: dict(rows) for key, rows in image.items()}, self._fresh)

    def content(self, branch: str = MAIN, at: str | None = None) -> dict[str, Counter[str]]:
        """What a state holds, in the form of ``ModelGraph.content``."""
        return self.graph(branch, at).content()

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, records: Iterable[Record], mode: Mode, branch: str = MAIN) -> str:
        """Load records to a branch; the id of the new commit."""
        graph = self.graph(branch)
        graph.load(records, mode)
        return self._publish(branch, graph.rows)

    def mutate(self, statements: Sequence[Statement], branch: str = MAIN) -> tuple[int, int]:
        """Carry out one query on a branch; how many nodes and edges it affected. No commit when there are none."""
        graph = self.graph(branch)
        affected = mutate(graph, statements)
        if affected != (0, 0):
            self._publish(branch, graph.rows)
        return affected

    def maintain(self, branch: str = MAIN) -> str:
        """A commit that leaves every row as it was."""
        return self._publish(branch, self._commit(self.branch(branch).head).image)

    def adopt_ids(self, lines: Iterable[str], branch: str = MAIN) -> None:
        """Give rows that the newest commit made without ids those of equal rows in an export, which the model lacks.

        Rows that one write makes with equal content cannot be told apart by any later write, so any of them may get any
        of the ids. What finds no partner stays, and is a difference when both are compared.
        """
        head = self._commit(self.branch(branch).head)
        rows = {key: dict(each) for key, each in head.image.items()}
        waiting: dict[str, list[ModelRow]] = {}
        for key, each in rows.items():
            for row in each.values():
                if row.id.startswith(FRESH):
                    waiting.setdefault(_content(key, row.source, row.target, row.values), []).append(row)
        for line in lines if waiting else ():
            record = json.loads(line)
            key = f"node:{record['type']}" if "type" in record else f"edge:{record['edge']}"
            values = dict(record["data"])
            id_ = values.pop("id")
            alike = waiting.get(_content(key, record.get("from"), record.get("to"), values))
            if alike and id_ not in rows[key]:
                row = alike.pop()
                del rows[key][row.id]
                rows[key][id_] = replace(row, id=id_, is_named=True)
        self.commits[head.id] = replace(head, image=rows)

    def agrees(self, lines: Iterable[str], branch: str = MAIN, at: str | None = None) -> bool:
        """Whether an export of a real graph shows this state."""
        graph = self.graph(branch, at)
        return content_of_export(lines, graph) == graph.content()

    # ── merging ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def merge(
        self, source: str, into: str = MAIN, strategy: Strategy = "fail", *, is_dry_run: bool = False
    ) -> ModelMerge:
        """Merge a branch into another; with conflicts, and as a dry run, only what would come of it."""
        if source == into:
            raise ModelRefusalError(f"{source} cannot be merged into itself")
        ours, theirs = self._commit(self.branch(into).head), self._commit(self.branch(source).head)
        bases = self.merge_bases(theirs.id, ours.id)
        base = bases[0]
        if base == theirs.id:
            return ModelMerge(outcome="already_up_to_date", base=base, image=ours.image)
        merged = merge_rows(self.graph(into), base=self._shared(bases), source=theirs.image, strategy=strategy)
        result = ModelMerge(
            outcome="fast_forward" if base == ours.id else "merged",
            base=base,
            image=merged.image,
            conflicts=merged.conflicts,
            resolved=merged.resolved,
        )
        if result.conflicts or is_dry_run:
            return result
        return replace(result, commit=self._publish(into, merged.image, merged_parent=theirs.id))

    def merge_base(self, one: str, other: str) -> str:
        """The common ancestor that a merge goes by first."""
        return self.merge_bases(one, other)[0]

    def merge_bases(self, one: str, other: str) -> list[str]:
        """The last common ancestors, that of least distance to both together first; of several the newest version.

        One that another common ancestor descends from does not count, however near it is by some way: compared with it,
        what was deleted in between would come back.
        """
        near, far = self._distances(one), self._distances(other)
        common = near.keys() & far.keys()
        overtaken = {parent for each in common for parent in self.commits[each].parents}
        bases = [self.commits[each] for each in common - overtaken]
        bases.sort(key=lambda each: (near[each.id] + far[each.id], -each.version, -each.number))
        return [each.id for each in bases]

    def _shared(self, bases: list[str]) -> Rows:
        """What two heads began with: their last common ancestors, merged with each other.

        Of a row that two of these changed to different things, what it was before both.
        """
        first = bases[0]
        image = {key: dict(rows) for key, rows in self.commits[first].image.items()}
        for other in bases[1:]:
            root = self.commits[self.merge_base(first, other)].image
            for key, rows in self.commits[other].image.items():
                for id_ in {*rows, *root[key], *image[key]}:
                    held, theirs, was = image[key].get(id_), rows.get(id_), root[key].get(id_)
                    if is_same(theirs, was) or is_same(theirs, held):
                        continue
                    taken = theirs if is_same(held, was) else was
                    if taken is None:
                        image[key].pop(id_, None)
                    else:
                        image[key][id_] = taken
        return image

    def diff(self, before: str, after: str) -> list[ModelChange]:
        """In which rows two commits differ: nodes, then edges, by type and id."""
        return list(changes_between(self._commit(before).image, self._commit(after).image))

    def history(self, branch: str = MAIN) -> set[str]:
        """The commits that led to the newest one of a branch, by first parents and merged ones, and that one."""
        return set(self._distances(self.branch(branch).head))

    # ── commits ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, name: str, head: str) -> ModelBranch:
        made = ModelBranch(name=name, incarnation=next(self._incarnations), head=head, base_commit=head)
        self.branches[name] = made
        return made

    def _publish(self, branch: str, image: Rows, merged_parent: str | None = None) -> str:
        parent = self._commit(self.branch(branch).head)
        made = ModelCommit(
            number=len(self.commits),
            parent=parent.id,
            merged_parent=merged_parent,
            branch=branch,
            version=parent.version + 1,
            image=image,
        )
        self.commits[made.id] = made
        self.branches[branch] = replace(self.branches[branch], head=made.id)
        return made.id

    def _commit(self, id_: str) -> ModelCommit:
        if id_ not in self.commits:
            raise ModelRefusalError(f"there is no commit {id_}")
        return self.commits[id_]

    def _distances(self, start: str) -> dict[str, int]:
        """How many steps each ancestor is away, by the shortest way."""
        found = {start: 0}
        waiting = deque([start])
        while waiting:
            each = waiting.popleft()
            for parent in self.commits[each].parents:
                if parent not in found:
                    found[parent] = found[each] + 1
                    waiting.append(parent)
        return found


def changes_between(before: Rows, after: Rows) -> Iterator[ModelChange]:
    """In which rows two images differ: nodes, then edges, by type and id."""
    for key in sorted(before, key=lambda each: (each.startswith("edge:"), each)):
        entity, _, name = key.partition(":")
        for id_ in sorted({*before[key], *after[key]}):
            old, new = before[key].get(id_), after[key].get(id_)
            if is_same(old, new):
                continue
            shown = new or old
            yield ModelChange(
                entity=entity,
                type=name,
                id=id_,
                op="insert" if old is None else "delete" if new is None else "update",
                before=None if old is None else old.values,
                after=None if new is None else new.values,
                from_id=None if shown is None else shown.source,
                to_id=None if shown is None else shown.target,
            )


def _content(key: str, source: str | None, target: str | None, values: Mapping[str, Any]) -> str:
    return json.dumps([key, source, target, values], sort_keys=True)
