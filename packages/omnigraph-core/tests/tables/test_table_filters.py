"""Filters on types that a structured filter of Lance cannot name: unsigned integers, date64, and lists of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.tables import ordering
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.row_filters import AllOf, Compared, NullTest, OneOf, for_lance

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("many", pa.list_(pa.uint32())),
        pa.field("u32", pa.uint32()),
        pa.field("u64", pa.uint64()),
        pa.field("when", pa.date64()),
    ]
)
LARGEST = 2**64 - 1


@pytest.fixture
def handle(tables):
    given = pa.table(
        [
            pa.array(["d", "it's", "b", "c"]),
            pa.array([[1], None, [], [2, 3]], pa.list_(pa.uint32())),
            pa.array([1, 2, None, 2**32 - 1], pa.uint32()),
            pa.array([LARGEST, 0, 5, None], pa.uint64()),
            pa.array([86_400_000, -1, None, 5], pa.date64()),
        ],
        schema=SCHEMA,
    )
    return tables.commit_create(tables.stage_create("nodes/odd", SCHEMA, given))


# Expected ids by hand from the rows above.
PREDICATES = [
    (Compared("u32", "=", pa.scalar(1)), {"d"}),
    (Compared("u32", "=", pa.scalar(2**32 - 1, pa.uint32())), {"c"}),
    (Compared("u64", ">", pa.scalar(5, pa.uint64())), {"d"}),
    (NullTest("u64", True), {"c"}),
    (Compared("when", "=", pa.scalar(86_400_000, pa.date64())), {"d"}),
    (NullTest("when", True), {"b"}),
    (Compared("id", ">=", pa.scalar("c")), {"c", "d", "it's"}),
    (AllOf((Compared("id", "<", pa.scalar("it")), Compared("u32", "!=", pa.scalar(1)))), {"c"}),
]


@pytest.mark.parametrize(("predicate", "expected"), PREDICATES)
def test_reads_counts_and_deletes_agree(predicate, expected, tables, handle):
    assert set(tables.read(handle, columns=["id"], predicate=predicate).read_all()["id"].to_pylist()) == expected
    assert tables.read(handle, predicate=predicate).read_all().schema.equals(SCHEMA)
    assert tables.count_rows(handle, predicate=predicate) == len(expected)
    after = tables.commit_exact(handle, [tables.stage_delete(handle, predicate)])
    assert set(tables.read(after).read_all()["id"].to_pylist()) == {"d", "it's", "b", "c"} - expected


@pytest.mark.parametrize("limit", [200_000, 1], ids=["at once", "in ranges"])
def test_rows_come_by_id_with_and_without_a_predicate(limit, tables, handle, monkeypatch):
    monkeypatch.setattr(ordering, "MAX_ROWS_AT_ONCE", limit)
    assert tables.read(handle, order_by_id=True).read_all()["id"].to_pylist() == ["b", "c", "d", "it's"]
    above = Compared("u32", ">", pa.scalar(1))
    wanted = tables.read(handle, columns=["u32"], predicate=above, order_by_id=True).read_all()
    assert wanted.to_pydict() == {"u32": [2**32 - 1, 2]}


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("id", ["it's", "b", "x' OR 1=1 --"], {"it's", "b"}),
        ("u32", [1, 7, 2**32 - 1], {"d", "c"}),
        ("u64", [LARGEST, 0], {"d", "it's"}),
        ("when", [5, -1], {"c", "it's"}),
    ],
)
def test_a_look_up_by_any_of_them_finds_its_rows(key, values, expected, tables, handle):
    keys = pa.array(values, SCHEMA.field(key).type)
    assert set(tables.lookup(handle, keys, key=key, columns=["id"])["id"].to_pylist()) == expected
    after = tables.commit_exact(handle, [tables.stage_delete_keys(handle, keys, key=key)])
    assert set(tables.read(after).read_all()["id"].to_pylist()) == {"d", "it's", "b", "c"} - expected


def test_a_look_up_by_id_uses_the_index_in_spite_of_them(tables, handle):
    after = tables.commit_exact(
        handle, [tables.stage_indexes(handle, [IndexSpec(column="id", kind="btree", name="id_btree")])]
    )
    wanted = for_lance(OneOf("id", pa.array(["b", "it's"])), after.dataset.schema)
    assert "ScalarIndexQuery" in after.dataset.scanner(filter=wanted).explain_plan()
    assert len(tables.lookup(after, pa.array(["b", "it's"]))) == 2


def test_an_upsert_by_id_works_in_spite_of_them(tables, handle):
    rows = tables.read(handle, predicate=Compared("id", "=", pa.scalar("b"))).read_all()
    changed = rows.set_column(2, SCHEMA.field("u32"), pa.array([77], pa.uint32()))
    after = tables.commit_exact(handle, [tables.stage_upsert(handle, changed)])
    assert tables.lookup(after, pa.array(["b"]), columns=["u32"])["u32"].to_pylist() == [77]
