"""A graph is removed, and another one is made at its place: what each verb of a handle on the old one does.

A read answers as it did before, from what it still has, or says that the graph is gone. A write says it. The new graph
stays as it is, byte for byte, whether it has as many versions as the old one, more or fewer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest
from remade_world import (
    ASYNC_VERBS,
    NEW,
    OLD,
    READS,
    TICKETED,
    WRITES,
    Kept,
    Place,
    said,
    says_that_it_is_gone,
    stray_files,
)

from omnigraph import aio
from omnigraph.errors import OmnigraphError

OLD_COMMITS = 3
IS_WHOLE = os.environ.get("OMNIGRAPH_REMADE_MATRIX") == "full"
ON_S3 = frozenset(
    {"query", "traversal at a snapshot", "tags", "insert", "receipts from before", "branch", "deleting a branch"}
)
"""What is tried on a server every time; everything is where all is tried."""

CASES = [
    pytest.param(backend, branch, commits, is_warm, id=f"{backend}-{branch}-{commits}-{'warm' if is_warm else 'cold'}")
    for backend in ("local", "s3")
    for branch in ("main", "dev")
    # Fewer versions than the old one, as many, more; and no graph any more.
    for commits in (1, OLD_COMMITS, 5, None)
    for is_warm in (False, True)
    if IS_WHOLE
    or (backend == "local" and is_warm and (branch, commits) in {("main", 3), ("dev", 5), ("dev", None)})
    or (backend, branch, commits, is_warm) == ("s3", "dev", 1, False)
]


@pytest.mark.parametrize(("backend", "branch", "commits", "is_warm"), CASES)
def test_no_verb_takes_the_new_graph_for_the_old_one(
    new_place: Callable[[str], Place], backend: str, branch: str, commits: int | None, is_warm: bool
):
    place = new_place(backend)
    # A server answers slowly.
    is_small = backend == "s3" and not IS_WHOLE
    place.build(OLD, 1 if is_small else OLD_COMMITS, is_small=is_small)
    verbs = [(name, verb, True) for name, verb in READS.items()] + [(*each, False) for each in WRITES.items()]
    if is_small:
        verbs = [each for each in verbs if each[0] in ON_S3]
    with place.open() as control:
        kept = Kept.of(control, branch)
        before = {name: said(verb, kept) for name, verb, is_read in verbs if is_read}
    handles = [
        Kept.of(place.open(), branch, is_warm=is_warm, has_ticket=not is_read and name in TICKETED)
        for name, _, is_read in verbs
    ]
    place.remove()
    if commits is not None:
        place.build(NEW, commits, is_small=is_small)
    files = {} if commits is None else place.files()
    # That every byte stays as it is says more.
    is_asked = commits is not None and (IS_WHOLE or backend == "local")
    told = place.told() if is_asked else {}
    wrong: list[Any] = []
    for (name, verb, is_read), kept in zip(verbs, handles, strict=True):
        found = said(verb, kept)
        if not (
            says_that_it_is_gone(found, is_made_anew=commits is not None)
            or (is_read and not isinstance(found, OmnigraphError) and found == before[name])
        ):
            wrong.append((name, found))
        kept.graph.close()
        # Every file of a server takes a request, so there it is looked at them when a write was tried.
        is_looked_at = commits is not None and (backend == "local" or (IS_WHOLE and not is_read))
        if is_looked_at and (stray := stray_files(place.files(), files)):
            wrong.append((name, stray))
    assert wrong == []
    if commits is not None:
        assert stray_files(place.files(), files) == []
    if commits is None:
        place.build(NEW, 1)
        told = place.told()
        assert set(told["branches"]) == {"main", "dev", "only new"}
        is_asked = True
    assert not is_asked or place.told() == told


@pytest.mark.parametrize("name", ASYNC_VERBS)
def test_no_verb_of_the_asynchronous_front_does(new_place: Callable[[str], Place], name: str):
    place = new_place("local")
    place.build(OLD, OLD_COMMITS)

    async def ask() -> object:
        with place.open() as sync:
            kept = Kept.of(sync, "main", has_ticket=True)
        async with await aio.open(place.uri) as graph:
            place.remove()
            place.build(NEW, OLD_COMMITS)
            files, told = place.files(), place.told()
            try:
                return await ASYNC_VERBS[name](graph, kept)
            except OmnigraphError as error:
                return error
            finally:
                assert stray_files(place.files(), files) == []
                assert place.told() == told

    assert says_that_it_is_gone(asyncio.run(ask()), is_made_anew=True)
