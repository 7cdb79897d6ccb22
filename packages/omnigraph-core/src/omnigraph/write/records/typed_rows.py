"""``TypedRows``: rows of one type in the logical Arrow schema of their table, each with the place it came from.

Every reader of input ends here: text, Python records and Arrow data. What is left to do for a row is to mint the id of
a node without a key or of an edge, to judge the rules of the schema, and to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.schema import Property
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.ids import derive_ids
from omnigraph.write.records.numpy_views import Lines, Rows, true_rows
from omnigraph.write.records.reasons import Reason
from omnigraph.write.records.values import shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedRows:
    """Rows of one type, in input order.

    Attributes:
        rows: exactly the columns of ``target.schema``; ``id`` is null where it is to be minted.
        lines: per row its 1-based line in a text, or its 1-based ordinal in an input without lines.
        source: the name of the file, or None.
    """

    target: TypeTable
    rows: pa.RecordBatch
    lines: Lines
    source: str | None

    def cut(self, at_most: int) -> Iterator[TypedRows]:
        """The same rows in batches of at most so many; nothing is copied."""
        if self.rows.num_rows <= at_most:
            yield self
            return
        for start in range(0, self.rows.num_rows, at_most):
            yield TypedRows(
                target=self.target,
                rows=self.rows.slice(start, at_most),
                lines=self.lines[start : start + at_most],
                source=self.source,
            )


@dataclass(frozen=True, slots=True)
class Fault:
    """The same thing wrong with some rows.

    Attributes:
        tell: for one of them, what is wrong, in full.
        property: the property concerned.
    """

    rows: Rows
    reason: Reason
    tell: Callable[[int], str]
    property: str


def check_given_ids(target: TypeTable, columns: Mapping[str, pa.Array], ids: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """The ids of rows: derived from the key where there is one, otherwise those that were given, null included.

    Args:
        target: the type.
        columns: its properties, as they are stored.
        ids: what the input says, null where it says nothing.
    """
    if not target.key_columns:
        return ids, []
    derived = derive_ids(target, columns)
    if ids.null_count == len(ids):
        return derived, []
    wrong = true_rows(pc.not_equal(ids, derived))
    if not len(wrong):
        return derived, []

    def tell(row: int) -> str:
        key = ", ".join(target.key_columns)
        return (
            f"{target.name}.id is {shown(ids[row].as_py())}, but the key ({key}) makes it {shown(derived[row].as_py())}"
        )

    return derived, [Fault(wrong, Reason.ID_MISMATCH, tell, "id")]


def batch_of(target: TypeTable, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """A batch with the schema of the type, from its columns by name."""
    return pa.RecordBatch.from_arrays([columns[name] for name in target.schema.names], schema=target.schema)


def report_faults(
    faults: Sequence[Fault], problems: ProblemLog, *, target: TypeTable, lines: Lines, source: str | None
) -> None:
    """Add what is wrong with rows to a log, in the order of rows; messages are made only for those that it keeps."""
    found = [(int(row), fault) for fault in faults for row in fault.rows]
    found.sort(key=lambda each: each[0])
    room = max(0, problems.limit - len(problems.kept))
    for row, fault in found[:room]:
        problems.add(
            Problem(
                reason=fault.reason,
                message=fault.tell(row),
                type_key=target.key,
                property=fault.property,
                source=source,
                line=int(lines[row]),
            )
        )
    for _, fault in found[room:]:
        problems.add(Problem(reason=fault.reason, message=""))


def missing_text(target: TypeTable, owned: Property, *, is_null: bool) -> str:
    """What to say of a required property without a value."""
    text = f"non-nullable property '{owned.name}' of {target.name} is null"
    if not is_null:
        text = f"missing required property '{owned.name}' of {target.name}"
    if owned.embed is not None:
        text += f"; a load does not make it from '{owned.embed.source}': give the vector"
    return text


def describe(target: TypeTable, name: str, text: str) -> str:
    """What is wrong with a property, in full."""
    return f"{target.name}.{name} {text}"


def shown_at(values: pa.Array, row: int) -> str:
    """One value of a column, for messages."""
    scalar = values[row]
    try:
        value: Any = scalar.as_py()
    except (ValueError, OverflowError):
        # Python's dates end at year 9999; the number behind one does not.
        value = scalar.value
    return shown(value)
