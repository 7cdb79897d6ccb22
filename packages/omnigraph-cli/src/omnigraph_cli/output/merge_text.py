"""How the result of a merge reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rich.text import Text

from omnigraph_cli.output.changes import change_line, counted_changes
from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, counted, lines_of
from omnigraph_cli.output.merge_results import MergedResult

SHOWN_CHANGES: Final = 100
"""How many changes of a dry run a person is shown; the JSON has all of them."""

_OUTCOMES: Final = {
    "already_up_to_date": "nothing to merge: ",
    "fast_forward": "fast-forwarded ",
    "merged": "merged ",
}


@lines_of.register
def _(result: MergedResult) -> Iterator[Line]:
    done = result.merge
    if done.outcome == "already_up_to_date":
        yield Line(Text(_OUTCOMES[done.outcome], GOOD), f"{done.into} has all of {done.source} already")
    elif result.is_dry_run:
        yield from _dry_run(result)
    else:
        yield Line(Text(_OUTCOMES[done.outcome], GOOD), f"{done.source} into {done.into} of {result.uri}")
        if done.resolved:
            yield Line(Text("decided ", DIM), counted(done.resolved, "conflict"))
    if done.commit is not None:
        yield Line(Text("commit ", DIM), done.commit.id)
    if done.branch_deleted:
        yield Line(Text("deleted ", DIM), f"branch {done.source}")
    if done.branch_delete_error is not None:
        yield Line(Text("not deleted: ", BAD), done.branch_delete_error)


def _dry_run(result: MergedResult) -> Iterator[Line]:
    from omnigraph import Change

    facts = result.to_dict()
    done, changes = result.merge, [Change(**each) for each in facts["changes"]]
    how = "would be fast-forwarded" if done.outcome == "fast_forward" else "would be merged"
    yield Line(Text("dry run: ", GOOD), f"{done.source} {how} into {done.into} of {result.uri}")
    yield from (Line(Text(change_line(each))) for each in changes[:SHOWN_CHANGES])
    if len(changes) > SHOWN_CHANGES:
        yield Line(Text(f"and {len(changes) - SHOWN_CHANGES:,} more", DIM))
    yield Line(Text(counted_changes(Counter(each.op for each in changes))))
    if done.resolved:
        yield Line(Text("decided ", DIM), counted(done.resolved, "conflict"))
    for conflict in done.conflicts:
        yield Line(Text("conflict ", BAD), str(conflict))
