"""SQL where Expressions cannot go: unsigned integers, date64, and tables with a list of them (DESIGN 13).

An Expression of pyarrow travels as Substrait, which has neither type. ``arrow_cast`` gives a literal of any type, and
the plan is that of the index. Answers are compared with those of Python over the same values.
"""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, LanceOperation
from substrate_steps import Place

COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
MILLISECONDS = [-62_135_596_800_000, -1, 0, 1, 999, 86_400_000, 1_700_000_000_123, 253_402_300_799_999, None]
LARGE = [0, 5, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, None]

COLUMNS = {
    "u32": (pa.uint32(), "UInt32", [0, 1, 2**31, 2**32 - 1, None]),
    "u64": (pa.uint64(), "UInt64", LARGE),
    "when": (pa.date64(), "Date64", MILLISECONDS),
}


def indexed(place: Place, column: str) -> tuple[LanceDataset, list[int | None]]:
    kind, _, values = COLUMNS[column]
    repeated = values * 20
    stored = pa.array(repeated, pa.int64()).cast(kind) if kind == pa.date64() else pa.array(repeated, kind)
    base = place.create(pa.table({"row": pa.array(range(len(repeated)), pa.int32()), column: stored}))
    index = base.create_index_uncommitted(column, "BTREE", name="i", fragment_ids=[0])
    return LanceDataset.commit(base, LanceOperation.CreateIndex([index], []), read_version=base.version), repeated


def found(dataset: LanceDataset, sql: str) -> list[int]:
    scanner = dataset.scanner(columns=["row"], filter=sql)
    assert "ScalarIndexQuery" in scanner.explain_plan(), sql
    return sorted(scanner.to_table()["row"].to_pylist())


@pytest.mark.parametrize("column", COLUMNS)
def test_a_comparison_is_answered_by_the_index_to_the_last_digit(disk: Place, column: str):
    dataset, values = indexed(disk, column)
    for operator, compare in COMPARE.items():
        for wanted in {each for each in values if each is not None}:
            expected = [row for row, each in enumerate(values) if each is not None and compare(each, wanted)]
            assert found(dataset, f"`{column}` {operator} arrow_cast({wanted}, '{COLUMNS[column][1]}')") == expected


@pytest.mark.parametrize("column", COLUMNS)
def test_a_list_and_a_null_test_are_answered_by_the_index(disk: Place, column: str):
    dataset, values = indexed(disk, column)
    some = [each for each in COLUMNS[column][2] if each is not None][::2]
    literals = ", ".join(f"arrow_cast({each}, '{COLUMNS[column][1]}')" for each in some)
    assert found(dataset, f"`{column}` IN ({literals})") == [row for row, each in enumerate(values) if each in some]
    is_null = [row for row, each in enumerate(values) if each is None]
    assert found(dataset, f"`{column}` IS NULL") == is_null
    assert len(found(dataset, f"`{column}` IS NOT NULL")) == len(values) - len(is_null)


def test_digits_alone_are_a_literal_of_an_unsigned_column(disk: Place):
    dataset, values = indexed(disk, "u64")
    for wanted in (5, 2**63, 2**64 - 1):
        assert found(dataset, f"`u64` = {wanted}") == [row for row, each in enumerate(values) if each == wanted]


@pytest.mark.parametrize("column", COLUMNS)
def test_an_expression_on_them_is_refused(disk: Place, column: str):
    dataset, _ = indexed(disk, column)
    literal = pa.scalar(5, pa.int64()).cast(COLUMNS[column][0])
    with pytest.raises((ValueError, OSError), match="Substrait"):
        dataset.scanner(columns=["row"], filter=pc.field(column) == literal).to_table()


@pytest.mark.parametrize("item", [pa.uint32(), pa.uint64(), pa.date64()], ids=str)
def test_a_table_with_a_list_of_them_refuses_every_expression_but_not_sql(disk: Place, item: pa.DataType):
    rows = pa.table({"id": ["a", "it's"], "f": pa.array([0.1, 5e-324]), "many": pa.array([[], None], pa.list_(item))})
    base = disk.create(rows)
    index = base.create_index_uncommitted("id", "BTREE", name="i", fragment_ids=[0])
    dataset = LanceDataset.commit(base, LanceOperation.CreateIndex([index], []), read_version=base.version)
    with pytest.raises((ValueError, OSError), match="Substrait"):
        dataset.scanner(filter=pc.field("id") == "a").to_table()
    scanner = dataset.scanner(filter="`id` = 'it''s'")
    assert "ScalarIndexQuery" in scanner.explain_plan()
    assert scanner.to_table()["id"].to_pylist() == ["it's"]
    assert dataset.to_table(filter="`f` = arrow_cast(5e-324, 'Float64')")["id"].to_pylist() == ["it's"]
