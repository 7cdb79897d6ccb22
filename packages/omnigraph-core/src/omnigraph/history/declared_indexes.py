"""Which indexes a type is to have, by what its schema says; the one place that decides, for builders and for reports.

    every node type                         btree on id
    every edge type                         btree on id, src, dst
    @key or @index on one property:
        enum, number, Bool, Date, DateTime  btree
        other String                        inverted for search, and a btree for equality and prefixes
        Vector                              vector, by cosine distance
        list, Blob                          none
    @index on several properties            none; what asks for it says so

Names are made of stable property numbers, so that a rename does not orphan an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import Index, Key
from omnigraph.tables.interface import IndexSpec

BTREE: Final = "btree"
INVERTED: Final = "inverted"
VECTOR: Final = "vector"
COMPOSITE: Final = "composite"

_SEVERAL: Final = "an index on several properties is not built; declare @index on each of them"
_LIST: Final = "an index on a list is not built"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnbuiltIndex:
    """An index that a schema declares and that is not built, whatever the data.

    Attributes:
        property: one, or several with commas between them.
        kind: ``composite``, or what it would be.
    """

    property: str
    kind: str
    reason: str


def declared_indexes(target: TypeTable) -> tuple[IndexSpec, ...]:
    """The indexes of a type: those on its own columns first, then by property."""
    own = tuple(_own(target))
    # An edge type may ask for an index on an end, which it has anyway.
    return (*own, *(each for each in _declared(target) if each.column not in {each.column for each in own}))


def unbuilt_indexes(target: TypeTable) -> tuple[UnbuiltIndex, ...]:
    """What the schema declares with ``@index`` and no release builds yet, by property."""
    found = []
    for each in target.type.constraints:
        if not isinstance(each, Index):
            continue
        if len(each.columns) > 1:
            found.append(UnbuiltIndex(property=", ".join(each.columns), kind=COMPOSITE, reason=_SEVERAL))
        elif each.columns[0] in target.type.by_name and target.type.by_name[each.columns[0]].type.is_list:
            found.append(UnbuiltIndex(property=each.columns[0], kind=BTREE, reason=_LIST))
    return tuple(sorted(found, key=lambda each: each.property.encode()))


def kinds_of(declared: ValueType) -> tuple[str, ...]:
    """The kinds of index that a property of this type gets when it is declared as indexed."""
    if declared.is_list or declared.scalar is Scalar.BLOB:
        return ()
    if declared.scalar is Scalar.VECTOR:
        return (VECTOR,)
    if declared.scalar is Scalar.STRING and declared.enum_values is None:
        return (BTREE, INVERTED)
    return (BTREE,)


def _own(target: TypeTable) -> Iterator[IndexSpec]:
    for column in ("id",) if target.kind == "node" else ("id", "src", "dst"):
        yield IndexSpec(column=column, kind=BTREE, name=f"{column}_{BTREE}")


def _declared(target: TypeTable) -> Iterator[IndexSpec]:
    numbers = {each.name: each.property_id for each in target.ir.properties}
    columns = {
        each.columns[0] for each in target.type.constraints if isinstance(each, Key | Index) and len(each.columns) == 1
    }
    for column in sorted(columns, key=str.encode):
        # The ends of an edge are no properties, and have their indexes.
        declared = target.type.by_name.get(column)
        for kind in () if declared is None else kinds_of(declared.type):
            yield IndexSpec(column=column, kind=kind, name=f"p{numbers[column]}_{kind}")
