"""The graph contract is worth what it catches: break each promise in turn and see its clauses turn red."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.testing import GraphContract

HERE = Path(__file__).parent

OWNERS: dict[str, set[str]] = {
    "init opens what is there": {
        "test_a_second_init_is_refused_and_leaves_the_graph_alone",
        "test_of_several_inits_at_once_exactly_one_makes_the_graph",
    },
    "init loads something": {"test_a_new_graph_is_empty_and_has_one_commit"},
    "init has no force": {"test_a_failed_init_can_be_repeated"},
    "open makes what is missing": {
        "test_a_place_without_a_graph_is_not_found_and_stays_empty",
        "test_a_schema_with_mistakes_makes_no_graph",
    },
    "open writes": {"test_reading_changes_nothing"},
    "schema is lost": {"test_a_graph_is_the_same_when_it_is_opened_again"},
    "load drops a record": {"test_rows_are_read_back_by_type"},
    "load always merges": {"test_every_mode_does_what_it_says"},
    "load of nothing does nothing": {"test_an_empty_load_is_a_commit"},
    "load keeps what was right": {"test_a_refused_load_changes_nothing_and_the_next_one_works"},
    "load forgets its name": {"test_a_load_of_a_known_name_happens_once"},
    "load commits twice": {
        "test_every_load_is_one_commit_on_one_line",
        "test_an_answer_that_is_lost_once_is_found_out",
    },
    "load loses some": {
        "test_two_writers_lose_nothing",
        "test_threads_may_share_a_handle",
        "test_two_writers_on_a_fresh_branch_lose_nothing",
    },
    "load leaves half": {"test_an_error_at_any_step_leaves_the_old_state_or_the_new_one"},
    "load hides failures": {
        "test_a_store_that_fails_at_any_request_of_a_load_leaves_old_or_new",
        "test_a_store_that_fails_at_any_request_of_a_load_to_a_branch_leaves_old_or_new",
    },
    "export drops the last line": {"test_an_export_loads_into_an_equal_graph"},
    "the past is the present": {"test_the_past_is_read_as_it_was", "test_a_snapshot_stays_as_it_is"},
    "handles do not look again": {"test_a_handle_sees_what_another_one_published"},
    "read sets are not checked": {
        "test_of_two_overwrites_on_one_state_one_is_refused",
        "test_one_key_that_two_writers_append_is_stored_once",
        "test_an_edge_never_outlives_its_end",
    },
    "query drops a row": {
        "test_queries_give_what_the_model_gives",
        "test_searches_give_what_the_model_gives_with_and_without_indexes",
    },
    "query reads the present": {"test_a_query_reads_one_commit_and_names_it"},
    "indexes are built again and again": {"test_indexes_are_one_commit_and_change_no_row"},
    "load writes to main too": {"test_a_branch_begins_as_its_base_and_then_goes_its_own_way"},
    "branches know no slashes": {"test_branches_of_any_name_stand_side_by_side"},
    "branches begin at the newest": {"test_a_branch_may_begin_as_any_commit_of_any_branch"},
    "a branch replaces another": {"test_of_several_that_make_one_branch_exactly_one_does"},
    "a failed branch is in the way": {
        "test_a_store_that_fails_at_any_request_about_branches_leaves_a_whole_one_or_none"
    },
    "branches cannot be deleted": {"test_a_deleted_branch_is_gone_and_those_made_from_it_stay"},
    "a branch is its name": {"test_a_branch_made_anew_is_another_one"},
}
"""What each break of broken_graph.py must turn red."""


def class_name(broken: str) -> str:
    return "Test_" + "_".join(broken.split())


@pytest.fixture(scope="module")
def red_clauses() -> set[str]:
    """Of the clauses that are owned, those that fail or error, as ``class::clause``; one run of pytest for all."""
    module = HERE / "broken_graph.py"
    wanted = [f"{module}::{class_name(broken)}::{clause}" for broken, clauses in OWNERS.items() for clause in clauses]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE",
         "--import-mode=importlib", *wanted],
        capture_output=True, text=True, check=False, cwd=HERE,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-3000:] + done.stderr[-3000:]
    return set(re.findall(r"^(?:FAILED|ERROR) \S*?::(Test\w+::test_\w+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("broken", OWNERS)
def test_breaking_a_promise_turns_its_clauses_red(red_clauses: set[str], broken: str):
    green = {clause for clause in OWNERS[broken] if f"{class_name(broken)}::{clause}" not in red_clauses}
    assert green == set()


def test_every_clause_of_the_graph_contract_has_an_owner():
    assert set().union(*OWNERS.values()) == {name for name in dir(GraphContract) if name.startswith("test")}
