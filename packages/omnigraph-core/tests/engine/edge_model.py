"""Random histories of a stored graph, and what its nodes are linked to, in plain dicts and sets.

A history goes through everything that can happen to types: rows that come, go, are written again or all at once;
parallel edges, edges from a node to itself, and edges whose ends do not exist.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from stored_world import StoredWorld

SCHEMA = """
node Person { name: String @key  age: I64? }
node Film { title: String @key }
edge Knows: Person -> Person { since: I64? }
edge Saw: Person -> Film
"""

ENDS = {"Knows": ("Person", "Person"), "Saw": ("Person", "Film")}
KEY_COLUMN = {"Person": "name", "Film": "title"}

Edges = dict[str, tuple[str, str]]


class EdgeModel:
    """Nodes and edges by id, changed together with a world."""

    def __init__(self, seed: int, *, people: int = 24, edges: int = 40) -> None:
        self.chance = random.Random(seed)
        self.number = 0
        self.nodes: dict[str, set[str]] = {"Person": set(), "Film": set()}
        self.edges: dict[str, Edges] = {"Knows": {}, "Saw": {}}
        for name, count in (("Person", people), ("Film", people // 2)):
            self.nodes[name].update(self._new_ids(count))
        for name in ENDS:
            self.edges[name].update(self._new_edges(name, edges))
        self.world = StoredWorld(
            SCHEMA,
            {
                **{f"node:{each}": self._node_rows(each, self.nodes[each]) for each in self.nodes},
                **{f"edge:{each}": self._edge_rows(self.edges[each]) for each in self.edges},
            },
        )

    # ── what there is ────────────────────────────────────────────────────────────────────────────────────────────

    def edges_between(self, edge: str) -> list[tuple[str, str, str]]:
        """Id, start and end of every edge that has both, by id."""
        start_type, end_type = ENDS[edge]
        starts, ends = self.nodes[start_type], self.nodes[end_type]
        every = ((name, start, end) for name, (start, end) in self.edges[edge].items())
        return sorted(
            (each for each in every if each[1] in starts and each[2] in ends), key=lambda each: each[0].encode()
        )

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────

    def happen(self) -> str:
        """One change at random; gives its name."""
        change: Callable[[], None] = self.chance.choice(
            [
                self.add_nodes,
                self.add_edges,
                self.add_edges,
                self.remove_edges,
                self.remove_nodes_and_edges,
                self.write_nodes_again,
                self.lead_edges_elsewhere,
                self.remove_nodes_only,
                self.bring_back_nodes,
                self.replace_edges,
                self.replace_nodes,
            ]
        )
        change()
        return change.__name__

    def add_nodes(self) -> None:
        name = self._node_type()
        self._append_nodes(name, self._new_ids(self.chance.randint(1, 3)))

    def add_edges(self) -> None:
        name = self._edge_type()
        added = self._new_edges(name, self.chance.randint(1, 4))
        self.edges[name].update(added)
        self.world.append(f"edge:{name}", self._edge_rows(added))

    def remove_edges(self) -> None:
        name = self._edge_type()
        self._delete_edges(name, self._some(self.edges[name], 4))

    def remove_nodes_and_edges(self) -> None:
        name = self._node_type()
        gone = self._some(self.nodes[name], 2)
        for edge, (start_type, end_type) in ENDS.items():
            self._delete_edges(
                edge,
                [
                    each
                    for each, (start, end) in self.edges[edge].items()
                    if (start_type == name and start in gone) or (end_type == name and end in gone)
                ],
            )
        self._delete_nodes(name, gone)

    def remove_nodes_only(self) -> None:
        name = self._node_type()
        self._delete_nodes(name, self._some(self.nodes[name], 2))

    def bring_back_nodes(self) -> None:
        name = self._node_type()
        ends = ((edge, side) for edge, types in ENDS.items() for side in (0, 1) if types[side] == name)
        missing = {pair[side] for edge, side in ends for pair in self.edges[edge].values()} - self.nodes[name]
        self._append_nodes(name, self._some(missing, 2))

    def write_nodes_again(self) -> None:
        name = self._node_type()
        self.world.merge(f"node:{name}", self._node_rows(name, self._some(self.nodes[name], 3)))

    def lead_edges_elsewhere(self) -> None:
        name = self._edge_type()
        changed = {each: self._new_pair(name) for each in self._some(self.edges[name], 3)}
        self.edges[name].update(changed)
        self.world.merge(f"edge:{name}", self._edge_rows(changed))

    def replace_edges(self) -> None:
        name = self._edge_type()
        self.edges[name] = self._new_edges(name, self.chance.randint(10, 40))
        self.world.overwrite(f"edge:{name}", self._edge_rows(self.edges[name]))

    def replace_nodes(self) -> None:
        name = self._node_type()
        kept = set(self._some(self.nodes[name], 20)) | set(self._new_ids(3))
        self.nodes[name] = kept
        self.world.overwrite(f"node:{name}", self._node_rows(name, kept))

    # ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _node_type(self) -> str:
        return self.chance.choice(["Person", "Person", "Film"])

    def _edge_type(self) -> str:
        return self.chance.choice(["Knows", "Knows", "Saw"])

    def _some(self, ids: Iterable[str], most: int) -> list[str]:
        every = sorted(ids)
        return self.chance.sample(every, min(len(every), self.chance.randint(1, most)))

    def _new_ids(self, count: int) -> list[str]:
        """Ids that sort anywhere among those there are, by more than their ASCII letters."""
        self.number += count
        letters = "aZ0é山🎬"
        return [f"{self.chance.choice(letters)}{self.chance.randint(0, 99)}-{self.number - i}" for i in range(count)]

    def _new_pair(self, edge: str) -> tuple[str, str]:
        start_type, end_type = ENDS[edge]
        start = self._end(start_type)
        if start_type == end_type and self.chance.random() < 0.15:
            return start, start
        return start, self._end(end_type)

    def _end(self, type_name: str) -> str:
        if not self.nodes[type_name] or self.chance.random() < 0.04:
            return f"nobody-{self.chance.randint(0, 3)}"
        # Few of them, so that some pairs are linked more than once.
        return self.chance.choice(sorted(self.nodes[type_name])[:8] + self._some(self.nodes[type_name], 4))

    def _new_edges(self, name: str, count: int) -> Edges:
        return {each: self._new_pair(name) for each in self._new_ids(count)}

    def _append_nodes(self, name: str, ids: list[str]) -> None:
        self.nodes[name].update(ids)
        self.world.append(f"node:{name}", self._node_rows(name, ids))

    def _delete_nodes(self, name: str, ids: list[str]) -> None:
        self.nodes[name].difference_update(ids)
        self.world.delete(f"node:{name}", ids)

    def _delete_edges(self, name: str, ids: list[str]) -> None:
        for each in ids:
            del self.edges[name][each]
        self.world.delete(f"edge:{name}", ids)

    def _node_rows(self, name: str, ids: Iterable[str]) -> list[dict[str, Any]]:
        column = KEY_COLUMN[name]
        return [{"id": each, column: each} for each in self.chance.sample(sorted(ids), len(set(ids)))]

    def _edge_rows(self, edges: Edges) -> list[dict[str, Any]]:
        return [{"id": each, "src": start, "dst": end} for each, (start, end) in edges.items()]
