"""A contract is worth what it catches: break each method in turn and see its clauses turn red."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph import testing
from omnigraph.storage import StorageAdapter
from omnigraph.testing import storage_contract

HERE = Path(__file__).parent


def _load(name: str):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OWNERS = _load("clause_owners").OWNERS
NOT_IN_MEMORY = _load("clause_owners").NOT_IN_MEMORY


CONTRACTS = [getattr(testing, name) for name in storage_contract.__all__ if name.endswith("Contract")]


def all_clauses() -> set[str]:
    return {name for contract in CONTRACTS for name in dir(contract) if name.startswith("test_")}


def class_name(broken: str, contract: type) -> str:
    return "Test" + "_".join((*broken.split(), contract.__name__))


@pytest.fixture(scope="module")
def red_clauses() -> dict[str, set[str]]:
    """For each break, which of the clauses that it owns fail or error; one run of pytest for all of them."""
    wanted = {
        f"{HERE / 'broken_memory.py'}::{class_name(broken, contract)}::{clause}": (broken, clause)
        for broken, clauses in OWNERS.items()
        for clause in clauses
        for contract in CONTRACTS
        if hasattr(contract, clause)
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE",
         "--import-mode=importlib", *wanted],
        capture_output=True, text=True, check=False, cwd=HERE,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-3000:] + done.stderr[-3000:]
    red = set(re.findall(r"^(?:FAILED|ERROR) \S*?::(Test\w+::test_\w+)", done.stdout, re.MULTILINE))
    found: dict[str, set[str]] = {}
    for node, (broken, clause) in wanted.items():
        if node.partition("::")[2] in red:
            found.setdefault(broken, set()).add(clause)
    return found


@pytest.mark.parametrize("broken", OWNERS)
def test_breaking_a_method_turns_its_clauses_red(red_clauses: dict[str, set[str]], broken: str):
    red = red_clauses.get(broken, set())
    assert red >= OWNERS[broken], f"still green: {sorted(OWNERS[broken] - red)}"


def test_every_clause_has_an_owner():
    owned = frozenset().union(*OWNERS.values()) | NOT_IN_MEMORY
    assert owned == all_clauses()


def test_every_method_that_a_backend_may_write_owns_clauses():
    mentioned = {broken.partition(" ")[0] for broken in OWNERS}
    writable = {
        name
        for name, member in inspect.getmembers(StorageAdapter, inspect.isfunction)
        if member.__qualname__.startswith("StorageAdapter._") and not name.startswith("__")
    } | {"lance_location", "check_lance_commits", "make_durable"}
    internal = {"_edge", "_condition"}
    assert writable - internal <= mentioned
