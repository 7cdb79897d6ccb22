"""``omnigraph recovery`` and what ``commit`` tells of it, on graphs whose writers were killed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph.failpoints import (
    PUBLISH_ACKNOWLEDGED,
    PUBLISH_SIDECAR_WRITTEN,
    PUBLISH_TABLE_COMMITTED,
    PUBLISH_TABLES_DURABLE,
)
from omnigraph.history.recoveries import Recovery, RecoveryKind, record_recovery
from omnigraph.testing.faults import Call, armed
from omnigraph_cli.main import cli

SCHEMA = "node Book { isbn: String @key }\nnode Member { card: I64 @key }\n"
FIRST = [{"type": "Book", "data": {"isbn": "b1"}}]
SECOND = [{"type": "Book", "data": {"isbn": "b2"}}, {"type": "Member", "data": {"card": 7}}]

# Each writer is forked before the parent has used a graph, and kills itself where it was told to.
WRITERS = """
import json, os, sys
import omnigraph.graph
from omnigraph.testing.faults import Kill, armed
for failpoint, root in json.loads(sys.argv[1]).items():
    pid = os.fork()
    if pid == 0:
        graph = omnigraph.graph.open(root, actor="bo")
        with armed({failpoint: Kill()}):
            graph.load(json.loads(sys.argv[2]), "append")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By failpoint, a graph of one book whose second load was killed there."""
    folder = tmp_path_factory.mktemp("killed")
    points = (PUBLISH_SIDECAR_WRITTEN, PUBLISH_TABLE_COMMITTED, PUBLISH_TABLES_DURABLE, PUBLISH_ACKNOWLEDGED)
    roots = {point: folder / f"{point}.omni" for point in points}
    with og.init(folder / "whole.omni", schema=SCHEMA) as graph:
        graph.load(FIRST, "append", actor="ann")
    for root in roots.values():
        shutil.copytree(folder / "whole.omni", root)
    jobs = json.dumps({point: str(root) for point, root in roots.items()})
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRITERS, jobs, json.dumps(SECOND)], check=True, timeout=60)
    return roots


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def copy_of(killed: dict[str, Path], failpoint: str) -> Path:
    return Path(shutil.copytree(killed[failpoint], "g.omni")).resolve()


def run(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, list(words), env=environment)


def document(*words: str, **environment: str) -> dict[str, Any]:
    result = run(*words, "--json", **environment)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def error(*words: str) -> tuple[int, dict[str, Any]]:
    result = run(*words, "--json")
    return result.exit_code, json.loads(result.stdout)["error"]


def words_of(line: str) -> list[str]:
    return line.split()


def isbns() -> list[str]:
    with og.open("g.omni", mode="r") as graph:
        return sorted(row["isbn"] for row in graph.table("Book"))


def tree(root: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in root.rglob("*") if each.is_file()}


# ── what a killed writer left ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("failpoint", "kind", "after"),
    [
        (PUBLISH_SIDECAR_WRITTEN, "RolledBack", ["b1"]),
        (PUBLISH_TABLE_COMMITTED, "RolledBack", ["b1"]),
        (PUBLISH_TABLES_DURABLE, "RolledForward", ["b1", "b2"]),
        (PUBLISH_ACKNOWLEDGED, "RolledForward", ["b1", "b2"]),
    ],
)
def test_a_write_that_was_killed_is_listed_and_then_settled(
    killed: dict[str, Path], failpoint: str, kind: str, after: list[str]
) -> None:
    root = copy_of(killed, failpoint)
    listed = document("recovery", "list", "g.omni")
    assert (listed["uri"], listed["recoveries"]) == (str(root), [])
    (pending,) = listed["pending"]
    assert (root / "__recovery" / f"{pending['operation_id']}.json").exists()
    assert {**pending, "operation_id": "-", "graph_commit_id": "-"} == {
        "operation_id": "-",
        "state": "cut_off",
        "reason": None,
        "writer_kind": "load",
        "branch": "main",
        "actor": "bo",
        "graph_commit_id": "-",
    }

    done = document("recovery", "run", "g.omni")
    assert (done["uri"], done["pending"]) == (str(root), [])
    (settled,) = done["recoveries"]
    same = ("operation_id", "writer_kind", "branch", "graph_commit_id")
    assert {name: settled[name] for name in same} == {name: pending[name] for name in same}
    assert (settled["recovery_kind"], settled["recovery_for_actor"], settled["actor"]) == (
        kind,
        "bo",
        "omnigraph:recovery",
    )
    assert [each["table_key"] for each in settled["tables"]] == ["node:Book", "node:Member"]
    assert isbns() == after
    assert not list((root / "__recovery").iterdir())

    nothing = {"uri": str(root), "pending": [], "recoveries": [], "loads": []}
    assert document("recovery", "list", "g.omni") == nothing | {"recoveries": [settled]}
    assert document("recovery", "run", "g.omni") == nothing


def test_listing_writes_nothing(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    before = tree(root)
    assert run("recovery", "list", "g.omni").stderr == ""
    assert run("commit", "list", "g.omni", "--actor", "omnigraph:recovery").stdout == "no commits\n"
    assert tree(root) == before


def test_a_commit_that_a_recovery_made_says_so_and_keeps_its_actor(killed: dict[str, Path]) -> None:
    copy_of(killed, PUBLISH_TABLES_DURABLE)
    (settled,) = document("recovery", "run", "g.omni")["recoveries"]
    finished, first, _ = document("commit", "list", "g.omni")["commits"]
    assert (finished["id"], finished["actor"]) == (settled["graph_commit_id"], "bo")
    found = document("commit", "list", "g.omni", "--actor", "omnigraph:recovery")["commits"]
    assert found == [finished] == document("commit", "list", "g.omni", "--actor", "bo")["commits"]

    shown = document("commit", "show", "g.omni", finished["id"])
    assert (shown["commit"], shown["recoveries"]) == (finished, [settled])
    assert document("commit", "show", "g.omni", first["id"])["recoveries"] == []
    last = run("commit", "show", "g.omni", finished["id"]).stdout.splitlines()[-1]
    label, *words = words_of(last)
    assert (label, words[:2], words[-2:]) == (
        "recovered",
        ["rolled", "forward"],
        ["operation", settled["operation_id"]],
    )
    assert "recovered" not in run("commit", "show", "g.omni", first["id"]).stdout


def test_whoever_looks_for_a_commit_that_was_taken_back_is_told(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLE_COMMITTED)
    (pending,) = document("recovery", "list", "g.omni")["pending"]
    commit = pending["graph_commit_id"]
    listing = f"omnigraph recovery list {root} --commit {commit}"
    waits = run("commit", "show", "g.omni", commit)
    assert (waits.exit_code, f"note: The write that is to make it is not over: {listing}\n" in waits.stderr) == (
        1,
        True,
    )
    run("recovery", "run", "g.omni")
    code, found = error("commit", "show", "g.omni", commit)
    assert (code, found["kind"]) == (1, "not_found")
    over = run("commit", "show", "g.omni", commit).stderr
    assert f"note: The write that was to make it was cut off and taken back: {listing}\n" in over
    (settled,) = document("recovery", "list", "g.omni", "--commit", commit)["recoveries"]
    assert settled["recovery_kind"] == "RolledBack"
    assert "note:" not in run("commit", "show", "g.omni", "01ARZ3NDEKTSV4RRFFQ69G5FAV").stderr


# ── what people read ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pending_write_and_a_settled_one_take_a_line_each(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    (pending,) = document("recovery", "list", "g.omni")["pending"]
    operation, commit = pending["operation_id"], pending["graph_commit_id"]
    result = run("recovery", "list", "g.omni")
    (line,) = result.stdout.splitlines()
    assert words_of(line) == ["cut", "off", operation, "load", "to", "main", "by", "bo,", "commit", commit]

    settling = run("recovery", "run", "g.omni")
    assert settling.stderr == f"recovery run {root} (direct, local)\n"
    (line,) = settling.stdout.splitlines()
    head, moment, tail = words_of(line)[:3], words_of(line)[3:5], words_of(line)[5:]
    assert (head, tail) == (
        ["rolled", "forward", operation],
        ["load", "to", "main", "by", "bo,", "commit", commit],
    )
    assert moment[1].endswith("Z")
    assert run("recovery", "list", "g.omni").stdout == settling.stdout
    again = run("recovery", "run", "g.omni")
    assert again.stdout == f"nothing: no write to {root} is left that was cut off\n"


def test_a_write_that_its_writer_published_after_it_was_rolled_back_is_listed_as_both(folder: Path) -> None:
    """The row of the audit is written by hand: no process of this test can be stopped and continued."""
    with og.init("g.omni", schema=SCHEMA) as graph:
        made = graph.load([{"type": "Book", "data": {"isbn": "b1"}}], "append").commit
        rolled_back = Recovery(
            graph_commit_id=made.id,
            kind=RecoveryKind.ROLLED_BACK,
            recovery_for_actor=None,
            operation_id="01ARZ3NDEKTSV4RRFFQ69G5FAV",
            writer_kind="load",
            branch="main",
            tables=(),
            created_at=made.created_at,
        )
        record_recovery(graph._repository.manifests, rolled_back)
    (line,) = run("recovery", "list", "g.omni").stdout.splitlines()
    assert words_of(line)[:2] == ["rolled", "back"]
    assert line.endswith("; then published by its writer as manifest version 2")
    (told,) = document("recovery", "list", "g.omni")["recoveries"]
    assert (told["recovery_kind"], told["published_version"]) == ("RolledBack", made.manifest_version)
    assert "then published by its writer as manifest version 2" in run("commit", "show", "g.omni", made.id).stdout


def test_a_graph_without_cut_off_writes_says_so(folder: Path) -> None:
    og.init("g.omni", schema=SCHEMA).close()
    root = folder / "g.omni"
    assert run("recovery", "list", "g.omni").stdout == f"nothing: no write to {root} was cut off\n"
    told = run("recovery", "list", "g.omni", "--commit", "01X").stdout
    assert told == f"nothing: no write to {root} was cut off that was to make commit 01X\n"


def test_a_listing_can_be_narrowed_to_a_commit(killed: dict[str, Path]) -> None:
    copy_of(killed, PUBLISH_TABLES_DURABLE)
    (pending,) = document("recovery", "list", "g.omni")["pending"]
    commit = pending["graph_commit_id"]
    assert document("recovery", "list", "g.omni", "--commit", commit)["pending"] == [pending]
    assert document("recovery", "list", "g.omni", "--commit", pending["operation_id"])["pending"] == []
    run("recovery", "run", "g.omni")
    assert len(document("recovery", "list", "g.omni", "--commit", commit)["recoveries"]) == 1
    assert document("recovery", "list", "g.omni", "--commit", pending["operation_id"])["recoveries"] == []


# ── writers that may live ────────────────────────────────────────────────────────────────────────────────────────


def test_a_write_that_goes_on_is_under_way_and_left_alone(folder: Path) -> None:
    seen: list[dict[str, Any]] = []
    with og.init("g.omni", schema=SCHEMA, actor="ann") as graph:
        look = Call(lambda _: seen.append(document("recovery", "list", "g.omni")))
        with armed({PUBLISH_SIDECAR_WRITTEN: look}):
            graph.load(FIRST, "append")
    (pending,) = seen[0]["pending"]
    assert (pending["state"], pending["actor"]) == ("under_way", "ann")
    assert document("recovery", "list", "g.omni")["pending"] == []


def test_a_writer_on_another_machine_is_waited_for_as_long_as_the_setting_says(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    (sidecar,) = (root / "__recovery").iterdir()
    facts = json.loads(sidecar.read_text())
    facts["writer"]["machine"] = "elsewhere"
    sidecar.write_text(json.dumps(facts))
    (pending,) = document("recovery", "list", "g.omni")["pending"]
    assert pending["state"] == "unknown"
    assert words_of(run("recovery", "list", "g.omni").stdout)[0] == "unknown"
    (settled,) = document("recovery", "run", "g.omni", OMNIGRAPH_RECOVERY_PATIENCE="0.2")["recoveries"]
    assert (settled["recovery_kind"], isbns()) == ("RolledForward", ["b1", "b2"])


# ── plans that cannot be acted on ────────────────────────────────────────────────────────────────────────────────


def test_a_plan_that_cannot_be_acted_on_stops_writers_until_it_is_discarded(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    (sidecar,) = (root / "__recovery").iterdir()
    newer = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    (root / "__recovery" / f"{newer}.json").write_text('{"schema_version": 3}')

    lines = run("recovery", "list", "g.omni").stdout.splitlines()
    assert words_of(lines[0])[:2] == ["refused", newer]
    assert lines[0].endswith("its form is version 3, and this release knows 2")
    assert words_of(lines[1])[:3] == ["cut", "off", sidecar.stem]

    refused = run("recovery", "run", "g.omni")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"omnigraph recovery discard {root} {newer}" in refused.stderr
    assert f"note: All that can be acted on are settled: omnigraph recovery list {root}\n" in refused.stderr
    code, found = error("recovery", "run", "g.omni")
    assert (code, found["kind"], found["details"]["operation_id"]) == (1, "recovery_required", newer)
    listed = document("recovery", "list", "g.omni")
    assert [each["state"] for each in listed["pending"]] == ["refused"]
    assert [each["operation_id"] for each in listed["recoveries"]] == [sidecar.stem]
    assert isbns() == ["b1", "b2"]

    discarded = run("recovery", "discard", "g.omni", newer)
    moved_to = root / "__quarantine" / "__recovery" / f"{newer}.json"
    assert discarded.stderr == f"recovery discard {root} (direct, local)\n"
    assert discarded.stdout.splitlines() == [
        f"discarded {newer}: its form is version 3, and this release knows 2",
        f"moved to  {moved_to}",
    ]
    assert moved_to.read_text() == '{"schema_version": 3}'
    assert document("recovery", "run", "g.omni")["pending"] == []


def test_the_json_of_a_discarded_plan_says_why_and_where_it_is(folder: Path) -> None:
    og.init("g.omni", schema=SCHEMA).close()
    sidecar = folder / "g.omni" / "__recovery" / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_bytes(b" " * 9_000_000)
    assert document("recovery", "discard", "g.omni", sidecar.stem) == {
        "uri": str(folder / "g.omni"),
        "operation_id": sidecar.stem,
        "reason": "it is larger than any sidecar",
        "moved_to": [str(folder / "g.omni" / "__quarantine" / "__recovery" / sidecar.name)],
    }


def test_a_plan_that_is_whole_is_not_discarded(killed: dict[str, Path]) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    (sidecar,) = (root / "__recovery").iterdir()
    before = tree(root)
    code, found = error("recovery", "discard", "g.omni", sidecar.stem)
    assert (code, found["kind"]) == (3, "invalid_input")
    assert found["help"].endswith(f"omnigraph recovery run {root}.")
    assert tree(root) == before
    code, found = error("recovery", "discard", "g.omni", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert (code, found["kind"]) == (1, "not_found")
    assert tree(root) == before


# ── who else recovers ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "words",
    [
        ["mutate", "g.omni", "-e", 'query q() { insert Book { isbn: "b3" } }'],
        ["ensure-indices", "g.omni"],
    ],
    ids=" ".join,
)
def test_a_verb_that_writes_settles_what_lies_there_before_it_begins(killed: dict[str, Path], words: list[str]) -> None:
    copy_of(killed, PUBLISH_TABLE_COMMITTED)
    assert run(*words).exit_code == 0
    listed = document("recovery", "list", "g.omni")
    assert ([each["recovery_kind"] for each in listed["recoveries"]], listed["pending"]) == (["RolledBack"], [])
    assert "b2" not in isbns()


@pytest.mark.parametrize("words", [["query", "-e", "query q() { match { $b: Book } return { $b.isbn } }"], ["export"]])
def test_a_verb_that_reads_settles_nothing_and_shows_what_is_published(
    killed: dict[str, Path], words: list[str]
) -> None:
    root = copy_of(killed, PUBLISH_TABLES_DURABLE)
    before = tree(root)
    verb, *rest = words
    result = run(verb, "g.omni", *rest)
    assert (result.exit_code, "b1" in result.stdout, "b2" in result.stdout) == (0, True, False)
    assert tree(root) == before


def test_a_bulk_load_that_holds_a_lease_is_listed():
    with og.init("g.omni", schema=SCHEMA) as graph, graph.bulk_lease(graph.bulk(["Book"], load_id="night")):
        (load,) = document("recovery", "list", "g.omni")["loads"]
        assert (load["load_id"], load["branch"], list(load["lines"])) == ("night", "main", ["node:Book"])
        (line,) = run("recovery", "list", "g.omni").stdout.splitlines()
        assert words_of(line)[:3] == ["under", "way", "night"]
        assert line.endswith("bulk load to main of node:Book")
    assert document("recovery", "list", "g.omni")["loads"] == []
