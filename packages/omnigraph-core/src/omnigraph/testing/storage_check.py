"""``check_storage``: can this place be trusted with a graph? The contract's heart, against a real endpoint.

Everything happens below a fresh prefix of the given root and is removed at the end. The steps come one by one, so that
a person can watch; after the first one that shows that the store cannot be trusted only the clean-up follows.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omnigraph.errors import OmnigraphError, StorageCondition, StorageError
from omnigraph.plugins import find_backend, installed_plugins, open_adapter
from omnigraph.storage import ROOT, Capability, StorageAdapter, StorageBackend, parse_uri, probe_create_if_absent
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


def check_storage(
    uri: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    writers: int = 8,
    rounds: int = 100,
    place: Place | None = None,
    seconds_per_race: float = 20.0,
) -> Generator[CheckStep, None, None]:
    """Yield the findings about the storage behind a URI: up to the first failure, then the clean-up.

    Args:
        uri: a root; it need not exist.
        options: storage options of its backend.
        writers: how many race for one object.
        rounds: how often they do, as far as the time allows.
        place: whether the writers are threads or processes; None for processes where the backend shares its objects
            between them. Processes start anew with the caller's main module, as ``multiprocessing`` has it.
        seconds_per_race: after about this long a race ends with the rounds that it had.

    Raises:
        InvalidInputError, BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError: there is nothing
            to check.
    """
    top = parse_uri(uri)
    # Opened and closed for its complaints, which then name the place that was asked about.
    open_adapter(uri, options=options, mode="r").close()
    info, backend = find_backend(top, installed_plugins())
    if place is None:
        place = "processes" if Capability.SHARED_BETWEEN_PROCESSES in backend.capabilities else "threads"
    race = _Race(writers=writers, rounds=rounds, place=place, seconds=seconds_per_race)
    offers = ", ".join(sorted(backend.capabilities)) or "none"
    yield CheckStep("backend", f"{backend.name}, from {info.distribution} {info.version}; capabilities: {offers}")

    # A root of its own inside the given one: removing it removes every trace.
    inside = f"__omnigraph_check_{secrets.token_hex(8)}"
    root = replace(top, path=f"{top.path.rstrip('/')}/{inside}" if top.path else inside)
    with backend.open(root, options) as adapter:
        reached = _take("reach", lambda: _check_reach(adapter))
        yield reached
        if not reached.passed:
            return
        try:
            for name, act in _steps(adapter, backend, race):
                step = _take(name, act)
                yield step
                if not step.passed:
                    break
        finally:
            removal = _take("clean_up", lambda: _clean_up(adapter))
            # An interrupt ends the check here: its clean-up is not yielded, so the interrupt tells of it.
            interrupt = sys.exception()
            if interrupt is not None and removal.error is not None:
                interrupt.add_note(f"What the check wrote could not be removed: {removal.detail}")
        yield removal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Race:
    writers: int
    rounds: int
    place: Place
    seconds: float


def _steps(adapter: StorageAdapter, backend: StorageBackend, race: _Race) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "honesty", lambda: _check_honesty(adapter)
    yield "round_trip", lambda: _check_round_trip(adapter)
    yield "create_race", lambda: _check_race(adapter, "create", race)
    if Capability.WRITE_IF_MATCH in backend.capabilities:
        yield "replace_race", lambda: _check_race(adapter, "replace", race)
    yield "tables", lambda: _check_tables(adapter)


def _take(name: str, act: Callable[[], str]) -> CheckStep:
    try:
        return CheckStep(name, act())
    except OmnigraphError as error:
        return CheckStep(name, error.message, error)


def _check_reach(adapter: StorageAdapter) -> str:
    adapter.exists(adapter.key("anything"))
    return "the place answers"


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


def _check_race(adapter: StorageAdapter, contest: Contest, race: _Race) -> str:
    report = run_race(
        adapter, contest, writers=race.writers, rounds=race.rounds, place=race.place, seconds=race.seconds
    )
    if report.wrong_rounds:
        raise StorageError(
            f"Not exactly one winner in each round: {report.summary()}.",
            condition=StorageCondition.CONFIGURATION,
            uri=str(adapter.root),
            help="Two writers could both believe that they won here; use a store with atomic conditional writes.",
            details={"errors": list(report.errors[:5])},
        )
    if report.errors:
        raise StorageError(
            f"The race could not be finished: {report.summary()}. The first failure: {report.errors[0]}",
            condition=StorageCondition.TRANSIENT,
            uri=str(adapter.root),
            help="Every round that was decided had one winner. Remove the cause of the failures and check again.",
            details={"errors": list(report.errors[:5])},
        )
    return report.summary()


def _check_tables(adapter: StorageAdapter) -> str:
    from omnigraph.tables.probe import drop_table, probe_lance

    adapter.check_lance_commits()
    location = adapter.lance_location(adapter.key("table"))
    try:
        probe_lance(location)
    finally:
        drop_table(location)
    return "Lance created a table, committed to it and refused a commit that had lost a race"


def _clean_up(adapter: StorageAdapter) -> str:
    adapter.delete_prefix(ROOT)
    return "every object that the check wrote is removed"
