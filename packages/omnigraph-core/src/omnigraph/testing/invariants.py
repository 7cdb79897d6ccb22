"""What holds of every graph after every step, whatever happened before; each failure says which of it does not.

``assert_graph_is_whole`` asks ``check_integrity`` about what is stored, and reads the whole graph once more through its
front door, so it is for graphs of tests. It raises ``AssertionError`` by itself, so that it works the same outside
pytest and under ``python -O``.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from omnigraph.history.history_check import broken_history
from omnigraph.schema import EdgeType
from omnigraph.write.init_claim import CLAIM
from omnigraph.write.integrity import FindingKind, check_integrity

if TYPE_CHECKING:
    from omnigraph.graph import Graph


def assert_graph_is_whole(graph: Graph, branch: str = "main", *, is_settled: bool = True) -> None:
    """Every type opens and has the rows that the manifest says, ends of edges exist, and history has no gap.

    Args:
        graph: open, and written by nobody meanwhile. A fold of its own tail is waited for where nothing may be left.
        branch: what is looked at of it.
        is_settled: whether no write was cut off since the graph was last settled: then no sidecar and no claim lies
            there. Recovery from what was cut off is not tried.
    """
    if is_settled:
        # The last write of a test may have begun one, which has its sidecar until it ends.
        graph._tail.wait()  # noqa: SLF001
    problems = [
        *_stored_problems(graph, branch, is_settled),
        *_history_problems(graph, branch),
        *_row_problems(graph, branch),
    ]
    if problems:
        raise AssertionError(f"{branch} of {graph.uri} is not whole: {'; '.join(problems)}")


def _stored_problems(graph: Graph, branch: str, is_settled: bool) -> list[str]:
    # What is stored is not part of the front door of a graph, and this is the one look behind it.
    repository = graph._repository  # noqa: SLF001
    problems = [
        f"{each.kind}: {each.message}"
        for each in check_integrity(repository, branch)
        if each.is_damage or (is_settled and each.kind is FindingKind.SIDECAR)
    ]
    adapter = repository.adapter
    if is_settled and adapter.exists(adapter.key(CLAIM)):
        problems.append(f"left behind: {adapter.uri(adapter.key(CLAIM))}")
    return problems


def _history_problems(graph: Graph, branch: str) -> list[str]:
    commits, head_id = graph.commits.list(branch), graph.snapshot(branch).commit.id
    problems = broken_history(head_id, commits)
    if head_id != commits[0].id:
        problems.append(f"the newest commit is {commits[0].id}, and the snapshot is of {head_id}")
    return problems


def _row_problems(graph: Graph, branch: str) -> list[str]:
    snapshot = graph.snapshot(branch)
    problems = []
    ids: dict[str, Counter[str]] = {}
    for each in snapshot.to_dict()["types"]:
        key = f"{each['kind']}:{each['name']}"
        ids[key] = Counter(row["id"] for row in graph.table(key, columns=["id"], snapshot=snapshot))
        if ids[key].total() != each["count"]:
            problems.append(f"{key} has {ids[key].total()} rows, and the manifest says {each['count']}")
        twice = sorted(name for name, count in ids[key].items() if count > 1)
        if twice:
            problems.append(f"{key} has ids twice: {twice[:5]}")
    exported: dict[str, Counter[str]] = {key: Counter() for key in ids}
    edges = snapshot.schema.catalog.edges
    for line in graph.export(snapshot=snapshot):
        record = json.loads(line)
        key = f"node:{record['type']}" if "type" in record else f"edge:{record['edge']}"
        exported[key][record["data"]["id"]] += 1
        if "edge" in record:
            problems += _end_problems(edges[record["edge"]], record, ids)
    problems += [f"{key} is exported otherwise than it is read" for key in ids if exported[key] != ids[key]]
    return problems


def _end_problems(edge: EdgeType, record: dict[str, Any], ids: dict[str, Counter[str]]) -> list[str]:
    ends = {"from": f"node:{edge.source}", "to": f"node:{edge.target}"}
    return [
        f"the edge {edge.name} {record['data']['id']} has no {side}: {record[side]}"
        for side, key in ends.items()
        if record[side] not in ids[key]
    ]
