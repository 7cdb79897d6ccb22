"""What many one-row commits leave behind: the next one, and the next open, cost what the tenth did.

Counted on a disk that nothing is synced to, so that many commits are affordable: calls of the adapter, calls of Lance,
and the bytes below ``__manifest``. The same at an S3 server is in ``test_cost_of_s3_writes``. The ordinary run goes
past the first merging of history; ``tox run -e scale`` goes to a thousand commits.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.plugins import open_adapter
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.faults import CountingAdapter
from omnigraph.write.init import init_graph

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
COMMITS = int(os.environ.get("OMNIGRAPH_COST_COMMITS", "160"))


class UnsyncedAdapter(CountingAdapter):
    """Counts as its parent does and syncs nothing."""

    def make_durable(self, files: Iterable[ObjectKey]) -> None:
        self.calls["make_durable"] += 1

    def _write(self, key: ObjectKey, data: bytes) -> None:
        self.calls["write"] += 1
        target = Path(self.root.path) / key.value
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


@dataclass(frozen=True)
class Moment:
    """One commit: what it asked of the adapter and of Lance, and the bytes that it added to the manifest."""

    adapter: dict[str, int]
    tables: dict[str, int]
    manifest_bytes: int


@dataclass(frozen=True)
class History:
    """A graph with many commits of one row each, in ``moments`` from the first on."""

    folder: Path
    moments: tuple[Moment, ...]


def make_graph(folder: Path, schema: str = SCHEMA) -> tuple[Graph, CountingAdapter]:
    adapter = UnsyncedAdapter(open_adapter(folder))
    repository = init_graph(adapter, schema)
    return Graph(repository), adapter


def record(number: int) -> dict[str, Any]:
    """Two nodes, and then nodes and edges in turns."""
    if number < 2 or number % 2:
        return {"type": "Person", "data": {"name": f"p{number}", "age": number}}
    return {"edge": "Knows", "from": "p0", "to": "p1"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("history") / "graph"
    graph, adapter = make_graph(folder)
    moments = []
    sizes = manifest_sizes(folder)
    for number in range(COMMITS):
        adapter.calls.clear()
        with count_table_calls() as tables:
            graph.load([record(number)], "append")
        before, sizes = sizes, manifest_sizes(folder)
        added = sum(size for name, size in sizes.items() if name not in before)
        moments.append(Moment(dict(adapter.calls), dict(tables), added))
    graph.close()
    return History(folder, tuple(moments))


def manifest_sizes(folder: Path) -> dict[str, int]:
    return {str(each): each.stat().st_size for each in (folder / "__manifest").rglob("*") if each.is_file()}


def mean_bytes(moments: Iterable[Moment]) -> float:
    found = [each.manifest_bytes for each in moments]
    return sum(found) / len(found)


def test_a_load_looks_for_sidecars_writes_one_and_deletes_it_and_reads_its_branch_once(tmp_path: Path):
    adapter = CountingAdapter(open_adapter(tmp_path / "graph"))
    repository = init_graph(adapter, SCHEMA)
    with Graph(repository) as graph:
        graph.load([record(0)], "append")
        for number in range(1, 5):
            adapter.calls.clear()
            graph.load([record(number)], "append")
            asked = {verb: count for verb, count in adapter.calls.items() if verb != "make_durable"}
            assert asked == {"list_dir": 1, "write": 1, "delete": 1, "read": 1}, number


def test_every_commit_makes_the_same_calls_of_the_adapter(history: History):
    assert [each.adapter for each in history.moments if each.adapter != history.moments[9].adapter] == []


def test_every_commit_makes_the_same_calls_of_lance_but_for_the_merging_of_history(history: History):
    node, edge = history.moments[9].tables, history.moments[10].tables
    assert node == {"write_rows": 1, "stage_append": 1, "commit": 1, "log.stage": 1, "log.publish": 1}
    assert edge == node
    merging = Counter[int]()
    for number, each in enumerate(history.moments[9:], 9):
        calls = dict(each.tables)
        merging[calls.pop("log.read", 0)] += 1
        assert calls == node, number
    # Reading history back happens at every 128th commit or so.
    assert set(merging) <= {0, 3, 6, 9}, merging
    assert 1 <= sum(merging.values()) - merging[0] <= COMMITS // 100, merging


def test_the_manifest_grows_by_the_same_bytes_with_each_commit(history: History):
    early, late = history.moments[9:41], history.moments[-32:]
    assert mean_bytes(late) <= 2 * mean_bytes(early), (mean_bytes(early), mean_bytes(late))
    # Most commits merge no history: they are alike one by one.
    usual = [sorted(each.manifest_bytes for each in part)[len(part) // 2] for part in (early, late)]
    assert usual[1] <= 2 * usual[0], usual


def test_a_cold_open_reads_the_same_after_many_commits(history: History, tmp_path: Path):
    graph, _ = make_graph(tmp_path / "graph")
    for number in range(10):
        graph.load([record(number)], "append")
    graph.close()
    cold = []
    for folder in (tmp_path / "graph", history.folder):
        with count_table_calls() as tables, og.open(folder, mode="r") as opened:
            opened.snapshot()
        cold.append((dict(tables), newest_bytes(folder)))
    (early, early_bytes), (late, late_bytes) = cold
    assert late == early == {"log.open": 1, "log.read": 1, "log.probe": 1}
    assert late_bytes <= 2 * early_bytes, (early_bytes, late_bytes)


def newest_bytes(folder: Path) -> int:
    """What a cold open of the manifest reads: its newest description, and the newest data file, which is the state."""
    [manifest] = (folder / "__manifest").iterdir()
    newest_version = min((manifest / "_versions").glob("*.manifest"))
    newest_state = max((manifest / "data").glob("*.lance"), key=lambda each: each.stat().st_mtime_ns)
    return newest_version.stat().st_size + newest_state.stat().st_size


def test_nothing_of_many_commits_is_lost(history: History):
    with og.open(history.folder, mode="r") as graph:
        assert len(graph.commits.list()) == COMMITS + 1
        assert graph.table("Person").to_arrow().num_rows == 2 + (COMMITS - 2) // 2
        assert graph.table("Knows").to_arrow().num_rows == (COMMITS - 2) // 2


def test_a_counting_adapter_that_syncs_nothing_is_still_the_wrapped_one(tmp_path: Path):
    """The shortcut of these tests writes what the backend would have written."""
    plain: StorageAdapter = open_adapter(tmp_path / "one")
    quick = UnsyncedAdapter(open_adapter(tmp_path / "two"))
    for adapter in (plain, quick):
        adapter.write(adapter.key("a/b"), b"content")
        assert adapter.read(adapter.key("a/b")) == b"content"
