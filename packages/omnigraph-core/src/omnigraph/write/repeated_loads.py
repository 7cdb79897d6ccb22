"""Loads that have a name: what their commits say of them, and what becomes of a second one of the same name.

the same content, or unknown     nothing is done; the answer is the commit of the first
other content                    ``LoadIdReusedError``
"""

from __future__ import annotations

from omnigraph.errors import LoadIdReusedError
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.write.plan import CONTENT_DIGEST, LOAD_ID


class RepeatedLoadError(Exception):
    """A load of the same name landed while this one was under way; nothing of this one is visible.

    Attributes:
        commit: the other one's.
    """

    def __init__(self, commit: Commit) -> None:
        super().__init__(commit.id)
        self.commit = commit


def load_properties(load_id: str | None, content_digest: str | None) -> dict[str, str]:
    """What the commit of a load says of it; of one without a name nothing."""
    if load_id is None:
        return {}
    return {LOAD_ID: load_id} | ({} if content_digest is None else {CONTENT_DIGEST: content_digest})


def find_load(repository: Repository, branch: str, load_id: str | None) -> Commit | None:
    """The commit of an earlier load of the same name, if there is one; a load that was merged counts."""
    if load_id is None:
        return None
    commits = repository.newest(branch).lineage().values()
    return next((each for each in commits if each.properties.get(LOAD_ID) == load_id), None)


def refuse_repetition(log: ManifestLog, *, load_id: str | None, content_digest: str | None, since: int) -> None:
    """Stop a load of which another one of the same name landed after a manifest version.

    Raises:
        RepeatedLoadError: it did.
        LoadIdReusedError: it did, and had other content.
    """
    if load_id is None:
        return
    between = log.commits_since(since)
    is_merged = any(each.kind is CommitKind.MERGE for each in between)
    for commit in log.lineage().values() if is_merged else between:
        if commit.properties.get(LOAD_ID) == load_id:
            check_content(commit, branch=log.branch.name, content_digest=content_digest)
            raise RepeatedLoadError(commit)


def check_content(earlier: Commit, *, branch: str, content_digest: str | None) -> None:
    """Refuse a load whose name an earlier one has that had other content; unknown content is not compared.

    Raises:
        LoadIdReusedError: it had.
    """
    known = earlier.properties.get(CONTENT_DIGEST)
    if known is None or content_digest is None or known == content_digest:
        return
    raise LoadIdReusedError(
        load_id=earlier.properties[LOAD_ID],
        branch=branch,
        commit_id=earlier.id,
        expected=known,
        actual=content_digest,
    )
