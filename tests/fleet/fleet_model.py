"""What a commit of a fleet must hold: the changes of everything that led to it, made one by one to plain dicts.

    commits with their parents, changes by commit ── FleetModel ──> rows at any commit

Changes of branches go together in any order, see ``fleet_plan``, so the rows at a commit follow from the commits that
it descends from, parents first. That is how merges, time travel and deletes of branches are judged without any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any

from fleet_plan import Effect

from omnigraph.history.commits import Commit

Rows = dict[tuple[str, str], dict[str, Any]]
"""Records as an export has them, by type and id."""

ENDS = {"Knows": ("Person", "Person"), "Rated": ("Person", "Film")}


class FleetModel:
    """The commits of a graph and what each of them changed."""

    def __init__(self, commits: Iterable[Commit], effects: Mapping[str, Sequence[Effect]]) -> None:
        """Take commits that are all there are of their history.

        Raises:
            graphlib.CycleError: some of them descend from themselves.
        """
        self.effects = effects
        self.parents = {
            each.id: [name for name in (each.parent_id, each.merged_parent_id) if name is not None] for each in commits
        }
        self.order = list(TopologicalSorter(self.parents).static_order())

    def ancestors(self, commit_id: str) -> set[str]:
        """A commit and everything that led to it."""
        found: set[str] = set()
        open_ids = [commit_id]
        while open_ids:
            each = open_ids.pop()
            if each not in found:
                found.add(each)
                open_ids += self.parents[each]
        return found

    def rows(self, commit_id: str) -> Rows:
        """What a commit holds."""
        led = self.ancestors(commit_id)
        rows: Rows = {}
        for each in self.order:
            if each in led:
                for effect in self.effects.get(each, ()):
                    change(rows, effect)
        return rows


def change(rows: Rows, effect: Effect) -> None:
    """Make one change."""
    match effect:
        case ["put", record]:
            data = dict(record["data"])
            kind = record.get("type") or record["edge"]
            name = data.pop("id", None) or data.get("name") or data["code"]
            rows[kind, name] = {**record, "data": {"id": name, **data}}
        case ["set", kind, name, values]:
            rows[kind, name]["data"] |= values
        case ["drop", kind, name]:
            rows.pop((kind, name), None)
            for key, record in list(rows.items()):
                ends = zip(ENDS.get(key[0], ()), (record.get("from"), record.get("to")), strict=False)
                if (kind, name) in ends:
                    del rows[key]
        case ["cut", kind, name]:
            rows.pop((kind, name), None)


def exported_rows(lines: Iterable[str]) -> Rows:
    """What an export says.

    Raises:
        ValueError: it says something twice.
    """
    rows: Rows = {}
    for line in lines:
        record = json.loads(line)
        key = (record.get("type") or record["edge"], record["data"]["id"])
        if key in rows:
            raise ValueError(f"{key} is exported twice")
        rows[key] = record
    return rows


def differences(found: Rows, expected: Rows) -> list[str]:
    """What is otherwise than it should be, in words."""
    keys = sorted(found.keys() | expected.keys())
    return [
        f"{key} is {found.get(key)}, and should be {expected.get(key)}"
        for key in keys
        if found.get(key) != expected.get(key)
    ]
