"""The pytest plugin behind the contracts: a clause runs as written, or its deviation is declared.

pytest imports this module in every run of every environment that has core, so it imports pytest and the standard
library only. Contract classes are recognised by where they are defined.

Refused, as usage errors: overriding a clause without ``deviates``; ``test_x = None``; skip, skipif or xfail on a
clause, a contract class or its module; taking a class out of collection. A clause that skips while it runs fails.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

CONTRACTS = {
    "omnigraph.testing.storage_contract": "storage_contract",
    "omnigraph.testing.graph_contract": "graph_contract",
}
"""Where contract classes are defined, and the mark that their clauses get."""

pytest.register_assert_rewrite(*CONTRACTS)

_EVASIONS = ("skip", "skipif", "xfail")
_FIXED = frozenset({"race", "__test__", "__omnigraph_contract__"})
"""What a backend's class may not touch: how races are run, and whether clauses are collected at all."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the one mark by which a backend may depart from a clause."""
    config.addinivalue_line(
        "markers",
        "deviates(reason, raises): this backend cannot keep the overridden contract clause; it fails with `raises`.",
    )
    for mark in CONTRACTS.values():
        config.addinivalue_line(
            "markers", f"{mark}: a clause of the {mark.replace('_', ' ')}; set by OmniGraph itself."
        )


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Generator[None, Any, Any]:
    """Judge a class that runs a contract before its clauses are collected."""
    if inspect.isclass(obj) and _is_contract(obj) and not _is_ours(obj):
        problems = list(_hollowed_clauses(obj))
        if problems:
            raise pytest.UsageError(
                f"{collector.nodeid}::{name} hollows out its contract: {'; '.join(problems)}. "
                'Keep the clause, or declare it: @pytest.mark.deviates("reason", raises=TheError)'
            )
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark clauses, refuse marks that would hide one, and turn deviations into strict expected failures.

    First among its kind, so that ``-m storage_contract`` and ``-m graph_contract`` select by what is set here.
    """
    for item in items:
        if not _is_clause(item):
            continue
        for name in _marks(item):
            item.add_marker(name)
        evasion = next((mark.name for mark in item.iter_markers() if mark.name in _EVASIONS), None)
        if evasion is not None:
            raise pytest.UsageError(
                f"{item.nodeid} carries the mark {evasion!r}: a contract clause may only deviate, "
                'with @pytest.mark.deviates("reason", raises=TheError)'
            )
        mark = item.get_closest_marker("deviates")
        if mark is not None:
            reason, raises = _deviation(item, mark)
            item.add_marker(pytest.mark.xfail(reason=reason, raises=raises, strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip or an undeclared expected failure, in a clause or a fixture of one, into a failure."""
    report = yield
    is_declared = item.get_closest_marker("deviates") is not None and hasattr(report, "wasxfail")
    if report.skipped and _is_clause(item) and not is_declared:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped while it ran: a contract clause may not be skipped."
        # Else pytest would still count it as an expected failure.
        vars(report).pop("wasxfail", None)
    return report


def _is_contract(cls: type) -> bool:
    return any(_is_ours(base) for base in cls.__mro__)


def _is_ours(cls: type) -> bool:
    """Whether the class is one of the contract itself: found where it says it was defined, and not only named so."""
    home = sys.modules.get(cls.__module__)
    return (
        any(cls.__module__ == home or cls.__module__.startswith(f"{home}.") for home in CONTRACTS)
        and "__omnigraph_contract__" in dir(cls)
        and getattr(home, cls.__name__, None) is cls
    )


def _is_clause(item: pytest.Item) -> bool:
    cls = getattr(item, "cls", None)
    return cls is not None and _is_contract(cls)


def _marks(item: pytest.Item) -> set[str]:
    """The marks of the contracts that a clause is of: of a class that runs two, those of the one that has it."""
    name = getattr(item, "originalname", item.name)
    homes = [base.__module__ for base in getattr(item, "cls", object).__mro__ if _is_ours(base) and name in vars(base)]
    return {mark for home, mark in CONTRACTS.items() if any(each.startswith(home) for each in homes)}


def _hollowed_clauses(cls: type) -> Iterator[str]:
    """Clauses that a class of the backend's overrides without saying why, and what else would silence them."""
    ours = [base for base in cls.__mro__ if _is_ours(base)]
    clauses = {name for base in ours for name in vars(base) if name.startswith("test")}
    for base in cls.__mro__:
        if base in ours or base is object:
            continue
        yield from (f"{name} may not be set" for name in _FIXED & set(vars(base)))
        for name in clauses & set(vars(base)):
            override = vars(base)[name]
            marks = getattr(override, "pytestmark", [])
            if not callable(override):
                yield f"{name} = {override!r} removes a clause"
            elif not any(mark.name == "deviates" for mark in marks):
                yield f"{name} overrides a clause"


def _deviation(item: pytest.Item, mark: pytest.Mark) -> tuple[str, Any]:
    reason = mark.args[0] if mark.args else mark.kwargs.get("reason")
    raises = mark.kwargs.get("raises")
    # An error that every failure is says nothing about this one.
    is_error = (
        inspect.isclass(raises) and issubclass(raises, BaseException) and raises not in (BaseException, Exception)
    )
    if not isinstance(reason, str) or not reason.strip() or not is_error:
        raise pytest.UsageError(
            f'{item.nodeid}: a deviation says why and what it raises: @pytest.mark.deviates("reason", raises=TheError)'
        )
    return reason, raises
