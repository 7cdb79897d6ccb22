"""Who answers questions about rows in storage gives the answers that the process that asks would have found."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from test_validate_model import MIXED, cases, verdict
from test_validate_removed import removing_cases
from validation_oracle import judge as judge_by_loops
from validation_world import LARGE, SMALL, World, WrittenInMemory

from omnigraph.write.validation.row_sets import BulkJudge, Found, RowSet, written_pieces
from omnigraph.write.validation.sets import Limits, Rows, plan_table
from omnigraph.write.validation.stored_judge import WORKER_LIMITS, StoredJudge

QUESTIONS = ("absent", "taken", "repeated", "held", "outnumbered")


class Elsewhere(BulkJudge):
    """Answers from what travels: every set of rows is pickled on its way. Notes what it was asked."""

    def __init__(self, tables: WrittenInMemory, limits: Limits = SMALL) -> None:
        self.asked: list[str] = []
        self._judge = StoredJudge(tables, limits)  # type: ignore[arg-type]

    def _ask(self, question: str, *given: Any) -> Any:
        self.asked.append(question)
        return getattr(self._judge, question)(*pickle.loads(pickle.dumps(given)))

    def absent(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        return self._ask("absent", rows, known, keep)

    def taken(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        return self._ask("taken", rows, known, keep)

    def repeated(self, rows: RowSet, keep: int) -> Found:
        return self._ask("repeated", rows, keep)

    def held(self, rows: RowSet, others: RowSet, keep: int) -> Found:
        return self._ask("held", rows, others, keep)

    def outnumbered(self, new: RowSet, kept: RowSet, gone: RowSet, minimum: int, maximum: int | None) -> pa.Table:
        return self._ask("outnumbered", new, kept, gone, minimum, maximum)


# ── a whole validation ───────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=25)
@given(cases(), st.sampled_from([LARGE, MIXED]), st.sampled_from([SMALL, LARGE]))
def test_a_change_is_judged_elsewhere_as_it_is_here(case, limits, limits_there):
    text, types, changes, stored = case
    here, there = World(text, stored), World(text, stored)
    expected = here.judge(*(here.change(name, *each) for name, each in changes.items()), limits=SMALL)
    judge = Elsewhere(there.committed.tables, limits_there)
    made = [there.change(name, *each, is_written=True) for name, each in changes.items()]
    problems = there.judge(*made, limits=replace(limits, judge=judge))
    for question in sorted(set(judge.asked)) or ["nothing"]:
        event(question)
    assert problems.kept == expected.kept
    assert problems.counts == expected.counts
    assert verdict(problems) == judge_by_loops(types, changes, stored)


@settings(max_examples=15)
@given(removing_cases())
def test_rows_that_do_not_count_any_more_are_never_asked_about(case):
    text, _, changes, stored = case
    here, there = World(text, stored), World(text, stored)
    expected = here.judge(*(here.change(name, *each) for name, each in changes.items()), limits=SMALL)
    made = [there.change(name, *each, is_written=True) for name, each in changes.items()]
    judge = Elsewhere(there.committed.tables)
    assert there.judge(*made, limits=replace(LARGE, judge=judge)).kept == expected.kept


SCHEMA = """
node Person { handle: String @key  mail: String? @unique }
edge Owes: Person -> Person @card(0..1)
"""
PEOPLE = [{"id": name, "handle": name, "mail": f"{name}@x"} for name in ("ann", "bo", "cy")]
OWED = [{"id": "o1", "src": "ann", "dst": "bo"}]


def test_every_question_about_many_rows_goes_to_the_judge_and_nobody_reads_them_here():
    world = World(SCHEMA, {"Person": PEOPLE, "Owes": OWED})
    judge = Elsewhere(world.committed.tables)
    people = [{"id": name, "handle": name, "mail": "bo@x"} for name in ("di", "ed", "ann")]
    owed = [{"id": "o2", "src": "ann", "dst": "nobody"}, {"id": "o3", "src": "ann", "dst": "di"}]
    changes = (
        world.change("Person", "insert", people, is_written=True),
        world.change("Owes", "insert", owed, is_written=True),
    )
    problems = world.judge(*changes, limits=replace(LARGE, judge=judge), values_are_checked=True)
    assert set(judge.asked) == set(QUESTIONS)
    assert world.committed.accesses == []
    assert problems.counts == {"unique": 5, "key_conflict": 1, "endpoint": 1, "cardinality": 1}


def test_rows_in_memory_and_few_rows_are_judged_here():
    world = World(SCHEMA, {"Person": PEOPLE, "Owes": OWED})
    judge = Elsewhere(world.committed.tables)
    world.judge(world.change("Person", "insert", PEOPLE), limits=replace(LARGE, judge=judge))
    assert judge.asked == []
    world.judge(world.change("Person", "insert", PEOPLE, is_written=True), limits=replace(SMALL, judge=judge))
    assert judge.asked == []


# ── question by question ─────────────────────────────────────────────────────────────────────────────────────────────

KEYS = st.sampled_from(["a", "b", "c", "", "é"])
SOME = st.lists(KEYS, max_size=9)
PAIRS = st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), KEYS), max_size=7)
THERE = st.sampled_from([SMALL, LARGE])


class Sets:
    """Sets of rows in files, made of plain lists."""

    def __init__(self, limits: Limits) -> None:
        self.tables = WrittenInMemory()
        self.judge = StoredJudge(self.tables, limits)  # type: ignore[arg-type]

    def of(self, *, is_numbered: bool = True, **columns: list[str]) -> RowSet:
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
        fields = [pa.field("row", pa.int64())] * is_numbered + list(table.schema)
        return RowSet(
            schema=pa.schema(fields),
            columns=tuple((name, name) for name in columns),
            row_count=table.num_rows,
            pieces=written_pieces(self.tables.write("t", table)),
        )

    def keys(self, *sides: list[str]) -> list[RowSet]:
        return [self.of(is_numbered=False, key=each) for each in sides]


@settings(max_examples=20)
@given(SOME, SOME, SOME, st.integers(0, 4), THERE)
def test_absent_and_taken_part_the_rows_by_whether_others_have_their_key(keys, one, other, keep, limits):
    sets = Sets(limits)
    known = {*one, *other}
    for question, wanted in (("absent", False), ("taken", True)):
        rows = [row for row, key in enumerate(keys) if (key in known) is wanted]
        found = getattr(sets.judge, question)(sets.of(key=keys), sets.keys(one, other), keep)
        assert (found.count, found.first.to_pydict()) == (len(rows), {"row": rows[:keep]})


@settings(max_examples=20)
@given(SOME, SOME, st.integers(0, 4), THERE)
def test_repeated_names_each_row_that_repeats_and_the_first_that_has_the_same(ones, others, keep, limits):
    sets = Sets(limits)
    pairs = list(zip(ones, others, strict=False))
    later = [(row, pairs.index(pair)) for row, pair in enumerate(pairs) if pairs.index(pair) < row]
    rows = sets.of(k0=[pair[0] for pair in pairs], k1=[pair[1] for pair in pairs])
    found = sets.judge.repeated(rows, keep)
    assert found.count == len(later)
    assert [tuple(each.values()) for each in found.first.to_pylist()] == later[:keep]


@settings(max_examples=20)
@given(PAIRS, PAIRS, st.integers(0, 4), THERE)
def test_held_pairs_rows_with_those_of_another_id_and_the_same_value(ours, theirs, keep, limits):
    sets = Sets(limits)
    pairs = sorted(
        (row, holder)
        for row, (own, key) in enumerate(ours)
        for holder, other in theirs
        if key == other and own != holder
    )
    rows = sets.of(id=[each[0] for each in ours], k0=[each[1] for each in ours])
    others = sets.of(is_numbered=False, id=[each[0] for each in theirs], k0=[each[1] for each in theirs])
    found = sets.judge.held(rows, others, keep)
    assert found.count == len(pairs)
    assert [tuple(each.values()) for each in found.first.to_pylist()] == pairs[:keep]


@settings(max_examples=20)
@given(SOME, SOME, SOME, st.sampled_from([(0, 1), (1, 2), (2, None), (0, 3)]), THERE)
def test_outnumbered_counts_the_edges_of_sources_that_are_touched(new, kept, gone, bounds, limits):
    sets = Sets(limits)
    low, high = bounds
    counts = Counter(new) + Counter(kept)
    expected = {
        (src, counts[src], max((row for row, each in enumerate(new) if each == src), default=-1))
        for src in {*new, *gone}
        if counts[src] < low or (high is not None and counts[src] > high)
    }
    sides = (sets.of(src=new), sets.of(is_numbered=False, src=kept), sets.of(is_numbered=False, src=gone))
    found = sets.judge.outnumbered(*sides, low, high)
    assert Counter(tuple(each.values()) for each in found.to_pylist()) == Counter(expected)


@pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
def test_a_row_with_a_null_in_a_column_that_is_compared_is_left_out(limits):
    sets = Sets(limits)
    found = sets.judge.repeated(sets.of(k0=["a", None, None, "a"], k1=["b", "c", "c", "b"]), 9)
    assert found.first.to_pylist() == [{"row": 3, "first": 0}]


# ── how much at once ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_worker_compares_with_two_million_keys_in_one_pass_over_the_rows():
    wide = pa.table({"key": ["p000000001"]})
    keys = Rows(schema=wide.schema, row_count=2_000_000, open=lambda: iter(wide.to_batches()))
    assert plan_table(keys, WORKER_LIMITS).parts == 1
    # More, or wider ones, are taken in parts: what a worker takes stays bounded.
    assert plan_table(replace(keys, row_count=8_000_000), WORKER_LIMITS).parts == 2
    wide = pa.table({"key": ["p" * 1_000]})
    assert plan_table(keys, WORKER_LIMITS).parts > 1


def test_who_is_asked_by_a_ticket_has_the_limits_of_a_worker():
    assert StoredJudge(WrittenInMemory())._limits == WORKER_LIMITS  # type: ignore[arg-type]
