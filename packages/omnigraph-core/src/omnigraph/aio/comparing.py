"""``AsyncDiff``: what differs between two moments, awaited. What its members give is said by ``Diff``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.aio.handle import Ask
    from omnigraph.engine.change_filter import ChangeFilter
    from omnigraph.engine.diff import Change, Diff, DiffSummary
    from omnigraph.history.commits import Commit

FETCHED_CHANGES: Final = 1_000
"""How many changes are fetched at a time."""


class AsyncDiff:
    """A diff whose reading is awaited; iterate with ``async for``."""

    def __init__(self, diff: Diff, ask: Ask) -> None:
        self._diff = diff
        self._ask = ask

    @property
    def from_commit(self) -> Commit:
        """What is compared with."""
        return self._diff.from_commit

    @property
    def to_commit(self) -> Commit:
        """What is compared."""
        return self._diff.to_commit

    @property
    def filter(self) -> ChangeFilter:
        """Which changes are shown."""
        return self._diff.filter

    async def __aiter__(self) -> AsyncIterator[Change]:
        changes = iter(self._diff)
        while fetched := await self._ask(lambda _: [*islice(changes, FETCHED_CHANGES)]):
            for change in fetched:
                yield change

    async def summary(self) -> DiffSummary:
        """As ``Diff.summary``."""
        return await self._ask(lambda _: self._diff.summary())

    async def to_arrow(self) -> pa.Table:
        """As ``Diff.to_arrow``."""
        return await self._ask(lambda _: self._diff.to_arrow())

    def about(self) -> dict[str, Any]:
        """As ``Diff.about``."""
        return self._diff.about()

    async def to_dict(self) -> dict[str, Any]:
        """As ``Diff.to_dict``."""
        return await self._ask(lambda _: self._diff.to_dict())
