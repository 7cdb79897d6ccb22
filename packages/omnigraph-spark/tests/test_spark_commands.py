"""``omnigraph spark load`` and ``omnigraph spark export``: the manners of the command line, the work of Spark."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph.plugins import find_verb, installed_plugins
from omnigraph_cli.main import cli
from omnigraph_spark.commands.load import read_sources
from omnigraph_spark.commands.running import _errors_of_children_to, _interrupts_held, _logging_to, _text

IS_FULL = os.environ.get("OMNIGRAPH_SPARK_FAULTS") == "full"
SCHEMA = "node Person { handle: String @key  age: I32? }\nedge Knows: Person -> Person @card(0..1)\n"
PEOPLE = '{"type":"Person","data":{"handle":"ann","age":41}}\n{"type":"Person","data":{"handle":"bo"}}\n'
KNOWS = '{"edge":"Knows","from":"ann","to":"bo","data":{"id":"k"}}\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty graph and some records, in the directory where commands are typed."""
    monkeypatch.chdir(tmp_path)
    omnigraph.init("graph.omni", schema=SCHEMA).close()
    Path("parts").mkdir()
    Path("parts/a.jsonl").write_text(PEOPLE)
    Path("parts/b.jsonl").write_text(KNOWS)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["spark", *words])


# ── without Spark ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_distribution_offers_its_verbs_by_the_hook():
    found = find_verb("spark", installed_plugins())
    assert found is not None
    assert found[0].distribution == "omnigraph-spark"
    (entry,) = (each for each in metadata.entry_points(group="omnigraph") if each.name == "spark")
    assert entry.value == "omnigraph_spark.plugin"


def test_nothing_heavy_is_imported_to_list_the_plugin_and_to_show_help():
    script = """
import sys
from omnigraph_cli.main import cli
try:
    cli.main(sys.argv[1:])
except SystemExit:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
    for words in (["--help"], ["plugins"], ["spark", "--help"], ["spark", "load", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=60, check=True
        )
        names = set(done.stderr.split())
        assert names & {"pyspark", "pyarrow", "lance", "pandas", "numpy"} == set(), words
        assert ("omnigraph_spark" in names, "spark" in done.stdout) == (True, True)


@pytest.mark.parametrize("words", [[], ["load"], ["export"]], ids=" ".join)
def test_every_verb_has_help_with_an_example(words: list[str]):
    shown = run(*words, "--help")
    assert shown.exit_code == 0
    assert shown.stdout.startswith(" ".join(["Usage: omnigraph spark", *words]))
    assert "Examples:" in shown.stdout


def test_sources_are_paths_of_records_or_paths_by_type(place: Path):
    Path("people.parquet").touch()
    Path("Person=x.jsonl").touch()
    assert read_sources(("parts/a.jsonl", "parts", "parts/*.jsonl")) == [
        f"{place}/parts/a.jsonl",
        f"{place}/parts",
        f"{place}/parts/*.jsonl",
    ]
    assert read_sources(("Person=people.parquet", "edge:Knows=parts")) == {
        "Person": f"{place}/people.parquet",
        "edge:Knows": f"{place}/parts",
    }
    assert read_sources(("./Person=x.jsonl",)) == [f"{place}/Person=x.jsonl"]
    assert read_sources(("s3://bucket/people/*.jsonl",)) == ["s3://bucket/people/*.jsonl"]


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (("nowhere.jsonl",), InvalidInputError, 'There is no file "nowhere.jsonl"'),
        (("Person=nowhere.parquet",), InvalidInputError, 'There is no file "nowhere.parquet"'),
        (("none-*.jsonl",), InvalidInputError, 'No file matches "none-'),
        (("people.parquet",), InvalidInputError, "does not say the type of its rows"),
        (("people.csv.gz",), InvalidInputError, "does not say the type of its rows"),
        (("parts", "Person=people.parquet"), click.UsageError, "not both"),
        (("Person=people.parquet", "Person=parts"), click.UsageError, "Person is given twice"),
    ],
)
def test_sources_that_cannot_be_loaded_are_told_before_spark_is_started(
    place: Path, words: tuple[str, ...], error: type[Exception], says: str
):
    Path("people.parquet").touch()
    with pytest.raises(error, match=re.escape(says)):
        read_sources(words)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["load", "graph.omni", "--mode", "append"], 2, "--data"),
        (["load", "graph.omni", "--data", "parts"], 2, "--mode"),
        (["load", "graph.omni", "--data", "parts", "--mode", "append", "--conf", "memory"], 2, "KEY=VALUE"),
        (["load", "graph.omni", "--data", "parts", "--mode", "append", "--on-error", "hide"], 2, "hide"),
        (["load", "graph.omni", "--data", "gone.jsonl", "--mode", "append"], 3, "gone.jsonl"),
        (["load", "gs://bucket/graph", "--data", "parts", "--mode", "append"], 1, "omnigraph-storage-gs"),
        (["export", "graph.omni"], 2, "TARGET"),
        (["export", "graph.omni", "out", "--format", "csv"], 2, "csv"),
        (["export", "graph.omni", "gs://bucket/out"], 1, "omnigraph-storage-gs"),
        (["exprot"], 2, 'Did you mean "export"'),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_words_that_are_wrong_are_told_with_their_exit_code(place: Path, words: list[str], code: int, says: str):
    refused = run(*words)
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert says in refused.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["load", "gone.omni", "--data", "parts", "--mode", "append"], "gone.omni"),
        (["load", "graph.omni", "--data", "parts", "--mode", "append", "--branch", "gone"], 'no branch "gone"'),
        (["load", "graph.omni", "--data", "parts", "--mode", "append", "--branch", "b", "--from", "gone"], '"gone"'),
        (["load", "graph.omni", "--data", "Persn=parts", "--mode", "append"], 'Did you mean "Person"'),
        (["export", "gone.omni", "out"], "gone.omni"),
        (["export", "graph.omni", "out", "--branch", "gone"], 'no branch "gone"'),
        (["export", "graph.omni", "out", "--type", "Persn"], 'Did you mean "Person"'),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_is_not_there_is_told_before_spark_starts(
    place: Path, words: list[str], says: str, monkeypatch: pytest.MonkeyPatch
):
    for module in ("load", "export"):
        # By its name in sys.modules: the command of the same name stands in its place.
        monkeypatch.setattr(sys.modules[f"omnigraph_spark.commands.{module}"], "running_spark", None)
    refused = run(*words)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert says in refused.stderr
    assert not Path("out").exists()


# ── with Spark ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_load_and_an_export_go_through_spark_and_speak_like_the_built_in_verbs(spark: Any, place: Path):
    loaded = run("load", "graph.omni", "--data", "parts", "--mode", "append", "--as", "ann", "--load-id", "monday")
    assert loaded.exit_code == 0, loaded.stderr
    graph = place / "graph.omni"
    assert loaded.stderr == f"load {graph} (direct, local)\n"
    assert loaded.stdout.splitlines()[0] == (
        f"loaded {graph} on branch main with append: 3 entities across 1 node type and 1 edge type"
    )
    with omnigraph.open("graph.omni", mode="r") as opened:
        assert opened.snapshot().commit.actor == "ann"
        lines = sorted(opened.export())
    assert len(lines) == 3

    again = run("load", "graph.omni", "--data", "parts", "--mode", "append", "--load-id", "monday", "--json", "-q")
    assert (again.exit_code, json.loads(again.stdout)["total"]) == (0, 0)

    Path("parts").rename("away")
    again = run("load", "graph.omni", "--data", "parts", "--mode", "append", "--load-id", "monday", "--json", "-q")
    assert (again.exit_code, json.loads(again.stdout)["total"]) == (0, 0)
    lost = run("load", "graph.omni", "--data", "parts", "--mode", "append", "--load-id", "tuesday")
    assert (lost.exit_code, lost.stdout) == (3, "")
    assert "parts" in lost.stderr

    exported = run("export", "graph.omni", "out", "--format", "jsonl")
    assert exported.exit_code == 0, exported.stderr
    assert exported.stderr == f"export {graph} to {place / 'out'} (Spark, local[*])\n"
    assert exported.stdout.splitlines()[0] == (
        f"exported {graph} on branch main to {place / 'out'}: 2 nodes and 1 edge"
    )
    written = sorted(line for part in Path("out").glob("*.jsonl") for line in part.read_text().splitlines())
    assert written == lines
    refused = run("export", "graph.omni", "out", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]["kind"]) == (1, "already_exists")

    document = run("export", "graph.omni", "out", "--overwrite", "--type", "Person", "--json", "-q")
    facts = json.loads(document.stdout)
    assert (facts["uri"], facts["target"], facts["nodes"], facts["edges"], facts["files"]) == (
        str(graph),
        str(place / "out"),
        {"Person": 2},
        {},
        ["nodes/Person/part-00000.parquet"],
    )


def test_parquet_that_was_exported_is_loaded_by_type(spark: Any, place: Path):
    with omnigraph.open("graph.omni") as graph:
        graph.load(PEOPLE + KNOWS, mode="append")
        expected = list(graph.export())
    assert run("export", "graph.omni", "out").exit_code == 0
    omnigraph.init("copy.omni", schema=SCHEMA).close()
    data = ["--data", "Person=out/nodes/Person", "--data", "Knows=out/edges/Knows"]
    loaded = run("load", "copy.omni", *data, "--mode", "append", "--json")
    assert loaded.exit_code == 0, loaded.stderr
    assert json.loads(loaded.stdout)["nodes"] == {"Person": 2}
    with omnigraph.open("copy.omni", mode="r") as copy:
        assert list(copy.export()) == expected


def test_what_is_wrong_with_records_is_told_with_file_and_line_and_nothing_is_written(spark: Any, place: Path):
    Path("parts/b.jsonl").write_text(KNOWS + '{"type":"Person","data":{"handle":"cy","age":"old"}}\n')
    refused = run("load", "graph.omni", "--data", "parts/*.jsonl", "--mode", "append")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "b.jsonl:2: error[wrong_type]: Person.age expects I32?" in refused.stderr
    with omnigraph.open("graph.omni", mode="r") as graph:
        assert list(graph.export()) == []


@pytest.mark.skipif(not IS_FULL, reason="a Java of its own takes long to start: tox run -e spark-faults")
def test_a_process_of_its_own_starts_spark_without_its_noise(place: Path):
    """The verbs above share a session; this one starts Spark as people do."""
    with omnigraph.open("graph.omni") as graph:
        graph.load(PEOPLE, mode="append")
    command = str(Path(sysconfig.get_path("scripts")) / "omnigraph")
    done = subprocess.run(
        [command, "spark", "export", "graph.omni", "out", "--format", "jsonl", "--master", "local[1]"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        0,
        f"export {place / 'graph.omni'} to {place / 'out'} (Spark, local[1])\n",
    )
    assert len(Path("out/part-00000.jsonl").read_text().splitlines()) == 2


def test_a_spark_that_does_not_start_is_told_in_one_line_and_whole_under_debug(place: Path):
    command = str(Path(sysconfig.get_path("scripts")) / "omnigraph")
    words = [command, "--debug", "spark", "export", "graph.omni", "out", "--master", "nowhere://", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["message"].startswith("Spark did not start at nowhere://: ")
    assert "Master must" in error["message"]
    assert "--master" in error["help"]
    assert "\tat org.apache.spark" in done.stderr
    assert not Path("out").exists()


# ── how Spark is kept quiet ──────────────────────────────────────────────────────────────────────────────────────────


def test_what_children_write_to_stderr_is_kept_and_ours_is_not(capfd: pytest.CaptureFixture[str]):
    with tempfile.TemporaryFile("a+b") as noise, _logging_to(noise):
        with _errors_of_children_to(noise):
            subprocess.run(["sh", "-c", "echo from a child >&2"], check=True)
            print("from us", file=sys.stderr)
        logging.getLogger("py4j.test").error("from a log")
        subprocess.run(["sh", "-c", "echo from a later child >&2"], check=True)
        assert _text(noise).splitlines() == ["from a child", "from a log"]
    assert capfd.readouterr().err.splitlines() == ["from us", "from a later child"]


def test_an_interrupt_waits_until_spark_has_started_and_a_second_one_does_not():
    before = signal.getsignal(signal.SIGINT)
    with _interrupts_held() as held:
        signal.raise_signal(signal.SIGINT)
        # As Spark does.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        held.deliver()
    with _interrupts_held() as held:
        held.deliver()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not IS_FULL, reason="a Java of its own takes long to start: tox run -e spark-faults")
def test_an_interrupt_while_spark_starts_leaves_no_java_behind(place: Path):
    command = str(Path(sysconfig.get_path("scripts")) / "omnigraph")
    marked = ["--conf", f"spark.app.mark={place}"]
    process = subprocess.Popen(
        [command, "-q", "spark", "export", "graph.omni", "out", "--master", "local[1]", "--json", *marked],
        stdout=subprocess.PIPE,
        text=True,
    )
    # Java is being launched: the first moment at which something could be left.
    wait_until(lambda: len(processes_with(str(place))) > 1)
    process.send_signal(signal.SIGINT)
    # It ends when Java has let go of stdout too.
    printed, _ = process.communicate(timeout=240)
    assert (process.returncode, json.loads(printed)["error"]["kind"]) == (130, "interrupted")
    wait_until(lambda: processes_with(str(place)) == [])


def processes_with(word: str) -> list[str]:
    return [
        line
        for line in subprocess.check_output(["ps", "-A", "-ww", "-o", "args"], text=True).splitlines()
        if word in line
    ]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
