"""``NodeScan``: the nodes of a type for which conditions hold, by ascending id.

Where the type is held in memory, conditions are judged there; one that names a whole key is answered by a look-up.
Otherwise storage sieves by what can be pushed down, only the columns that somebody reads come back, and the engine
judges the rest batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.entities import ABSENT, Entities, HeldRows, Positions
from omnigraph.engine.execution import Execution, label
from omnigraph.engine.frame import Bound, Frame
from omnigraph.engine.images import LARGE, Image
from omnigraph.engine.predicates import holds
from omnigraph.engine.pushdown import Fixed, as_fixed, describe_sieve, lossless, push_down
from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import NodeScan, Predicate
from omnigraph.plan.tree import properties_of
from omnigraph.query.ast import Operator
from omnigraph.schema.ids import KeyValue, spell_id

_SPELLED: Final = frozenset(
    {Scalar.STRING, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.DATE, Scalar.DATETIME}
)
"""Key types whose values have one spelling that a given value tells; floats may be equal and spelled differently."""


def scan_nodes(operator: NodeScan, execution: Execution) -> Frame:
    """One row per node, in the order of ids."""
    target = execution.source.schema.node(operator.type_name)
    named = _named_node(target, operator.predicates, execution)
    is_selective = named is not None or _is_indexed(operator, execution)
    image = execution.source.image(
        target.key,
        # Of a node that is named by its key everything is read for one row only.
        columns=() if named is not None else _columns((), operator.predicates),
        shown=() if is_selective else operator.columns,
        is_selective=is_selective,
    )
    if image is not None:
        execution.note(operator, read="from memory")
        return _scan_image(operator, image, named, execution)
    return _scan_stored(operator, target, execution)


def _scan_image(operator: NodeScan, image: Image, named: _Named | None, execution: Execution) -> Frame:
    positions: Positions
    if named is None:
        positions, judged = np.arange(len(image), dtype=np.int64), operator.predicates
    else:
        found = image.find_one(named.id)
        positions = np.array([] if found == ABSENT else [found], dtype=np.int64)
        judged = named.others
    frame = _frame(operator.variable, image, positions)
    return frame.filter(holds(judged, frame, execution)) if judged and frame.row_count else frame


def _scan_stored(operator: NodeScan, target: TypeTable, execution: Execution) -> Frame:
    pushed = push_down(operator.predicates, execution)
    wanted = _columns(operator.columns, pushed.residual)
    execution.note(
        operator, read="from storage", filter=describe_sieve(target.key, pushed, execution) or "reads every node"
    )
    name, spending = label(operator), execution.spending
    kept: list[pa.Table] = []
    rows = size = 0
    source = execution.source
    with source.tables.read(source.handle(target.key), columns=wanted, predicate=pushed.sieve) as reader:
        for batch in reader:
            found = pa.Table.from_batches([batch])
            if pushed.residual:
                found = _judged(operator.variable, target.key, found, pushed.residual, execution)
            rows, size = rows + found.num_rows, size + found.nbytes
            spending.check_rows(name, rows)
            spending.check_bytes(name, size)
            kept.append(found)
        schema = reader.schema
    entities = HeldRows(target.key, pa.concat_tables(kept) if kept else schema.empty_table())
    return _frame(operator.variable, entities, np.arange(len(entities), dtype=np.int64))


def _judged(variable: str, key: str, rows: pa.Table, predicates: Sequence[Predicate], execution: Execution) -> pa.Table:
    entities = HeldRows(key, rows)
    everything = np.arange(len(entities), dtype=np.int64)
    mask = holds(predicates, _frame(variable, entities, everything), execution)
    return entities.rows.filter(pa.array(mask))


def _frame(variable: str, entities: Entities, positions: Positions) -> Frame:
    return Frame(row_count=len(positions), bound={variable: Bound(entities, positions)})


def _columns(wanted: Sequence[str], judged_by: Sequence[Predicate]) -> list[str]:
    judged = (ref.property for each in judged_by for ref in properties_of(each))
    return list(dict.fromkeys(("id", *wanted, *judged)))


@dataclass(frozen=True, slots=True)
class _Named:
    """A node that conditions name by saying its whole key, and the conditions that they are not."""

    id: str
    others: tuple[Predicate, ...]


def _named_node(target: TypeTable, predicates: Sequence[Predicate], execution: Execution) -> _Named | None:
    """The node of which conditions say the whole key; None when they do not."""
    said: dict[str, tuple[Predicate, Fixed]] = {}
    for each in predicates:
        fixed = as_fixed(each)
        if fixed is not None and fixed.operator is Operator.EQ:
            said.setdefault(fixed.field.property, (each, fixed))
    if not target.key_columns or not said.keys() >= set(target.key_columns):
        return None
    members: list[tuple[KeyValue, ValueType]] = []
    for name in target.key_columns:
        declared = said[name][1].field.type
        value = execution.given(said[name][1].value)
        if declared.scalar not in _SPELLED or isinstance(value, bool) or not isinstance(value, str | int):
            return None
        members.append((value, declared))
    # Who has the id that a key spells has the key. A second condition on the same column may say another one.
    used = {id(said[name][0]) for name in target.key_columns}
    return _Named(spell_id(members), tuple(each for each in predicates if id(each) not in used))


def _is_indexed(operator: NodeScan, execution: Execution) -> bool:
    """Whether storage can find the rows of an equality without reading the type; a small type is read anyway."""
    source = execution.source
    key = source.schema.node(operator.type_name).key
    if source.row_count(key) <= LARGE:
        return False
    for each in map(as_fixed, operator.predicates):
        if each is None or each.operator is not Operator.EQ:
            continue
        value = execution.given(each.value)
        if value is not None and lossless(value, each.field.type) is None:
            continue
        covered = source.coverage(key, each.field.property, "btree")
        if covered is not None and covered.uncovered_rows <= covered.covered_rows:
            return True
    return False
