"""``omnigraph lint``: everything that is wrong with two files, for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph_cli.main import cli

SCHEMA = """\
node Book { isbn: String @key  title: String  score: F32? }
node Member { card: I64 @key }
edge Borrowed: Member -> Book
"""
QUERIES = """\
query titles() { match { $b: Book } return { $b.title } }
query rate($isbn: String, $score: F32) { update Book set { score: $score } where isbn = $isbn }
"""

# Each mistake stands between brackets behind its code, so that its place is counted here and not taken from a run.
PLANTED = """\
// A schema with twenty mistakes.
interface Titled { title: String  made: ⟦OG-L-011|Dat⟧ }
node Reel implements ⟦OG-S-105|Titeld⟧ { length: I32 }
node Still {
    ⟦OG-S-108|id⟧: String
    shots: ⟦OG-S-110|[Blob]⟧
    look: Vector(⟦OG-L-010|0⟧)
    size: enum(small, large, ⟦OG-S-109|small⟧)
}
node Film {
    code: String? ⟦OG-S-205|@key⟧
    stars: F32?
    ⟦OG-S-102|stars⟧: F64?
    plot: String
    tags: [String] ⟦OG-S-206|@unique⟧
    plotVec: Vector(4) @embed(⟦OG-S-211|"polt"⟧)
    @range(⟦OG-S-208|plot⟧, 1..5)
    @check(plot, ⟦OG-S-209|"(?=x)"⟧)
    @index(⟦OG-S-212|plto⟧)
}
node Person ⟦OG-S-201|@key⟧ { handle: String @key  mail: String @unique ⟦OG-S-202|@unique⟧ }
node ⟦OG-S-101|Person⟧ { name: String }
node Seat { row: I32 @key  number: I32 ⟦OG-S-204|@key⟧ }
edge Rented: Person -> ⟦OG-S-103|Flim⟧ ⟦OG-S-210|@card(3..1)⟧
edge ⟦OG-S-104|RENTED⟧: Person -> Person
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("library.pg").write_text(SCHEMA)
    Path("loans.gq").write_text(QUERIES)


def lint(*words: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["lint", *words], input=stdin)


def lint_queries(text: str) -> Result:
    Path("loans.gq").write_text(text)
    return lint("--schema", "library.pg", "--query", "loans.gq")


def unmarked(marked: str) -> tuple[str, list[tuple[str, int, int, str]]]:
    """The text without the marks; and code, line, column and word of each."""
    text, places = "", []
    for part in re.split("(⟦[^⟧]*⟧)", marked):
        if part.startswith("⟦"):
            code, _, word = part[1:-1].partition("|")
            places.append((code, text.count("\n") + 1, len(text) - text.rfind("\n"), word))
            text += word
        else:
            text += part
    return text, places


# ── twenty planted mistakes ──────────────────────────────────────────────────────────────────────────────────────────


def test_twenty_planted_mistakes_are_all_told_with_code_line_column_and_word() -> None:
    text, planted = unmarked(PLANTED)
    assert len(planted) == 20
    Path("bad.pg").write_text(text)

    result = lint("--schema", "bad.pg", "--json")

    assert result.exit_code == 3
    report = json.loads(result.stdout)
    lines = text.splitlines()
    found = [
        (
            each["code"],
            each["line"],
            each["column"],
            lines[each["line"] - 1][each["column"] - 1 : each["end_column"] - 1],
        )
        for finding in report["findings"]
        for each in finding["diagnostics"]
    ]
    assert sorted(found, key=lambda each: each[1:3]) == planted
    assert (report["status"], report["errors"]) == ("error", 20)


def test_twenty_planted_mistakes_are_shown_in_the_order_of_the_file_each_with_its_line() -> None:
    text, planted = unmarked(PLANTED)
    Path("bad.pg").write_text(text)

    shown = lint("--schema", "bad.pg").stdout

    headlines = re.findall(r"^error\[(.+?)\]: .+\n +--> bad\.pg:(\d+):(\d+)\n", shown, re.MULTILINE)
    assert headlines == [(code, str(line), str(column)) for code, line, column, _ in planted]
    for line, text_of_line in enumerate(text.splitlines(), 1):
        if any(line == planted_line for _, planted_line, _, _ in planted):
            assert re.search(rf"^ *{line} \| {re.escape(text_of_line)}$", shown, re.MULTILINE), line
    assert shown.endswith("\nfailed: 20 errors in bad.pg\n")


# ── endings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_without_a_mistake_end_with_0_and_one_line() -> None:
    result = lint("--schema", "library.pg", "--query", "loans.gq")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "ok: no mistake in library.pg and loans.gq; 2 queries checked\n"


def test_a_schema_alone_says_nothing_of_queries() -> None:
    assert lint("--schema", "library.pg").stdout == "ok: no mistake in library.pg\n"


def test_warnings_are_shown_and_end_with_0() -> None:
    result = lint_queries('query clean() { delete Book where isbn = "x" }\n')
    assert result.exit_code == 0
    assert result.stdout.startswith('warning[L202]: mutation "clean" declares no params\n --> loans.gq:1:7\n')
    assert result.stdout.endswith("\nok: 1 warning in loans.gq; 1 query checked\n")


def test_an_error_in_a_query_ends_with_3_and_names_the_file_that_has_it() -> None:
    result = lint_queries("query titles() { match { $b: Book } return { $b.titel } }\n")
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout == (
        'error[T6]: Book has no property "titel"\n'
        " --> loans.gq:1:49\n"
        "  |\n"
        "1 | query titles() { match { $b: Book } return { $b.titel } }\n"
        '  |                                                 ^^^^^ did you mean "title"?\n'
        "  = help: Book has: isbn, score, title\n"
        "\n"
        "failed: 1 error in loans.gq; 1 query checked\n"
    )


def test_queries_that_could_not_be_checked_are_said_to_wait() -> None:
    assert lint_queries("query titles() {").stdout.endswith("; queries are checked when these are gone\n")


def test_quiet_keeps_what_was_found() -> None:
    Path("loans.gq").write_text("query q(")
    words = ("--schema", "library.pg", "--query", "loans.gq")
    assert lint(*words, "--quiet").stdout == lint(*words).stdout != ""


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_is_one_document_with_the_operation_of_each_query() -> None:
    report = json.loads(lint("--schema", "library.pg", "--query", "loans.gq", "--json").stdout)
    assert list(report) == [
        "status",
        "schema_source",
        "query_path",
        "queries_processed",
        "errors",
        "warnings",
        "infos",
        "results",
        "findings",
    ]
    assert report["schema_source"] == {"kind": "file", "path": "library.pg"}
    assert report["query_path"] == "loans.gq"
    titles, rate = report["results"]
    assert titles["operation"]["result"] == [{"name": "title", "kind": "string", "nullable": False}]
    assert rate["operation"]["writes"] == [{"kind": "node", "type_name": "Book"}]


def test_json_of_a_file_that_does_not_parse_has_one_finding() -> None:
    Path("loans.gq").write_text("query q(\nquery p($c Book) { }\n")
    result = lint("--schema", "library.pg", "--query", "loans.gq", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 3
    assert [each["code"] for each in report["findings"]] == ["Q000"]
    assert (report["queries_processed"], report["results"]) == (0, [])


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_of_the_files_can_be_standard_input() -> None:
    result = lint("--schema", "library.pg", "--query", "-", stdin="query q() { match { $b: Bok } return { $b } }")
    assert result.exit_code == 3
    assert "--> <stdin>:1:25\n" in result.stdout
    assert lint("--schema", "-", "--query", "loans.gq", stdin=SCHEMA).exit_code == 0


def test_standard_input_cannot_be_both_files() -> None:
    result = lint("--schema", "-", "--query", "-", stdin=SCHEMA)
    assert result.exit_code == 2
    assert 'Only one file can be "-"' in result.stderr


@pytest.mark.parametrize("option", ["--schema", "--query"])
def test_a_file_that_is_not_there_is_named_with_where_it_was_looked_for(option: str, tmp_path: Path) -> None:
    result = lint("--schema", "library.pg", option, "nowhere.x")
    assert result.exit_code == 3
    assert result.stderr == f'error: There is no file "nowhere.x".\nhelp: Paths are taken from {tmp_path}.\n'


def test_a_directory_is_no_file() -> None:
    Path("folder").mkdir()
    result = lint("--schema", "folder")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (3, 'error: "folder" is a directory.')


def test_a_file_that_cannot_be_read_tells_why() -> None:
    result = lint("--schema", "library.pg/below")
    assert (result.exit_code, result.stderr) == (3, 'error: "library.pg/below" could not be read: Not a directory.\n')


def test_an_unreadable_file_is_an_error_in_json_too() -> None:
    result = lint("--schema", "nowhere.pg", "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"], error["details"]) == (3, "invalid_input", {"path": "nowhere.pg"})


def test_bytes_that_are_not_utf_8_are_told_with_their_place() -> None:
    Path("latin.pg").write_bytes(b"node Caf\xe9 { }\n")
    result = lint("--schema", "latin.pg")
    assert result.exit_code == 3
    assert result.stderr.startswith("error[OG-L-001]: ")
    assert "--> latin.pg:1:9\n" in result.stderr
    assert "note:" not in result.stderr
    document = json.loads(lint("--schema", "latin.pg", "--json").stdout)
    assert document["error"]["kind"] == "compile"
    assert document["error"]["details"]["diagnostics"][0]["code"] == "OG-L-001"


def test_a_byte_order_mark_and_carriage_returns_are_no_mistake() -> None:
    Path("windows.pg").write_bytes(b"\xef\xbb\xbf" + SCHEMA.replace("\n", "\r\n").encode())
    assert lint("--schema", "windows.pg").stdout == "ok: no mistake in windows.pg\n"


def test_the_schema_is_required() -> None:
    result = lint("--query", "loans.gq")
    assert result.exit_code == 2
    assert "Missing option '--schema'." in result.stderr


# ── as it is seen ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_terminal_gets_colour_and_the_same_words_as_a_pipe(omnigraph: Any) -> None:
    Path("loans.gq").write_text(
        "query q() { match { $b: Bok } return { $b } }\nquery q() { match { $b: Book } return { $b } }\n"
    )
    words = ("lint", "--schema", "library.pg", "--query", "loans.gq")
    coloured, _ = omnigraph.on_terminal(*words, stream="stdout", COLUMNS="200")
    plain, _ = omnigraph.on_terminal(*words, stream="stdout", COLUMNS="200", NO_COLOR="1")
    piped = omnigraph(*words).stdout
    assert "\x1b[1;31merror[T1]\x1b[0m" in coloured
    assert "\x1b" not in plain + piped
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines() == plain.splitlines() == piped.splitlines()


def test_lines_of_source_stay_whole_on_a_narrow_terminal(omnigraph: Any) -> None:
    line = "query titles_of_books() { match { $book: Book } return { $book.titel } }"
    Path("loans.gq").write_text(line + "\n")
    seen, _ = omnigraph.on_terminal(
        "lint", "--schema", "library.pg", "--query", "loans.gq", stream="stdout", COLUMNS="40", NO_COLOR="1"
    )
    assert f"1 | {line}\r\n" in seen


def test_control_characters_of_a_file_never_reach_the_terminal(omnigraph: Any) -> None:
    Path("bad.pg").write_text("node Book { title: String } \x1b[2J\n")
    seen, _ = omnigraph.on_terminal("lint", "--schema", "bad.pg", stream="stdout", NO_COLOR="1")
    assert "error[OG-L-002]" in seen
    assert "\x1b" not in seen
