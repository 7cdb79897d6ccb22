"""The pytest plugin keeps the graph contract from being hollowed out, and its clauses can be selected."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PLACE = """
    import secrets
    import pytest
    from omnigraph.storage.memory import MEMORY_BACKEND
    from omnigraph.testing import GraphContract, GraphPlace, StorageAdapterContract, graph_contract_for

    class Place:
        @pytest.fixture
        def place(self):
            return GraphPlace(uri=f"memory://guard-{secrets.token_hex(8)}/g")
"""

CLAUSE = "test_a_new_graph_is_empty_and_has_one_commit"


@pytest.fixture
def run(tmp_path: Path):
    """Run pytest on a module in a process of its own; the exit code and everything printed."""

    def run_module(body: str, *arguments: str) -> tuple[int, str]:
        module = tmp_path / "test_author.py"
        module.write_text(textwrap.dedent(PLACE) + textwrap.dedent(body), encoding="utf-8")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--strict-markers",
                *arguments,
                str(module),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run_module


def test_the_author_is_told_to_give_the_place_fixture(run):
    body = """
        class TestGiven(Place, GraphContract): pass

        class TestForgotten(GraphContract): pass
    """
    code, printed = run(body, "-k", CLAUSE)
    assert code == pytest.ExitCode.TESTS_FAILED, printed
    assert "gives no `place` fixture" in printed
    assert "1 passed" in printed
    assert "1 error" in printed


def test_a_hollowed_out_clause_is_a_usage_error(run):
    """How a clause is hollowed out is judged for all contracts alike; see test_contract_guard.py."""
    code, printed = run(f"class TestStore(Place, GraphContract):\n    def {CLAUSE}(self, graph): assert True")
    assert code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED), printed
    assert "overrides a clause" in printed


def test_each_contract_has_a_mark_of_its_own(run):
    body = """
        @graph_contract_for(MEMORY_BACKEND)
        class TestStore(Place): pass

        class TestAdapter(StorageAdapterContract): capabilities = frozenset()
    """
    code, printed = run(body, "-m", "graph_contract", "--collect-only")
    assert code == 0, printed
    assert f"TestStore::{CLAUSE}" in printed
    assert "TestAdapter" not in printed
    code, printed = run(body, "-m", "storage_contract", "--collect-only")
    assert code == 0, printed
    assert "TestStore" not in printed
    assert "TestAdapter::test_read_returns_exactly_the_stored_bytes" in printed
