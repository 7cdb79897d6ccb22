"""Commits made up for tests of lineage: graphs drawn by hand, and random ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from omnigraph.history.commits import Commit, CommitKind

BEGIN = datetime(2026, 2, 1, 10, 30, tzinfo=UTC)


def commit(commit_id: str, *parents: str, at: int = 0, version: int = 1, **facts: Any) -> Commit:
    """A commit made so many seconds after the beginning."""
    first, merged = (*parents, None, None)[:2]
    known = {
        "id": commit_id,
        "parent_id": first,
        "merged_parent_id": merged,
        "branch": "main",
        "line": "b0",
        "manifest_version": version,
        "kind": CommitKind.DATA if merged is None else CommitKind.MERGE,
        "created_at": BEGIN + timedelta(seconds=at),
    }
    return Commit(**known | facts)


def chain(names: Iterable[str], *, after: str | None = None, at: int = 0) -> list[Commit]:
    """Commits that follow each other, a second apart."""
    made: list[Commit] = []
    for number, each in enumerate(names):
        before = made[-1].id if made else after
        made.append(commit(each, *([] if before is None else [before]), at=at + number, version=1 + at + number))
    return made


@st.composite
def histories(draw: st.DrawFn, max_size: int = 14) -> list[Commit]:
    """Commits of any shape, parents first, with several roots; neither ids, times nor versions follow the shape."""
    made: list[Commit] = []
    names = draw(st.permutations([f"c{number:02}" for number in range(draw(st.integers(1, max_size)))]))
    for number, name in enumerate(names):
        back = draw(st.lists(st.integers(1, number), max_size=2, unique=True)) if number else []
        parents = [made[number - each].id for each in back]
        made.append(commit(name, *parents, at=draw(st.integers(0, 5)), version=draw(st.integers(1, 4))))
    return made
