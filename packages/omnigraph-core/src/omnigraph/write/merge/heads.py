"""``MergeHeads``: the three states that a merge is about, each pinned, and what it is about of each type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.errors import ConflictError, InvalidInputError
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import merge_bases
from omnigraph.history.log import ManifestLog
from omnigraph.history.merged_history import parting_commits
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import TableEntry
from omnigraph.tables.interface import TablePin


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Another last common commit of two branches, and where it parted from the base."""

    other: Commit
    root: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeHeads:
    """Two branches and the commit at which they parted.

    Attributes:
        source: the log of the branch that is merged; it may move on meanwhile.
        target: the log of the branch that takes it in.
        crossings: other last commits that both have, where they merged each other.
    """

    source: ManifestLog
    target: ManifestLog
    base: Commit
    crossings: tuple[Crossing, ...] = ()

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
    """One type of three states, which differs between base and source, and between source and target.

    Attributes:
        crossings: pins in other last common commits, and where these parted from the base; see ``virtual_base``.
    """

    type: TypeTable
    base: TableEntry
    source: TableEntry
    target: TableEntry
    crossings: tuple[TypeCrossing, ...] = ()

    @property
    def is_untouched(self) -> bool:
        """Whether the target shows what the base did, and nothing else is a base."""
        return self.base.pin == self.target.pin and not self.crossings


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCrossing:
    """One type in another last common commit, where it is not as in the base."""

    other: TablePin
    root: TablePin


def find_heads(source: ManifestLog, target: ManifestLog) -> MergeHeads:
    """Where two branches parted.

    Raises:
        ConflictError: they have no commit in common.
    """
    bases = parting_commits(source, target)
    if not bases:
        raise ConflictError(
            f"{source.branch.name} and {target.branch.name} have no commit in common that is still known.",
            help="Export one of them, and load it into the other.",
            details={"source": source.branch.name, "branch": target.branch.name},
        )
    return MergeHeads(source=source, target=target, base=bases[0], crossings=_crossings(source, target, bases))


def _crossings(source: ManifestLog, target: ManifestLog, bases: tuple[Commit, ...]) -> tuple[Crossing, ...]:
    if len(bases) == 1:
        return ()
    everything = {**target.lineage(), **source.lineage()}
    roots = (merge_bases(bases[0].id, each.id, everything) for each in bases[1:])
    # All commits of a graph descend from its first one, so there is a root unless history was reclaimed.
    return tuple(Crossing(other=each, root=root[0]) for each, root in zip(bases[1:], roots, strict=True) if root)


def differing_types(repository: Repository, heads: MergeHeads) -> Iterator[TypeHeads]:
    """The types that the source changed, in the order of table keys; types that all three pin alike cost nothing.

    Raises:
        ConflictError: the schema of one is not that of the others.
        NotFoundError: the state of the base was reclaimed.
    """
    states = [repository.snapshot(each) for each in (repository.at_commit(heads.base), heads.source, heads.target)]
    crossed = [
        tuple(repository.snapshot(repository.at_commit(each)) for each in (crossing.other, crossing.root))
        for crossing in heads.crossings
    ]
    _refuse_other_schemas(heads, [*states, *(each for pair in crossed for each in pair)])
    for _, target in sorted(states[0].schema.tables.items()):
        base, source, own = (each.entry(target) for each in states)
        pins = [(other.entry(target).pin, root.entry(target).pin) for other, root in crossed]
        crossings = tuple(TypeCrossing(other=other, root=root) for other, root in pins if other != base.pin)
        if source.pin != own.pin and (crossings or source.pin != base.pin):
            yield TypeHeads(type=target, base=base, source=source, target=own, crossings=crossings)


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
