"""How writes that were cut off read, and what was done about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rich.text import Text

from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, lines_of, moment_of
from omnigraph_cli.output.recovery_results import DiscardedResult, RecoveriesResult

if TYPE_CHECKING:
    from omnigraph import LoadLease, PendingWrite, Recovery

_STATES: Final = {"under_way": "under way", "cut_off": "cut off", "unknown": "unknown", "refused": "refused"}
_KINDS: Final = {
    "RolledForward": "rolled forward",
    "RolledBack": "rolled back",
    "OrphanedBranchDiscarded": "branch gone",
}
_WIDTH: Final = 2 + max(map(len, (*_STATES.values(), *_KINDS.values())))


@lines_of.register
def _(result: RecoveriesResult) -> Iterator[Line]:
    if not result.pending and not result.recoveries and not result.loads:
        yield Line(Text("nothing: ", GOOD), result.none)
    yield from _pending_lines(result.pending)
    yield from (_recovery_line(each) for each in result.recoveries)
    yield from (_load_line(each) for each in result.loads)


@lines_of.register
def _(result: DiscardedResult) -> Iterator[Line]:
    found = result.discarded
    yield Line(Text("discarded ", GOOD), f"{found.operation_id}: {found.reason}")
    yield from (Line(Text("moved to  ", DIM), each) for each in found.moved_to)


def recovery_words(recovery: Recovery) -> str:
    """``rolled forward 2026-02-01 10:30:00Z, operation 01K...``: what became of the write of a commit."""
    after = f", {_published_words(recovery)}" if recovery.published_version else ""
    return f"{_KINDS[recovery.kind]} {moment_of(recovery.created_at)}{after}, operation {recovery.operation_id}"


def _published_words(recovery: Recovery) -> str:
    return f"then published by its writer as manifest version {recovery.published_version}"


def _pending_lines(pending: Iterable[PendingWrite]) -> Iterator[Line]:
    for each in pending:
        head = Text.assemble(
            (f"{_STATES[each.state]:<{_WIDTH}}", BAD if each.state == "refused" else ""), (each.operation_id, "bold")
        )
        if each.state == "refused":
            yield Line(head, f"  {each.reason}")
        else:
            write = _write_words(each.writer_kind, each.branch, each.actor, each.graph_commit_id)
            yield Line(head, f"  {write}")


def _recovery_line(recovery: Recovery) -> Line:
    head = Text.assemble((f"{_KINDS[recovery.kind]:<{_WIDTH}}", GOOD), (recovery.operation_id, "bold"))
    write = _write_words(recovery.writer_kind, recovery.branch, recovery.recovery_for_actor, recovery.graph_commit_id)
    after = f"; {_published_words(recovery)}" if recovery.published_version else ""
    return Line(head, f"  {moment_of(recovery.created_at)}  {write}{after}")


def _load_line(load: LoadLease) -> Line:
    head = Text.assemble(f"{_STATES[load.state]:<{_WIDTH}}", (load.load_id, "bold"))
    return Line(head, f"  {moment_of(load.started_at)}  bulk load to {load.branch} of {', '.join(load.lines)}")


def _write_words(verb: str | None, branch: str | None, actor: str | None, commit: str | None) -> str:
    """``load to main by ann, commit 01K...``."""
    return f"{verb} to {branch}{f' by {actor}' if actor else ''}, commit {commit}"
