"""How commits descend from each other: bases of merges, chains of first parents, orders to show them in.

Commits are facts here, each with the ids of up to two parents. Where a commit is looked for by its id, ``find`` is
asked: it knows the newest at once and reads the history for others, so nothing is asked that cannot change the answer.
A parent that is not known, because history was reclaimed, ends its path.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from omnigraph.history.commits import Commit
from omnigraph.history.rows import damaged

Find = Callable[[str], Commit | None]
"""The commit of an id; None for one that is not known."""


def parents_of(commit: Commit) -> tuple[str, ...]:
    """The ids of a commit's parents: the one that it follows, then the one that was merged in."""
    given = (commit.parent_id, commit.merged_parent_id)
    return tuple(dict.fromkeys(each for each in given if each is not None))


def merge_bases(source_head: str, target_head: str, commits: Mapping[str, Commit]) -> tuple[Commit, ...]:
    """The last commits that two heads have in common, the best one to compare both with first; none if there is none.

    Of the commits that both descend from, or are, those count that no other one of them descends from: an older one
    would show what happened in between as if it had not, and bring rows back that were deleted. Mostly there is one.
    Branches that merged each other have several; then the one with the fewest steps from both heads together comes
    first, and of these the newest.

    Args:
        source_head: the id of one head.
        target_head: the id of the other.
        commits: by id, all that lead to the two.
    """
    source, target = _distances(source_head, commits), _distances(target_head, commits)
    common = source.keys() & target.keys()
    overtaken = {parent for each in common for parent in parents_of(commits[each])}
    bases = (commits[each] for each in common - overtaken)
    return tuple(sorted(bases, key=lambda each: (-source[each.id] - target[each.id], each.order), reverse=True))


def _distances(head: str, commits: Mapping[str, Commit]) -> dict[str, int]:
    """How many steps it takes from a head to each of its ancestors; steps lead from a commit to its parents."""
    found: dict[str, int] = {}
    frontier, steps = [head], 0
    while frontier:
        reached = [each for each in dict.fromkeys(frontier) if each in commits and each not in found]
        found |= dict.fromkeys(reached, steps)
        frontier = [parent for each in reached for parent in parents_of(commits[each])]
        steps += 1
    return found


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
