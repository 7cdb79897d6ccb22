"""``omnigraph explain``: the plan of a query in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import omnigraph
from omnigraph_cli.main import cli

SCHEMA = """\
node Book { isbn: String @key  title: String }
node Member { card: I64 @key }
edge Borrowed: Member -> Book
"""
READERS = (
    "query readers($isbn: String) { match { $m: Member  $m borrowed $b  $b: Book { isbn: $isbn } } return { $m } }\n"
)
FORGET = "query forget($card: I64) { delete Member where card = $card }\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("library.pg").write_text(SCHEMA)


def explain(queries: str, *words: str) -> Result:
    Path("loans.gq").write_text(queries)
    return CliRunner().invoke(cli, ["explain", "--schema", "library.pg", "--query", "loans.gq", *words])


def test_the_plan_of_the_only_query_is_shown_operator_by_operator() -> None:
    result = explain(READERS)
    assert (result.exit_code, result.stderr) == (0, "")
    head, *operators = result.stdout.splitlines()
    assert head == "query readers($isbn: String) -> m: String"
    assert [line.split()[0] for line in operators] == ["Project", "Expand", "NodeScan"]
    assert operators[-1].strip() == "NodeScan $b: Book where $b.isbn = $isbn"


def test_a_query_is_chosen_by_its_name() -> None:
    assert explain(READERS + FORGET, "--name", "forget").stdout.startswith(
        "query forget($card: I64)\nDeleteNodes Member"
    )


def test_json_has_the_name_of_the_query_and_the_lines_of_the_plan() -> None:
    document = json.loads(explain(FORGET, "--json").stdout)
    assert (document["query_path"], document["query_name"]) == ("loans.gq", "forget")
    assert "\n".join(document["plan"]) == explain(FORGET).stdout.rstrip("\n")


def test_the_front_door_of_core_gives_the_same_plan() -> None:
    assert explain(READERS).stdout == omnigraph.explain(READERS, SCHEMA) + "\n"


def test_a_query_may_be_given_as_text() -> None:
    result = CliRunner().invoke(cli, ["explain", "--schema", "library.pg", "-e", READERS])
    assert (result.exit_code, result.stdout) == (0, explain(READERS).stdout)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--analyze"], "--analyze"),
        (["--params", "{}"], "--params"),
        (["--params-file", "p.json"], "--params-file"),
        (["--branch", "main"], "--branch"),
        (["--snapshot", "2"], "--snapshot"),
    ],
)
def test_what_is_about_data_needs_a_graph(words: list[str], name: str) -> None:
    result = explain(READERS, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{name} needs a graph." in result.stderr


@pytest.mark.parametrize(
    ("queries", "words", "code"),
    [
        (READERS + FORGET, (), "OG-Q-208"),
        (READERS, ("--name", "raeders"), "OG-Q-208"),
        ("", (), "OG-Q-208"),
        (READERS.replace("Member", "Mebmer"), (), "T1"),
        ("query q(", (), "OG-L-007"),
    ],
)
def test_what_has_no_plan_ends_with_3_and_says_why(queries: str, words: tuple[str, ...], code: str) -> None:
    result = explain(queries, *words)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"error[{code}]: ")
    document = json.loads(explain(queries, *words, "--json").stdout)
    assert (document["error"]["kind"], document["error"]["details"]["diagnostics"][0]["code"]) == ("compile", code)


def test_a_query_that_is_not_asked_for_need_not_mean_anything() -> None:
    assert explain(READERS + FORGET.replace("Member", "Mebmer"), "--name", "readers").exit_code == 0


def test_a_schema_with_errors_has_no_plan() -> None:
    Path("library.pg").write_text("node Book { isbn: Strin }")
    result = explain(READERS)
    assert result.exit_code == 3
    assert result.stderr.startswith("error[OG-L-011]: ")
