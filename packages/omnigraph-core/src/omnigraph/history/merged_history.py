"""The histories of two branches together: what they have in common, and what one of them lacks of the other.

A log knows its newest commits by heart and reads the others, so both questions go by what is known as long as that
answers them.
"""

from __future__ import annotations

from omnigraph.history.commits import Commit
from omnigraph.history.lineage import Find, merge_base, parents_of
from omnigraph.history.log import ManifestLog


def finder(*logs: ManifestLog) -> Find:
    """Looks for a commit in several logs: among the newest of all of them first, then in what each one knows."""
    recent = {each.id: each for log in logs for each in log.state.recent}
    older: dict[str, Commit] | None = None

    def find(commit_id: str) -> Commit | None:
        nonlocal older
        found = recent.get(commit_id)
        if found is None:
            if older is None:
                older = {key: each for log in logs for key, each in log.lineage().items()}
            found = older.get(commit_id)
        return found

    return find


def parting_commit(source: ManifestLog, target: ManifestLog) -> Commit | None:
    """Where two branches parted, as ``lineage.merge_base`` says; None when they have nothing in common."""
    found = _on_the_line(source, target)
    if found is None:
        everything = {**target.lineage(), **source.lineage()}
        found = merge_base(source.state.head.id, target.state.head.id, everything)
    return found


def _on_the_line(source: ManifestLog, target: ManifestLog) -> Commit | None:
    """Where two branches parted, if what both remember is enough to tell; no history is read.

    What is remembered of the target is an unbroken line. Where all that led to the source ends in it, and nothing was
    merged into the target since the newest of these ends, that one is what both descend from.
    """
    line = {each.id: each for each in target.state.recent}
    known = {each.id: each for each in source.state.recent}
    ends: list[int] = []
    seen: set[str] = set()
    open_ids = [source.state.head.id]
    while open_ids:
        commit_id = open_ids.pop()
        if commit_id in line:
            ends.append(line[commit_id].manifest_version)
        elif commit_id not in known:
            return None
        elif commit_id not in seen:
            seen.add(commit_id)
            open_ids.extend(parents_of(known[commit_id]))
    if not ends:
        return None
    since = [each for each in target.state.recent if each.manifest_version >= max(ends)]
    return None if any(each.merged_parent_id for each in since[1:]) else since[0]


def commits_to_bring(source: ManifestLog, target: ManifestLog, *, base_id: str) -> tuple[Commit, ...]:
    """The commits that led to the head of a source and that a target does not know; the base of the merge it knows.

    Reading the target's history is put off until a commit comes up that others than the source may have brought there.
    """
    find = finder(source)
    known = {base_id, *(each.id for each in target.state.recent)}
    is_read = False
    brought: dict[str, Commit] = {}
    open_ids = [source.state.head.id]
    while open_ids:
        commit_id = open_ids.pop()
        commit = None if commit_id in known or commit_id in brought else find(commit_id)
        if commit is None:
            continue
        if commit.line != source.branch.physical and not is_read:
            known |= target.lineage().keys()
            is_read = True
        if commit_id not in known:
            brought[commit_id] = commit
            open_ids.extend(parents_of(commit))
    return tuple(brought.values())
