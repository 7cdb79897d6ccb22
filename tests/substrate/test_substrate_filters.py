"""pyarrow Expressions as filters: the plans of SQL, and no text to inject into (DESIGN 13; substrate.md 7).

An Expression's literal must have the column's type already: Lance widens nothing that could lose a digit. So the one
encoder of the engine coerces literals, and only where that is lossless.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, LanceOperation
from substrate_steps import Place, commit, stage_append

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
AWKWARD = [
    "it's",
    '"quoted"',
    "back\\slash",
    "semi;colon --",
    "100%",
    "under_score",
    "日本 é",
    "' or 1=1 --",
    "",
    "null",
]


def table() -> pa.Table:
    count = 30
    return pa.table({
        "id": pa.array(AWKWARD + [f"k{key}" for key in range(count - len(AWKWARD))], pa.string()),
        "i32": pa.array(range(count), pa.int32()),
        "i64": pa.array([2**62 + key for key in range(count)], pa.int64()),
        "f64": pa.array([key / 2 for key in range(count)], pa.float64()),
        "flag": pa.array([key % 2 == 0 for key in range(count)]),
        "day": pa.array([DAY + dt.timedelta(days=key) for key in range(count)], pa.date32()),
        "at": pa.array([NOON + dt.timedelta(hours=key) for key in range(count)], pa.timestamp("ms", "UTC")),
        "maybe": pa.array([None if key % 3 == 0 else f"m{key}" for key in range(count)], pa.string()),
    })  # fmt: skip


INDEXED = ["id", "i32", "i64", "f64", "day", "at", "maybe"]


def indexed(place: Place) -> LanceDataset:
    base = place.create(table())
    indexes = [base.create_index_uncommitted(name, "BTREE", name=f"{name}_btree", fragment_ids=[0]) for name in INDEXED]
    return LanceDataset.commit(base, LanceOperation.CreateIndex(indexes, []), read_version=base.version)


def plan(dataset: LanceDataset, predicate: pc.Expression | str) -> str:
    return dataset.scanner(filter=predicate, columns=["id"]).explain_plan()


SAME_AS_SQL = {
    "equal": (pc.field("id") == "k7", "id = 'k7'", 1),
    "not equal": (pc.field("id") != "k7", "id != 'k7'", 29),
    "in": (pc.field("id").isin(["k1", "k2", "zz"]), "id in ('k1', 'k2', 'zz')", 2),
    "range": ((pc.field("i32") > 5) & (pc.field("i32") <= 9), "i32 > 5 and i32 <= 9", 4),
    "either": ((pc.field("i32") == 5) | (pc.field("id") == "k1"), "i32 = 5 or id = 'k1'", 2),
    "is null": (pc.field("maybe").is_null(), "maybe is null", 10),
    "is not null": (pc.field("maybe").is_valid(), "maybe is not null", 20),
    "starts with": (pc.starts_with(pc.field("id"), "k1"), "starts_with(id, 'k1')", 11),
    "large integer": (pc.field("i64") == 2**62 + 3, f"i64 = {2**62 + 3}", 1),
    "float": (pc.field("f64") == 2.5, "f64 = 2.5", 1),
    "date": (pc.field("day") == pa.scalar(DAY), "day = date '2024-02-29'", 1),
    "timestamp": (pc.field("at") == pa.scalar(NOON, pa.timestamp("ms", "UTC")), None, 1),
}


@pytest.mark.parametrize("name", SAME_AS_SQL)
def test_an_expression_is_answered_by_the_index_like_sql(disk: Place, name: str):
    expression, sql, expected = SAME_AS_SQL[name]
    dataset = indexed(disk)
    assert "ScalarIndexQuery" in plan(dataset, expression)
    assert dataset.to_table(filter=expression, columns=["id"]).num_rows == expected
    assert dataset.count_rows(expression) == expected
    if sql is not None:
        assert plan(dataset, expression) == plan(dataset, sql)


def test_expressions_work_the_same_at_every_place(place: Place):
    dataset = indexed(place)
    assert "ScalarIndexQuery" in plan(dataset, pc.field("id") == "k7")
    assert dataset.to_table(filter=pc.field("id") == "k7", columns=["i32"])["i32"].to_pylist() == [17]
    tailed = commit(dataset, stage_append(dataset, table().slice(17, 1)))
    assert tailed.count_rows(pc.field("id") == "k7") == 2


@pytest.mark.parametrize("text", AWKWARD)
def test_text_in_an_expression_means_itself(disk: Place, text: str):
    dataset = indexed(disk)
    for predicate in (pc.field("id") == text, pc.field("id").isin([text])):
        assert dataset.to_table(filter=predicate, columns=["id"])["id"].to_pylist() == [text]


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(("prefix", "expected"), [("a_b", "a_b1"), ("a%", "a%c"), ("a\\", "a\\_d")])
def test_a_prefix_has_no_wildcards(disk: Place, prefix: str, expected: str, is_indexed: bool):
    dataset = disk.create(pa.table({"id": ["a_b1", "axb1", "a%c", "azzc", "a\\_d"]}))
    if is_indexed:
        index = dataset.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=[0])
        dataset = LanceDataset.commit(dataset, LanceOperation.CreateIndex([index], []), read_version=1)
    predicate = pc.starts_with(pc.field("id"), prefix)
    assert ("ScalarIndexQuery" in plan(dataset, predicate)) == is_indexed
    assert dataset.to_table(filter=predicate)["id"].to_pylist() == [expected]


def test_text_in_sql_may_mean_anything(disk: Place):
    """Why there is an encoder: the same text, pasted."""
    dataset = indexed(disk)
    assert dataset.count_rows("id = '' or 1=1 --'") == 30
    assert dataset.count_rows(pc.field("id") == "' or 1=1 --") == 1


def test_a_literal_of_a_wider_type_is_fitted_when_it_fits_exactly(disk: Place):
    dataset = indexed(disk)
    assert dataset.count_rows(pc.field("i32") == pa.scalar(5, pa.int64())) == 1
    assert "ScalarIndexQuery" in plan(dataset, pc.field("i32") == pa.scalar(5, pa.int64()))


@pytest.mark.parametrize(
    "predicate",
    [
        pc.field("i32") == 5.0,
        pc.field("i32") == 99_999_999_999,
        pc.field("id") == 5,
        pc.field("day") == "2024-02-29",
        pc.field("id").isin([]),
    ],
    ids=["float for integer", "beyond the bounds", "integer for text", "text for date", "untyped empty list"],
)
def test_a_literal_of_another_type_is_refused_before_anything_is_read(disk: Place, predicate: pc.Expression):
    dataset = indexed(disk)
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)):
        dataset.count_rows(predicate)


def test_an_empty_list_of_the_right_type_matches_nothing(disk: Place):
    dataset = indexed(disk)
    assert dataset.count_rows(pc.field("id").isin(pa.array([], pa.string()))) == 0


def test_null_matches_neither_equality_nor_its_opposite(disk: Place):
    dataset = indexed(disk)
    assert dataset.count_rows(pc.field("maybe") == "m1") == 1
    assert dataset.count_rows(pc.field("maybe") != "m1") == 19
    assert dataset.count_rows(~(pc.field("maybe") == "m1")) == 19


def test_a_long_list_is_one_index_query(disk: Place):
    dataset = indexed(disk)
    many = pc.field("id").isin([f"k{key}" for key in range(5000)])
    assert plan(dataset, many).count("ScalarIndexQuery") == 1
    assert dataset.count_rows(many) == 20


def test_an_index_is_used_on_a_boolean_beside_a_scan_of_the_rest(disk: Place):
    """A part that no index covers is applied to what the index found."""
    dataset = indexed(disk)
    both = (pc.field("i32") < 10) & pc.field("flag")
    assert "ScalarIndexQuery" in plan(dataset, both)
    assert dataset.count_rows(both) == 5
