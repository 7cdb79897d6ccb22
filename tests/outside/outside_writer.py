"""Does what a plan says with the public interface of the product, as a user would, and notes it in a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from outside_journal import Journal
from outside_world import SCHEMA

import omnigraph as og
from omnigraph.errors import OmnigraphError

STATEMENTS = {
    "put person": ("insert Person { name: $name, age: $age, note: $note }", "name: String, age: I32, note: String?"),
    "add memo": ("insert Memo { text: $text, stars: $stars }", "text: String, stars: I32"),
    "set age": ("update Person set { age: $age } where name = $name", "name: String, age: I32"),
    "note older": ("update Person set { note: $note } where age > $than", "note: String, than: I32"),
    "know": (
        "insert Knows { from: $from, to: $to, label: $label, weight: $weight }",
        "from: String, to: String, label: String, weight: I32",
    ),
    "drop person": ("delete Person where name = $name", "name: String"),
    "drop older": ("delete Person where age > $than", "than: I32"),
    "drop memos": ("delete Memo where stars > $stars", "stars: I32"),
    "drop knows": ("delete Knows where label = $label", "label: String"),
    "drop knows from": ("delete Knows where from = $from", "from: String"),
}


def mutation_of(statements: Iterable[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The text of a mutation and its parameters; each statement has parameters of its own."""
    texts, declarations, params = [], [], {}
    for number, statement in enumerate(statements):
        text, declared = STATEMENTS[statement["do"]]
        for each in declared.split(", "):
            name, type_ = each.split(": ")
            declarations.append(f"${name}{number}: {type_}")
            params[f"{name}{number}"] = statement[name]
            text = text.replace(f"${name}", f"${name}{number}")
        texts.append(text)
    return f"query change({', '.join(declarations)}) {{ {'  '.join(texts)} }}", params


def perform(graph: og.Graph, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Do one operation; what the product answered, as JSON values."""
    actor, branch = f"op-{operation['number']}", operation.get("branch", "main")
    deadline = operation.get("deadline")
    match operation["verb"]:
        case "mutate":
            text, params = mutation_of(operation["statements"])
            done = graph.mutate(
                text,
                params=params,
                branch=branch,
                actor=actor,
                on_conflict=operation.get("on_conflict", "retry"),
                deadline=deadline,
            )
            return {"commit": done.commit and done.commit.id, "affected": [done.affected_nodes, done.affected_edges]}
        case "load":
            loaded = graph.load(operation["records"], operation["mode"], branch=branch, actor=actor, deadline=deadline)
            return {
                "commit": loaded.commit.id,
                "affected": [sum(loaded.nodes.values()), sum(loaded.edges.values())],
            }
        case "merge":
            result = graph.branches.merge(
                operation["source"], branch, strategy=operation["strategy"], actor=actor, deadline=deadline
            )
            return {"commit": result.commit and result.commit.id, "outcome": str(result.outcome)}
        case "create branch":
            made = graph.branches.create(operation["name"], branch)
            return {"base": made.base_commit}
        case "delete branch":
            graph.branches.delete(operation["name"])
            return {}
        case "create tag":
            return {"names": graph.tags.create(operation["name"], branch=branch, actor=actor).commit_id}
        case "delete tag":
            graph.tags.delete(operation["name"])
            return {}
        case "ensure indices":
            report = graph.maintain.ensure_indices(branch, deadline=deadline)
            return {"maintenance": report.commit and report.commit.id}
        case "query":
            result = graph.query(
                "query older($than: I32) { match { $p: Person  $p.age > $than } return { count($p) as older } }",
                params={"than": operation["than"]},
                branch=branch,
                budget=og.QueryBudget(deadline=deadline) if deadline else None,
            )
            return {"older": result.rows()[0]["older"], "read": result.commit_id}
        case "export":
            return {"lines": sum(1 for _ in graph.export(branch=branch, deadline=deadline))}
        case unknown:
            raise ValueError(unknown)


def noted(journal: Journal, operation: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Make a call between two lines of the journal; what it returned, or None where it was refused."""
    journal.note("begun", operation)
    try:
        returned = call()
    except BaseException as error:
        journal.note("refused", operation["number"], refusal=refusal_of(error))
        if not isinstance(error, Exception):
            raise
        return None
    answer = returned if isinstance(returned, dict) else {}
    journal.note("acknowledged", operation["number"], answer=answer)
    return returned


def refusal_of(error: BaseException) -> dict[str, Any]:
    """What an error says, and whether it leaves open what happened."""
    condition = getattr(error, "condition", None)
    kind = str(error.kind) if isinstance(error, OmnigraphError) else None
    return {
        "kind": kind,
        "condition": None if condition is None else str(condition),
        "class": type(error).__name__,
        "text": str(error)[:2000],
        "is_unknown": kind == "outcome_unknown" or str(condition) == "unknown",
    }


def open_graph(root: str, options: Mapping[str, Any] | None, operation: Mapping[str, Any]) -> og.Graph:
    """Open a graph, or make it where the operation says so."""
    if operation["verb"] == "init":
        return og.init(root, schema=SCHEMA, options=options, force=operation["force"])
    return og.open(root, options=options)


def write(
    root: str,
    options: Mapping[str, Any] | None,
    journal_path: Path,
    bell: int,
    operations: list[dict[str, Any]],
    wait: Callable[[], None] | None = None,
) -> None:
    """The life of a writer: the first operation opens or makes the graph, the others follow each other.

    ``wait`` is called before each of them, for scripts that change the world between two operations.
    """
    journal = Journal(journal_path, bell)
    for number, operation in enumerate(operations):
        if wait is not None:
            wait()
        if number == 0:
            opened = noted(journal, operation, lambda first=operation: open_graph(root, options, first))
            if opened is None:
                return
            graph: og.Graph = opened
        else:
            noted(journal, operation, lambda each=operation, at=graph: perform(at, each))
    graph.close()
