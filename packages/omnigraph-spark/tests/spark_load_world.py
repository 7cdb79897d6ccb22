"""What tests of Spark loads share: a schema with every kind of rule, records at random, and verdicts to compare.

The load of one process is the measure: the same data gives the same graph, or the same problems.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError, OmnigraphError
from omnigraph.write.bulk import publishing
from omnigraph.write.validation.sets import LIMITS
from omnigraph_spark import inputs, loading
from omnigraph_spark.file_ranges import list_ranges
from omnigraph_spark.judge import JudgeLimits, SparkJudge
from omnigraph_spark.merging import SparkMerger

SCHEMA = """
node Person {
    handle: String @key
    age: I32?
    mail: String? @unique
    mood: enum(calm, wild)?
    @range(age, 0..150)
    @check(handle, "^[a-z0-9]+$")
}
node Note { text: String  day: Date?  stars: U64?  @unique(day, stars) }
edge Knows: Person -> Person @card(0..2) { since: I32?  @unique(src, dst) }
edge Wrote: Person -> Note @card(1..) { at: F64? }
"""

MANY = replace(LIMITS, memory_rows=0, lookup_keys=0)
"""With these limits of core, a single row is as many as a million."""

WAYS = {
    "one task": JudgeLimits(),
    "keys in tasks": JudgeLimits(rows_in_task=0),
    "shuffle": JudgeLimits(rows_in_task=0, keys_in_task=0),
}
"""The ways in which questions about rows are answered."""

Record = dict[str, Any]


def cut_every(range_bytes: int, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let files be cut into ranges of so few bytes."""
    patch(inputs, "list_ranges", partial(list_ranges, range_bytes=range_bytes))


def judge_by(way: str, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let questions be answered, and rows be merged, in one of the ways."""
    patch(loading, "SparkJudge", partial(SparkJudge, limits=WAYS[way]))
    patch(loading, "SparkMerger", partial(SparkMerger, limits=WAYS[way]))


def merge_by_tasks(patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let tasks merge, however few the rows are; what is to be judged is judged without them."""
    patch(publishing, "LIMITS", MANY)
    patch(loading, "SparkJudge", lambda *_: None)


def node(kind: str, **data: Any) -> Record:
    return {"type": kind, "data": data}


def edge(kind: str, src: str, dst: str, **data: Any) -> Record:
    return {"edge": kind, "from": src, "to": dst, "data": data}


def person(handle: str, **data: Any) -> Record:
    return node("Person", handle=handle, **data)


def write_jsonl(path: Path, records: Sequence[Record | str]) -> Path:
    """A record per line; texts are lines as they are."""
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records))
    return path


def tables(graph: og.Graph, records: Sequence[Record]) -> dict[str, pa.Table]:
    """Records as tables by type, in the types of the graph, with the columns that some of them have."""
    rows: dict[str, list[Record]] = {}
    for each in records:
        ends = {"src": each["from"], "dst": each["to"]} if "edge" in each else {}
        day = {"day": dt.date.fromisoformat(each["data"]["day"])} if each["data"].get("day") else {}
        rows.setdefault(each.get("edge") or each["type"], []).append({**ends, **each["data"], **day})
    made = {}
    for name, own in rows.items():
        schema = graph.table(name).to_arrow().schema
        named = [schema.field(each) for each in schema.names if any(each in row for row in own)]
        made[name] = pa.Table.from_pylist(own, schema=pa.schema([each.with_nullable(True) for each in named]))
    return made


def frames(spark: SparkSession, graph: og.Graph, records: Sequence[Record]) -> dict[str, DataFrame]:
    """Records as DataFrames, in the types of the graph as Spark has them."""
    made = {}
    for name, table in tables(graph, records).items():
        loose = pa.schema([pa.field(each.name, _AS_SPARK.get(each.type, each.type)) for each in table.schema])
        made[name] = spark.createDataFrame(table.cast(loose))
    return made


_AS_SPARK = {pa.uint64(): pa.decimal128(20, 0)}


# ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(graph: og.Graph, load: Callable[[], Any]) -> Any:
    """What a load comes to: the graph after it, or what was wrong."""
    try:
        load()
    except (ConstraintError, InvalidInputError) as error:
        return verdict(error)
    return list(graph.export())


def verdict(error: OmnigraphError, *, with_places: bool = True) -> tuple[Any, ...]:
    """What is wrong, in no order; ``with_places`` tells sources and lines too."""
    places = () if with_places else ("source", "line")
    told = [{name: value for name, value in each.items() if name not in places} for each in error.details["problems"]]
    problems = Counter(json.dumps(each, sort_keys=True) for each in told)
    return type(error), error.details["counts"], error.details["total"], problems


# ── records at random ────────────────────────────────────────────────────────────────────────────────────────────────


def sound_records(rng: random.Random, people: int, *, prefix: str = "p") -> list[Record]:
    """Records that break no rule, neither among themselves nor merged with others of the same prefix.

    Every edge and keyless node has an id.
    """
    handles = [f"{prefix}{number}" for number in range(people)]
    made = [
        person(
            each, age=rng.choice([None, 0, 150]), mail=rng.choice([None, f"{each}@x"]), mood=rng.choice([None, "calm"])
        )
        for each in handles
    ]
    for number, each in enumerate(handles):
        for which in rng.sample([0, 1], rng.randint(0, 2)):
            friend = rng.choice(handles[which::2])
            made.append(edge("Knows", each, friend, id=f"{each}-{which}", since=rng.randint(0, 9)))
        if number % 2 == 0:
            day, stars = f"2024-{ord(prefix) % 12 + 1:02}-{number + 1:02}", rng.choice([None, 2**64 - 1 - number])
            made.append(node("Note", id=f"n{each}", text=rng.choice(["", "é"]), day=day, stars=stars))
            made.append(edge("Wrote", each, f"n{each}", id=f"w{each}", at=rng.choice([None, 0.5])))
    rng.shuffle(made)
    return made


def wild_records(rng: random.Random, count: int) -> list[Record]:
    """Records that break rules about as often as not."""
    handles = ["p0", "p1", "p2", "new", "NO"]
    made: list[Record] = []
    for number in range(count):
        src, dst = rng.choice(handles), rng.choice(handles)
        made.append(
            rng.choice([
                person(rng.choice(handles), age=rng.choice([None, 5, 151]), mail=rng.choice([None, "p1@x", "m@x"])),
                node("Note", id=rng.choice(["np0", f"n{number}"]), text="", day="2024-01-01", stars=rng.choice([1, 2])),
                edge("Knows", src, dst, id=rng.choice(["k", f"k{number}"]), since=number),
                edge("Wrote", src, rng.choice(["np0", "gone"]), id=f"w{number}"),
            ])
        )  # fmt: skip
    return made
