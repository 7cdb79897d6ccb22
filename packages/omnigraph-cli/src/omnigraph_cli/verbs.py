"""What a verb of a plugin may use of the command line, so that it speaks like the built-in ones.

A plugin offers a verb by the hook ``omnigraph_cli_verbs``. Its command module imports from here, and from nowhere else
in ``omnigraph_cli``. Nothing but the command line imports that module, so the plugin works without one.

A verb ends with an ``ExitCode``. What it raises of ``omnigraph.errors`` is told as every error is, with the exit code
of its kind; a ``click.UsageError`` says that the words are wrong. Results go to stdout by ``session.show`` alone, as a
``VerbResult`` or a ``LoadedResult``; what may take time is done inside ``session.watching``.

These names, their arguments and their meaning stay as long as the number that a ``CliVerb`` gives as ``spi_version``.
docs/reference/hooks.md has a whole verb.
"""

from __future__ import annotations

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option, key_values, moment, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.load_words import LoadCourse, following_load, load_options, may_load
from omnigraph_cli.output.graph_results import LoadedResult
from omnigraph_cli.output.results import Result, VerbResult
from omnigraph_cli.session import Session, global_options, json_option

__all__ = [
    "ExitCode",
    "GraphPlace",
    "LazyGroup",
    "LoadCourse",
    "LoadedResult",
    "Result",
    "Session",
    "VerbResult",
    "actor_option",
    "branch_option",
    "following_load",
    "global_options",
    "json_option",
    "key_values",
    "load_options",
    "may_load",
    "moment",
    "storage_options",
]
