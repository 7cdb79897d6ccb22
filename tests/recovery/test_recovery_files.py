"""Files of loads that end early: a load removes its own, and others remove those of a process that is proved dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, StorageCondition, StorageError
from omnigraph.failpoints import LOAD_STAGED, PUBLISH_BEFORE_COMMIT, PUBLISH_BEFORE_SIDECAR
from omnigraph.testing.faults import Raise, armed

SCHEMA = "node Person { name: String @key  note: String  badge: I64? @unique }"
BYTES = 6 * 1024 * 1024

CHILD = """
import os, signal, sys
import omnigraph as og
from omnigraph.write import load as loading
from omnigraph.failpoints import LOAD_STAGED
from omnigraph.testing.faults import Call, armed

uri, end, spill = sys.argv[1:]
# Started by a shell in the background, it would ignore what Ctrl-C sends.
signal.signal(signal.SIGINT, signal.default_int_handler)
loading.LoadRequest.__init__.__kwdefaults__["spill_bytes"] = int(spill)
def records():
    for number in range(600):
        yield {"type": "Person", "data": {"name": f"big{number}", "note": os.urandom(12_000).hex()}}
ended = []
def act(_name):
    if ended:
        return
    ended.append(True)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "interrupt": signal.SIGINT}[end])
with og.open(uri) as graph, armed({LOAD_STAGED: Call(act)}):
    graph.load(records(), "append")
print("loaded", flush=True)
"""


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    with og.init(str(tmp_path / "graph"), schema=SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": "ann", "note": "first", "badge": 1}}], "append")
        yield graph


def big(*, badge: int | None = None) -> Iterator[dict]:
    for number in range(600):
        yield {"type": "Person", "data": {"name": f"big{number}", "note": os.urandom(12_000).hex(), "badge": None}}
    yield {"type": "Person", "data": {"name": "last", "note": "", "badge": badge}}


def data_files(graph: og.Graph) -> set[Path]:
    return {each for each in (Path(graph.uri) / "nodes").rglob("*") if each.is_file() and "data" in each.parts}


def notes(graph: og.Graph) -> list[str]:
    adapter = graph._repository.adapter
    return [each.name for each in adapter.list_dir(adapter.key("__loads"))]


def load_in_child(graph: og.Graph, end: str, *, spill: int = 1024 * 1024) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, graph.uri, end, str(spill)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_load_that_is_refused_leaves_no_file(graph: og.Graph):
    before = data_files(graph)
    with pytest.raises(ConstraintError):
        graph.load(big(badge=1), "append")
    assert data_files(graph) == before
    assert notes(graph) == []


@pytest.mark.parametrize("point", [LOAD_STAGED, PUBLISH_BEFORE_SIDECAR])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), StorageError("full", condition=StorageCondition.CONFIGURATION)])
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_that_fails_before_a_table_moved_leaves_no_file(graph: og.Graph, point: str, error, mode: str):
    before = data_files(graph)
    with armed({point: Raise(error)}), pytest.raises(type(error)):
        graph.load(big(), mode)
    assert data_files(graph) == before
    assert notes(graph) == []


def test_a_first_load_to_a_branch_that_fails_leaves_no_row_in_its_fork(graph: og.Graph):
    graph.branches.create("dev")
    before = data_files(graph)
    with armed({LOAD_STAGED: Raise(KeyboardInterrupt())}), pytest.raises(KeyboardInterrupt):
        graph.load(big(), "append", branch="dev")
    assert data_files(graph) == before


def test_a_mutation_that_fails_before_a_table_moved_leaves_no_file(graph: og.Graph):
    before = data_files(graph)
    text = 'query q() { insert Person { name: "bob", note: "n" } }'
    with armed({PUBLISH_BEFORE_SIDECAR: Raise(KeyboardInterrupt())}), pytest.raises(KeyboardInterrupt):
        graph.mutate(text)
    assert data_files(graph) == before


def test_what_a_version_may_name_stays(graph: og.Graph):
    """From the first table on that moved, nobody removes anything: a recovery or a reader may need it."""
    before = data_files(graph)
    gone = StorageError("gone", condition=StorageCondition.TRANSIENT)
    with armed({PUBLISH_BEFORE_COMMIT: Raise(gone)}), pytest.raises(og.errors.OutcomeUnknownError):
        graph.load(big(), "append")
    assert data_files(graph) > before
    assert notes(graph) == []


def test_a_load_that_lands_keeps_its_files_and_leaves_no_note(graph: og.Graph):
    graph.load(big(), "append")
    assert graph.table("Person").to_arrow().num_rows == 602
    assert notes(graph) == []


def test_the_files_of_a_killed_load_are_removed_by_the_next_opening(graph: og.Graph):
    before = data_files(graph)
    child = load_in_child(graph, "kill")
    child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL
    left = data_files(graph) - before
    assert sum(each.stat().st_size for each in left) > BYTES // 2
    (listed,) = graph.recoveries.loads()
    assert (listed.state, listed.branch) == ("cut_off", "main")
    with og.open(graph.uri):
        assert data_files(graph) == before
    assert graph.recoveries.loads() == []


def test_the_files_of_a_killed_load_are_removed_by_the_next_large_load(graph: og.Graph):
    before = data_files(graph)
    load_in_child(graph, "kill").communicate(timeout=120)
    left = data_files(graph) - before
    assert left
    graph.load(big(), "append")
    assert not any(each.exists() for each in left)
    assert notes(graph) == []


def test_an_interrupted_load_leaves_no_file(graph: og.Graph):
    before = data_files(graph)
    child = load_in_child(graph, "interrupt")
    child.communicate(timeout=120)
    assert child.returncode != 0
    assert data_files(graph) == before
    assert notes(graph) == []


def test_the_files_of_a_stopped_load_stay_and_it_lands_when_it_goes_on(graph: og.Graph):
    before = data_files(graph)
    child = load_in_child(graph, "stop")
    assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
    left = data_files(graph) - before
    try:
        named = enumerate(big())
        others = ({**each, "data": {**each["data"], "name": f"other{number}"}} for number, each in named)
        with og.open(graph.uri) as other:
            other.load(others, "append")
        assert all(each.exists() for each in left)
        assert [each.state for each in graph.recoveries.loads()] == ["unknown"]
        child.send_signal(signal.SIGCONT)
        printed, problems = child.communicate(timeout=120)
    finally:
        child.kill()
    assert printed.endswith("loaded\n"), problems
    assert graph.table("Person").to_arrow().num_rows == 1 + 600 + 601
    assert notes(graph) == []


def test_a_note_of_another_machine_is_left_alone(graph: og.Graph):
    load_in_child(graph, "kill").communicate(timeout=120)
    (name,) = notes(graph)
    adapter = graph._repository.adapter
    key = adapter.key(f"__loads/{name}")
    facts = json.loads(adapter.read(key))
    facts["process"]["machine"] = "elsewhere"
    adapter.write(key, json.dumps(facts).encode())
    left = data_files(graph)
    og.open(graph.uri).close()
    assert data_files(graph) == left
    assert notes(graph) == [name]
