"""The runs from outside are alive, share no code with the product's tests, and see what they are there to see.

Short here; ``tox run -e outside`` makes the runs of full length.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from oracle import Oracle
from outside_journal import Journal, JournalReader
from outside_world import EMPTY, ImpossibleError, applied, merged, seen_in

HERE = Path(__file__).parent


def run_script(name: str, count: int, directory: Path, *more: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / f"{name}.py"), "--count", str(count), "--directory", str(directory), *more]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return told


def test_processes_that_are_killed_lose_nothing(tmp_path: Path):
    assert run_script("kills", 3, tmp_path)["kills"] == 3


def test_processes_that_are_stopped_lose_nothing(tmp_path: Path):
    assert run_script("stops", 1, tmp_path)["stops"] == 1


def test_operations_on_a_full_disk_lose_nothing(tmp_path: Path):
    assert run_script("full_disk", 5, tmp_path)["operations"] == 5


def test_operations_on_a_bad_network_lose_nothing(tmp_path: Path):
    # Faults that take no time; a network that hangs is for the long run.
    assert run_script("s3_faults", 3, tmp_path, "--once", "--faults", "lose", "hide")["operations"] == 3


def test_modules_of_these_runs_use_the_public_interface_only():
    """Else a mistake in a helper of the product could hide a mistake of the product."""
    own = {path.stem for path in HERE.glob("*.py")}
    for path in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                is_public = name in ("omnigraph", "omnigraph.errors")
                is_foreign = name.startswith("omnigraph") or name.split(".")[0] in ("tests", "workers")
                assert is_public or not is_foreign or name in own, f"{path.name} imports {name}"


# ── the judge sees what is wrong ─────────────────────────────────────────────────────────────────────────────────────

ANN = {"do": "put person", "name": "ann", "age": 31, "note": None}
ANN_LINE = '{"type":"Person","data":{"id":"ann","name":"ann","age":31,"note":null}}'


def seen(commits: list[tuple[str, str | None, str | None]], lines: list[str], **more: Any) -> dict[str, Any]:
    """What an observer would tell of a graph with main alone: commits as id, parent and actor."""
    people = [json.loads(line)["data"] for line in lines if '"Person"' in line]
    return {
        "branches": [{"name": "main", "head": commits[-1][0], "created_at": 0, "problem": None}],
        "commits": {
            id_: {
                "id": id_,
                "parent_id": parent,
                "merged_parent_id": None,
                "branch": "main",
                "manifest_version": number,
                "kind": "data" if parent else "schema",
                "actor": actor,
            }
            for number, (id_, parent, actor) in enumerate(commits)
        },
        "exports": {"main": lines},
        "past": {},
        "tags": {},
        "recoveries": [],
        "recovered": {},
        "pending": [],
        "answers": {
            "main": {
                "people": [{"n": len(people)}],
                "memos": [{"n": 0}],
                "known": [],
                "written": [],
                "older": [{"name": each["name"]} for each in people if each["age"] > 0],
                "named": [],
            }
        },
        "asked": {"than": 0, "name": "nobody"},
    } | more


def told(tmp_path: Path, *lines: tuple[str, dict[str, Any]]) -> Oracle:
    """A judge that heard of one mutation, number 1, and of what became of it."""
    journal = Journal(tmp_path / "1.journal")
    journal.note("begun", {"number": 1, "verb": "mutate", "branch": "main", "statements": [ANN]})
    for what, facts in lines:
        journal.note(what, 1, **facts)
    oracle = Oracle(JournalReader(tmp_path))
    oracle.listen()
    return oracle


ACKNOWLEDGED = ("acknowledged", {"answer": {"commit": "c1", "affected": [1, 0]}})
REFUSED = ("refused", {"refusal": {"kind": "head_moved", "class": "HeadMovedError", "text": "", "is_unknown": False}})
BEFORE, AFTER = [("c0", None, None)], [("c0", None, None), ("c1", "c0", "op-1")]


def kinds(oracle: Oracle) -> list[str]:
    return [each.kind for each in oracle.findings]


def test_a_graph_that_shows_what_was_acknowledged_is_right(tmp_path: Path):
    oracle = told(tmp_path, ACKNOWLEDGED)
    oracle.judge(seen(AFTER, [ANN_LINE]), is_settled=True)
    assert kinds(oracle) == []


@pytest.mark.parametrize(("commits", "lines"), [(BEFORE, []), (AFTER, [ANN_LINE])])
def test_an_operation_that_nobody_was_told_of_may_show_or_not(tmp_path: Path, commits: Any, lines: list[str]):
    oracle = told(tmp_path)
    oracle.judge(seen(commits, lines), is_settled=True)
    assert kinds(oracle) == []


def test_a_lost_operation_is_found(tmp_path: Path):
    oracle = told(tmp_path, ACKNOWLEDGED)
    oracle.judge(seen(BEFORE, []), is_settled=True)
    assert kinds(oracle) == ["lost"]


def test_half_of_an_operation_is_found(tmp_path: Path):
    oracle = told(tmp_path)
    oracle.judge(seen(AFTER, []), is_settled=True)
    assert set(kinds(oracle)) == {"partial", "answers"}


def test_rows_without_a_commit_are_found(tmp_path: Path):
    oracle = told(tmp_path)
    oracle.judge(seen(BEFORE, [ANN_LINE]), is_settled=True)
    assert "partial" in kinds(oracle)


def test_an_operation_that_shows_although_it_was_refused_is_found(tmp_path: Path):
    oracle = told(tmp_path, REFUSED)
    oracle.judge(seen(AFTER, [ANN_LINE]), is_settled=True)
    assert kinds(oracle) == ["refused"]


def test_an_operation_that_shows_after_it_was_gone_is_found(tmp_path: Path):
    oracle = told(tmp_path)
    oracle.judge(seen(BEFORE, []), is_settled=True)
    oracle.judge(seen(AFTER, [ANN_LINE]), is_settled=True)
    assert kinds(oracle) == ["late"]


def test_a_recovery_that_contradicts_the_history_is_found(tmp_path: Path):
    oracle = told(tmp_path, ACKNOWLEDGED)
    back = {
        "operation_id": "o",
        "recovery_kind": "RolledBack",
        "graph_commit_id": "c1",
        "branch": "main",
        "created_at": 1,
        "published_version": None,
    }
    recovered = {"c1": seen(AFTER, [])["commits"]["c1"]}
    oracle.judge(seen(AFTER, [ANN_LINE], recoveries=[back], recovered=recovered), is_settled=True)
    assert kinds(oracle) == ["recoveries"]
    other = told(tmp_path, ACKNOWLEDGED)
    late = back | {"published_version": 1}
    other.judge(seen(AFTER, [ANN_LINE], recoveries=[late], recovered=recovered), is_settled=True)
    assert kinds(other) == []


def test_an_edge_without_its_node_is_found():
    _, wrong = seen_in(['{"edge":"Knows","from":"a","to":"b","data":{"id":"k","label":"k","weight":1}}'])
    assert wrong == ["Knows k goes from a to b, one of which is not there"]


def test_the_model_deletes_edges_with_their_nodes_and_refuses_edges_without():
    both = {"verb": "mutate", "statements": [ANN, ANN | {"name": "bo"}]}
    knows = {"do": "know", "label": "e", "from": "ann", "to": "bo", "weight": 1}
    state, _ = applied(EMPTY, both)
    state, affected = applied(state, {"verb": "mutate", "statements": [knows]})
    assert affected == (0, 1)
    state, affected = applied(state, {"verb": "mutate", "statements": [{"do": "drop person", "name": "bo"}]})
    assert affected == (1, 1)
    assert state["Knows"] == {}
    with pytest.raises(ImpossibleError):
        applied(state, {"verb": "mutate", "statements": [knows]})


def test_the_model_merges_row_by_row():
    base = EMPTY | {"Person": {"ann": (1, None), "bo": (2, None)}}
    source = EMPTY | {"Person": {"ann": (9, None), "bo": (2, None)}}
    target = EMPTY | {"Person": {"ann": (1, None)}}
    assert merged(base, source, target, "fail")["Person"] == {"ann": (9, None)}
    with pytest.raises(ImpossibleError):
        merged(base, source, EMPTY, "fail")
    assert merged(base, source, EMPTY, "theirs")["Person"] == {"ann": (9, None)}
