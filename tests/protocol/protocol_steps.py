"""The steps of the write protocol and of recovery, each with a way to leave it out and the tests that then fail.

``without_step`` is the plugin that leaves one out; ``test_protocol_steps`` runs the tests and sees that they fail. What
is listed here is what docs/explanation/recovery.md tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

CORE = "packages/omnigraph-core/tests"
FAULTS = "tests/faults"

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        what: what it does, in the words of the documentation.
        patch: leaves it out.
        tests: each of them fails without it.
    """

    name: str
    what: str
    patch: Patch
    tests: tuple[str, ...]


def _nothing(*_arguments: Any, **_keywords: Any) -> None:
    return None


def _without(target: str, stand_in: Any = _nothing) -> Patch:
    return lambda patch: patch.setattr(target, stand_in)


def _accept_any_version(patch: pytest.MonkeyPatch) -> None:
    from lance import LanceDataset

    from omnigraph.tables import committing

    def commit(adapter: Any, base: Any, step: Any) -> LanceDataset:
        return LanceDataset.commit(base.dataset, step.transaction, max_retries=0)

    patch.setattr(committing, "_commit_ordinary", commit)
    # That nobody else was seen before says nothing: others may come between the look and the commit.
    patch.setattr(committing, "is_foreign_newest", lambda _base: False)


def _forget_own_commit(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write import publish

    genuine = publish._look

    def look(*arguments: Any) -> Any:
        log, _ = genuine(*arguments)
        return log, None

    patch.setattr(publish, "_look", look)


def _never_published(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.history.log import ManifestLog
    from omnigraph.write.recovery import finding

    genuine = finding.look_into

    def look_into(*arguments: Any, **keywords: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ManifestLog, "commits_since", lambda self, version: ())
            return genuine(*arguments, **keywords)

    patch.setattr("omnigraph.write.recovery.settling.look_into", look_into)


def _any_commit(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.tables import recovering

    patch.setattr(recovering, "COMMIT_PROPERTY", "omnigraph.operation")
    genuine = recovering.find_committed
    patch.setattr(recovering, "find_committed", lambda base, uuid, commit_id: genuine(base, uuid, "append"))


def _delete_instead(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write import publish, sidecar

    patch.setattr(publish, "withdraw_sidecar", sidecar.delete_sidecar)


def _leave_plan(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("omnigraph.write.publish.withdraw_sidecar", lambda *_: True)


def _sync_no_sidecar(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write import publish

    genuine = publish.write_sidecar

    def write_sidecar(*arguments: Any) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr("omnigraph_storage_local.adapter.sync_descriptor", _nothing)
            genuine(*arguments)

    patch.setattr(publish, "write_sidecar", write_sidecar)


def _sync_no_recovered_tables(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write import publish
    from omnigraph.write.recovery import settling

    genuine = publish.publish_announced

    def publish_announced(repository: Any, *arguments: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(repository.tables, "sync_committed", _nothing)
            return genuine(repository, *arguments)

    patch.setattr(settling, "publish_announced", publish_announced)


def _sync_no_audit(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.tables.log import LogTable
    from omnigraph.write.recovery import settling

    genuine = settling.record_recovery

    def record_recovery(*arguments: Any) -> bool:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(LogTable, "sync", _nothing)
            return genuine(*arguments)

    patch.setattr(settling, "record_recovery", record_recovery)


def _overlook_withdrawal(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write.recovery import finding, verdict

    patch.setattr(finding, "decide", lambda facts: verdict.decide(replace(facts, is_withdrawn=False)))


def _sync_no_line(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.tables.forking import fork_dataset
    from omnigraph.tables.log import LogTable
    from omnigraph.tables.opening import place_of

    def fork(self: LogTable, location: str, branch: str) -> None:
        fork_dataset(self.dataset, branch, place_of(self.adapter, location, branch))

    patch.setattr(LogTable, "fork", fork)


def _sync_no_fork(patch: pytest.MonkeyPatch) -> None:
    from omnigraph.write.forks import Forks

    genuine = Forks.base_of

    def base_of(self: Forks, *arguments: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self._repository.tables, "sync_committed", _nothing)
            return genuine(self, *arguments)

    patch.setattr(Forks, "base_of", base_of)


LOSS = f"{FAULTS}/test_fault_power_loss.py::test_nothing_that_was_acknowledged_is_lost_and_no_step_needs_help"
BRANCH_LOSS = (
    f"{FAULTS}/test_fault_power_loss_branches.py::test_what_was_acknowledged_of_branches_is_so_after_a_loss_of_power"
)
FORKS = f"{CORE}/write/test_branch_forks.py"
SWEEP = f"{CORE}/write/test_recovery_sweep.py"
PATH = f"{CORE}/write/test_publish_path.py"
FREED = f"{CORE}/write/test_publish_freed_names.py"
RACES = f"{CORE}/write/test_publish_races.py"
TROUBLE = f"{CORE}/write/test_publish_trouble.py"

STEPS: tuple[Step, ...] = (
    Step(
        name="sidecar_write",
        what="the plan is written down before the first table moves",
        patch=_without("omnigraph.write.publish.write_sidecar"),
        tests=(
            f"{PATH}::test_the_sidecar_lies_there_from_before_the_first_table_moves_until_after_the_commit_is_durable",
            f"{SWEEP}::test_a_write_that_is_complete_is_finished_as_who_began_it_by_whoever_comes",
        ),
    ),
    Step(
        name="sync_staged",
        what="files of staged rows are on the device before the first table moves",
        patch=_without("omnigraph.tables.lance_tables.LanceTables.sync_staged"),
        tests=(f"{LOSS}[append0]", f"{LOSS}[merge]"),
    ),
    Step(
        name="sync_sidecar",
        what="the plan is on the device before the first table moves",
        patch=_sync_no_sidecar,
        tests=(f"{LOSS}[append0]",),
    ),
    Step(
        name="sync_directories",
        what="the names of files are on the device with their bytes",
        patch=_without("omnigraph_storage_local.adapter.LocalAdapter._sync"),
        tests=(f"{LOSS}[append0]", f"{LOSS}[done]"),
    ),
    Step(
        name="sync_committed",
        what="versions of tables are on the device before the swap",
        patch=_without("omnigraph.tables.lance_tables.LanceTables.sync_committed"),
        tests=(f"{LOSS}[append0]", f"{LOSS}[merge]"),
    ),
    Step(
        name="sync_staged_manifest",
        what="the rows of the next manifest are on the device before the swap",
        patch=_without("omnigraph.tables.log._sync"),
        tests=(f"{LOSS}[append0]",),
    ),
    Step(
        name="sync_manifest",
        what="the swap is on the device before it is acknowledged",
        patch=_without("omnigraph.tables.log.LogTable.sync"),
        tests=(f"{LOSS}[done]",),
    ),
    Step(
        name="exact_child",
        what="a table's version counts only if it landed right after the pin",
        patch=_accept_any_version,
        tests=(f"{PATH}::test_what_a_loser_left_on_a_table_never_becomes_visible",),
    ),
    Step(
        name="own_commit",
        what="after a lost swap the own commit is looked for in the new log",
        patch=_forget_own_commit,
        tests=(f"{RACES}::test_a_write_that_somebody_finished_succeeds_once",),
    ),
    Step(
        name="read_set",
        what="after a lost swap the plan is published again only if nothing that it relied on moved",
        patch=_without("omnigraph.write.publish.check_read_set"),
        tests=(f"{RACES}::test_a_plan_whose_tables_moved_is_void",),
    ),
    Step(
        name="own_line",
        what="a branch writes to lines that its own operations forked, and to no others",
        patch=_without("omnigraph.history.branches.BranchRef.owns", lambda *_: True),
        tests=(f"{FORKS}::test_the_first_write_of_a_branch_touches_the_lines_of_its_types_only[append]",),
    ),
    Step(
        name="sync_line",
        what="the line of a new branch is on the device before an object names it",
        patch=_sync_no_line,
        tests=(f"{BRANCH_LOSS}[create]",),
    ),
    Step(
        name="sync_fork",
        what="the fork of a type is on the device before a version of the manifest names it",
        patch=_sync_no_fork,
        tests=(f"{BRANCH_LOSS}[first write]",),
    ),
    Step(
        name="branch_after_swap",
        what="after the swap the object of the branch is read, and the commit counts only if it allows it",
        patch=_without("omnigraph.write.publish._check_branch", lambda _repository, plan: plan.branch),
        tests=(
            f"{RACES}::test_a_branch_that_goes_right_before_the_swap_is_told_although_the_swap_is_made",
            f"{RACES}::test_a_branch_made_anew_is_not_the_branch_of_the_plan",
            f"{FREED}::test_a_writer_that_slept_through_a_collection_prepares_again_and_loses_nothing",
        ),
    ),
    Step(
        name="withdraw",
        what="a write that failed after a table moved withdraws its plan, so that nobody finishes it",
        patch=_leave_plan,
        tests=(
            f"{TROUBLE}::test_a_version_that_cannot_be_written_is_a_failure_and_no_doubt",
            f"{TROUBLE}::test_a_table_that_cannot_be_committed_leaves_nothing_visible",
        ),
    ),
    Step(
        name="keep_withdrawn",
        what="a withdrawn plan stays, so that the tables are put right",
        patch=_delete_instead,
        tests=(f"{TROUBLE}::test_a_table_that_cannot_be_committed_leaves_nothing_visible",),
    ),
    Step(
        name="put_back",
        what="a write that is refused lets its tables show what is published",
        patch=_without("omnigraph.write.leftovers.Leftovers._put_back"),
        tests=(f"{CORE}/write/test_refused_writes.py::test_a_strict_write_that_lost_puts_its_tables_back_at_once",),
    ),
    Step(
        name="recovery_own_commit",
        what="recovery asks first whether the commit was published",
        patch=_never_published,
        tests=(f"{SWEEP}::test_a_write_that_was_published_is_only_cleaned_up",),
    ),
    Step(
        name="recovery_ownership",
        what="recovery takes a version for the write's own only if it names its commit",
        patch=_any_commit,
        tests=(f"{CORE}/tables/test_table_recovering.py::test_the_same_transaction_for_another_commit_is_not_it",),
    ),
    Step(
        name="recovery_read_set",
        what="recovery finishes a plan only if nothing that it relied on moved",
        patch=_without("omnigraph.write.recovery.finding._holds", lambda *_: True),
        tests=(f"{SWEEP}::test_a_write_whose_reads_moved_is_taken_back",),
    ),
    Step(
        name="recovery_withdrawn",
        what="recovery never finishes what its own writer gave up",
        patch=_overlook_withdrawal,
        tests=(f"{SWEEP}::test_what_its_own_writer_gave_up_is_taken_back_and_never_finished",),
    ),
    Step(
        name="recovery_liveness",
        what="recovery leaves a write alone whose publish is under way in this process",
        patch=_without("omnigraph.write.recovery.sweep.is_under_way", lambda _: False),
        tests=(f"{SWEEP}::test_a_write_of_this_process_that_is_under_way_is_left_alone",),
    ),
    Step(
        name="recovery_sync",
        what="recovery syncs the versions of tables that it publishes",
        patch=_sync_no_recovered_tables,
        tests=(f"{FAULTS}/test_fault_power_loss.py::test_power_may_be_lost_while_a_write_is_finished_for_another",),
    ),
    Step(
        name="recovery_restore",
        what="recovery lets the newest version of each table show what is published",
        patch=_without("omnigraph.write.recovery.settling._put_right", lambda *_: {}),
        tests=(f"{SWEEP}::test_a_write_that_moved_some_tables_is_taken_back_and_they_show_what_is_published",),
    ),
    Step(
        name="recovery_audit_sync",
        what="what was done is on the device before the plan is removed",
        patch=_sync_no_audit,
        tests=(f"{FAULTS}/test_fault_power_loss.py::test_power_may_be_lost_while_a_write_is_finished_for_another",),
    ),
    Step(
        name="recovery_audit_once",
        what="an operation that is in the audit is not told again",
        patch=_without("omnigraph.history.recoveries._has", lambda *_: False),
        tests=(f"{CORE}/history/test_history_recoveries.py::test_an_operation_is_told_once",),
    ),
)
