"""Heartbeats: who takes long shows it, who does not costs nothing, and an observer believes its own clock only."""

from __future__ import annotations

import json
import secrets
import threading
import time

from omnigraph.history.heartbeats import HEARTBEAT_PREFIX, Heart, Observer, heartbeat_key
from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing.faults import CountingAdapter

BEAT = 0.01


def new_adapter() -> MemoryAdapter:
    return MemoryAdapter(parse_uri(f"memory://hearts-{secrets.token_hex(6)}"))


def beats(adapter: StorageAdapter, heart: Heart) -> int:
    data = adapter.read_if_exists(heartbeat_key(adapter, heart.writer))
    return 0 if data is None else json.loads(data)["beat"]


def wait_until(is_so) -> None:
    give_up = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_a_write_that_takes_less_than_a_beat_puts_nothing():
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=30)
    for _ in range(5):
        with heart.beating():
            pass
    assert list(adapter.list(adapter.key(HEARTBEAT_PREFIX))) == []


def test_a_long_write_beats_until_it_is_over():
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)
    with heart.beating():
        wait_until(lambda: beats(adapter, heart) >= 3)
    wait_until(lambda: beats(adapter, heart) == 0)


def test_writes_of_several_threads_have_one_heart():
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)
    with heart.beating():
        with heart.beating():
            wait_until(lambda: beats(adapter, heart) >= 1)
        so_far = beats(adapter, heart)
        wait_until(lambda: beats(adapter, heart) > so_far)
    wait_until(lambda: beats(adapter, heart) == 0)


def test_a_heart_that_is_closed_leaves_nothing_whether_it_beat_or_not():
    adapter = new_adapter()
    quick, slow = Heart(adapter, beat_seconds=0.2), Heart(adapter, beat_seconds=3_600)
    with quick.beating(), slow.beating():
        wait_until(lambda: beats(adapter, quick) >= 1)
    for heart in (quick, slow, slow):
        closing = threading.Thread(target=heart.close, daemon=True)
        closing.start()
        closing.join(20)
        assert heart._thread is None
    assert list(adapter.list(adapter.key(HEARTBEAT_PREFIX))) == []


def test_a_heart_beats_again_after_a_rest():
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)
    for _ in range(2):
        with heart.beating():
            wait_until(lambda: beats(adapter, heart) >= 1)
        wait_until(lambda: heart._thread is None)


def test_a_store_that_fails_does_not_disturb_the_write():
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)
    adapter.close()

    class Refusing(MemoryAdapter):
        def _write(self, key, data):
            raise OSError("no space")

    heart._adapter = Refusing(adapter.root)
    with heart.beating():
        time.sleep(5 * BEAT)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_writer_is_dead_when_its_heartbeat_stays_the_same_for_long_enough():
    adapter, clock = new_adapter(), Clock()
    observer = Observer(adapter, patience=20, now=clock)
    key = heartbeat_key(adapter, "w1")
    adapter.write(key, b"beat 1")
    assert observer.is_alive("op", "w1") is None
    clock.seconds = 1
    assert observer.is_alive("op", "w1") is None
    clock.seconds = 20
    assert observer.is_alive("op", "w1") is None
    adapter.write(key, b"beat 2")
    clock.seconds = 22
    assert observer.is_alive("op", "w1") is True
    clock.seconds = 41
    assert observer.is_alive("op", "w1") is None
    clock.seconds = 42
    assert observer.is_alive("op", "w1") is False


def test_a_writer_without_a_heartbeat_is_given_the_same_time():
    adapter, clock = new_adapter(), Clock()
    observer = Observer(adapter, patience=20, now=clock)
    assert observer.is_alive("op", "w2") is None
    clock.seconds = 1
    assert observer.is_alive("op", "w2") is None
    clock.seconds = 20
    assert observer.is_alive("op", "w2") is None
    clock.seconds = 21
    assert observer.is_alive("op", "w2") is False


def test_a_writer_that_shows_itself_again_is_not_dead():
    adapter, clock = new_adapter(), Clock()
    observer = Observer(adapter, patience=20, now=clock)
    observer.is_alive("op", "w3")
    clock.seconds = 2
    observer.is_alive("op", "w3")
    clock.seconds = 25
    adapter.write(heartbeat_key(adapter, "w3"), b"beat 1")
    assert observer.is_alive("op", "w3") is True


def test_looks_cost_one_request_a_second_and_the_first_costs_none():
    adapter, clock = CountingAdapter(new_adapter()), Clock()
    observer = Observer(adapter, patience=20, now=clock)
    for tenth in range(30):
        clock.seconds = tenth / 10
        observer.is_alive("op", "w4")
    assert adapter.calls == {"read": 2}


def test_of_operations_that_are_over_nothing_is_kept():
    adapter, clock = new_adapter(), Clock()
    observer = Observer(adapter, patience=20, now=clock)
    for seconds in (0, 1):
        clock.seconds = seconds
        assert observer.is_alive("op", "w5") is None
    observer.keep({"another"})
    clock.seconds = 30
    assert observer.is_alive("op", "w5") is None


def test_a_process_without_room_for_a_thread_writes_without_a_heartbeat(monkeypatch):
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)

    def refuse(_thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", refuse)
        with heart.beating():
            pass
    with heart.beating():
        wait_until(lambda: beats(adapter, heart) >= 1)
    heart.close()


def test_no_two_beats_of_a_writer_look_alike():
    """An observer may look at the first beat of one write and then at the first of another."""
    adapter = new_adapter()
    heart = Heart(adapter, beat_seconds=BEAT)
    seen = set()
    for _ in range(2):
        with heart.beating():
            wait_until(lambda: beats(adapter, heart) >= 1)
            seen.add(adapter.read(heartbeat_key(adapter, heart.writer)))
        wait_until(lambda: heart._thread is None and beats(adapter, heart) == 0)
    assert len(seen) == 2
