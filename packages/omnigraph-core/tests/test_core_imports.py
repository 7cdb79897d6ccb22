"""What an import costs: nothing heavier than the standard library and pluggy until a table is touched."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"lance", "pyarrow", "datafusion", "s3fs", "fsspec", "pyspark", "numpy", "pandas", "pytest", "click", "rich"}


def modules_after(statements: str, **environment: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after the statements."""
    report = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{statements}\n{report}"],
        env={"PATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


COMPILER = ["omnigraph.lang", "omnigraph.schema", "omnigraph.query", "omnigraph.query.lint", "omnigraph.plan"]


@pytest.mark.parametrize(
    "module",
    [
        *("omnigraph", "omnigraph.aio", "omnigraph.errors", "omnigraph.storage", "omnigraph.embedding"),
        *("omnigraph.plugins", *COMPILER),
    ],
)
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    loaded = modules_after(f"import {module}")
    assert "omnigraph" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("module", COMPILER)
def test_the_compiler_loads_the_standard_library_and_no_storage_module(module: str) -> None:
    statements = (
        f"import sys; before = set(sys.modules); import {module}\n"
        "own = {name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names\n"
        "parts = {name.split('.')[1] for name in sys.modules if name.startswith('omnigraph.')}\n"
        "print(*sorted(own)); print(*sorted(parts))"
    )
    done = subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True, timeout=60, check=True)
    own, parts = done.stdout.splitlines()
    assert own == "omnigraph"
    assert set(parts.split()) <= {"errors", "cancellation", "lang", "schema", "query", "plan"}


def test_the_front_door_loads_what_it_offers_on_first_use() -> None:
    statements = (
        "import sys, omnigraph\n"
        "assert 'omnigraph.plan' not in sys.modules\n"
        "plan = omnigraph.explain('query q() { match { $a: A } return { $a } }', 'node A { }')\n"
        "assert 'NodeScan $a: A' in plan, plan\n"
        "assert all(hasattr(omnigraph, name) for name in omnigraph.__all__)\n"
        "assert not hasattr(omnigraph, 'explian')"
    )
    assert "omnigraph" in modules_after(statements)


def test_opening_the_in_memory_backend_imports_nothing_heavy() -> None:
    loaded = modules_after(
        "from omnigraph.plugins import open_adapter; open_adapter('memory://scratch').close()",
        OMNIGRAPH_DISABLE_PLUGINS="*",
    )
    assert loaded & HEAVY == set()


def test_importing_plugins_neither_reads_the_environment_nor_looks_for_plugins() -> None:
    statements = (
        "import os, omnigraph.plugins as plugins\n"
        "assert plugins.installed_plugins.cache_info().currsize == 0\n"
        "os.environ['OMNIGRAPH_DISABLE_PLUGINS'] = '*'\n"
        "print(*[info.name for info in plugins.installed_plugins().infos if info.status == 'loaded'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", statements],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.split() == ["memory"]
