"""What is decoded is kept within one bound of bytes, built once however many ask, and nobody is left waiting."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from omnigraph.engine.memory import MAX_LINES, FamilyStats, Memory


class Value:
    """A value of some size, which may grow."""

    def __init__(self, size: int) -> None:
        self.size = size


def size_of(value: Value) -> int:
    return value.size


def put(memory: Memory, key: str, size: int, family: str = "types") -> Value:
    return memory.get_or_build(family, key, lambda: Value(size), size_of)


def run_together(work: Callable[[], object], count: int = 16) -> list[object]:
    """What so many threads get, started at once; an error counts as what its thread got."""
    barrier = threading.Barrier(count)
    results: list[object] = []

    def run() -> None:
        barrier.wait()
        try:
            results.append(work())
        except RuntimeError as error:
            results.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for each in threads:
        each.start()
    deadline = time.monotonic() + 30
    for each in threads:
        each.join(timeout=max(0.0, deadline - time.monotonic()))
    assert len(results) == count
    return results


def test_a_value_is_built_once_and_then_found() -> None:
    memory = Memory(100)
    first = put(memory, "a", 10)
    assert put(memory, "a", 10) is first
    assert memory.get("types", "a") is first
    assert memory.get("types", "b") is None
    assert memory.stats()["types"] == FamilyStats(entries=1, bytes=10, hits=2, misses=2, builds=1)


def test_the_same_key_in_two_families_names_two_values() -> None:
    memory = Memory(100)
    assert put(memory, "a", 1) is not put(memory, "a", 1, "adjacency")
    assert [memory.stats()[each].entries for each in ("types", "adjacency")] == [1, 1]


def test_the_least_recently_used_leaves_first_whatever_its_family() -> None:
    memory = Memory(30)
    put(memory, "a", 10)
    put(memory, "b", 10, "adjacency")
    put(memory, "c", 10)
    assert memory.get("types", "a") is not None
    put(memory, "d", 10)
    assert not memory.holds("adjacency", "b")
    assert [memory.holds("types", each) for each in "acd"] == [True, True, True]
    assert memory.stats()["adjacency"] == FamilyStats(misses=1, builds=1, evictions=1)


def test_the_bound_holds_after_every_step() -> None:
    memory = Memory(100)
    for number in range(50):
        put(memory, str(number), 7 * number % 40, family=f"f{number % 3}")
        assert sum(each.bytes for each in memory.stats().values()) <= 100


def test_what_left_is_not_kept_alive() -> None:
    memory = Memory(10)
    left = weakref.ref(put(memory, "a", 10))
    put(memory, "b", 10)
    gc.collect()
    assert left() is None


def test_a_value_that_is_larger_than_the_bound_is_given_and_pushes_nothing_out() -> None:
    memory = Memory(10)
    put(memory, "a", 5)
    assert put(memory, "b", 11).size == 11
    assert memory.holds("types", "a")
    assert not memory.holds("types", "b")


def test_a_bound_of_zero_keeps_nothing_and_everything_works() -> None:
    memory = Memory(0)
    assert put(memory, "a", 0).size == 0
    memory.remember("types", "line", "a")
    memory.recount("types", "a")
    assert memory.newest("types", "line") is None
    assert memory.stats()["types"] == FamilyStats(misses=1, builds=1)


def test_a_value_that_grew_is_counted_anew_and_others_leave_for_it() -> None:
    memory = Memory(30)
    grown = put(memory, "a", 10)
    put(memory, "b", 10)
    grown.size = 25
    memory.recount("types", "a")
    assert memory.stats()["types"] == FamilyStats(entries=1, bytes=25, misses=2, builds=2, evictions=1)
    assert memory.holds("types", "a")


def test_a_value_that_outgrew_the_bound_leaves_alone() -> None:
    memory = Memory(30)
    put(memory, "b", 10)
    grown = put(memory, "a", 10)
    grown.size = 31
    memory.recount("types", "a")
    assert [memory.holds("types", each) for each in "ab"] == [False, True]
    memory.recount("types", "a")


def test_threads_that_ask_for_one_value_share_one_build() -> None:
    memory = Memory(100)
    builds: list[int] = []
    others = threading.Event()

    def build() -> Value:
        builds.append(1)
        others.wait(timeout=0.2)
        return Value(1)

    found = run_together(lambda: memory.get_or_build("types", "a", build, size_of))
    assert len(builds) == 1
    assert len({id(each) for each in found}) == 1
    assert (memory.stats()["types"].hits, memory.stats()["types"].misses) == (15, 1)


def test_no_lock_is_held_while_a_value_is_built() -> None:
    memory = Memory(100)
    seen: list[object] = []

    def build() -> Value:
        other = threading.Thread(target=lambda: seen.append(put(memory, "b", 1)))
        other.start()
        other.join(timeout=10)
        seen.append(memory.get_or_build("adjacency", "c", lambda: Value(1), size_of))
        return Value(1)

    memory.get_or_build("types", "a", build, size_of)
    assert len(seen) == 2


def test_a_build_that_raises_keeps_nothing_and_those_who_waited_try_themselves() -> None:
    memory = Memory(100)
    attempts: list[int] = []
    lock = threading.Lock()

    def build() -> Value:
        with lock:
            attempts.append(1)
            number = len(attempts)
        if number <= 3:
            # Time for the others to begin to wait.
            threading.Event().wait(timeout=0.1)
            raise RuntimeError(f"attempt {number}")
        return Value(1)

    found = run_together(lambda: memory.get_or_build("types", "a", build, size_of))
    errors = [each for each in found if isinstance(each, RuntimeError)]
    assert sorted(str(each) for each in errors) == ["attempt 1", "attempt 2", "attempt 3"]
    assert len(attempts) == 4
    assert memory.stats()["types"].builds == 1


def test_a_build_that_is_interrupted_leaves_the_key_free() -> None:
    memory = Memory(100)

    def interrupted() -> Value:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.get_or_build("types", "a", interrupted, size_of)
    assert put(memory, "a", 1).size == 1


def test_the_newest_of_a_line_is_what_was_remembered_last_while_it_is_there() -> None:
    memory = Memory(20)
    first, second = put(memory, "v1", 10), put(memory, "v2", 10)
    memory.remember("types", "line", "v1")
    assert memory.newest("types", "line") is first
    memory.remember("types", "line", "v2")
    assert memory.newest("types", "line") is second
    assert memory.newest("adjacency", "line") is None
    put(memory, "v3", 20)
    assert not memory.holds_line("types", "line")
    assert memory.newest("types", "line") is None


def test_of_a_busy_line_only_the_last_versions_stay() -> None:
    memory = Memory(1000)
    for number in range(6):
        put(memory, f"v{number}", 1)
        memory.remember("types", "line", f"v{number}", keep=3)
        memory.remember("types", "line", "v0", keep=3)
    assert [number for number in range(6) if memory.holds("types", f"v{number}")] == [0, 4, 5]


def test_lines_and_counts_that_are_remembered_are_bounded() -> None:
    memory = Memory(10)
    assert [memory.count_asked("a"), memory.count_asked("a"), memory.count_asked("b")] == [1, 2, 1]
    for number in range(MAX_LINES):
        memory.count_asked(number)
        memory.remember("types", number, number)
    assert memory.count_asked("a") == 1
    assert len(memory._lines) == MAX_LINES


def test_clearing_lets_go_of_every_value() -> None:
    memory = Memory(100)
    put(memory, "a", 10)
    memory.remember("types", "line", "a")
    memory.clear()
    assert memory.get("types", "a") is None
    assert memory.newest("types", "line") is None
    assert memory.stats()["types"].bytes == 0


def test_threads_that_fill_grow_and_read_leave_the_counts_right() -> None:
    memory = Memory(200)

    def work() -> None:
        for number in range(200):
            value = put(memory, str(number % 23), number % 19)
            memory.remember("types", number % 3, str(number % 23))
            memory.newest("types", number % 3)
            value.size = number % 31
            memory.recount("types", str(number % 23))

    run_together(work, count=8)
    for number in range(23):
        memory.recount("types", str(number))
    held = [memory.get("types", str(number)) for number in range(23)]
    stats = memory.stats()["types"]
    assert stats.entries == sum(each is not None for each in held)
    assert stats.bytes == sum(each.size for each in held if each is not None) <= 200
