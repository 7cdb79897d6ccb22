"""The reference page of the command line is what the command line says of itself."""

from __future__ import annotations

from pathlib import Path

from omnigraph_cli.reference import reference_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_the_reference_page_is_what_the_help_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), (
        "The help texts changed. Make the page anew: python -m omnigraph_cli.reference > docs/reference/cli.md"
    )


def test_the_reference_page_has_every_verb() -> None:
    headings = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## omnigraph")]
    assert headings == [
        "## omnigraph",
        "## omnigraph plugins",
        "## omnigraph storage",
        "## omnigraph storage check",
        "## omnigraph version",
    ]
