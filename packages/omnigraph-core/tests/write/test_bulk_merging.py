"""A merge that others do comes to what a merge by this process comes to: rows, row ids, and what made each row."""

from __future__ import annotations

import pickle
import uuid
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.config import DEFAULT_WRITE_SECONDS
from omnigraph.errors import InternalError
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.handles import snapshot_of
from omnigraph.tables.interface import TableStorage
from omnigraph.write import deadlines, load
from omnigraph.write.bulk import publishing
from omnigraph.write.row_merging import BulkMerger, MergedRows, MergeWork, RowsToMerge, rows_to_merge
from omnigraph.write.validation.sets import LIMITS

SCHEMA = "node Person { name: String @key  age: I32?  photo: Blob? }  node Note { text: String }"
STAMPS = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


class Elsewhere(BulkMerger):
    """Merges by loops, from what travels: every question is pickled on its way, and each step opens tables anew."""

    def __init__(self, ticket: og.BulkTicket) -> None:
        self.ticket = ticket
        self.asked: list[RowsToMerge] = []

    def merge(self, asked: RowsToMerge) -> MergedRows:
        self.asked.append(asked)
        asked = pickle.loads(pickle.dumps(asked))
        with self.ticket.merge_work(asked) as work:
            places = {each["key"]: each for each in _rows(work.places(range(len(asked.parts))))}
            last = {each["key"]: each["row"] for each in _rows(work.keys(range(len(asked.rows.pieces))))}
            found: dict[int, list[dict[str, Any]]] = defaultdict(list)
            marked: dict[int, list[int]] = defaultdict(list)
            for number in range(len(asked.rows.pieces)):
                for each in _rows(work.keys([number])):
                    place = places.get(each["key"])
                    if each["row"] != last[each["key"]]:
                        place = {}
                    elif place is not None:
                        marked[place["address"] >> 32].append(place["address"])
                    if place is not None:
                        found[number].append({"row": each["row"], **place})
            columns = pa.schema([(name, pa.int64()) for name in ("row", "address", "row_id", "made_at")])
            settled = {
                number: work.settle(number, pa.Table.from_pylist(own[::-1], columns)) for number, own in found.items()
            }
            parts = [work.mark(pa.chunked_array([own], pa.int64())) for own in marked.values()]
        return MergedRows.gathered(asked, settled, parts)


def _rows(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "LIMITS", replace(LIMITS, memory_rows=0))


def people(names: str, age: int = 0) -> pa.Table:
    return pa.table({"name": list(names), "age": pa.array([age] * len(names), pa.int32())})


def notes(names: str, round_: int = 0) -> pa.Table:
    texts = [f"{place} of {round_}" for place in range(len(names))]
    return pa.table({"id": pa.array(list(names), pa.string()), "text": pa.array(texts, pa.string())})


def merge_elsewhere(graph: og.Graph, name: str, *tables: pa.Table, branch: str = "main") -> Elsewhere:
    """Merge tables, each of which becomes a file."""
    ticket = graph.bulk([name], branch=branch)
    merger = Elsewhere(ticket)
    graph.bulk_publish([ticket.write(name, each) for each in tables], "merge", branch=branch, merger=merger)
    return merger


def stored(graph: og.Graph, name: str, branch: str = "main") -> dict[str, tuple[Any, ...]]:
    """What Lance knows of each row, by id."""
    snapshot = graph.snapshot(branch)
    entry = snapshot.entry(snapshot.schema.tables[name])
    dataset = snapshot_of(graph._repository.tables.open_at(entry.pin)).dataset
    found = dataset.to_table(columns=["id", *STAMPS]).to_pylist()
    return {each["id"]: tuple(each[stamp] for stamp in STAMPS) for each in found}


def pair() -> tuple[og.Graph, og.Graph]:
    made = tuple(og.init(f"memory://{uuid.uuid4().hex}/g", schema=SCHEMA) for _ in range(2))
    for graph in made:
        graph.load({"Person": people("abcd"), "Note": notes("abcd")}, "append")
        graph.load({"Person": people("efgh"), "Note": notes("efgh")}, "append")
    return made


FILES = st.lists(st.text("abcefgxyz", min_size=1, max_size=6), min_size=1, max_size=3)


@settings(max_examples=20)
@given(st.lists(FILES, min_size=1, max_size=3))
def test_random_merges_come_to_the_same_rows_row_ids_and_makers(rounds: list[list[str]]):
    ours, theirs = pair()
    with ours, theirs:
        for number, files in enumerate(rounds):
            merge_elsewhere(ours, "Note", *(notes(names, number) for names in files))
            theirs.load({"Note": pa.concat_tables([notes(names, number) for names in files])}, "merge")
        assert list(ours.export()) == list(theirs.export())
        here, there = stored(ours, "node:Note"), stored(theirs, "node:Note")
        # New rows of one commit are numbered in the order of their files, which a merge by Lance may change.
        known = "abcdefgh"
        assert {name: here[name] for name in known} == {name: there[name] for name in known}
        assert {name: each[1:] for name, each in here.items()} == {name: each[1:] for name, each in there.items()}
        assert len({each[0] for each in here.values()}) == len(here)
        # What was merged is merged again, folded and searched like any other row.
        ours.maintain.ensure_indices()
        ours.load({"Note": notes("ax", 9)}, "merge")
        theirs.load({"Note": notes("ax", 9)}, "merge")
        assert list(ours.export()) == list(theirs.export())


def test_a_file_of_which_every_row_replaces_one_or_none_does_is_not_written_again():
    ours, _ = pair()
    with count_table_calls() as counts:
        merge_elsewhere(ours, "Person", people("abe", 1), people("xy", 1))
    # Two by the ticket; what the rows take over lies in a file beside theirs.
    assert (counts["write_rows"], counts["continue_rows"], counts["mark_parts"]) == (2, 1, 2)
    assert (counts["stage_marked"], counts["stage_upsert"]) == (1, 0)


def test_a_file_of_both_kinds_is_written_again_as_two():
    ours, theirs = pair()
    with count_table_calls() as counts:
        merge_elsewhere(ours, "Person", people("axb", 1))
    assert (counts["write_rows"], counts["continue_rows"]) == (3, 1)
    theirs.load({"Person": people("axb", 1)}, "merge")
    assert list(ours.export()) == list(theirs.export())
    assert stored(ours, "node:Person") == stored(theirs, "node:Person")


def test_parts_of_which_every_row_is_replaced_go():
    ours, _ = pair()
    merge_elsewhere(ours, "Person", people("abcd", 1))
    tables, snapshot = ours._repository.tables, ours.snapshot()
    pin = snapshot.entry(snapshot.schema.tables["node:Person"]).pin
    assert [(each.number, each.live_count) for each in tables.parts(tables.open_at(pin))] == [(1, 4), (2, 4)]


def test_rows_that_are_all_new_are_appended():
    ours, _ = pair()
    with count_table_calls() as counts:
        merge_elsewhere(ours, "Person", people("xy", 1))
    assert (counts["stage_append"], counts["stage_marked"], counts["stage_upsert"]) == (1, 0, 0)


def test_few_rows_are_merged_here_however_many_are_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(publishing, "LIMITS", replace(LIMITS, memory_rows=2))
    ours, _ = pair()
    assert not merge_elsewhere(ours, "Person", people("ax", 1)).asked
    assert merge_elsewhere(ours, "Person", people("aby", 1)).asked


def test_keys_are_known_not_to_repeat_and_ids_may():
    ours, _ = pair()
    assert [each.may_repeat for each in merge_elsewhere(ours, "Person", people("ab", 1)).asked] == [False]
    assert [each.may_repeat for each in merge_elsewhere(ours, "Note", notes("ab", 1)).asked] == [True]


def test_blobs_of_a_file_that_is_written_again_are_kept():
    ours, theirs = pair()
    photos = [b"", b"x" * 100, None, b"y" * 5_000_000]
    rows = people("axby", 3).append_column("photo", pa.array(photos, pa.large_binary()))
    merge_elsewhere(ours, "Person", rows)
    theirs.load({"Person": rows}, "merge")
    assert ours.table("Person").to_arrow().sort_by("id").equals(theirs.table("Person").to_arrow().sort_by("id"))


def test_a_branch_merges_into_a_line_of_its_own():
    ours, theirs = pair()
    before = list(ours.export())
    for graph in (ours, theirs):
        graph.branches.create("work")
    merge_elsewhere(ours, "Person", people("axe", 1), branch="work")
    theirs.load({"Person": people("axe", 1)}, "merge", branch="work")
    assert list(ours.export(branch="work")) == list(theirs.export(branch="work"))
    assert stored(ours, "node:Person", "work") == stored(theirs, "node:Person", "work")
    assert list(ours.export()) == before


def test_after_a_lost_race_only_the_type_that_moved_on_is_merged_again():
    ours, _ = pair()
    ticket = ours.bulk()
    merger = Elsewhere(ticket)
    moved: list[str] = []

    def meanwhile(progress: og.LoadProgress) -> None:
        if progress.phase == "publishing" and not moved:
            moved.append("Note")
            ours.load({"Note": notes("am", 1)}, "merge")

    receipts = [ticket.write("Person", people("az", 5)), ticket.write("Note", notes("zma", 5))]
    ours.bulk_publish(receipts, "merge", merger=merger, progress=meanwhile)
    asked = [each.base.location for each in merger.asked]
    assert sorted(asked.count(each) for each in set(asked)) == [1, 2]
    found = {each["id"]: each["text"] for each in ours.table("Note").to_arrow().to_pylist()}
    assert {name: found[name] for name in "zmab"} == {"z": "0 of 5", "m": "1 of 5", "a": "2 of 5", "b": "1 of 0"}


def test_the_time_of_merging_again_is_no_effort_against_others(monkeypatch: pytest.MonkeyPatch):
    """A merge takes longer than others may be fought, and behind the second one another type moved on."""
    seconds = [0.0]
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr(load, "BRIEF_ROWS", 0)
    ours, _ = pair()
    ticket = ours.bulk(["Note"])
    rivals = [{"Note": notes("m", 1)}, {"Person": people("q", 1)}]

    class Slow(Elsewhere):
        def merge(self, asked: RowsToMerge) -> MergedRows:
            seconds[0] += 10 * DEFAULT_WRITE_SECONDS
            return super().merge(asked)

    def meanwhile(progress: og.LoadProgress) -> None:
        if progress.phase == "publishing" and rivals:
            with og.open(ours.uri) as other:
                other.load(rivals.pop(0), "merge")

    merger = Slow(ticket)
    done = ours.bulk_publish([ticket.write("Note", notes("az", 5))], "merge", merger=merger, progress=meanwhile)
    assert (done.total, len(merger.asked), rivals) == (2, 2, [])


def work_on(graph: og.Graph, name: str, rows: pa.Table) -> tuple[RowsToMerge, TableStorage]:
    receipt = graph.bulk([name]).write(name, rows)
    tables = graph._repository.tables
    return rows_to_merge(receipt.written, receipt.pin, tables, may_repeat=True), tables


@pytest.mark.parametrize("rows", [[0, 0], [3], [-1]], ids=["twice", "beyond", "before"])
def test_what_is_not_about_the_rows_of_a_file_is_refused(rows: list[int]):
    ours, _ = pair()
    asked, tables = work_on(ours, "Note", notes("abc", 1))
    found = pa.table({"row": rows, **dict.fromkeys(("address", "row_id", "made_at"), rows)})
    with pytest.raises(InternalError, match="not about its 3 rows"):
        MergeWork(asked, tables).settle(0, found)


def test_marks_of_another_version_or_of_one_part_twice_are_refused():
    ours, _ = pair()
    asked, tables = work_on(ours, "Note", notes("abc", 1))
    base = tables.open_at(asked.base)
    (first,) = tables.mark_parts(base, pa.array([0, 1], pa.uint64()))
    (other,) = tables.mark_parts(base, pa.array([2], pa.uint64()))
    older = replace(first, pin=replace(first.pin, version=first.pin.version - 1))
    for marked in ([first, other], [older]):
        with pytest.raises(InternalError, match="cannot be marked"):
            tables.stage_marked(base, [], marked)
    with pytest.raises(InternalError, match="cannot continue"):
        tables.continue_rows(base, asked.rows.pieces[0].rows, pa.table({"row_id": [1], "made_at": [1]}))
