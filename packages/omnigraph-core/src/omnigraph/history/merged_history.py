"""The histories of two branches together: what they have in common, and what one of them lacks of the other.

A log knows its newest commits by heart and reads the others, so both questions go by what is known as long as that
answers them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from omnigraph.history.commits import Commit
from omnigraph.history.lineage import Find, merge_bases, parents_of
from omnigraph.history.log import ManifestLog


def finder(log: ManifestLog) -> Find:
    """Looks for a commit among the newest of a log, and then in its history, which is read once."""
    known: Mapping[str, Commit] = {each.id: each for each in log.state.recent}
    is_read = False

    def find(commit_id: str) -> Commit | None:
        nonlocal known, is_read
        if commit_id not in known and not is_read:
            known, is_read = log.lineage(), True
        return known.get(commit_id)

    return find


def parting_commits(source: ManifestLog, target: ManifestLog) -> tuple[Commit, ...]:
    """Where two branches parted, as ``lineage.merge_bases`` says; none when they have nothing in common."""
    heads = source.state.head.id, target.state.head.id
    known = {each.id: each for log in (source, target) for each in log.state.recent}
    if not _are_told_apart(heads, known):
        known = {**target.lineage(), **source.lineage()}
    return merge_bases(*heads, known)


def _are_told_apart(heads: tuple[str, str], known: Mapping[str, Commit]) -> bool:
    """Whether commits are enough to tell what two heads have in common: each that leads to one of them only is there.

    What leads to a commit that both have, both have too, so nothing beyond it can be a base.
    """
    one, other = (_leading_to(each, known.get, ()) for each in heads)
    common = {each for each in one.keys() & other.keys() if each in known}
    return all(None not in _leading_to(each, known.get, common).values() for each in heads)


def commits_to_bring(source: ManifestLog, target: ManifestLog, *, base_id: str) -> tuple[Commit, ...]:
    """The commits that led to the head of a source and that a target does not know; the base of the merge it knows.

    What descends from the base is new to the target, or else it would be the base. So the target's history is read only
    where there is more than that: what the source merged, or had before it merged the base, others may have brought.
    """
    known = {base_id, *(each.id for each in target.state.recent)}
    by_heart = {each.id: each for each in source.state.recent}
    found = _leading_to(source.state.head.id, by_heart.get, known)
    if None in found.values() or not _all_descend(found, base_id):
        found = _leading_to(source.state.head.id, finder(source), known | target.lineage().keys())
    return tuple(each for each in found.values() if each is not None)


def _leading_to(head_id: str, find: Find, known: Collection[str]) -> dict[str, Commit | None]:
    """What leads to a head, by id, up to commits that are known; None where a commit is not found."""
    found: dict[str, Commit | None] = {}
    open_ids = [head_id]
    while open_ids:
        commit_id = open_ids.pop()
        if commit_id not in known and commit_id not in found:
            commit = found[commit_id] = find(commit_id)
            open_ids.extend(() if commit is None else parents_of(commit))
    return found


def _all_descend(commits: Mapping[str, Commit | None], base_id: str) -> bool:
    """Whether each of the commits descends from a base, by way of others of them."""
    children: dict[str, list[str]] = {}
    for commit_id, commit in commits.items():
        for parent in () if commit is None else parents_of(commit):
            children.setdefault(parent, []).append(commit_id)
    descending: set[str] = set()
    open_ids = [base_id]
    while open_ids:
        new = [each for each in children.get(open_ids.pop(), ()) if each not in descending]
        descending.update(new)
        open_ids.extend(new)
    return descending == commits.keys()
