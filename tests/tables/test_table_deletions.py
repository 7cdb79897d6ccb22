"""Which rows of a part are deleted: Lance's own lists say it, in each of their forms, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from table_rows import PERSON, SCHEMA, create, rows

from omnigraph.errors import InternalError, StorageError
from omnigraph.tables import deletions
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables

SIZE = 150_000
LISTS = {
    "one": [7],
    "few, in no order": [90_000, 3, SIZE - 1, 0],
    "many, far apart": range(0, SIZE, 20),
    "many, together": range(70_000, 90_000),
    "many, of both kinds": [*range(5, 65_000, 40), *range(65_536, 131_072), SIZE - 2],
    "all but one": range(1, SIZE),
}
"""Lance lists up to 5,000 rows one by one and keeps more as a bitmap, for each 65,536 rows in one of two forms."""


def many() -> pa.Table:
    numbers = np.arange(SIZE, dtype=np.int32)
    return pa.table([numbers.astype(str), numbers], schema=SCHEMA)


def without(tables: LanceTables, handle: SnapshotHandle, offsets, part: int = 0) -> SnapshotHandle:
    addresses = np.array([*offsets], np.uint64) | np.uint64(part << 32)
    return tables.commit_exact(handle, [tables.stage_delete_at(handle, pa.array(addresses))])


@pytest.fixture
def only_lists(monkeypatch):
    """Lance is not asked for rows."""

    def scanned(*_):
        raise AssertionError("The list was not understood.")

    monkeypatch.setattr(deletions, "_scanned", scanned)


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_a_list_is_read_in_each_of_its_forms(listed, local, only_lists):
    tables = LanceTables(local)
    base = create(tables, many())
    found = tables.deleted(without(tables, base, listed), [0])[0]
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, sorted(listed))
    np.testing.assert_array_equal(tables.deleted(base, [0])[0], [])


def test_every_backend_knows_the_deleted_rows_of_each_part(tables):
    handle = create(tables, rows(a=1, b=2, c=3))
    for more in (rows(d=4, e=5), rows(f=6)):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, more)])
    handle = without(tables, without(tables, handle, [2, 0]), [1], part=1)
    found = tables.deleted(handle, [0, 1, 2])
    assert {number: offsets.tolist() for number, offsets in found.items()} == {0: [0, 2], 1: [1], 2: []}
    assert tables.deleted(handle, []) == {}
    with pytest.raises(InternalError):
        tables.deleted(handle, [3])


def test_lists_lie_below_the_line_that_wrote_them(local, only_lists):
    tables = LanceTables(local)
    first = without(tables, create(tables, rows(a=1, b=2, c=3, d=4)), [0])
    second = without(tables, tables.fork(first, "one"), [1])
    third = tables.fork(second, "two")
    found = [tables.deleted(each, [0])[0].tolist() for each in (first, tables.fork(first, "three"), second, third)]
    assert found == [[0], [0], [0, 1], [0, 1]]


@pytest.mark.parametrize("listed", [[7], range(6_000)], ids=["array", "bitmap"])
@pytest.mark.parametrize("size", [0, 4, 20], ids=str)
def test_a_damaged_list_is_no_list(size, listed, local):
    tables = LanceTables(local)
    pin = without(tables, create(tables, many()), listed).pin
    (path,) = (Path(local.root.path) / PERSON / "_deletions").iterdir()
    path.write_bytes(path.read_bytes()[:size])
    fresh = LanceTables(local)
    with pytest.raises(StorageError):
        fresh.deleted(fresh.open_at(pin), [0])


def test_a_list_of_another_form_is_left_to_lance(local, monkeypatch):
    tables = LanceTables(local)
    handle = without(tables, create(tables, rows(a=1, b=2, c=3)), [1])
    monkeypatch.setattr(deletions, "_from_arrow", deletions._from_bitmap)
    assert tables.deleted(handle, [0])[0].tolist() == [1]


def test_a_short_list_is_read_once_for_a_version_and_a_long_one_is_not_kept(tables, monkeypatch):
    monkeypatch.setattr(deletions, "MAX_KEPT", 2)
    short = without(tables, create(tables, rows(a=1, b=2, c=3, d=4)), [1, 3])
    long = without(tables, short, [0])
    for handle, expected in ((short, 1), (long, 2)):
        with count_table_calls() as counts:
            first, second = (tables.deleted(handle, [0])[0].tolist() for _ in range(2))
        assert first == second
        assert counts["read_deleted"] == expected
