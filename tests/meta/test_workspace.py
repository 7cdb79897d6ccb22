"""Rules about the whole tree that reviewers would otherwise repeat."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(each.parent for each in ROOT.glob("packages/*/pyproject.toml"))
PROJECTS = {each.name: tomllib.loads((each / "pyproject.toml").read_text("utf-8"))["project"] for each in PACKAGES}
SOURCES = sorted(ROOT.glob("packages/*/src/**/*.py"))

MAX_LINES = 600
NAMELESS = {"utils.py", "helpers.py", "common.py", "base.py", "core.py", "misc.py"}


def test_all_distributions_have_one_version():
    versions = {name: project["version"] for name, project in PROJECTS.items()}
    import omnigraph

    assert set(versions.values()) == {omnigraph.__version__}, versions


def test_leaf_packages_accept_core_of_their_own_minor_version_only():
    for name, project in PROJECTS.items():
        if name == "omnigraph-core":
            continue
        major, minor, _ = project["version"].split(".")
        wanted = f"omnigraph-core>={project['version']},<{major}.{int(minor) + 1}"
        assert wanted in project["dependencies"], name


def test_every_dependency_has_a_floor():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    extras = [each for project in PROJECTS.values() for each in project.get("optional-dependencies", {}).values()]
    for requirements in [*(project["dependencies"] for project in PROJECTS.values()), *extras, *groups.values()]:
        for requirement in requirements:
            assert ">=" in requirement, requirement


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_every_package_ships_types_license_and_readme(package: Path):
    (source,) = (each.parent for each in (package / "src").glob("*/__init__.py"))
    for needed in (source / "py.typed", package / "LICENSE", package / "README.md"):
        assert needed.is_file(), needed
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_modules_are_one_idea_and_named_by_what_they_make():
    assert [each for each in SOURCES if len(each.read_text("utf-8").splitlines()) > MAX_LINES] == []
    assert [each for each in SOURCES if each.name in NAMELESS] == []


def test_every_module_says_what_it_is():
    assert [each for each in SOURCES if not each.read_text("utf-8").startswith(('"""', 'r"""'))] == []


def test_constraints_hold_names_and_versions_only():
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        assert re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ; [^@:/]+)?", line), line
        assert "://" not in line


def test_no_lock_file_is_kept():
    assert not list(ROOT.glob("*.lock"))
    assert "uv.lock" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_ci_runs_the_test_command_of_the_readme():
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert len(lines) == 3
    assert "tox run" in lines[-1]
    assert "python -m pip install tox && tox run\n" in (ROOT / "README.md").read_text("utf-8")
