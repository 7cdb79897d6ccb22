"""A process that is forked from one that used a graph is told what to do, at once, whatever locks were held."""

from __future__ import annotations

import subprocess
import sys

PRELUDE = """
import gc, os, pickle, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import omnigraph as og, pyarrow
import omnigraph.graph
from omnigraph.errors import ClosedError, ErrorKind, ForkedProcessError

SCHEMA = "node P { name: String @key }"
NAMES = "query names() { match { $p: P } return { $p.name } }"

def records(*names):
    return [{"type": "P", "data": {"name": each}} for each in names]

def refused(call):
    try:
        call()
    except ForkedProcessError as error:
        assert error.kind is ErrorKind.FORKED_PROCESS
        assert "memory://" in error.message, error.message
        assert "spawn" in error.help and "forkserver" in error.help, error.help
        return True
    return False

def fork(work, *, leave=os._exit):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        leave(0)
    return child

def check(*children):
    assert [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children] == [0] * len(children)
"""


def run(script: str) -> None:
    """A script in a process of its own; what its children say is its own."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_whatever_a_child_asks_of_a_handle_of_its_parent_is_refused_with_the_way_out() -> None:
    run("""
g = og.init("memory://forked", schema=SCHEMA)
g.load(records("ann", "bob"), "append")
commits, maintain, schema, snapshot, result = g.commits, g.maintain, g.schema, g.snapshot(), g.query(NAMES)
lines, ticket = g.export(), g.bulk()
next(lines)

def work():
    calls = [
        lambda: g.query(NAMES), lambda: g.load(records("cid"), "append"), lambda: g.explain(NAMES), lambda: g.stats(),
        lambda: g.table("P"), lambda: g.export(), lambda: g.snapshot(), lambda: g.refresh(), lambda: g.bulk(),
        lambda: g.bulk_publish([]), lambda: g.schema, lambda: g.commits, lambda: g.maintain, lambda: g.__enter__(),
        lambda: commits.list(), lambda: commits.show("x"), lambda: maintain.ensure_indices(), lambda: schema.text,
        lambda: next(lines), lambda: ticket.write("P", pyarrow.table({"name": ["dan"]})),
        lambda: og.open("memory://forked"), lambda: og.init("memory://other", schema=SCHEMA),
        lambda: pickle.loads(pickle.dumps(g)),
    ]
    assert [number for number, call in enumerate(calls) if not refused(call)] == []
    # What is in memory is there.
    assert snapshot.to_dict()["types"][0]["count"] == 2
    assert result.rows() == [{"p.name": "ann"}, {"p.name": "bob"}]
    assert (g.uri, g.mode, repr(g)) == ("memory://forked", "rw", "<Graph memory://forked mode='rw'>")
    # A grandchild is no better off.
    check(fork(lambda: refused(lambda: g.query(NAMES)) or os._exit(1)))
    g.close()
    g.close()
    assert pickled_when_closed() == "closed"

def pickled_when_closed():
    try:
        pickle.dumps(g)
    except ClosedError:
        return "closed"

check(fork(work), fork(work, leave=sys.exit))
assert [*lines] == ['{"type":"P","data":{"id":"bob","name":"bob"}}']
g.load(records("cid"), "append")
assert len(g.query(NAMES)) == 3
g.close()
""")


def test_a_child_never_waits_for_what_threads_of_its_parent_hold() -> None:
    """Threads read and write while the process forks again and again; the children let go of all they inherited."""
    run("""
g = og.init("memory://busy", schema=SCHEMA)
g.load(records("ann"), "append")
stop = threading.Event()

def read():
    while not stop.wait(0.001):
        g.query(NAMES); g.stats(); g.refresh()

def write(number):
    while not stop.wait(0.001):
        g.load(records(f"w{number}"), "merge")

def work():
    global g
    assert refused(lambda: g.query(NAMES)) and refused(lambda: g.load([], "append"))
    assert refused(lambda: og.open("memory://busy"))
    g.close()
    g = None
    gc.collect()

threads = [threading.Thread(target=read), *(threading.Thread(target=write, args=(number,)) for number in (1, 2))]
for each in threads:
    each.start()
for number in range(4):
    check(fork(work, leave=sys.exit if number % 2 else os._exit))
stop.set()
for each in threads:
    each.join()
assert sorted(row["p.name"] for row in g.query(NAMES)) == ["ann", "w1", "w2"]
""")


def test_a_lock_of_a_handle_that_a_thread_of_the_parent_holds_holds_up_no_child() -> None:
    run("""
from omnigraph.write.gates import gates_of
g = og.init("memory://held", schema=SCHEMA)
room = gates_of(g._repository.adapter)
held = room.hold(exclusive=["a"])
held.__enter__()
with g._lifetime._lock, g._repository._lock, g._reader._lock, g._reader.memory._lock, room._changed:
    def work():
        held.__exit__(None, None, None)
        assert refused(lambda: g.query(NAMES))
        g.close()
    check(fork(work))
g.refresh()
""")


def test_a_graph_that_is_awaited_is_refused_in_a_child_and_not_awaited_for_ever() -> None:
    run("""
import asyncio
from omnigraph import aio
g = asyncio.run(aio.init("memory://awaited", schema=SCHEMA))
with g._threads._executor._shutdown_lock:
    def work():
        assert refused(lambda: asyncio.run(g.refresh()))
        assert refused(lambda: asyncio.run(aio.open("memory://awaited")))
        asyncio.run(g.close())
    check(fork(work), fork(work, leave=sys.exit))
asyncio.run(g.close())
""")


def test_a_load_that_finds_itself_in_a_child_ends_there_and_goes_on_in_the_parent() -> None:
    run("""
from omnigraph.write.gates import gates_of
g = og.init("memory://inside", schema=SCHEMA)
parent, children, are_held, may_go = os.getpid(), [], threading.Event(), threading.Event()

def hold(locks):
    for each in locks:
        each.acquire()
    are_held.set()
    may_go.wait()
    for each in locks:
        each.release()

def progress(told):
    if told.phase == "checking" and os.getpid() == parent:
        # As if other threads were just about to do the same.
        locks = [g._lifetime._lock, g._repository.heart._lock, gates_of(g._repository.adapter)._changed]
        holder = threading.Thread(target=hold, args=(locks,))
        holder.start()
        are_held.wait()
        children.append(os.fork())
        if not children[-1]:
            signal.alarm(20)
            return
        may_go.set()
        holder.join()

try:
    g.load(records("ann"), "append", progress=progress)
except ForkedProcessError:
    os._exit(0 if os.getpid() != parent else 1)
assert os.getpid() == parent
check(*children)
assert len(g.query(NAMES)) == 1
""")


def test_a_child_of_a_process_that_only_imported_everything_opens_graphs_of_its_own() -> None:
    run("""
import datafusion, omnigraph.aio
from omnigraph.plugins import open_adapter
adapter = open_adapter("memory://adapter")
adapter.write(adapter.key("a"), b"1")

def work():
    assert adapter.read(adapter.key("a")) == b"1"
    adapter.write(adapter.key("a"), b"2")
    with og.init("memory://own", schema=SCHEMA) as g:
        g.load(records("ann"), "append")
        assert len(g.query(NAMES)) == 1

check(fork(work), fork(work, leave=sys.exit))
""")


def test_every_lock_of_the_process_is_free_in_a_child() -> None:
    """Locks of modules, and of what modules hold: a thread of the parent may have any of them when it forks."""
    run("""
import importlib, pkgutil

LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition)

def modules():
    for each in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
        if ".testing" not in each.name:
            yield importlib.import_module(each.name)

def locks():
    for module in modules():
        for name, value in [*vars(module).items()]:
            if isinstance(value, LOCKS):
                yield f"{module.__name__}.{name}", value
            elif getattr(type(value), "__module__", "").startswith("omnigraph.") and hasattr(value, "__dict__"):
                for inner, held in vars(value).items():
                    if isinstance(held, LOCKS):
                        yield f"{module.__name__}.{name}.{inner}", held

found = dict(locks())
assert {"omnigraph.storage.memory._PROCESS.lock", "omnigraph.history.ulids._last.lock"} <= found.keys(), found.keys()
for each in found.values():
    each.acquire()

def work():
    held = [name for name, lock in locks() if not lock.acquire(blocking=False)]
    assert held == [], held

check(fork(work))
""")
