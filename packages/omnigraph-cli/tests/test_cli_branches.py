"""``omnigraph branch`` and ``omnigraph tag``: work apart, come together, name what stays; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph_cli.main import cli

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def printed(code: int, *words: str) -> str:
    result = run(*words)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 or result.stdout else result.stderr


def document(code: int, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(code, *words, "--json"))
    return found


def ages(branch: str) -> dict[str, int]:
    with og.open("g.omni", mode="r") as graph:
        return {row["name"]: row["age"] for row in graph.table("Person", branch=branch)}


def age_on(branch: str, name: str, age: int) -> None:
    with og.open("g.omni") as graph:
        graph.load([person(name, age)], "merge", branch=branch)


@pytest.fixture(autouse=True)
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of the commit that the branches begin at."""
    monkeypatch.chdir(tmp_path)
    with og.init("g.omni", schema=SCHEMA) as graph:
        return graph.load([person("ann", 31), person("bob", 42)], "append").commit.id


def test_a_branch_that_cannot_be_read_is_listed_with_the_reason_and_can_be_deleted(first: str) -> None:
    for name in ("bad", "good"):
        printed(0, "branch", "create", "g.omni", name)
    ref = Path("g.omni/_refs/branches/bad.json")
    ref.write_bytes(ref.read_bytes()[:-5])
    listed = document(0, "branch", "list", "g.omni")["branches"]
    assert [(each["name"], each["head"], each["problem"] is None) for each in listed] == [
        ("main", first, True),
        ("bad", None, False),
        ("good", first, True),
    ]
    lines = printed(0, "branch", "list", "g.omni").splitlines()
    assert "  The branch object" in lines[1]
    assert "damaged" in printed(1, "branch", "show", "g.omni", "bad")
    assert document(0, "branch", "delete", "g.omni", "bad") == {"uri": listed_uri(), "deleted": "bad", "head": None}
    assert [each["name"] for each in document(0, "branch", "list", "g.omni")["branches"]] == ["main", "good"]


def listed_uri() -> str:
    return str(document(0, "branch", "list", "g.omni")["uri"])


def test_a_branch_is_made_listed_shown_and_deleted(first: str) -> None:
    assert document(0, "branch", "create", "g.omni", "review/1")["branch"]["head"] == first
    listed = document(0, "branch", "list", "g.omni")["branches"]
    assert [(each["name"], each["head"], each["base_commit"]) for each in listed] == [
        ("main", first, None),
        ("review/1", first, first),
    ]
    assert printed(0, "branch", "show", "g.omni", "review/1").splitlines()[:3] == [
        "branch   review/1",
        f"head     {first}",
        f"base     {first}",
    ]
    assert "branch review/1" in printed(0, "branch", "delete", "g.omni", "review/1")
    (line,) = printed(0, "branch", "list", "g.omni").splitlines()
    assert line.split()[:2] == ["main", first]


def test_a_branch_begins_where_it_is_told_to(first: str) -> None:
    age_on("main", "ann", 32)
    printed(0, "branch", "create", "g.omni", "was", "--at", first)
    age_on("was", "bob", 43)
    printed(0, "branch", "create", "g.omni", "next", "--from", "was")
    assert (ages("was"), ages("next"), ages("main")) == (
        {"ann": 31, "bob": 43},
        {"ann": 31, "bob": 43},
        {"ann": 32, "bob": 42},
    )


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("create", "g.omni", "main"), 1, 'There is a branch "main" already.'),
        (("create", "g.omni", "a//b"), 3, "is no branch name"),
        (("create", "g.omni", "x", "--from", "nowhere"), 1, 'There is no branch "nowhere".'),
        (("delete", "g.omni", "main"), 3, "main cannot be deleted"),
        (("delete", "g.omni", "nowhere"), 1, 'There is no branch "nowhere".'),
        (("show", "g.omni", "nowhere"), 1, 'There is no branch "nowhere".'),
        (("merge", "g.omni", "main"), 3, "into itself"),
        (("merge", "g.omni", "nowhere"), 1, 'There is no branch "nowhere".'),
        (("merge", "g.omni", "x", "--strategy", "mine"), 2, "mine"),
    ],
)
def test_what_cannot_be_is_refused_with_its_code(words: tuple[str, ...], code: int, told: str) -> None:
    assert told in printed(code, "branch", *words)
    assert len(document(0, "branch", "list", "g.omni")["branches"]) == 1


def test_a_load_makes_the_branch_that_it_is_told_to_make_from_another_one(first: str) -> None:
    Path("new.jsonl").write_text(json.dumps(person("cid", 7)), encoding="utf-8")
    words = ("load", "g.omni", "--data", "new.jsonl", "--branch", "import", "--from", "main")
    loaded = document(0, *words, "--mode", "append")
    assert (loaded["branch"], loaded["base_branch"], loaded["branch_created"]) == ("import", "main", True)
    assert document(0, *words, "--mode", "merge")["branch_created"] is False
    assert (ages("import"), ages("main")) == ({"ann": 31, "bob": 42, "cid": 7}, {"ann": 31, "bob": 42})


# ── merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def _two_branches(first: str) -> None:
    for name in ("one", "two"):
        printed(0, "branch", "create", "g.omni", name)
    age_on("one", "ann", 32)


@pytest.mark.usefixtures("_two_branches")
def test_a_dry_run_shows_what_would_change_and_changes_nothing(first: str) -> None:
    assert printed(0, "branch", "merge", "g.omni", "one", "--dry-run").splitlines()[1:] == [
        "~ Person ann age: 31 -> 32",
        "0 inserted, 1 updated, 0 deleted",
    ]
    found = document(0, "branch", "merge", "g.omni", "one", "--dry-run")
    assert (found["outcome"], found["commit"], found["conflicts"]) == ("fast_forward", None, [])
    assert [(each["op"], each["id"], each["after"]["age"]) for each in found["changes"]] == [("update", "ann", 32)]
    assert ages("main")["ann"] == 31


@pytest.mark.usefixtures("_two_branches")
def test_a_merge_makes_one_commit_with_two_parents_and_deletes_the_branch_if_told_to(first: str) -> None:
    merged = document(0, "branch", "merge", "g.omni", "one", "--as", "eve", "--delete-branch")
    commit = merged["commit"]
    assert (merged["outcome"], merged["branch_deleted"], commit["kind"], commit["actor"]) == (
        "fast_forward",
        True,
        "merge",
        "eve",
    )
    assert (commit["parent_id"], commit["merged_parent_id"]) == (first, merged["source_commit"])
    assert ages("main")["ann"] == 32
    assert printed(0, "branch", "merge", "g.omni", "two").startswith("nothing to merge: main has all of two already")


@pytest.mark.usefixtures("_two_branches")
def test_conflicts_are_told_with_code_4_until_somebody_decides(first: str) -> None:
    age_on("two", "ann", 33)
    head = document(0, "branch", "merge", "g.omni", "one")["commit"]["id"]
    dry = document(4, "branch", "merge", "g.omni", "two", "--dry-run")
    assert [(each["kind"], each["id"]) for each in dry["conflicts"]] == [("divergent_update", "ann")]
    assert "conflict node Person 'ann'" in printed(4, "branch", "merge", "g.omni", "two", "--dry-run")
    error = document(4, "branch", "merge", "g.omni", "two")["error"]
    assert (error["kind"], error["details"]["conflicts"]) == ("merge_conflict", dry["conflicts"])
    assert "asks for" in printed(4, "branch", "merge", "g.omni", "two", "--strategy", "ours", "--expect-head", first)
    words = ("branch", "merge", "g.omni", "two", "--strategy", "theirs", "--expect-head", head)
    assert "decided 1 conflict" in printed(0, *words)
    assert ages("main")["ann"] == 33


# ── tags and drawings ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tag_names_a_commit_wherever_a_moment_is_asked_for(first: str) -> None:
    made = document(0, "tag", "create", "g.omni", "v1", "--as", "ann")["tag"]
    assert (made["name"], made["commit_id"], made["actor"]) == ("v1", first, "ann")
    age_on("main", "ann", 32)
    assert "~ Person ann age: 31 -> 32" in printed(0, "diff", "g.omni", "v1", "main")
    assert '"age":31' in printed(0, "export", "g.omni", "--snapshot", "v1")
    assert printed(0, "tag", "list", "g.omni").split()[:2] == ["v1", first]
    assert 'There is a tag "v1" already.' in printed(1, "tag", "create", "g.omni", "v1")
    assert "tag v1" in printed(0, "tag", "delete", "g.omni", "v1")
    assert printed(0, "tag", "list", "g.omni").strip() == "no tags"
    assert 'There is no tag "v1".' in printed(1, "tag", "delete", "g.omni", "v1")


@pytest.mark.usefixtures("_two_branches")
def test_a_history_is_listed_in_pages_and_drawn(first: str) -> None:
    age_on("main", "bob", 43)
    printed(0, "branch", "merge", "g.omni", "one")
    everything = [each["id"] for each in document(0, "commit", "list", "g.omni")["commits"]]
    assert len(everything) == 5
    page = [each["id"] for each in document(0, "commit", "list", "g.omni", "--limit", "2")["commits"]]
    rest = document(0, "commit", "list", "g.omni", "--before", page[-1])["commits"]
    assert page + [each["id"] for each in rest] == everything
    drawn = printed(0, "commit", "graph", "g.omni", "--branch", "main").splitlines()
    assert [line[0] for line in drawn if "main  merge" in line] == ["*"]
    assert "|\\" in drawn
    assert printed(0, "commit", "graph", "g.omni", "--format", "dot").startswith("digraph")
    assert document(0, "commit", "graph", "g.omni", "--format", "mermaid")["drawing"].startswith("flowchart")
