"""``Session``: one run of the command, what its global options asked for, and its two ways out.

    results    → stdout, as text or as one JSON document
    narration  → stderr: the line before acting, progress on a terminal, errors in text form

Values that the session was told to hide reach neither: whatever text a plugin or a client library put together goes
through ``clean`` on its way into a result, a message or a traceback. What OmniGraph itself says, such as the kind of an
error or the place that was asked about, is never touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click

from omnigraph_cli.output.results import ErrorResult, Result

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SHORTEST_HIDDEN: Final = 8
"""A shorter value is a syllable of other words; hiding it spoils the text and tells what it is."""
SHORTEST_HIDDEN_ANYWHERE: Final = 16
"""No word is as long by chance; such a value is hidden even where letters touch it, as in ``%3Dvalue``."""


class OutputError(Exception):
    """Standard output took no more, see ``__cause__``."""


class Session:
    """What one run knows about how to speak."""

    def __init__(self) -> None:
        self.quiet = False
        self.debug = False
        self.as_json = False
        self._is_streaming = False
        self._patterns: dict[str, str] = {}
        self._kept: set[str] = set()
        self._hidden: re.Pattern[str] | None = None

    # ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────

    def hide(self, values: Iterable[str], *, keep: str) -> None:
        """Never print these values from now on, as they are or percent-encoded, except inside ``keep``.

        A verb that is about several places says so for each of them.

        Values below ``SHORTEST_HIDDEN`` characters are left alone, those below ``SHORTEST_HIDDEN_ANYWHERE`` are hidden
        where they stand as whole words.
        """
        forms = {form for value in values for form in (value, value.strip(), quote(value, safe=""))}
        self._patterns |= {form: _pattern(form) for form in forms if len(form) >= SHORTEST_HIDDEN}
        self._kept.add(keep)
        self._patterns |= {each: re.escape(each) for each in self._kept}
        # Longest first: a value may contain another one.
        longest_first = sorted(self._patterns, key=len, reverse=True)
        self._hidden = re.compile("|".join(self._patterns[form] for form in longest_first))

    def clean(self, text: str) -> str:
        """The text without the hidden values."""
        if self._hidden is None:
            return text
        return self._hidden.sub(lambda found: found[0] if found[0] in self._kept else "[hidden]", text)

    # ── results ──────────────────────────────────────────────────────────────────────────────────────────────

    def show(self, result: Result) -> None:
        """Print the result of a verb.

        Raises:
            OutputError: standard output cannot be written.
        """
        if sys.stdout is None:
            raise OutputError from OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            if self.as_json:
                from omnigraph_cli.output.json import json_of

                click.echo(json_of(result))
            else:
                from omnigraph_cli.output.text import print_text

                print_text(result, sys.stdout)
        except OSError as error:
            raise OutputError from error

    def show_part(self, part: Result) -> None:
        """Print one piece of a result as it comes; a JSON document waits until it is whole."""
        if not self.as_json:
            self.show(part)

    def stream(self, lines: Iterable[str]) -> None:
        """Print lines as they come, in UTF-8 whatever the terminal speaks: they are data.

        From the first line on, errors go to stderr even under ``--json``, where they cannot be taken for data.

        Raises:
            OutputError: standard output cannot be written.
        """
        if sys.stdout is None:
            raise OutputError from OSError(errno.EBADF, os.strerror(errno.EBADF))
        out = sys.stdout.buffer
        # What a plugin prints must not land between the lines.
        with contextlib.redirect_stdout(sys.stderr):
            for line in lines:
                self._is_streaming = True
                try:
                    out.write(line.encode() + b"\n")
                except OSError as error:
                    raise OutputError from error
            try:
                out.flush()
            except OSError as error:
                raise OutputError from error

    # ── narration ────────────────────────────────────────────────────────────────────────────────────────────

    def narrate(self, line: str) -> None:
        """Say on stderr what is about to happen, unless ``--quiet``."""
        if not self.quiet:
            click.echo(line, err=True)

    def end_terminal_line(self) -> None:
        """Let what follows start on a line of its own, behind the ``^C`` that a terminal shows."""
        if sys.stderr is not None and sys.stderr.isatty():
            click.echo(err=True)

    @contextlib.contextmanager
    def working(self, on_what: str) -> Iterator[None]:
        """Around calls that may take time or run a plugin's code.

        A terminal shows that something is going on, in a line that is gone afterwards. What a plugin prints goes to
        stderr, so that it never lands between the results.
        """
        with self.watching(on_what):
            yield

    @contextlib.contextmanager
    def watching(self, on_what: str) -> Iterator[Callable[[str], None]]:
        """As ``working``; what it gives changes the line that the terminal shows."""
        with contextlib.ExitStack() as stack:
            show: Callable[[str], None] = _show_nothing
            if not self.quiet and sys.stderr is not None and sys.stderr.isatty():
                from omnigraph_cli.output.text import spinner

                show = stack.enter_context(spinner(on_what, sys.stderr))
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
            yield show

    def show_traceback(self, error: BaseException) -> None:
        """Under ``--debug``: where an error came from, causes included, on stderr."""
        if self.debug:
            click.echo(self.clean("".join(traceback.format_exception(error))), err=True, nl=False)

    def show_error(self, result: ErrorResult, error: BaseException) -> None:
        """Print why the command failed, with the traceback under ``--debug``.

        Raises:
            OutputError: standard output cannot be written.
        """
        self.show_traceback(error)
        if self.as_json and self._is_streaming:
            from omnigraph_cli.output.json import json_of

            click.echo(json_of(result), err=True)
        elif self.as_json:
            self.show(result)
        else:
            from omnigraph_cli.output.text import print_text

            print_text(result, sys.stderr)


def _show_nothing(_line: str) -> None:
    """Where there is no terminal."""


def _pattern(value: str) -> str:
    whole = re.escape(value)
    return whole if len(value) >= SHORTEST_HIDDEN_ANYWHERE else rf"(?<![^\W_]){whole}(?![^\W_])"


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        setattr(ctx.ensure_object(Session), str(param.name), True)


def global_options(command: Decorated) -> Decorated:
    """Add ``--quiet`` and ``--debug``, which are understood before a verb and after it."""
    quiet = click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=_remember, help="Print results and errors only."
    )
    debug = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_remember, help="Show the traceback of an error."
    )
    return quiet(debug(command))


def json_option(command: Decorated) -> Decorated:
    """Add ``--json``, which is understood before a verb and after it."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        # Known before --version prints.
        is_eager=True,
        expose_value=False,
        callback=_remember,
        help="Print one JSON document on stdout, errors too.",
    )(command)
