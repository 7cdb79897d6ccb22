"""Results as JSON: one document, indented for the eye, ASCII so that no terminal or pipe can spoil it."""

from __future__ import annotations

import json

from omnigraph_cli.output.results import Result


def json_of(result: Result) -> str:
    """The whole document, without a newline at the end."""
    return json.dumps(result.to_dict(), indent=2)
