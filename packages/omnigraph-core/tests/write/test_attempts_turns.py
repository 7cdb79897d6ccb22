"""Turns of writers that prepare again, and the deadline of a write."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.errors import ContentionError
from omnigraph.write import deadlines
from omnigraph.write.deadlines import Deadline, pause
from omnigraph.write.turns import Turns, turns_of


def in_thread(act) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def wait_until(is_so) -> None:
    give_up = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_turns_come_in_the_order_of_asking():
    turns, order = Turns(), []

    def take(name: int) -> None:
        with turns.turn():
            order.append(name)

    threads = []
    with turns.turn():
        for name in range(5):
            threads.append(in_thread(lambda name=name: take(name)))
            wait_until(lambda name=name: len(turns._waiting) == name + 2)
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_who_begins_lets_those_go_first_that_have_turns():
    turns, order = Turns(), []

    def begin() -> None:
        turns.let_others_go_first()
        order.append("newcomer")

    with turns.turn():
        thread = in_thread(begin)
        thread.join(0.05)
        order.append("turn")
    thread.join(10)
    assert order == ["turn", "newcomer"]


def test_nobody_waits_for_a_turn_that_nobody_has():
    Turns().let_others_go_first()


def test_nobody_waits_for_itself():
    turns = Turns()
    with turns.turn():
        turns.let_others_go_first()
        with turns.turn():
            pass


def test_nobody_waits_for_ever():
    turns, done = Turns(), []

    def impatient() -> None:
        turns.let_others_go_first(0.01)
        with turns.turn(0.01):
            done.append(True)

    with turns.turn():
        in_thread(impatient).join(10)
    assert done == [True]
    with turns.turn(0):
        pass


def test_a_turn_ends_with_an_error_too():
    turns = Turns()
    with pytest.raises(KeyError), turns.turn():
        raise KeyError
    turns.let_others_go_first()
    assert not turns._waiting


def test_all_handles_of_a_branch_share_its_turns():
    first = turns_of("memory://a", "main")
    assert turns_of("memory://a", "main") is first
    assert turns_of("memory://a", "dev") is not first
    assert turns_of("memory://b", "main") is not first


FORKING = """
import os
from omnigraph.write.turns import turns_of

turns = turns_of("memory://forked", "main")
with turns.turn():
    child = os.fork()
    if child == 0:
        own = turns_of("memory://forked", "main")
        own.let_others_go_first(60)
        os._exit(0 if own is not turns and not own._waiting else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_child_process_does_not_wait_for_the_turns_of_its_parent():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deadline_ends_with_a_conflict_that_says_how_often_it_was_tried():
    deadline = Deadline(seconds=0)
    assert deadline.seconds_left == 0
    for attempt in (1, 2):
        with pytest.raises(ContentionError, match="could not do it") as caught:
            deadline.wait("do it", branch="review")
        assert (caught.value.attempts, caught.value.deadline_seconds) == (attempt, 0)
        assert caught.value.branch == "review"


def test_pauses_grow_to_a_bound_and_are_random(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(deadlines.time, "sleep", slept.append)
    monkeypatch.setattr(deadlines.random, "uniform", lambda low, high: (low, high)[1])
    for attempt in range(1, 20):
        pause(attempt)
    assert slept == sorted(slept)
    assert slept[0] == pytest.approx(0.01)
    assert slept[-1] == 0.5
    monkeypatch.undo()
    monkeypatch.setattr(deadlines.time, "sleep", slept.append)
    slept.clear()
    for _ in range(5):
        pause(10)
    assert len(set(slept)) == 5


def test_threads_can_share_turns_under_load():
    turns, inside, most = Turns(), [0], [0]

    def work(_number: int) -> None:
        with turns.turn():
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.001)
            inside[0] -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(40)))
    assert most == [1]
