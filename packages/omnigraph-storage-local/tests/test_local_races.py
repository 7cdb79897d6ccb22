"""Many processes at one root: exactly one winner, no lost update, whole reads, and directories that go meanwhile."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.storage import ROOT, parse_uri
from omnigraph_storage_local.adapter import LOCK_NAME, LocalAdapter
from omnigraph_storage_local.steps import CHECKED, LOCK_STEPS, REPLACED, WRITE_STEPS

WRITERS, ROUNDS = 8, 20
PATIENCE_SECONDS = 60


@pytest.mark.parametrize("verb", ["write_if_absent", "write_if_match"])
def test_of_many_processes_exactly_one_wins_each_round(adapter: LocalAdapter, children, verb: str):
    shared = adapter.key("claims/shared")
    adapter.write(shared, b"start")
    barrier = multiprocessing.get_context("fork").Barrier(WRITERS, timeout=PATIENCE_SECONDS)
    reading, writing = os.pipe()

    def compete(writer: int) -> None:
        for number in range(ROUNDS):
            data = f"round {number} writer {writer}".encode()
            key = shared if verb == "write_if_match" else adapter.key(f"claims/{number}")
            token = adapter.read_versioned(shared).token
            barrier.wait()
            if verb == "write_if_match":
                won = adapter.write_if_match(key, data, token) is not None
            else:
                won = adapter.write_if_absent(key, data)
            barrier.wait()
            if won:
                assert adapter.read(key) == data, "the winner's bytes are there"
                os.write(writing, b"%d\n" % number)

    pids = [children.start(lambda writer=writer: compete(writer)) for writer in range(WRITERS)]
    assert [children.wait(pid) for pid in pids] == [0] * WRITERS
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        winners = Counter(int(line) for line in answers)
    assert winners == dict.fromkeys(range(ROUNDS), 1)
    names = {"claims/shared"} | ({f"claims/{n}" for n in range(ROUNDS)} if verb == "write_if_absent" else set())
    assert {str(key) for key in adapter.list()} == names


def test_a_counter_that_many_processes_increment_loses_none(adapter: LocalAdapter, children):
    key = adapter.key("counter")
    adapter.write(key, b"0")

    def increment(times: int) -> None:
        while times:
            found = adapter.read_versioned(key)
            if adapter.write_if_match(key, b"%d" % (int(found.data) + 1), found.token):
                times -= 1

    pids = [children.start(lambda: increment(25)) for _ in range(4)]
    assert [children.wait(pid) for pid in pids] == [0] * 4
    assert adapter.read(key) == b"100"


def test_a_reader_without_lock_sees_only_whole_objects(adapter: LocalAdapter, children):
    key = adapter.key("x")
    wholes = [bytes([65 + number]) * (1000 + 30_000 * number) for number in range(3)]
    adapter.write(key, wholes[0])

    def write() -> None:
        for number in range(150):
            adapter.write(key, wholes[number % 3])

    pid = children.start(write)
    seen: Counter[int] = Counter()
    while children.is_running(pid):
        seen[wholes.index(adapter.read(key))] += 1
    assert children.wait(pid) == 0
    assert len(seen) == 3, "the reader met every value"


def test_a_rename_over_an_object_never_leaves_its_name_empty(adapter: LocalAdapter, children):
    target = adapter.key("x")
    adapter.write(target, b"start")

    def work() -> None:
        for number in range(100):
            adapter.write(adapter.key("source"), b"%d" % number)
            adapter.rename(adapter.key("source"), target)

    pid = children.start(work)
    while children.is_running(pid):
        assert adapter.read_if_exists(target) is not None
    assert children.wait(pid) == 0


def test_writers_and_removers_of_their_directories_do_not_disturb_each_other(adapter: LocalAdapter, children):
    def write(writer: int) -> None:
        for number in range(40):
            adapter.write(adapter.key(f"a/b/{writer}"), b"1")
            adapter.write_if_absent(adapter.key(f"a/{number}"), b"2")

    def remove(prefix: str) -> None:
        for _ in range(120):
            adapter.delete_prefix(adapter.key(prefix) if prefix else ROOT)

    works = [lambda: write(0), lambda: write(1), lambda: remove("a/b"), lambda: remove("")]
    pids = [children.start(work) for work in works]
    assert [children.wait(pid) for pid in pids] == [0] * 4
    adapter.write(adapter.key("a/b/x"), b"3")
    assert adapter.read(adapter.key("a/b/x")) == b"3"
    adapter.delete_prefix(ROOT)
    assert not os.path.exists(adapter.root.path)


# ── plain writes, which wait for no lock, and what they may meet ──────────────────────────────────────────────


@pytest.mark.parametrize("step", [step for step in WRITE_STEPS if step not in LOCK_STEPS])
@pytest.mark.parametrize("prefix", ["a/b", ""])
def test_a_plain_write_whose_directory_is_removed_at_any_step_is_there_or_was_removed_whole(
    root: Path, step: str, prefix: str
):
    other = LocalAdapter(parse_uri(root))
    other.lock_timeout_seconds = 0.1
    removals = 0

    class Removed(LocalAdapter):
        def _reached(self, reached: str) -> None:
            nonlocal removals
            if reached == step and not removals:
                removals += 1
                other.delete_prefix(other.key(prefix) if prefix else ROOT)

    writer = Removed(parse_uri(root))
    writer.write(writer.key("a/b/x"), b"new")
    assert removals == 1
    is_changed = WRITE_STEPS.index(step) >= WRITE_STEPS.index(REPLACED)
    assert {str(key): other.read(key) for key in other.list()} == ({} if is_changed else {"a/b/x": b"new"})
    assert [path.name for path in root.rglob("*#*") if path.name != LOCK_NAME] == []


@pytest.mark.parametrize(
    ("call", "place", "kept"),
    [
        # The names are listed and nothing is removed: the new bytes stand under a name that was listed, or not.
        ("unlink", "dir/a", {"dir/fresh"}),
        # All that was listed is removed, and the directory is about to go.
        ("rmdir", "dir", {"dir/a", "dir/fresh"}),
    ],
)
@pytest.mark.parametrize("prefix", ["dir", ""])
def test_a_removal_takes_what_it_has_listed_and_leaves_what_a_plain_write_adds_meanwhile(
    adapter: LocalAdapter,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    place: str,
    kept: set[str],
    prefix: str,
):
    adapter.write(adapter.key("dir/a"), b"old")
    writer = LocalAdapter(adapter.root)
    writer.lock_timeout_seconds = 0.1
    writes = 0
    real = getattr(os, call)

    def write_first(path: str) -> None:
        nonlocal writes
        if path == str(root / place) and not writes:
            writes += 1
            for name in ("dir/a", "dir/fresh"):
                writer.write(writer.key(name), b"new")
        real(path)

    monkeypatch.setattr(os, call, write_first)
    adapter.delete_prefix(adapter.key(prefix) if prefix else ROOT)
    assert writes == 1
    assert {str(key): adapter.read(key) for key in adapter.list()} == dict.fromkeys(kept, b"new")
    assert [path.name for path in root.rglob("*#*") if path.name != LOCK_NAME] == []
    monkeypatch.undo()
    # The next conditional changes still find one lock.
    assert adapter.write_if_absent(adapter.key("dir/b"), b"1")
    assert not writer.write_if_absent(writer.key("dir/b"), b"2")


def test_plain_writers_and_deleters_of_one_object_leave_it_whole_or_absent(
    adapter: LocalAdapter, tmp_path: Path, children
):
    key, end = adapter.key("dir/x"), tmp_path / "end"
    wholes = [bytes([65 + number]) * (1000 + 30_000 * number) for number in range(2)]

    def repeat(change: Callable[[], None]) -> None:
        while not end.exists():
            change()

    changes = (
        lambda: adapter.write(key, wholes[0]),
        lambda: adapter.write(key, wholes[1]),
        lambda: adapter.delete(key),
    )
    pids = [children.start(lambda change=change: repeat(change)) for change in changes]
    seen: Counter[int | None] = Counter()
    while len(seen) < 3 or seen.total() < 1000:
        found = adapter.read_if_exists(key)
        seen[None if found is None else wholes.index(found)] += 1
        assert all(children.is_running(pid) for pid in pids)
    end.touch()
    assert [children.wait(pid) for pid in pids] == [0] * 3
    assert set(os.listdir(Path(adapter.uri(key)).parent)) <= {"x"}


@pytest.mark.parametrize(("step", "after"), [(CHECKED, b"mine"), (REPLACED, None)])
def test_a_claim_may_be_deleted_while_another_creates_it(root: Path, step: str, after: bytes | None):
    """A deletion inside the creation removed nothing and came first, or it removed what was created and came last."""
    other = LocalAdapter(parse_uri(root))
    other.lock_timeout_seconds = 0.1

    class Meets(LocalAdapter):
        def _reached(self, reached: str) -> None:
            if reached == step:
                other.delete(other.key("claim"))

    adapter = Meets(other.root)
    assert adapter.write_if_absent(adapter.key("claim"), b"mine")
    assert other.read_if_exists(other.key("claim")) == after
