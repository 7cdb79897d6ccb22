"""Results as text for people, with colour where a terminal takes it and ``NO_COLOR`` is not set.

``text_of`` is open to new results: each kind registers how it reads. Lines are never cut or wrapped here, so that
what is piped on is whole.
"""

from __future__ import annotations

import errno
import functools
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, Final

from rich.console import Console
from rich.text import Text

from omnigraph_cli.output.results import (
    BackendResult,
    CheckResult,
    ErrorResult,
    PluginResult,
    PluginsResult,
    Result,
    StepResult,
    VersionResult,
)

_GOOD, _BAD, _DIM = "green", "bold red", "dim"
_STYLE_OF_STATUS: Final = {"loaded": _GOOD, "disabled": _DIM}
_MARK_OF_STATUS: Final = {"loaded": "✓", "disabled": "-"}
_PLAIN_MARKS: Final = str.maketrans("✓✗", "+x")


def print_text(result: Result, stream: IO[str]) -> None:
    """Write a result to a stream."""
    console = _console(stream)
    text = text_of(result)
    if console.options.ascii_only:
        text.plain = text.plain.translate(_PLAIN_MARKS)
    console.print(text, soft_wrap=True)


def spinner(message: str, stream: IO[str]) -> AbstractContextManager[Any]:
    """A line on a terminal that says that work goes on, until the context ends."""
    return _console(stream).status(Text(message))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to ``main``; rich would end the process with 1."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _console(stream: IO[str]) -> Console:
    # rich's own NO_COLOR keeps bold and dim; without a colour system it writes no escape sequence at all.
    plain = bool(os.environ.get("NO_COLOR"))
    return _Console(file=stream, color_system=None if plain else "auto", highlight=False, markup=False, emoji=False)


@functools.singledispatch
def text_of(result: object) -> Text:
    """What a person reads, without a newline at the end."""
    raise TypeError(f"There is no text for a {type(result).__name__}")


@text_of.register
def _(result: VersionResult) -> Text:
    return Text(f"omnigraph {result.release}\nstorage interface {result.storage_interface}")


@text_of.register
def _(result: ErrorResult) -> Text:
    lines = [Text.assemble(("error: ", _BAD), result.message)]
    if result.help:
        lines.append(Text.assemble(("help: ", "bold"), result.help))
    lines += [Text.assemble(("note: ", "bold"), note) for note in result.notes]
    return _joined(lines)


@text_of.register
def _(result: PluginsResult) -> Text:
    counts = Counter(plugin.status for plugin in result.plugins)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    blocks = [_joined(list(_plugin_lines(plugin))) for plugin in result.plugins]
    word = "plugin" if len(result.plugins) == 1 else "plugins"
    return Text("\n\n").join([*blocks, Text(f"{len(result.plugins)} {word}: {summary}")])


def _plugin_lines(plugin: PluginResult) -> Iterator[Text]:
    style = _STYLE_OF_STATUS.get(plugin.status, _BAD)
    mark = _MARK_OF_STATUS.get(plugin.status, "✗")
    yield Text.assemble(
        (f"{mark} ", style),
        (plugin.name, "bold"),
        f"  {plugin.distribution} {plugin.version}  ",
        (plugin.status, style),
    )
    if plugin.reason:
        yield _row("reason", *plugin.reason.splitlines(), style=style)
    for backend in plugin.backends:
        if len(plugin.backends) > 1:
            yield _row("backend", backend.name)
        yield from _backend_lines(backend)


def _backend_lines(backend: BackendResult) -> Iterator[Text]:
    yield _row("schemes", ", ".join(f"{scheme}://" for scheme in backend.schemes))
    yield _row("capabilities", ", ".join(backend.capabilities) or "none")
    width = max((len(option.name) for option in backend.options), default=0)
    options = []
    for option in backend.options:
        sources = ", ".join((*option.environment, *(("secret",) if option.is_secret else ())))
        options.append(f"{option.name:<{width}}  {option.help}" + (f" [{sources}]" if sources else ""))
    yield _row("options", *(options or ["none"]))


def _row(label: str, *values: str, style: str = "") -> Text:
    """``    label         value``, further values below the first."""
    indent = "\n" + " " * 18
    return Text.assemble((f"    {label:<14}", _DIM), (indent.join(values), style))


@text_of.register
def _(step: StepResult) -> Text:
    mark, style = ("✓", _GOOD) if step.passed else ("✗", _BAD)
    lines = [Text.assemble((f"{mark} ", style), (f"{step.name:<15} ", "bold"), step.detail)]
    if step.error:
        errors = step.error.details.get("errors", ())
        lines += [_row("seen", *errors)] if errors else []
        lines += [_row("help", step.error.help)] if step.error.help else []
        lines += [_row("note", *step.error.notes)] if step.error.notes else []
    return _joined(lines)


@text_of.register
def _(result: CheckResult) -> Text:
    if result.passed:
        return Text.assemble(("passed", _GOOD), f": {result.uri} can be trusted with a graph")
    return Text.assemble(("failed", _BAD), f": do not keep a graph at {result.uri}")


def _joined(lines: list[Text]) -> Text:
    return Text("\n").join(lines)
