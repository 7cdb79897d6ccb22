"""Gates: who would collide goes in turn and in order, nobody waits for itself, and nobody for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.write.gates import SCHEMA_GATE, GateRoom, gates_of, type_gate


def in_thread(act) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def wait_until(is_so) -> None:
    give_up = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def passes(room: GateRoom, **gates) -> bool:
    """Whether another thread gets through at once."""
    found: list[bool] = []

    def try_it() -> None:
        with room.hold(seconds=0, **gates) as is_open:
            found.append(is_open)

    in_thread(try_it).join(10)
    return found == [True]


def test_gates_open_in_the_order_of_asking():
    room, order = GateRoom(), []

    def take(name: int) -> None:
        with room.hold(exclusive=["a"]):
            order.append(name)

    threads = []
    with room.hold(exclusive=["a"]):
        for name in range(5):
            threads.append(in_thread(lambda name=name: take(name)))
            wait_until(lambda name=name: room.waiting() == name + 1)
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_writers_of_different_types_do_not_wait_for_each_other():
    room = GateRoom()
    with room.hold(exclusive=["a", "b"], shared=[SCHEMA_GATE]):
        assert passes(room, exclusive=["c"], shared=[SCHEMA_GATE])
        assert not passes(room, exclusive=["b", "c"])


def test_writers_share_the_schema_and_whoever_changes_it_has_it_alone():
    room = GateRoom()
    with room.hold(shared=[SCHEMA_GATE]):
        assert passes(room, shared=[SCHEMA_GATE])
        assert not passes(room, exclusive=[SCHEMA_GATE])
    with room.hold(exclusive=[SCHEMA_GATE]):
        assert not passes(room, shared=[SCHEMA_GATE])


def test_a_schema_change_that_waits_is_not_overtaken_for_ever():
    """Writers that come later wait behind it, although those before it still share the gate."""
    room = GateRoom()
    with room.hold(shared=[SCHEMA_GATE]):
        waits = in_thread(lambda: room.hold(exclusive=[SCHEMA_GATE]).__enter__())
        wait_until(lambda: room.waiting() == 1)
        assert not passes(room, shared=[SCHEMA_GATE])
    waits.join(10)


def test_two_writers_of_the_same_types_in_another_order_never_wait_for_each_other_both():
    room = GateRoom()

    def work(number: int) -> None:
        for _ in range(50):
            with room.hold(exclusive=["a", "b"] if number % 2 else ["b", "a"]) as is_open:
                assert is_open

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert room.waiting() == 0


def test_nobody_waits_for_itself():
    room = GateRoom()
    with room.hold(exclusive=["a"]), room.hold(exclusive=["a", "a", "b"], shared=["a"]) as is_open:
        assert is_open
    with room.hold() as is_open:
        assert is_open


def test_nobody_waits_for_ever():
    room = GateRoom()
    with room.hold(exclusive=["a"]):
        assert not passes(room, exclusive=["a"])
    assert passes(room, exclusive=["a"])


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_gates_are_released_whatever_ends_the_block(error):
    room = GateRoom()
    with pytest.raises(error), room.hold(exclusive=["a"]):
        raise error
    assert passes(room, exclusive=["a"])


def test_who_gives_up_waiting_does_not_keep_others_out(monkeypatch):
    """An interrupt that comes while one waits."""
    room = GateRoom()

    def interrupted(*_arguments) -> None:
        raise KeyboardInterrupt

    with room.hold(exclusive=["a"]):
        monkeypatch.setattr(room._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt), room.hold(exclusive=["a"]):
            pass
        monkeypatch.undo()
    assert passes(room, exclusive=["a"])


def test_at_most_one_is_inside_under_load():
    room, inside, most = GateRoom(), [0], [0]

    def work(_number: int) -> None:
        with room.hold(exclusive=["a"]):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.001)
            inside[0] -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(40)))
    assert most == [1]


def test_all_handles_of_a_graph_share_its_gates():
    first, same, other = (MemoryAdapter(parse_uri(f"memory://gates/{each}")) for each in "aab")
    room = gates_of(first)
    assert gates_of(same) is room
    assert gates_of(other) is not room
    assert len({type_gate(branch, key) for branch in ("main", "dev") for key in ("node:A", "edge:A")}) == 4


FORKING = """
import os
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.write.gates import gates_of

adapter = MemoryAdapter(parse_uri("memory://gates/forked"))
room = gates_of(adapter)
with room.hold(exclusive=["a"]):
    child = os.fork()
    if child == 0:
        own = gates_of(adapter)
        with own.hold(exclusive=["a"], seconds=0) as is_open:
            os._exit(0 if own is not room and is_open else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_child_process_does_not_wait_for_threads_of_its_parent():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
