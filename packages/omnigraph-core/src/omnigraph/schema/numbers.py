"""How numbers of types, properties and tables are made.

``identity`` gives numbers out, ``ir_checking`` refuses those that cannot be. The number of a type or property is a
counter in the upper 32 bits and, in the lower 31, the first bits of the SHA-256 of ``owner/kind/name`` in UTF-8:
``0/node/Film``, ``2942850754/property/title``. Two branches of one graph count on from the same counter. They give
different things different numbers because of the hash, and the same thing the same number.

The owner of a property is the number of its type, not the name, so a rename before plays no part. A type has the owner
0, because numbers mean something within one graph only. Stored numbers are never computed again, but two releases that
write to two branches must agree: this form never changes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Final, Literal

from omnigraph.errors import ResourceLimitError
from omnigraph.schema.ir_types import TypeKind

HASH_BITS: Final = 31
MAX_COUNTER: Final = 2**32 - 1
"""The last counter: numbers stay below 2^63, so that they fit what holds signed numbers of 64 bits."""

MAX_NUMBER: Final = 2**63 - 1

NO_OWNER: Final = 0
"""The owner of a type."""

Incarnations = Callable[[], int]
"""Gives the incarnation of one table more, from 1 to ``MAX_NUMBER``."""


def number_of(counter: int, *, owner: int, kind: TypeKind | Literal["property"], name: str) -> int:
    """The number of a new type or property; the owner is the number of the property's type, or ``NO_OWNER``."""
    digest = hashlib.sha256(f"{owner}/{kind}/{name}".encode()).digest()
    return counter << HASH_BITS | int.from_bytes(digest[:4], "big") >> 1


def counter_of(number: int) -> int:
    """The counter from which a number was made."""
    return number >> HASH_BITS


def random_incarnation() -> int:
    """The incarnation of a new table: 63 random bits, not all zero, so that no other table has it."""
    return secrets.randbelow(MAX_NUMBER) + 1


class Counter:
    """The counter of a schema, which only grows.

    Attributes:
        next: what the next new thing gets; one more than ``MAX_COUNTER`` when nothing is left.
    """

    def __init__(self, first: int) -> None:
        self.next = first

    def take(self) -> int:
        """The next one.

        Raises:
            ResourceLimitError: ``schema_numbers``, nothing is left.
        """
        if self.next > MAX_COUNTER:
            raise ResourceLimitError(
                f"The schema of a graph can add {MAX_COUNTER} types and properties over its whole life, and no more.",
                resource="schema_numbers",
                limit=MAX_COUNTER,
                actual=self.next,
                help="Nothing was changed. Export the graph and load it into a new one, which counts from 1.",
            )
        self.next += 1
        return self.next - 1
