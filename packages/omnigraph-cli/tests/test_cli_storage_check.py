"""``omnigraph storage check``: each finding as it comes, a verdict, and an exit code that scripts can rely on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph_cli.main import cli

STEPS = ["backend", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up"]

IGNORES_THE_CONDITION = """
def _write_if_absent(self, key, data):
    self._write(key, data)
    return True
"""

LOOKS_BEFORE_IT_LEAPS = """
def _write_if_absent(self, key, data):
    if self._exists(key):
        return False
    time.sleep(0.02)
    self._write(key, data)
    return True
"""


def check(*words: str) -> Result:
    return CliRunner().invoke(cli, ["storage", "check", *words])


def error_of(result: Result) -> dict[str, Any]:
    document = json.loads(result.stdout)
    assert set(document) == {"error"}
    assert set(document["error"]) == {"kind", "message", "help", "details"}
    error: dict[str, Any] = document["error"]
    return error


def test_a_good_store_passes_every_step_and_ends_with_0() -> None:
    result = check("memory://cli-text", "--writers", "3", "--rounds", "2")
    assert result.exit_code == 0
    *steps, verdict = result.stdout.splitlines()
    assert [line.split()[:2] for line in steps] == [["✓", name] for name in STEPS]
    assert "create race of 3 threads, 2 rounds" in result.stdout
    assert verdict == "passed: memory://cli-text can be trusted with a graph"


def test_the_json_is_one_document_with_the_resolved_uri_and_every_step() -> None:
    result = check("MEMORY://cli-json/a/../b/", "--json", "--rounds", "1")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert set(document) == {"uri", "passed", "steps"}
    assert document["uri"] == "memory://cli-json/b"
    assert document["passed"] is True
    assert [step["name"] for step in document["steps"]] == STEPS
    assert all(set(step) == {"name", "passed", "detail", "error"} for step in document["steps"])
    assert all(step["passed"] and step["error"] is None for step in document["steps"])


def test_a_local_path_is_checked_and_left_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "a graph"
    root.mkdir()
    (root / "mine.txt").write_text("stays")
    result = check(str(root), "--rounds", "2")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"storage check {root} (direct, local)\n"
    assert [path.name for path in root.rglob("*")] == ["mine.txt"]


def test_processes_race_where_the_store_is_shared(omnigraph: Any, tmp_path: Path) -> None:
    result = omnigraph("storage", "check", str(tmp_path / "g"), "--processes", "--writers", "2", "--rounds", "2")
    assert result.returncode == 0, result.stderr
    assert "create race of 2 processes" in result.stdout


def test_processes_are_refused_where_they_cannot_share_the_store() -> None:
    result = check("memory://x", "--processes")
    assert result.exit_code == 3
    assert 'error: The backend "memory" does not share its objects between processes' in result.stderr
    assert "help: Leave out --processes" in result.stderr
    assert result.stdout == ""


def test_the_verb_and_the_resolved_uri_are_said_on_stderr_before_acting() -> None:
    result = check("memory://echo//x/", "--rounds", "1", "--json")
    assert result.stderr == "storage check memory://echo/x (direct, remote)\n"


@pytest.mark.parametrize(
    "words", [["--quiet", "storage", "check"], ["storage", "check", "--quiet"], ["storage", "check", "-q"]]
)
def test_quiet_leaves_only_the_results(words: list[str]) -> None:
    result = CliRunner().invoke(cli, [*words, "memory://quiet", "--rounds", "1"])
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "passed: memory://quiet" in result.stdout


def test_a_store_that_ignores_create_if_absent_fails_with_1_and_a_clear_message(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault(IGNORES_THE_CONDITION)
    text = omnigraph("storage", "check", "vault://x")
    assert text.returncode == 1
    assert "✗ honesty" in text.stdout
    assert "does not honour create-if-absent" in text.stdout
    assert "help          Two writers could overwrite each other's commits here" in text.stdout
    assert "create_race" not in text.stdout
    assert text.stdout.splitlines()[-1] == "failed: do not keep a graph at vault://x"

    document = omnigraph("storage", "check", "vault://x", "--json")
    assert document.returncode == 1
    findings = json.loads(document.stdout)
    assert findings["passed"] is False
    honesty = next(step for step in findings["steps"] if step["name"] == "honesty")
    assert honesty["passed"] is False
    assert honesty["error"]["kind"] == "storage"
    assert honesty["error"]["details"]["condition"] == "configuration"


def test_a_store_that_is_honest_until_writers_race_fails_with_1(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault(LOOKS_BEFORE_IT_LEAPS)
    text = omnigraph("storage", "check", "vault://x", "--rounds", "3")
    assert text.returncode == 1
    assert "✓ honesty" in text.stdout
    assert "✗ create_race" in text.stdout
    assert "Not exactly one winner in each round" in text.stdout
    assert "help          Two writers could both believe that they won here" in text.stdout


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_scheme_says_what_to_install() -> None:
    text = check("nosuch://bucket/g")
    assert text.exit_code == 1
    assert text.stdout == ""
    assert 'error: No storage backend for "nosuch://bucket/g".' in text.stderr
    assert "help: Install it: pip install omnigraph-storage-nosuch" in text.stderr
    error = error_of(check("nosuch://bucket/g", "--json"))
    assert error["kind"] == "backend_not_installed"
    assert error["details"]["uri"] == "nosuch://bucket/g"


@pytest.mark.parametrize("uri", ["", "  ", "memory://", "memory://x/../..", "s3://key:pass@bucket/g", "a\nb"])
def test_a_malformed_uri_is_invalid_input(uri: str) -> None:
    text = check(uri)
    assert text.exit_code == 3
    assert text.stdout == ""
    assert text.stderr.startswith("error: ")
    assert "\nhelp: " in text.stderr
    assert "key:pass" not in text.stderr
    document = check(uri, "--json")
    assert document.exit_code == 3
    assert error_of(document)["kind"] == "invalid_input"


def test_an_unknown_storage_option_names_the_nearest_one(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault("pass")
    text = omnigraph("storage", "check", "vault://x", "--option", "tokne=open-sesame")
    assert text.returncode == 3
    assert 'error: There is no storage option "tokne" here. Did you mean "token"?' in text.stderr
    assert "help: Known options: region, token." in text.stderr
    assert "open-sesame" not in text.stdout + text.stderr
    document = omnigraph("storage", "check", "vault://x", "--option", "tokne=open-sesame", "--json")
    assert document.returncode == 3
    assert json.loads(document.stdout)["error"]["details"] == {"option": "tokne"}
    assert "open-sesame" not in document.stdout + document.stderr


@pytest.mark.parametrize("word", ["open-sesame", "=open-sesame"])
def test_an_option_without_key_and_equals_sign_is_wrong_usage_and_not_repeated(word: str) -> None:
    text = check("memory://x", "--option", word)
    assert text.exit_code == 2
    assert "error: Invalid value for '--option': It must have the form KEY=VALUE" in text.stderr
    assert "open-sesame" not in text.output


def test_an_option_given_twice_is_wrong_usage() -> None:
    text = check("memory://x", "--option", "a=1", "--option", "a=2")
    assert text.exit_code == 2
    assert '"a" is given twice' in text.stderr


@pytest.mark.parametrize(
    "words", [("--writers", "1"), ("--writers", "257"), ("--writers", "many"), ("--rounds", "0"), ("--rounds", "-1")]
)
def test_a_wrong_number_is_wrong_usage(words: tuple[str, str]) -> None:
    text = check("memory://x", *words)
    assert text.exit_code == 2
    assert f"error: Invalid value for '{words[0]}'" in text.stderr
    document = check("memory://x", *words, "--json")
    assert document.exit_code == 2
    assert error_of(document)["kind"] == "usage"


def test_an_option_reaches_the_adapter_whole(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def __init__(self, root, options):
            if options["region"] != "a=b c":
                raise SystemError(options)
            super().__init__(root, options)
        """
    )
    result = omnigraph("storage", "check", "vault://x", "--rounds", "1", "--option", "region=a=b c")
    assert "✓ honesty" in result.stdout, result.stderr
