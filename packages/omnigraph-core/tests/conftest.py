"""What the tests of core share: the oracle's modules, and the switch that writes expected files anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Test modules are imported by path; what several of them use has to be found by name.
sys.path.append(str(Path(__file__).parent / "errors"))
sys.path.append(str(Path(__file__).parent / "oracle"))
sys.path.append(str(Path(__file__).parent / "fuzz"))
sys.path.append(str(Path(__file__).parent / "write"))
sys.path.append(str(Path(__file__).parent / "engine"))
sys.path.append(str(Path(__file__).parent / "history"))
sys.path.append(str(Path(__file__).parent / "schema"))
sys.path.append(str(Path(__file__).parent / "testing"))

# Machines are shared: neither a slow example nor slow generation is a failure. Hangs are guarded by themselves.
settings.register_profile("omnigraph", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("omnigraph")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases",
        action="store_true",
        default=False,
        help="write the expected files of tests/cases anew; read the difference before you keep it",
    )
