"""What a load costs beside the bare work that it cannot do without, as ratios within one run.

    Arrow     all checks on, against lance.write_dataset of the same columns
    JSONL     the same rows as text, against a loop that decodes each line and refuses repeated members
    memory    the peak of a process that loads, from files, at the size and at twice the size
    merge     a tenth of the nodes anew, against a bare merge_insert of the same rows

Rounds of both sides alternate, so that a noisy machine disturbs both alike. What the one side left to be written to the
disk is written before the other begins. The figure is the median of the ratios of the rounds; beside it stands the same
of processor time, which other work on the machine disturbs less. The aims are for a million nodes and five million
edges: what a load costs however small it is weighs more at smaller sizes.

Run it with: tox run -e bench, or at full size: tox run -e scale
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32  @range(age, 0..130) }
edge Knows: Person -> Person { since: I64 }
"""
PEOPLE = pa.schema([("name", pa.string()), ("age", pa.int32())])
KNOWS = pa.schema([("src", pa.string()), ("dst", pa.string()), ("since", pa.int64())])

BATCH = 65_536

Seconds = tuple[float, float]
"""By the clock, and of processor time."""

Round = tuple[Seconds, Seconds]
"""Of our side and of the bare one."""


@dataclass(frozen=True)
class Row:
    """One line of the result: what was aimed at, and what came of it."""

    what: str
    ours: str
    bare: str
    figure: str
    processor: str
    aim: str
    holds: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--edges", type=int, default=250_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the graphs are made, for a while")
    parser.add_argument("--only", choices=["arrow", "jsonl", "memory", "merge"], action="append")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        load_and_tell(given.child[0], Path(given.child[1]))
        return
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-", dir=given.folder) as name:
        folder = Path(name)
        rows: list[Row] = []
        for part, measure in PARTS.items():
            if not given.only or part in given.only:
                rows += measure(folder, given)
    print(f"{given.nodes:,} nodes and {given.edges:,} edges, {given.rounds} rounds")
    print(f"{'what':<34}{'ours':>11}{'bare':>11}{'figure':>9}{'processor':>11}{'aim':>12}")
    for row in rows:
        verdict = "holds" if row.holds else "does not hold"
        figures = f"{row.figure:>9}{row.processor:>11}{row.aim:>12}"
        print(f"{row.what:<34}{row.ours:>11}{row.bare:>11}{figures}  {verdict}")


# ── the rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def people(count: int) -> Iterator[pa.RecordBatch]:
    chance = np.random.default_rng(1)
    for start in range(0, count, BATCH):
        numbers = np.arange(start, min(start + BATCH, count))
        ages = chance.integers(1, 99, len(numbers), dtype=np.int32)
        yield pa.record_batch([names(numbers), pa.array(ages)], schema=PEOPLE)


def knows(count: int, *, nodes: int) -> Iterator[pa.RecordBatch]:
    chance = np.random.default_rng(2)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        ends = [names(chance.integers(0, nodes, size)) for _ in range(2)]
        yield pa.record_batch([*ends, pa.array(chance.integers(0, 2**40, size))], schema=KNOWS)


def names(numbers: np.ndarray[Any, Any]) -> pa.Array:
    """A text of twelve characters for each number, in no alphabetical order."""
    mixed = (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(16)
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = digits[(mixed[:, np.newaxis] >> np.arange(44, -1, -4, dtype=np.uint64)) & np.uint64(15)]
    offsets = np.arange(0, 12 * (len(numbers) + 1), 12, dtype=np.int32)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text)))


def edge_ids(count: int) -> pa.Array:
    """Texts such as a load mints: 26 characters, of which the last few count on."""
    numbers = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.string()), 10, "0")
    return pc.binary_join_element_wise(pa.scalar("01M7JDC9Q73YZQ3Z"), numbers, "")


def write_parquet(folder: Path, nodes: int, edges: int) -> None:
    folder.mkdir()
    sources = (("Person", PEOPLE, people(nodes)), ("Knows", KNOWS, knows(edges, nodes=nodes)))
    for name, schema, batches in sources:
        with pq.ParquetWriter(folder / f"{name}.parquet", schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


def write_jsonl(path: Path, nodes: int, edges: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in people(nodes):
            file.writelines(
                f'{{"type": "Person", "data": {{"name": "{name}", "age": {age}}}}}\n'
                for name, age in zip(*lists(batch), strict=True)
            )
        for batch in knows(edges, nodes=nodes):
            file.writelines(
                f'{{"edge": "Knows", "from": "{src}", "to": "{dst}", "data": {{"since": {since}}}}}\n'
                for src, dst, since in zip(*lists(batch), strict=True)
            )


def lists(batch: pa.RecordBatch) -> list[list[Any]]:
    return [column.to_pylist() for column in batch.columns]


# ── throughput ───────────────────────────────────────────────────────────────────────────────────────────────────────


def measure_arrow(folder: Path, given: argparse.Namespace) -> list[Row]:
    nodes = pa.Table.from_batches(people(given.nodes))
    edges = pa.Table.from_batches(knows(given.edges, nodes=given.nodes))
    stored_nodes = nodes.add_column(0, "id", nodes["name"]).select(["id", "age", "name"])
    stored_edges = edges.add_column(0, "id", edge_ids(len(edges)))

    def ours(target: Path) -> None:
        with og.open(target) as graph:
            graph.load({"Person": nodes, "Knows": edges}, "append")

    def bare(target: Path) -> None:
        for name, table in (("nodes", stored_nodes), ("edges", stored_edges)):
            lance.write_dataset(table, target / name, data_storage_version="2.2", enable_stable_row_ids=True)

    return [in_turns("Arrow, append", folder, given, ours, bare, least=0.40)]


def measure_jsonl(folder: Path, given: argparse.Namespace) -> list[Row]:
    path = folder / "input.jsonl"
    write_jsonl(path, given.nodes, given.edges)

    def ours(target: Path) -> None:
        with og.open(target) as graph:
            graph.load(path, "append")

    def bare(_target: Path) -> None:
        with path.open("rb") as file:
            for line in file:
                json.loads(line, object_pairs_hook=refuse_repeated)

    row = in_turns("JSONL, append", folder, given, ours, bare, least=0.35)
    path.unlink()
    return [row]


def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a member occurs twice")
    return fields


def in_turns(
    what: str,
    folder: Path,
    given: argparse.Namespace,
    ours: Callable[[Path], None],
    bare: Callable[[Path], None],
    *,
    least: float,
) -> Row:
    """Both sides on fresh places, in turns; the share of the bare side's throughput that ours reaches."""
    rounds: list[Round] = []
    for number in range(given.rounds):
        graph, raw = folder / f"graph-{number}", folder / f"raw-{number}"
        og.init(graph, schema=SCHEMA).close()
        raw.mkdir()
        acts = [partial(ours, graph), partial(bare, raw)]
        if number % 2:
            # Who comes second finds memory and caches as the first one left them.
            theirs, mine = timed(acts[1]), timed(acts[0])
        else:
            mine, theirs = timed(acts[0]), timed(acts[1])
        rounds.append((mine, theirs))
        shutil.rmtree(graph)
        shutil.rmtree(raw)
    share, processor = (1 / each for each in ratios(rounds))
    return Row(what, *medians(rounds), f"{share:.0%}", f"{processor:.0%}", f">= {least:.0%}", share >= least)


def timed(act: Callable[[], object]) -> Seconds:
    os.sync()
    start, processor = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - start, time.process_time() - processor


def ratios(rounds: list[Round]) -> tuple[float, float]:
    """Ours to bare, by the clock and by processor time."""
    by_clock, by_processor = (statistics.median(ours[at] / bare[at] for ours, bare in rounds) for at in (0, 1))
    return by_clock, by_processor


def medians(rounds: list[Round]) -> tuple[str, str]:
    """Seconds of both sides, by the clock."""
    ours, bare = (f"{statistics.median(side[0] for side in sides):.2f} s" for sides in zip(*rounds, strict=True))
    return ours, bare


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def measure_memory(folder: Path, given: argparse.Namespace) -> list[Row]:
    rows = []
    for kind in ("arrow", "jsonl"):
        peaks = []
        for factor in (1, 2):
            place = folder / f"{kind}-{factor}"
            write_input(kind, place, given.nodes * factor, given.edges * factor)
            # How threads share out memory differs from run to run.
            peaks.append(statistics.median(peak_of_child(kind, place) for _ in range(given.rounds)))
            shutil.rmtree(place)
        once, twice = peaks
        limit = 1536
        what = {"arrow": "Arrow from Parquet", "jsonl": "JSONL"}[kind]
        rows.append(Row(f"{what}, peak memory", f"{once:.0f} MiB", "", "", "", f"< {limit}", once < limit))
        growth = twice / once - 1
        rows.append(Row("  at twice the size", f"{twice:.0f} MiB", "", f"{growth:+.0%}", "", "<= +10%", growth <= 0.10))
    return rows


def write_input(kind: str, place: Path, nodes: int, edges: int) -> None:
    if kind == "arrow":
        write_parquet(place, nodes, edges)
    else:
        place.mkdir()
        write_jsonl(place / "input.jsonl", nodes, edges)


def peak_of_child(kind: str, place: Path) -> float:
    """Mebibytes that a process of its own takes to load the input."""
    command = [sys.executable, str(Path(__file__).resolve()), "--child", kind, str(place)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def load_and_tell(kind: str, place: Path) -> None:
    shutil.rmtree(place / "graph", ignore_errors=True)
    with og.init(place / "graph", schema=SCHEMA) as graph:
        if kind == "jsonl":
            graph.load(place / "input.jsonl", "append")
        else:
            # Without its own buffer, in which a reader would gather the whole file.
            files = {name: pq.ParquetFile(place / f"{name}.parquet", pre_buffer=False) for name in ("Person", "Knows")}
            readers = {
                name: pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(BATCH))
                for name, file in files.items()
            }
            graph.load(readers, "append")
    print(peak_mebibytes())


def peak_mebibytes() -> float:
    # Not ru_maxrss: that begins with what the parent had.
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not tell the peak of a process")


# ── merge ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def measure_merge(folder: Path, given: argparse.Namespace) -> list[Row]:
    nodes = pa.Table.from_batches(people(given.nodes))
    stored = nodes.add_column(0, "id", nodes["name"]).select(["id", "age", "name"])
    dataset = lance.write_dataset(stored, folder / "merge-raw", data_storage_version="2.2", enable_stable_row_ids=True)
    chance = np.random.default_rng(3)
    rounds: list[Round] = []
    with og.init(folder / "merge-graph", schema=SCHEMA) as graph:
        graph.load({"Person": nodes}, "append")
        for _ in range(given.rounds):
            chosen = pa.array(chance.choice(given.nodes, given.nodes // 10, replace=False))
            ages = pa.array(chance.integers(1, 99, len(chosen), dtype=np.int32))
            anew = nodes.take(chosen).set_column(1, PEOPLE.field("age"), ages)
            bare = anew.add_column(0, "id", anew["name"]).select(["id", "age", "name"])
            merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            ours = timed(lambda anew=anew: graph.load({"Person": anew}, "merge"))
            rounds.append((ours, timed(lambda merge=merge, bare=bare: merge.execute(bare))))
    ratio, processor = ratios(rounds)
    return [Row("merge of a tenth", *medians(rounds), f"{ratio:.2f}x", f"{processor:.2f}x", "<= 2.00x", ratio <= 2)]


PARTS: dict[str, Callable[[Path, argparse.Namespace], list[Row]]] = {
    "memory": measure_memory,
    "arrow": measure_arrow,
    "jsonl": measure_jsonl,
    "merge": measure_merge,
}

if __name__ == "__main__":
    main()
