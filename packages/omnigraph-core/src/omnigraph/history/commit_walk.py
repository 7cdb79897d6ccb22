"""``CommitWalk``: the commits of a branch from one of them on, oldest first, each with its state where it is asked for.

Versions of a line grow by one with each commit, so the commit after another one is found by opening the next version:
two commits of a long history cost two small reads. Only a walk that begins before its branch did, on another line, or
meets a version that was reclaimed, has to read the history, which knows every commit and not what it held.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.errors import ChangeCursorRejectedError, NotFoundError
from omnigraph.history.commits import Commit
from omnigraph.history.cursors import CommitPlace
from omnigraph.history.log import ManifestLog, open_manifest
from omnigraph.history.repository import Repository


class CommitWalk:
    """One walk over the first parents of a head, forwards."""

    def __init__(self, repository: Repository, head: ManifestLog, behind: CommitPlace | None) -> None:
        """Begin behind a commit, or with the first one of all.

        Raises:
            ChangeCursorRejectedError: the head is not behind that commit.
        """
        self._repository = repository
        self._head = head
        self._behind = behind
        # The state that the last commit of the walk made is the one that the next is compared with.
        self._held: tuple[ManifestLog, ...] = (head,)
        newest = CommitPlace.of(head.state.head)
        if behind is not None and behind.version >= newest.version and behind != newest:
            raise ChangeCursorRejectedError("position")

    def commits(self) -> Iterator[Commit]:
        """What comes, oldest first, up to the head; read as it is asked for.

        Raises:
            ChangeCursorRejectedError: the walk does not begin behind a commit of this branch.
        """
        expected = None if self._behind is None else self._behind.commit_id
        for commit in self._found():
            if commit.parent_id != expected:
                raise ChangeCursorRejectedError("position")
            yield commit
            expected = commit.id

    def state_after(self, place: CommitPlace) -> ManifestLog:
        """The state that a commit of the walk made.

        Raises:
            NotFoundError: its version was reclaimed.
            ChangeCursorRejectedError: its version was made by another commit.
        """
        held = next((each for each in self._held if each.state.head.id == place.commit_id), None)
        if held is not None:
            return held
        if self._is_own(place):
            found = self._at_version(place.version)
        else:
            commit = self._head.find_commit(place.commit_id)
            if commit is None:
                raise ChangeCursorRejectedError("position")
            found = self._repository.at_commit(commit)
        if found.state.head.id != place.commit_id:
            raise ChangeCursorRejectedError("position")
        return found

    def _found(self) -> Iterator[Commit]:
        version = 0 if self._behind is None else self._behind.version
        # The history of main begins on its own line, that of another branch on the line it was made from.
        starts_here = self._head.branch.is_main if self._behind is None else self._is_own(self._behind)
        if starts_here:
            while version < self._head.version:
                try:
                    log = self._at_version(version + 1)
                except NotFoundError:
                    # Reclaimed; what is left of it is told by the history.
                    break
                self._held = (self._head, self._held[-1], log)
                version += 1
                yield log.state.head
        if version < self._head.version:
            yield from reversed(self._head.commits_since(version))

    def _is_own(self, place: CommitPlace) -> bool:
        return place.line == self._head.branch.physical

    def _at_version(self, version: int) -> ManifestLog:
        if version == self._head.version:
            return self._head
        return open_manifest(self._repository.manifests, self._head.branch, version=version)
