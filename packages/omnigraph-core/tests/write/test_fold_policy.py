"""When small parts are folded, and which: rows seldom move, parts stay few, and one commit of many asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.tables.interface import TablePart
from omnigraph.tables.written import MAX_ROWS_PER_FILE
from omnigraph.write.fold_policy import MAX_FOLD_BYTES, MAX_PART_BYTES, choose_parts, is_due


def part(number: int, rows: int, size: int = 1_000) -> TablePart:
    return TablePart(
        number=number, files=f"f{number}", deletions=None, row_count=rows, live_count=rows, byte_count=size
    )


def parts(*sizes: int) -> list[TablePart]:
    return [part(number, rows) for number, rows in enumerate(sizes)]


def test_fewer_than_sixty_four_single_rows_stay_as_they_are():
    assert choose_parts(parts(5_000_000, *[1] * 63)) == ()


def test_sixty_four_single_rows_are_folded_and_nothing_else_is():
    assert choose_parts(parts(5_000_000, 100, *[1] * 64)) == tuple(range(2, 66))


def test_what_is_folded_takes_a_full_tier_above_it_along():
    assert choose_parts(parts(*[64] * 3, *[1] * 64)) == tuple(range(67))
    assert choose_parts(parts(*[64] * 2, *[1] * 64)) == tuple(range(2, 66))


def test_what_is_folded_takes_every_tier_along_that_it_fills():
    assert choose_parts(parts(*[1_024] * 3, *[256] * 3, *[64] * 3, *[1] * 64)) == tuple(range(73))
    assert choose_parts(parts(*[1_024] * 3, *[256] * 2, *[64] * 3, *[1] * 64)) == tuple(range(5, 72))


def test_a_full_tier_is_folded_alone_too():
    assert choose_parts(parts(*[1_000] * 4, *[1] * 63)) == tuple(range(4))
    assert choose_parts(parts(*[20_000] * 16)) == tuple(range(16))


def test_large_parts_wait_until_there_are_many():
    assert choose_parts(parts(*[20_000] * 15)) == ()


def test_large_parts_are_never_folded():
    assert choose_parts(parts(*[131_072] * 100)) == ()
    assert choose_parts([part(number, 1, MAX_PART_BYTES + 1) for number in range(100)]) == ()


def test_files_of_a_load_stay_until_they_have_lost_half_of_their_rows():
    full = part(0, MAX_ROWS_PER_FILE)
    lost = [replace(full, number=number, live_count=MAX_ROWS_PER_FILE // 2) for number in range(100)]
    assert choose_parts(lost) == ()
    assert choose_parts([replace(each, live_count=each.live_count - 1) for each in lost]) != ()


def test_one_fold_moves_a_bounded_number_of_bytes():
    many = [part(number, 1, MAX_PART_BYTES) for number in range(100)]
    assert len(choose_parts(many)) == MAX_FOLD_BYTES // MAX_PART_BYTES


@dataclass
class Line:
    """A type that gets one row per commit and is folded by the rule.

    Attributes:
        held: its parts.
        moved: rows that were written again, all folds together.
    """

    held: list[TablePart] = field(default_factory=list)
    moved: int = 0

    def commit(self, number: int) -> None:
        before, self.held = self.held, [*self.held, part(number, 1)]
        if is_due(before, self.held):
            chosen = {*choose_parts(self.held)}
            rows = sum(each.live_count for each in self.held if each.number in chosen)
            self.moved += rows
            self.held = [*(each for each in self.held if each.number not in chosen), part(max(chosen), rows)]


def test_many_commits_of_one_row_leave_few_parts_and_move_no_row_more_than_once_per_tier():
    line = Line()
    for number in range(20_000):
        line.commit(number)
        assert len(line.held) <= 63 + 3 * 4 + 15
    assert line.moved <= 20_000 * 5


@pytest.mark.parametrize(("commits", "folded"), [(64, 1), (256, 4), (1_024, 7), (4_096, 10), (16_384, 13)])
def test_folded_parts_grow_in_number_with_the_logarithm_of_the_commits(commits, folded):
    """Three more, at most, when there are four times as many commits; and as many rows as were committed."""
    line, most = Line(), 0
    for number in range(commits):
        line.commit(number)
        most = max(most, sum(each.live_count > 1 for each in line.held))
    assert most <= folded
    assert sum(each.live_count for each in line.held) == commits


@settings(max_examples=50)
@given(st.lists(st.integers(1, 300_000), max_size=120))
def test_what_is_chosen_is_there_small_and_more_than_one(sizes):
    chosen = choose_parts(parts(*sizes))
    assert len(chosen) != 1
    assert list(chosen) == sorted(set(chosen))
    assert all(sizes[number] < 131_072 for number in chosen)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=60))
def test_of_many_commits_that_see_one_tail_few_ask_for_a_fold(steps):
    """However many parts a commit adds, the bound is passed once, and again only every sixteen parts."""
    asked, total = [], 40
    for step in steps:
        before, total = total, total + step
        if is_due(parts(*[1] * before), parts(*[1] * total)):
            asked.append(total)
    passed = [bound for bound in range(64, total + 1, 16) if bound > 40]
    assert len(asked) == len(passed)
    assert all(bound <= at < bound + 3 for bound, at in zip(passed, asked, strict=True))


def test_a_delete_that_leaves_a_tail_as_long_as_it_was_asks_for_nothing():
    assert not is_due(parts(*[1] * 70), parts(*[1] * 69))
    assert not is_due(parts(*[1] * 10), parts(*[1] * 11))
