"""Each import contract can fail: a deliberate violation in a copy of the sources is reported by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    each["id"]: each["name"]
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
}

# contract → (file below src, a line that breaks it)
VIOLATIONS = {
    "layers": ("omnigraph/storage/keys.py", "import omnigraph.plugins"),
    "lance-door": ("omnigraph/testing/races.py", "import lance"),
    "light-spi": ("omnigraph/storage/uri.py", "import pyarrow"),
    "compiler": ("omnigraph/query/describe.py", "import omnigraph.storage.keys"),
    "backends": ("omnigraph_storage_local/adapter.py", "import omnigraph.testing.faults"),
    "backends-direct": ("omnigraph_storage_local/adapter.py", "import omnigraph.config"),
    "front-door": ("omnigraph_cli/main.py", "import omnigraph.tables.probe"),
    "leaves": ("omnigraph_cli/main.py", "import omnigraph_storage_s3.options"),
    "acyclic": ("omnigraph/errors/root.py", "import omnigraph.storage.keys"),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of every package's sources in one folder."""
    copy = tmp_path_factory.mktemp("sources")
    for package in ROOT.glob("packages/*/src/*/"):
        shutil.copytree(package, copy / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def lint(sources: Path) -> subprocess.CompletedProcess[str]:
    command = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        env={**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "200"},
        cwd=sources,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_has_a_violation_here():
    assert VIOLATIONS.keys() == CONTRACTS.keys()


def test_the_sources_as_they_are_keep_every_contract(sources: Path):
    done = lint(sources)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_a_violation_is_reported_by_the_contract_s_name(sources: Path, contract: str):
    name, line = VIOLATIONS[contract]
    module = sources / name
    before = module.read_text("utf-8")
    module.write_text(f"{before}\n{line}\n", encoding="utf-8")
    try:
        done = lint(sources)
    finally:
        module.write_text(before, encoding="utf-8")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{CONTRACTS[contract]} BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("omnigraph_spark/commands/spark.py", "import omnigraph_cli.session"),
        ("omnigraph_spark/exporting.py", "import omnigraph_cli.verbs"),
        ("omnigraph_cli/main.py", "import omnigraph_spark.commands.spark"),
    ],
)
def test_only_verbs_know_the_command_line_and_only_what_it_publishes(sources: Path, name: str, line: str):
    module = sources / name
    before = module.read_text("utf-8")
    module.write_text(f"{before}\n{line}\n", encoding="utf-8")
    try:
        done = lint(sources)
    finally:
        module.write_text(before, encoding="utf-8")
    assert f"{CONTRACTS['leaves']} BROKEN" in done.stdout


def test_a_stray_module_has_no_place_in_the_stack(sources: Path):
    stray = sources / "omnigraph" / "utils.py"
    stray.write_text('"""Stray."""\n', encoding="utf-8")
    try:
        done = lint(sources)
    finally:
        stray.unlink()
    assert done.returncode == 1
    assert "omnigraph.utils" in done.stdout + done.stderr
