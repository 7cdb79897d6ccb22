"""``ChangeFilter``: which changes of a graph are asked for, checked and in one spelling.

Diffs and the change feed take the same three: kinds, types and operations; None is all of them, an empty list nothing.
Two filters that ask for the same in the same words are equal, however the words were ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.engine.row_changes import OPS
from omnigraph.engine.type_names import check_names
from omnigraph.errors import InvalidInputError

KINDS: Final = ("node", "edge")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """What changes have to be to be shown.

    Attributes:
        kinds: of the changed entities, in the order of ``KINDS``.
        types: names as users write them, see ``type_names``, in ascending order.
        ops: what happened to them, in the order of ``OPS``.
    """

    kinds: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    ops: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        *,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
    ) -> ChangeFilter:
        """The filter of these words; whether there are such types is for a schema to say.

        Raises:
            InvalidInputError: they are no lists, or have words that mean nothing.
        """
        if types is not None:
            check_names(types)
        return cls(
            kinds=_chosen(kinds, KINDS, "kinds"),
            types=None if types is None else tuple(sorted(set(types))),
            ops=_chosen(ops, OPS, "ops"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; null where there is no bound."""
        return {
            name: None if words is None else list(words)
            for name, words in (("kinds", self.kinds), ("types", self.types), ("ops", self.ops))
        }


def _chosen(words: Sequence[str] | None, valid: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    if words is None:
        return None
    spelled = ", ".join(f'"{each}"' for each in valid)
    if isinstance(words, str) or not all(isinstance(each, str) for each in words):
        raise InvalidInputError(
            f"{words!r} is no list of {name}.", help=f"Write a list with some of {spelled}.", details={name: str(words)}
        )
    wrong = [each for each in words if each not in valid]
    if wrong:
        raise InvalidInputError(
            f'"{wrong[0]}" is none of the {name} of changes.',
            help=f"There are {spelled}.",
            details={name: wrong[0], "valid": list(valid)},
        )
    return tuple(each for each in valid if each in words)
