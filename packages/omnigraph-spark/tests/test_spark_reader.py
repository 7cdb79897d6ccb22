"""What Spark's planner and tasks get, without Spark: partitions, filters that are taken, batches of the right types."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from every_type import make_graph
from pyspark.sql.datasource import EqualTo, GreaterThan, InputPartition, LessThan, StringContains, StringStartsWith
from pyspark.sql.types import LongType, StringType, StructField, StructType

import omnigraph as og
from omnigraph.errors import CompileError, InvalidInputError, NotFoundError
from omnigraph_spark.reader import (
    FilteringTypeReader,
    QueryReader,
    TypeReader,
    into_groups,
    partitions_for,
    up_to_rows,
)
from omnigraph_spark.schema import arrow_schema_for, spark_schema
from omnigraph_spark.source import OmnigraphSource

FILMS = "node Film { code: String @key  year: I64?  score: F64? }\nedge Cites: Film -> Film\n"


def films(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {"type": "Film", "data": {"code": f"f{each:03}", "year": each, "score": each / 8}}
        for each in range(first, last)
    ]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A hundred films in four parts."""
    made = og.init(tmp_path / "films.omni", schema=FILMS)
    for first in range(0, 100, 25):
        made.load(films(first, first + 25), "append")
    return made


def source(graph: og.Graph, **options: str) -> OmnigraphSource:
    """A source as a task or planner has it: pickled by the process that made it."""
    return pickle.loads(pickle.dumps(OmnigraphSource({"uri": graph.uri, **options})))


def reader(graph: og.Graph, **options: str) -> Any:
    made = source(graph, **options)
    return made.reader(made.schema())


def read_all(made: Any, partitions: Any = None) -> pa.Table:
    made = pickle.loads(pickle.dumps(made))
    batches = [batch for each in partitions or made.partitions() for batch in made.read(each)]
    return pa.Table.from_batches(batches, schema=arrow_schema_for(made.asked))


# ── partitions ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "most", "groups"),
    [
        ([], 10, []),
        ([(0, 3), (1, 3), (2, 3)], 6, [(0, 1), (2,)]),
        ([(0, 100), (3, 1), (4, 1)], 10, [(0,), (3, 4)]),
        ([(0, 1), (1, 100), (2, 1)], 10, [(0,), (1,), (2,)]),
    ],
)
def test_small_parts_are_read_together_and_a_large_one_alone(rows: Any, most: int, groups: Any):
    assert up_to_rows(rows, most) == groups


@pytest.mark.parametrize(
    ("rows", "cores", "count"),
    [
        (0, 2, 1),
        (250_000, 8, 1),
        (250_001, 8, 2),
        (2_000_000, 2, 2),
        (5_000_000, 2, 2),
        (8_000_001, 2, 4),
        (60_000_000, 2, 16),
        (60_000_000, 200, 200),
        (3_000_000, 200, 12),
    ],
)
def test_every_core_gets_as_many_partitions_as_the_others_and_few_of_them(rows: int, cores: int, count: int):
    assert partitions_for(rows, cores) == count


@pytest.mark.parametrize(
    ("rows", "most", "groups"),
    [
        ([], 4, []),
        ([(0, 5)], 4, [(0,)]),
        ([(0, 5), (1, 1), (2, 1), (3, 3)], 2, [(0,), (1, 2, 3)]),
        ([(0, 1), (1, 1), (2, 1)], 1, [(0, 1, 2)]),
        ([(0, 1), (1, 1), (2, 5)], 2, [(2,), (0, 1)]),
    ],
)
def test_so_many_partitions_as_are_wanted_have_about_as_many_rows(rows: Any, most: int, groups: Any):
    assert into_groups(rows, most) == groups


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, [100]),
        ({"rowsPerPartition": "50"}, [50, 50]),
        ({"partitions": "3"}, [50, 25, 25]),
        ({"partitions": "9"}, [25] * 4),
    ],
)
def test_partitions_are_parts_and_hold_every_row_once(graph: og.Graph, options: dict[str, str], sizes: list[int]):
    made = reader(graph, type="Film", **options)
    assert [sum(len(batch) for batch in made.read(each)) for each in made.partitions()] == sizes
    assert sorted(read_all(made)["id"].to_pylist()) == [f"f{each:03}" for each in range(100)]


def test_a_type_without_rows_is_read_as_nothing(graph: og.Graph):
    made = reader(graph, edgeType="Cites")
    assert made.partitions() == []
    # Spark makes one of its own then.
    assert list(made.read(InputPartition(None))) == []


# ── one snapshot ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_read_was_chosen_when_the_source_was_made(graph: og.Graph):
    made = source(graph, type="Film")
    graph.load(films(200, 201), "overwrite")
    assert read_all(made.reader(made.schema())).num_rows == 100
    # With a schema of the user's, Spark never asks for ours; the moment is the same.
    asked = StructType([StructField("code", StringType())])
    assert made.reader(asked).scan.commit_id == made.commit_id
    assert read_all(reader(graph, type="Film")).num_rows == 1


def test_a_branch_a_commit_and_a_tag_are_moments(graph: og.Graph):
    before = graph.snapshot().commit.id
    graph.tags.create("v1")
    graph.branches.create("side")
    graph.load(films(200, 201), "overwrite", branch="side")
    graph.load(films(300, 302), "overwrite")
    counts = {
        word: read_all(reader(graph, type="Film", **{word: value})).num_rows
        for word, value in {"branch": "side", "commit": before, "tag": "v1"}.items()
    }
    assert counts == {"branch": 1, "commit": 100, "tag": 100}
    assert read_all(reader(graph, type="Film")).num_rows == 2


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_push_down_the_reader_is_one_that_spark_takes_in_every_session(graph: og.Graph):
    assert type(reader(graph, type="Film")) is TypeReader
    assert type(reader(graph, type="Film", pushDown="true")) is FilteringTypeReader


def test_what_storage_judges_is_taken_from_spark_and_fewer_rows_are_read(graph: og.Graph):
    made = reader(graph, type="Film", pushDown="true")
    assert list(made.pushFilters([GreaterThan(("year",), 94), StringStartsWith(("code",), "f09")])) == []
    assert sorted(read_all(made)["code"].to_pylist()) == ["f095", "f096", "f097", "f098", "f099"]


def test_what_storage_cannot_say_exactly_stays_with_spark(graph: og.Graph):
    made = reader(graph, type="Film", pushDown="true")
    left = [StringContains(("code",), "9"), LessThan(("score",), 1.0)]
    assert list(made.pushFilters([EqualTo(("year",), 3), *left])) == left
    assert read_all(made)["code"].to_pylist() == ["f003"]


def test_a_bound_on_a_float_is_a_sieve_that_spark_goes_over_again(graph: og.Graph):
    made = reader(graph, type="Film", pushDown="true")
    bound = LessThan(("score",), 1.0)
    assert list(made.pushFilters([bound])) == [bound]
    assert read_all(made).num_rows == 8


def test_conditions_are_judged_where_the_rows_lie(graph: og.Graph):
    made = reader(graph, type="Film", columns="code", where='[["year", ">=", 98], ["code", "in", ["f001", "f099"]]]')
    assert type(made) is TypeReader
    assert read_all(made)["code"].to_pylist() == ["f099"]


def test_filters_of_spark_come_on_top_of_conditions(graph: og.Graph):
    made = reader(graph, type="Film", where='[["year", ">=", 98]]', pushDown="true")
    assert list(made.pushFilters([EqualTo(("code",), "f098")])) == []
    assert read_all(made)["code"].to_pylist() == ["f098"]


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_are_read_in_the_order_asked_for(graph: og.Graph):
    assert read_all(reader(graph, type="Film", columns="year,id")).column_names == ["year", "id"]


def test_a_schema_of_the_users_chooses_columns(graph: og.Graph):
    made = source(graph, type="Film")
    asked = StructType([StructField("year", LongType()), StructField("id", StringType())])
    chosen = made.reader(asked)
    assert chosen.scan.schema.names == ["year", "id"]
    assert read_all(chosen).schema == arrow_schema_for(asked)


def test_a_schema_that_is_not_of_the_type_is_told_with_the_right_one(graph: og.Graph):
    made = source(graph, type="Film")
    with pytest.raises(InvalidInputError, match=r"no column 'yaer'.*code string, score double, year bigint"):
        made.reader(StructType([StructField("yaer", LongType())]))
    with pytest.raises(InvalidInputError, match="'year' is bigint and not string"):
        made.reader(StructType([StructField("year", StringType())]))


def test_every_type_is_read_as_a_type_of_spark_without_loss(tmp_path: Path):
    graph = make_graph(tmp_path / "g")
    rows = graph.table("Thing").to_arrow().sort_by("id")
    found = read_all(reader(graph, type="Thing")).sort_by("id")
    assert {each.name: each.dataType.simpleString() for each in spark_schema(rows.schema)} == {
        "id": "string", "k": "string", "s": "string", "kind": "string", "ok": "boolean", "i": "int", "l": "bigint",
        "u": "bigint", "w": "decimal(20,0)", "f": "float", "g": "double", "d": "date", "t": "timestamp",
        "v": "array<float>", "b": "binary", "ss": "array<string>", "oks": "array<boolean>", "ls": "array<bigint>",
        "us": "array<bigint>", "ws": "array<decimal(20,0)>", "fs": "array<float>", "ds": "array<date>",
        "ts": "array<timestamp>",
    }  # fmt: skip
    for column in rows.column_names:
        assert found[column].cast(rows.schema.field(column).type).combine_chunks().equals(rows[column].combine_chunks())


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────

NEW = "query new($since: I64) { match { $f: Film  $f.year >= $since } return { $f.code as code, $f.year } }"


def test_a_query_is_one_partition_of_one_snapshot(graph: og.Graph):
    made = source(graph, query=NEW, params='{"since": 98}')
    assert made.schema().simpleString() == "struct<code:string,f.year:bigint>"
    graph.load(films(200, 201), "append")
    chosen = made.reader(made.schema())
    assert type(chosen) is QueryReader
    assert len(chosen.partitions()) == 1
    assert read_all(chosen).sort_by("code").to_pylist() == [
        {"code": "f098", "f.year": 98},
        {"code": "f099", "f.year": 99},
    ]


def test_the_file_of_a_query_is_not_needed_by_tasks(graph: og.Graph, tmp_path: Path):
    file = tmp_path / "new.gq"
    file.write_text(NEW + "\nquery none() { match { $f: Film  $f.year < 0 } return { $f.code } }", "utf-8")
    made = source(graph, query=str(file), queryName="none")
    chosen = made.reader(made.schema())
    file.unlink()
    assert read_all(chosen).num_rows == 0


def test_the_schema_of_a_query_costs_no_run(graph: og.Graph, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(og.Graph, "query", None)
    assert source(graph, query=NEW, params='{"since": 98}').schema().names == ["code", "f.year"]


# ── what is wrong ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidInputError, r"What is to be read is not said\. Give a type"),
        ({"type": "Fim"}, NotFoundError, 'Did you mean "Film"'),
        ({"edgeType": "Film"}, NotFoundError, 'no edge type "Film"'),
        ({"type": "Film", "columns": "id,nope"}, InvalidInputError, "Film has no column 'nope'"),
        ({"type": "Film", "where": '[["nope", "=", 1]]'}, InvalidInputError, "no column 'nope'"),
        ({"type": "Film", "where": '[["year", "~", 1]]'}, InvalidInputError, "no operator '~'"),
        ({"type": "Film", "where": '[["year", "="]]'}, InvalidInputError, "is no condition"),
        ({"type": "Film", "where": '["year"]'}, InvalidInputError, "'year' is no condition"),
        ({"type": "Film", "where": '[["score", ">", 1.5]]'}, InvalidInputError, r"score > 1\.5 cannot be judged"),
        ({"type": "Film", "branch": "nope"}, NotFoundError, "nope"),
        ({"type": "Film", "commit": "nope"}, NotFoundError, "nope"),
        ({"type": "Film", "tag": "nope"}, NotFoundError, 'no tag "nope"'),
        ({"query": "query q() { match { $f: Fim } return { $f.code } }"}, CompileError, "Fim"),
        ({"query": NEW, "params": '{"since": "x"}'}, InvalidInputError, r"\$since"),
        ({"query": "query q() { delete Film where year = 1 }"}, InvalidInputError, "changes the graph"),
        ({"type": "Film", "storage.region": "eu"}, InvalidInputError, 'no storage option "region"'),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)
def test_what_is_wrong_is_told_before_a_job_begins(graph: og.Graph, options: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        source(graph, **options).schema()


def test_the_module_that_spark_looks_for_imports_nothing_heavy():
    code = "import sys, pyspark_omnigraph as m; print(m.DefaultSource.name(), 'lance' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "omnigraph False\n"


def test_the_module_that_spark_looks_for_is_silent_where_something_is_missing():
    code = (
        "import sys; sys.modules['omnigraph'] = None; import pyspark_omnigraph as m; print(hasattr(m, 'DefaultSource'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
