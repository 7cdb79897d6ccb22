"""Leaving out any single step of the protocol turns the tests red that the documentation names for it.

``leave_out_each`` does it, in ``tox run -e protocol``; here it is only seen that all that is named exists.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from protocol_steps import STEPS, Step

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "recovery.md"


def names(test: str) -> tuple[str, str]:
    """The file and the function of a test."""
    path, _, name = test.partition("::")
    return path, name.partition("[")[0]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_test_that_is_named_exists_and_the_documentation_names_it(step: Step):
    row = next((line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{step.name}` |")), "")
    assert step.what in row, f"docs/explanation/recovery.md has no row for {step.name}: {step.what}"
    for test in step.tests:
        path, function = names(test)
        assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE), test
        assert f"`{function}`" in row, f"the row of {step.name} does not name {function}"
