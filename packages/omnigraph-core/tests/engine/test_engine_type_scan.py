"""``Graph.scan``: the rows of a type at one commit, part by part, sieved by conditions that lose nothing."""

from __future__ import annotations

import datetime as dt
import math
import operator
import pickle
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.type_scan import OPERATORS, TypeScan
from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.graph import Graph
from omnigraph.tables.counting import count_table_calls

SCHEMA = """
node Thing {
  k: String @key
  s: String? @index
  n: I32? @index
  m: I64?
  ok: Bool?
  d: Date?
  f: F64?
  g: F32?
  u: U64?
  t: DateTime?
  many: [String]?
  v: Vector(2)?
  b: Blob?
  must: I64
}
edge Near: Thing -> Thing { by: F64? }
"""
VALUES: dict[str, list[Any]] = {
    "s": ["", "a", "ab", "abc", "b", "\ud7ff", "\ue000", "\U0010ffff", "'; drop", None],
    "n": [-(2**31), -1, 0, 3, 2**31 - 1, None],
    "m": [-(2**63), 0, 2**53 + 1, 2**63 - 1, None],
    "ok": [True, False, None],
    "d": ["1969-12-31", "1970-01-01", "2024-02-29", None],
    "f": [-1.5, -0.0, 0.0, 0.1, 1e300, None],
    "g": [-1.5, 0.10000000149011612, 1.2999999523162842, None],
    "u": [0, 2**64 - 1, None],
    "t": ["1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00Z", None],
    "many": [[], ["a"], None],
    "v": [[1.0, 0.5], None],
    "b": ["base64:AAE=", None],
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "starts with": lambda text, prefix: text.startswith(prefix),
    "in": lambda value, values: value in values,
}


def things(prefix: str) -> list[dict[str, Any]]:
    count = max(map(len, VALUES.values()))
    return [
        {
            "type": "Thing",
            "data": {"k": f"{prefix}{i}", "must": i} | {name: each[i % len(each)] for name, each in VALUES.items()},
        }
        for i in range(count)
    ]


@pytest.fixture
def graph() -> Graph:
    """Three parts, one of them with a row that was deleted; the first one is indexed."""
    made = og.init(f"memory://scan-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load(things("x"), "append")
    made.maintain.ensure_indices()
    made.load(things("y"), "append")
    made.load([{"type": "Thing", "data": {"k": "z", "must": 0}}], "append")
    made.mutate("query drop() { delete Thing where k = 'y3' }".replace("'", '"'))
    return made


def ids(rows: pa.Table | pa.RecordBatchReader) -> list[str]:
    table = rows if isinstance(rows, pa.Table) else rows.read_all()
    return sorted(table["id"].to_pylist())


def expected(graph: Graph, column: str, word: str, value: Any) -> list[str]:
    """What SQL says, judged row by row in Python."""
    found = []
    for row in graph.table("Thing", ["id", column] if column != "id" else ["id"]).to_arrow().to_pylist():
        held = row[column]
        if word in ("is null", "is not null"):
            is_true = (held is None) == (word == "is null")
        else:
            is_true = held is not None and COMPARE[word](held, value)
        if is_true:
            found.append(row["id"])
    return sorted(found)


# ── what is read ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_parts_together_are_all_rows_each_once(graph: Graph):
    scan = graph.scan("Thing")
    assert len(scan.parts) == 3
    by_part = [scan.read([each.number]).read_all() for each in scan.parts]
    assert [each.num_rows for each in by_part] == [each.row_count for each in scan.parts]
    assert scan.row_count == 20
    rows = pa.concat_tables(by_part)
    assert rows.sort_by("id").equals(graph.table("Thing").to_arrow().sort_by("id"))
    assert rows.schema == scan.schema == graph.table("Thing").to_arrow().schema


def test_columns_come_in_the_order_asked_for(graph: Graph):
    scan = graph.scan("Thing", ["t", "id"])
    assert scan.schema.names == ["t", "id"]
    assert scan.schema.field("t").type == pa.timestamp("ms", tz="UTC")
    assert scan.read().read_all().sort_by("id").equals(graph.table("Thing", ["t", "id"]).to_arrow().sort_by("id"))


def test_a_scan_shows_its_commit_whatever_is_published_afterwards(graph: Graph):
    scan = graph.scan("Thing", ["id"])
    before = graph.snapshot().commit.id
    graph.load([{"type": "Thing", "data": {"k": "late", "must": 1}}], "overwrite")
    assert scan.commit_id == before
    assert len(ids(scan.read())) == 20
    assert ids(graph.scan("Thing", ["id"]).read()) == ["late"]
    assert ids(graph.scan("Thing", ["id"], snapshot=before).read()) == ids(scan.read())


def test_a_scan_is_of_the_branch_that_is_asked_for(graph: Graph):
    graph.branches.create("side")
    graph.load([{"type": "Thing", "data": {"k": "late", "must": 1}}], "append", branch="side")
    assert graph.scan("Thing", branch="side").branch == "side"
    assert "late" in ids(graph.scan("Thing", branch="side").read())
    assert "late" not in ids(graph.scan("Thing").read())


def test_a_type_without_rows_has_columns_and_no_parts(graph: Graph):
    scan = graph.scan("Near")
    assert scan.parts == ()
    assert scan.read().read_all().column_names == ["id", "src", "dst", "by"]


def test_a_scan_pickles_and_holds_nothing_open(graph: Graph):
    scan = pickle.loads(pickle.dumps(graph.scan("Thing", ["id"])))
    graph.close()
    assert len(ids(scan.read())) == 20


def test_many_reads_of_one_process_open_the_version_once(graph: Graph):
    scan = graph.scan("Thing", ["id"])
    with count_table_calls() as counts:
        for part in scan.parts * 3:
            pickle.loads(pickle.dumps(scan)).read([part.number]).read_all()
    assert (counts["open"], counts["read"]) == (1, 9)


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def literals(column: str) -> list[Any]:
    if column == "d":
        return [dt.date.fromisoformat(each) for each in VALUES["d"] if each] + [dt.date(9999, 12, 31)]
    if column == "t":
        noon = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
        return [noon, noon.astimezone(dt.timezone(dt.timedelta(hours=5))), noon + dt.timedelta(milliseconds=1)]
    if column == "b":
        return [b"\0\1"]
    return [each for each in VALUES[column] if each is not None]


def conditions() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for column in VALUES:
        found += [(column, "is null", None), (column, "is not null", None)]
        if column in ("many", "v"):
            continue
        values = literals(column)
        found += [(column, word, value) for word in ("=", "!=", "<", "<=", ">", ">=") for value in values]
        found += [(column, "in", values[:2])]
    return [*found, ("s", "starts with", "a"), ("s", "starts with", ""), ("s", "starts with", "\U0010ffff")]


@pytest.fixture(scope="module")
def held() -> Graph:
    made = og.init(f"memory://scan-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load(things("x"), "append")
    made.maintain.ensure_indices()
    made.load(things("y"), "append")
    return made


@pytest.mark.parametrize(("column", "word", "value"), conditions())
def test_a_condition_loses_no_row_and_where_it_is_taken_gives_no_other(held: Graph, column: str, word: str, value: Any):
    scan = held.scan("Thing", ["id"])
    found = ids(scan.read(where=[(column, word, value)]))
    wanted = expected(held, column, word, value)
    assert set(wanted) <= set(found)
    if scan.takes((column, word, value)):
        assert found == wanted


def test_of_which_types_storage_judges_exactly():
    scan = og.init(f"memory://scan-{uuid.uuid4().hex}", schema=SCHEMA).scan("Thing")
    taken = {column for column, word, value in conditions() if word == "=" and scan.takes((column, word, value))}
    assert taken == {"s", "n", "m", "ok", "d", "u", "t"}
    null_tests = {column for column in VALUES if scan.takes((column, "is null", None))}
    assert null_tests == {"s", "n", "m", "ok", "d", "u", "t", "f", "g"}


def test_every_operator_is_taken_of_some_column():
    scan = og.init(f"memory://scan-{uuid.uuid4().hex}", schema=SCHEMA).scan("Thing")
    values: dict[str, Any] = {"in": ["a"], "is null": None, "is not null": None}
    assert [word for word in OPERATORS if not scan.takes(("s", word, values.get(word, "a")))] == []


@pytest.mark.parametrize(
    "condition",
    [
        ("n", "=", 2**31),
        ("n", "=", 1.5),
        ("n", "=", "1"),
        ("n", "=", None),
        ("ok", "=", 1),
        ("s", "=", 1),
        ("s", "starts with", 1),
        ("n", "starts with", "1"),
        ("d", "=", dt.datetime(2024, 2, 29)),
        ("t", "=", dt.datetime(2024, 2, 29, 12)),
        ("t", "=", dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.UTC)),
        ("t", "=", 0),
        ("u", "=", -1),
        ("u", "=", 2**64),
        ("n", "in", []),
        ("n", "in", [1, "1"]),
        ("s", "in", "abc"),
        ("s", "in", [str(each) for each in range(2_000)]),
        ("f", "<", math.nan),
        ("f", "=", 0.0),
    ],
    ids=str,
)
def test_what_cannot_be_said_exactly_is_left_to_whoever_reads(held: Graph, condition: tuple[str, str, Any]):
    scan = held.scan("Thing", ["id"])
    assert not scan.takes(condition)
    assert len(ids(scan.read(where=[condition]))) == scan.row_count


@pytest.mark.parametrize(("column", "bound", "row_count"), [("f", 0.1, 16), ("g", -1.5, 6), ("g", 1.3, 20)])
def test_of_floats_a_bound_is_a_sieve_unless_it_would_be_rounded(
    held: Graph, column: str, bound: float, row_count: int
):
    scan = held.scan("Thing", ["id"])
    assert len(ids(scan.read(where=[(column, "<=", bound)]))) == row_count


def test_that_a_value_is_there_where_it_must_be_needs_no_filter(held: Graph):
    scan = held.scan("Thing", ["id"])
    assert scan.takes(("id", "is not null", None))
    assert scan.takes(("must", "is not null", None))
    assert scan._encode(("must", "is not null", None)) == (None, True)


def test_several_conditions_must_all_hold(held: Graph):
    found = ids(held.scan("Thing", ["id"]).read(where=[("n", ">", -1), ("s", "starts with", "a"), ("m", "<", 2**60)]))
    assert found == sorted(
        set(expected(held, "n", ">", -1)) & set(expected(held, "s", "starts with", "a"))
        & set(expected(held, "m", "<", 2**60))
    )  # fmt: skip
    assert found


def test_a_condition_on_an_indexed_column_finds_rows_of_the_asked_parts_only(held: Graph):
    scan = held.scan("Thing", ["id"])
    first, second = (each.number for each in scan.parts)
    assert ids(scan.read([first], [("n", "=", 3)])) == ["x3", "x9"]
    assert ids(scan.read([second], [("n", "=", 3)])) == ["y3", "y9"]
    assert ids(scan.read([second], [("s", "in", ["ab", "b"])])) == ["y2", "y4"]


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_there_is_not_is_told_with_what_there_is(held: Graph):
    scan = held.scan("Thing", ["id"])
    with pytest.raises(InvalidInputError, match=r"no part 7 .* scan\.parts"):
        scan.read([7])
    with pytest.raises(InvalidInputError, match=r"no column 'nn'.*id, b, d"):
        scan.takes(("nn", "=", 1))
    with pytest.raises(InvalidInputError, match=r"no operator '=='.*starts with"):
        scan.read(where=[("n", "==", 1)])
    with pytest.raises(InvalidInputError, match=r"No column was asked for\. The columns of Thing are: id"):
        held.scan("Thing", [])
    with pytest.raises(InvalidInputError, match="Thing has no column 'nn'"):
        held.scan("Thing", ["nn"])
    with pytest.raises(NotFoundError, match='Did you mean "Thing"'):
        held.scan("Thin")


def test_a_scan_does_not_show_its_options(held: Graph):
    scan: TypeScan = held.scan("Thing")
    assert "options" not in repr(scan)
