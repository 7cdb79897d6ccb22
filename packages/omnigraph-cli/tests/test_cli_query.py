"""``omnigraph query``, ``omnigraph explain URI`` and ``omnigraph ensure-indices``, on a graph on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph_cli.main import cli

SCHEMA = """\
node Book { isbn: String @key  title: String @index  pages: I64? }
node Member { card: I64 @key }
edge Borrowed: Member -> Book { due: Date? }
"""
QUERIES = """\
query all() { match { $b: Book } return { $b.title, $b.pages } order { $b.pages desc } }
query readers($isbn: String) { match { $m: Member  $m borrowed $b  $b: Book { isbn: $isbn } } return { $m.card } }
query forget($card: I64) { delete Member where card = $card }
"""
RECORDS = [
    {"type": "Book", "data": {"isbn": "b1", "title": "Salt", "pages": 90}},
    {"type": "Book", "data": {"isbn": "b2", "title": "Harbor"}},
    {"type": "Member", "data": {"card": 7}},
    {"edge": "Borrowed", "from": "7", "to": "b1", "data": {"due": "2026-02-01"}},
]


@pytest.fixture(autouse=True)
def _graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loans.gq").write_text(QUERIES)
    with og.init("library.omni", schema=SCHEMA) as graph:
        graph.load(RECORDS, mode="append")


def run(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=given)


def test_a_table_is_what_a_person_gets() -> None:
    result = run("query", "library.omni", "--query", "loans.gq", "all")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "2 rows from branch main via all",
        "b.title | b.pages",
        "--------+--------",
        "Salt    | 90",
        "Harbor  | null",
    ]


def test_json_is_the_envelope_of_the_language() -> None:
    result = run("query", "library.omni", "readers", "--query", "loans.gq", "--params", '{"isbn": "b1"}', "--json")
    with og.open("library.omni", mode="r") as graph:
        head = graph.snapshot().commit.id
    assert json.loads(result.stdout) == {
        "query_name": "readers",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 1,
        "columns": ["m.card"],
        "rows": [{"m.card": 7}],
        "graph_commit_id": head,
    }
    assert (
        run(
            "query", "library.omni", "readers", "--query", "loans.gq", "--params", '{"isbn": "b1"}', "--format", "json"
        ).stdout
        == result.stdout
    )


def test_a_query_comes_as_text_from_a_file_or_by_standard_input() -> None:
    text = "query q() { match { $m: Member } return { $m.card } }"
    by_text = run("query", "library.omni", "-e", text, "--format", "csv")
    by_pipe = run("query", "library.omni", "--query", "-", "--format", "csv", given=text)
    assert by_text.stdout == by_pipe.stdout == "m.card\n7\n"


def test_a_query_is_named_before_or_by_an_option() -> None:
    words = ("query", "library.omni", "--query", "loans.gq", "--format", "csv")
    expected = "b.title,b.pages\nSalt,90\nHarbor,null\n"
    for name in (["all"], ["--name", "all"], ["all", "--name", "all"]):
        assert run(*words, *name).stdout == expected


@pytest.mark.parametrize("verb", ["query", "explain"])
def test_diagnostics_name_the_file_of_the_query(verb: str) -> None:
    Path("wrong.gq").write_text("query q() { match { $m: Membr } return { $m } }")
    words = (verb, "library.omni", "--query", "wrong.gq")
    told = run(*words)
    assert (told.exit_code, "wrong.gq:1:25" in told.stderr, "<query>" in told.stderr) == (3, True, False)
    document = json.loads(run(*words, "--json").stdout)
    assert [each["file"] for each in document["error"]["details"]["diagnostics"]] == ["wrong.gq"]


def test_a_query_given_as_text_is_never_taken_for_a_file() -> None:
    Path("one.gq").write_text("query q() { match { $m: Member } return { $m.card } }")
    assert run("query", "library.omni", "-e", "one.gq").exit_code == 3


def test_parameters_come_from_a_file_too() -> None:
    Path("params.json").write_text('{"isbn": "b2"}')
    result = run(
        "query", "library.omni", "readers", "--query", "loans.gq", "--params-file", "params.json", "--format", "kv"
    )
    assert result.stdout.splitlines() == ["0 rows from branch main via readers", "(no rows)"]


def test_a_moment_is_read_as_it_was() -> None:
    with og.open("library.omni") as graph:
        before = graph.snapshot().commit.id
        graph.load([{"type": "Member", "data": {"card": 8}}], mode="append")
    text = "query q() { match { $m: Member } return { count($m) as n } }"
    assert run("query", "library.omni", "-e", text, "--format", "csv").stdout == "n\n2\n"
    assert run("query", "library.omni", "-e", text, "--format", "csv", "--snapshot", before).stdout == "n\n1\n"
    document = json.loads(run("query", "library.omni", "-e", text, "--json", "--at", "2").stdout)
    assert (document["rows"], document["target"]["snapshot"]) == ([{"n": 1}], before)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["all"], 2, "--query FILE or by -e TEXT"),
        (["all", "--query", "loans.gq", "-e", "x"], 2, "Give the query by --query FILE or by -e TEXT, not both."),
        (["all", "--query", "loans.gq", "--name", "readers"], 2, "NAME is all and --name is readers: give one."),
        (["all", "--query", "loans.gq", "--branch", "main", "--snapshot", "2"], 2, "not both"),
        (["--query", "loans.gq"], 3, "all, forget, readers"),
        (["alll", "--query", "loans.gq"], 3, "did you mean"),
        (["all", "--query", "nothing.gq"], 3, 'There is no file "nothing.gq"'),
        (["readers", "--query", "loans.gq"], 3, "parameter 'isbn' not provided"),
        (["readers", "--query", "loans.gq", "--params", '{"isbn": 5}'], 3, "$isbn expects String"),
        (["readers", "--query", "loans.gq", "--params", "isbn=5"], 3, "--params is no JSON"),
        (["readers", "--query", "loans.gq", "--params", "[1]"], 3, "--params is no JSON object"),
        (["forget", "--query", "loans.gq", "--params", '{"card": 7}'], 3, "forget changes the graph"),
        (["all", "--query", "loans.gq", "--branch", "dev"], 1, "dev"),
        (["all", "--query", "loans.gq", "--snapshot", "01KA7X3J8Q0000000000000000"], 1, "There is no commit"),
        (["-e", "query q() { match { $m: Membr } return { $m } }"], 3, 'did you mean "Member"?'),
    ],
)
def test_what_is_wrong_is_told_with_its_code(words: list[str], code: int, told: str) -> None:
    result = run("query", "library.omni", *words)
    assert result.exit_code == code
    assert told in result.stderr
    assert result.stdout == ""


def test_a_query_that_passes_a_limit_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_MAX_ROWS", "1")
    result = run("query", "library.omni", "all", "--query", "loans.gq", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["details"]["resource"] == "max_rows"


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_on_a_graph_tells_what_is_expected_and_analyze_what_happened() -> None:
    words = ("explain", "library.omni", "--query", "loans.gq", "--name", "readers", "--params", '{"isbn": "b1"}')
    foreseen = json.loads(run(*words, "--json").stdout)
    assert foreseen["analyzed"] is False
    assert [each["operator"].split()[0] for each in foreseen["steps"]] == ["Project", "Expand", "NodeScan"]
    assert all("rows" not in each for each in foreseen["steps"])
    assert foreseen["steps"][1]["traversal"] in ("csr", "indexed")
    seen = json.loads(run(*words, "--analyze", "--json").stdout)
    assert (seen["analyzed"], seen["row_count"]) == (True, 1)
    assert [each["rows"] for each in seen["steps"]] == [1, 1, 1]
    assert seen["steps"][1]["reason"]
    text = run(*words, "--analyze")
    assert text.exit_code == 0
    assert text.stdout.startswith("query readers($isbn: String) -> m.card: I64\nProject")


def test_explain_needs_a_graph_or_a_schema() -> None:
    Path("library.pg").write_text(SCHEMA)
    assert run("explain", "--query", "loans.gq").exit_code == 2
    assert run("explain", "library.omni", "--schema", "library.pg", "--query", "loans.gq").exit_code == 2


def test_explain_needs_no_values_unless_it_runs_the_query() -> None:
    words = ("explain", "library.omni", "--query", "loans.gq", "--name", "readers")
    assert run(*words).exit_code == 0
    told = run(*words, "--analyze")
    assert (told.exit_code, "parameter 'isbn' not provided" in told.stderr) == (3, True)


def test_explain_takes_a_query_as_text() -> None:
    text = 'query q() { match { $b: Book  $b.title = "Salt" } return { $b.pages } }'
    told = run("explain", "library.omni", "-e", text)
    assert told.exit_code == 0
    assert "-- no index on node:Book.title yet; build it: omnigraph ensure-indices" in told.stdout.splitlines()
    for words in ([], ["-e", text, "--query", "loans.gq"], ["-e", text, "--branch", "main", "--snapshot", "2"]):
        assert run("explain", "library.omni", *words).exit_code == 2


# ── ensure-indices ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_indexes_are_built_once_and_then_there_is_nothing_to_do() -> None:
    first = json.loads(run("ensure-indices", "library.omni", "--as", "op", "--json").stdout)
    assert {(each["type"], each["property"], each["kind"]) for each in first["built"]} == {
        ("node:Book", "id", "btree"),
        ("node:Book", "isbn", "btree"),
        ("node:Book", "isbn", "inverted"),
        ("node:Book", "title", "btree"),
        ("node:Book", "title", "inverted"),
        ("node:Member", "id", "btree"),
        ("node:Member", "card", "btree"),
        ("edge:Borrowed", "id", "btree"),
        ("edge:Borrowed", "src", "btree"),
        ("edge:Borrowed", "dst", "btree"),
    }
    assert (first["commit"]["kind"], first["commit"]["actor"]) == ("maintenance", "op")
    second = json.loads(run("ensure-indices", "library.omni", "--json").stdout)
    assert (second["built"], second["pending"], second["commit"]) == ([], [], None)
    text = run("ensure-indices", "library.omni")
    assert text.stdout.startswith("nothing to do: every index of ")
    assert text.stderr.startswith("ensure-indices ")
