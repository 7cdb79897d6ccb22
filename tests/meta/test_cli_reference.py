"""The reference page of the command line is what the command line says of itself, and what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from omnigraph.errors import ErrorKind
from omnigraph_cli.main import cli
from omnigraph_cli.reference import SAMPLES, reference_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
EXAMPLES = dict(re.findall(r"^\$ omnigraph (.*)\n(\{\n(?:.*\n)*?\}\n)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_reference_page_is_what_the_help_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), (
        "The help texts changed. Make the page anew: python -m omnigraph_cli.reference > docs/reference/cli.md"
    )


def test_the_reference_page_has_every_verb() -> None:
    headings = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## omnigraph")]
    assert headings == [
        "## omnigraph",
        "## omnigraph explain",
        "## omnigraph lint",
        "## omnigraph plugins",
        "## omnigraph schema",
        "## omnigraph schema plan",
        "## omnigraph storage",
        "## omnigraph storage check",
        "## omnigraph version",
    ]


def test_the_reference_page_has_the_exit_code_of_every_kind_of_error() -> None:
    listed = {
        kind: int(code)
        for code, kinds in re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", kinds)
    }
    special = {"usage": 2, "invalid_input": 3, "compile": 3, "interrupted": 130, "terminated": 143}
    assert listed == dict.fromkeys([*ErrorKind, "internal"], 1) | special


def test_the_reference_page_shows_a_document_of_every_verb_and_an_error() -> None:
    assert [sorted(json.loads(document)) for document in EXAMPLES.values()] == [
        ["error"],
        ["release", "storage_interface"],
        ["notes", "plugins"],
        ["passed", "steps", "uri", "verdict"],
        [
            "errors",
            "findings",
            "infos",
            "queries_processed",
            "query_path",
            "results",
            "schema_source",
            "status",
            "warnings",
        ],
        ["diagnostics", "from", "schema", "step_count", "steps", "supported"],
        ["plan", "query_name", "query_path"],
    ]


@pytest.mark.parametrize("words", EXAMPLES)
def test_a_document_on_the_reference_page_is_what_the_command_prints(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in SAMPLES.items():
        Path(name).write_text(text, encoding="utf-8")
    shown = json.loads(EXAMPLES[words])
    printed: dict[str, Any] = json.loads(CliRunner().invoke(cli, words.split()).stdout)
    if "plugins" in shown:
        # The page has the one plugin that everybody has.
        assert shown["plugins"]
        printed["plugins"] = [each for each in printed["plugins"] if each in shown["plugins"]]
    assert printed == shown
