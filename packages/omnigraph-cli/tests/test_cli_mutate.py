"""``omnigraph mutate``: what it says, what it refuses and with which code, on a graph on disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph.errors import (
    BranchReplacedError,
    ContentionError,
    HeadMovedError,
    OmnigraphError,
    OutcomeUnknownError,
)
from omnigraph.failpoints import MUTATION_POST_STAGE_PRE_EFFECT_GATE, PUBLISH_AFTER_COMMIT
from omnigraph.graph import Graph
from omnigraph.testing.faults import Call, Raise, armed
from omnigraph_cli.main import cli

SCHEMA = """\
node Book { isbn: String @key  title: String  pages: I64?  score: F32?  topics: [String]?  @range(score, 0..5) }
node Member { card: I64 @key  mail: String? @unique }
edge Borrowed: Member -> Book { due: Date?  @unique(src, dst) }
"""
CHANGES = """\
query lend($card: String, $isbn: String, $due: Date?) { insert Borrowed { from: $card, to: $isbn, due: $due } }
query join($card: I64, $id: String, $mail: String?, $isbn: String) {
    insert Member { card: $card, mail: $mail }
    insert Borrowed { from: $id, to: $isbn }
}
query rate($isbn: String, $score: F64?) { update Book set { score: $score } where isbn = $isbn }
query forget($card: I64) { delete Member where card = $card }
query all() { match { $b: Book } return { $b.title } }
"""
RECORDS = [
    {"type": "Book", "data": {"isbn": "b1", "title": "Salt", "pages": 90}},
    {"type": "Book", "data": {"isbn": "b2", "title": "Harbor"}},
    {"type": "Member", "data": {"card": 7, "mail": "ann@example.org"}},
    {"edge": "Borrowed", "from": "7", "to": "b1", "data": {"due": "2026-02-01"}},
]


@pytest.fixture(autouse=True)
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("changes.gq").write_text(CHANGES)
    with og.init("library.omni", schema=SCHEMA) as made:
        made.load(RECORDS, mode="append")
    return tmp_path / "library.omni"


def run(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=given)


def mutate(name: str, params: str, *words: str, given: str | None = None) -> Result:
    return run("mutate", "library.omni", name, "--query", "changes.gq", "--params", params, *words, given=given)


def error_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)["error"]
    return found


def head() -> og.Commit:
    with og.open("library.omni", mode="r") as opened:
        return opened.snapshot().commit


def exported() -> list[str]:
    with og.open("library.omni", mode="r") as opened:
        return list(opened.export())


# ── what it does ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mutation_says_where_by_which_query_and_how_much() -> None:
    result = mutate("forget", '{"card": 7}')
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["changed main via forget: 1 node, 1 edge", f"commit  {head().id}"]
    assert [json.loads(line)["type"] for line in exported()] == ["Book", "Book"]


def test_the_json_has_the_counts_the_actor_and_the_commit(graph: Path) -> None:
    result = mutate("join", '{"card": 8, "id": "8", "isbn": "b2"}', "--as", "bo", "--json")
    commit = head()
    assert (result.exit_code, commit.actor) == (0, "bo")
    assert json.loads(result.stdout) == {
        "uri": str(graph),
        "branch": "main",
        "query_name": "join",
        "affected_nodes": 1,
        "affected_edges": 1,
        "actor_id": "bo",
        "commit": commit.to_dict(),
    }


def test_where_nothing_matches_nothing_is_written_and_that_is_said(graph: Path) -> None:
    before = head()
    result = mutate("forget", '{"card": 99}')
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "nothing matched: nothing was written to main via forget\n"
    document = json.loads(mutate("forget", '{"card": 99}', "--as", "bo", "--json").stdout)
    assert document == {
        "uri": str(graph),
        "branch": "main",
        "query_name": "forget",
        "affected_nodes": 0,
        "affected_edges": 0,
        "actor_id": "bo",
        "commit": None,
    }
    assert head() == before


def test_the_actor_is_kept_with_the_commit_and_found_by_it() -> None:
    done = json.loads(mutate("rate", '{"isbn": "b1", "score": 4}', "--as", "ann", "--json").stdout)
    mutate("rate", '{"isbn": "b2", "score": 3}', "--as", "bo")
    listed = json.loads(run("commit", "list", "library.omni", "--actor", "ann", "--json").stdout)["commits"]
    assert listed == [done["commit"]]


def test_a_mutation_comes_as_text_from_a_file_or_by_standard_input() -> None:
    text = 'query q() { update Book set { score: 5.0 } where isbn = "b1" }'
    Path("one.gq").write_text(text)
    for words, given in ((["-e", text], None), (["--query", "one.gq"], None), (["--query", "-"], text)):
        result = run("mutate", "library.omni", *words, given=given)
        assert result.stdout.startswith("changed main via q: 1 node, 0 edges\n"), result.output


def test_values_come_from_a_file_or_by_standard_input_too() -> None:
    words = ("mutate", "library.omni", "rate", "--query", "changes.gq", "--params-file")
    Path("params.json").write_text('{"isbn": "b1", "score": 2.5}')
    assert run(*words, "params.json").exit_code == 0
    assert run(*words, "-", given='{"isbn": "b2", "score": 3}').exit_code == 0
    with og.open("library.omni", mode="r") as opened:
        assert {row["isbn"]: row["score"] for row in opened.table("Book")} == {"b1": 2.5, "b2": 3.0}
    twice = run("mutate", "library.omni", "--query", "-", "--params-file", "-", given="{}")
    assert (twice.exit_code, 'Only one file can be "-"' in twice.stderr) == (2, True)


def test_a_mutation_is_named_before_or_by_an_option() -> None:
    words = ("mutate", "library.omni", "--query", "changes.gq", "--params", '{"isbn": "b1", "score": 1}')
    for name in (["rate"], ["--name", "rate"], ["rate", "--name", "rate"]):
        assert run(*words, *name).exit_code == 0


# ── what it refuses ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["rate"], 2, "--query FILE or by -e TEXT"),
        (["rate", "--query", "changes.gq", "-e", "x"], 2, "Give the query by --query FILE or by -e TEXT, not both."),
        (["rate", "--query", "changes.gq", "--name", "lend"], 2, "NAME is rate and --name is lend: give one."),
        (["rate", "--query", "changes.gq", "--params", "{}", "--params-file", "p.json"], 2, "not both"),
        (["rate", "--query", "changes.gq", "--on-conflict", "hope"], 2, "'hope' is not one of"),
        (["rate", "--query", "changes.gq", "--as", " "], 2, "It must not be blank."),
        (["--query", "changes.gq"], 3, "all, forget, join, lend, rate"),
        (["rate", "--query", "nothing.gq"], 3, 'There is no file "nothing.gq"'),
        (["rate", "--query", "changes.gq", "--params", '{"score": 1}'], 3, "parameter 'isbn' not provided"),
        (["rate", "--query", "changes.gq", "--params", "[1]"], 3, "--params is no JSON object"),
        (["all", "--query", "changes.gq"], 3, "help: Run it with query: g.query(...), or omnigraph query.\n"),
        (["forget", "--query", "changes.gq", "--params", '{"card": 7}', "--branch", "dev"], 1, "dev"),
        (["forget", "--query", "changes.gq", "--params", '{"card": 7}', "--if-commit", ""], 3, "no id of a commit"),
        (["-e", "query q() { delete Membr where card = 1 }"], 3, 'did you mean "Member"?'),
        (["-e", 'query q() { delete Member where card = 7  insert Member { card: 8 } }'], 3, "error[OG-Q-206]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_code_and_nothing_is_written(words: list[str], code: int, told: str) -> None:
    before = head()
    result = run("mutate", "library.omni", *words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr
    assert head() == before


def test_a_mutation_given_to_query_or_explain_says_where_it_belongs() -> None:
    words = ("library.omni", "--query", "changes.gq", "--name", "forget")
    asked = run("query", *words, "--params", '{"card": 7}')
    assert (asked.exit_code, "help: Run it with mutate: g.mutate(...), or omnigraph mutate." in asked.stderr) == (
        3,
        True,
    )
    explained = run("explain", *words)
    assert (explained.exit_code, "omnigraph explain --schema FILE" in explained.stderr) == (3, True)


def test_what_breaks_a_rule_is_told_with_its_statement() -> None:
    before = exported()
    params = '{"card": 8, "id": "8", "mail": "ann@example.org", "isbn": "b9"}'
    result = mutate("join", params)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.splitlines() == [
        "statement 1: error[unique]: @unique violation on Member.mail: value 'ann@example.org' held by '7' and '8'",
        "statement 2: error[endpoint]: dst 'b9' not found in Book",
        "error: 2 problems: 1 endpoint, 1 unique",
        "help: Nothing was written. Correct the mutation or its values, and run it again.",
    ]
    found = error_of(mutate("join", params, "--json"))
    assert (found["kind"], found["details"]["counts"]) == ("constraint", {"endpoint": 1, "unique": 1})
    assert [(each["source"], each["constraint"], each["holders"]) for each in found["details"]["problems"]] == [
        ("statement 1", "@unique(mail)", ["7", "8"]),
        ("statement 2", "endpoint dst", ["b9"]),
    ]
    assert exported() == before


def test_a_value_that_its_property_cannot_hold_is_told_with_its_statement() -> None:
    result = mutate("rate", '{"isbn": "b1", "score": 1e300}')
    assert result.exit_code == 3
    assert result.stderr.startswith("statement 1: error[out_of_range]: Book.score expects F32?, got 1e+300")


# ── others ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def overtaken(name: str, params: str, *words: str) -> Result:
    """A mutation during which somebody else gives b1 another score."""

    came: list[str] = []

    def overtake(point: str) -> None:
        # The rival passes here too, and so does a second attempt.
        if not came:
            came.append(point)
            with og.open("library.omni", actor="rival") as rival:
                rival.mutate('query q() { update Book set { score: 1.0 } where isbn = "b1" }')

    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: Call(overtake)}):
        return mutate(name, params, *words)


def test_an_update_that_others_overtook_ends_with_4_and_changes_nothing() -> None:
    before = head().id
    result = overtaken("rate", '{"isbn": "b1", "score": 5}')
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.splitlines() == [
        "error: Node type Book changed while this write to main was under way.",
        "help: Look at what changed, then repeat the write if it is still what you want.",
    ]
    assert (head().actor, head().parent_id) == ("rival", before)


def test_the_json_of_a_lost_race_says_what_was_expected_and_what_is_there() -> None:
    before = head().id
    result = overtaken("rate", '{"isbn": "b1", "score": 5}', "--json")
    assert result.exit_code == 4
    found = error_of(result)
    assert (found["kind"], found["details"]) == (
        "head_moved",
        {"branch": "main", "expected": before, "actual": head().id, "members": ["pin:node:Book"]},
    )


def test_an_update_may_be_done_to_what_others_left() -> None:
    result = overtaken("rate", '{"isbn": "b1", "score": 5}', "--on-conflict", "retry", "--as", "ann")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "changed main via rate: 1 node, 0 edges")
    with og.open("library.omni", mode="r") as opened:
        assert [each.actor for each in opened.commits.list(limit=2)] == ["ann", "rival"]
        assert [row["score"] for row in opened.table("Book") if row["isbn"] == "b1"] == [5.0]


def test_an_insert_is_tried_again_by_itself() -> None:
    result = overtaken("lend", '{"card": "7", "isbn": "b2", "due": null}')
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "changed main via lend: 0 nodes, 1 edge")


def test_a_write_for_a_commit_that_is_not_the_newest_ends_with_4() -> None:
    read = json.loads(run("query", "library.omni", "all", "--query", "changes.gq", "--json").stdout)
    seen = read["graph_commit_id"]
    first = mutate("rate", '{"isbn": "b1", "score": 4}', "--if-commit", seen)
    assert first.exit_code == 0
    for name, params in (("rate", '{"isbn": "b1", "score": 3}'), ("forget", '{"card": 99}')):
        # Also where nothing matches: what was not found there may be there now.
        second = mutate(name, params, "--if-commit", seen)
        assert (second.exit_code, second.stdout) == (4, "")
        assert second.stderr.splitlines()[0] == (
            f"error: The newest commit of main is {head().id}, and this write asks for {seen}."
        )
    document = error_of(mutate("rate", '{"isbn": "b1", "score": 3}', "--if-commit", seen, "--json"))
    assert (document["kind"], document["details"]["expected"], document["details"]["actual"]) == (
        "head_moved",
        seen,
        head().id,
    )


def test_maintenance_behind_a_commit_leaves_it_the_newest() -> None:
    seen = head().id
    assert run("ensure-indices", "library.omni", "-q").exit_code == 0
    assert head().id != seen
    assert mutate("rate", '{"isbn": "b1", "score": 4}', "--if-commit", seen).exit_code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HeadMovedError(branch="main", expected="01A", actual="01B"), 4),
        (BranchReplacedError(branch="main", expected="i1", actual="i2"), 4),
        (ContentionError(purpose="finish the write", attempts=2, deadline_seconds=1, branch="main"), 4),
        (OutcomeUnknownError("No answer came.", commit_id="01A", help="Look for commit 01A."), 5),
    ],
    ids=lambda each: str(each.kind) if isinstance(each, OmnigraphError) else "",
)
def test_a_lost_race_and_a_lost_answer_have_codes_of_their_own(
    error: OmnigraphError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_words: object, **_settings: object) -> None:
        raise error

    monkeypatch.setattr(Graph, "mutate", fail)
    text = mutate("forget", '{"card": 7}')
    assert (text.exit_code, text.stderr) == (code, f"error: {error.message}\nhelp: {error.help}\n")
    assert error_of(mutate("forget", '{"card": 7}', "--json"))["kind"] == error.kind


# ── interrupts ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("failpoint", "edges"), [(MUTATION_POST_STAGE_PRE_EFFECT_GATE, 1), (PUBLISH_AFTER_COMMIT, 0)])
def test_an_interrupted_mutation_says_how_to_find_out_what_it_left(failpoint: str, edges: int, graph: Path) -> None:
    with armed({failpoint: Raise(KeyboardInterrupt())}):
        result = mutate("forget", '{"card": 7}')
    assert result.exit_code == 130
    assert result.stderr == (
        f"error: Interrupted. It may have been done: omnigraph commit list {graph} shows whether it was.\n"
    )
    assert sum("Borrowed" in line for line in exported()) == edges


def test_an_interrupt_before_a_mutation_begins_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_words: object, **_settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("omnigraph.graph.opening.open_repository", interrupt)
    result = mutate("forget", '{"card": 7}')
    assert (result.exit_code, result.stderr) == (130, "error: Interrupted. Nothing was changed.\n")


@pytest.mark.parametrize("card", [7, 99])
def test_an_interrupt_behind_a_mutation_says_what_it_did(card: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_graph: Graph) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Graph, "close", interrupt)
        result = mutate("forget", json.dumps({"card": card}))
    assert result.exit_code == 130
    told = f"It was done, as commit {head().id}." if card == 7 else "Nothing was changed."
    assert result.stderr == f"error: Interrupted. {told}\n"


def test_help_names_every_exit_code_of_the_verb() -> None:
    text = run("mutate", "--help").stdout
    assert re.search(r"Exit code 0 .* 1 .* 3 .* 4 .* 5 ", " ".join(text.split()))
