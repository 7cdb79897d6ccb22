"""Codes and ranks that an image keeps give the answers that fresh ones give."""

from __future__ import annotations

import secrets
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.config import Settings
from omnigraph.engine.aggregate import aggregate
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.grouping import Codes, group_rows
from omnigraph.engine.images import Image, load_image
from omnigraph.engine.pinned_rows import Stored
from omnigraph.engine.sort import sort
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Aggregate, Measure, OneRow, Sort, SortKey
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import EntityRef, Projection, PropertyRef
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.lance_tables import LanceTables

TEXT = ValueType(Scalar.STRING, is_nullable=True)
CITY = PropertyRef("p", "city", TEXT)
NODE = EntityRef("p", "Person")
CITIES = ["Rome", None, "Oslo", "Rome", "Bern", None, "Oslo", "Rome"]


@pytest.fixture
def image() -> Image:
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("city", pa.string())])
    tables = LanceTables(MemoryAdapter(parse_uri(f"memory://grouping-{secrets.token_hex(6)}")))
    rows = pa.table([[f"p{each}" for each in range(8)], CITIES], schema=schema)
    return load_image(
        Stored.of("node:Person", tables, tables.commit_create(tables.stage_create("nodes/p", schema, rows)))
    )


def execution() -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=cast("Any", None),
    )


@pytest.mark.parametrize("positions", [list(range(8)), [7, 1, 0, 2, 5, 4, 3, 6, 6, 6, 1], [4, 0, 1]])
def test_groups_and_order_over_an_image_are_those_over_rows(image, positions):
    op = Aggregate(
        OneRow(), (Projection("c", CITY),), (Measure("n", AggregateFunction.COUNT, NODE, ValueType(Scalar.I64)),)
    )
    by_city = Sort(OneRow(), (SortKey(CITY), SortKey(NODE)))
    held = HeldRows("node:Person", pa.table({"id": image.ids, "city": image.column("city")}))
    groups: dict[str | None, int] = {}
    for at in positions:
        groups[CITIES[at]] = groups.get(CITIES[at], 0) + 1
    order = sorted(positions, key=lambda at: (CITIES[at] is not None, CITIES[at] or "", at))
    for entities in (image, image, held):
        frame = Frame(row_count=len(positions)).binding("p", entities, np.array(positions))
        found = aggregate(op, frame, execution()).columns
        assert found["c"].to_pylist() == list(groups)
        assert found["n"].to_pylist() == list(groups.values())
        assert sort(by_city, frame, execution()).bound["p"].positions.tolist() == order


def test_an_image_keeps_the_codes_and_ranks_that_were_made_of_all_of_it(image):
    frame = Frame(row_count=8).binding("p", image, np.arange(8))
    aggregate(Aggregate(OneRow(), (Projection("c", CITY),), ()), frame, execution())
    sort(Sort(OneRow(), (SortKey(CITY),)), frame, execution())
    assert image.peek(("codes", "city")).nbytes == 8 * 4
    assert image.peek(("ranks", "city")).nbytes == 8 * 4


def test_keys_whose_codes_do_not_fit_into_one_number_are_narrowed_first():
    random = np.random.default_rng(1)
    keys = [random.integers(0, 3, 50) * (2**40) for _ in range(4)]
    found = group_rows([Codes(each, 2**42) for each in keys], 50)
    rows = list(zip(*(each.tolist() for each in keys), strict=True))
    distinct = list(dict.fromkeys(rows))
    assert found.numbers().tolist() == [distinct.index(row) for row in rows]
    assert found.first_rows.tolist() == [rows.index(row) for row in distinct]
    assert found.counts.tolist() == [rows.count(row) for row in distinct]


def test_a_group_that_begins_late_is_found():
    codes = np.zeros(5_000, dtype=np.int64)
    codes[4_321] = 7
    found = group_rows([Codes(codes, 9)], 5_000)
    assert found.first_rows.tolist() == [0, 4_321]
    assert found.present.tolist() == [0, 7]
    assert found.counts.tolist() == [4_999, 1]
