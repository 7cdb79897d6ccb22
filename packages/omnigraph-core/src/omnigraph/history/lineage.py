"""How commits descend from each other: bases of merges, chains of first parents, orders to show them in.

Commits are facts here, each with the ids of up to two parents. Where a commit is looked for by its id, ``find`` is
asked: it knows the newest at once and reads the history for others, so nothing is asked that cannot change the answer.
A parent that is not known, because history was reclaimed, ends its path.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from omnigraph.history.commits import Commit
from omnigraph.history.rows import damaged

Find = Callable[[str], Commit | None]
"""The commit of an id; None for one that is not known."""


def parents_of(commit: Commit) -> tuple[str, ...]:
    """The ids of a commit's parents: the one that it follows, then the one that was merged in."""
    given = (commit.parent_id, commit.merged_parent_id)
    return tuple(dict.fromkeys(each for each in given if each is not None))


def merge_base(source_head: str, target_head: str, find: Find) -> Commit | None:
    """The commit that a merge of two heads compares both with; None when they have no commit in common.

    Of all commits that both descend from, or are, it is the one with the fewest steps from both heads together, and the
    newest of those. Steps lead from a commit to its parents. Each commit is asked for once at most, and none beyond
    those that could still be nearer.
    """
    known = cache(find)
    source, target = _Walk(source_head, known), _Walk(target_head, known)
    best: tuple[int, Commit] | None = None
    reached = source.frontier
    while True:
        for commit in reached:
            if commit.id in source.distances and commit.id in target.distances:
                steps = source.distances[commit.id] + target.distances[commit.id]
                if best is None or (-steps, commit.order) > (-best[0], best[1].order):
                    best = steps, commit
        most = None if best is None else best[0]
        useful = [mine for mine, other in ((source, target), (target, source)) if mine.may_reach(other, most)]
        if not useful:
            return None if best is None else best[1]
        # Neither goes far beyond the base when the newest goes first. Only the cost rests on the clocks of writers.
        reached = max(useful, key=lambda each: max(commit.created_at for commit in each.frontier)).step()


def first_parents(head: str, find: Find) -> Iterator[Commit]:
    """A commit and what it followed on its branch, step by step, newest first; each is asked for when it is wanted."""
    wanted: str | None = head
    while wanted is not None and (commit := find(wanted)) is not None:
        yield commit
        wanted = commit.parent_id


def in_order(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """Commits as histories are read: each before its parents, else the newest first; in whatever order they came.

    Raises:
        FormatError: some of them descend from themselves.
    """
    given = {each.id: each for each in commits}
    newest_first = sorted(given.values(), key=lambda each: (each.created_at, each.id), reverse=True)
    ranks = {each.id: rank for rank, each in enumerate(newest_first)}
    children = Counter(parent for each in newest_first for parent in parents_of(each) if parent in ranks)
    ready = [rank for rank, each in enumerate(newest_first) if not children[each.id]]
    found: list[Commit] = []
    while ready:
        commit = newest_first[heapq.heappop(ready)]
        found.append(commit)
        for parent in parents_of(commit):
            children[parent] -= 1
            if parent in ranks and not children[parent]:
                heapq.heappush(ready, ranks[parent])
    if len(found) < len(newest_first):
        raise damaged("some of its commits descend from themselves")
    return tuple(found)


def reachable(head_id: str, commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """Those of the commits that a head descends from, over both parents, and itself; in the order that they came in."""
    given = {each.id: each for each in commits}
    found: set[str] = set()
    open_ids = [head_id]
    while open_ids:
        each = open_ids.pop()
        if each in given and each not in found:
            found.add(each)
            open_ids.extend(parents_of(given[each]))
    return tuple(commit for commit in given.values() if commit.id in found)


class _Walk:
    """The ancestors of one head as far as they were looked at, by the number of steps to them.

    Attributes:
        distances: the steps to each commit that was reached.
        frontier: the commits of the last step; empty when there are no more.
    """

    def __init__(self, head: str, find: Find) -> None:
        self._find = find
        self._children: defaultdict[str, set[str]] = defaultdict(set)
        self._depth = 0
        commit = find(head)
        self.frontier: tuple[Commit, ...] = () if commit is None else (commit,)
        self.distances = {each.id: 0 for each in self.frontier}

    def step(self) -> tuple[Commit, ...]:
        """Go one step further from the head; the commits that were reached by it."""
        self._depth += 1
        reached = []
        for child in self.frontier:
            for parent in parents_of(child):
                self._children[parent].add(child.id)
                if parent not in self.distances and (commit := self._find(parent)) is not None:
                    self.distances[parent] = self._depth
                    reached.append(commit)
        self.frontier = tuple(reached)
        return self.frontier

    def may_reach(self, other: _Walk, most: int | None) -> bool:
        """Whether going on could find a commit of both within so many steps from both heads; None for any number."""
        if not self.frontier or not other.distances:
            return False
        if most is None:
            return True
        # What neither has reached is further off than what both have; so the other has reached it.
        left = most - (self._depth + 1)
        near = {each for each, steps in other.distances.items() if steps <= left and each not in self.distances}
        # What descends from all that lies ahead cannot lie behind it.
        return any(near - other.descendants(each.id) for each in self.frontier)

    def descendants(self, commit_id: str) -> set[str]:
        """What was reached and is known to descend from a commit."""
        found: set[str] = set()
        open_ids = [commit_id]
        while open_ids:
            fresh = self._children.get(open_ids.pop(), set()) - found
            found |= fresh
            open_ids.extend(fresh)
        return found
