"""Races tell a true compare-and-swap from a false one."""

from __future__ import annotations

import itertools
import time

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ObjectKey, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing import Fault, FaultyAdapter
from omnigraph.testing.races import RaceReport, run_race
from omnigraph.testing.storage_check import check_storage

_numbers = itertools.count()


def place() -> str:
    return f"memory://races-{next(_numbers)}/g"


class CheckThenWrite(MemoryAdapter):
    """What must be caught: looks first and writes afterwards."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        if self._exists(key):
            return False
        time.sleep(0.002)
        self._write(key, data)
        return True

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        if self._read_versioned(key, 100).token != token:
            return None
        time.sleep(0.002)
        self._write(key, data)
        return self._read_versioned(key, 100).token


class NobodyWins(MemoryAdapter):
    """Creates the object and denies it."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        super()._write_if_absent(key, data)
        return False


@pytest.mark.parametrize("contest", ["create", "replace"])
def test_a_true_swap_has_one_winner_a_round_whose_bytes_are_stored(contest):
    report = run_race(MemoryAdapter(parse_uri(place())), contest, writers=8, rounds=20)
    assert report.is_exact
    assert [len(won) for won in report.winners] == [1] * 20
    assert report.stored == tuple(won[0] for won in report.winners)


@pytest.mark.parametrize("contest", ["create", "replace"])
def test_check_then_write_is_caught(contest):
    report = run_race(CheckThenWrite(parse_uri(place())), contest, writers=8, rounds=10)
    assert not report.is_exact
    assert any(len(won) > 1 for won in report.winners)
    assert "rounds wrong" in report.summary()


def test_a_store_in_which_nobody_wins_is_caught():
    report = run_race(NobodyWins(parse_uri(place())), "create", writers=4, rounds=3)
    assert not report.is_exact
    assert report.winners == ((), (), ())


def test_a_writer_that_gets_an_error_is_no_winner_and_holds_up_nobody():
    fault = Fault(verb="read_versioned", error=TimeoutError(), times=1)
    report = run_race(FaultyAdapter(MemoryAdapter(parse_uri(place())), fault), "replace", writers=3, rounds=2)
    assert not report.is_exact
    assert len(report.errors) == 3


def test_a_race_leaves_nothing_behind():
    adapter = MemoryAdapter(parse_uri(place()))
    run_race(adapter, "create", writers=2, rounds=2)
    assert list(adapter.list()) == []


def test_a_winner_whose_bytes_are_not_stored_is_no_exact_race():
    report = RaceReport(contest="create", place="threads", writers=2, winners=((0,),), stored=(1,), errors=())
    assert not report.is_exact


def test_the_check_of_a_good_store_passes_every_step_and_cleans_up():
    uri = place()
    steps = list(check_storage(uri, writers=4, rounds=3))
    assert [step.name for step in steps] == [
        "backend", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up",
    ]  # fmt: skip
    assert all(step.passed for step in steps)
    assert list(MemoryAdapter(parse_uri(uri)).list()) == []


@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        ("_write_if_absent", "honesty"),
        ("_read", "round_trip"),
        ("_list", "round_trip"),
    ],
)
def test_the_check_ends_with_the_first_failure_and_the_clean_up(monkeypatch, broken: str, failing: str):
    wrong = {"_write_if_absent": True, "_read": b"other", "_list": iter(())}[broken]
    monkeypatch.setattr(MemoryAdapter, broken, lambda *arguments: wrong)
    steps = list(check_storage(place(), writers=2, rounds=2))
    assert [step.name for step in steps if not step.passed] == [failing]
    assert [step.name for step in steps][-2:] == [failing, "clean_up"]
    failed = steps[-2]
    assert failed.error is not None
    assert failed.error.help
    assert failed.to_dict()["passed"] is False


def test_the_check_reports_a_race_that_two_writers_win(monkeypatch):
    monkeypatch.setattr(MemoryAdapter, "_write_if_match", lambda self, key, data, token: self._write(key, data) or "x")
    steps = list(check_storage(place(), writers=4, rounds=2))
    failed = next(step for step in steps if not step.passed)
    assert failed.name == "replace_race"
    assert isinstance(failed.error, StorageError)
    assert failed.error.condition is StorageCondition.CONFIGURATION


def test_a_check_that_is_abandoned_cleans_up():
    uri = place()
    steps = check_storage(uri)
    for _ in range(2):
        next(steps)
    steps.close()
    assert list(MemoryAdapter(parse_uri(uri)).list()) == []
