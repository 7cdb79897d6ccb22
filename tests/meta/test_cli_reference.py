"""The reference page of the command line is what the command line says of itself, and what it prints."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from omnigraph.errors import ErrorKind
from omnigraph_cli.main import cli
from omnigraph_cli.reference import SAMPLES, reference_page, steadied

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli.md"
EXAMPLES = dict(re.findall(r"^\$ omnigraph (.*)\n(\{\n(?:.*\n)*?\}\n)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_reference_page_is_what_the_help_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), (
        "The help texts changed. Make the page anew: python -m omnigraph_cli.reference > docs/reference/cli.md"
    )


def test_the_reference_page_has_every_verb() -> None:
    headings = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## omnigraph")]
    assert headings == [
        "## omnigraph",
        "## omnigraph branch",
        "## omnigraph branch create",
        "## omnigraph branch delete",
        "## omnigraph branch list",
        "## omnigraph branch merge",
        "## omnigraph branch show",
        "## omnigraph changes",
        "## omnigraph changes baseline",
        "## omnigraph changes poll",
        "## omnigraph commit",
        "## omnigraph commit changes",
        "## omnigraph commit graph",
        "## omnigraph commit list",
        "## omnigraph commit show",
        "## omnigraph copy",
        "## omnigraph diff",
        "## omnigraph ensure-indices",
        "## omnigraph explain",
        "## omnigraph export",
        "## omnigraph init",
        "## omnigraph lint",
        "## omnigraph load",
        "## omnigraph mutate",
        "## omnigraph plugins",
        "## omnigraph query",
        "## omnigraph recovery",
        "## omnigraph recovery discard",
        "## omnigraph recovery list",
        "## omnigraph recovery run",
        "## omnigraph repair",
        "## omnigraph schema",
        "## omnigraph schema plan",
        "## omnigraph snapshot",
        "## omnigraph spark",
        "## omnigraph spark export",
        "## omnigraph spark load",
        "## omnigraph storage",
        "## omnigraph storage check",
        "## omnigraph tag",
        "## omnigraph tag create",
        "## omnigraph tag delete",
        "## omnigraph tag list",
        "## omnigraph version",
    ]


def test_the_reference_page_has_the_exit_code_of_every_kind_of_error() -> None:
    listed = {
        kind: int(code)
        for code, kinds in re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", kinds)
    }
    of_records = dict.fromkeys(
        ("invalid_input", "change_cursor_rejected", "load_id_reused", "compile", "constraint"), 3
    )
    of_records["outcome_unknown"] = 5
    of_records |= dict.fromkeys(("conflict", "head_moved", "branch_replaced", "contention", "merge_conflict"), 4)
    assert listed == dict.fromkeys(ErrorKind, 1) | of_records | {"usage": 2, "interrupted": 130, "terminated": 143}


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
        ["commit", "types", "uri"],
        ["base_branch", "branch", "branch_created", "commit", "edges", "mode", "nodes", "total", "uri"],
        ["error"],
        ["branch", "commit_id", "internal_schema_version", "manifest_version", "types", "uri"],
        ["branch", "commits", "uri"],
        ["loads", "pending", "recoveries", "uri"],
        ["blocks", "branch", "caught_up", "cursor", "head", "page_token", "uri"],
        ["columns", "graph_commit_id", "query_name", "row_count", "rows", "target"],
        ["actor_id", "affected_edges", "affected_nodes", "branch", "commit", "query_name", "uri"],
        ["error"],
        ["branch", "built", "commit", "pending", "uri"],
        ["branch", "uri"],
        ["branches", "uri"],
        ["actor_id", "affected_edges", "affected_nodes", "branch", "commit", "query_name", "uri"],
        ["changes", "filter", "from_commit", "summary", "to_commit", "uri"],
        [
            "base_commit",
            "branch_delete_error",
            "branch_deleted",
            "changes",
            "commit",
            "conflicts",
            "dry_run",
            "into",
            "outcome",
            "resolved",
            "source",
            "source_commit",
            "uri",
        ],
        ["tag", "uri"],
        ["branches", "bytes", "files", "lost", "source", "tags", "target"],
        ["relocated", "uri", "versions"],
        [
            "analyzed",
            "graph_commit_id",
            "indexes",
            "missing_indexes",
            "query_name",
            "query_path",
            "row_count",
            "steps",
            "target",
            "uri",
        ],
    ]


@pytest.fixture(scope="module")
def printed_documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What every command of the page prints, run one after the other in one directory."""
    with contextlib.chdir(tmp_path_factory.mktemp("page")):
        for name, text in SAMPLES.items():
            Path(name).write_text(text, encoding="utf-8")
        return {words: steadied(json.loads(CliRunner().invoke(cli, shlex.split(words)).stdout)) for words in EXAMPLES}


@pytest.mark.parametrize("words", EXAMPLES)
def test_a_document_on_the_reference_page_is_what_the_command_prints(
    words: str, printed_documents: dict[str, dict[str, Any]]
) -> None:
    shown = json.loads(EXAMPLES[words])
    printed = printed_documents[words]
    if "plugins" in shown:
        # The page has the one plugin that everybody has.
        assert shown["plugins"]
        printed["plugins"] = [each for each in printed["plugins"] if each in shown["plugins"]]
    assert printed == shown


def test_no_help_text_shows_the_marks_that_it_is_laid_out_by() -> None:
    assert "\\b" not in PAGE.read_text(encoding="utf-8")
    assert "\n  jsonl   a line of metadata, then one row per line\n" in PAGE.read_text(encoding="utf-8")


def test_the_examples_on_the_films_run_as_they_are_printed(tmp_path: Path) -> None:
    verbs = ([], ["query"], ["explain"], ["mutate"])
    help_texts = "\n".join(CliRunner().invoke(cli, [*verb, "--help"]).stdout for verb in verbs)
    lines = [line.strip() for line in help_texts.replace("\\\n", "").splitlines()]
    examples = [shlex.split(line)[1:] for line in lines if line.startswith("omnigraph ") and "examples/films" in line]
    assert sorted(words[0] for words in examples) == [
        "explain",
        "explain",
        "init",
        "load",
        "mutate",
        "mutate",
        "query",
        "query",
        "query",
        "query",
    ]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with contextlib.chdir(tmp_path):
        for words in examples:
            typed = words[: words.index(">")] if ">" in words else words
            result = CliRunner().invoke(cli, typed)
            assert (result.exit_code, bool(result.stdout)) == (0, True), (typed, result.output)
