"""A writer that sleeps at its swap while garbage collection removes versions and frees their names.

A swap creates the name of the next version. With versions 4 to 8 removed and 10 as the newest, the swap of a writer
that slept since version 3 is accepted as version 4. Only the object of the branch, which collection changed before it
freed a name, tells that this version is part of no history.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from publish_world import (
    FILM,
    PERSON,
    another_handle,
    appending,
    history_ids,
    ids_now,
    intent,
    new_graph,
    newest_manifest,
    plan,
    sidecars,
    write,
    write_elsewhere,
)

from omnigraph import failpoints
from omnigraph.errors import HeadMovedError
from omnigraph.history.branches import MAIN, branch_key, resolve_branch, spell_ref
from omnigraph.history.commits import CommitKind
from omnigraph.history.repository import Repository
from omnigraph.testing.faults import Call, armed
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.deadlines import Deadline
from omnigraph.write.publish import ReadSetMovedError, publish


def collect_garbage(repository: Repository, *, below: int) -> None:
    """What a collection does, in its order: a fence, the mark in the object of main, then versions go."""
    write_elsewhere(repository, {}, CommitKind.FENCE)
    adapter = repository.adapter
    ref = replace(resolve_branch(adapter, MAIN), reclaimed_below=below)
    adapter.write(branch_key(adapter, MAIN), spell_ref(ref))
    dataset = newest_manifest(repository).table.dataset
    removed = dataset.cleanup_old_versions(
        versions=[*range(1, below)], older_than=dt.timedelta(0), delete_unverified=False
    )
    assert removed.old_versions == below - 1


def while_it_sleeps(repository: Repository, others: Callable[[], None]) -> dict[str, Any]:
    """Let something happen right before the first swap, and never again."""

    def once(_name: str) -> None:
        failpoints.disarm(failpoints.PUBLISH_BEFORE_COMMIT)
        others()

    return armed({failpoints.PUBLISH_BEFORE_COMMIT: Call(once)})


def pass_by(repository: Repository, key: str = FILM) -> None:
    """Six commits of others, then a collection of what was there before the last two."""
    for number in range(6):
        write_elsewhere(repository, {key: appending(f"other {number}")})
    collect_garbage(repository, below=newest_manifest(repository).version - 1)


def test_a_swap_on_a_name_that_was_freed_is_accepted_by_lance_and_not_by_us():
    repository = new_graph()
    write(repository, {PERSON: appending("before")})
    started = plan(repository, repository.newest(), {PERSON: appending("sleeper")})
    with while_it_sleeps(repository, lambda: pass_by(repository)), pytest.raises(ReadSetMovedError) as caught:
        publish(repository, started, Deadline())
    assert caught.value.is_void
    assert ids_now(repository, PERSON) == ["before"]
    assert started.intent.id not in history_ids(repository)
    assert sidecars(repository) == []


def test_a_writer_that_slept_through_a_collection_prepares_again_and_loses_nothing():
    repository = new_graph()
    write(repository, {PERSON: appending("before")})
    own, voids = intent(), list[bool]()

    def prepare(log, _snapshot, is_void):
        voids.append(is_void)
        return plan(repository, log, {PERSON: appending("sleeper")}, of=own)

    with while_it_sleeps(repository, lambda: pass_by(repository)):
        published = run_write(repository, WriteRequest(branch=MAIN), prepare)
    # What was staged before the collection may be gone.
    assert voids == [False, True]
    assert published.commit.id == own.id
    assert newest_manifest(repository).state.head.id == own.id
    assert ids_now(repository, PERSON) == ["before", "sleeper"]
    assert history_ids(repository).count(own.id) == 1


def test_a_strict_writer_that_slept_is_told_that_the_head_moved():
    repository = new_graph()
    write(repository, {PERSON: appending("before")})

    def prepare(log, _snapshot, _is_void):
        return plan(repository, log, {PERSON: appending("sleeper")})

    request = WriteRequest(branch=MAIN, types=frozenset({PERSON}), is_strict=True)
    with while_it_sleeps(repository, lambda: pass_by(repository, PERSON)), pytest.raises(HeadMovedError):
        run_write(repository, request, prepare)
    assert "sleeper" not in ids_now(repository, PERSON)


def test_a_commit_whose_version_was_reclaimed_after_it_was_made_stands():
    """The writer sleeps after its swap: its version is below the mark, and yet its commit is in the history."""
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("sleeper")})

    def once(_name: str) -> None:
        failpoints.disarm(failpoints.PUBLISH_AFTER_COMMIT)
        pass_by(another_handle(repository))

    with armed({failpoints.PUBLISH_AFTER_COMMIT: Call(once)}):
        published = publish(repository, started, Deadline())
    assert published.commit.id == started.intent.id
    assert ids_now(repository, PERSON) == ["sleeper"]
    assert history_ids(repository).count(started.intent.id) == 1
