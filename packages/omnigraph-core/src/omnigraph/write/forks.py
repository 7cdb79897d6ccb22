"""``Forks``: on which line of a table one write builds, so that branches never write into each other's lines.

    the branch owns the line of the pin      on the pin itself
    the line is somebody else's              on a fork of the pin, made now, that no other operation ever uses

A branch shares all tables with its parent until it writes to one. A fork copies no rows and keeps the number of the
version and the addresses of all rows. A write that fails leaves its forks behind: nothing names them, and garbage
collection removes them. Nobody else does, because a writer that was only stopped may still publish on its own.
"""

from __future__ import annotations

from omnigraph import failpoints
from omnigraph.failpoints import reach
from omnigraph.history.branches import BranchRef
from omnigraph.history.repository import Repository
from omnigraph.history.ulids import new_ulid
from omnigraph.tables.interface import TablePin, TableStorage, WrittenRows


class Forks:
    """The forks of one write, made when they are first needed. Not shared between threads."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._made: dict[TablePin, TablePin] = {}

    def base_of(self, branch: BranchRef, pin: TablePin) -> TablePin:
        """The version that a write to the branch builds on, where the branch shows ``pin``: the same rows.

        Raises:
            StorageError: the fork could not be made.
        """
        if branch.owns(pin):
            return pin
        if pin not in self._made:
            tables = self._repository.tables
            fork = tables.fork(tables.open_at(pin), branch.fork_name(new_ulid()))
            tables.sync_committed([fork])
            self._made[pin] = fork.pin
            reach(failpoints.MUTATION_POST_FORK_PRE_COMMIT)
        return self._made[pin]

    def know(self, pin: TablePin, fork: TablePin) -> None:
        """Take over a fork of a version that another part of the same write made."""
        if fork != pin:
            self._made[pin] = fork

    def forget(self) -> None:
        """Nothing that was made may be counted on."""
        self._made.clear()


def on_line(tables: TableStorage, written: tuple[WrittenRows, ...], base: TablePin) -> tuple[WrittenRows, ...]:
    """Rows in files below the line of a version; those that lie below another one are written again.

    They do when another write to the same branch forked the table first.
    """
    return tuple(
        each
        if (each.location, each.branch) == (base.location, base.branch)
        else tables.write_rows(base, reader := tables.read_written(each), schema=reader.schema)
        for each in written
    )
