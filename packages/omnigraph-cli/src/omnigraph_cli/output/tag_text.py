"""How results of the verbs on tags read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from omnigraph_cli.output.lines import DIM, GOOD, Line, lines_of, moment_of
from omnigraph_cli.output.tag_results import DeletedTagResult, TagResult, TagsResult


@lines_of.register
def _(result: TagResult) -> Iterator[Line]:
    yield Line(Text("tagged ", GOOD), f"{result.tag.name} of {result.uri}")
    yield Line(Text("commit ", DIM), result.tag.commit_id)


@lines_of.register
def _(result: TagsResult) -> Iterator[Line]:
    if not result.tags:
        yield Line(Text("no tags", DIM))
    width = max((len(each.name) for each in result.tags), default=0)
    for each in result.tags:
        by = "" if each.actor is None else f"  {each.actor}"
        yield Line(Text(f"{each.name:<{width}}", "bold"), f"  {each.commit_id}  {moment_of(each.created_at)}{by}")


@lines_of.register
def _(result: DeletedTagResult) -> Iterator[Line]:
    yield Line(Text("deleted ", GOOD), f"tag {result.name} of {result.uri}")
