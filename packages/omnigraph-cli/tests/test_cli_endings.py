"""How the command ends: exit codes, errors in the form that was asked for, closed pipes and interrupts."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from omnigraph_cli.main import cli
from omnigraph_cli.output.results import VersionResult

PATIENCE_SECONDS = 60


def _burst() -> VersionResult:
    raise RuntimeError("the boiler burst")


# ── wrong usage ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [[], ["storage"]])
def test_without_a_verb_the_help_is_shown_and_the_usage_is_wrong(words: list[str]) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Usage: omnigraph")
    assert "Commands:" in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["plugin"], 'There is no command "plugin". Did you mean "plugins"?'),
        (
            ["zebra"],
            'There is no command "zebra". There are: branch, changes, commit, copy, diff, ensure-indices, explain, ',
        ),
        (["storage", "chekc"], 'There is no command "chekc". Did you mean "check"?'),
        (["plugins", "one-too-many"], "one-too-many"),
        (["version", "--jsom"], 'There is no option "--jsom". Did you mean "--json"?'),
        (["storage", "check", "memory://x", "--thread"], 'There is no option "--thread". Did you mean "--threads"?'),
        (["storage", "check"], "Missing argument 'URI'."),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_right(words: list[str], expected: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert result.stdout == ""
    error, help_line = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert expected in error
    assert help_line.startswith("help: Usage: omnigraph ")
    assert help_line.endswith("--help)")


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ("lint library.pg", "omnigraph lint --schema FILE [--query FILE] [OPTIONS]"),
        ("lint --schema library.pg loans.gq", "omnigraph lint --schema FILE [--query FILE] [OPTIONS]"),
        (
            "explain library.pg loans.gq",
            "omnigraph explain [--schema FILE] [--query FILE | -e TEXT] [OPTIONS] [URI]",
        ),
        ("schema plan old.pg new.pg", "omnigraph schema plan --from FILE --schema FILE [OPTIONS]"),
    ],
)
def test_files_without_their_options_are_answered_with_the_options_that_take_files(words: str, usage: str) -> None:
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 2
    assert result.stderr.splitlines()[1].startswith(f"help: Usage: {usage} (see: ")


@pytest.mark.parametrize("words", [["--verbose", "plugins"], ["storage", "check", "x", "--verbose"]])
def test_an_option_unlike_any_other_gets_no_guess(words: list[str]) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert result.stderr.startswith('error: There is no option "--verbose".\nhelp: ')


@pytest.mark.parametrize(
    ("words", "member"),
    [
        ("--json version", "release"),
        ("version --json", "release"),
        ("--json --version", "release"),
        ("--json -q storage check memory://x --rounds 1", "verdict"),
        ("-q storage --json check memory://x --rounds 1", "verdict"),
    ],
)
def test_json_is_understood_before_the_verb_and_after_it(words: str, member: str) -> None:
    result = CliRunner().invoke(cli, words.split())
    assert member in json.loads(result.stdout)
    assert result.stderr == ""


def test_wrong_usage_is_told_as_json_when_json_was_asked_for() -> None:
    result = CliRunner().invoke(cli, ["version", "--jsom", "--json"])
    assert result.exit_code == 2
    assert result.stderr == ""
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "usage"
    assert "--jsom" in error["message"]
    assert "omnigraph version --help" in error["help"]


# ── surprises ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unforeseen_exception_is_an_internal_error_that_names_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VersionResult, "current", _burst)
    result = CliRunner().invoke(cli, ["version"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: internal error: RuntimeError: the boiler burst\nhelp: ")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["--debug", "version"], ["version", "--debug"]])
def test_debug_shows_the_traceback(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VersionResult, "current", _burst)
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert "in _burst" in result.stderr
    assert "--debug" not in result.stderr


def test_an_unforeseen_exception_is_told_as_json_with_the_traceback_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VersionResult, "current", _burst)
    result = CliRunner().invoke(cli, ["version", "--json", "--debug"])
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "internal"
    assert "the boiler burst" in error["message"]
    assert "in _burst" in result.stderr


def test_debug_shows_the_cause_of_a_refusal_and_without_it_the_cause_is_named(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault("def __init__(self, root, options): raise ImportError('the lock is rusty')")
    short = omnigraph("storage", "check", "vault://x")
    assert short.returncode == 1
    assert "note: It was caused by ImportError; --debug shows all of it." in short.stderr
    assert "Traceback" not in short.stderr
    long = omnigraph("storage", "check", "vault://x", "--debug")
    assert long.returncode == 1
    assert "Traceback" in long.stderr
    assert "raise ImportError('the lock is rusty')" in long.stderr
    assert "note: It was caused by ImportError.\n" in long.stderr
    assert "--debug" not in long.stderr


def test_a_cause_that_the_message_tells_already_is_not_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["snapshot", str(tmp_path / "nowhere.omni")])
    assert result.exit_code == 1
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["error", "help"]


# ── output that cannot be written ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["plugins"],
        ["plugins", "--json"],
        ["storage", "check", "memory://x", "--rounds", "1"],
        ["storage", "check", "nosuch://x", "--json"],
    ],
    ids=" ".join,
)
def test_a_closed_pipe_ends_with_141_and_without_a_word(omnigraph: Any, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with omnigraph.start("-q", *words, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, stderr) == (141, b"")


def test_a_reader_that_leaves_after_one_byte_ends_the_listing_with_141(
    omnigraph: Any, install: Callable[..., None]
) -> None:
    # Longer than the buffer of a pipe, so that the writer is still at it when the reader leaves.
    install("verbose", "raise ImportError('long ' * 100_000)")
    with omnigraph.start("plugins", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        stderr = process.stderr.read()
        process.wait(PATIENCE_SECONDS)
    assert (process.returncode, stderr) == (141, b"")


def test_a_check_whose_reader_left_leaves_nothing_behind(omnigraph: Any, tmp_path: Path) -> None:
    root = tmp_path / "graph"
    root.mkdir()
    reader, writer = os.pipe()
    os.close(reader)
    with omnigraph.start("storage", "check", str(root), "--threads", stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 141
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("words", [["plugins"], ["plugins", "--json"], ["storage", "check", "nosuch://x", "--json"]])
def test_a_full_disk_below_stdout_is_a_failure_that_says_so(omnigraph: Any, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full, omnigraph.start(*words, stdout=full, stderr=subprocess.PIPE) as process:
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    assert stderr == b"error: The result could not be written: No space left on device.\n"


def test_results_that_have_nowhere_to_go_are_a_failure(omnigraph: Any) -> None:
    words = ["sh", "-c", '"$0" version >&-', omnigraph.executable]
    result = subprocess.run(words, **omnigraph.settings(), capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr == "error: The result could not be written: Bad file descriptor.\n"


# ── interrupts ───────────────────────────────────────────────────────────────────────────────────────────────────────


HANGS = """
def _write_if_absent(self, key, data):
    open(os.environ["STARTED"], "w").close()
    time.sleep(600)

def _delete_prefix(self, prefix):
    open(os.environ["CLEANED"], "w").close()
    time.sleep(float(os.environ.get("CLEANING", "0")))
"""


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("sent", "code", "word"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")]
)
@pytest.mark.parametrize("form", ["text", "json", "quiet"])
def test_a_signal_ends_a_check_after_its_clean_up_with_a_code_of_its_own(
    omnigraph: Any,
    install_vault: Callable[[str], None],
    tmp_path: Path,
    sent: signal.Signals,
    code: int,
    word: str,
    form: str,
) -> None:
    install_vault(HANGS)
    started, cleaned = tmp_path / "started", tmp_path / "cleaned"
    words = ["storage", "check", "vault://x"] + ([] if form == "text" else [f"--{form}"])
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with omnigraph.start(*words, **streams, STARTED=str(started), CLEANED=str(cleaned)) as process:
        wait_for(started, process)
        process.send_signal(sent)
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == code
    assert cleaned.exists()
    told = f"{word}. What the check wrote is removed."
    if form == "json":
        error: dict[str, Any] = {"kind": word.lower(), "message": told, "help": None, "details": {}}
        assert json.loads(stdout) == {"error": error}
        assert stderr == b"storage check vault://x\n"
    else:
        header = "storage check vault://x\n" if form == "text" else ""
        assert stderr.decode() == f"{header}error: {told}\n"
        assert ("✓ reach" in stdout.decode()) is (form == "text")


def test_a_clean_up_that_is_interrupted_itself_is_not_called_done(
    omnigraph: Any, install_vault: Callable[[str], None], tmp_path: Path
) -> None:
    install_vault(HANGS)
    started, cleaned = tmp_path / "started", tmp_path / "cleaned"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    paths = {"STARTED": str(started), "CLEANED": str(cleaned), "CLEANING": "600"}
    with omnigraph.start("-q", "storage", "check", "vault://x", **streams, **paths) as process:
        for path in (started, cleaned):
            wait_for(path, process)
            process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert stderr.decode() == (
        "error: Interrupted. The clean-up was interrupted too: remove what is left at vault://x below "
        "__omnigraph_check_*.\n"
    )


def test_an_interrupt_on_a_terminal_is_told_on_a_line_of_its_own(
    omnigraph: Any, install_vault: Callable[[str], None], tmp_path: Path
) -> None:
    install_vault(HANGS)
    started, cleaned = tmp_path / "started", tmp_path / "cleaned"
    terminal, its_end = pty.openpty()
    words = ["-q", "storage", "check", "vault://x"]
    paths = {"STARTED": str(started), "CLEANED": str(cleaned), "NO_COLOR": "1", "COLUMNS": "200"}
    with omnigraph.start(*words, stdout=subprocess.DEVNULL, stderr=its_end, **paths) as process:
        os.close(its_end)
        wait_for(started, process)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
    seen = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert seen == "\r\nerror: Interrupted. What the check wrote is removed.\r\n"
