"""Rows that were extended from another version are what a fresh read gives, array by array, whatever happened between.

The tables are driven directly: appends, upserts, deletes, overwrites, forks, to versions before and after.
"""

from __future__ import annotations

import gc
import secrets
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.engine.deltas import extend_image, extend_rows, find_delta
from omnigraph.engine.entities import ABSENT
from omnigraph.engine.images import Image, load_image
from omnigraph.engine.pinned_rows import MAX_STEPS, PinnedRows, Stored
from omnigraph.engine.splice import Splice
from omnigraph.engine.stored_rows import StoredRows, load_rows
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.arrow_schema import BLOB_MARK
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_filters import OneOf

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("picture", pa.large_binary(), metadata={BLOB_MARK: b"true"}),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 2)),
    ]
)
COLUMNS = ("id", "n", "tags", "text", "vector")
BASE = [f"b{number:02d}" for number in range(40)]
IDS = [*BASE[::4], "", "a", "z", "é", "\uffff", "\U0001d11e", "b", "b000", "b99", "c"]

Rows = Mapping[str, int]


def table_of(rows: Rows) -> pa.Table:
    """Rows by id; the other columns follow from one number, some of them are null."""
    values = [*rows.values()]
    return pa.table(
        {
            "id": pa.array([*rows], pa.string()),
            "n": pa.array([None if each % 5 == 0 else each for each in values], pa.int32()),
            "picture": pa.array([b"x" * (each % 3) for each in values], pa.large_binary()),
            "tags": pa.array([None if each % 3 == 0 else ["t"] * (each % 4) for each in values], pa.list_(pa.string())),
            "text": pa.array([f"text {each}" for each in values], pa.string()),
            "vector": pa.array([[each, each + 0.5] for each in values], pa.list_(pa.float32(), 2)),
        },
        schema=SCHEMA,
    )


class Line:
    """A table whose versions are remembered with the rows that they have to have."""

    def __init__(self, first: Rows) -> None:
        self.tables = LanceTables(MemoryAdapter(parse_uri(f"memory://deltas-{secrets.token_hex(6)}")))
        made = self.tables.commit_create(self.tables.stage_create("nodes/n", SCHEMA, table_of(first)))
        self.versions: list[tuple[SnapshotHandle, dict[str, int]]] = [(made, dict(first))]
        self._number = 1000

    @property
    def head(self) -> tuple[SnapshotHandle, dict[str, int]]:
        return self.versions[-1]

    def change(self, kind: str, ids: Sequence[str]) -> None:
        """One commit on the newest version, or a fork of it; nothing when there is nothing to do."""
        handle, rows = self.head
        self._number += 100
        fresh = {each: self._number + place for place, each in enumerate(ids)}
        if kind == "append":
            fresh = {each: value for each, value in fresh.items() if each not in rows}
            staged = self.tables.stage_append(handle, table_of(fresh)) if fresh else None
            after = rows | fresh
        elif kind == "upsert":
            staged, after = self.tables.stage_upsert(handle, table_of(fresh)), rows | fresh
        elif kind == "delete":
            staged = self.tables.stage_delete(handle, OneOf("id", pa.array(ids)))
            after = {each: value for each, value in rows.items() if each not in ids}
        elif kind == "overwrite":
            after = {each: self._number + place for place, each in enumerate({**rows, **fresh})}
            staged = self.tables.stage_overwrite(handle, table_of(after))
        else:
            made = self.tables.fork(handle, f"b{secrets.token_hex(8)}")
            self.versions.append((made, rows))
            return
        if staged is not None:
            self.versions.append((self.tables.commit_exact(handle, [staged]), after))

    def stored(self, number: int = -1) -> Stored:
        return Stored.of("node:N", self.tables, self.versions[number][0])


def assert_same(rows: PinnedRows, fresh: PinnedRows, columns: Sequence[str] = COLUMNS) -> None:
    assert type(rows) is type(fresh)
    assert rows.pin == fresh.pin
    assert np.array_equal(rows.addresses, fresh.addresses)
    assert rows.addresses.dtype == fresh.addresses.dtype
    for name in columns:
        ours, theirs = rows.column(name), fresh.column(name)
        assert isinstance(ours, pa.Array)
        ours.validate(full=True)
        assert ours.equals(theirs), name
        assert ours.type == theirs.type


def assert_holds(image: Image, rows: Rows) -> None:
    """The image has exactly these rows, by id."""
    expected = table_of(dict(sorted(rows.items(), key=lambda each: each[0].encode())))
    for name in COLUMNS:
        assert image.column(name).equals(expected[name].combine_chunks()), name


def made_image(older: Image, stored: Stored) -> Image:
    made = extend_image(older, stored)
    assert made is not None
    return made


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "upsert", "upsert", "delete", "delete", "overwrite", "fork"]),
        st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True),
    ),
    min_size=1,
    max_size=5,
)
START = {each: number for number, each in enumerate(BASE)}


@settings(max_examples=20)
@given(changes=CHANGES, asked=st.lists(st.sampled_from(COLUMNS), max_size=3), data=st.data())
def test_an_image_extended_along_any_line_is_what_a_fresh_read_gives(
    changes: list[tuple[str, list[str]]], asked: list[str], data: st.DataObject
) -> None:
    line = Line(START)
    held = load_image(line.stored(), asked)
    rows = load_rows(line.stored(), ["text"])
    for kind, ids in changes:
        line.change(kind, ids)
        # Images of some versions only, so that several commits may lie between two of them.
        if data.draw(st.booleans()):
            held = extend_image(held, line.stored()) or load_image(line.stored())
            rows = extend_rows(rows, line.stored()) or load_rows(line.stored(), ["text"])
            held.column(data.draw(st.sampled_from(COLUMNS)))
    for number in (0, data.draw(st.integers(0, len(line.versions) - 1)), -1):
        fresh = load_image(line.stored(number))
        assert_holds(fresh, line.versions[number][1])
        extended = extend_image(held, line.stored(number))
        if extended is not None:
            assert_same(extended, fresh)
            assert_positions(extended, held)
        fresh_rows = load_rows(line.stored(number), ["text"])
        assert_same_rows(fresh_rows, rows)
        extended_rows = extend_rows(rows, line.stored(number))
        if extended_rows is not None:
            assert_same(extended_rows, fresh_rows, ["text", "n"])
            assert_same_rows(extended_rows, rows)
            assert np.array_equal(fresh_rows.positions_from(rows), extended_rows.positions_from(rows))


def assert_positions(image: Image, older: Image) -> None:
    """Each older id is found where it is now, by the steps and by comparing."""
    places = {each: place for place, each in enumerate(image.ids.to_pylist())}
    expected = [places.get(each, ABSENT) for each in older.ids.to_pylist()]
    found = image.positions_from(older)
    assert found is not None
    assert found.tolist() == expected
    assert load_image(image.stored).positions_from(older).tolist() == expected  # type: ignore[union-attr]


def assert_same_rows(rows: StoredRows, older: StoredRows) -> None:
    """What stays is the same row, and whatever changed counts as another."""
    places = rows.positions_from(older)
    assert places is not None
    before, now = older.column("text").to_pylist(), rows.column("text").to_pylist()
    for place, text in zip(places.tolist(), before, strict=True):
        assert place == ABSENT or now[place] == text
    kept = places[places != ABSENT]
    assert len(set(kept.tolist())) == len(kept)
    assert {now[each] for each in range(len(now)) if each not in kept.tolist()}.isdisjoint(before)


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("append", ["a", "z", "é", "b015"]),
        ("upsert", ["b00", "b20", "b39"]),
        ("upsert", ["b20", "b205"]),
        ("delete", ["b00", "b17", "b39"]),
        ("fork", []),
    ],
)
def test_a_small_change_is_an_extension_both_ways(kind: str, ids: list[str]) -> None:
    line = Line(START)
    before = load_image(line.stored(), COLUMNS)
    line.change(kind, ids)
    after = load_image(line.stored(), COLUMNS)
    assert_holds(after, line.head[1])
    assert_same(made_image(before, line.stored()), after)
    assert_same(made_image(after, line.stored(0)), before)


def test_a_sibling_branch_is_an_extension() -> None:
    line = Line(START)
    line.change("upsert", ["b01", "new"])
    line.change("fork", [])
    line.change("append", ["theirs"])
    theirs = load_image(line.stored())
    line.versions.append(line.versions[1])
    line.change("upsert", ["b01", "b30", "ours"])
    line.change("delete", ["b02"])
    ours = load_image(line.stored())
    assert theirs.pin.branch != ours.pin.branch
    assert_same(made_image(theirs, line.stored()), ours)
    assert_same(made_image(ours, theirs.stored), theirs)
    # Both sides gave their new part the same number, and its rows the same addresses.
    our_rows, their_rows = load_rows(ours.stored, ["text"]), load_rows(theirs.stored, ["text"])
    assert set(our_rows.addresses[-3:]) & set(their_rows.addresses[-3:])
    assert_same_rows(our_rows, their_rows)
    extended = extend_rows(their_rows, ours.stored)
    assert extended is not None
    assert_same(extended, our_rows, ["text", "n"])


def test_more_than_half_changed_is_read_anew() -> None:
    line = Line(START)
    image = load_image(line.stored())
    line.change("delete", BASE[:21])
    assert extend_image(image, line.stored()) is None
    line.change("overwrite", ["a"])
    assert extend_image(image, line.stored()) is None
    empty = Line({})
    image = load_image(empty.stored())
    empty.change("append", ["a"])
    assert extend_image(image, empty.stored()) is None


def test_an_image_of_no_rows_works() -> None:
    line = Line({})
    image = load_image(line.stored())
    assert len(image) == 0
    assert image.column("text").to_pylist() == []
    assert image.find(pa.array(["a"])).tolist() == [ABSENT]
    assert image.find(pa.array(["a"] * 100)).tolist() == [ABSENT] * 100
    line.change("fork", [])
    assert_same(made_image(image, line.stored()), load_image(line.stored()))


def test_the_step_says_which_rows_stayed_came_and_were_replaced() -> None:
    line = Line(START)
    image = load_image(line.stored())
    line.change("upsert", ["b01", "b015"])
    made = made_image(image, line.stored())
    step = made.step
    assert step is not None
    assert step.parent is image
    assert step.added["id"].to_pylist() == ["b01", "b015"]
    assert step.taken.tolist() == [0, 40, 41, *range(2, 40)]
    assert step.replaced.tolist() == [1, ABSENT]
    assert step.splice.removed.tolist() == [1]
    assert "picture" not in step.added.column_names


def test_older_rows_leave_and_their_columns_still_follow_without_a_read() -> None:
    line = Line(START)
    image: Image | None = load_image(line.stored(), COLUMNS)
    assert image is not None
    line.change("append", ["a"])
    made = made_image(image, line.stored())
    image = None
    gc.collect()
    assert made.step is None
    with count_table_calls() as counts:
        assert_holds(made, line.head[1])
    assert counts.total() == 0


def test_columns_follow_over_any_number_of_steps_without_a_read() -> None:
    line = Line(START)
    image = load_image(line.stored(), COLUMNS)
    first = image
    chain = [image]
    for number in range(MAX_STEPS + 3):
        line.change("upsert", [f"a{number}", f"b{number:02d}"])
        chain.append(made_image(chain[-1], line.stored()))
    with count_table_calls() as counts:
        assert_holds(chain[-1], line.head[1])
    assert counts.total() == 0
    assert_positions(chain[-1], first)


def test_a_column_follows_when_it_is_asked_for_and_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(START)
    image = load_image(line.stored(), COLUMNS)
    line.change("append", ["a"])
    made: list[pa.DataType] = []
    plain = Splice.apply

    def counted(self: Splice, old: pa.Array, added: pa.Array) -> pa.Array:
        made.append(old.type)
        return plain(self, old, added)

    monkeypatch.setattr(Splice, "apply", counted)
    extended = made_image(image, line.stored())
    assert made == [pa.string()]
    before = extended.nbytes
    text = extended.column("text")
    assert made == [pa.string()] * 2
    assert extended.nbytes == before + text.nbytes - image.column("text").nbytes


def test_a_column_that_no_older_image_had_is_read_by_itself() -> None:
    line = Line(START)
    image = load_image(line.stored())
    line.change("upsert", ["b20", "a"])
    made = made_image(image, line.stored())
    with count_table_calls() as counts:
        assert_holds(made, line.head[1])
    assert counts == {"read": 4}
    assert not image.is_loaded("text")


def test_what_was_derived_follows_as_something_to_extend() -> None:
    line = Line(START)
    image = load_image(line.stored())
    value = image.derived("sum", lambda rows: np.array([len(rows)]))
    for each in ("a", "c"):
        line.change("append", [each])
        image = made_image(image, line.stored())
    assert image.peek("sum") is None
    older = image.older("sum")
    assert older is not None
    assert older.value is value
    assert [each.added["id"].to_pylist() for each in older.steps] == [["a"], ["c"]]
    made = image.derived("sum", lambda _: np.array([1]))
    assert image.peek("sum") is made
    assert image.older("sum") is None


def test_of_many_new_rows_only_columns_in_use_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.deltas._FEW", 2)
    line = Line(START)
    image = load_image(line.stored(), ["text"])
    line.change("append", ["a", "c", "d"])
    delta = find_delta(image, line.stored())
    assert delta is not None
    assert delta.added.column_names == ["id", "text"]
    assert_holds(made_image(image, line.stored()), line.head[1])


def test_an_extension_reads_the_rows_that_came_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(START)
    image = load_image(line.stored(), COLUMNS)
    line.change("append", ["a"])
    read: list[int] = []
    plain = Stored.read

    def counted(self: Stored, *args: object, **options: object) -> object:
        rows, addresses = plain(self, *args, **options)  # type: ignore[arg-type]
        read.append(len(addresses))
        return rows, addresses

    monkeypatch.setattr(Stored, "read", counted)
    with count_table_calls() as counts:
        made = made_image(image, line.stored())
        for name in COLUMNS:
            made.column(name)
    assert counts == {"read": 1}
    assert read == [1]


def test_positions_of_another_type_are_unrelated() -> None:
    line = Line(START)
    made = line.tables.commit_create(line.tables.stage_create("nodes/m", SCHEMA, table_of(START)))
    other = load_image(Stored.of("node:M", line.tables, made))
    assert load_image(line.stored()).positions_from(other) is None


@given(
    old_count=st.integers(0, 30),
    removed=st.sets(st.integers(0, 29), max_size=10),
    at=st.lists(st.integers(0, 30), max_size=8),
    limit=st.sampled_from([0, 512]),
)
def test_a_splice_is_the_list_with_rows_taken_out_and_put_in(
    old_count: int, removed: set[int], at: list[int], limit: int
) -> None:
    gone = sorted(each for each in removed if each < old_count)
    places = sorted(min(each, old_count) for each in at)
    splice = Splice.of(old_count, np.array(gone, np.int64), np.array(places, np.int64))
    expected: list[str] = []
    for place in range(old_count + 1):
        expected += [f"new {number}" for number, each in enumerate(places) if each == place]
        expected += [f"old {place}"] if place < old_count and place not in gone else []
    old = [f"old {each}" for each in range(old_count)]
    new = [f"new {each}" for each in range(len(places))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnigraph.engine.splice._MAX_RUNS", limit)
        assert splice.apply(pa.array(old, pa.string()), pa.array(new, pa.string())).to_pylist() == expected
        numbers = splice.apply_numbers(np.arange(old_count), 100 + np.arange(len(places)))
    assert [f"old {each}" if each < 100 else f"new {each - 100}" for each in numbers] == expected
    assert [(old + new)[each] for each in splice.taken] == expected
    assert np.array_equal(splice.trace(np.arange(len(splice))), splice.taken)
    forward = splice.forward(np.full(len(places), ABSENT))
    assert forward.tolist() == [expected.index(each) if each in expected else ABSENT for each in old]
    assert splice.removed.tolist() == gone
