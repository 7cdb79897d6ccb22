"""Two graphs that one place has one after the other, handles on the first, and all that a user may ask of them.

    place.build(OLD, 3) ── handles opened ──> place.remove() ──> place.build(NEW, n) ──> each verb of an old handle

Both have the same schema, branches and tags of the same names, and a person of the same key; every other row tells by
its name whose it is. What the new one is, is looked at in two ways that use no handle of the old one: every file of the
place, byte for byte, and what a handle that is opened for it reads.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa

import omnigraph as og
from omnigraph.aio import AsyncGraph
from omnigraph.errors import BranchReplacedError, NotFoundError, OmnigraphError
from omnigraph.history.snapshot import Snapshot
from omnigraph.plugins import open_adapter

SCHEMA: Final = """
node Person { name: String @key  age: I32? @index  about: String? @index }
edge Knows: Person -> Person { since: I32? }
"""
OLD: Final = "old"
NEW: Final = "new"

PEOPLE: Final = "query people() { match { $p: Person } return { $p.name, $p.age } }"
FRIENDS: Final = "query friends() { match { $p: Person $p knows $q } return { $p.name, $q.name } }"
SEARCH: Final = 'query found() { match { $p: Person  search($p.about, "someone") } return { $p.name } }'
ADD: Final = 'query add() { insert Person { name: "late" } }'
GROW: Final = "query grow() { update Person set { age: 77 } where age >= 0 }"
FORGET: Final = "query forget() { delete Person where age >= 0 }"


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age, "about": f"someone of {name}"}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": {"since": 2000}}


@dataclass(frozen=True)
class Place:
    """A place that graphs have one after the other."""

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, mode: Literal["r", "rw"] = "rw") -> og.Graph:
        return og.open(self.uri, mode=mode, options=dict(self.options))

    def build(self, whose: str, commits: int, *, is_small: bool = False) -> None:
        """A graph with so many commits on main, two tags, and two branches with two commits more; or one branch."""
        with og.init(self.uri, schema=SCHEMA, options=dict(self.options)) as graph:
            fill(graph, whose, commits, ("dev",) if is_small else ("dev", f"only {whose}"))

    @property
    def _directory(self) -> Path | None:
        return None if "://" in self.uri else Path(self.uri)

    def files(self) -> dict[str, bytes]:
        """Every file there is."""
        found = {}
        if self._directory is not None:
            paths = [each for each in self._directory.rglob("*") if each.is_file()]
            return {str(each.relative_to(self._directory)): each.read_bytes() for each in paths}
        with open_adapter(self.uri, options=dict(self.options), verify=False) as adapter:
            for key in adapter.list():
                data = adapter.read_if_exists(key, max_bytes=2**26)
                if data is not None:
                    found[key.value] = data
        return found

    def remove(self) -> None:
        """Every file, also those that somebody writes at this moment."""
        if self._directory is not None:
            trash = self._directory.with_name(f"trash-{secrets.token_hex(4)}")
            with suppress(FileNotFoundError):
                self._directory.rename(trash)
            shutil.rmtree(trash, ignore_errors=True)
            return
        with open_adapter(self.uri, options=dict(self.options), verify=False) as adapter:
            for key in [*adapter.list()]:
                adapter.delete(key)

    def put(self, files: Mapping[str, bytes]) -> None:
        """A graph that was made here before, and whose files were kept."""
        if self._directory is not None:
            for name, data in files.items():
                path = self._directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            return
        with open_adapter(self.uri, options=dict(self.options), verify=False) as adapter:
            # The object of main makes it exist, so it comes last.
            for name in sorted(files, key="_refs/branches/main.json".__eq__):
                adapter.write(adapter.key(name), files[name])

    def told(self) -> dict[str, Any]:
        """What a handle that is opened for it reads of the graph that is there now."""
        with self.open("r") as graph:
            branches = {each.name: each.head for each in graph.branches.list()}
            return {
                "branches": branches,
                "rows": {name: sorted(graph.export(branch=name)) for name in branches},
                "log": {name: [each.id for each in graph.commits.list(name)] for name in branches},
                "at each commit": [sorted(graph.export(snapshot=each.id)) for each in graph.commits.list()],
                "tags": [each.to_dict() for each in graph.tags.list()],
                "recoveries": [each.to_dict() for each in graph.recoveries.list()],
                "pending": [each.to_dict() for each in graph.recoveries.pending()],
                "loads": [each.to_dict() for each in graph.recoveries.loads()],
            }


def fill(graph: og.Graph, whose: str, commits: int, branches: Sequence[str]) -> None:
    for number in range(commits):
        rows = [person(f"{whose} {number}", number)]
        if number == 0:
            rows += [person("ann", 1 if whose == OLD else 1000), knows("ann", f"{whose} 0")]
        graph.load(rows, "append")
    if commits:
        graph.tags.create("seen")
        graph.tags.create(f"only {whose}")
    for name in branches:
        graph.branches.create(name)
        graph.load([person(f"{whose} dev", 50)], "append", branch=name)
        graph.load([person(f"{whose} dev 2", 51)], "append", branch=name)


@dataclass
class Kept:
    """A handle on the old graph, and what its user has of it from before."""

    graph: og.Graph
    branch: str
    first: str
    snapshot: Snapshot
    cursor: str | None
    scan: og.TypeScan
    ticket: Any = None
    receipts: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, graph: og.Graph, branch: str, *, is_warm: bool = False, has_ticket: bool = False) -> Kept:
        kept = cls(
            graph=graph,
            branch=branch,
            first=graph.commits.list(branch)[-1].id,
            snapshot=graph.snapshot(branch),
            cursor=graph.changes(branch).cursor,
            scan=graph.scan("Person", branch=branch),
        )
        if is_warm:
            for each in (PEOPLE, FRIENDS, SEARCH):
                graph.query(each, branch=branch)
        if has_ticket:
            kept.ticket = graph.bulk(branch=branch)
            kept.receipts = [kept.ticket.write("Person", rows_of("bulk"))]
        return kept


def rows_of(name: str) -> pa.Table:
    return pa.table({"name": [name], "age": pa.array([5], pa.int32())})


Verb = Callable[[Kept], Any]


def answer(text: str, **more: Any) -> Verb:
    """The rows of a query, at a moment if one is given."""

    def ask(kept: Kept) -> Any:
        where = {name: each(kept) for name, each in more.items()} or {"branch": kept.branch}
        return sorted(map(str, kept.graph.query(text, **where)))

    return ask


READS: Final[dict[str, Verb]] = {
    "query": answer(PEOPLE),
    "traversal": answer(FRIENDS),
    "search": answer(SEARCH),
    "query at a snapshot": answer(PEOPLE, snapshot=lambda kept: kept.snapshot),
    "traversal at a snapshot": answer(FRIENDS, snapshot=lambda kept: kept.snapshot),
    "query at a commit": answer(PEOPLE, snapshot=lambda kept: kept.first),
    "query at a version": answer(PEOPLE, snapshot=lambda kept: 2),
    "query at the newest version": answer(PEOPLE, snapshot=lambda kept: kept.snapshot.state.version),
    "query at a tag": answer(PEOPLE, snapshot=lambda kept: "seen"),
    "query at a tag of the new one": answer(PEOPLE, snapshot=lambda kept: f"only {NEW}"),
    "query of a branch of the new one": answer(PEOPLE, branch=lambda kept: f"only {NEW}"),
    "query of the other branch": answer(PEOPLE, branch=lambda kept: "dev" if kept.branch == "main" else "main"),
    "explain": lambda kept: kept.graph.explain(PEOPLE, branch=kept.branch, analyze=True).row_count,
    "table": lambda kept: sorted(map(str, kept.graph.table("Person", ["name"], branch=kept.branch))),
    "scan": lambda kept: sorted(kept.graph.scan("Person", branch=kept.branch).read().read_all()["name"].to_pylist()),
    "scan from before": lambda kept: sorted(kept.scan.read().read_all()["name"].to_pylist()),
    "lines of a scan": lambda kept: sorted(line for lines in kept.scan.lines() for line in lines),
    "export": lambda kept: sorted(kept.graph.export(branch=kept.branch)),
    "export of a tag": lambda kept: sorted(kept.graph.export(snapshot="seen")),
    "diff": lambda kept: [each.to_dict() for each in kept.graph.diff(kept.first, kept.branch)],
    "diff of branches": lambda kept: [each.to_dict() for each in kept.graph.diff("main", "dev")],
    "diff since a tag": lambda kept: [each.to_dict() for each in kept.graph.diff("seen", kept.branch)],
    "entity": lambda kept: str(kept.graph.entity_at("Person", "ann", kept.snapshot)),
    "entity at a tag": lambda kept: str(kept.graph.entity_at("Person", "ann", "seen")),
    "changes": lambda kept: kept.graph.changes(kept.branch, start="beginning").to_dict(),
    "changes since a cursor": lambda kept: kept.graph.changes(kept.branch, cursor=kept.cursor).to_dict(),
    "changes of a commit": lambda kept: str(kept.graph.changes.of(kept.snapshot.commit.id)),
    "baseline": lambda kept: str([*kept.graph.changes.baseline(kept.branch)][1:]),
    "commits": lambda kept: [each.id for each in kept.graph.commits.list(kept.branch)],
    "commit": lambda kept: kept.graph.commits.show(kept.first).id,
    "graph of commits": lambda kept: kept.graph.commits.graph([kept.branch]),
    "graph of all commits": lambda kept: kept.graph.commits.graph(),
    "branches": lambda kept: [each.to_dict() for each in kept.graph.branches.list()],
    "branch": lambda kept: kept.graph.branches.show(kept.branch).to_dict(),
    "branch of the new one": lambda kept: kept.graph.branches.show(f"only {NEW}").to_dict(),
    "tags": lambda kept: [each.to_dict() for each in kept.graph.tags.list()],
    "tag": lambda kept: kept.graph.tags.show("seen").to_dict(),
    "tag of the new one": lambda kept: kept.graph.tags.show(f"only {NEW}").to_dict(),
    "recoveries": lambda kept: [each.to_dict() for each in kept.graph.recoveries.list()],
    "pending writes": lambda kept: [each.to_dict() for each in kept.graph.recoveries.pending()],
    "loads": lambda kept: [each.to_dict() for each in kept.graph.recoveries.loads()],
    "snapshot": lambda kept: kept.graph.snapshot(kept.branch).commit.id,
    "stats": lambda kept: kept.graph.stats(kept.branch) is None,
    "refresh": lambda kept: kept.graph.refresh().id,
    "schema": lambda kept: kept.graph.schema.text,
    "dry merge": lambda kept: kept.graph.branches.merge("dev", dry_run=True).to_dict(),
}

WRITES: Final[dict[str, Verb]] = {
    "insert": lambda kept: kept.graph.mutate(ADD, branch=kept.branch),
    "update": lambda kept: kept.graph.mutate(GROW, branch=kept.branch),
    "delete": lambda kept: kept.graph.mutate(FORGET, branch=kept.branch),
    "append": lambda kept: kept.graph.load([person("late", 5)], "append", branch=kept.branch),
    "append of edges": lambda kept: kept.graph.load([knows("ann", "ann")], "append", branch=kept.branch),
    "merge of rows": lambda kept: kept.graph.load([person("ann", 5)], "merge", branch=kept.branch),
    "overwrite": lambda kept: kept.graph.load([knows("ann", "ann")], "overwrite", branch=kept.branch),
    "load with a name": lambda kept: kept.graph.load([person("late", 5)], "append", branch=kept.branch, load_id="x"),
    "load to a branch to be": lambda kept: kept.graph.load([person("late", 5)], "append", branch="b", base=kept.branch),
    "load to a branch of the new one": lambda kept: kept.graph.load(
        [person("late", 5)], "append", branch=f"only {NEW}", base=kept.branch
    ),
    "bulk load": lambda kept: kept.graph.bulk_publish(
        [kept.graph.bulk(branch=kept.branch).write("Person", rows_of("late"))], branch=kept.branch
    ),
    "receipts from before": lambda kept: kept.graph.bulk_publish(kept.receipts, branch=kept.branch),
    "merging receipts from before": lambda kept: kept.graph.bulk_publish(kept.receipts, "merge", branch=kept.branch),
    "ticket from before": lambda kept: kept.graph.bulk_publish(
        [*kept.receipts, kept.ticket.write("Person", rows_of("late"))], branch=kept.branch
    ),
    "lease": lambda kept: kept.graph.bulk_lease(kept.ticket).__enter__(),
    "merge": lambda kept: kept.graph.branches.merge("dev"),
    "merge into a branch": lambda kept: kept.graph.branches.merge("main", "dev"),
    "merge and delete": lambda kept: kept.graph.branches.merge("dev", delete_branch=True, strategy="theirs"),
    "branch": lambda kept: kept.graph.branches.create("b", kept.branch),
    "branch at a tag": lambda kept: kept.graph.branches.create("b", at="seen"),
    "branch at a snapshot": lambda kept: kept.graph.branches.create("b", at=kept.snapshot),
    "branch that the new one has": lambda kept: kept.graph.branches.create(f"only {NEW}", kept.branch),
    "deleting a branch": lambda kept: kept.graph.branches.delete("dev"),
    "deleting its branch": lambda kept: kept.graph.branches.delete(f"only {OLD}"),
    "deleting a branch of the new one": lambda kept: kept.graph.branches.delete(f"only {NEW}"),
    "tag": lambda kept: kept.graph.tags.create("t", branch=kept.branch),
    "tag of a snapshot": lambda kept: kept.graph.tags.create("t", kept.snapshot),
    "tag that the new one has": lambda kept: kept.graph.tags.create(f"only {NEW}", kept.snapshot),
    "deleting a tag": lambda kept: kept.graph.tags.delete("seen"),
    "deleting its tag": lambda kept: kept.graph.tags.delete(f"only {OLD}"),
    "deleting a tag of the new one": lambda kept: kept.graph.tags.delete(f"only {NEW}"),
    "indexes": lambda kept: kept.graph.maintain.ensure_indices(kept.branch),
}
TICKETED: Final = frozenset(name for name in WRITES if "before" in name or name == "lease")

ASYNC_VERBS: Final[dict[str, Callable[[AsyncGraph, Kept], Awaitable[Any]]]] = {
    "query": lambda g, kept: g.query(PEOPLE, branch=kept.branch),
    "refresh": lambda g, kept: g.refresh(),
    "tags": lambda g, kept: g.tags.list(),
    "insert": lambda g, kept: g.mutate(ADD, branch=kept.branch),
    "append": lambda g, kept: g.load([person("late", 5)], "append", branch=kept.branch),
    "receipts from before": lambda g, kept: g.bulk_publish(kept.receipts, branch=kept.branch),
    "merge": lambda g, kept: g.branches.merge("dev"),
    "branch": lambda g, kept: g.branches.create("b", kept.branch),
    "deleting a branch": lambda g, kept: g.branches.delete("dev"),
    "tag": lambda g, kept: g.tags.create("t", kept.snapshot),
    "deleting a tag": lambda g, kept: g.tags.delete("seen"),
    "indexes": lambda g, kept: g.maintain.ensure_indices(kept.branch),
}


def said(verb: Verb, kept: Kept) -> Any:
    """The answer of a verb, or the error that it raises."""
    try:
        return verb(kept)
    except OmnigraphError as error:
        return error


def says_that_it_is_gone(found: object, *, is_made_anew: bool) -> bool:
    """Whether a verb said that the graph is not there any more, whether another one is, and what to do."""
    if is_made_anew:
        return isinstance(found, BranchReplacedError) and found.branch == "main" and "Open it again" in found.help
    return isinstance(found, NotFoundError) and "was removed since it was opened" in found.message


_OF_TABLES: Final = ("nodes/", "edges/", "__manifest/", "_graph_commit_recoveries/")


def stray_files(files: Mapping[str, bytes], before: Mapping[str, bytes]) -> list[str]:
    """What is different, but for files in directories of the old graph's own tables: no other graph looks there."""
    tables = {_table_of(each) for each in before}

    def is_debris(name: str) -> bool:
        # What a lock of this machine leaves is empty, and of no graph.
        return name.startswith("lock#") or (name.startswith(_OF_TABLES) and _table_of(name) not in tables)

    changed = [each for each in {*files, *before} if files.get(each) != before.get(each)]
    return sorted(each for each in changed if each in before or not is_debris(each))


def _table_of(name: str) -> str:
    return "/".join(name.split("/")[:2])
