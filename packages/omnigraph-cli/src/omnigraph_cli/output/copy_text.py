"""How a copy and a repair read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from omnigraph_cli.output.copy_results import CopiedResult, RepairedResult
from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, counted, lines_of


@lines_of.register
def _(result: CopiedResult) -> Iterator[Line]:
    done = result.copy
    yield Line(
        Text("copied ", GOOD), f"{done.source} to {done.target}: {counted(done.files, 'file')}, {done.bytes:,} bytes"
    )
    kept = f"{counted(len(done.branches), 'branch', 'branches')} and {counted(len(done.tags), 'tag')}, with all commits"
    yield Line(Text("kept   ", DIM), kept)
    for each in done.lost:
        yield Line(Text("lost   ", BAD), f"{each.kind} {each.name}: {each.reason}")


@lines_of.register
def _(result: RepairedResult) -> Iterator[Line]:
    done = result.report
    if not done.versions:
        yield Line(Text("nothing to do: ", GOOD), f"every branch of {result.uri} names its files where they are")
        return
    versions = counted(done.versions, "version")
    branches = ", ".join(done.relocated) or "deleted branches only"
    yield Line(Text("relocated ", GOOD), f"{branches}: {versions} of tables and of the manifest")
