"""``check_storage``: can this place be trusted with a graph? The contract's heart, against a real endpoint.

Everything happens below a fresh prefix of the given root and is removed at the end. The steps come one by one, so that
a person can watch; after the first one that shows that the store cannot be trusted only the clean-up follows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.errors import OmnigraphError, StorageCondition, StorageError
from omnigraph.plugins import find_backend, installed_plugins, open_adapter
from omnigraph.storage import ROOT, Capability, StorageAdapter, parse_uri, probe_create_if_absent
from omnigraph.testing.races import Contest, Place, run_race


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One finding.

    Attributes:
        name: a short stable word for programs.
        detail: what was done and seen, in a sentence.
        error: why it failed; None when it passed.
    """

    name: str
    detail: str
    error: OmnigraphError | None = None

    @property
    def passed(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        error = self.error.to_dict() if self.error else None
        return {"name": self.name, "passed": self.passed, "detail": self.detail, "error": error}


def check_storage(
    uri: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    writers: int = 8,
    rounds: int = 10,
    place: Place = "threads",
) -> Generator[CheckStep, None, None]:
    """Yield the findings about the storage behind a URI: up to the first failure, then the clean-up.

    Raises:
        InvalidInputError, BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError: there is nothing
            to check.
    """
    top = parse_uri(uri)
    info, backend = find_backend(top, installed_plugins())
    offers = ", ".join(sorted(backend.capabilities)) or "none"
    # A root of its own inside the given one: removing it removes every trace.
    adapter = open_adapter(f"{top}/__omnigraph_check_{secrets.token_hex(8)}", options=options, mode="r")
    yield CheckStep("backend", f'served by "{backend.name}" of {info.provider}; capabilities: {offers}')
    steps: list[tuple[str, Callable[[], str]]] = [
        ("honesty", lambda: _check_honesty(adapter)),
        ("round_trip", lambda: _check_round_trip(adapter)),
        ("create_race", lambda: _check_race(adapter, "create", writers, rounds, place)),
    ]
    if Capability.WRITE_IF_MATCH in backend.capabilities:
        steps.append(("replace_race", lambda: _check_race(adapter, "replace", writers, rounds, place)))
    steps.append(("tables", lambda: _check_tables(adapter)))
    with adapter:
        try:
            for name, act in steps:
                step = _take(name, act)
                yield step
                if not step.passed:
                    break
        finally:
            removal = _take("clean_up", lambda: _clean_up(adapter))
        yield removal


def _take(name: str, act: Callable[[], str]) -> CheckStep:
    try:
        return CheckStep(name, act())
    except OmnigraphError as error:
        return CheckStep(name, error.message, error)


def _check_honesty(adapter: StorageAdapter) -> str:
    probe_create_if_absent(adapter)
    return "a second create of one object is refused"


def _check_round_trip(adapter: StorageAdapter) -> str:
    key, data = adapter.key("check/some object"), secrets.token_bytes(4096)
    adapter.write(key, data)
    found, listed = adapter.read(key), tuple(adapter.list())
    adapter.delete(key)
    if found != data or listed != (key,) or adapter.exists(key):
        raise StorageError(
            f"{adapter.uri(key)} did not come back as it was written.",
            condition=StorageCondition.PERMANENT,
            uri=adapter.uri(key),
            help="The store or something in front of it changes or caches objects; do not use it.",
        )
    return "an object of 4,096 bytes was written, listed, read back and deleted"


def _check_race(adapter: StorageAdapter, contest: Contest, writers: int, rounds: int, place: Place) -> str:
    report = run_race(adapter, contest, writers=writers, rounds=rounds, place=place)
    if not report.is_exact:
        raise StorageError(
            f"Not exactly one winner in each round: {report.summary()}.",
            condition=StorageCondition.CONFIGURATION,
            uri=str(adapter.root),
            help="Two writers could both believe that they won here; use a store with atomic conditional writes.",
            details={"errors": list(report.errors[:5])},
        )
    return report.summary()


def _check_tables(adapter: StorageAdapter) -> str:
    from omnigraph.tables.probe import probe_lance

    adapter.check_lance_commits()
    probe_lance(adapter.lance_location(adapter.key("table")))
    return "Lance created a table, committed to it and refused a commit that had lost a race"


def _clean_up(adapter: StorageAdapter) -> str:
    adapter.delete_prefix(ROOT)
    return "everything that the check wrote is removed"
