"""A result has the declared columns, types and values, with rows and without."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.config import Settings
from omnigraph.engine import project as projecting
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.project import project, value_column
from omnigraph.errors import ResourceLimitError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import OneRow, Place, Project
from omnigraph.query.checked import (
    Bm25,
    ColumnRef,
    Constant,
    CurrentTime,
    EntityRef,
    ParameterRef,
    Projection,
    PropertyRef,
    Rrf,
)
from omnigraph.tables.arrow_schema import arrow_type

TEXT = ValueType(Scalar.STRING, is_nullable=True)
I64 = ValueType(Scalar.I64)
EVERY = {
    "string": (ValueType(Scalar.STRING), ["a", "b"]),
    "enum": (ValueType(Scalar.STRING, enum_values=("x", "y")), ["x", None]),
    "bool": (ValueType(Scalar.BOOL), [True, None]),
    "i32": (ValueType(Scalar.I32), [-1, None]),
    "i64": (ValueType(Scalar.I64), [2**63 - 1, None]),
    "u32": (ValueType(Scalar.U32), [2**32 - 1, None]),
    "u64": (ValueType(Scalar.U64), [2**64 - 1, None]),
    "f32": (ValueType(Scalar.F32), [0.5, None]),
    "f64": (ValueType(Scalar.F64), [0.1, None]),
    "date": (ValueType(Scalar.DATE), [-1, None]),
    "datetime": (ValueType(Scalar.DATETIME), [1_234_567, None]),
    "vector": (ValueType(Scalar.VECTOR, dimension=2), [(0.5, 1.0), None]),
    "list": (ValueType(Scalar.I32, is_list=True), [(1, 2), None]),
    "times": (ValueType(Scalar.DATETIME, is_list=True), [(1, 86_400_001), ()]),
}


def execution(parameters: dict[str, Any] | None = None, now: int = 0, **budget: Any) -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters=parameters or {},
        now=now,
        spending=Spending(QueryBudget(**budget)),
        settings=Settings(),
        embed=cast("Any", None),
    )


def stored(values: list, kind: ValueType) -> pa.Array:
    return pa.array([list(each) if isinstance(each, tuple) else each for each in values], arrow_type(kind))


def frame_of(positions: list[int]) -> Frame:
    columns = {name: stored(values, kind) for name, (kind, values) in EVERY.items()}
    held = HeldRows("node:Thing", pa.table({"id": pa.array(["p", "q"]), **columns}))
    return Frame(row_count=len(positions)).binding("x", held, np.array(positions, dtype=np.int64))


@pytest.mark.parametrize("positions", [[], [1, 0, 0]])
@pytest.mark.parametrize("batch", [1, 2, 10**6])
def test_properties_of_every_type_come_out_as_they_are_stored(positions, batch, monkeypatch):
    monkeypatch.setattr(projecting, "BATCH_ROWS", batch)
    columns = tuple(Projection(f"x.{name}", PropertyRef("x", name, kind)) for name, (kind, _) in EVERY.items())
    found = project(
        Project(OneRow(), (*columns, Projection("x", EntityRef("x", "Thing")))), frame_of(positions), execution()
    )
    assert found.column_names == [*(f"x.{name}" for name in EVERY), "x"]
    assert found["x"].type == pa.string()
    assert found["x"].to_pylist() == ["pq"[at] for at in positions]
    for name, (kind, values) in EVERY.items():
        assert found[f"x.{name}"].type == arrow_type(kind)
        assert found[f"x.{name}"].combine_chunks().equals(stored([values[at] for at in positions], kind))


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("name", list(EVERY))
def test_parameters_of_every_type_are_constant_columns_also_when_null(name, count):
    kind, (value, _) = EVERY[name]
    frame = Frame(row_count=count)
    for given in (value, None):
        op = Project(OneRow(), (Projection("q", ParameterRef("q", kind)),))
        found = project(op, frame, execution({"q": given}))["q"]
        assert found.type == arrow_type(kind)
        assert found.combine_chunks().equals(stored([given] * count, kind))


def test_literals_and_the_time_are_constant_columns():
    op = Project(
        OneRow(), (Projection("literal", Constant(2.5, ValueType(Scalar.F64))), Projection("t", CurrentTime()))
    )
    found = project(op, Frame(row_count=2), execution(now=1_700_000_000_123))
    assert found["literal"].to_pylist() == [2.5, 2.5]
    assert found["t"].type == pa.date64()
    assert found["t"].cast(pa.int64()).to_pylist() == [1_700_000_000_123] * 2


def test_scores_and_columns_of_groups_come_through():
    ranking = Bm25(PropertyRef("x", "t", TEXT), Constant("a", TEXT))
    frame = Frame(row_count=2, scores={ranking: pa.array([0.5, None])}, columns={"n": pa.array([3, 4])})
    op = Project(OneRow(), (Projection("s", ranking), Projection("n", ColumnRef("n", I64))))
    found = project(op, frame, execution())
    assert found.schema == pa.schema([("s", pa.float64()), ("n", pa.int64())])
    assert found.to_pydict() == {"s": [0.5, None], "n": [3, 4]}
    place = Place(Rrf(ranking, ranking))
    placed = Frame(row_count=1, scores={place: pa.array([1], pa.int64())})
    assert value_column(place, placed, execution()).to_pylist() == [1]


def test_not_a_number_and_negative_zero_are_kept():
    held = HeldRows("node:Thing", pa.table({"id": ["a", "b"], "v": [math.nan, -0.0]}))
    frame = Frame(row_count=2).binding("x", held, np.array([0, 1]))
    op = Project(OneRow(), (Projection("v", PropertyRef("x", "v", ValueType(Scalar.F64))),))
    first, second = project(op, frame, execution())["v"].to_pylist()
    assert math.isnan(first)
    assert math.copysign(1, second) == -1


def test_a_result_that_takes_too_much_memory_is_refused_on_the_way(monkeypatch):
    monkeypatch.setattr(projecting, "BATCH_ROWS", 1_000)
    op = Project(OneRow(), (Projection("q", ParameterRef("q", TEXT)),))
    with pytest.raises(ResourceLimitError, match=r"Project.*\(max_bytes\)") as caught:
        project(op, Frame(row_count=100_000), execution({"q": "x" * 100}, max_bytes=500_000))
    assert caught.value.details["actual"] < 1_000_000
