"""Graphs that break one promise each, and contract classes for them. Run by test_graph_clause_owners.

Promises are broken at the front door where that is possible, so that these breaks outlive what is behind it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from omnigraph import graph as front
from omnigraph.engine.result import Result
from omnigraph.errors import AlreadyExistsError, ConstraintError, InvalidInputError, NotFoundError, StorageError
from omnigraph.graph import Branches, Graph, Schema
from omnigraph.history.branches import branch_key
from omnigraph.history.repository import Repository
from omnigraph.testing import GraphContract, GraphPlace
from omnigraph.testing.faults import FailpointError
from omnigraph.testing.graph_contract.clauses import SEED
from omnigraph.write import publish
from omnigraph.write.load import LoadResult
from omnigraph.write.maintenance import Maintenance

_init, _open, _load, _export, _query = front.init, front.open, Graph.load, Graph.export, Graph.query
_ensure_indices, _create = Maintenance.ensure_indices, Branches.create

Patch = pytest.MonkeyPatch


def init_opens_what_is_there(patch: Patch) -> None:
    def init(uri: str, **options: Any) -> Graph:
        try:
            return _init(uri, **options)
        except AlreadyExistsError:
            return _open(uri)

    patch.setattr(front, "init", init)


def init_loads_something(patch: Patch) -> None:
    def init(uri: str, **options: Any) -> Graph:
        graph = _init(uri, **options)
        graph.load(SEED, "append")
        return graph

    patch.setattr(front, "init", init)


def init_has_no_force(patch: Patch) -> None:
    patch.setattr(front, "init", lambda uri, *, force=False, **options: _init(uri, **options))


def open_makes_what_is_missing(patch: Patch) -> None:
    def open_graph(uri: str, **options: Any) -> Graph:
        try:
            return _open(uri, **options)
        except NotFoundError:
            return _init(uri, schema="node Person { name: String }", force=True)

    patch.setattr(front, "open", open_graph)


def open_writes(patch: Patch) -> None:
    def open_graph(uri: str, *, mode: Any = "rw", **options: Any) -> Graph:
        graph = _open(uri, **options)
        adapter = graph._repository.adapter
        adapter.write(adapter.key("__opened"), b"")
        adapter.is_read_only = mode == "r"
        return graph

    patch.setattr(front, "open", open_graph)


def schema_is_lost(patch: Patch) -> None:
    patch.setattr(Schema, "text", property(lambda self: "node Other { name: String }"))


def patched_load(change: Callable[..., Any]) -> Callable[[Patch], None]:
    """A break of ``load``: called with the graph, the records, the mode and the other arguments."""
    return lambda patch: patch.setattr(Graph, "load", change)


def load_drops_a_record(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    return _load(self, data if isinstance(data, str) else list(data)[1:], mode, **options)


def load_always_merges(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    return _load(self, data, "merge", **options)


def load_of_nothing_does_nothing(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    if not data:
        return LoadResult(
            branch="main",
            base_branch=None,
            branch_created=False,
            mode=mode,
            nodes={},
            edges={},
            total=0,
            commit=self.commits.list()[0],
        )
    return _load(self, data, mode, **options)


def load_keeps_what_was_right(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    try:
        return _load(self, data, mode, **options)
    except (ConstraintError, InvalidInputError):
        _load(self, list(data)[:-1], mode, **options)
        raise


def load_forgets_its_name(self: Graph, data: Any, mode: str, *, load_id: str | None = None, **options: Any) -> Any:
    return _load(self, data, "merge" if load_id else mode, **options)


def load_commits_twice(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    result = _load(self, data, mode, **options)
    _load(self, [], "append")
    return result


def load_loses_some(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    is_lost = not isinstance(data, str) and any(each.get("data", {}).get("name") == "w1n0" for each in data)
    return _load(self, [] if is_lost else data, mode, **options)


def load_leaves_half(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    try:
        return _load(self, data, mode, **options)
    except FailpointError:
        _load(self, list(data)[:1], mode)
        raise


def load_hides_failures(self: Graph, data: Any, mode: str, **options: Any) -> Any:
    try:
        return _load(self, data, mode, **options)
    except StorageError:
        return None


def export_drops_the_last_line(patch: Patch) -> None:
    patch.setattr(Graph, "export", lambda self, **options: iter(list(_export(self, **options))[:-1]))


def the_past_is_the_present(patch: Patch) -> None:
    patch.setattr(Graph, "export", lambda self, *, snapshot=None, **options: _export(self, **options))


def handles_do_not_look_again(patch: Patch) -> None:
    patch.setattr(Repository, "newest", lambda self, branch="main": self.known(branch))


def read_sets_are_not_checked(patch: Patch) -> None:
    patch.setattr(publish, "check_read_set", lambda *arguments: None)


def query_drops_a_row(patch: Patch) -> None:
    def query(self: Graph, source: Any, name: str | None = None, **options: Any) -> Any:
        found = _query(self, source, name, **options)
        table = found.to_arrow()
        return Result(table.slice(0, max(table.num_rows - 1, 0)), branch=found.branch, commit_id=found.commit_id)

    patch.setattr(Graph, "query", query)


def query_reads_the_present(patch: Patch) -> None:
    def query(self: Graph, source: Any, name: str | None = None, *, snapshot: Any = None, **options: Any) -> Any:
        return _query(self, source, name, **options)

    patch.setattr(Graph, "query", query)


def indexes_are_built_again_and_again(patch: Patch) -> None:
    def ensure_indices(self: Maintenance, branch: str = "main") -> Any:
        _load(Graph(self._repository), [], "append")
        return _ensure_indices(self, branch)

    patch.setattr(Maintenance, "ensure_indices", ensure_indices)


def load_writes_to_main_too(self: Graph, data: Any, mode: str, *, branch: str = "main", **options: Any) -> Any:
    result = _load(self, data, mode, branch=branch, **options)
    if branch != "main":
        _load(self, data, "merge", **options)
    return result


def patched_create(change: Callable[..., Any]) -> Callable[[Patch], None]:
    """A break of making a branch: called with the branches, the name and the other arguments."""
    return lambda patch: patch.setattr(Branches, "create", change)


def branches_know_no_slashes(self: Branches, name: str, *base: str, **options: Any) -> Any:
    return _create(self, name.replace("/", "-"), *base, **options)


def branches_begin_at_the_newest(self: Branches, name: str, *base: str, at: Any = None) -> Any:
    return _create(self, name, *base)


def a_branch_replaces_another(self: Branches, name: str, *base: str, **options: Any) -> Any:
    if any(each.name == name for each in self.list()):
        self.delete(name)
    return _create(self, name, *base, **options)


def a_failed_branch_is_in_the_way(self: Branches, name: str, *base: str, **options: Any) -> Any:
    try:
        return _create(self, name, *base, **options)
    except StorageError:
        adapter = self._repository.adapter
        adapter.write(branch_key(adapter, name), b"{}")
        raise


def branches_cannot_be_deleted(patch: Patch) -> None:
    patch.setattr(Branches, "delete", lambda self, name: None)


def a_branch_is_its_name(patch: Patch) -> None:
    patch.setattr(publish, "_check_branch", lambda repository, plan: plan.branch)


BREAKS: dict[str, Callable[[Patch], None]] = {
    "init opens what is there": init_opens_what_is_there,
    "init loads something": init_loads_something,
    "init has no force": init_has_no_force,
    "open makes what is missing": open_makes_what_is_missing,
    "open writes": open_writes,
    "schema is lost": schema_is_lost,
    "load drops a record": patched_load(load_drops_a_record),
    "load always merges": patched_load(load_always_merges),
    "load of nothing does nothing": patched_load(load_of_nothing_does_nothing),
    "load keeps what was right": patched_load(load_keeps_what_was_right),
    "load forgets its name": patched_load(load_forgets_its_name),
    "load commits twice": patched_load(load_commits_twice),
    "load loses some": patched_load(load_loses_some),
    "load leaves half": patched_load(load_leaves_half),
    "load hides failures": patched_load(load_hides_failures),
    "export drops the last line": export_drops_the_last_line,
    "the past is the present": the_past_is_the_present,
    "handles do not look again": handles_do_not_look_again,
    "read sets are not checked": read_sets_are_not_checked,
    "query drops a row": query_drops_a_row,
    "query reads the present": query_reads_the_present,
    "indexes are built again and again": indexes_are_built_again_and_again,
    "load writes to main too": patched_load(load_writes_to_main_too),
    "branches know no slashes": patched_create(branches_know_no_slashes),
    "branches begin at the newest": patched_create(branches_begin_at_the_newest),
    "a branch replaces another": patched_create(a_branch_replaces_another),
    "a failed branch is in the way": patched_create(a_failed_branch_is_in_the_way),
    "branches cannot be deleted": branches_cannot_be_deleted,
    "a branch is its name": a_branch_is_its_name,
}


def _broken_place(break_it: Callable[[Patch], None]) -> type:
    class Place:
        @pytest.fixture(autouse=True)
        def _broken(self, monkeypatch: Patch) -> None:
            break_it(monkeypatch)

        @pytest.fixture
        def place(self) -> GraphPlace:
            return GraphPlace(uri=f"memory://broken-{secrets.token_hex(8)}/g")

    return Place


for _name, _break in BREAKS.items():
    _class_name = "Test_" + "_".join(_name.split())
    globals()[_class_name] = type(_class_name, (_broken_place(_break), GraphContract), {"__module__": __name__})
