"""Which commit a read is of, by the words that options and keywords share: a branch, a commit or a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInputError

if TYPE_CHECKING:
    from omnigraph import Graph


def choose_commit(graph: Graph, *, branch: str | None = None, commit: str | None = None, tag: str | None = None) -> str:
    """The id of the commit that is read: the newest of a branch, by default of main, or the one that is named.

    Raises:
        InvalidInputError: more than one of them is given.
        NotFoundError: there is no such branch, commit or tag.
    """
    if sum(each is not None for each in (branch, commit, tag)) > 1:
        raise InvalidInputError("branch, commit and tag exclude each other.", help="Give one of them.")
    if tag is not None:
        return graph.tags.show(tag).commit_id
    if commit is not None:
        return graph.commits.show(commit).id
    return graph.snapshot(branch or "main").commit.id
