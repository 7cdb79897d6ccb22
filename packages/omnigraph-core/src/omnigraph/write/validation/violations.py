"""From what validators find to problems in the words of the specification, each with the place of its row.

Validators find numbers of rows; only for as many as the log still keeps of their reason are values and places fetched.
The others are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema.ids import spell_value
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.validation.change_rows import ChangedRows
from omnigraph.write.validation.row_sets import Found

MAX_SHOWN: Final = 200
"""Characters of a value in a message."""

_STRING: Final = ValueType(Scalar.STRING)


def report(problems: ProblemLog, reason: str, count: int, told: Iterator[Problem]) -> None:
    """Add the problems that are told, in the order of their rows, and count those of the same reason that are not."""
    rest = count
    for problem in told:
        rest -= 1
        if not problems.add(problem):
            # Nor are those kept that come behind it; they need not be spelled out.
            break
    if rest > 0:
        problems.counts[reason] += rest


def report_repeated(
    problems: ProblemLog, rows: ChangedRows, columns: Sequence[str], found: Found, *, constraint: str
) -> None:
    """Two records of one input have the same key or unique tuple."""

    def told() -> Iterator[Problem]:
        numbers, firsts = found.first["row"].to_pylist(), found.first["first"].to_pylist()
        records = rows.at(numbers + firsts, ["id", *columns])
        for number, record, first in zip(numbers, records, records[len(numbers) :], strict=False):
            message = unique_message(rows.target, columns, record, first["id"])
            holders = (first["id"], record["id"])
            yield problem_at(rows, number, "unique", message, record["id"], _only(columns), constraint, holders)

    report(problems, "unique", found.count, told())


def report_held(problems: ProblemLog, rows: ChangedRows, columns: Sequence[str], found: Found) -> None:
    """A record has the unique tuple of a committed row that stays."""
    constraint = spelled_rule("@unique", columns)

    def told() -> Iterator[Problem]:
        numbers = found.first["row"].to_pylist()
        records = rows.at(numbers, ["id", *columns])
        for number, record, holder in zip(numbers, records, found.first["holder"].to_pylist(), strict=True):
            message = unique_message(rows.target, columns, record, holder)
            holders = (holder, record["id"])
            yield problem_at(rows, number, "unique", message, record["id"], _only(columns), constraint, holders)

    report(problems, "unique", found.count, told())


def report_taken(problems: ProblemLog, rows: ChangedRows, found: Found, *, by: str) -> None:
    """An id is there already: ``by`` another record or a committed row."""
    key = sorted(rows.target.key_columns)
    constraint = spelled_rule("@key", key) if key else "id"

    def told() -> Iterator[Problem]:
        numbers = found.first["row"].to_pylist()
        for number, record in zip(numbers, rows.at(numbers, ["id"]), strict=True):
            message = f"{rows.target.name} {quoted(record['id'])}: {by} already has this id"
            holders = (record["id"], record["id"])
            yield problem_at(rows, number, "key_conflict", message, record["id"], None, constraint, holders)

    report(problems, "key_conflict", found.count, told())


def report_endpoints(problems: ProblemLog, rows: ChangedRows, end: str, node: TypeTable, found: Found) -> None:
    """An edge starts or ends at a node that is not there."""

    def told() -> Iterator[Problem]:
        numbers = found.first["row"].to_pylist()
        for number, record in zip(numbers, rows.at(numbers, ["id", end]), strict=True):
            message = f"{end} {quoted(record[end])} not found in {node.name}"
            yield problem_at(rows, number, "endpoint", message, record["id"], end, f"endpoint {end}", (record[end],))

    report(problems, "endpoint", found.count, told())


def problem_at(
    rows: ChangedRows,
    number: int,
    reason: str,
    message: str,
    id_: Any,
    property_: str | None,
    constraint: str,
    holders: tuple[Any, ...],
) -> Problem:
    """A problem of one new row; of none, if the number is negative."""
    source, line = rows.change.rows.place_of(number) if number >= 0 else (None, None)
    return Problem(
        reason=reason,
        message=message,
        type_key=rows.target.key,
        property=property_,
        id=id_,
        source=source,
        line=line,
        constraint=constraint,
        holders=holders,
    )


def spelled_rule(annotation: str, columns: Sequence[str]) -> str:
    """A rule about columns as the schema writes it, such as ``@unique(dst, src)``."""
    return f"{annotation}({', '.join(columns)})"


def unique_message(target: TypeTable, columns: Sequence[str], record: Mapping[str, Any], holder: Any) -> str:
    """That a record and the row with the id ``holder`` have the same tuple."""
    values = [spelled(record[name], type_of(target, name)) for name in columns]
    where, value = f"{target.name}.{columns[0]}", f"'{values[0]}'"
    if len(columns) > 1:
        where, value = f"{target.name}.({', '.join(columns)})", f"({', '.join(values)})"
    return f"@unique violation on {where}: value {value} held by {quoted(holder)} and {quoted(record['id'])}"


def type_of(target: TypeTable, column: str) -> ValueType:
    """The type of a property, or of a system column."""
    prop = target.type.by_name.get(column)
    return _STRING if prop is None else prop.type


def spelled(value: Any, of: ValueType) -> str:
    """A comparable value as a key would spell it, shortened."""
    if value is None:
        return "null"
    if of.scalar is Scalar.U64:
        value %= 2**64
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return shortened(spell_value(value, of))


def shortened(text: str) -> str:
    """A text that fits into a message."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def quoted(value: Any) -> str:
    """A text as messages show it."""
    return f"'{shortened(str(value))}'"


def _only(columns: Sequence[str]) -> str | None:
    return columns[0] if len(columns) == 1 else None
