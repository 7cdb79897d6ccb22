"""``branch`` and ``load --from``: branches of a graph through the command, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph_cli.main import cli

SCHEMA = "node Book { isbn: String @key  title: String? }\n"
ADD = "query add($isbn: String) { insert Book { isbn: $isbn } }"
BOOKS = "query books() { match { $b: Book } return { $b.isbn as isbn } order { isbn } }"
MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"


def run(*words: str, **settings: Any) -> Result:
    return CliRunner().invoke(cli, list(words), **settings)


def book(isbn: object) -> str:
    return json.dumps({"type": "Book", "data": {"isbn": isbn}})


def document(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def error(*words: str) -> tuple[int, dict[str, Any]]:
    result = run(*words, "--json")
    return result.exit_code, json.loads(result.stdout)["error"]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph with two books."""
    monkeypatch.chdir(tmp_path)
    Path("library.pg").write_text(SCHEMA, "utf-8")
    Path("first.jsonl").write_text(f"{book('b1')}\n{book('b2')}\n", "utf-8")
    Path("more.jsonl").write_text(book("b3"), "utf-8")
    Path("wrong.jsonl").write_text(book(3), "utf-8")
    assert run("init", "--schema", "library.pg", "g.omni").exit_code == 0
    assert run("load", "g.omni", "--data", "first.jsonl", "--mode", "append").exit_code == 0
    return tmp_path / "g.omni"


def books(branch: str) -> list[str]:
    return [row["isbn"] for row in document("query", "g.omni", "-e", BOOKS, "--branch", branch)["rows"]]


def head(branch: str = "main") -> str:
    found: str = document("branch", "show", "g.omni", branch)["branch"]["head"]
    return found


def names() -> list[str]:
    return [each["name"] for each in document("branch", "list", "g.omni")["branches"]]


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_is_made_and_told(graph: Path) -> None:
    result = run("branch", "create", "g.omni", "review/2026")
    assert (result.exit_code, result.stderr) == (0, f"branch create {graph} (direct, local)\n")
    assert result.stdout.splitlines() == [f"created review/2026 of {graph}", f"begins as {head()}"]
    assert names() == ["main", "review/2026"]
    assert books("review/2026") == ["b1", "b2"]


def test_the_json_of_a_branch_is_what_python_says_of_it(graph: Path) -> None:
    made = document("branch", "create", "g.omni", "dev")
    with og.open(graph, mode="r") as opened:
        branch = opened.branches.show("dev").to_dict()
        assert made == document("branch", "show", "g.omni", "dev") == {"uri": str(graph), "branch": branch}
        everything = [each.to_dict() for each in opened.branches.list()]
    assert document("branch", "list", "g.omni") == {"uri": str(graph), "branches": everything}
    assert [each["name"] for each in everything] == ["main", "dev"]


def test_a_branch_begins_as_another_one_or_as_a_moment(graph: Path) -> None:
    first = head()
    run("branch", "create", "g.omni", "dev")
    assert run("mutate", "g.omni", "-e", ADD, "--params", '{"isbn": "d1"}', "--branch", "dev").exit_code == 0
    assert run("branch", "create", "g.omni", "of-dev", "--from", "dev").exit_code == 0
    assert run("branch", "create", "g.omni", "of-dev-then", "--from", "dev", "--at", "1").exit_code == 0
    assert run("branch", "create", "g.omni", "then", "--at", first).exit_code == 0
    assert books("dev") == books("of-dev") == ["b1", "b2", "d1"]
    assert books("then") == books("main") == ["b1", "b2"]
    assert books("of-dev-then") == []


def test_what_cannot_be_made_is_refused_with_the_next_move(graph: Path) -> None:
    run("branch", "create", "g.omni", "dev")
    code, found = error("branch", "create", "g.omni", "dev")
    assert (code, found["kind"], found["details"]) == (1, "already_exists", {"branch": "dev"})
    assert "omnigraph branch delete" in found["help"]
    code, found = error("branch", "create", "g.omni", "a//b")
    assert (code, found["kind"]) == (3, "invalid_input")
    for words in (("--from", "nope"), ("--at", "99"), ("--at", "nope")):
        code, found = error("branch", "create", "g.omni", "more", *words)
        assert (code, found["kind"]) == (1, "not_found")
    assert names() == ["main", "dev"]


# ── list, show ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_list_has_main_first_and_a_line_for_each(graph: Path) -> None:
    for name in ("zebra", "a/b"):
        run("branch", "create", "g.omni", name)
    result = run("branch", "list", "g.omni")
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    newest = head()
    assert lines[0] == f"main   {newest}"
    assert [re.sub(MOMENT, "(then)", each) for each in lines[1:]] == [
        f"a/b    {newest}  (then)",
        f"zebra  {newest}  (then)",
    ]


def test_a_branch_is_shown_with_what_it_began_as(graph: Path) -> None:
    began = head()
    run("branch", "create", "g.omni", "dev")
    run("mutate", "g.omni", "-e", ADD, "--params", '{"isbn": "d1"}', "--branch", "dev")
    lines = run("branch", "show", "g.omni", "dev").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:2]] == [["branch", "dev"], ["head", head("dev")]]
    assert lines[2].split() == ["began", "as", began]
    assert re.fullmatch(rf"created +{MOMENT}", lines[3])
    assert head("dev") != began
    assert run("branch", "show", "g.omni", "main").stdout.split() == ["branch", "main", "head", began]


def test_a_branch_that_is_not_there_is_told_by_every_verb(graph: Path) -> None:
    for words in (
        ("branch", "show", "g.omni", "nope"),
        ("branch", "delete", "g.omni", "nope"),
        ("query", "g.omni", "-e", BOOKS, "--branch", "nope"),
        ("explain", "g.omni", "-e", BOOKS, "--branch", "nope"),
        ("mutate", "g.omni", "-e", ADD, "--params", '{"isbn": "x"}', "--branch", "nope"),
        ("load", "g.omni", "--data", "more.jsonl", "--mode", "append", "--branch", "nope"),
        ("snapshot", "g.omni", "--branch", "nope"),
        ("export", "g.omni", "--branch", "nope"),
        ("commit", "list", "g.omni", "--branch", "nope"),
        ("ensure-indices", "g.omni", "--branch", "nope"),
    ):
        code, found = error(*words)
        assert (code, found["kind"], found["details"]) == (1, "not_found", {"branch": "nope"}), words
        assert "omnigraph branch list" in found["help"]


# ── delete ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_is_deleted_and_can_be_made_anew_from_what_is_told(graph: Path) -> None:
    run("branch", "create", "g.omni", "dev")
    run("mutate", "g.omni", "-e", ADD, "--params", '{"isbn": "d1"}', "--branch", "dev")
    last = head("dev")
    result = run("branch", "delete", "g.omni", "dev")
    assert (result.exit_code, result.stderr) == (0, f"branch delete {graph} (direct, local)\n")
    assert result.stdout.splitlines() == [f"deleted dev of {graph}", f"last commit {last}"]
    assert names() == ["main"]
    assert run("branch", "create", "g.omni", "dev", "--at", last).exit_code == 0
    assert books("dev") == ["b1", "b2", "d1"]
    assert document("branch", "delete", "g.omni", "dev") == {"uri": str(graph), "name": "dev", "head": last}


def test_main_stays(graph: Path) -> None:
    code, found = error("branch", "delete", "g.omni", "main")
    assert (code, found["kind"]) == (3, "invalid_input")
    assert names() == ["main"]


def test_a_branch_that_is_not_on_a_local_disk_is_deleted_only_with_leave() -> None:
    uri = "memory://cli-branches"
    with og.init(uri, schema=SCHEMA) as made:
        made.branches.create("dev")
        code, found = error("branch", "delete", uri, "dev")
        assert (code, found["kind"]) == (2, "usage")
        assert "needs --yes" in found["message"]
        assert [each.name for each in made.branches.list()] == ["main", "dev"]
        assert run("branch", "delete", uri, "dev", "--yes").exit_code == 0
        assert [each.name for each in made.branches.list()] == ["main"]


# ── load --from ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_load_makes_its_branch_if_it_is_missing(graph: Path) -> None:
    words = ("load", "g.omni", "--data", "more.jsonl", "--mode", "merge", "--branch", "dev", "--from", "main")
    result = run(*words)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == (
        f"loaded {graph} on branch dev, made from main, with merge: 1 entity across 1 node type and 0 edge types"
    )
    assert books("dev") == ["b1", "b2", "b3"]
    assert books("main") == ["b1", "b2"]
    again = document(*words)
    assert (again["branch"], again["base_branch"], again["branch_created"]) == ("dev", "main", False)
    assert run(*words).stdout.startswith(f"loaded {graph} on branch dev with merge:")


def test_a_load_that_fails_leaves_the_branch_that_it_made(graph: Path) -> None:
    result = run("load", "g.omni", "--data", "wrong.jsonl", "--mode", "append", "--branch", "dev", "--from", "main")
    assert result.exit_code == 3
    assert names() == ["main", "dev"]
    assert books("dev") == ["b1", "b2"]


# ── --branch elsewhere ───────────────────────────────────────────────────────────────────────────────────────────────


def test_every_verb_reads_and_writes_the_branch_that_it_is_told(graph: Path) -> None:
    run("branch", "create", "g.omni", "dev")
    assert run("load", "g.omni", "--data", "more.jsonl", "--mode", "append", "--branch", "dev").exit_code == 0
    assert document("snapshot", "g.omni", "--branch", "dev")["types"][0]["count"] == 3
    assert document("snapshot", "g.omni")["types"][0]["count"] == 2
    assert len(run("export", "g.omni", "--branch", "dev").stdout.splitlines()) == 3
    assert document("commit", "list", "g.omni", "--branch", "dev")["commits"][0]["branch"] == "dev"
    indexed = document("ensure-indices", "g.omni", "--branch", "dev")
    assert (indexed["branch"], indexed["commit"]["branch"]) == ("dev", "dev")
    assert document("explain", "g.omni", "-e", BOOKS, "--branch", "dev", "--analyze")["row_count"] == 3
    assert books("dev") == ["b1", "b2", "b3"]
    assert books("main") == ["b1", "b2"]
