"""``WantedChanges``: a filter of changes, fixed to the types that a schema has, and a digest that tells it from others.

Types are kept by identity. So a cursor that was made with a filter goes on meaning the same types when one of them is
renamed, and ``["Film"]`` and ``["node:Film"]`` are one filter where only a node type has that name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from omnigraph.engine.change_filter import KINDS, ChangeFilter
from omnigraph.engine.row_changes import OPS
from omnigraph.engine.type_names import select_types
from omnigraph.history.schemas import TypeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChanges:
    """Changes of these kinds, types and operations.

    Attributes:
        types: kind and identity of each; None for all that there are or will be.
    """

    kinds: tuple[str, ...] = KINDS
    types: frozenset[tuple[str, int, int]] | None = None
    ops: tuple[str, ...] = OPS

    @classmethod
    def of(cls, declared: Mapping[str, TypeTable], words: ChangeFilter) -> Self:
        """What a filter means where these types are declared.

        Raises:
            NotFoundError: there is no such type.
        """
        chosen = None if words.types is None else select_types(declared, words.types)
        return cls(
            kinds=KINDS if words.kinds is None else words.kinds,
            types=None if chosen is None else frozenset((each.kind, *each.identity) for each in chosen),
            ops=OPS if words.ops is None else words.ops,
        )

    @property
    def digest(self) -> str:
        """The same for filters that mean the same."""
        facts = [self.kinds, None if self.types is None else sorted(self.types), self.ops]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def takes(self, target: TypeTable) -> bool:
        """Whether changes of a type may be wanted."""
        return target.kind in self.kinds and (self.types is None or (target.kind, *target.identity) in self.types)
