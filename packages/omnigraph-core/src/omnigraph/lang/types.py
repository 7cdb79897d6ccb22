"""The types that both languages share, and which of them go together.

An enum is a String with a set of allowed values; a Vector has a dimension; a list holds scalars. Nullability is part of
a type, and plays no part in whether two types can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

MAX_VECTOR_DIMENSION: Final = 2_147_483_647


class Scalar(StrEnum):
    """The scalar types, spelled as in the languages."""

    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATETIME = "DateTime"
    DATE = "Date"
    VECTOR = "Vector"

    @property
    def is_integer(self) -> bool:
        return self in _INTEGERS

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_numeric(self) -> bool:
        return self in _INTEGERS or self in _FLOATS


_INTEGERS: Final = frozenset({Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})
_FLOATS: Final = frozenset({Scalar.F32, Scalar.F64})

SCALAR_NAMES: Final = {str(each): each for each in Scalar if each is not Scalar.VECTOR}
"""Spelling to scalar, without Vector, which needs a dimension."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a property, parameter or expression.

    Attributes:
        scalar: the type, or that of the items of a list.
        dimension: of a Vector, else None.
        enum_values: the allowed values of an enum, sorted; None when any String will do.
    """

    scalar: Scalar
    is_nullable: bool = False
    is_list: bool = False
    dimension: int | None = None
    enum_values: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.enum_values is not None:
            core = f"enum({', '.join(self.enum_values)})"
        elif self.scalar is Scalar.VECTOR:
            core = f"Vector({self.dimension})"
        else:
            core = str(self.scalar)
        if self.is_list:
            core = f"[{core}]"
        return f"{core}?" if self.is_nullable else core

    @property
    def is_plain_string(self) -> bool:
        """A scalar String; an enum is one too."""
        return self.scalar is Scalar.STRING and not self.is_list

    @property
    def is_numeric(self) -> bool:
        """A scalar number."""
        return self.scalar.is_numeric and not self.is_list

    @property
    def item(self) -> ValueType:
        """The type of the items of a list."""
        return replace(self, is_list=False, is_nullable=False)

    def with_nullable(self, is_nullable: bool) -> ValueType:
        return self if self.is_nullable == is_nullable else replace(self, is_nullable=is_nullable)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of schema contracts and migration steps."""
        return {
            "scalar": {"Vector": self.dimension} if self.scalar is Scalar.VECTOR else str(self.scalar),
            "nullable": self.is_nullable,
            "list": self.is_list,
            "enum_values": None if self.enum_values is None else list(self.enum_values),
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> ValueType:
        """The type whose ``to_dict`` this is."""
        scalar, enum_values = facts["scalar"], facts["enum_values"]
        is_vector = isinstance(scalar, dict)
        return cls(
            Scalar.VECTOR if is_vector else Scalar(scalar),
            is_nullable=facts["nullable"],
            is_list=facts["list"],
            dimension=scalar["Vector"] if is_vector else None,
            enum_values=None if enum_values is None else tuple(enum_values),
        )


def are_compatible(left: ValueType, right: ValueType) -> bool:
    """Whether values of the two can be compared or assigned: both lists or none, the same scalar or both numeric."""
    if left.is_list != right.is_list:
        return False
    if left.scalar is right.scalar:
        return left.dimension == right.dimension
    return left.scalar.is_numeric and right.scalar.is_numeric
