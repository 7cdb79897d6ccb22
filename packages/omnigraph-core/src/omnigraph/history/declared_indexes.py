"""Which indexes a type is to have, by what its schema says; the one place that decides, for builders and for reports.

    every node type                         btree on id
    every edge type                         btree on id, src, dst
    @key or @index on one property:
        enum, number, Bool, Date, DateTime  btree
        other String                        inverted for search, and a btree for equality and prefixes
        Vector                              vector, by cosine distance
        list, Blob                          none

Names are made of stable property numbers, so that a rename does not orphan an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import Index, Key
from omnigraph.tables.interface import IndexSpec

BTREE: Final = "btree"
INVERTED: Final = "inverted"
VECTOR: Final = "vector"


def declared_indexes(target: TypeTable) -> tuple[IndexSpec, ...]:
    """The indexes of a type: those on its own columns first, then by property."""
    return (*_own(target), *_declared(target)) if target.kind == "node" else tuple(_own(target))


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
        for kind in kinds_of(target.type.by_name[column].type):
            yield IndexSpec(column=column, kind=kind, name=f"p{numbers[column]}_{kind}")
