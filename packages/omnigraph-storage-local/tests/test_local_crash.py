"""A killed writer leaves the old object or the new one, a free lock, and at most a temporary file that nobody sees.

A forked child dies by SIGKILL exactly at a named step, that is between two system calls of a write. The histogram of
all kills stands in the summary of the run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from omnigraph.storage import content_token, parse_uri
from omnigraph_storage_local.adapter import LOCK_NAME, LocalAdapter
from omnigraph_storage_local.steps import (
    DIRECTORY_MADE,
    DIRECTORY_READY,
    LOCK_STEPS,
    ONE_SYNCED,
    PARENT_SYNCED,
    REPLACED,
    TEMPORARY_STEPS,
    UNLOCKED,
    WRITE_STEPS,
)

KILLS_PER_STEP = 5
STEPS_OF_MAKING = (DIRECTORY_MADE, PARENT_SYNCED)
STEPS_OF = {
    "write": tuple(step for step in WRITE_STEPS if step not in LOCK_STEPS),
    "write_if_absent": WRITE_STEPS,
    "write_if_match": WRITE_STEPS,
    "rename": tuple(step for step in WRITE_STEPS if step not in TEMPORARY_STEPS),
}
CASES = [
    (verb, step) for verb, steps in STEPS_OF.items() for step in steps if step not in (*STEPS_OF_MAKING, ONE_SYNCED)
]
CASES_PER_DIRECTORY = [
    # A swap finds its object, and so its directories.
    *((verb, step) for verb in ("write", "write_if_absent", "rename") for step in STEPS_OF_MAKING),
    *((verb, ONE_SYNCED) for verb in STEPS_OF),
]

DEEP = "a/b/c/d/e/x"


def payload(number: int) -> bytes:
    """16 KiB that differ from every other payload in each 8 bytes, so that no mixture passes for whole."""
    return b"%8d" % number * 2048


class Mortal(LocalAdapter):
    """Dies when it comes to one step for the nth time, counted from 0."""

    doomed_step: str
    doomed_visit: int

    def _reached(self, step: str) -> None:
        if step == self.doomed_step:
            if self.doomed_visit == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.doomed_visit -= 1


def histogram_line(verb: str, step: str, seen: Counter[str]) -> str:
    return (
        f"{verb:<16} {step:<18} kills {seen.total()}  old {seen['old']}  new {seen['new']}"
        f"  torn or lost {seen['torn or lost']}"
    )


def write_in_a_loop(adapter: LocalAdapter, verb: str) -> None:
    """Rounds 0, 1, 2…; each makes one call of the verb, which is due to succeed."""
    token = adapter.read_versioned(adapter.key("dir/x")).token
    for number in range(KILLS_PER_STEP):
        data = payload(number)
        if verb == "write":
            adapter.write(adapter.key("dir/x"), data)
        elif verb == "write_if_absent":
            assert adapter.write_if_absent(adapter.key(f"dir/claim-{number}"), data)
        elif verb == "write_if_match":
            token = adapter.write_if_match(adapter.key("dir/x"), data, token)
        else:
            adapter.rename(adapter.key(f"dir/source-{number}"), adapter.key("dir/x"))


def change_once(adapter: LocalAdapter, verb: str) -> None:
    """One call of the verb that gives ``DEEP`` the payload 1, in place of the payload 0 if there is one."""
    target = adapter.key(DEEP)
    if verb == "write":
        adapter.write(target, payload(1))
    elif verb == "write_if_absent":
        assert adapter.write_if_absent(target, payload(1))
    elif verb == "write_if_match":
        assert adapter.write_if_match(target, payload(1), content_token(payload(0)))
    else:
        adapter.rename(adapter.key("source"), target)


@pytest.mark.parametrize(("verb", "step"), CASES, ids=[f"{verb}-{step}" for verb, step in CASES])
def test_a_writer_killed_at_any_step_loses_and_tears_nothing(tmp_path: Path, children, record_property, verb, step):
    is_changed = WRITE_STEPS.index(step) >= WRITE_STEPS.index(REPLACED)
    seen: Counter[str] = Counter()
    for visit in range(KILLS_PER_STEP):
        root = parse_uri(tmp_path / str(visit))
        adapter = LocalAdapter(root)
        adapter.lock_timeout_seconds = 5
        adapter.write(adapter.key("dir/x"), payload(-1))
        if verb == "rename":
            for number in range(KILLS_PER_STEP):
                adapter.write(adapter.key(f"dir/source-{number}"), payload(number))

        mortal = Mortal(root)
        mortal.doomed_step, mortal.doomed_visit = step, visit
        assert children.run(lambda mortal=mortal: write_in_a_loop(mortal, verb)) == -signal.SIGKILL

        target = adapter.key(f"dir/claim-{visit}" if verb == "write_if_absent" else "dir/x")
        old, new = None if verb == "write_if_absent" else payload(visit - 1), payload(visit)
        found = adapter.read_if_exists(target)
        seen["old" if found == old else "new" if found == new else "torn or lost"] += 1

        expected = {"dir/x"}
        if verb == "write_if_absent":
            expected |= {f"dir/claim-{number}" for number in range(visit + is_changed)}
        if verb == "rename":
            expected |= {f"dir/source-{number}" for number in range(visit + is_changed, KILLS_PER_STEP)}
        assert {str(key) for key in adapter.list()} == expected
        assert {str(key) for key in adapter.list_dir(adapter.key("dir"))} == expected
        for key in adapter.list():
            assert len(adapter.read(key)) == len(payload(0))

        residue = [name for name in os.listdir(tmp_path / str(visit) / "dir") if "#" in name]
        holds_temporary = verb != "rename" and step != DIRECTORY_READY and not is_changed
        assert len(residue) == holds_temporary

        adapter.write(target, b"next")
        assert adapter.read(target) == b"next"
        assert not adapter.write_if_absent(target, b"no")
    record_property("kill_histogram", histogram_line(verb, step, seen))
    assert seen == {"new" if is_changed else "old": KILLS_PER_STEP}


@pytest.mark.parametrize(
    ("verb", "step"), CASES_PER_DIRECTORY, ids=[f"{verb}-{step}" for verb, step in CASES_PER_DIRECTORY]
)
def test_a_writer_killed_at_any_directory_that_it_makes_or_syncs_loses_and_tears_nothing(
    tmp_path: Path, children, record_property, verb, step
):
    """The root and the one above it are missing, or synced, too; a rename finds them, because its source is there."""
    is_changed = step == ONE_SYNCED
    inside, above = 5, 0 if verb == "rename" and not is_changed else 2
    seen: Counter[str] = Counter()
    for visit in range(inside + above):
        root = parse_uri(tmp_path / str(visit) / "g")
        adapter = LocalAdapter(root)
        adapter.lock_timeout_seconds = 5
        target, source, beside = (adapter.key(name) for name in (DEEP, "source", f"{DEEP}-beside"))
        old, new = None, payload(1)
        if is_changed:
            adapter.write(beside, payload(2))
            if verb != "write_if_absent":
                old = payload(0)
                adapter.write(target, old)
        if verb == "rename":
            adapter.write(source, new)

        mortal = Mortal(root)
        mortal.doomed_step, mortal.doomed_visit = step, visit
        assert children.run(lambda mortal=mortal: change_once(mortal, verb)) == -signal.SIGKILL

        found = adapter.read_if_exists(target)
        seen["old" if found == old else "new" if found == new else "torn or lost"] += 1
        kept = {target, beside} if is_changed else {source} if verb == "rename" else set()
        assert set(adapter.list()) == kept
        if not is_changed:
            ways = [tmp_path / str(visit), *(Path(root.path) / name for name in ("", "a", "a/b", "a/b/c", "a/b/c/d"))]
            ways.append(Path(root.path) / "a/b/c/d/e")
            assert [way.exists() for way in ways] == [place <= visit + 2 - above for place in range(len(ways))]

        adapter.write(target, b"next")
        assert adapter.read(target) == b"next"
        assert not adapter.write_if_absent(target, b"no")
    record_property("kill_histogram", histogram_line(verb, step, seen))
    assert seen == {"new" if is_changed else "old": inside + above}


def test_a_writer_killed_in_the_middle_of_its_bytes_leaves_the_old_object(adapter: LocalAdapter, children):
    key = adapter.key("x")
    adapter.write(key, payload(0))

    def write_half_and_die(descriptor: int, data: memoryview) -> int:
        real(descriptor, data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def work() -> None:
        os.write = write_half_and_die
        adapter.write(key, payload(1))

    real = os.write
    for _ in range(KILLS_PER_STEP):
        assert children.run(work) == -signal.SIGKILL
        assert adapter.read(key) == payload(0)
        assert [str(found) for found in adapter.list()] == ["x"]


def test_a_writer_killed_at_an_arbitrary_moment_leaves_a_whole_object(adapter: LocalAdapter, children):
    key = adapter.key("dir/x")
    adapter.write(key, payload(0))

    def work() -> None:
        for number in range(1_000_000):
            adapter.write(key, payload(number))

    for _ in range(25):
        pid = children.start(work)
        time.sleep(random.uniform(0.002, 0.02))
        os.kill(pid, signal.SIGKILL)
        assert children.wait(pid) == -signal.SIGKILL
        found = adapter.read(key)
        assert found == payload(int(found[:8]))
        assert [str(each) for each in adapter.list()] == ["dir/x"]
        adapter.write(key, payload(7))
        assert adapter.read(key) == payload(7)


def test_the_steps_come_in_the_order_in_which_they_are_declared(tmp_path: Path):
    steps: list[str] = []

    class Watched(LocalAdapter):
        def _reached(self, step: str) -> None:
            steps.append(step)

    adapter = Watched(parse_uri(tmp_path))
    assert adapter.write_if_absent(adapter.key("a/b/x"), b"1")
    once = WRITE_STEPS[WRITE_STEPS.index(DIRECTORY_READY) : WRITE_STEPS.index(ONE_SYNCED)]
    # Two directories are made; they, the root and the one above it are synced afterwards.
    assert tuple(steps) == (*STEPS_OF_MAKING * 2, *once, *[ONE_SYNCED] * 4, WRITE_STEPS[-1])
    assert tuple(dict.fromkeys(steps)) == STEPS_OF["write_if_absent"]
    steps.clear()
    adapter.write(adapter.key("d/x"), b"1")
    assert tuple(dict.fromkeys(steps)) == STEPS_OF["write"]
    steps.clear()
    adapter.rename(adapter.key("a/b/x"), adapter.key("c/x"))
    assert tuple(dict.fromkeys(steps)) == STEPS_OF["rename"]
    steps.clear()
    assert adapter.write_if_match(adapter.key("c/x"), b"2", content_token(b"1"))
    assert tuple(dict.fromkeys(steps)) == tuple(step for step in WRITE_STEPS if step not in STEPS_OF_MAKING)


def test_a_loser_removes_its_temporary_file(tmp_path: Path):
    class Overtaken(LocalAdapter):
        def _reached(self, step: str) -> None:
            if step == "temporary_synced":
                (tmp_path / "x").write_bytes(b"first")

    adapter = Overtaken(parse_uri(tmp_path))
    assert not adapter.write_if_absent(adapter.key("x"), b"second")
    assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, "x"])
    token = adapter.read_versioned(adapter.key("x")).token
    adapter.write(adapter.key("x"), b"other")
    assert adapter.write_if_match(adapter.key("x"), b"third", token) is None
    assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, "x"])


def test_a_write_after_which_the_directory_is_removed_has_been_done_once(tmp_path: Path):
    class Removed(LocalAdapter):
        def _reached(self, step: str) -> None:
            if step == UNLOCKED:
                other.delete_prefix(other.key("dir"))

    other = LocalAdapter(parse_uri(tmp_path))
    adapter = Removed(parse_uri(tmp_path))
    assert adapter.write_if_absent(adapter.key("dir/x"), b"1")
    assert list(other.list()) == []
