"""Makes frozen dataclasses at the price of ordinary ones.

A frozen dataclass goes around its own lock once for every field, which costs three times what an ordinary assignment
does, and a parser makes little else than such objects. ``constructor_of`` fills an object of an open twin class with
the same slots, and then declares it to be of the frozen class. What comes out cannot be told from what the class makes.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def constructor_of(cls: type[T]) -> type[T]:
    """Something to call instead of a frozen, slotted dataclass; it takes every field, in order, and no keywords.

    Only for classes without defaults that must be filled in and without ``__post_init__``.
    """
    names = [each.name for each in fields(cls)]  # type: ignore[arg-type]
    twin = type(cls.__name__, (), {"__slots__": tuple(names)})
    lines = [
        f"def construct({', '.join(names)}):",
        "    made = new(twin)",
        *(f"    made.{name} = {name}" for name in names),
        "    made.__class__ = cls",
        "    return made",
    ]
    scope: dict[str, Any] = {"new": object.__new__, "twin": twin, "cls": cls}
    exec("\n".join(lines), scope)  # noqa: S102 - dataclasses makes constructors the same way; names are our own
    made: type[T] = scope["construct"]
    return made
