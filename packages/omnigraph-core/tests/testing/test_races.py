"""Races tell a true compare-and-swap from a false one."""

from __future__ import annotations

import errno
import itertools
import time

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ObjectKey, memory, parse_uri
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


class Unlocked(MemoryAdapter):
    """Looks and writes as the in-memory backend does, with nothing held in between."""

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        if self.uri(key) in memory._PROCESS.objects:
            return False
        memory._PROCESS.put(self.uri(key), data)
        return True

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        found = memory._PROCESS.objects.get(self.uri(key))
        if found is None or str(found[1]) != token:
            return None
        return memory._PROCESS.put(self.uri(key), data)


class SlowToCreate(MemoryAdapter):
    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        time.sleep(0.01)
        return super()._write_if_absent(key, data)


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
    assert f"{report.wrong_rounds} wrong" in report.summary()


@pytest.mark.parametrize("contest", ["create", "replace"])
def test_a_lock_that_is_missing_for_an_instant_is_caught(contest):
    """The in-memory backend's own code, without its lock and without any wait."""
    report = run_race(Unlocked(parse_uri(place())), contest, writers=16, rounds=300)
    assert not report.is_exact


def test_a_race_without_a_round_proves_nothing():
    assert not RaceReport(contest="create", place="threads", writers=2, winners=(), stored=(), errors=()).is_exact


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
        "backend", "reach", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up",
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


def test_the_check_reports_a_race_that_two_writers_win(monkeypatch):
    monkeypatch.setattr(MemoryAdapter, "_write_if_match", lambda self, key, data, token: self._write(key, data) or "x")
    steps = list(check_storage(place(), writers=4, rounds=2))
    failed = next(step for step in steps if not step.passed)
    assert failed.name == "replace_race"
    assert isinstance(failed.error, StorageError)
    assert failed.error.condition is StorageCondition.CONFIGURATION


def test_a_place_that_does_not_answer_is_not_called_a_liar_and_not_written_to(monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    for method in ("_exists", "_delete_prefix", "_write_if_absent"):
        monkeypatch.setattr(MemoryAdapter, method, refuse)
    steps = list(check_storage(place()))
    assert [(step.name, step.passed) for step in steps] == [("backend", True), ("reach", False)]


def test_a_race_that_met_an_error_is_unfinished_and_not_lost(monkeypatch):
    calls = itertools.count()
    create = MemoryAdapter._write_if_absent

    def full_once(self, key, data):
        if "round" in key.value and next(calls) == 3:
            raise OSError(errno.ENOSPC, "full")
        return create(self, key, data)

    monkeypatch.setattr(MemoryAdapter, "_write_if_absent", full_once)
    failed = next(step for step in check_storage(place(), writers=2, rounds=5) if not step.passed)
    assert failed.name == "create_race"
    assert "could not be finished" in failed.detail
    assert "no space left" in failed.detail
    assert "believe" not in str(failed.error)


def test_a_table_that_was_probed_is_dropped_where_lance_keeps_it():
    uri = place()
    seen = []

    class Watched(MemoryAdapter):
        def lance_location(self, key):
            seen.append(super().lance_location(key).uri)
            return super().lance_location(key)

    list(check_storage(uri, writers=2, rounds=1))
    import lance

    from omnigraph.testing import storage_check

    adapter = Watched(parse_uri(uri))
    storage_check._check_tables(adapter)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(seen[0])


def test_a_race_ends_when_its_time_is_over():
    report = run_race(SlowToCreate(parse_uri(place())), "create", writers=3, rounds=1000, seconds=0.2)
    assert report.is_exact
    assert 0 < len(report.winners) < 1000
    assert len(report.stored) == len(report.winners)


def test_a_check_that_is_abandoned_cleans_up():
    uri = place()
    steps = check_storage(uri)
    for _ in range(3):
        next(steps)
    steps.close()
    assert list(MemoryAdapter(parse_uri(uri)).list()) == []
