"""What a start costs: help and listings import nothing heavy, and completion works."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

HEAVY = {"lance", "pyarrow", "datafusion", "s3fs", "fsspec", "botocore", "aiobotocore", "pyspark", "numpy", "pandas"}

REPORT = """
import sys
from omnigraph_cli.main import cli
try:
    cli.main(sys.argv[1:])
except SystemExit as leaving:
    print(leaving.code, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported_by(omnigraph: Any, *words: str) -> set[str]:
    """The top-level packages in memory when the command ended well."""
    result = subprocess.run(
        [sys.executable, "-c", REPORT, "-q", *words],
        **omnigraph.settings(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, *names = result.stderr.split()
    assert code == "0"
    return set(names)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["version"],
        ["version", "--json"],
        ["plugins"],
        ["storage", "check", "--help"],
        ["load", "--help"],
        ["export", "--help"],
        ["recovery", "run", "--help"],
        ["lint", "--schema", "/dev/null", "--query", "/dev/null"],
        ["schema", "plan", "--from", "/dev/null", "--schema", "/dev/null"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(omnigraph: Any, words: list[str]) -> None:
    names = imported_by(omnigraph, *words)
    assert "omnigraph" in names
    assert names & HEAVY == set()


def test_help_and_json_do_without_the_text_renderer(omnigraph: Any) -> None:
    assert "rich" not in imported_by(omnigraph, "--help")
    assert "rich" not in imported_by(omnigraph, "plugins", "--json")


def test_help_and_listings_do_without_the_compiler(omnigraph: Any) -> None:
    script = REPORT.replace("""name.partition(".")[0]""", "name")
    for words in (["--help"], ["plugins"]):
        result = subprocess.run(
            [sys.executable, "-c", script, "-q", *words],
            **omnigraph.settings(),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        names = set(result.stderr.split())
        assert "omnigraph.errors" in names
        assert {"omnigraph.query", "omnigraph.schema", "omnigraph.plan"}.isdisjoint(names)


def test_the_measure_sees_heavy_imports_where_they_are_needed(omnigraph: Any) -> None:
    assert "lance" in imported_by(omnigraph, "storage", "check", "memory://x", "--rounds", "1")


@pytest.mark.parametrize(("typed", "expected"), [("pl", "plain,plugins"), ("-q ver", "plain,version")])
def test_the_shell_can_complete_verbs(omnigraph: Any, typed: str, expected: str) -> None:
    result = omnigraph(
        _OMNIGRAPH_COMPLETE="bash_complete", COMP_WORDS=f"omnigraph {typed}", COMP_CWORD=str(len(typed.split()))
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == expected


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["commit"],
        ["commit", "list"],
        ["commit", "show"],
        ["copy"],
        ["ensure-indices"],
        ["explain"],
        ["export"],
        ["init"],
        ["lint"],
        ["load"],
        ["plugins"],
        ["query"],
        ["recovery"],
        ["recovery", "discard"],
        ["recovery", "list"],
        ["recovery", "run"],
        ["repair"],
        ["schema"],
        ["schema", "plan"],
        ["snapshot"],
        ["storage"],
        ["storage", "check"],
        ["version"],
    ],
    ids=" ".join,
)
def test_every_verb_has_help_with_an_example(omnigraph: Any, words: list[str]) -> None:
    result = omnigraph(*words, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(" ".join(["Usage: omnigraph", *words]))
    assert "Examples:" in result.stdout
    assert omnigraph(*words, "-h").stdout == result.stdout
