"""The layout of the manifest in fragments, as a model: commits are numbers, fragments are lists of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.history.layout import RECENT, TIER, next_layout


class Model:
    """History fragments and the recent commits, changed as a publish changes them."""

    def __init__(self, recent: int = 1) -> None:
        self.fragments: list[list[int]] = []
        self.recent = list(range(recent))
        self.count = recent
        self.rewritten = 0
        self.reads = 0

    def publish(self) -> None:
        layout = next_layout([len(each) for each in self.fragments], len(self.recent) + 1)
        if layout.moves:
            merged = [row for position in layout.merge for row in self.fragments[position]]
            self.reads += len(layout.merge)
            self.rewritten += len(merged)
            self.fragments = [self.fragments[each] for each in layout.keep] + [merged + self.recent]
            self.recent = []
        else:
            assert layout.merge == ()
            assert layout.keep == tuple(range(len(self.fragments)))
        self.recent.append(self.count)
        self.count += 1
        assert layout.history_fragments == len(self.fragments)

    def check(self) -> None:
        everything = [row for fragment in self.fragments for row in fragment] + self.recent
        assert everything == list(range(self.count)), "a commit is lost, comes twice or is out of order"
        assert 1 <= len(self.recent) <= RECENT
        assert len(self.fragments) <= 3 * math.log(max(self.count, TIER), TIER) + 1


def test_every_commit_is_kept_once_and_in_order_in_few_fragments():
    model = Model()
    most = 0
    for _ in range(20_000):
        model.publish()
        most = max(most, len(model.fragments))
        assert 1 <= len(model.recent) <= RECENT
        if model.count % 997 == 0:
            model.check()
    model.check()
    # Each of the five sizes between 32 and 20,000 commits at most three times.
    assert most <= 3 * 5


def test_a_commit_is_rewritten_a_few_times_in_its_life():
    model = Model()
    for _ in range(20_000):
        model.publish()
    assert model.rewritten / model.count <= math.log(20_000 / RECENT, TIER) + 1
    # And what a publish reads on average does not grow.
    assert model.reads / model.count < 0.15


@settings(max_examples=50)
@given(st.integers(1, 200), st.integers(0, 400))
def test_a_line_that_begins_with_any_number_of_commits_is_kept_whole(recent, publishes):
    model = Model(recent)
    for _ in range(publishes):
        model.publish()
    everything = [row for fragment in model.fragments for row in fragment] + model.recent
    assert everything == list(range(model.count))
    if publishes:
        assert len(model.recent) <= RECENT


@given(st.lists(st.integers(1, 100_000), max_size=30), st.integers(1, 200))
def test_a_layout_keeps_a_prefix_and_merges_all_that_follows(history_rows, recent):
    layout = next_layout(history_rows, recent)
    assert layout.keep + layout.merge == tuple(range(len(history_rows)))
    assert layout.moves == (recent > RECENT)
    assert not (layout.merge and not layout.moves)
    # Merging is by the tier: three at a time.
    assert len(layout.merge) % (TIER - 1) == 0


@pytest.mark.parametrize(
    ("history_rows", "keep", "merge"),
    [
        ([], (), ()),
        ([32, 32], (0, 1), ()),
        ([32, 32, 32], (), (0, 1, 2)),
        ([128, 32, 32, 32], (0,), (1, 2, 3)),
        ([128, 128, 128, 32, 32, 32], (), (0, 1, 2, 3, 4, 5)),
        ([512, 128, 128, 32, 32], (0, 1, 2, 3, 4), ()),
    ],
)
def test_three_fragments_of_one_size_become_one_of_the_next(history_rows, keep, merge):
    layout = next_layout(history_rows, RECENT + 1)
    assert (layout.keep, layout.merge) == (keep, merge)
