"""What is seen: colour and progress on terminals only, no secrets anywhere, letters that every stream can take."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from omnigraph_cli.session import Session

PATIENCE_SECONDS = 60
SECRET = "open-sesame-42"
TERMINAL = {"TERM": "xterm-256color"}


def test_a_terminal_gets_colour(omnigraph: Any) -> None:
    seen, _ = omnigraph.on_terminal("plugins", stream="stdout")
    assert "\x1b[" in seen


def test_no_color_leaves_no_escape_sequence_on_a_terminal(omnigraph: Any) -> None:
    seen, _ = omnigraph.on_terminal("plugins", stream="stdout", NO_COLOR="1")
    assert "✓ memory" in seen
    assert "\x1b" not in seen


def test_no_color_holds_for_errors_too(omnigraph: Any) -> None:
    coloured, _ = omnigraph.on_terminal("storage", "check", "nosuch://x", stream="stderr")
    plain, _ = omnigraph.on_terminal("-q", "storage", "check", "nosuch://x", stream="stderr", NO_COLOR="1")
    assert "\x1b[" in coloured
    assert plain.startswith("error: No storage backend")
    assert "\x1b" not in plain


def test_a_pipe_gets_no_escape_sequence(omnigraph: Any) -> None:
    result = omnigraph("plugins", **TERMINAL)
    assert "\x1b" not in result.stdout + result.stderr


def test_the_step_that_runs_is_shown_on_a_terminal_and_stays_out_of_the_results(omnigraph: Any) -> None:
    seen, stdout = omnigraph.on_terminal("storage", "check", "memory://x", "--json", stream="stderr")
    document = json.loads(stdout)
    assert document["passed"] is True
    shown = re.findall(r"(\w+): checking memory://x", seen)
    assert list(dict.fromkeys(shown)) == [step["name"] for step in document["steps"]]


def test_a_step_that_a_backend_cannot_take_is_not_announced(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault("pass")
    seen, _ = omnigraph.on_terminal("storage", "check", "vault://x", "--json", stream="stderr")
    assert "create_race: checking" in seen
    assert "replace_race" not in seen


def test_long_lines_are_wrapped_between_words_on_a_terminal_and_whole_in_a_pipe(
    omnigraph: Any, install: Callable[..., None]
) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    address = "https://example.org/" + "x" * 80
    install("wordy", f"raise ValueError('{words} {address}')")
    seen, _ = omnigraph.on_terminal("plugins", stream="stdout", COLUMNS="60", NO_COLOR="1")
    lines = seen[seen.index("✗ wordy") :].splitlines()
    reason = lines[1 : next(number for number, line in enumerate(lines) if not line)]
    assert all(line.startswith(" " * 18) for line in reason[1:])
    assert all(len(line) <= 60 for line in reason[:-1])
    assert " ".join(line.strip() for line in reason).endswith(f"{words} {address}")
    assert reason[-1].strip() == address
    assert f"reason        ValueError: {words} {address}\n" in omnigraph("plugins", COLUMNS="60").stdout


def test_quiet_shows_no_progress_on_a_terminal(omnigraph: Any) -> None:
    seen, _ = omnigraph.on_terminal("storage", "check", "memory://x", "--quiet", stream="stderr")
    assert seen == ""


def test_marks_give_way_to_plain_letters_where_the_stream_has_no_others(omnigraph: Any) -> None:
    result = omnigraph("plugins", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert "\n+ memory" in result.stdout
    assert result.stdout.isascii()


def test_a_name_that_the_stream_cannot_write_is_escaped_and_no_crash(omnigraph: Any) -> None:
    result = omnigraph("storage", "check", "memory://größe", "--rounds", "1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert r"passed: no fault found at memory://gr\xf6\xdfe (" in result.stdout


def test_names_beyond_ascii_reach_json_and_text_whole(omnigraph: Any) -> None:
    uri = "memory://größe/日本"
    assert f"passed: no fault found at {uri} " in omnigraph("storage", "check", uri, "--rounds", "1").stdout
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


REPEATS_ITS_TOKEN = """
def _write_if_absent(self, key, data):
    token = self.options["token"]
    raise StorageError(
        f"refused storage {token} x{token}x vault://x configuration",
        condition=StorageCondition.CONFIGURATION,
        details={"token": token},
    )
"""


@pytest.mark.parametrize("token", ["a", "x", "storage", "vault", "honesty", "configuration", "vault://x"])
def test_hiding_a_secret_leaves_the_words_of_omnigraph_alone(
    omnigraph: Any, install_vault: Callable[[str], None], token: str
) -> None:
    install_vault(REPEATS_ITS_TOKEN)
    text = omnigraph("storage", "check", "vault://x", VAULT_TOKEN=token)
    document = omnigraph("storage", "check", "vault://x", "--json", VAULT_TOKEN=token)
    assert text.stderr == document.stderr == "storage check vault://x\n"
    assert "✗ honesty" in text.stdout
    assert text.stdout.splitlines()[-1] == "failed: do not keep a graph at vault://x"
    findings = json.loads(document.stdout)
    assert findings["uri"] == "vault://x"
    failed = findings["steps"][2]
    assert failed["name"] == "honesty"
    assert failed["error"]["kind"] == "storage"
    assert failed["error"]["details"]["condition"] == "configuration"
    assert "refused storage " in failed["error"]["message"]
    assert " vault://x " in failed["error"]["message"]
    is_short = len(token) < 8
    is_kept = token == "vault://x"
    assert (failed["error"]["details"]["token"] == "[hidden]") is not (is_short or is_kept)


def test_hiding_a_secret_leaves_the_kind_of_an_error_alone(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault(
        """
        def __init__(self, root, options):
            from omnigraph.errors import InvalidInputError
            raise InvalidInputError("bad: " + options["token"])
        """
    )
    document = omnigraph("storage", "check", "vault://x", "--json", VAULT_TOKEN="invalid_input")
    assert document.returncode == 3
    error = json.loads(document.stdout)["error"]
    assert (error["kind"], error["message"]) == ("invalid_input", "bad: [hidden]")


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("sesame-7", "refused storage [hidden] xsesame-7x vault://x configuration"),
        ("open-sesame-1234", "refused storage [hidden] x[hidden]x vault://x configuration"),
        ("short", "refused storage short xshortx vault://x configuration"),
    ],
)
def test_a_secret_is_hidden_as_a_whole_word_and_a_long_one_anywhere(
    omnigraph: Any, install_vault: Callable[[str], None], token: str, expected: str
) -> None:
    install_vault(REPEATS_ITS_TOKEN)
    document = omnigraph("storage", "check", "vault://x", "--json", VAULT_TOKEN=token)
    assert json.loads(document.stdout)["steps"][2]["error"]["message"] == expected


def test_a_secret_is_hidden_where_it_is_percent_encoded(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault(
        """
        def __init__(self, root, options):
            from urllib.parse import quote
            raise ValueError("GET /?token=" + quote(options["token"], safe=""))
        """
    )
    result = omnigraph("storage", "check", "vault://x", "--debug", VAULT_TOKEN="open/sesame+4")
    assert "GET /?token=[hidden]" in result.stderr
    assert "open%2Fsesame%2B4" not in result.stdout + result.stderr


def test_secrets_of_several_places_are_hidden_and_each_place_stays_readable() -> None:
    session = Session()
    session.hide(["first-secret"], keep="s3://first-secret-bucket/graph")
    session.hide(["other-secret"], keep="s3://lake/out")
    told = "first-secret other-secret s3://first-secret-bucket/graph s3://lake/out"
    assert session.clean(told) == "[hidden] [hidden] s3://first-secret-bucket/graph s3://lake/out"
