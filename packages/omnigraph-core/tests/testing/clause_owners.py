"""Which clauses each method of a backend owns: break the method, and at least these turn red.

``test_clause_owners.py`` does that, method by method, and holds that every clause has an owner. Clauses that guard the
base class alone (names, bounds, text) stand under the base class's own methods.
"""

from __future__ import annotations

OWNERS: dict[str, frozenset[str]] = {
    # ── the five that every backend writes ──
    "_read": frozenset({
        "test_read_returns_exactly_the_stored_bytes",
        "test_read_if_exists_gives_the_value_or_none",
        "test_a_bounded_read_takes_an_object_of_exactly_the_bound",
        "test_an_object_of_the_largest_size_is_read_whole",
        "test_text_is_decoded_as_utf_8",
        "test_a_reader_sees_old_or_new_and_never_a_part",
        "test_threads_may_share_an_adapter",
        "test_a_listed_name_reads_back_verbatim",
        "test_a_full_uri_below_the_root_names_the_same_object",
        "test_an_adapter_travels_as_its_place",
    }),
    "_read of a missing object": frozenset({
        "test_reading_a_missing_object_is_not_found",
        "test_a_prefix_is_not_an_object",
        "test_an_error_names_the_object_and_the_next_move_and_travels",
    }),
    "_read beyond its limit": frozenset({"test_a_bounded_read_refuses_a_larger_object_with_exact_numbers"}),
    "_write": frozenset({
        "test_a_written_object_is_stored_exactly",
        "test_a_second_write_replaces_the_first",
        "test_odd_names_stay_apart",
        "test_dots_in_a_name_are_folded",
        "test_made_durable_objects_are_still_there",
    }),
    "_write_if_absent": frozenset({
        "test_the_first_create_wins_and_the_second_leaves_it_alone",
        "test_create_if_absent_is_honest",
        "test_of_many_creators_exactly_one_wins",
    }),
    "_write_if_absent without effect": frozenset({
        "test_an_object_can_be_created_again_after_it_was_deleted",
        "test_a_created_object_is_whole_when_the_call_returns",
    }),
    "_list": frozenset({
        "test_list_gives_every_object_below_and_none_beside",
        "test_a_listing_is_complete_however_long",
        "test_deleted_objects_are_not_listed",
        "test_a_bounded_listing_takes_exactly_its_bounds",
        "test_a_bounded_listing_refuses_one_more_with_exact_numbers",
    }),
    "_list of a sibling": frozenset({
        "test_list_gives_every_object_below_and_none_beside",
        "test_a_sibling_prefix_does_not_use_up_the_bounds",
    }),
    "_list of a missing place": frozenset({"test_a_missing_place_lists_nothing"}),
    "_delete": frozenset({
        "test_delete_removes_one_object_and_may_be_repeated",
        "test_an_object_can_be_created_again_after_it_was_deleted",
        "test_deleted_objects_are_not_listed",
    }),
    # ── those with defaults ──
    "_read_versioned": frozenset({
        "test_a_versioned_read_gives_the_bytes_and_a_token_that_follows_them",
        "test_a_fresh_token_replaces_and_gives_the_next_token",
    }),
    "_read_versioned of a missing object": frozenset({"test_a_versioned_read_of_a_missing_object_is_not_found"}),
    "_write_if_match": frozenset({
        "test_a_stale_token_changes_nothing",
        "test_a_token_that_was_never_given_changes_nothing",
        "test_a_missing_object_is_not_created",
        "test_of_many_swappers_with_one_token_exactly_one_wins",
    }),
    "_write_if_match without effect": frozenset({
        "test_a_fresh_token_replaces_and_gives_the_next_token",
        "test_write_if_match_is_declared_or_refused",
    }),
    "_exists": frozenset({"test_exists_means_an_object_or_something_below"}),
    "_list_dir": frozenset({"test_list_dir_gives_direct_children_only"}),
    "_rename": frozenset({
        "test_a_rename_replaces_the_target_and_removes_the_source",
        "test_a_rename_makes_the_places_on_the_way",
    }),
    "_rename of a missing object": frozenset({"test_renaming_a_missing_object_is_not_found"}),
    "_rename by way of nothing": frozenset({
        "test_a_rename_onto_itself_keeps_the_object",
        "test_a_reader_always_finds_a_whole_target",
    }),
    "_delete_prefix": frozenset({
        "test_delete_prefix_removes_what_is_below_and_nothing_beside",
        "test_delete_prefix_of_the_root_leaves_nothing_and_the_root_usable",
    }),
    "lance_location": frozenset({"test_tables_with_odd_names_stay_apart"}),
    "check_lance_commits": frozenset({"test_lance_keeps_a_table_where_the_adapter_says"}),
    "make_durable": frozenset({"test_made_durable_objects_are_still_there"}),
    "__reduce__": frozenset({"test_an_adapter_travels_as_its_place"}),
    "__repr__": frozenset({"test_the_repr_shows_the_place_and_no_option"}),
    # ── the base class's own, which a backend may not lose by overriding them ──
    "key": frozenset({
        "test_a_name_that_no_backend_can_keep_is_refused",
        "test_a_uri_outside_the_root_is_refused",
    }),
    "uri": frozenset({"test_roots_do_not_see_each_other"}),
    "_list while it holds a lock": frozenset({"test_a_listing_may_be_changed_while_it_is_read"}),
    "_check_writable": frozenset({"test_a_reader_changes_nothing"}),
    "_check_change": frozenset({"test_an_object_over_the_bound_is_refused_before_anything_is_written"}),
    "_decode": frozenset({"test_bytes_that_are_not_utf_8_are_an_error_and_not_none"}),
}  # fmt: skip

NOT_IN_MEMORY: frozenset[str] = frozenset({
    "test_another_process_reads_and_writes_the_same_objects",
    "test_the_files_of_a_table_are_objects_of_the_adapter",
    "test_races_and_declared_capabilities_have_their_contracts_in_this_module",
})  # fmt: skip
"""Clauses that the in-memory backend cannot break. The first two are broken on the local backend, in its
test_local_clause_owners.py; the third guards an author's test module and is broken in test_contract_guard.py."""
