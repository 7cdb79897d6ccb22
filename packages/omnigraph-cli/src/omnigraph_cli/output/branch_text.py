"""How results of the verbs on branches read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from omnigraph_cli.output.branch_results import BranchesResult, BranchResult, DeletedBranchResult
from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, lines_of, moment_of, row


@lines_of.register
def _(result: BranchResult) -> Iterator[Line]:
    branch = result.branch
    if result.is_new:
        yield Line(Text("created ", GOOD), f"branch {branch.name} of {result.uri}")
        yield Line(Text("commit  ", DIM), branch.head or "")
        return
    facts = {
        "branch": branch.name,
        "head": branch.head,
        "base": branch.base_commit,
        "created": None if branch.created_at is None else moment_of(branch.created_at),
    }
    yield from (row(name, value, indent=0, width=9) for name, value in facts.items() if value is not None)


@lines_of.register
def _(result: BranchesResult) -> Iterator[Line]:
    width = max((len(each.name) for each in result.branches), default=0)
    for each in result.branches:
        since = "" if each.created_at is None else f"  {moment_of(each.created_at)}"
        name = Text(f"{each.name:<{width}}", "bold")
        if each.problem is None:
            yield Line(name, f"  {each.head}{since}")
        else:
            yield Line(name, f"  {each.problem}", BAD)


@lines_of.register
def _(result: DeletedBranchResult) -> Iterator[Line]:
    yield Line(Text("deleted ", GOOD), f"branch {result.name} of {result.uri}")
    if result.head is not None:
        yield Line(Text("it was  ", DIM), result.head)
