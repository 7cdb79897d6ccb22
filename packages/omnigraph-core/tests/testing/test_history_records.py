"""The notes of a writer: calls come back as they were, and one that was cut off is known for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnigraph.testing.history_calls import EVERYTHING, Creation, Load, Look, Mutation, Upkeep, make_work
from omnigraph.testing.history_records import CallRecord, NoteReader, Outcome, SidecarNote, read_records
from omnigraph.testing.mutation_strategies import history_world, rich_world

WORLD = history_world()


def mutation(seed: int) -> Mutation:
    work = make_work(Random(seed), WORLD)
    assert isinstance(work, Mutation)
    return work


def write(file: Path, *notes: Mapping[str, Any], rest: str = "") -> None:
    with file.open("a") as notebook:
        notebook.write("".join(f"{json.dumps(note)}\n" for note in notes) + rest)


def test_notes_give_the_records_back_and_a_call_without_an_ending_is_unknown(tmp_path: Path):
    ended = CallRecord(
        call="a",
        work=mutation(1),
        before=2,
        after=3,
        outcome=Outcome.ACKNOWLEDGED,
        commit_id="x",
        affected=(1, 0),
    )
    begun = CallRecord(call="b", work=mutation(2), before=3)
    file = tmp_path / "writer.jsonl"
    hit = {"hit": "publish.before_commit", "during": "mutate"}
    write(file, ended.intent(), ended.ending(), hit, begun.intent(), rest='{"ending": "b", "aft')
    assert read_records(file) == (ended, begun)
    assert read_records(file)[1].outcome is Outcome.UNKNOWN
    assert read_records(tmp_path / "none.jsonl") == ()


@pytest.mark.parametrize("make_world", [history_world, rich_world])
def test_work_of_every_kind_comes_back_from_the_notes(tmp_path: Path, make_world: Any):
    world, random = make_world(), Random(7)
    records = [
        CallRecord(call=str(number), work=make_work(random, world, EVERYTHING), before=1) for number in range(300)
    ]
    write(tmp_path / "notes", *(each.intent() for each in records))
    assert read_records(tmp_path / "notes") == tuple(records)
    assert {type(each.work) for each in records} == {Mutation, Load, Upkeep, Look, Creation}
    kinds = {"load_append", "load_merge", "load_overwrite", *EVERYTHING} - {"load"}
    assert {each.work.kind for each in records} == kinds


def test_notes_are_read_as_they_grow_and_a_repeated_call_is_one_call(tmp_path: Path):
    reader = NoteReader(tmp_path / "notes")
    assert reader.read().unanswered is None
    load = CallRecord(call="a", work=Load(mode="merge", records=(), is_named=True), before=4)
    write(reader.path, load.intent(), rest='{"fault": "read')
    assert reader.read().unanswered == load
    write(reader.path, rest=' after"}\n')
    later = CallRecord(call="a", work=load.work, before=4, after=9, outcome=Outcome.ACKNOWLEDGED, commit_id="x")
    write(
        reader.path,
        {"sidecar": "op", "is": "written", "pid": 5, "at": 1.5},
        {"hit": "load.staged", "during": "load_merge"},
        {"open": "StorageError: no"},
        later.intent(),
        later.ending(),
    )
    reader.read()
    (record,) = reader.records.values()
    assert (record.before, record.after, record.attempts, record.commit_id) == (4, 9, 2, "x")
    assert reader.unanswered is None
    assert reader.hits == {("load.staged", "load_merge"): 1}
    assert reader.faults == {"read after": 1}
    assert reader.failed_opens == 1
    assert reader.sidecars == [SidecarNote(operation_id="op", what="written", process=5, at=1.5)]


def test_the_same_seed_draws_the_same_work():
    assert [make_work(Random(5), WORLD, EVERYTHING) for _ in range(3)] == [make_work(Random(5), WORLD, EVERYTHING)] * 3
    with pytest.raises(ValueError, match="There is no kind of work 'sleep'"):
        make_work(Random(5), WORLD, {"sleep": 1})
