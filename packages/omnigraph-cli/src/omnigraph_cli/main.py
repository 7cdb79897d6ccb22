"""The way in and out of ``omnigraph``: the words of the command line come in, an exit code goes out.

Every failure leaves by one of the doors of ``_invoke``; nothing is swallowed and nothing but ``--debug`` shows a
traceback. click's own ``main`` is not used because it answers a closed pipe and an interrupt with codes of its own.
SIGTERM is an interrupt under another name, so that a verb cleans up before it ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from omnigraph.errors import OmnigraphError, PluginError
from omnigraph_cli.exit_codes import CODE_OF_KIND, INTERRUPTED, TERMINATED, ExitCode
from omnigraph_cli.output.results import ErrorResult, VersionResult
from omnigraph_cli.plugin_group import PluginGroup
from omnigraph_cli.session import OutputError, Session, global_options, json_option

PROGRAM = "omnigraph"
COMPLETION_VARIABLE = "_OMNIGRAPH_COMPLETE"

_EXAMPLES = """\b
Examples:
  omnigraph init --schema examples/films/schema.pg films.omni
  omnigraph load films.omni --data examples/films/seed.jsonl --mode append
  omnigraph query films.omni demand --query examples/films/queries.gq --params '{"since": "2025-10-01"}'
  omnigraph mutate films.omni retag --query examples/films/queries.gq \\
      --params '{"code": "SF-001", "tags": ["space", "slow"]}' --as ann
  omnigraph branch create films.omni review/2026
  omnigraph branch merge films.omni review/2026 --dry-run
  omnigraph commit list films.omni
  omnigraph diff films.omni 01KA7X3J8Q0000000000000000 main
  omnigraph changes poll films.omni --start beginning
  omnigraph recovery list films.omni
  omnigraph export films.omni > films.jsonl
  omnigraph copy films.omni s3://bucket/films
  omnigraph repair films.omni --relocate
  omnigraph lint --schema library.pg --query loans.gq
  omnigraph explain --schema library.pg --query loans.gq --name at_home
  omnigraph schema plan --from library.pg --schema library-next.pg
  omnigraph plugins
  omnigraph storage check graph.omni
  omnigraph storage check s3://bucket/graph --json
"""
_EXIT_CODES = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {code.meaning}" for code in ExitCode)


class Terminated(KeyboardInterrupt):
    """SIGTERM came: what is ready for an interrupt is ready for this."""


class Program(PluginGroup):
    """The root of all verbs; ``main`` ends the process with an ``ExitCode``."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run the words, by default those of this process. Stands alone always: it ends by ``SystemExit``."""
        words = list(sys.argv[1:] if args is None else args)
        name = prog_name or PROGRAM
        variable = complete_var or COMPLETION_VARIABLE
        instruction = os.environ.get(variable)
        if instruction:
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, extra, name, variable, instruction))
        sys.exit(_execute(self, words, name, extra))


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.ensure_object(Session).show(VersionResult.current())
        ctx.exit()


@click.group(
    PROGRAM,
    cls=Program,
    verbs={
        "branch": "omnigraph_cli.commands.branch:branch",
        "changes": "omnigraph_cli.commands.changes:changes",
        "commit": "omnigraph_cli.commands.commit:commit",
        "copy": "omnigraph_cli.commands.copy:copy",
        "diff": "omnigraph_cli.commands.diff:diff",
        "ensure-indices": "omnigraph_cli.commands.ensure_indices:ensure_indices",
        "explain": "omnigraph_cli.commands.explain:explain",
        "export": "omnigraph_cli.commands.export:export",
        "init": "omnigraph_cli.commands.init:init",
        "lint": "omnigraph_cli.commands.lint:lint",
        "load": "omnigraph_cli.commands.load:load",
        "mutate": "omnigraph_cli.commands.mutate:mutate",
        "plugins": "omnigraph_cli.commands.plugins:plugins",
        "query": "omnigraph_cli.commands.query:query",
        "recovery": "omnigraph_cli.commands.recovery:recovery",
        "repair": "omnigraph_cli.commands.repair:repair",
        "schema": "omnigraph_cli.commands.schema:schema",
        "snapshot": "omnigraph_cli.commands.snapshot:snapshot",
        "storage": "omnigraph_cli.commands.storage:storage",
        "tag": "omnigraph_cli.commands.tag:tag",
        "version": "omnigraph_cli.commands.version:version",
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{_EXAMPLES}\n{_EXIT_CODES}",
)
@json_option
@global_options
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the release and the storage interface, and exit.",
)
def cli() -> None:
    """A typed property graph on Lance, versioned and branched like Git.

    Results go to stdout; narration and errors go to stderr. With --json both a result and an error are one JSON
    document on stdout.
    """


def run() -> NoReturn:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # A file name may hold bytes that are no text, and a terminal may not know every letter: neither is a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Whoever started us with SIGTERM ignored has a reason.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    cli.main()


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated


def _execute(program: Program, words: list[str], name: str, extra: dict[str, Any]) -> int:
    session = Session()
    try:
        code = _invoke(program, words, name, session, extra)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt as error:
        # Another one, while the first was being told.
        return CODE_OF_KIND[_kind_of_interrupt(error)]
    except (OutputError, OSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        _abandon_output()
        if isinstance(cause, OSError) and cause.errno != errno.EPIPE:
            click.echo(f"error: The result could not be written: {cause.strerror}.", err=True)
            return ExitCode.FAILED
        return ExitCode.PIPE_CLOSED
    return code


def _invoke(program: Program, words: list[str], name: str, session: Session, extra: dict[str, Any]) -> int:
    """Run the verb and report its failure, if it fails."""
    try:
        with program.make_context(name, list(words), **(extra | {"obj": session})) as ctx:
            return int(program.invoke(ctx))
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (OutputError, BrokenPipeError):
        raise
    except (KeyboardInterrupt, click.Abort) as error:
        session.end_terminal_line()
        return _fail(session, ErrorResult.of_interrupt(error, _kind_of_interrupt(error)), error)
    except click.ClickException as error:
        # The words were not understood, so the flag may not have been reached.
        session.as_json = session.as_json or "--json" in words
        return _fail(session, ErrorResult.of_usage(error), error)
    except OmnigraphError as error:
        # A verb that cannot be had has not read its words either.
        session.as_json = session.as_json or (isinstance(error, PluginError) and "--json" in words)
        return _fail(session, ErrorResult.of(error, session.clean, is_traced=session.debug), error)
    # Not ours and not foreseen: the person still gets a sentence, and the traceback is one flag away.
    except Exception as error:  # noqa: BLE001
        return _fail(session, ErrorResult.of_surprise(error, session.clean, is_traced=session.debug), error)


def _fail(session: Session, result: ErrorResult, error: BaseException) -> ExitCode:
    session.show_error(result, error)
    return CODE_OF_KIND[result.kind]


def _kind_of_interrupt(error: BaseException) -> str:
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


def _abandon_output() -> None:
    """Let what is still buffered go nowhere, or the interpreter complains about it while it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
