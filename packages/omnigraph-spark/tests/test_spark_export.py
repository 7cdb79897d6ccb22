"""Exports: every row once, in files that loads and Spark read, whatever becomes of the tasks."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext, cloudpickle

import omnigraph
import omnigraph_spark
from omnigraph.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from omnigraph_spark import export_tasks, exporting
from omnigraph_spark.export_target import ATTEMPTS, ExportTarget
from omnigraph_spark.export_tasks import ExportTask, ExportWork, divide

SCHEMA = """
node Everything {
    key: String @key
    text: String?  flag: Bool?  form: enum(novel, essay)?
    i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    day: Date?  moment: DateTime?  vector: Vector(3)?  blob: Blob?
    texts: [String]?  flags: [Bool]?  numbers: [I64]?  days: [Date]?  moments: [DateTime]?  floats: [F32]?
}
node Person { handle: String @key }
node Nobody { name: String }
edge Knows: Person -> Person { since: Date?  strength: F64? }
edge Person: Person -> Everything
"""

EXTREMES = [
    {
        "key": "a/ü \"'",
        "text": 'line\none "two" \\ señal \u2028 \x01',
        "flag": True,
        "form": "essay",
        "i32": -(2**31),
        "i64": -(2**63),
        "u32": 2**32 - 1,
        "u64": 2**64 - 1,
        "f32": 3.4028234663852886e38,
        "f64": 5e-324,
        "day": "1970-01-01",
        "moment": "2026-02-01T10:30:00.123Z",
        "vector": [1.0, 0.0, -0.5],
        "blob": "base64:AAH/",
        "texts": ["", "x"],
        "flags": [True, False],
        "numbers": [2**63 - 1, 0],
        "days": ["2026-02-28"],
        "moments": ["1969-12-31T23:59:59.999Z"],
        "floats": [0.1],
    },
    {"key": "nothing"},
    {"key": "empty", "text": "", "texts": [], "numbers": [], "flag": False, "f64": -0.0},
]


def write_graph(place: Path) -> omnigraph.Graph:
    """A graph whose types have several parts, deleted rows, no rows, and one name for two of them."""
    graph = omnigraph.init(place, schema=SCHEMA)
    people: list[dict[str, Any]] = [{"type": "Person", "data": {"handle": f"p{n}"}} for n in range(7)]
    graph.load([*people, *({"type": "Everything", "data": each} for each in EXTREMES)], mode="append")
    for n in range(3):
        edges = [
            {"edge": "Knows", "from": f"p{n}", "to": f"p{n + 1}", "data": {"id": f"k{n}", "since": "2026-01-01"}},
            {"edge": "Person", "from": f"p{n}", "to": "nothing", "data": {"id": f"l{n}"}},
        ]
        graph.load([*edges, {"type": "Person", "data": {"handle": f"q{n}"}}], mode="append")
    graph.mutate('query gone() { delete Person where handle = "p6" }')
    return graph


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exports") / "graph.omni"
    write_graph(made).close()
    return made


@pytest.fixture
def graph(place: Path) -> Any:
    with omnigraph.open(place, mode="r") as opened:
        yield opened


def files_below(target: Path) -> set[str]:
    return {each.relative_to(target).as_posix() for each in target.rglob("*") if each.is_file()}


# ── with Spark ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_jsonl_parts_hold_the_lines_of_an_export_exactly_and_load_to_the_same_graph(
    spark: Any, graph: omnigraph.Graph, tmp_path: Path
):
    done = omnigraph_spark.export(spark, graph, tmp_path / "out", format="jsonl")
    lines = [line for name in done.files for line in (tmp_path / "out" / name).read_text("utf-8").split("\n")[:-1]]
    expected = list(graph.export())
    assert sorted(lines) == sorted(expected)
    assert (done.total, sum(done.nodes.values()) + sum(done.edges.values())) == (len(expected), len(expected))
    assert done.nodes == {"Everything": 3, "Nobody": 0, "Person": 9}
    assert done.edges == {"Knows": 3, "Person": 3}
    assert done.commit_id == graph.snapshot().commit.id
    assert files_below(tmp_path / "out") == {*done.files, "_export.json"}
    assert json.loads((tmp_path / "out" / "_export.json").read_text()) == done.to_dict()
    assert done.bytes == sum((tmp_path / "out" / name).stat().st_size for name in done.files)

    with omnigraph.init(tmp_path / "copy.omni", schema=SCHEMA) as copy:
        copy.load("\n".join(lines), mode="append")
        assert list(copy.export()) == expected


def test_parquet_directories_are_read_by_spark_and_load_to_the_same_graph(
    spark: Any, place: Path, graph: omnigraph.Graph, tmp_path: Path
):
    target = tmp_path / "out"
    done = omnigraph_spark.export(spark, str(place), target)
    assert {name.rpartition("/")[0] for name in done.files} == {
        "nodes/Everything",
        "nodes/Nobody",
        "nodes/Person",
        "edges/Knows",
        "edges/Person",
    }
    knows = spark.read.parquet(str(target / "edges" / "Knows"))
    assert sorted(tuple(row) for row in knows.select("id", "src", "dst").collect()) == [
        ("k0", "p0", "p1"),
        ("k1", "p1", "p2"),
        ("k2", "p2", "p3"),
    ]
    assert spark.read.parquet(str(target / "nodes" / "Nobody")).columns == ["id", "name"]
    largest = spark.read.parquet(str(target / "nodes" / "Everything")).where("u64 is not null").collect()
    assert [row["u64"] for row in largest] == [2**64 - 1]

    folders = {f"{kind}:{each.name}": each for kind in ("node", "edge") for each in (target / f"{kind}s").iterdir()}
    tables = {name: spark.read.parquet(str(folder)).toArrow() for name, folder in folders.items()}
    with omnigraph.init(tmp_path / "copy.omni", schema=SCHEMA) as copy:
        copy.load(tables, mode="append")
        assert list(copy.export()) == list(graph.export())
    with omnigraph.init(tmp_path / "again.omni", schema=SCHEMA) as copy:
        omnigraph_spark.load(spark, copy, folders, "append")
        assert list(copy.export()) == list(graph.export())


def test_a_task_that_fails_and_is_tried_again_leaves_its_rows_once(
    spark: Any, graph: omnigraph.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Workers cannot import this module, so it is sent to them.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(exporting, "ExportWork", LosingWork)
    done = omnigraph_spark.export(spark, graph, tmp_path / "out", format="jsonl", types=["Knows", "Everything"])
    lines = [line for name in done.files for line in (tmp_path / "out" / name).read_text("utf-8").split("\n")[:-1]]
    assert sorted(lines) == sorted(graph.export(types=["Knows", "Everything"]))
    assert files_below(tmp_path / "out") == {*done.files, "_export.json"}


class LosingWork(ExportWork):
    """Every task loses its first answer, after all of its work is done."""

    def run(self, batches: Any) -> Any:
        results = list(ExportWork.run(self, batches))
        context = TaskContext.get()
        if context is None or context.attemptNumber() == 0:
            raise RuntimeError("the answer is lost")
        yield from results


def test_a_task_that_keeps_failing_is_told_and_leaves_the_earlier_export_as_it_was(
    spark: Any, place: Path, tmp_path: Path
):
    earlier = omnigraph_spark.export(spark, place, tmp_path / "out", types=["Nobody"])
    # A directory that cannot be made: a file is in its way.
    (tmp_path / "out" / ATTEMPTS).write_text("in the way")
    with pytest.raises(StorageError, match="A task of the export failed: Could not write") as caught:
        omnigraph_spark.export(spark, place, tmp_path / "out", types=["Person"], overwrite=True)
    assert "overwrite=True" in str(caught.value.help)
    assert ATTEMPTS in str(caught.value.uri)
    assert caught.value.__cause__ is None
    assert files_below(tmp_path / "out") == {*earlier.files, "_export.json", ATTEMPTS}


# ── without ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_there_is_overwritten_only_when_that_is_asked_for_and_it_is_an_export(place: Path, tmp_path: Path):
    earlier = tmp_path / "earlier"
    (earlier / "nodes" / "Person").mkdir(parents=True)
    (earlier / "nodes" / "Person" / "part-00007.parquet").write_text("old")
    with pytest.raises(AlreadyExistsError, match="exists already"):
        omnigraph_spark.export(None, place, earlier)
    with pytest.raises(InvalidInputError, match="no export has made"):
        omnigraph_spark.export(None, place, earlier, overwrite=True)
    (earlier / "_export.json").write_text("{}")
    (earlier / "notes.txt").write_text("mine")
    # Nothing is to be done for no types, so that no session is asked.
    done = omnigraph_spark.export(None, place, earlier, types=[], overwrite=True)
    assert done.files == ()
    assert files_below(earlier) == {"_export.json", "notes.txt"}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"format": "csv"}, InvalidInputError, "no export format 'csv'"),
        ({"types": ["Persn"]}, NotFoundError, 'no type "Persn"'),
        ({"branch": "review"}, NotFoundError, "review"),
        ({"target": "memory://out"}, InvalidInputError, "cannot be written to memory://out"),
        ({"options": {"region": "x"}}, InvalidInputError, "option"),
        ({"target_options": {"region": "x"}}, InvalidInputError, '"local" has no option "region"'),
    ],
)
def test_what_is_asked_wrongly_is_told_before_anything_is_written(
    place: Path, tmp_path: Path, arguments: dict[str, Any], error: type[Exception], says: str
):
    with pytest.raises(error, match=says):
        omnigraph_spark.export(None, place, **{"target": tmp_path / "out"} | arguments)
    assert not (tmp_path / "out").exists()


def test_a_target_inside_the_graph_is_refused(place: Path):
    before = files_below(place)
    with pytest.raises(InvalidInputError, match="inside the graph"):
        omnigraph_spark.export(None, place, place / "out")
    assert files_below(place) == before


def test_a_target_that_is_a_file_is_refused(place: Path, tmp_path: Path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InvalidInputError, match="is a file"):
        omnigraph_spark.export(None, place, tmp_path / "out", overwrite=True)


def test_options_are_not_for_an_open_graph(graph: omnigraph.Graph, tmp_path: Path):
    with pytest.raises(InvalidInputError, match="has its options already"):
        omnigraph_spark.export(None, graph, tmp_path / "out", options={"region": "x"})


def test_tasks_read_every_part_once_and_only_parquet_has_files_without_rows(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
):
    scans = graph.scans()
    keys = [scan.type_key for scan in scans]
    assert keys == ["edge:Knows", "edge:Person", "node:Everything", "node:Nobody", "node:Person"]
    whole = divide(scans, with_empty=True)
    assert whole == tuple(
        ExportTask(scan=number, parts=tuple(part.number for part in scan.parts)) for number, scan in enumerate(scans)
    )
    assert [keys[task.scan] for task in divide(scans, with_empty=False)] == [key for key in keys if "Nobody" not in key]
    monkeypatch.setattr(export_tasks, "TASK_ROWS", 2)
    small = divide(scans, with_empty=False)
    assert len(small) > len(whole)
    for number, scan in enumerate(scans):
        read = [part for task in small if task.scan == number for part in task.parts]
        assert read == [part.number for part in scan.parts]


def test_each_attempt_of_a_task_writes_a_file_of_its_own(graph: omnigraph.Graph, tmp_path: Path):
    scans = graph.scans(["Everything"])
    work = ExportWork(
        target=ExportTarget.of(tmp_path / "out"),
        format="jsonl",
        scans=scans,
        tasks=divide(scans, with_empty=False),
    )
    first, second = work.write(0), pickle.loads(pickle.dumps(work)).write(0)
    assert first.file != second.file
    assert (first.rows, first.bytes) == (second.rows, second.bytes)
    texts = [(tmp_path / "out" / each.file).read_text("utf-8") for each in (first, second)]
    assert texts[0] == texts[1]
    assert sorted(texts[0].split("\n")[:-1]) == sorted(graph.export(types=["Everything"]))


def test_secrets_of_a_target_are_in_no_text_of_it(tmp_path: Path):
    target = ExportTarget.of("s3://bucket/out", {"access_key_id": "AKIA", "secret_access_key": "hush-hush"})
    assert "hush" not in repr(target)
    assert "hush" not in repr(ExportWork(target=target, format="jsonl", scans=(), tasks=()))
