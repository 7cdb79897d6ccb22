"""``broken_history``: what is wrong with a history: all commits that led to one head, over both parents.

    one beginning ──> lines of versions without gaps, each parted from another one ──> merges ──> one head

Each line of the manifest is one commit after another. A branch begins as a version of another line, so its first commit
is the next version after that, and so is every commit after its first parent. Nothing here reads anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from omnigraph.errors import FormatError
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import in_order, parents_of, reachable


def broken_history(head_id: str, commits: Iterable[Commit]) -> list[str]:
    """What is wrong with the history of a head, in words; ``commits`` are all that it has, in any order."""
    given = list(commits)
    known = {each.id: each for each in given}
    return [
        *_wrong_ids(head_id, given, known),
        *_wrong_descent(head_id, known),
        *_wrong_lines(known.values()),
        *_wrong_versions(known),
    ]


def _wrong_ids(head_id: str, given: Sequence[Commit], known: Mapping[str, Commit]) -> Iterator[str]:
    twice = [name for name, count in Counter(each.id for each in given).items() if count > 1]
    if twice:
        yield f"commits are there twice: {twice}"
    if head_id not in known:
        yield f"the head {head_id} is none of the commits"
    for each in known.values():
        yield from (f"commit {each.id} has an unknown parent: {name}" for name in parents_of(each) if name not in known)
    begun = [each.id for each in known.values() if each.parent_id is None]
    if len(begun) != 1:
        yield f"history has {len(begun)} beginnings: {begun}"


def _wrong_descent(head_id: str, known: Mapping[str, Commit]) -> Iterator[str]:
    try:
        in_order(known.values())
    except FormatError as error:
        yield error.message
    led = {each.id for each in reachable(head_id, known.values())}
    astray = [name for name in known if name not in led]
    if astray and head_id in known:
        yield f"commits did not lead to the head: {astray}"


def _wrong_lines(commits: Iterable[Commit]) -> Iterator[str]:
    """Commits of one line that do not follow each other."""
    lines: defaultdict[str, list[Commit]] = defaultdict(list)
    for each in commits:
        lines[each.line].append(each)
    for line, made in lines.items():
        made.sort(key=lambda each: each.order)
        for before, after in pairwise(made):
            if after.parent_id != before.id:
                found = f"on the line {line} {after.id} comes after {before.id} and follows {after.parent_id}"
                yield f"history is no line: {found}"


def _wrong_versions(known: Mapping[str, Commit]) -> Iterator[str]:
    """Commits that are not the next version after the one that they follow."""
    for each in known.values():
        before = known.get(each.parent_id or "")
        if each.parent_id is not None and before is None:
            continue
        expected = 1 if before is None else before.manifest_version + 1
        if each.manifest_version != expected:
            yield f"manifest versions have gaps: commit {each.id} is {each.manifest_version}, and not {expected}"
