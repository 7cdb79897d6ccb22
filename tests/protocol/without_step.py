"""A plugin of pytest that leaves one step of the protocol out: ``-p without_step``; the environment names it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from protocol_steps import STEPS

VARIABLE = "OMNIGRAPH_WITHOUT_STEP"


@pytest.fixture(scope="session", autouse=True)
def without_step() -> Iterator[None]:
    (step,) = (each for each in STEPS if each.name == os.environ[VARIABLE])
    with pytest.MonkeyPatch.context() as patch:
        step.patch(patch)
        yield
