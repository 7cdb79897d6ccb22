"""Values against the rules of their own row: required, enum, ``@range`` and ``@check``.

The first stage: it needs no other row and no committed one. ``check_values`` judges rows that are in memory, so whoever
passes many rows through memory once can judge them on the way; ``check_changed_values`` reads those columns of a change
that some rule is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.schema import Check, Range
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.validation.change_rows import ChangedRows, comparable
from omnigraph.write.validation.sets import matches_pattern
from omnigraph.write.validation.violations import quoted, report, shortened, spelled, spelled_rule, type_of

PlaceOf = Callable[[int], tuple[str | None, int | None]]


def check_changed_values(rows: ChangedRows, problems: ProblemLog) -> None:
    """Judge all new rows of a type. Rows in files are read again only for columns that have a rule of their own.

    So nulls are looked for in those, and in all columns of rows in memory: that a value is there is known since the row
    was made, and reading every file again to see it once more would cost more than all other checks.
    """
    columns = judged_columns(rows.target, is_written=rows.change.rows.table is None)
    if not columns:
        return
    start = 0
    for batch in rows.read(["id", *columns]):
        check_values(rows.target, batch, problems, first_row=start, place_of=rows.change.rows.place_of)
        start += batch.num_rows


def check_values(
    target: TypeTable, rows: pa.RecordBatch, problems: ProblemLog, *, first_row: int, place_of: PlaceOf
) -> None:
    """Judge rows by the columns that are given, ``id`` among them; the first has the ordinal ``first_row``."""
    for finding in _findings(target, rows):
        count = pc.sum(finding.is_bad, min_count=0).as_py()
        if count:
            told = _problems(target, rows, finding, problems.limit, first_row, place_of)
            report(problems, finding.reason, count, told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What one rule says of some rows.

    Attributes:
        is_bad: by row, whether it breaks the rule.
        message: what is wrong with one of them.
    """

    reason: str
    column: str
    constraint: str
    is_bad: pa.Array
    message: Callable[[int], str]


def _problems(
    target: TypeTable, rows: pa.RecordBatch, finding: _Finding, keep: int, first_row: int, place_of: PlaceOf
) -> Iterator[Problem]:
    for index in pc.indices_nonzero(finding.is_bad).slice(0, keep).to_pylist():
        source, line = place_of(first_row + index)
        yield Problem(
            reason=finding.reason,
            message=finding.message(index),
            type_key=target.key,
            property=finding.column,
            id=rows["id"][index].as_py(),
            source=source,
            line=line,
            constraint=finding.constraint,
        )


def _findings(target: TypeTable, rows: pa.RecordBatch) -> Iterator[_Finding]:
    given = rows.schema.names
    for name in given:
        if not target.schema.field(name).nullable and rows[name].null_count:
            yield _required(rows, name)
    for name in given:
        prop = target.type.by_name.get(name)
        if prop is not None and prop.type.enum_values is not None:
            yield _enum(target, rows, name, prop.type.enum_values)
    for rule in target.type.constraints:
        if isinstance(rule, Range) and rule.property in given:
            yield _range(target, rows, rule)
        elif isinstance(rule, Check) and rule.property in given:
            yield _check(target, rows, rule)


def _required(rows: pa.RecordBatch, name: str) -> _Finding:
    return _Finding(
        reason="required",
        column=name,
        constraint="required",
        is_bad=rows[name].is_null(),
        message=lambda _index: f"null in non-nullable property '{name}'",
    )


def _enum(target: TypeTable, rows: pa.RecordBatch, name: str, allowed: tuple[str, ...]) -> _Finding:
    column = rows[name]
    known = pc.is_in(column, value_set=pa.array(allowed, column.type))
    listed = ", ".join(allowed)
    return _Finding(
        reason="enum",
        column=name,
        constraint="enum",
        is_bad=pc.and_not(column.is_valid(), known),
        message=lambda index: f"invalid enum value {quoted(column[index])} for {target.name}.{name}; allowed: {listed}",
    )


def _range(target: TypeTable, rows: pa.RecordBatch, rule: Range) -> _Finding:
    column = rows[rule.property]
    # As f64, so a large integer is compared by its nearest f64; so are the bounds.
    numbers = column.cast(pa.float64(), safe=False)
    is_bad = pc.is_nan(numbers)
    if rule.minimum is not None:
        is_bad = pc.or_(is_bad, pc.less(numbers, float(rule.minimum)))
    if rule.maximum is not None:
        is_bad = pc.or_(is_bad, pc.greater(numbers, float(rule.maximum)))
    exact = comparable(column)

    def message(index: int) -> str:
        value = spelled(exact[index].as_py(), type_of(target, rule.property))
        number = numbers[index].as_py()
        said = f"is below the minimum {rule.minimum}"
        if math.isnan(number):
            said = f"is not within {_spelled_bounds(rule)}"
        elif rule.maximum is not None and number > float(rule.maximum):
            said = f"is above the maximum {rule.maximum}"
        return f"@range violation on {target.name}.{rule.property}: {value} {said}"

    return _Finding(
        reason="range",
        column=rule.property,
        constraint=spelled_rule("@range", [rule.property]),
        is_bad=pc.fill_null(is_bad, False),
        message=message,
    )


def _spelled_bounds(rule: Range) -> str:
    return f"{'' if rule.minimum is None else rule.minimum}..{'' if rule.maximum is None else rule.maximum}"


def _check(target: TypeTable, rows: pa.RecordBatch, rule: Check) -> _Finding:
    column = rows[rule.property]
    where = f"@check violation on {target.name}.{rule.property}"
    pattern = shortened(rule.pattern)

    def finding(is_bad: pa.Array, message: Callable[[int], str]) -> _Finding:
        constraint = spelled_rule("@check", [rule.property])
        return _Finding(reason="check", column=rule.property, constraint=constraint, is_bad=is_bad, message=message)

    try:
        is_match = matches_pattern(column, rule.pattern)
    except ValueError as error:
        said = f"{where}: the pattern {pattern} cannot be used: {error}"
        return finding(column.is_valid(), lambda _index: said)
    return finding(
        pc.and_not(column.is_valid(), pc.fill_null(is_match, True)),
        lambda index: f"{where}: value {quoted(column[index])} does not match the pattern {pattern}",
    )


def judged_columns(target: TypeTable, *, is_written: bool) -> list[str]:
    """The columns that some rule is about, without ``id``; of rows in files, those with a rule of their own."""
    ruled = {rule.property for rule in target.type.constraints if isinstance(rule, Range | Check)}
    ruled |= {each.name for each in target.type.properties if each.type.enum_values is not None}
    wanted = (field for field in target.schema if field.name in ruled or not (is_written or field.nullable))
    return [field.name for field in wanted if field.name != "id"]
