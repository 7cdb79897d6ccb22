"""Ids and ``@unique``: no two rows of a type with the same key, the same id or the same unique tuple.

Judged twice: within the input, where even records of the same id must differ in their tuples, and against the committed
rows that this write leaves in place. A null in any column of a tuple exempts the row. Values are the same when their
spelling as a key is, so 0.0 and -0.0 are.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph.history.schemas import TypeTable
from omnigraph.schema import Unique
from omnigraph.write.changeset import ChangeMode
from omnigraph.write.committed import CommittedRows
from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation.change_rows import ChangedRows, committed_rows, rows_like, table_rows
from omnigraph.write.validation.questions import held, repeated, taken
from omnigraph.write.validation.sets import Limits, Rows
from omnigraph.write.validation.violations import report_held, report_repeated, report_taken, spelled_rule


def check_ids(rows: ChangedRows, committed: CommittedRows, problems: ProblemLog, limits: Limits) -> None:
    """Judge ids: a key or an id that occurs twice in the input, and an id to insert that is committed already."""
    if rows.change.ids_are_fresh or not rows.row_count:
        return
    key = tuple(sorted(rows.target.key_columns))
    if key:
        found = repeated(rows.records({"key": "id"}), problems.limit, limits)
        report_repeated(problems, rows, key, found, constraint=spelled_rule("@key", key))
    elif rows.mode is not ChangeMode.UPSERT:
        found = repeated(rows.records({"key": "id"}), problems.limit, limits)
        report_taken(problems, rows, found, by="another record")
    if rows.mode is ChangeMode.INSERT and committed.row_count(rows.target):
        ids = rows.records({"key": "id"})
        found = taken(ids, [_committed_ids(rows, ids, committed)], problems.limit, limits)
        report_taken(problems, rows, found, by=f"a committed {rows.target.kind}")


def _committed_ids(rows: ChangedRows, ids: Rows, committed: CommittedRows) -> Rows:
    if not rows.is_few:
        return committed_rows(committed, rows.target, {"key": "id"})
    keys = ids.read_all()["key"].unique()
    return table_rows(rows.target, committed.lookup(rows.target, keys, columns=["id"]), {"key": "id"})


def check_unique(rows: ChangedRows, committed: CommittedRows, problems: ProblemLog, limits: Limits) -> None:
    """Judge every ``@unique`` of a type."""
    if not rows.row_count:
        return
    for columns in unique_tuples(rows.target):
        names = {f"k{index}": column for index, column in enumerate(columns)}
        found = repeated(rows.records(names), problems.limit, limits)
        report_repeated(problems, rows, columns, found, constraint=spelled_rule("@unique", columns))
        if rows.mode is ChangeMode.REPLACE or not committed.row_count(rows.target):
            continue
        _check_committed(rows, columns, committed, problems, limits)


def unique_tuples(target: TypeTable) -> list[tuple[str, ...]]:
    """The columns of each ``@unique``, without those that hold because the key does."""
    key = set(target.key_columns)
    rules = [rule.columns for rule in target.type.constraints if isinstance(rule, Unique)]
    return [columns for columns in rules if not key or not key <= set(columns)]


def _check_committed(
    rows: ChangedRows, columns: tuple[str, ...], committed: CommittedRows, problems: ProblemLog, limits: Limits
) -> None:
    names = {"id": "id"} | {f"k{index}": column for index, column in enumerate(columns)}
    ours = rows.final(names)
    if rows.is_few:
        # A key that cannot be found costs no request.
        numbers = ours.read_all()["row"]
        if not len(numbers):
            return
        plain = pa.Table.from_batches(rows.read(columns)).take(numbers)
        theirs = table_rows(rows.target, rows_like(committed, rows.target, columns, plain), names)
    else:
        theirs = committed_rows(committed, rows.target, names)
    replaced = rows.final({"key": "id"}) if rows.can_replace else None
    found = held(ours, theirs, replaced, problems.limit, limits)
    report_held(problems, rows, columns, found)
