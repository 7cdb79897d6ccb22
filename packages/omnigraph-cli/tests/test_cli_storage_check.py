"""``omnigraph storage check``: each finding as it comes, a verdict, and an exit code that scripts can rely on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph_cli.main import cli

STEPS = ["backend", "reach", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up"]

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
    *steps, verdict, evidence = result.stdout.splitlines()
    assert [line.split()[:2] for line in steps] == [["✓", name] for name in STEPS]
    assert verdict == "passed: no fault found at memory://cli-text (in this process only; nothing is kept)"
    races = "3 threads raced to create 2 objects: one winner each time"
    assert evidence == f"evidence: {races}; {races.replace('create', 'replace')}"


def test_the_json_is_one_document_with_the_resolved_uri_and_every_step() -> None:
    result = check("MEMORY://cli-json/a/../b/", "--json", "--rounds", "1")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert set(document) == {"uri", "verdict", "passed", "steps"}
    assert document["verdict"] == "passed"
    assert document["uri"] == "memory://cli-json/b"
    assert document["passed"] is True
    assert [step["name"] for step in document["steps"]] == STEPS
    assert all(set(step) == {"name", "passed", "detail", "error"} for step in document["steps"])
    assert all(step["passed"] and step["error"] is None for step in document["steps"])


def test_a_local_path_is_checked_and_left_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "a graph"
    root.mkdir()
    (root / "mine.txt").write_text("stays")
    result = check(str(root), "--rounds", "2", "--threads")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"storage check {root}\n"
    assert f"passed: no fault found at {root}\n" in result.stdout
    assert [path.name for path in root.rglob("*")] == ["mine.txt"]


@pytest.mark.parametrize(("words", "writers"), [([], "2 processes"), (["--threads"], "2 threads")])
def test_processes_race_where_the_store_is_shared_unless_threads_are_asked_for(
    omnigraph: Any, tmp_path: Path, words: list[str], writers: str
) -> None:
    result = omnigraph("storage", "check", str(tmp_path / "g"), "--writers", "2", "--rounds", "2", *words)
    assert result.returncode == 0, result.stderr
    assert f"{writers} raced to create 2 objects" in result.stdout


def test_a_race_ends_when_its_seconds_are_over(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def _write_if_absent(self, key, data):
            time.sleep(0.1)
            return super()._write_if_absent(key, data)
        """
    )
    result = omnigraph("storage", "check", "vault://x", "--rounds", "10000", "--seconds", "1", "--json")
    steps = {step["name"]: step["detail"] for step in json.loads(result.stdout)["steps"]}
    raced = re.search(r"raced to create (\d+) objects", steps["create_race"])
    assert raced is not None, steps
    # A round takes a tenth of a second at least.
    assert int(raced[1]) < 100


def test_the_verb_and_the_resolved_uri_are_said_on_stderr_before_acting() -> None:
    result = check("memory://echo//x/", "--rounds", "1", "--json")
    assert result.stderr == "storage check memory://echo/x\n"


@pytest.mark.parametrize(
    "words", [["--quiet", "storage", "check"], ["storage", "check", "--quiet"], ["storage", "check", "-q"]]
)
def test_quiet_leaves_only_the_verdict(words: list[str]) -> None:
    result = CliRunner().invoke(cli, [*words, "memory://quiet", "--rounds", "1"])
    assert result.exit_code == 0
    assert result.stderr == ""
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == ["passed", "evidence"]


def test_quiet_leaves_the_steps_that_failed(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(IGNORES_THE_CONDITION)
    result = omnigraph("-q", "storage", "check", "vault://x")
    assert result.returncode == 1
    assert result.stderr == ""
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["✗", "help", "failed:"]


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
    assert (findings["passed"], findings["verdict"]) == (False, "failed")
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
    assert "__omnigraph_check_" not in text.stdout
    assert "help          Two writers could both believe that they won here" in text.stdout


def test_a_place_that_does_not_answer_was_not_checked(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def _exists(self, key):
            raise ConnectionRefusedError(111, "refused")
        """
    )
    text = omnigraph("storage", "check", "vault://x")
    assert text.returncode == 1
    assert "✗ reach" in text.stdout
    assert "clean_up" not in text.stdout
    assert text.stdout.splitlines()[-1] == "not checked: vault://x could not be reached"
    document = omnigraph("storage", "check", "vault://x", "--json")
    assert document.returncode == 1
    findings = json.loads(document.stdout)
    assert (findings["passed"], findings["verdict"]) == (False, "unreachable")


def test_a_failure_names_the_place_that_was_asked_about_and_its_details_the_object(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault(
        """
        def _write_if_absent(self, key, data):
            raise PermissionError(13, "no")
        """
    )
    findings = json.loads(omnigraph("storage", "check", "vault://x/y", "--json").stdout)
    failed = next(step for step in findings["steps"] if not step["passed"])
    for sentence in (failed["detail"], failed["error"]["message"]):
        assert "vault://x/y" in sentence
        assert "__omnigraph_check_" not in sentence
        assert "probe" not in sentence
    assert re.fullmatch(
        r"vault://x/y/__omnigraph_check_\w+/__create_if_absent_probe_\w+", failed["error"]["details"]["uri"]
    )


def test_what_could_not_be_removed_is_named_as_it_is(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def _delete_prefix(self, prefix):
            raise PermissionError(13, "no")
        """
    )
    result = omnigraph("storage", "check", "vault://x", "--rounds", "1")
    assert result.returncode == 1
    (removal,) = [line for line in result.stdout.splitlines() if line.startswith("✗ clean_up")]
    assert "vault://x/__omnigraph_check_" in removal


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


def test_an_option_for_a_backend_without_any_says_so() -> None:
    text = check("memory://x", "--option", "region=a")
    assert text.exit_code == 3
    assert text.stderr == 'error: The backend "memory" takes no options.\nhelp: Leave out --option.\n'


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
    ("words", "right"),
    [
        (("--writers", "1"), "a whole number from 2 to 256"),
        (("--writers", "257"), "a whole number from 2 to 256"),
        (("--writers", "many"), "a whole number from 2 to 256"),
        (("--writers", "2.5"), "a whole number from 2 to 256"),
        (("--rounds", "0"), "a whole number from 1 to 10,000"),
        (("--rounds", "-1"), "a whole number from 1 to 10,000"),
        (("--seconds", "0"), "a number of seconds from 1 to 86,400"),
        (("--seconds", "nan"), "a number of seconds from 1 to 86,400"),
        (("--seconds", "inf"), "a number of seconds from 1 to 86,400"),
    ],
)
def test_a_wrong_number_is_wrong_usage(words: tuple[str, str], right: str) -> None:
    text = check("memory://x", *words)
    assert text.exit_code == 2
    assert f"error: Invalid value for '{words[0]}': It must be {right}, and not \"{words[1]}\"." in text.stderr
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
