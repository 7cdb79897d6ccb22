"""``Leftovers``: what lost attempts of a write left on their tables, and how it is put back when that is refused.

    attempt lost ── kept ──> the next attempt is announced and writes the same tables: it steps over what was left
                        └──> the write is refused: each table shows what is published again

The sidecar of a lost attempt stays until one of both has happened, so a process that dies in between leaves something
that tells which tables moved. Only a version of this write is put back. Where the newest version is of another writer,
that one publishes it or puts it back, and nothing is done here.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from omnigraph import failpoints
from omnigraph.cancellation import uncancellable
from omnigraph.errors import BranchReplacedError, NotFoundError, OmnigraphError
from omnigraph.failpoints import reach
from omnigraph.history.repository import Repository
from omnigraph.tables.interface import TablePin
from omnigraph.write.plan import AnnouncedPlan, PlannedTable
from omnigraph.write.read_sets import current_pin
from omnigraph.write.sidecar import delete_sidecar, withdraw_sidecar
from omnigraph.write.under_way import begin_under_way, end_under_way

_LOOKS: Final = 10
"""How often a table is looked at to which others write meanwhile."""

_Line = tuple[str, str | None]

_log: Final = logging.getLogger(__name__)


class Leftovers:
    """Of one write; empty until it loses a race."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._plans: list[AnnouncedPlan] = []
        self._own: defaultdict[_Line, set[int]] = defaultdict(set)

    def keep(self, plan: AnnouncedPlan, committed: Sequence[TablePin]) -> None:
        """Remember an attempt that is void, with the version that each of its tables got; its sidecar stays."""
        # This process lives, and its sidecar is not for its own recoveries.
        begin_under_way(plan.operation_id)
        self._plans.append(plan)
        for pin in committed:
            self._own[pin.location, pin.branch].add(pin.version)

    def replaced_by(self, plan: AnnouncedPlan) -> bool:
        """Forget attempts whose tables are all named by the sidecar of a newer one; whether there were any."""
        lines = {_line(each.base) for each in plan.tables}
        replaced = [each for each in self._plans if lines.issuperset(_line(table.base) for table in each.tables)]
        for each in replaced:
            try:
                delete_sidecar(self._repository.adapter, each.operation_id)
            finally:
                self._forget(each)
        return bool(replaced)

    def put_back(self) -> None:
        """Let tables whose newest version is one of this write show what is published; what fails is withdrawn."""
        adapter = self._repository.adapter
        with uncancellable(), self._forgetting_all():
            for plan in self._plans:
                try:
                    reach(failpoints.REFUSAL_PRE_PUT_BACK)
                    for table in plan.tables:
                        self._put_back(plan, table)
                except OmnigraphError as error:
                    _log.warning("The tables of a refused write stay as they are for now: %s", error)
                    withdraw_sidecar(adapter, plan.operation_id)
                else:
                    delete_sidecar(adapter, plan.operation_id)

    def withdraw(self) -> None:
        """Leave putting back to a recovery: this process was interrupted."""
        with self._forgetting_all():
            for plan in self._plans:
                withdraw_sidecar(self._repository.adapter, plan.operation_id)

    @contextmanager
    def _forgetting_all(self) -> Iterator[None]:
        try:
            yield
        finally:
            for plan in (*self._plans,):
                self._forget(plan)

    def _forget(self, plan: AnnouncedPlan) -> None:
        self._plans.remove(plan)
        end_under_way(plan.operation_id)

    def _put_back(self, plan: AnnouncedPlan, table: PlannedTable) -> None:
        tables, own = self._repository.tables, self._own[_line(table.base)]
        for _ in range(_LOOKS):
            try:
                pin = current_pin(self._repository.newest(plan.branch.name), table)
            except (NotFoundError, BranchReplacedError):
                # The branch is deleted, or the graph removed, and its lines are nobody's any more.
                return
            if pin is None:
                return
            newest = tables.newest(pin)
            if newest.shows(pin.version) or not any(newest.shows(each) for each in own):
                return
            _restore(self._repository, pin, newest.version)
            reach(failpoints.REFUSAL_POST_PUT_BACK)


def show_again(repository: Repository, plan: AnnouncedPlan, published: Sequence[TablePin]) -> None:
    """Let tables show what a plan published, where a recovery that held its writer for dead put them back before that.

    Only what the plan was built on is replaced: whatever else is newest is of another writer. It is tidiness for other
    Lance tools, and the next write to the table would do it, so a failure is nobody's.
    """
    try:
        for table, own in zip(plan.tables, published, strict=True):
            pin = current_pin(repository.newest(plan.branch.name), table)
            if pin != own:
                continue
            newest = repository.tables.newest(pin)
            if newest.version > pin.version and newest.shows(table.base.version):
                _restore(repository, pin, newest.version)
    except OmnigraphError as error:
        _log.warning("The tables of commit %s may not show it to other Lance tools: %s", plan.intent.id, error)


def _restore(repository: Repository, pin: TablePin, newest: int) -> None:
    """Let a table show a version again whose newest one was seen to be of nobody else."""
    made = repository.tables.restore(pin)
    if made > newest + 1:
        # Another writer was faster, and may be about to publish what it made: that is shown again.
        repository.tables.restore(TablePin(location=pin.location, branch=pin.branch, version=made - 1))


def _line(pin: TablePin) -> _Line:
    return pin.location, pin.branch
