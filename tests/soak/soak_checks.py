"""``check_soak``: what has to be true of a graph when every writer is gone, and of what each of them was told.

1. A read-write open works, and is all that recovery needs.
2. ``check_history``: acknowledged commits are there once, in one line; calls that never answered are there whole or not
   at all; the replay of the log through the model gives the rows that are there; every read is explained.
3. ``check_integrity`` finds nothing.
4. No sidecar lies there, and each one that was left behind has one row in the audit.
5. The next write works, and then every type's newest stored version shows what is published.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import lance

import omnigraph as og
from omnigraph.schema import Catalog
from omnigraph.testing.histories import check_history
from omnigraph.testing.history_records import SidecarNote
from omnigraph.testing.history_writers import HistoryRun
from omnigraph.testing.model import ModelGraph, content_of_export
from omnigraph.testing.mutation_strategies import FILMS, PEOPLE
from omnigraph.write.integrity import check_integrity
from omnigraph.write.sidecar import RECOVERY_PREFIX

ROLLED_FORWARD, ROLLED_BACK = "RolledForward", "RolledBack"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the checks found.

    Attributes:
        problems: what is wrong; nothing, if all is right.
        commits: by kind.
        recoveries: by kind.
        taken_over: how many writers went on after somebody had recovered what they were doing.
        sidecars_left: plans of dead writers that lie there.
        ahead: types whose newest stored version showed other rows than the published one, as a write that lost its race
            leaves it until the next one to that type.
        seconds: how long this took.
    """

    problems: tuple[str, ...]
    commits: Mapping[str, int]
    recoveries: Mapping[str, int]
    taken_over: int
    sidecars_left: int
    ahead: tuple[str, ...]
    seconds: float


def check_soak(
    uri: str,
    options: Mapping[str, Any],
    model: ModelGraph,
    run: HistoryRun,
    *,
    stores_fail: bool,
) -> Verdict:
    """Check all of it; ``model`` is of the state that the run began with."""
    began = time.monotonic()
    notes = [note for each in run.notes for note in each.sidecars]
    with og.open(uri, options=options) as graph:
        commits = graph.commits.list()
        problems = check_history(graph, model, run.records, since=run.since, stores_fail=stores_fail)
        problems += [f"{each.kind}: {each.message}" for each in check_integrity(graph._repository) if each.is_damage]
        lying = lying_sidecars(graph)
        recoveries = graph.recoveries.list()
        problems += sidecar_problems(notes, lying)
        problems += recovery_problems(notes, lying, recoveries, {each.id for each in commits})
        ahead = types_ahead(graph)
        problems += next_write_problems(graph, model.catalog)
    return Verdict(
        problems=tuple(problems),
        commits=dict(sorted(Counter(str(each.kind) for each in commits).items())),
        recoveries=dict(sorted(Counter(str(each.kind) for each in recoveries).items())),
        taken_over=len(taken_over(notes)),
        sidecars_left=len(lying),
        ahead=tuple(ahead),
        seconds=time.monotonic() - began,
    )


# ── sidecars and the audit ───────────────────────────────────────────────────────────────────────────────────────────


def lying_sidecars(graph: og.Graph) -> set[str]:
    """The operations whose sidecars lie there."""
    adapter = graph._repository.adapter
    names = (key.value for key in adapter.list_dir(adapter.key(RECOVERY_PREFIX)))
    return {name.rpartition("/")[2].partition(".")[0] for name in names}


def last_words(notes: Iterable[SidecarNote]) -> dict[str, str]:
    """By operation, the last thing that the process which wrote its sidecar did with it."""
    owners: dict[str, int] = {}
    words: dict[str, str] = {}
    for each in sorted(notes, key=lambda note: note.at):
        if owners.setdefault(each.operation_id, each.process) == each.process:
            words[each.operation_id] = each.what
    return words


def sidecar_problems(notes: Iterable[SidecarNote], lying: set[str]) -> list[str]:
    """Sidecars that lie there although nobody wrote them, or they were taken away."""
    kept = list(notes)
    gone = {each.operation_id for each in kept if each.what == "deleted"}
    known = {each.operation_id for each in kept}
    return [
        *(f"the sidecar of {each} lies there, and no writer wrote it" for each in sorted(lying - known)),
        *(f"the sidecar of {each} lies there, and was deleted" for each in sorted(lying & gone)),
    ]


def left_behind(notes: Iterable[SidecarNote]) -> set[str]:
    """The operations whose sidecars surely lay there when the processes that wrote them were gone."""
    return {name for name, word in last_words(notes).items() if word in ("written", "withdrawn")}


def taken_over(notes: Iterable[SidecarNote]) -> set[str]:
    """The operations that somebody recovered whose writers were alive, and went on."""
    owners: dict[str, int] = {}
    recovered: set[str] = set()
    found: set[str] = set()
    for each in sorted(notes, key=lambda note: note.at):
        is_owner = owners.setdefault(each.operation_id, each.process) == each.process
        if not is_owner and each.what == "deleted":
            recovered.add(each.operation_id)
        elif is_owner and each.operation_id in recovered:
            found.add(each.operation_id)
    return found


def recovery_problems(
    notes: Iterable[SidecarNote], lying: set[str], recoveries: Iterable[Any], commits: set[str]
) -> list[str]:
    """Where the audit is not one row for each sidecar that somebody had to recover."""
    kept, rows = list(notes), list(recoveries)
    told = Counter(each.operation_id for each in rows)
    known = {each.operation_id for each in kept}
    return [
        *(f"the sidecar of {each} still lies there" for each in sorted(lying)),
        *(f"{each} has {count} rows in the audit" for each, count in sorted(told.items()) if count > 1),
        *(f"{each} is in the audit, and no writer wrote its sidecar" for each in sorted(set(told) - known)),
        *(f"{each} was left behind, and is not in the audit" for each in sorted(left_behind(kept) - set(told))),
        *(f"{each.operation_id} was {each.kind}" for each in rows if each.kind not in (ROLLED_FORWARD, ROLLED_BACK)),
        # What was rolled back may be there too: the same write, prepared again by a writer that was only slow.
        *(
            f"{each.operation_id} was rolled forward, and its commit {each.graph_commit_id} is not there"
            for each in rows
            if each.kind == ROLLED_FORWARD and each.graph_commit_id not in commits
        ),
    ]


# ── what other tools see ─────────────────────────────────────────────────────────────────────────────────────────────


def types_ahead(graph: og.Graph) -> list[str]:
    """The types whose newest version, which other readers of Lance take, shows other rows than the published one."""
    tables, snapshot = graph._repository.tables, graph.snapshot()
    ahead = []
    for target in snapshot.schema.tables.values():
        pin = snapshot.entry(target).pin
        place = graph._repository.adapter.lance_location(graph._repository.adapter.key(pin.location))
        published = tables.read(tables.open_at(pin)).read_all()
        newest = lance.dataset(place.uri, storage_options=dict(place.storage_options))
        shown = newest.to_table(columns=published.column_names)
        if sorted(map(str, shown.to_pylist())) != sorted(map(str, published.to_pylist())):
            ahead.append(target.key)
    return ahead


LAST_WRITE = (
    *({"type": "Person", "data": {"name": name}} for name in PEOPLE),
    *({"type": "Film", "data": {"code": code, "title": "last"}} for code in FILMS),
    {"edge": "Rated", "from": "ann", "to": "F1", "data": {"stars": 5}},
    {"edge": "Knows", "from": "ann", "to": "bo"},
    {"edge": "Owns", "from": "bo", "to": "F1"},
)
"""Something of every type."""


def next_write_problems(graph: og.Graph, catalog: Catalog) -> list[str]:
    """Whether a write to every type works, is there, and is what other tools see then."""
    expected = ModelGraph(catalog)
    expected.load(LAST_WRITE, "overwrite")
    graph.load(list(LAST_WRITE), "overwrite")
    problems = [f"the next write leaves {each} behind what is stored" for each in types_ahead(graph)]
    if content_of_export(graph.export(), expected) != expected.content():
        problems.append("the next write is not what is there after it")
    return problems
