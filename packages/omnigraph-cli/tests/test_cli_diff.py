"""``omnigraph diff``: what differs between two commits, for the eye and for programs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph_cli.main import cli

SCHEMA = """
node Book { isbn: String @key  title: String  score: F32?  cover: Blob? }
node Member { card: I64 @key }
edge Borrowed: Member -> Book { due: Date? }
"""
FIRST = [
    {"type": "Book", "data": {"isbn": "b1", "title": "Über den Fluss 🛶", "score": 4.5}},
    {"type": "Book", "data": {"isbn": "b2", "title": "Salt"}},
    {"type": "Book", "data": {"isbn": "b3", "title": "Lost"}},
    {"type": "Member", "data": {"card": 7}},
    {"edge": "Borrowed", "from": "7", "to": "b1", "data": {"id": "e1", "due": "2026-02-01"}},
    {"edge": "Borrowed", "from": "7", "to": "b3", "data": {"id": "e2"}},
]
SECOND = [
    {"type": "Book", "data": {"isbn": "b2", "title": "Salt,\nrevised", "score": 3.0}},
    {"type": "Book", "data": {"isbn": "b4", "title": "t" * 100, "cover": "base64:AAAA"}},
    {"edge": "Borrowed", "from": "7", "to": "b4", "data": {"id": "e3"}},
]


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["diff", "g.omni", *words])


def document(*words: str) -> dict[str, Any]:
    result = run(*words)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a commit, after which books were written, revised and lost."""
    monkeypatch.chdir(tmp_path)
    with og.init("g.omni", schema=SCHEMA) as graph:
        loaded = graph.load(FIRST, "append").commit
        graph.load(SECOND, "merge")
        graph.mutate('query lose() { delete Book where isbn = "b3" }')
    return loaded.id


def test_changes_read_like_a_patch_with_what_is_new_in_an_update(first: str) -> None:
    result = run(first, "main")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        '~ Book b2 score: null -> 3.0, title: "Salt" -> "Salt,\\nrevised"',
        '- Book b3 {cover: null, isbn: "b3", score: null, title: "Lost"}',
        f'+ Book b4 {{cover: "base64:AAAA", isbn: "b4", score: null, title: "{"t" * 78}…}}',
        "- Borrowed e2 7 -> b3 {due: null}",
        "+ Borrowed e3 7 -> b4 {due: null}",
        "2 inserted, 1 updated, 2 deleted",
    ]
    assert result.stderr == ""


def test_the_way_back_takes_it_back(first: str) -> None:
    lines = run("main", first).stdout.splitlines()
    assert [line.split(" ")[:3] for line in lines[:-1]] == [
        ["~", "Book", "b2"],
        ["+", "Book", "b3"],
        ["-", "Book", "b4"],
        ["+", "Borrowed", "e2"],
        ["-", "Borrowed", "e3"],
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--kind", "edge"), ["e2", "e3"]),
        (("--op", "insert"), ["b4", "e3"]),
        (("--op", "update", "--op", "delete", "--kind", "node"), ["b2", "b3"]),
        (("--type", "edge:Borrowed", "--op", "delete"), ["e2"]),
        (("--type", "Member"), []),
        (("--type", "Member", "--type", "Book", "--op", "update"), ["b2"]),
    ],
    ids=str,
)
def test_a_filter_shows_what_it_asks_for(first: str, words: tuple[str, ...], expected: list[str]) -> None:
    assert [line.split(" ")[2] for line in run(first, "main", *words).stdout.splitlines()[:-1]] == expected
    assert [each["id"] for each in document(first, "main", *words, "--json")["changes"]] == expected


def test_nothing_that_differs_is_no_failure(first: str) -> None:
    result = run("main", "main")
    assert (result.exit_code, result.stdout) == (0, "0 inserted, 0 updated, 0 deleted\n")


def test_the_json_of_a_diff_is_what_the_graph_says(first: str) -> None:
    with og.open("g.omni", mode="r") as graph:
        expected = graph.diff(first, "main", ops=["insert"]).to_dict()
        newest = graph.commits.list(limit=1)[0]
    found = document(first, "main", "--op", "insert", "--json")
    assert found == {"uri": graph.uri, **json.loads(json.dumps(expected))}
    assert found == document(first, "main", "--op", "insert", "--format", "json")
    assert (found["from_commit"]["id"], found["to_commit"]["id"]) == (first, newest.id)
    assert found["filter"] == {"kinds": None, "types": None, "ops": ["insert"]}
    assert found["changes"][1] == {
        "entity": "edge",
        "type": "Borrowed",
        "id": "e3",
        "op": "insert",
        "before": None,
        "after": {"due": None},
        "from_id": "7",
        "to_id": "b4",
    }


def test_lines_of_json_have_the_same_changes_after_a_line_of_metadata(first: str) -> None:
    metadata, *changes = [json.loads(line) for line in run(first, "main", "--format", "jsonl").stdout.splitlines()]
    whole = document(first, "main", "--json")
    assert changes == whole["changes"]
    assert metadata == {"kind": "metadata", **{name: whole[name] for name in ("from_commit", "to_commit", "filter")}}


def test_a_summary_counts_and_shows_nothing_else(first: str) -> None:
    found = document(first, "main", "--summary", "--json")
    assert found["summary"] == {
        "inserts": 2,
        "updates": 1,
        "deletes": 2,
        "types_affected": ["edge:Borrowed", "node:Book"],
    }
    assert "changes" not in found
    text = dict(line.split(maxsplit=1) for line in run(first, "main", "--summary").stdout.splitlines())
    assert text == {
        "from": first,
        "to": found["to_commit"]["id"],
        "inserts": "2",
        "updates": "1",
        "deletes": "2",
        "types": "edge:Borrowed, node:Book",
    }
    assert run("main", "main", "--summary").stdout.splitlines()[-1].split() == ["types", "none"]


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("main", "nowhere"), 1, "not_found"),
        (("01KA7X3J8Q0000000000000000", "main"), 1, "not_found"),
        (("main", "main", "--type", "Bok"), 1, "not_found"),
        (("main", "main", "--op", "insrt"), 2, "usage"),
        (("main", "main", "--kind", "nodes"), 2, "usage"),
        (("main", "main", "--summary", "--format", "jsonl"), 2, "usage"),
        (("main",), 2, "usage"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(first: str, words: tuple[str, ...], code: int, kind: str) -> None:
    result = run(*words, "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (code, kind)
