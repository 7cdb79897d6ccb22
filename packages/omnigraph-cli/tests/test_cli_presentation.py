"""What is seen: colour and progress on terminals only, no secrets anywhere, letters that every stream can take."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE_SECONDS = 60
SECRET = "open-sesame-42"
TERMINAL = {"TERM": "xterm-256color"}


def on_terminal(omnigraph: Any, *words: str, stream: str, **environment: str) -> tuple[str, str]:
    """What the command writes to the stream when that is a terminal, and what it writes to the other one."""
    terminal, its_end = pty.openpty()
    other = "stderr" if stream == "stdout" else "stdout"
    streams = {stream: its_end, other: subprocess.PIPE}
    with omnigraph.start(*words, **streams, **(TERMINAL | environment)) as process:
        os.close(its_end)
        seen = b""
        # A terminal whose other end was closed answers with an error, not with an empty read.
        with contextlib.suppress(OSError):
            while piece := os.read(terminal, 65536):
                seen += piece
        rest = getattr(process, other).read()
        process.wait(PATIENCE_SECONDS)
    os.close(terminal)
    return seen.decode(), rest.decode()


def test_a_terminal_gets_colour(omnigraph: Any) -> None:
    seen, _ = on_terminal(omnigraph, "plugins", stream="stdout")
    assert "\x1b[" in seen


def test_no_color_leaves_no_escape_sequence_on_a_terminal(omnigraph: Any) -> None:
    seen, _ = on_terminal(omnigraph, "plugins", stream="stdout", NO_COLOR="1")
    assert "✓ memory" in seen
    assert "\x1b" not in seen


def test_no_color_holds_for_errors_too(omnigraph: Any) -> None:
    coloured, _ = on_terminal(omnigraph, "storage", "check", "nosuch://x", stream="stderr")
    plain, _ = on_terminal(omnigraph, "-q", "storage", "check", "nosuch://x", stream="stderr", NO_COLOR="1")
    assert "\x1b[" in coloured
    assert plain.startswith("error: No storage backend")
    assert "\x1b" not in plain


def test_a_pipe_gets_no_escape_sequence(omnigraph: Any) -> None:
    result = omnigraph("plugins", **TERMINAL)
    assert "\x1b" not in result.stdout + result.stderr


def test_progress_is_shown_on_a_terminal_and_stays_out_of_the_results(omnigraph: Any) -> None:
    seen, stdout = on_terminal(omnigraph, "storage", "check", "memory://x", "--json", stream="stderr")
    assert "checking memory://x" in seen
    assert json.loads(stdout)["passed"] is True


def test_quiet_shows_no_progress_on_a_terminal(omnigraph: Any) -> None:
    seen, _ = on_terminal(omnigraph, "storage", "check", "memory://x", "--quiet", stream="stderr")
    assert seen == ""


def test_marks_give_way_to_plain_letters_where_the_stream_has_no_others(omnigraph: Any) -> None:
    result = omnigraph("plugins", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.startswith("+ memory")


def test_a_name_that_the_stream_cannot_write_is_escaped_and_no_crash(omnigraph: Any) -> None:
    result = omnigraph("storage", "check", "memory://größe", "--rounds", "1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert r"passed: memory://gr\xf6\xdfe can be trusted" in result.stdout


def test_names_beyond_ascii_reach_json_and_text_whole(omnigraph: Any) -> None:
    uri = "memory://größe/日本"
    assert f"passed: {uri} " in omnigraph("storage", "check", uri, "--rounds", "1").stdout
    assert json.loads(omnigraph("storage", "check", uri, "--rounds", "1", "--json").stdout)["uri"] == uri


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LEAKS = {
    "an exception that nobody foresaw": """
        def __init__(self, root, options):
            raise ValueError(f"bad token {options['token']}")
    """,
    "an error of the plugin's own": """
        def __init__(self, root, options):
            token = options["token"]
            raise StorageError(
                f"refused {token}", condition=StorageCondition.PERMANENT, help=f"not {token}", details={"sent": [token]}
            )
    """,
    "a failing step": """
        def _write_if_absent(self, key, data):
            token = self.options["token"]
            raise StorageError(f"refused {token}", condition=StorageCondition.PERMANENT, details={"token": token})
    """,
    "the cause of a failing step": """
        def _write_if_absent(self, key, data):
            raise OSError(self.options["token"])
    """,
    "what writers saw in a race": """
        def _write_if_absent(self, key, data):
            if threading.current_thread() is not threading.main_thread():
                raise StorageError(f"refused {self.options['token']}", condition=StorageCondition.PERMANENT)
            return super()._write_if_absent(key, data)
    """,
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS.keys())
@pytest.mark.parametrize("given", ["by option", "by environment"])
def test_a_secret_is_never_shown_even_when_a_plugin_repeats_it(
    omnigraph: Any, install_vault: Callable[[str], None], leak: str, given: str
) -> None:
    install_vault(leak)
    words = ["storage", "check", "vault://x", "--rounds", "1"]
    words += ["--option", f"token={SECRET}"] if given == "by option" else []
    environment = {} if given == "by option" else {"VAULT_TOKEN": SECRET}
    text = omnigraph(*words, "--debug", **environment)
    document = omnigraph(*words, "--json", **environment)
    for result in (text, document):
        assert result.returncode == 1
        assert SECRET not in result.stdout + result.stderr
    json.loads(document.stdout)
    # The plugin did get the secret and did try to show it, in one place at least.
    assert "[hidden]" in text.stdout + text.stderr


def test_a_value_of_the_wrong_kind_is_not_quoted_by_the_command_line(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault("pass")
    result = omnigraph("storage", "check", "vault://x", "--option", f"token={SECRET}", "--rounds", "0")
    assert result.returncode == 2
    assert SECRET not in result.stdout + result.stderr
