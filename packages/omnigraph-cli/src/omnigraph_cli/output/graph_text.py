"""How results of the verbs on graphs read, and what is wrong with records and statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from omnigraph.errors.examples import share
from omnigraph_cli.output.changes import change_line
from omnigraph_cli.output.graph_results import (
    CommitChangesResult,
    CommitResult,
    CommitsResult,
    DiffSummaryResult,
    DrawingResult,
    ExplanationResult,
    IndexedResult,
    InitResult,
    LoadedResult,
    MutatedResult,
    PolledResult,
    SnapshotResult,
)
from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, counted, lines_of, moment_of, row
from omnigraph_cli.output.recovery_text import recovery_words

if TYPE_CHECKING:
    from omnigraph import Change, ChangeCause

SHOWN_PROBLEMS: Final = 20
"""How many records that are wrong a person is shown; the JSON has more."""
_LABEL: Final = 11


@lines_of.register
def _(result: InitResult) -> Iterator[Line]:
    yield Line(Text("created ", GOOD), f"{result.uri}: {_types(result.to_dict()['types'])}")
    yield Line(Text("commit  ", DIM), result.snapshot.commit.id)


@lines_of.register
def _(result: LoadedResult) -> Iterator[Line]:
    done = result.load
    counts = f"{counted(done.total, 'entity', 'entities')} across "
    kinds = f"{counted(len(done.nodes), 'node type')} and {counted(len(done.edges), 'edge type')}"
    if result.repeated is not None:
        there = f'{result.uri} has the load "{result.repeated}" on branch {done.branch} already'
        yield Line(Text("nothing to do: ", GOOD), there)
    else:
        where = f"{done.branch}, made from {done.base_branch}," if done.branch_created else done.branch
        yield Line(Text("loaded ", GOOD), f"{result.uri} on branch {where} with {done.mode}: {counts}{kinds}")
    yield Line(Text("commit ", DIM), done.commit.id)


@lines_of.register
def _(result: MutatedResult) -> Iterator[Line]:
    done = result.mutation
    if done.commit is None:
        yield Line(Text("nothing matched: ", GOOD), f"nothing was written to {done.branch} via {done.query_name}")
        return
    counts = f"{counted(done.affected_nodes, 'node')}, {counted(done.affected_edges, 'edge')}"
    yield Line(Text("changed ", GOOD), f"{done.branch} via {done.query_name}: {counts}")
    yield Line(Text("commit  ", DIM), done.commit.id)


@lines_of.register
def _(result: SnapshotResult) -> Iterator[Line]:
    facts = result.snapshot.to_dict()
    version = f"{facts['manifest_version']} of the manifest, format {facts['internal_schema_version']}"
    about = {"graph": result.uri, "branch": facts["branch"], "commit": facts["commit_id"], "version": version}
    yield from (row(label, value, indent=0, width=_LABEL) for label, value in about.items())
    width = max((len(each["name"]) for each in facts["types"]), default=0)
    # As a person thinks of a graph: nodes, then what joins them.
    for each in sorted(facts["types"], key=lambda each: each["kind"] != "node"):
        count = f"{each['count']:>12,}"
        yield row(f"{each['kind']} type", count, name=f"{each['name']:<{width}}", indent=0, width=_LABEL)


@lines_of.register
def _(result: CommitsResult) -> Iterator[Line]:
    if not result.commits:
        yield Line(Text("no commits", DIM))
    width = max((len(str(each.manifest_version)) for each in result.commits), default=0)
    for each in result.commits:
        head = Text.assemble(
            (each.id, "bold"), f"  {each.manifest_version:>{width}}  {each.kind:<11}  ", moment_of(each.created_at)
        )
        yield Line(head, f"  {each.actor}" if each.actor else "")


@lines_of.register
def _(result: CommitResult) -> Iterator[Line]:
    commit = result.commit
    facts = {
        "commit": commit.id,
        "parent": commit.parent_id or "none, it is the first",
        "merged": commit.merged_parent_id,
        "branch": commit.branch,
        "version": str(commit.manifest_version),
        "kind": str(commit.kind),
        "actor": commit.actor,
        "created": moment_of(commit.created_at),
    }
    facts |= {name: value for name, value in commit.properties.items() if name not in facts}
    width = 2 + max(map(len, (*facts, "recovered")))
    yield from (row(name, value, indent=0, width=width) for name, value in facts.items() if value is not None)
    yield from (row("recovered", recovery_words(each), indent=0, width=width) for each in result.recoveries)


@lines_of.register
def _(result: DrawingResult) -> Iterator[Line]:
    # All of it is the head of a line, which is never broken.
    yield from (Line(Text(each)) for each in result.drawing.splitlines())


@lines_of.register
def _(result: DiffSummaryResult) -> Iterator[Line]:
    facts = {
        "from": result.diff.from_commit.id,
        "to": result.diff.to_commit.id,
        "inserts": f"{result.summary.inserts:,}",
        "updates": f"{result.summary.updates:,}",
        "deletes": f"{result.summary.deletes:,}",
        "types": ", ".join(result.summary.types_affected) or "none",
    }
    yield from (row(name, value, indent=0, width=_LABEL) for name, value in facts.items())


@lines_of.register
def _(result: PolledResult) -> Iterator[Line]:
    page = result.page
    for block in page.blocks:
        yield from _caused(block.cause, block.changes)
    if page.cursor is not None:
        yield Line(Text("cursor ", DIM), page.cursor)
    if page.page_token is not None:
        yield Line(Text("page token ", DIM), page.page_token)
    if page.caught_up:
        yield Line(Text("caught up: ", GOOD), f"{page.head.id} is the newest commit of {page.branch}")
    else:
        yield Line(Text("more: ", "bold"), f"{page.head.id} is the newest commit of {page.branch}")


@lines_of.register
def _(result: CommitChangesResult) -> Iterator[Line]:
    yield from _caused(result.page.cause, result.page.changes)
    if result.page.page_token is not None:
        yield Line(Text("page token ", DIM), result.page.page_token)


def _caused(cause: ChangeCause, changes: tuple[Change, ...]) -> Iterator[Line]:
    head = Text.assemble(("commit ", DIM), (cause.commit_id, "bold"), f"  {cause.kind:<11}  ")
    yield Line(Text.assemble(head, moment_of(cause.created_at)), f"  {cause.actor}" if cause.actor else "")
    yield from (Line(Text(change_line(change))) for change in changes)


@lines_of.register
def _(result: IndexedResult) -> Iterator[Line]:
    report = result.report
    for each in report.built:
        rows = counted(each.rows, "row")
        yield Line(Text("built   ", GOOD), f"{each.type_key}.{each.property} ({each.kind}), {rows}")
    for waits in report.pending:
        yield Line(Text("pending ", DIM), f"{waits.type_key}.{waits.property} ({waits.kind}): {waits.reason}")
    if report.commit is None:
        yield Line(Text("nothing to do: ", GOOD), f"every index of {result.uri} covers every row")
    else:
        yield Line(Text("commit  ", DIM), report.commit.id)


@lines_of.register
def _(result: ExplanationResult) -> Iterator[Line]:
    yield from (Line(Text(line)) for line in str(result.explanation).splitlines())


def _types(types: list[Mapping[str, Any]]) -> str:
    kinds = Counter(each["kind"] for each in types)
    return f"{counted(kinds['node'], 'node type')} and {counted(kinds['edge'], 'edge type')}"


def problem_lines(problems: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """``seed.jsonl:7: error[wrong_type]: Film.stars expects F32, got "many"``, the first of each reason.

    What a mutation does wrong has its statement in front: ``statement 2: error[endpoint]: ...``.
    """
    for index in share([each["reason"] for each in problems], SHOWN_PROBLEMS):
        each = problems[index]
        line = each.get("line")
        parts = [each.get("source") or ("record" if line is not None else ""), "" if line is None else str(line)]
        place = ":".join([*filter(None, parts), " "]) if any(parts) else ""
        yield Line(Text.assemble((place, "bold"), (f"error[{each['reason']}]: ", BAD)), each["message"])


def problems_summary(details: Mapping[str, Any]) -> str:
    """``102 problems: 2 missing_required, 100 wrong_type (20 are shown, the first of each reason)``."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in details["counts"].items())
    shown = f"the first {SHOWN_PROBLEMS} are shown"
    if len(details["counts"]) > 1:
        shown = f"{SHOWN_PROBLEMS} are shown, the first of each reason"
    hidden = f" ({shown})" if details["total"] > SHOWN_PROBLEMS else ""
    return f"{counted(details['total'], 'problem')}: {reasons}{hidden}"
