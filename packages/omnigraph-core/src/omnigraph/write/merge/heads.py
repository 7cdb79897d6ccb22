"""``MergeHeads``: the three states that a merge is about, each pinned, and what it is about of each type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.errors import ConflictError, InvalidInputError
from omnigraph.history.commits import Commit
from omnigraph.history.log import ManifestLog
from omnigraph.history.merged_history import parting_commit
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import TableEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeHeads:
    """Two branches and the commit at which they parted.

    Attributes:
        source: the log of the branch that is merged; it may move on meanwhile.
        target: the log of the branch that takes it in.
    """

    source: ManifestLog
    target: ManifestLog
    base: Commit

    @property
    def is_up_to_date(self) -> bool:
        """Whether the target has all of the source already."""
        return self.base.id == self.source.state.head.id

    @property
    def is_fast_forward(self) -> bool:
        """Whether the target did nothing since they parted."""
        return self.base.id == self.target.state.head.id


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeHeads:
    """One type of three states, which differs between base and source, and between source and target."""

    type: TypeTable
    base: TableEntry
    source: TableEntry
    target: TableEntry

    @property
    def is_untouched(self) -> bool:
        """Whether the target shows what the base did."""
        return self.base.pin == self.target.pin


def find_heads(source: ManifestLog, target: ManifestLog) -> MergeHeads:
    """Where two branches parted.

    Raises:
        ConflictError: they have no commit in common.
    """
    base = parting_commit(source, target)
    if base is None:
        raise ConflictError(
            f"{source.branch.name} and {target.branch.name} have no commit in common that is still known.",
            help="Export one of them, and load it into the other.",
            details={"source": source.branch.name, "branch": target.branch.name},
        )
    return MergeHeads(source=source, target=target, base=base)


def differing_types(repository: Repository, heads: MergeHeads) -> Iterator[TypeHeads]:
    """The types that the source changed, in the order of table keys; types that all three pin alike cost nothing.

    Raises:
        ConflictError: the schema of one is not that of the others.
        NotFoundError: the state of the base was reclaimed.
    """
    states = [repository.snapshot(each) for each in (repository.at_commit(heads.base), heads.source, heads.target)]
    _refuse_other_schemas(heads, states)
    for _, target in sorted(states[0].schema.tables.items()):
        base, source, own = (each.entry(target) for each in states)
        if source.pin not in (base.pin, own.pin):
            yield TypeHeads(type=target, base=base, source=source, target=own)


def refuse_itself(source: str, into: str) -> None:
    """Raise when a branch is to be merged into itself.

    Raises:
        InvalidInputError: it is.
    """
    if source == into:
        raise InvalidInputError(f"{source} cannot be merged into itself.", help="Name another branch.")


def _refuse_other_schemas(heads: MergeHeads, states: list[Snapshot]) -> None:
    if len({each.schema.digest for each in states}) > 1:
        raise ConflictError(
            f"{heads.source.branch.name} and {heads.target.branch.name} have different schemas.",
            help="Apply the same schema to both, then merge.",
            details={"source": heads.source.branch.name, "branch": heads.target.branch.name},
        )
