"""``omnigraph mutate``: insert, update and delete by query, as one commit or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option, deadline_option, storage_options
from omnigraph_cli.output.graph_results import MutatedResult
from omnigraph_cli.queries import GivenQuery, query_options
from omnigraph_cli.session import Session, global_options, json_option

if TYPE_CHECKING:
    from omnigraph import MutationResult

_EXAMPLES = """\b
Examples:
  omnigraph mutate films.omni checkout --query examples/films/queries.gq \\
      --params '{"card": "1030", "code": "SF-001", "fee": 3.0}' --as ann
  omnigraph mutate films.omni -e 'query q($c: I64) { delete Member where card = $c }' --params '{"c": 1030}'
  omnigraph mutate films.omni --query tags.gq --params-file tags.json --if-commit 01KA7X3J8Q0000000000000000 --json
"""


@click.command(options_metavar="[--query FILE | -e TEXT] [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri")
@query_options
@branch_option
@click.option(
    "--if-commit", metavar="ID", help="Only if this is the newest commit of the branch; maintenance does not count."
)
@click.option(
    "--on-conflict",
    type=click.Choice(["fail", "retry"]),
    default="fail",
    show_default=True,
    help="When others change what an update or delete is about meanwhile: fail, or do it to what they left.",
)
@actor_option
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def mutate(
    session: Session,
    /,
    uri: str,
    branch: str,
    if_commit: str | None,
    on_conflict: Literal["fail", "retry"],
    actor: str | None,
    deadline: float | None,
    options: dict[str, str],
    **words: str | None,
) -> ExitCode:
    """Change the graph at URI by a query, all of it or nothing.

    NAME says which query, when there are several. Its statements become one commit; when nothing matched, nothing is
    written and there is none. Affected nodes and edges are summed over the statements, with the edges that went
    because a node did.

    --if-commit takes the graph_commit_id of an answer, or the id of a commit: whoever read there and writes back is
    told when somebody else was faster.

    Exit code 0 when it was done, also when nothing matched; 1 when there is no such graph or branch, or it took longer
    than --deadline; 3 when the query or a value is wrong, or the graph would break a rule of its schema; 4 when others
    changed what it is about, or the commit of --if-commit is not the newest; 5 when it may have happened. With 1, 3 and
    4 nothing was written.
    """
    given = GivenQuery.of(**words)
    place = GraphPlace.of(session, uri, options)
    is_begun = False
    done: MutationResult | None = None
    try:
        with place.open(session, "rw", actor=actor) as graph, session.working(f"changing {place.uri}"):
            is_begun = True
            done = graph.mutate(
                given.source,
                given.name,
                params=given.params,
                branch=branch,
                if_commit=if_commit,
                on_conflict=on_conflict,
                deadline=deadline,
            )
    except KeyboardInterrupt as error:
        error.add_note(_state_left(place, is_begun, done))
        raise
    session.show(MutatedResult(uri=graph.uri, actor=actor, mutation=done))
    return ExitCode.DONE


def _state_left(place: GraphPlace, is_begun: bool, done: MutationResult | None) -> str:
    """What is known of a mutation that was interrupted."""
    if not is_begun or (done is not None and done.commit is None):
        return "Nothing was changed."
    if done is not None and done.commit is not None:
        return f"It was done, as commit {done.commit.id}."
    return f"It may have been done: omnigraph commit list {place.uri} shows whether it was."
