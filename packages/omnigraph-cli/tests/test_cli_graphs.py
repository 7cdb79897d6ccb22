"""``init``, ``snapshot``, ``commit`` and ``export``: a graph on a disk through the command, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.failpoints import INIT_AFTER_GENESIS, INIT_CLAIMED
from omnigraph.graph import Graph
from omnigraph.testing.faults import Raise, armed
from omnigraph_cli.main import cli

SCHEMA = """
node Book { isbn: String @key  title: String  score: F32? }
node Member { card: I64 @key }
edge Borrowed: Member -> Book { due: Date? }
"""
FIRST = """
{"type":"Book","data":{"isbn":"b1","title":"Über den Fluss 🛶","score":4.5}}
{"type":"Book","data":{"isbn":"b2","title":"Salt"}}
{"type":"Member","data":{"card":7}}
{"edge":"Borrowed","from":"7","to":"b1","data":{"id":"e1","due":"2026-02-01"}}
"""
SECOND = (
    '{"type":"Book","data":{"isbn":"b2","title":"Salt, revised"}}\n{"type":"Book","data":{"isbn":"b3","title":"New"}}'
)
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def run(*words: str, **settings: Any) -> Result:
    return CliRunner().invoke(cli, list(words), **settings)


def document(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def error(*words: str) -> tuple[int, dict[str, Any]]:
    result = run(*words, "--json")
    return result.exit_code, json.loads(result.stdout)["error"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("library.pg").write_text(SCHEMA, "utf-8")
    Path("first.jsonl").write_text(FIRST, "utf-8")
    Path("second.jsonl").write_text(SECOND, "utf-8")
    return tmp_path


@pytest.fixture
def graph(folder: Path) -> Path:
    """A graph with three commits: made, loaded by ann, loaded by bo."""
    assert run("init", "--schema", "library.pg", "g.omni").exit_code == 0
    for words in (("first.jsonl", "append", "ann"), ("second.jsonl", "merge", "bo")):
        data, mode, actor = words
        result = run("load", "g.omni", "--data", data, "--mode", mode, "--as", actor)
        assert result.exit_code == 0, result.output
    return folder / "g.omni"


def commit_ids() -> list[str]:
    """Oldest first."""
    return [each["id"] for each in reversed(document("commit", "list", "g.omni")["commits"])]


# ── init ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_init_makes_a_graph_and_says_so(folder: Path) -> None:
    result = run("init", "--schema", "library.pg", "g.omni")
    assert result.exit_code == 0
    created, commit = result.stdout.splitlines()
    assert created == f"created {folder}/g.omni: 2 node types and 1 edge type"
    assert ULID.fullmatch(commit.removeprefix("commit").strip())
    assert result.stderr == f"init {folder}/g.omni (direct, local)\n"


def test_the_json_of_init_has_the_first_commit_and_every_type(folder: Path) -> None:
    made = document("init", "--schema", "library.pg", "g.omni", "--as", "ann")
    assert set(made) == {"uri", "commit", "types"}
    assert made["uri"] == f"{folder}/g.omni"
    assert (made["commit"]["parent_id"], made["commit"]["manifest_version"]) == (None, 1)
    assert [(each["kind"], each["name"], each["count"]) for each in made["types"]] == [
        ("edge", "Borrowed", 0),
        ("node", "Book", 0),
        ("node", "Member", 0),
    ]


def test_quiet_silences_what_is_about_to_be_done(folder: Path) -> None:
    assert run("-q", "init", "--schema", "library.pg", "g.omni").stderr == ""


def test_a_schema_may_come_from_standard_input(folder: Path) -> None:
    assert run("init", "--schema", "-", "g.omni", input=SCHEMA).exit_code == 0
    assert document("snapshot", "g.omni")["types"]


@pytest.mark.parametrize(("failpoint", "is_made"), [(INIT_CLAIMED, False), (INIT_AFTER_GENESIS, True)])
def test_an_interrupted_init_tells_how_to_go_on(folder: Path, failpoint: str, is_made: bool) -> None:
    words = ("init", "--schema", "library.pg", "g.omni", "-q")
    with armed({failpoint: Raise(KeyboardInterrupt())}):
        result = run(*words)
    assert result.exit_code == 130
    place = folder / "g.omni"
    assert result.stderr == (
        f"error: Interrupted. omnigraph snapshot {place} shows whether the graph is there; if not, repeat it with "
        "--force.\n"
    )
    assert run("snapshot", "g.omni").exit_code == (0 if is_made else 1)
    assert run(*words, "--force").exit_code == (1 if is_made else 0)


def test_a_second_init_at_one_place_is_refused_and_changes_nothing(graph: Path) -> None:
    before = sorted(graph.rglob("*"))
    code, found = error("init", "--schema", "library.pg", "g.omni")
    assert (code, found["kind"]) == (1, "already_exists")
    assert found["help"]
    assert error("init", "--schema", "library.pg", "g.omni", "--force")[1]["kind"] == "already_exists"
    assert sorted(graph.rglob("*")) == before


def test_a_schema_with_mistakes_is_refused_with_their_places_and_nothing_is_made(folder: Path) -> None:
    Path("wrong.pg").write_text("node Book { isbn: Strng @key }", "utf-8")
    result = run("init", "--schema", "wrong.pg", "g.omni")
    assert result.exit_code == 3
    assert "--> wrong.pg:1:19" in result.stderr
    assert not Path("g.omni").exists()
    assert error("init", "--schema", "wrong.pg", "g.omni")[1]["kind"] == "compile"


def test_a_schema_that_is_not_there_is_invalid_input(folder: Path) -> None:
    code, found = error("init", "--schema", "nowhere.pg", "g.omni")
    assert (code, found["kind"]) == (3, "invalid_input")
    assert 'There is no file "nowhere.pg".' in found["message"]


def test_a_directory_that_is_a_file_is_a_storage_error(folder: Path) -> None:
    Path("taken").write_text("a file")
    code, found = error("init", "--schema", "library.pg", "taken")
    assert (code, found["kind"]) == (1, "storage")
    assert Path("taken").read_text() == "a file"


# ── snapshot ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_shows_every_type_with_its_count(graph: Path) -> None:
    result = run("snapshot", "g.omni")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["graph", str(graph)]
    assert lines[1] == ["branch", "main"]
    assert ["version", "3", "of", "the", "manifest,", "format", "2"] in lines
    assert lines[-3:] == [
        ["node", "type", "Book", "3"],
        ["node", "type", "Member", "1"],
        ["edge", "type", "Borrowed", "1"],
    ]


def test_an_earlier_moment_is_named_by_version_or_by_commit(graph: Path) -> None:
    made, first, second = commit_ids()
    for at, books, commit in (("1", 0, made), ("2", 2, first), (first, 2, first), (second, 3, second)):
        seen = document("snapshot", "g.omni", "--at", at)
        counts = {each["name"]: each["count"] for each in seen["types"]}
        assert (counts["Book"], seen["commit_id"]) == (books, commit), at
    assert document("snapshot", "g.omni")["commit_id"] == second


@pytest.mark.parametrize("at", ["99", "0", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "00000000000000000000000000", "HEAD"])
def test_a_moment_that_never_was_is_not_found(graph: Path, at: str) -> None:
    code, found = error("snapshot", "g.omni", "--at", at)
    assert (code, found["kind"]) == (1, "not_found"), found
    assert at in found["message"]


@pytest.mark.parametrize("verb", [["snapshot"], ["export"], ["commit", "list"]], ids=" ".join)
def test_a_branch_that_is_not_there_is_not_found(graph: Path, verb: list[str]) -> None:
    code, found = error(*verb, "g.omni", "--branch", "review")
    assert (code, found["kind"]) == (1, "not_found")
    assert '"review"' in found["message"]


@pytest.mark.parametrize(
    "words",
    [
        ["snapshot", "g.omni"],
        ["export", "g.omni"],
        ["commit", "list", "g.omni"],
        ["commit", "show", "g.omni", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["recovery", "list", "g.omni"],
        ["recovery", "run", "g.omni"],
        ["recovery", "discard", "g.omni", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["load", "g.omni", "--data", "first.jsonl", "--mode", "append"],
    ],
    ids=" ".join,
)
def test_a_place_without_a_graph_is_not_found_and_left_as_it_was(folder: Path, words: list[str]) -> None:
    code, found = error(*words)
    assert (code, found["kind"]) == (1, "not_found")
    assert "omnigraph init" in found["help"]
    assert not Path("g.omni").exists() or not any(Path("g.omni").rglob("*"))


@pytest.mark.parametrize("uri", ["", "memory://", "s3://key:pass@bucket/g"])
def test_a_malformed_uri_is_invalid_input(folder: Path, uri: str) -> None:
    code, found = error("snapshot", uri)
    assert (code, found["kind"]) == (3, "invalid_input")
    assert "key:pass" not in json.dumps(found)


# ── commit ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_commits_are_listed_newest_first_with_version_kind_time_and_actor(graph: Path) -> None:
    result = run("commit", "list", "g.omni")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [(line[1], line[2], line[5:]) for line in lines] == [
        ("3", "data", ["bo"]),
        ("2", "data", ["ann"]),
        ("1", "schema", []),
    ]
    assert all(ULID.fullmatch(line[0]) for line in lines)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", " ".join(line[3:5])) for line in lines)


def test_the_json_of_commits_is_a_chain(graph: Path) -> None:
    found = document("commit", "list", "g.omni")
    assert (found["uri"], found["branch"]) == (str(graph), "main")
    second, first, made = found["commits"]
    assert (second["parent_id"], first["parent_id"], made["parent_id"]) == (first["id"], made["id"], None)
    assert [each["manifest_version"] for each in found["commits"]] == [3, 2, 1]


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        (["--limit", "1"], [3]),
        (["--limit", "0"], []),
        (["--actor", "ann"], [2]),
        (["--actor", "nobody"], []),
        (["--actor", "ann", "--limit", "5"], [2]),
    ],
)
def test_a_listing_can_be_narrowed(graph: Path, words: list[str], versions: list[int]) -> None:
    found = document("commit", "list", "g.omni", *words)["commits"]
    assert [each["manifest_version"] for each in found] == versions
    text = run("commit", "list", "g.omni", *words)
    assert text.exit_code == 0
    assert (text.stdout == "no commits\n") == (not versions)


@pytest.mark.parametrize("limit", ["-1", "many"])
def test_a_limit_that_is_no_count_is_wrong_usage(graph: Path, limit: str) -> None:
    assert error("commit", "list", "g.omni", "--limit", limit)[0] == 2


def test_one_commit_is_shown_with_all_its_facts(graph: Path) -> None:
    made, first, _ = commit_ids()
    shown = dict(line.split(maxsplit=1) for line in run("commit", "show", "g.omni", first).stdout.splitlines())
    assert shown.pop("created").endswith("Z")
    assert shown == {
        "commit": first, "parent": made, "branch": "main", "version": "2", "kind": "data", "actor": "ann"
    }  # fmt: skip
    assert "none, it is the first" in run("commit", "show", "g.omni", made).stdout
    found = document("commit", "show", "g.omni", first)
    assert (found["commit"]["id"], found["commit"]["actor"], found["recoveries"]) == (first, "ann", [])


def test_a_commit_that_is_not_there_is_not_found(graph: Path) -> None:
    code, found = error("commit", "show", "g.omni", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert (code, found["kind"]) == (1, "not_found")
    assert "commit list" in found["help"]


# ── export ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_export_is_every_line_and_nothing_else(graph: Path) -> None:
    result = run("export", "g.omni")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout_bytes.decode("utf-8").splitlines() == [
        '{"edge":"Borrowed","from":"7","to":"b1","data":{"id":"e1","due":"2026-02-01"}}',
        '{"type":"Book","data":{"id":"b1","isbn":"b1","score":4.5,"title":"Über den Fluss 🛶"}}',
        '{"type":"Book","data":{"id":"b2","isbn":"b2","score":null,"title":"Salt, revised"}}',
        '{"type":"Book","data":{"id":"b3","isbn":"b3","score":null,"title":"New"}}',
        '{"type":"Member","data":{"id":"7","card":7}}',
    ]


def test_an_export_of_an_earlier_commit_has_what_was_there(graph: Path) -> None:
    _, first, _ = commit_ids()
    # As in omnigraph snapshot, whose moments are named by --at.
    for option, moment in (("--snapshot", "2"), ("--snapshot", first), ("--at", first)):
        lines = run("export", "g.omni", option, moment, "--type", "Book").stdout.splitlines()
        assert [json.loads(line)["data"]["title"] for line in lines] == ["Über den Fluss 🛶", "Salt"]
    assert run("export", "g.omni", "--snapshot", "1").stdout == ""


def test_types_can_be_chosen(graph: Path) -> None:
    lines = run("export", "g.omni", "--type", "Member", "--type", "edge:Borrowed").stdout.splitlines()
    assert [line.partition(",")[0] for line in lines] == ['{"edge":"Borrowed"', '{"type":"Member"']


def test_an_unknown_type_is_not_found_with_the_nearest_one(graph: Path) -> None:
    result = run("export", "g.omni", "--type", "Bok")
    assert (result.exit_code, result.stdout) == (1, "")
    assert 'Did you mean "Book"?' in result.stderr
    assert error("export", "g.omni", "--type", "Bok")[1]["kind"] == "not_found"


def test_an_export_loads_into_a_new_graph_and_gives_the_same_export(graph: Path) -> None:
    exported = run("export", "g.omni").stdout_bytes
    assert run("init", "--schema", "library.pg", "copy.omni").exit_code == 0
    loaded = run("load", "copy.omni", "--data", "-", "--mode", "overwrite", input=exported)
    assert loaded.exit_code == 0, loaded.output
    assert run("export", "copy.omni").stdout_bytes == exported


def failing_export(*_words: object, **_settings: object) -> Iterator[str]:
    yield '{"type":"Book"}'
    raise StorageError("The disk went away.", condition=StorageCondition.TRANSIENT)


def test_an_error_behind_the_first_line_stays_out_of_the_data(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Graph, "export", failing_export)
    text = run("export", "g.omni")
    assert (text.exit_code, text.stdout) == (1, '{"type":"Book"}\n')
    assert text.stderr.startswith("error: The disk went away.")
    as_json = run("export", "g.omni", "--json")
    assert (as_json.exit_code, as_json.stdout) == (1, '{"type":"Book"}\n')
    assert json.loads(as_json.stderr)["error"]["kind"] == "storage"


@pytest.fixture
def large(folder: Path) -> Path:
    """A graph whose export is larger than a pipe holds."""
    assert run("init", "--schema", "library.pg", "g.omni").exit_code == 0
    rows = [json.dumps({"type": "Book", "data": {"isbn": f"b{n}", "title": "é" * 100}}) for n in range(2_000)]
    assert run("load", "g.omni", "--data", "-", "--mode", "append", input="\n".join(rows)).exit_code == 0
    return folder / "g.omni"


def test_whoever_stops_reading_ends_the_export_with_141(omnigraph: Any, large: Path) -> None:
    with omnigraph.start("export", str(large), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(60) == 141
    assert said == b""


def test_a_full_disk_behind_the_output_is_told(omnigraph: Any, large: Path) -> None:
    with (
        open("/dev/full", "wb") as full,
        omnigraph.start("export", str(large), stdout=full, stderr=subprocess.PIPE) as process,
    ):
        said = process.stderr.read().decode()
        assert process.wait(60) == 1
    assert said == f"error: The result could not be written: {os.strerror(28)}.\n"


def test_an_export_is_utf8_whatever_the_terminal_speaks(omnigraph: Any, large: Path) -> None:
    with omnigraph.start(
        "export", str(large), stdout=subprocess.PIPE, stderr=subprocess.PIPE, LC_ALL="C", PYTHONIOENCODING="ascii"
    ) as process:
        line = process.stdout.readline()
        process.stdout.read()
    assert json.loads(line.decode("utf-8"))["data"]["title"] == "é" * 100
    assert "é".encode() in line
