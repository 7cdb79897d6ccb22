"""The verbs of a graph that compare its states: ``diff``, and ``entity_at`` for one node or edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.cancellation import TimeLimit
from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.diff import Diff
from omnigraph.engine.entity_at import entity_at
from omnigraph.engine.reader import Reader
from omnigraph.history.lifetime import Lifetime
from omnigraph.history.repository import Repository, SnapshotLike
from omnigraph.history.snapshot import Snapshot


class Comparing:
    """What ``Graph`` can say of two of its states."""

    _repository: Repository
    _reader: Reader
    _lifetime: Lifetime

    def diff(
        self,
        a: SnapshotLike,
        b: SnapshotLike,
        *,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Diff:
        """What differs between two states, read as it is asked for.

        Args:
            a: the state to compare with: a branch or tag by name, a snapshot, a commit or its id, or a version of the
                manifest of main.
            b: the state to compare.
            kinds: only changes of these: ``node``, ``edge``.
            types: only changes of these types; ``node:Film`` and ``edge:Film`` tell types of one name apart.
            ops: only these: ``insert``, ``update``, ``delete``.
            deadline: seconds that this call may take, and each reading of the diff from its begin; None is no bound.

        Raises:
            NotFoundError: there is no such branch, commit, version or type.
            InvalidInputError: there are no such kinds or ops.
            DeadlineError: it took longer than ``deadline``; also raised while the diff is read.
        """
        with TimeLimit(deadline, "diff"), self._lifetime:
            wanted = ChangeFilter.of(kinds=kinds, types=types, ops=ops)
            before, after = self._state(a), self._state(b)
            return Diff(
                before,
                after,
                self._repository.tables,
                wanted,
                lifetime=self._lifetime,
                deadline=deadline,
                max_held_bytes=self._reader.settings.max_held_bytes,
            )

    def entity_at(self, type_name: str, id: str, at: SnapshotLike) -> dict[str, Any] | None:  # noqa: A002
        """One node or edge as it was at a state, as JSON values with its id, and its ends as ``from`` and ``to``.

        Raises:
            NotFoundError: there is no such type, branch, commit or version.
            InvalidInputError: the id is no text, or two types have this name.
        """
        with self._lifetime:
            return entity_at(self._state(at), self._repository.tables, type_name, id)

    def _state(self, name: SnapshotLike) -> Snapshot:
        return self._repository.snapshot_of(at=name)
