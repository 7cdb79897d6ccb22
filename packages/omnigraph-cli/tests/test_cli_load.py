"""``omnigraph load``: what it says, what it refuses and with which code, and whom it asks before it overwrites."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph.errors import (
    BranchReplacedError,
    ConflictError,
    ContentionError,
    HeadMovedError,
    OmnigraphError,
    OutcomeUnknownError,
)
from omnigraph.failpoints import LOAD_STAGED, PUBLISH_AFTER_COMMIT, PUBLISH_BEFORE_COMMIT
from omnigraph.graph import Graph
from omnigraph.testing.faults import Raise, armed
from omnigraph_cli.main import cli

SCHEMA = """
node Book { isbn: String @key  title: String  score: F32? @range(score, 0..5) }
node Member { card: I64 @key }
edge Borrowed: Member -> Book { due: Date? }
"""
GOOD = """
// Comments and blank lines are skipped.
{"type":"Book","data":{"isbn":"b1","title":"Über den Fluss"}}
{"type":"Member","data":{"card":7}}
{"edge":"Borrowed","from":"7","to":"b1"}
"""
PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("library.pg").write_text(SCHEMA, "utf-8")
    Path("good.jsonl").write_text(GOOD, "utf-8")
    made = CliRunner().invoke(cli, ["init", "--schema", "library.pg", "g.omni"])
    assert made.exit_code == 0, made.output
    return tmp_path / "g.omni"


def load(data: str = "good.jsonl", mode: str = "append", *words: str, uri: str = "g.omni", **settings: Any) -> Result:
    return CliRunner().invoke(cli, ["load", uri, "--data", data, "--mode", mode, *words], **settings)


def load_lines(*lines: str, mode: str = "append", words: tuple[str, ...] = ()) -> Result:
    Path("data.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return load("data.jsonl", mode, *words)


def error_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)["error"]
    return found


def exported() -> list[str]:
    return CliRunner().invoke(cli, ["export", "g.omni"]).stdout.splitlines()


def commit_count() -> int:
    return len(CliRunner().invoke(cli, ["commit", "list", "g.omni"]).stdout.splitlines())


# ── what it does ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_load_says_where_how_and_how_much(graph: Path) -> None:
    result = load()
    assert result.exit_code == 0
    loaded, commit = result.stdout.splitlines()
    assert loaded == f"loaded {graph} on branch main with append: 3 entities across 2 node types and 1 edge type"
    assert re.fullmatch(r"commit [0-9A-Z]{26}", commit)
    assert result.stderr == f"load {graph} (direct, local)\n"


def test_the_json_has_counts_by_type_and_the_commit(graph: Path) -> None:
    document = json.loads(load("good.jsonl", "merge", "--as", "ann", "--json").stdout)
    commit = document.pop("commit")
    assert document == {
        "uri": str(graph),
        "branch": "main",
        "base_branch": None,
        "branch_created": False,
        "mode": "merge",
        "nodes": {"Book": 1, "Member": 1},
        "edges": {"Borrowed": 1},
        "total": 3,
    }
    assert (commit["actor"], commit["kind"], commit["manifest_version"]) == ("ann", "data", 2)


def test_quiet_leaves_the_result_only() -> None:
    result = load("good.jsonl", "append", "-q")
    assert result.stderr == ""
    assert result.stdout.startswith("loaded ")


def test_records_may_come_from_standard_input() -> None:
    result = load("-", input=GOOD)
    assert result.exit_code == 0, result.output
    assert "3 entities" in result.stdout
    assert len(exported()) == 3


def test_an_empty_file_is_a_commit_without_rows() -> None:
    Path("empty.jsonl").write_bytes(b"")
    result = load("empty.jsonl")
    assert result.exit_code == 0
    assert "0 entities across 0 node types and 0 edge types" in result.stdout
    assert commit_count() == 2


def test_modes_meet_what_is_there_as_they_say() -> None:
    book = '{"type":"Book","data":{"isbn":"%s","title":"%s"}}'
    assert load_lines(book % ("b1", "one"), book % ("b2", "two")).exit_code == 0
    assert load_lines(book % ("b2", "2"), mode="merge").exit_code == 0
    assert [json.loads(line)["data"]["title"] for line in exported()] == ["one", "2"]
    assert load_lines(book % ("b9", "nine"), mode="overwrite").exit_code == 0
    assert [json.loads(line)["data"]["title"] for line in exported()] == ["nine"]


def test_a_load_of_the_same_name_happens_once() -> None:
    first = json.loads(load("good.jsonl", "append", "--load-id", "monday", "--json").stdout)
    again = json.loads(load("good.jsonl", "append", "--load-id", "monday", "--json").stdout)
    assert again["commit"] == first["commit"]
    assert commit_count() == 2


def test_a_load_that_happened_before_says_so_and_names_its_commit(graph: Path) -> None:
    words = ("good.jsonl", "append", "--load-id", "monday")
    commit = load(*words).stdout.splitlines()[1]
    assert load(*words).stdout.splitlines() == [
        f'nothing to do: {graph} has the load "monday" on branch main already',
        commit,
    ]


def test_another_file_under_the_name_of_a_load_is_refused_with_the_commit_and_both_digests() -> None:
    first = json.loads(load("good.jsonl", "append", "--load-id", "monday", "--json").stdout)
    Path("other.jsonl").write_bytes(Path("good.jsonl").read_bytes() + b"\n")
    other = load("other.jsonl", "append", "--load-id", "monday", "--json")
    error = json.loads(other.stdout)["error"]
    assert other.exit_code == 3
    assert error["kind"] == "load_id_reused"
    assert error["details"] == {
        "load_id": "monday",
        "branch": "main",
        "commit_id": first["commit"]["id"],
        "expected": f"jsonl-sha256:{sha256(Path('good.jsonl').read_bytes()).hexdigest()}",
        "actual": f"jsonl-sha256:{sha256(Path('other.jsonl').read_bytes()).hexdigest()}",
    }
    assert commit_count() == 2


def test_a_named_load_without_records_is_no_repetition() -> None:
    Path("empty.jsonl").write_bytes(b"")
    assert load("empty.jsonl", "append", "--load-id", "monday").stdout.startswith("loaded ")


# ── interrupts ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("failpoint", "note", "entities"),
    [
        (LOAD_STAGED, "Nothing was loaded.", 0),
        (PUBLISH_BEFORE_COMMIT, "It may have been loaded: omnigraph commit list {graph} shows whether it was.", 0),
        (PUBLISH_AFTER_COMMIT, "It may have been loaded: omnigraph commit list {graph} shows whether it was.", 3),
    ],
)
def test_an_interrupted_load_tells_what_it_left(failpoint: str, note: str, entities: int, graph: Path) -> None:
    with armed({failpoint: Raise(KeyboardInterrupt())}):
        result = load("good.jsonl", "append", "-q")
    assert result.exit_code == 130
    assert result.stderr == f"error: Interrupted. {note.format(graph=graph)}\n"
    assert len(exported()) == entities


def test_an_interrupt_behind_the_load_names_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_graph: Graph) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Graph, "close", interrupt)
        result = load("good.jsonl", "append", "-q")
    assert result.exit_code == 130
    newest = CliRunner().invoke(cli, ["commit", "list", "g.omni"]).stdout.partition(" ")[0]
    assert result.stderr == f"error: Interrupted. It was loaded, as commit {newest}.\n"


# ── what it refuses ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_wrong_record_is_told_like_a_compiler_tells_it(graph: Path) -> None:
    result = load_lines(
        '{"type":"Book","data":{"isbn":"b1","title":"fine"}}',
        '{"type":"Book","data":{"isbn":"b2","title":"x","score":"many"}}',
        "",
        '{"type":"Book","data":{"isbn":"b3"}}',
        '{"type":"Bok","data":{"isbn":"b4"}}',
    )
    assert result.exit_code == 3
    assert result.stdout == ""
    echo, *problems, total, advice = result.stderr.splitlines()
    assert echo == f"load {graph} (direct, local)"
    places = [re.match(r"data\.jsonl:(\d+): error\[(\w+)\]: (.+)", line) for line in problems]
    assert [(found[1], found[2]) for found in places if found] == [
        ("2", "wrong_type"),
        ("4", "missing_required"),
        ("5", "unknown_type"),
    ]
    assert total == "error: 3 problems: 1 missing_required, 1 unknown_type, 1 wrong_type"
    assert advice.startswith("help: Nothing was written.")
    assert commit_count() == 1


def test_the_json_has_every_problem_with_its_place() -> None:
    wrong = '{"type":"Book","data":{"isbn":"b2","title":"x","score":"many"}}'
    result = load_lines(*[wrong] * 3, words=("--json",))
    assert result.exit_code == 3
    found = error_of(result)
    assert found["kind"] == "invalid_input"
    assert [(each["source"], each["line"], each["reason"]) for each in found["details"]["problems"]] == [
        ("data.jsonl", line, "wrong_type") for line in (1, 2, 3)
    ]
    assert (found["details"]["counts"], found["details"]["total"]) == ({"wrong_type": 3}, 3)


def test_twenty_problems_are_shown_a_hundred_are_in_the_json_and_all_are_counted() -> None:
    wrong = ['{"type":"Book","data":{"isbn":7,"title":"x"}}'] * 150
    text = load_lines(*wrong)
    shown = [line for line in text.stderr.splitlines() if line.startswith("data.jsonl:")]
    assert [line.partition(": ")[0] for line in shown] == [f"data.jsonl:{number}" for number in range(1, 21)]
    assert "error: 150 problems: 150 wrong_type (the first 20 are shown)" in text.stderr.splitlines()
    details = error_of(load_lines(*wrong, words=("--json",)))["details"]
    assert (len(details["problems"]), details["total"]) == (100, 150)


def test_a_reason_that_is_rare_is_shown_behind_one_that_is_not() -> None:
    wrong = ['{"type":"Book","data":{"isbn":7,"title":"x"}}'] * 150
    text = load_lines(*wrong, "{", '{"type":"Boook","data":{}}').stderr.splitlines()
    shown = [line for line in text if line.startswith("data.jsonl:")]
    assert len(shown) == 20
    assert ["wrong_type" in line for line in shown] == [True] * 18 + [False] * 2
    assert "data.jsonl:151: error[malformed_json]" in shown[18]
    assert "data.jsonl:152: error[unknown_type]" in shown[19]
    summary = "1 malformed_json, 1 unknown_type, 150 wrong_type (20 are shown, the first of each reason)"
    assert f"error: 152 problems: {summary}" in text


@pytest.mark.parametrize(
    ("lines", "reason", "message"),
    [
        (['{"type":"Book","data":{"isbn":"b1","title":"x","score":9}}'], "range", "@range violation on Book.score"),
        (['{"edge":"Borrowed","from":"7","to":"b1"}'], "endpoint", "not found in Member"),
        (['{"type":"Member","data":{"card":7}}'] * 2, "unique", "@unique violation on Member"),
    ],
    ids=["range", "endpoint", "unique"],
)
def test_rows_that_break_a_rule_of_the_schema_end_with_3(lines: list[str], reason: str, message: str) -> None:
    result = load_lines(*lines)
    assert result.exit_code == 3
    assert f"error[{reason}]" in result.stderr
    assert message in result.stderr
    assert error_of(load_lines(*lines, words=("--json",)))["kind"] == "constraint"
    assert commit_count() == 1


def test_an_append_of_what_is_there_already_names_the_mode_that_replaces_it() -> None:
    note = "note: With --mode merge, what is there already is replaced.\n"
    book = '{"type":"Book","data":{"isbn":"b1","title":"x"}}'
    assert load_lines(book).exit_code == 0
    refused = load_lines(book)
    assert refused.exit_code == 3
    assert refused.stderr.endswith(note)
    # No mode helps a load that is wrong in itself.
    assert note not in load_lines('{"edge":"Borrowed","from":"7","to":"b1"}').stderr


def test_counts_of_problems_are_written_like_their_total() -> None:
    wrong = ['{"type":"Book","data":{"isbn":7,"title":"x"}}'] * 1000
    assert "error: 1,000 problems: 1,000 wrong_type (the first 20 are shown)" in load_lines(*wrong).stderr


def test_after_a_refusal_the_corrected_load_succeeds() -> None:
    assert load_lines('{"type":"Book","data":{"isbn":"b1"}}').exit_code == 3
    assert load_lines('{"type":"Book","data":{"isbn":"b1","title":"x"}}').exit_code == 0
    assert len(exported()) == 1


def test_a_file_that_is_not_there_or_no_file_is_invalid_input_before_anything_is_opened() -> None:
    missing = load("nowhere.jsonl", "append", "--json")
    assert missing.exit_code == 3
    assert error_of(missing)["message"] == 'There is no file "nowhere.jsonl".'
    assert "load " not in missing.stderr
    folder = load(".", "append", "--json")
    assert folder.exit_code == 3
    assert "is a directory" in error_of(folder)["message"]


def test_a_file_that_is_no_text_is_invalid_input() -> None:
    Path("photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    result = load("photo.png", "append", "--json")
    assert result.exit_code == 3
    assert error_of(result)["kind"] == "invalid_input"


def test_a_branch_that_is_not_there_is_not_found() -> None:
    result = load("good.jsonl", "append", "--branch", "review", "--json")
    assert (result.exit_code, error_of(result)["kind"]) == (1, "not_found")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["load", "g.omni", "--data", "good.jsonl"],
            "'--mode'. Choose from: append, merge, overwrite\n",
        ),
        (["load", "g.omni", "--mode", "append"], "Missing option '--data'"),
        (["load", "--data", "good.jsonl", "--mode", "append"], "Missing argument 'URI'"),
        (["load", "g.omni", "--data", "good.jsonl", "--mode", "replace"], "'replace' is not one of"),
        (["load", "g.omni", "--data", "good.jsonl", "--mode", "append", "--as", " "], "It must not be blank."),
        (["init", "g.omni"], "Missing option '--schema'"),
        (["commit", "show", "g.omni"], "Missing argument 'ID'"),
    ],
)
def test_a_command_line_that_lacks_something_is_wrong_usage(words: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConflictError("The graph moved on.", expected="01A", actual="01B", help="Load it again."), 4),
        (HeadMovedError(branch="main", expected="01A", actual="01B", members=("pin:node:Book",)), 4),
        (BranchReplacedError(branch="main", expected="i1", actual="i2"), 4),
        (ContentionError(purpose="load it", attempts=2, deadline_seconds=1, branch="main"), 4),
        (OutcomeUnknownError("No answer came.", commit_id="01A", help="Look for commit 01A."), 5),
    ],
    ids=lambda each: str(each.kind) if isinstance(each, OmnigraphError) else "",
)
def test_a_lost_race_and_a_lost_answer_have_codes_of_their_own(
    error: OmnigraphError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_words: object, **_settings: object) -> None:
        raise error

    monkeypatch.setattr(Graph, "load", fail)
    text = load()
    assert text.exit_code == code
    assert f"error: {error.message}\nhelp: {error.help}\n" in text.stderr
    assert error_of(load("good.jsonl", "append", "--json"))["kind"] == error.kind


# ── terminals ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_terminal_shows_how_far_a_load_is_and_a_pipe_does_not(omnigraph: Any, graph: Path) -> None:
    words = ("load", str(graph), "--data", "good.jsonl", "--mode", "merge", "--json")
    seen, stdout = omnigraph.on_terminal(*words, stream="stderr")
    assert json.loads(stdout)["total"] == 3
    assert "reading good.jsonl" in seen or "publishing good.jsonl: 3 records" in seen
    piped = omnigraph(*words)
    assert piped.stderr == f"load {graph} (direct, local)\n"


def answered(omnigraph: Any, answer: str, *words: str) -> tuple[int, str]:
    """How the command ends when a person at a terminal gives this answer, and what the terminal shows."""
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [omnigraph.executable, *words], **omnigraph.settings(), stdin=its_end, stdout=subprocess.PIPE, stderr=its_end
    ) as process:
        os.close(its_end)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(terminal, 65536)
        os.write(terminal, f"{answer}\n".encode())
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:
            # Its other end was closed.
            pass
        code = process.wait(PATIENCE_SECONDS)
    os.close(terminal)
    return code, shown.decode()


def test_overwriting_what_is_not_on_a_local_disk_asks_first(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault("pass")
    words = ("load", "vault://x", "--data", "good.jsonl", "--mode", "overwrite")
    code, shown = answered(omnigraph, "n", *words)
    assert code == 1
    assert "Overwrite what vault://x has of the types in the file? [y/N]" in shown
    assert "Nothing was loaded." in shown
    assert "(direct, remote)" not in shown
    # With leave it goes on, as far as the place without a graph lets it.
    code, shown = answered(omnigraph, "y", *words)
    assert code == 1
    assert "load vault://x (direct, remote)" in shown
    assert "There is no graph at vault://x." in shown


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_where_nobody_can_be_asked_an_overwrite_needs_yes(words: tuple[str, ...]) -> None:
    refused = load("good.jsonl", "overwrite", *words, uri="memory://x")
    assert refused.exit_code == 2
    assert "needs --yes" in refused.output
    assert "(direct, remote)" not in refused.stderr
    for mode, *leave in (("overwrite", "--yes"), ("append",), ("merge",)):
        done = load("good.jsonl", mode, *leave, *words, uri="memory://x")
        # It goes on, as far as the place without a graph lets it.
        assert (done.exit_code, done.stderr.splitlines()[0]) == (1, "load memory://x (direct, remote)")


def test_a_local_overwrite_asks_nobody() -> None:
    assert load("good.jsonl", "overwrite").exit_code == 0


def test_secret_options_are_never_shown(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def __init__(self, root, options):
            raise OSError(5, "cannot open with " + options["token"])
        """
    )
    done = omnigraph("snapshot", "vault://x", "--option", "token=open-sesame-42")
    assert done.returncode == 1
    assert "cannot open with [hidden]" in done.stderr
    assert "open-sesame-42" not in done.stdout + done.stderr
