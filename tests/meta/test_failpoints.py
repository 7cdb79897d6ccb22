"""Failpoints: the code, the registry and the docs agree on what there is and where it lies.

Read from the source, not from a run, so that a place which no test reaches is seen too.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from omnigraph import failpoints
from omnigraph.failpoints import FAILPOINTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "failpoints.md"
REGISTRY = Path(failpoints.__file__)
PRODUCT = [
    path
    for path in ROOT.glob("packages/*/src/**/*.py")
    if path != REGISTRY and "testing" not in path.relative_to(ROOT).parts
]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parts[3:]).removesuffix(".py").removesuffix(".__init__")


def names_of_failpoints(tree: ast.Module) -> tuple[set[str], dict[str, str]]:
    """How a module calls the registry: its names for the module, and those for what it took out of it."""
    modules, taken = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "omnigraph":
            modules |= {each.asname or each.name for each in node.names if each.name == "failpoints"}
        elif isinstance(node, ast.Import):
            named = [each for each in node.names if each.name == "omnigraph.failpoints"]
            assert all(each.asname for each in named), "take it by: from omnigraph import failpoints"
            modules |= {each.asname for each in named if each.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "omnigraph.failpoints":
            taken |= {each.asname or each.name: each.name for each in node.names}
    return modules, taken


def registry_name(node: ast.expr, modules: set[str], taken: dict[str, str]) -> str | None:
    """What an expression is called in the registry; None when it is not of the registry."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
        return node.attr
    return taken.get(node.id) if isinstance(node, ast.Name) else None


@functools.cache
def calls_of(path: Path) -> tuple[ast.Module, tuple[ast.Call, ...]]:
    """A module, and every call in it; nothing where the registry is not mentioned."""
    text = path.read_text("utf-8")
    tree = ast.parse(text if "failpoints" in text else "")
    return tree, tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))


def reaches(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Each call of ``reach`` in a module, with the constant that it is given; a dash when it is given another thing."""
    tree, calls = calls_of(path)
    modules, taken = names_of_failpoints(tree)
    for node in calls:
        if registry_name(node.func, modules, taken) == "reach":
            given = registry_name(node.args[0], modules, taken) if len(node.args) == 1 else None
            yield given or "-", node


def places() -> dict[str, set[str]]:
    """By failpoint, the modules in which it lies."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PRODUCT:
        for constant, _ in reaches(path):
            found[getattr(failpoints, constant)].add(module_name(path))
    return dict(found)


def documented() -> dict[str, tuple[str, set[str]]]:
    """By failpoint, what the page says about it and the modules that the page names."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {name: (where, set(re.findall(r"`([\w.]+)`", modules))) for name, where, modules in rows}


def test_the_guard_reads_the_modules_of_the_write_path():
    assert {"omnigraph.write.publish", "omnigraph.write.plan"} <= {module_name(path) for path in PRODUCT}


def test_a_failpoint_is_reached_by_its_constant_and_by_nothing_else():
    wrong = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in PRODUCT
        for constant, call in reaches(path)
        if getattr(failpoints, constant, None) not in FAILPOINTS
    ]
    assert wrong == []


def test_nobody_but_tests_arms_a_failpoint():
    arming = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PRODUCT
        for tree, calls in [calls_of(path)]
        for modules, taken in [names_of_failpoints(tree)]
        for node in calls
        if registry_name(node.func, modules, taken) in {"arm", "disarm"}
    ]
    assert arming == []


def test_every_failpoint_of_the_registry_lies_somewhere():
    assert set(FAILPOINTS) - set(places()) == set()


def test_the_page_lists_every_failpoint_with_its_meaning_and_no_other():
    assert {name: where for name, (where, _) in documented().items()} == FAILPOINTS


def test_the_page_says_where_each_failpoint_lies():
    assert {name: modules for name, (_, modules) in documented().items()} == places()
