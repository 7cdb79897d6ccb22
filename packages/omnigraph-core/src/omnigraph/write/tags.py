"""``Tags``: named commits as users make, see and delete them.

A tag is one small object beside the manifest. Making or deleting one is no commit and moves no branch; it is done, and
durable, when the call returns. Of two who make a tag of one name at the same time, one is told that there is one.
"""

from __future__ import annotations

import builtins
from datetime import UTC, datetime

from omnigraph.errors import AlreadyExistsError
from omnigraph.history.branches import MAIN, branch_key
from omnigraph.history.ref_names import check_ref_name
from omnigraph.history.repository import Repository, SnapshotLike
from omnigraph.history.tags import Tag, list_tags, no_such_tag, read_tag, spell_tag, tag_key
from omnigraph.storage import StorageAdapter
from omnigraph.write.branching import confirm_ref
from omnigraph.write.names import check_name


def create_tag(adapter: StorageAdapter, tag: Tag) -> None:
    """Make a tag; durable on return.

    Raises:
        InvalidInputError: no tag can be called so.
        AlreadyExistsError: there is one of this name, and it stays as it is.
        ReadOnlyError: the graph was opened for reading.
    """
    check_ref_name(tag.name, "tag")
    if not adapter.write_if_absent(tag_key(adapter, tag.name), spell_tag(tag)):
        raise AlreadyExistsError(
            f'There is a tag "{tag.name}" already.',
            help="Choose another name, or delete that tag first: a tag never moves.",
            details={"tag": tag.name},
        )


def delete_tag(repository: Repository, name: str) -> None:
    """Delete a tag, a damaged one too; durable on return. Its commit stays for as long as anything else needs it.

    Raises:
        InvalidInputError: no tag can be called so.
        NotFoundError: there is no such tag.
        BranchReplacedError: the graph was removed and made anew.
        ReadOnlyError: the graph was opened for reading.
    """
    check_ref_name(name, "tag")
    adapter = repository.adapter
    key = tag_key(adapter, name)
    if not adapter.exists(key):
        raise no_such_tag(name)
    # Right before the delete: else a handle on a graph that was removed would change the one that was made after it.
    repository.refuse_replaced()
    adapter.delete(key)


class Tags:
    """The tags of a graph."""

    def __init__(self, repository: Repository, *, actor: str | None = None) -> None:
        self._repository = repository
        self._actor = actor

    def create(
        self, name: str, at: SnapshotLike | None = None, *, branch: str = "main", actor: str | None = None
    ) -> Tag:
        """Name a commit, which then stays readable for as long as it has a name.

        Args:
            name: of the tag; slashes are allowed, and what reads like the id of a commit is not.
            at: the commit: itself or its id, a snapshot or a version of the manifest; by default the newest.
            branch: the branch whose newest commit or version is meant.
            actor: who does it, where it is not who opened the graph.

        Raises:
            InvalidInputError: no tag can be called so, or ``at`` names no moment.
            AlreadyExistsError: there is a tag of this name, and it stays as it is; or a branch is called so.
            NotFoundError: there is no such branch, commit or version, or it was reclaimed.
            ReadOnlyError: the graph was opened for reading.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            self._repository.check_writable()
            check_ref_name(name, "tag")
            check_name(actor, "actor")
            _refuse_branch(self._repository.adapter, name)
            commit = self._repository.log_of(branch, at).state.head
            tag = Tag(
                name=name,
                commit_id=commit.id,
                line=commit.line,
                manifest_version=commit.manifest_version,
                created_at=datetime.now(UTC),
                actor=actor or self._actor,
            )
            create_tag(self._repository.adapter, tag)
            confirm_ref(self._repository, tag_key(self._repository.adapter, name), spell_tag(tag))
            return tag

    def list(self) -> builtins.list[Tag]:
        """Every tag, by name.

        Raises:
            FormatError: the object of one is damaged.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            found = [*list_tags(self._repository.adapter)]
            # Read before main is asked for, they are of the graph whose main it is.
            self._repository.refuse_replaced()
            return found

    def show(self, name: str) -> Tag:
        """The tag of this name.

        Raises:
            InvalidInputError: no tag can be called so.
            NotFoundError: there is no such tag.
            FormatError: its object is damaged.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            found = read_tag(self._repository.adapter, name)
            self._repository.refuse_replaced()
            return found

    def delete(self, name: str) -> None:
        """Delete a tag, a damaged one too. Its commit stays for as long as a branch or another tag leads to it.

        Raises:
            InvalidInputError: no tag can be called so.
            NotFoundError: there is no such tag.
            ReadOnlyError: the graph was opened for reading.
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            self._repository.check_writable()
            delete_tag(self._repository, name)


def _refuse_branch(adapter: StorageAdapter, name: str) -> None:
    """Raise when a branch is called so: wherever a moment is asked for by name, the branch would be found.

    Raises:
        AlreadyExistsError: one is.
    """
    if name == MAIN or adapter.exists(branch_key(adapter, name)):
        raise AlreadyExistsError(
            f'There is a branch "{name}", so no tag can be called that.',
            help="Choose another name.",
            details={"branch": name},
        )
