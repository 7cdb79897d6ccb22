"""A baseline: everything that a branch holds, and the cursor with which a feed goes on from there.

    export lines of one commit
    {"baseline":{"snapshot_commit_id":"01J...","resume_cursor":"eyJ..."}}

The last line is there only if all others were, so a dump that was cut short cannot be taken for a whole one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.export import export_parts
from omnigraph.engine.feed import feed_bindings
from omnigraph.engine.wanted_changes import WantedChanges
from omnigraph.history.cursors import CommitPlace, Place, TokenKind, make_token
from omnigraph.history.repository import Repository


def baseline_parts(
    repository: Repository, branch: str = "main", *, types: Sequence[str] | None = None
) -> Iterator[Sequence[str]]:
    """The lines of a baseline, without newlines, some at a time, read as they are asked for.

    The cursor is for polls with the same ``types`` and no other filter.

    Raises:
        NotFoundError: there is no such branch or type; raised by the call, before the first line.
        StorageError: rows could not be read; raised while iterating.
    """
    head = repository.newest(branch)
    snapshot = repository.snapshot(head)
    wanted = WantedChanges.of(snapshot.schema.tables, ChangeFilter.of(types=types))
    place = Place(behind=CommitPlace.of(snapshot.commit))
    cursor = make_token(TokenKind.FEED_CURSOR, place, feed_bindings(repository, head, wanted))
    facts = {"baseline": {"snapshot_commit_id": snapshot.commit.id, "resume_cursor": cursor}}
    last = json.dumps(facts, separators=(",", ":"))
    return _then(export_parts(snapshot, repository.tables, types=types), last)


def _then(parts: Iterator[Sequence[str]], last: str) -> Iterator[Sequence[str]]:
    yield from parts
    yield (last,)
