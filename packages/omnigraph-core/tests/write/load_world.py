"""What tests of loading share: a schema with every type, and a load whose rows and problems are plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.history.schemas import GraphSchema
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records import TypedRows, read_records

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

SCHEMA = GraphSchema.new(
    """
    interface Titled { title: String }
    node Thing {
        name: String @key
        text: String?
        kind: enum(red, blue)?
        flag: Bool?
        i32: I32?
        i64: I64?
        u32: U32?
        u64: U64?
        f32: F32?
        f64: F64?
        day: Date?
        time: DateTime?
        vec: Vector(3)?
        body: Blob?
        texts: [String]?
        flags: [Bool]?
        counts: [I32]?
        floats: [F32]?
        days: [Date]?
        times: [DateTime]?
    }
    node Seat { row: I32  place: String  note: String?  @key(row, place) }
    node Memo { text: String  stars: I32? }
    node Film implements Titled { code: String @key  title: String  face: Vector(2) @embed("title") }
    node Weight { grams: F32 @key }
    node Day { on: Date @key }
    edge Likes: Thing -> Thing { since: Date?  note: String? }
    edge Rates: Thing -> Thing { stars: I32 }
    edge Memo: Thing -> Memo
    """,
    DOMAIN,
)


@dataclass
class Loaded:
    """What a load gave.

    Attributes:
        rows: by type key, each row by column; dates as days, points in time as milliseconds.
        lines: by type key, the line of each row.
    """

    log: ProblemLog
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    batches: list[TypedRows] = field(default_factory=list)

    @property
    def problems(self) -> list[tuple[int | None, str, str | None]]:
        """Line, reason and property of each."""
        return [(each.line, each.reason, each.property) for each in self.log.kept]

    @property
    def problem(self) -> Problem:
        """The only one."""
        (found,) = self.log.kept
        return found


def load(data: Any, *, schema: GraphSchema = SCHEMA, limit: int = 100, **options: int) -> Loaded:
    loaded = Loaded(ProblemLog(limit=limit))
    for typed in read_records(data, schema, loaded.log, **options):
        for column in typed.rows.columns:
            # Arrow wants whole days of a date64; a DateTime is one with its time of day.
            column.cast(_numbers(column.type)).validate(full=True)
        assert typed.rows.schema.equals(typed.target.schema, check_metadata=True)
        assert len(typed.lines) == typed.rows.num_rows
        assert str(typed.lines.dtype) == "int64"
        key = typed.target.key
        loaded.rows.setdefault(key, []).extend(plain_rows(typed.rows))
        loaded.lines.setdefault(key, []).extend(typed.lines.tolist())
        loaded.batches.append(typed)
    return loaded


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    columns = [column.cast(_numbers(column.type)).to_pylist() for column in batch.columns]
    return [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _numbers(of: pa.DataType) -> pa.DataType:
    """Python's own dates end at year 9999, and Arrow's date64 comes out of it without its time."""
    if pa.types.is_date32(of):
        return pa.int32()
    if pa.types.is_date64(of):
        return pa.int64()
    if pa.types.is_list(of):
        return pa.list_(_numbers(of.value_type))
    return of


def node(kind: str, data: str) -> str:
    """A line in the usual form, which is read as part of a block."""
    return f'{{"type":"{kind}","data":{data}}}'


def odd_node(kind: str, data: str) -> str:
    """The same record in a form that is read by itself."""
    return f'{{"data":{data},"type":"{kind}"}}'


def things(count: int) -> str:
    return "\n".join(node("Thing", json.dumps({"name": f"t{number}"})) for number in range(count))
