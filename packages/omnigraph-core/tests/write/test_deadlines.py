"""The deadline of a write, and the pauses between its attempts."""

from __future__ import annotations

import pytest

from omnigraph.errors import ContentionError
from omnigraph.write import deadlines
from omnigraph.write.deadlines import Deadline, pause


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
