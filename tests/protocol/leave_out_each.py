"""Each step of the protocol is left out, and the tests that are named for it fail; ``tox run -e protocol``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from protocol_steps import STEPS, Step
from without_step import VARIABLE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize(
    ("step", "test"), [pytest.param(step, test, id=f"{step.name}-{test}") for step in STEPS for test in step.tests]
)
def test_without_a_step_the_tests_that_are_named_for_it_fail(step: Step, test: str):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "without_step", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        env=os.environ | {VARIABLE: step.name, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, f"{done.stdout[-3000:]}{done.stderr[-1000:]}"
    assert " failed" in done.stdout, done.stdout[-3000:]
