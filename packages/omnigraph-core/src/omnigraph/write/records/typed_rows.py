"""``TypedRows``: rows of one type in the logical Arrow schema of their table, each with the place it came from.

Every reader of input ends here: text, Python records and Arrow data. What is left to do for a row is to make the
vectors that it leaves out, to mint the id of a node without a key or of an edge, to judge the rules of the schema, and
to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import Property
from omnigraph.write.embedding import no_embedder, optional_vectors
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.ids import derive_ids
from omnigraph.write.records.numpy_views import Lines, Mask, Rows, true_rows
from omnigraph.write.records.reasons import Reason
from omnigraph.write.records.values import shown

_STORAGE: Final = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}
"""What Python integers are read as, where Arrow does not take them for the type itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedRows:
    """Rows of one type, in input order.

    Attributes:
        rows: exactly the columns of ``target.schema``; ``id`` is null where it is to be minted.
        lines: per row its 1-based line in a text, or its 1-based ordinal in an input without lines.
        source: the name of the file, or None.
        unmade: by property, the rows whose vector is left out and can be made from a text of the row; it is null yet.
            Only properties with such rows are here.
    """

    target: TypeTable
    rows: pa.RecordBatch
    lines: Lines
    source: str | None
    unmade: Mapping[str, Mask] = field(default_factory=dict)

    def cut(self, at_most: int) -> Iterator[TypedRows]:
        """The same rows in batches of at most so many; nothing is copied."""
        if self.rows.num_rows <= at_most:
            yield self
            return
        for start in range(0, self.rows.num_rows, at_most):
            part = slice(start, start + at_most)
            yield TypedRows(
                target=self.target,
                rows=self.rows.slice(start, at_most),
                lines=self.lines[part],
                source=self.source,
                unmade=only_true({name: mask[part] for name, mask in self.unmade.items()}),
            )


def only_true(masks: Mapping[str, Mask]) -> dict[str, Mask]:
    """The masks that are true for a row at least."""
    return {name: mask for name, mask in masks.items() if mask.any()}


def rows_within(target: TypeTable, limit: int) -> int:
    """How many rows of a type have no more than so many bytes of vectors, at least 1: null takes the space of one."""
    return max(1, limit // max(1, vector_bytes(target, target.schema.names)))


def vector_bytes(target: TypeTable, columns: Iterable[str]) -> int:
    """What the vectors among these columns take in each row."""
    types = (target.schema.field(name).type for name in columns)
    return sum(each.list_size * 4 for each in types if pa.types.is_fixed_size_list(each))


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


def stored_column(values: Sequence[Any], wanted: pa.DataType, of: ValueType) -> pa.Array:
    """A column of a property from values as ``values.converter_of`` makes them, null where there is none."""
    storage = _STORAGE.get(of.scalar)
    if storage is None:
        return pa.array(values, wanted)
    return pa.array(values, pa.list_(storage) if of.is_list else storage).cast(wanted)


def report_faults(
    faults: Sequence[Fault],
    problems: ProblemLog,
    *,
    target: TypeTable,
    lines: Lines,
    source: str | None,
    id_of: Callable[[int], str | None] = lambda _row: None,
) -> None:
    """Add what is wrong with rows to a log, in the order of rows; messages are made only for those that it keeps.

    ``id_of`` tells the id of a row where it can be known: rows of a frame have no other place.
    """
    found = [(int(row), fault) for fault in faults for row in fault.rows]
    found.sort(key=lambda each: each[0])
    full: set[str] = set()
    for row, fault in found:
        if fault.reason in full:
            problems.counts[fault.reason] += 1
            continue
        problem = Problem(
            reason=fault.reason,
            message=fault.tell(row),
            type_key=target.key,
            property=fault.property,
            id=id_of(row),
            source=source,
            line=int(lines[row]),
        )
        if not problems.add(problem):
            # Nor are those of its reason kept that come behind it.
            full.add(fault.reason)


def missing_text(target: TypeTable, owned: Property, *, is_null: bool) -> str:
    """What to say of a required property without a value: null, or left out and not to be made from a text."""
    text = f"non-nullable property '{owned.name}' of {target.name} is null"
    if not is_null:
        text = f"missing required property '{owned.name}' of {target.name}"
    if owned.embed is None:
        return text
    source = owned.embed.source
    if is_null:
        return f"{text}; give the vector, or leave it out to have it made from '{source}'"
    if owned.name not in optional_vectors(target):
        return f"{text}; {no_embedder(source)}"
    return f"{text}, and '{source}', which it is made from, has no text; give one of the two"


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
