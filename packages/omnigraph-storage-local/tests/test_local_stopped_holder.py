"""A process that was stopped while it held the lock: who waits for it, and who does not."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, ObjectKey, content_token, parse_uri
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph_storage_local.adapter import LOCK_NAME, LocalAdapter
from omnigraph_storage_local.steps import CHECKED


class StopsUnderTheLock(LocalAdapter):
    """Stops its own process between the check and the replacement, as a debugger or a hanging disk would."""

    def _reached(self, step: str) -> None:
        if step == CHECKED:
            os.kill(os.getpid(), signal.SIGSTOP)


@pytest.fixture
def impatient(root: Path) -> LocalAdapter:
    """Holds two objects, and waits for the lock for a tenth of a second."""
    adapter = LocalAdapter(parse_uri(root))
    adapter.lock_timeout_seconds = 0.1
    for name in ("x", "dir/y"):
        adapter.write(adapter.key(name), b"old")
    return adapter


def stopped_inside_a_swap(adapter: LocalAdapter, key: ObjectKey, children) -> int:
    """A process that was stopped while it held the lock; once continued, it makes its swap and ends with 0."""
    token = adapter.read_versioned(key).token
    stopping = StopsUnderTheLock(adapter.root)

    def swap() -> None:
        assert stopping.write_if_match(key, b"from the stopped one", token) is not None

    pid: int = children.start(swap)
    children.wait_until_stopped(pid)
    return pid


def test_a_stopped_holder_makes_conditional_changes_wait_and_fail_and_disturbs_no_reader(
    impatient: LocalAdapter, root: Path, children
):
    adapter = impatient
    x, y, token = adapter.key("x"), adapter.key("dir/y"), content_token(b"old")
    pid = stopped_inside_a_swap(adapter, x, children)
    for change in (
        lambda: adapter.write_if_absent(adapter.key("dir/z"), b"new"),
        lambda: adapter.write_if_match(x, b"new", token),
        lambda: adapter.rename(y, x),
        lambda: adapter.delete_prefix(adapter.key("dir")),
        lambda: adapter.delete_prefix(ROOT),
    ):
        with pytest.raises(StorageError, match=r"was not free for 0\.1 s: another process holds it") as caught:
            change()
        assert caught.value.condition is StorageCondition.TRANSIENT
        assert "This change was not made" in (caught.value.help or "")
    assert {str(key) for key in adapter.list()} == {"x", "dir/y"}
    assert adapter.read(x) == adapter.read(y) == b"old"
    residue = [name for name in os.listdir(root) + os.listdir(root / "dir") if "#" in name and name != LOCK_NAME]
    assert len(residue) == 1, "only the stopped one still has its temporary file"

    os.kill(pid, signal.SIGCONT)
    assert children.wait(pid) == 0
    assert adapter.read(x) == b"from the stopped one"
    assert adapter.write_if_match(x, b"new", token) is None
    assert adapter.write_if_match(x, b"new", content_token(b"from the stopped one"))
    assert adapter.read(x) == b"new"


def test_a_stopped_holder_is_in_the_way_of_no_plain_write_and_of_no_deletion(impatient: LocalAdapter, children):
    adapter = impatient
    y, z = adapter.key("dir/y"), adapter.key("new/place/z")
    pid = stopped_inside_a_swap(adapter, adapter.key("x"), children)
    for data in (b"1", b"2"):
        for key in (y, z):
            adapter.write(key, data)
            assert adapter.read(key) == data
    for _ in range(2):
        adapter.delete(z)
        assert not adapter.exists(z)
    adapter.delete_prefix(y)
    assert [str(key) for key in adapter.list()] == ["x"]
    os.kill(pid, signal.SIGCONT)
    assert children.wait(pid) == 0
    assert {str(key): adapter.read(key) for key in adapter.list()} == {"x": b"from the stopped one"}


SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { @unique(src, dst) }
"""
CHANGES = """
query add($name: String) { insert Person { name: $name }  insert Knows { from: $name, to: "ann" } }
query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query remove($name: String) { delete Person where name = $name }
"""


def test_a_stopped_holder_is_in_the_way_of_no_write_to_the_graph(root: Path, children, monkeypatch: pytest.MonkeyPatch):
    with omnigraph.init(root, schema=SCHEMA) as made:
        made.load([{"type": "Person", "data": {"name": "ann"}}], "append")
    adapter = LocalAdapter(parse_uri(root))
    beside = adapter.key("beside")
    adapter.write(beside, b"old")
    pid = stopped_inside_a_swap(adapter, beside, children)

    monkeypatch.setattr(LocalAdapter, "lock_timeout_seconds", 0.1)
    with omnigraph.open(root) as graph:
        graph.load([{"type": "Person", "data": {"name": "bo", "age": 1}}], "append")
        graph.load([{"type": "Person", "data": {"name": "bo", "age": 2}}], "merge")
        graph.load([{"edge": "Knows", "from": "bo", "to": "ann"}], "overwrite")
        graph.mutate(CHANGES, "add", params={"name": "cy"})
        graph.mutate(CHANGES, "add", params={"name": "di"})
        graph.mutate(CHANGES, "age", params={"name": "cy", "age": 3})
        graph.mutate(CHANGES, "remove", params={"name": "bo"})
        with pytest.raises(StorageError, match="another process holds it"):
            adapter.write_if_absent(adapter.key("claim"), b"1")
    os.kill(pid, signal.SIGCONT)
    assert children.wait(pid) == 0
    assert adapter.read(beside) == b"from the stopped one"
    adapter.delete(beside)
    with omnigraph.open(root) as graph:
        assert_graph_is_whole(graph)
        people = {row["name"]: row["age"] for row in graph.table("Person")}
        assert people == {"ann": None, "cy": 3, "di": None}
        assert sorted(row["src"] for row in graph.table("Knows")) == ["cy", "di"]


def test_a_deletion_that_meets_a_stopped_holder_halfway_says_that_a_part_is_gone(root: Path, children, monkeypatch):
    adapter = LocalAdapter(parse_uri(root))
    for name in ("x", "dir/y", "dir/deep/z"):
        adapter.write(adapter.key(name), b"old")
    stopping = StopsUnderTheLock(adapter.root)
    remove = adapter._remove_directory
    pids: list[int] = []

    def remove_and_let_another_in(directory: str) -> None:
        remove(directory)
        # It waits for the lock, gets it when this directory is done, and stops with it.
        token = content_token(b"old")
        pids.append(children.start(lambda: stopping.write_if_match(adapter.key("x"), b"from the stopped one", token)))

    monkeypatch.setattr(adapter, "_remove_directory", remove_and_let_another_in)
    hold = adapter._lock.hold

    def hold_after_the_other(timeout_seconds: float, **named):
        if pids:
            children.wait_until_stopped(pids[0])
        return hold(timeout_seconds, **named)

    monkeypatch.setattr(adapter._lock, "hold", hold_after_the_other)
    adapter.lock_timeout_seconds = 0.1
    with pytest.raises(StorageError, match="another process holds it") as caught:
        adapter.delete_prefix(adapter.key("dir"))
    assert (caught.value.help or "").startswith(f"Only a part of what is below {root}/dir was deleted. A holder needs")
    assert {str(key) for key in adapter.list()} == {"x", "dir/y"}
    os.kill(pids[0], signal.SIGCONT)
    assert children.wait(pids[0]) == 0
    LocalAdapter(adapter.root).delete_prefix(adapter.key("dir"))
    assert {str(key) for key in adapter.list()} == {"x"}
