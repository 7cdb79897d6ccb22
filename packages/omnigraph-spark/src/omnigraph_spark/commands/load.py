"""``omnigraph spark load``: records and tables from many files to one commit."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import Final

import click

from omnigraph.errors import InvalidInputError
from omnigraph_cli.verbs import (
    ExitCode,
    GraphPlace,
    LoadedResult,
    Session,
    following_load,
    global_options,
    json_option,
    load_options,
    may_load,
    storage_options,
)
from omnigraph_spark.commands.running import running_spark, spark_options

_EXAMPLES = """\b
Examples:
  omnigraph spark load films.omni --data seed.jsonl --mode append
  omnigraph spark load films.omni --data 'parts/*.jsonl' --mode merge --as ann
  omnigraph spark load films.omni --data Film=films.csv --data edge:Rented=rentals/ --mode append
  omnigraph spark load films.omni --data seed.jsonl --mode merge --load-id monday --conf spark.driver.memory=8g
"""

_OF_A_TYPE: Final = re.compile(r"((?:(?:node|edge):)?[^\W\d]\w*)=(.+)", re.DOTALL)
"""``Film=films.csv``; a path that looks like this is written with ``./`` in front."""
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@click.command(options_metavar="--data SOURCE --mode MODE [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri")
@click.option(
    "--data",
    "sources",
    required=True,
    multiple=True,
    metavar="SOURCE",
    help="A JSONL file, a directory of them or a pattern; or TYPE=PATH for Parquet, CSV or JSONL of one type, a file, "
    "a directory or a pattern. Repeatable.",
)
@load_options
@click.option(
    "--on-error",
    type=click.Choice(["report", "stop"]),
    default="report",
    show_default=True,
    help="report: all values that do not fit their types are told, or else every rule that is broken. stop: rules that "
    "need other rows are not judged when values are wrong already.",
)
@storage_options
@spark_options
@json_option
@global_options
@click.pass_obj
def load(
    session: Session,
    uri: str,
    sources: tuple[str, ...],
    mode: str,
    branch: str,
    base: str | None,
    load_id: str | None,
    yes: bool,
    actor: str | None,
    on_error: str,
    options: dict[str, str],
    master: str,
    conf: dict[str, str],
) -> ExitCode:
    """Load many files into a graph with Spark, all or none.

    They become one commit of a branch of the graph at URI, with the checks of `omnigraph load`. Records of JSONL say
    their type; a table does not, so its files are named as TYPE=PATH. Only types that occur are touched, whatever the
    mode. What is wrong is told with its file and line: 20 of them here, up to 100 of each reason with --json.

    Overwriting a graph that is not on a local disk asks first; --yes is the answer where nobody can be asked.

    Exit code 0 when it was loaded; 1 when there is no such graph, branch or type, or something could not be read or
    written; 3 when an input is none, or records are wrong or break a rule of the schema, and nothing was written;
    4 when an overwrite was overtaken by another writer; 5 when it may have happened.
    """
    import omnigraph_spark

    place = GraphPlace.of(session, uri, options)
    # Files of a load that has landed may be gone, which only the load itself finds out.
    data = read_sources(sources, must_be_there=load_id is None)
    if not may_load(session, place, mode, yes=yes):
        return ExitCode.FAILED
    _look_first(session, place, list(data) if isinstance(data, dict) else [], branch, base)
    place.announce(session, "load")

    what = sources[0] if len(sources) == 1 else f"{len(sources)} sources"
    with (
        following_load(place, mode) as course,
        running_spark(session, master, conf) as spark,
        session.watching(f"loading {what}") as show,
    ):
        course.done = done = omnigraph_spark.load(
            spark,
            str(place.uri),
            data,
            mode,
            branch=branch,
            base=base,
            actor=actor,
            load_id=load_id,
            on_error=on_error,
            options=place.options,
            progress=course.reporting(show, what),
        )
    session.show(LoadedResult(uri=str(place.uri), load=done, repeated=course.repeated(load_id)))
    return ExitCode.DONE


def _look_first(session: Session, place: GraphPlace, types: list[str], branch: str, base: str | None) -> None:
    """Tell a graph, branch or type that is not there now: Spark takes many times as long to start.

    Raises:
        NotFoundError: one is not there.
    """
    with place.open(session) as graph:
        is_there = any(each.name == branch for each in graph.branches.list())
        seen = graph.snapshot(branch if is_there or base is None else base)
        for each in types:
            graph.scan(each, snapshot=seen)


def read_sources(words: tuple[str, ...], *, must_be_there: bool = True) -> dict[str, str] | list[str]:
    """What ``omnigraph_spark.load`` is given: paths by type, or paths of JSONL.

    Whether files are there is seen now, unless they need not be: Spark takes a while to start.

    Raises:
        click.UsageError: both are named, or a type twice.
        InvalidInputError: there is no such file, or it does not say its type or what it holds.
    """
    from omnigraph_spark.input_files import Form, form_behind, form_of

    of_types: dict[str, str] = {}
    mixed: list[str] = []
    for word in words:
        found = _OF_A_TYPE.fullmatch(word)
        path = found[2] if found else word
        if found is None and form_of(path) not in (None, Form.JSONL):
            raise InvalidInputError(
                f"{path} does not say the type of its rows.",
                help=f"Write it as --data TYPE={path}.",
                details={"path": path},
            )
        if found is None:
            mixed.append(_whole_path(path, must_be_there))
        elif found[1] in of_types:
            raise click.UsageError(
                f"{found[1]} is given twice. Name a directory, or a pattern of several files.",
                click.get_current_context(silent=True),
            )
        else:
            of_types[found[1]] = _whole_path(path, must_be_there)
            if must_be_there:
                form_behind(of_types[found[1]])
    if of_types and mixed:
        raise click.UsageError(
            "Give JSONL that says its types, or files by TYPE=PATH, not both.", click.get_current_context(silent=True)
        )
    return of_types or mixed


def _whole_path(path: str, must_be_there: bool) -> str:
    """A path that means the same to every task."""
    if _URI.match(path):
        return path
    if must_be_there and not glob.glob(path):
        missing = f'No file matches "{path}".' if glob.has_magic(path) else f'There is no file "{path}".'
        raise InvalidInputError(missing, help=f"Paths are taken from {Path.cwd()}.", details={"path": path})
    return os.path.abspath(path)
