"""``changes poll``, ``changes baseline`` and ``commit changes``: a graph on a disk, followed through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph
from omnigraph_cli.main import cli

SCHEMA = "node Book { isbn: String @key  title: String  score: F32? }\nedge Cites: Book -> Book { page: I32? }\n"
RECORDS = [
    {"type": "Book", "data": {"isbn": "b1", "title": "Salt"}},
    {"type": "Book", "data": {"isbn": "b2", "title": "Orb\nit"}},
    {"edge": "Cites", "from": "b1", "to": "b2", "data": {"id": "c1", "page": 7}},
]


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), env={"COLUMNS": "400"})


def document(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def error(*words: str) -> tuple[int, str]:
    result = run(*words, "--json")
    return result.exit_code, json.loads(result.stdout)["error"]["kind"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("followed")
    with omnigraph.init(folder / "graph", schema=SCHEMA, actor="ann") as graph:
        graph.load(RECORDS, "append")
        graph.mutate('query rate() { update Book set { score: 4.5 } where isbn = "b1" }', actor="bo")
        graph.mutate('query gone() { delete Book where isbn = "b2" }')
    return str(folder / "graph")


def commits(place: str) -> list[str]:
    """From the first to the newest."""
    return [each["id"] for each in reversed(document("commit", "list", place)["commits"])]


# ── changes poll ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_is_one_line_per_commit_and_change_and_the_cursor_behind_them(place: str) -> None:
    result = run("changes", "poll", place, "--start", "beginning")
    lines = result.stdout.splitlines()
    ids = commits(place)
    shown = [line for line in lines if line[0] in "+~-"]
    assert shown == [
        '+ Book b1 {isbn: "b1", score: null, title: "Salt"}',
        '+ Book b2 {isbn: "b2", score: null, title: "Orb\\nit"}',
        "+ Cites c1 b1 -> b2 {page: 7}",
        "~ Book b1 score: null -> 4.5",
        '- Book b2 {isbn: "b2", score: null, title: "Orb\\nit"}',
        "- Cites c1 b1 -> b2 {page: 7}",
    ]
    causes = [line.split() for line in lines if line.startswith("commit ")]
    assert [(words[1], words[2], words[-1]) for words in causes] == [
        (ids[0], "schema", "ann"),
        (ids[1], "data", "ann"),
        (ids[2], "data", "bo"),
        (ids[3], "data", "ann"),
    ]
    assert lines[-2] == f"cursor {document('changes', 'poll', place)['cursor']}"
    assert lines[-1] == f"caught up: {ids[3]} is the newest commit of main"


def test_the_document_of_a_page_is_that_of_python_with_the_place(place: str) -> None:
    with omnigraph.open(place, mode="r") as graph:
        page = graph.changes(start="beginning", limit=2, types=["Book"])
    words = ("changes", "poll", place, "--start", "beginning", "--limit", "2", "--type", "Book")
    assert document(*words) == {"uri": place, **page.to_dict()}


def test_cursors_and_page_tokens_go_on_where_a_page_ended(place: str) -> None:
    told, words = [], ["--start", "beginning"]
    for _ in range(20):
        page = document("changes", "poll", place, *words, "--limit", "1", "--max-commits", "2")
        told += [(each["op"], each["id"]) for block in page["blocks"] for each in block["changes"]]
        if page["caught_up"]:
            break
        words = ["--cursor", page["cursor"]] if page["cursor"] else ["--page-token", page["page_token"]]
    assert told == [
        ("insert", "b1"),
        ("insert", "b2"),
        ("insert", "c1"),
        ("update", "b1"),
        ("delete", "b2"),
        ("delete", "c1"),
    ]


def test_a_page_that_ends_inside_a_commit_prints_the_token_and_that_there_is_more(place: str) -> None:
    lines = run("changes", "poll", place, "--start", "beginning", "--limit", "2").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines[-2:]] == ["page", "more:"]
    assert not any(line.startswith("cursor ") for line in lines)


def test_filters_and_starts_are_those_of_the_feed(place: str) -> None:
    def told(*words: str) -> list[str]:
        page = document("changes", "poll", place, *words)
        return [each["id"] for block in page["blocks"] for each in block["changes"]]

    assert told() == told("--start", "now") == []
    assert told("--start", f"after:{commits(place)[2]}") == ["b2", "c1"]
    assert told("--start", "beginning", "--kind", "edge") == ["c1", "c1"]
    assert told("--start", "beginning", "--op", "update", "--op", "delete", "--type", "node:Book") == ["b1", "b2"]


def test_what_is_wrong_ends_with_its_code(place: str) -> None:
    cursor = document("changes", "poll", place)["cursor"]
    poll = ("changes", "poll", place)
    assert error(*poll, "--cursor", cursor, "--start", "now") == (2, "usage")
    assert error(*poll, "--limit", "9000") == (2, "usage")
    assert error(*poll, "--kind", "table") == (2, "usage")
    assert error(*poll, "--start", "soon") == (3, "invalid_input")
    assert error(*poll, "--cursor", cursor, "--type", "Book") == (3, "change_cursor_rejected")
    assert error(*poll, "--cursor", f"x{cursor}") == (3, "change_cursor_rejected")
    assert error(*poll, "--branch", "review") == (1, "not_found")
    assert error(*poll, "--type", "Boko") == (1, "not_found")


# ── changes baseline ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_baseline_is_the_export_and_a_cursor_to_go_on_from(place: str) -> None:
    *lines, last = run("changes", "baseline", place).stdout.splitlines()
    assert lines == run("export", place).stdout.splitlines()
    facts = json.loads(last)["baseline"]
    assert facts["snapshot_commit_id"] == commits(place)[-1]
    assert document("changes", "poll", place, "--cursor", facts["resume_cursor"])["caught_up"]


def test_a_baseline_of_one_type_goes_on_with_that_type(place: str) -> None:
    *lines, last = run("changes", "baseline", place, "--type", "Cites").stdout.splitlines()
    assert lines == []
    cursor = json.loads(last)["baseline"]["resume_cursor"]
    assert document("changes", "poll", place, "--cursor", cursor, "--type", "Cites")["caught_up"]
    assert error("changes", "poll", place, "--cursor", cursor) == (3, "change_cursor_rejected")


def test_a_baseline_that_is_cut_short_has_no_cursor(tmp_path: Path) -> None:
    with omnigraph.init(tmp_path / "graph", schema=SCHEMA) as graph:
        graph.load(RECORDS, "append")
        location = next(each["location"] for each in graph.snapshot().to_dict()["types"] if each["name"] == "Book")
    for file in (tmp_path / "graph" / location / "data").iterdir():
        file.unlink()
    result = run("changes", "baseline", str(tmp_path / "graph"))
    assert result.exit_code == 1
    # Edges come first, and are whole.
    assert [*json.loads(result.stdout)] == ["edge", "from", "to", "data"]
    assert error("changes", "baseline", str(tmp_path / "graph"), "--type", "Boko") == (1, "not_found")


# ── commit changes ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_changes_of_a_commit_are_printed_page_by_page(place: str) -> None:
    _, load, rate, _ = commits(place)
    lines = run("commit", "changes", place, rate).stdout.splitlines()
    assert lines[0].startswith(f"commit {rate}  data ")
    assert lines[1:] == ["~ Book b1 score: null -> 4.5"]
    first = run("commit", "changes", place, load, "--limit", "2").stdout.splitlines()
    assert [line[0] for line in first] == ["c", "+", "+", "p"]
    token = first[-1].removeprefix("page token ")
    rest = document("commit", "changes", place, load, "--page-token", token)
    assert ([each["id"] for each in rest["changes"]], rest["page_token"]) == (["c1"], None)
    assert (rest["uri"], rest["cause"]["commit_id"]) == (place, load)
    assert error("commit", "changes", place, rate, "--page-token", token) == (3, "change_cursor_rejected")
    assert error("commit", "changes", place, "01KA7X3J8Q0000000000000000") == (1, "not_found")
    assert document("commit", "changes", place, load, "--kind", "edge")["changes"][0]["id"] == "c1"
