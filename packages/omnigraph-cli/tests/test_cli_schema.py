"""``omnigraph schema plan``: the steps from one schema file to another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph_cli.main import cli

BEFORE = "node Book { isbn: String @key  title: String  pages: I32? }\n"
AFTER = 'node Work @rename_from("Book") { isbn: String @key  title: String @index  printed: Date? }\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(before: str, after: str, *words: str) -> Result:
    Path("old.pg").write_text(before)
    Path("new.pg").write_text(after)
    return CliRunner().invoke(cli, ["schema", "plan", "--from", "old.pg", "--schema", "new.pg", *words])


def test_supported_steps_are_listed_and_end_with_0() -> None:
    result = plan(BEFORE, AFTER)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "supported: yes",
        "rename node type 'Book' -> 'Work'",
        "add property 'Work.printed' (Date?) on node 'Work'",
        "add constraint @index(title) on node 'Work'",
        "drop property 'Work.pages' of node 'Work' (soft mode)",
    ]


def test_equal_schemas_need_no_step_and_end_with_0() -> None:
    result = plan(BEFORE, f"// the same\n{BEFORE}")
    assert (result.exit_code, result.stdout) == (0, "no schema changes\n")


def test_an_unsupported_change_ends_with_3_and_is_still_a_result() -> None:
    result = plan(BEFORE, BEFORE.replace("pages: I32?", "pages: I64?"))
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout.startswith("supported: no\nunsupported change on node:Book.pages [OG-MF-106, destructive]: ")


def test_data_loss_that_is_allowed_makes_drops_hard() -> None:
    assert "(hard mode)" in plan(BEFORE, AFTER, "--allow-data-loss").stdout
    assert "(hard mode)" not in plan(BEFORE, AFTER).stdout


def test_json_has_the_files_the_verdict_and_the_steps() -> None:
    result = plan(BEFORE, BEFORE.replace("pages: I32?", "pages: I32?  shelf: String"), "--json")
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    reason = document["steps"][0].pop("reason")
    assert reason
    assert document == {
        "from": "old.pg",
        "schema": "new.pg",
        "supported": False,
        "step_count": 1,
        "steps": [{"kind": "unsupported_change", "entity": "node:Book.shelf", "code": "OG-MF-103"}],
        "diagnostics": [],
    }


def test_a_hint_without_effect_is_a_warning_in_both_forms() -> None:
    after = BEFORE.replace("title: String", 'title: String @rename_from("name")')
    result = plan(BEFORE, after)
    assert result.exit_code == 0
    assert result.stdout.startswith("warning[OG-S-305]: ")
    assert result.stdout.endswith("\n\nno schema changes\n")
    document = json.loads(plan(BEFORE, after, "--json").stdout)
    assert [(each["code"], each["line"]) for each in document["diagnostics"]] == [("OG-S-305", 1)]


def test_a_hint_that_names_nothing_ends_with_3_as_an_error() -> None:
    result = plan(BEFORE, BEFORE + 'node Shelf @rename_from("Rack") { number: I32 }\n')
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error[OG-S-301]: ")
    assert "--> new.pg:2:25\n" in result.stderr


@pytest.mark.parametrize(("before", "after", "file"), [("node A {", BEFORE, "old.pg"), (BEFORE, "node A {", "new.pg")])
def test_a_schema_with_errors_ends_with_3_and_names_its_file(before: str, after: str, file: str) -> None:
    result = plan(before, after)
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"--> {file}:1:" in result.stderr


def test_the_old_schema_can_come_from_standard_input() -> None:
    Path("new.pg").write_text(AFTER)
    result = CliRunner().invoke(cli, ["schema", "plan", "--from", "-", "--schema", "new.pg"], input=BEFORE)
    assert result.exit_code == 0
    assert result.stdout.startswith("supported: yes\n")
