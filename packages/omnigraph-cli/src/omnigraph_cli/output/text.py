"""Results as text for people, with colour where a terminal takes it and ``NO_COLOR`` is not set.

A terminal gets long lines wrapped between words, below where they began; what is piped on stays whole. A word is never
cut.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from omnigraph_cli.output import branch_text as _branch_text  # noqa: F401 - registers how branches read
from omnigraph_cli.output import copy_text as _copy_text  # noqa: F401 - registers how copies and repairs read
from omnigraph_cli.output import merge_text as _merge_text  # noqa: F401 - registers how merges read
from omnigraph_cli.output import tag_text as _tag_text  # noqa: F401 - registers how tags read
from omnigraph_cli.output.graph_text import problem_lines, problems_summary
from omnigraph_cli.output.language_results import ExplainResult, LintResult, MigrationResult
from omnigraph_cli.output.lines import BAD, DIM, GOOD, Line, counted, lines_of, row
from omnigraph_cli.output.results import (
    BackendResult,
    CheckResult,
    ErrorResult,
    PluginResult,
    PluginsResult,
    Result,
    StepResult,
    VerbResult,
    VersionResult,
)

if TYPE_CHECKING:
    from omnigraph.lang import Diagnostic
    from omnigraph.query.lint import LintReport

_STYLE_OF_SEVERITY: Final = {"error": BAD, "warning": "bold yellow", "info": "bold cyan"}
_RELATED: Final = "blue"
_STYLE_OF_STATUS: Final = {"loaded": GOOD, "disabled": DIM}
_MARK_OF_STATUS: Final = {"loaded": "✓", "disabled": "-"}
_PLAIN_MARKS: Final = str.maketrans("✓✗", "+x")


def print_text(result: Result, stream: IO[str]) -> None:
    """Write a result to a stream."""
    console = _console(stream)
    text = Text("\n").join(line.wrapped(console.width if console.is_terminal else None) for line in lines_of(result))
    if console.options.ascii_only:
        text.plain = text.plain.translate(_PLAIN_MARKS)
    console.print(text, soft_wrap=True)


@contextlib.contextmanager
def spinner(message: str, stream: IO[str]) -> Iterator[Callable[[str], None]]:
    """A line on a terminal that says that work goes on, until the context ends; what it gives changes the line."""
    with _console(stream).status(Text(message)) as status:
        yield lambda line: status.update(Text(line))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to ``main``; rich would end the process with 1."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _console(stream: IO[str]) -> Console:
    # rich's own NO_COLOR keeps bold and dim; without a colour system it writes no escape sequence at all.
    plain = bool(os.environ.get("NO_COLOR"))
    return _Console(file=stream, color_system=None if plain else "auto", highlight=False, markup=False, emoji=False)


@lines_of.register
def _(result: VersionResult) -> Iterator[Line]:
    yield Line(Text(f"omnigraph {result.release}"))
    yield Line(Text(f"storage interface {result.storage_interface}"))


@lines_of.register
def _(result: ErrorResult) -> Iterator[Line]:
    if result.diagnostics:
        # They hold the message and the help, and more.
        yield from _diagnostics_lines(result.diagnostics)
    else:
        # Records that are wrong come like lines of a compiler; the message would repeat them. Parameters that are
        # wrong are few, and the message has all of them.
        problems = result.details.get("problems", ()) if "counts" in result.details else ()
        yield from problem_lines(problems)
        yield Line(Text("error: ", BAD), problems_summary(result.details) if problems else result.message)
        if result.help:
            yield Line(Text("help: ", "bold"), result.help)
    for note in result.notes:
        yield Line(Text("note: ", "bold"), note)


@lines_of.register
def _(result: VerbResult) -> Iterator[Line]:
    width = max(len(word) for word, _ in result.lines)
    for number, (word, body) in enumerate(result.lines):
        yield Line(Text(f"{word:<{width}} ", DIM if number else GOOD), body)


@lines_of.register
def _(result: PluginsResult) -> Iterator[Line]:
    for plugin in result.plugins:
        yield from _plugin_lines(plugin)
        yield Line(Text())
    counts = Counter(plugin.status for plugin in result.plugins)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    word = "plugin" if len(result.plugins) == 1 else "plugins"
    yield Line(Text(f"{len(result.plugins)} {word}: {summary}"))
    for note in result.notes:
        yield Line(Text("note: ", "bold"), note)


def _plugin_lines(plugin: PluginResult) -> Iterator[Line]:
    style = _STYLE_OF_STATUS.get(plugin.status, BAD)
    mark = _MARK_OF_STATUS.get(plugin.status, "✗")
    yield Line(
        Text.assemble(
            (f"{mark} ", style),
            (plugin.name, "bold"),
            f"  {plugin.distribution} {plugin.version}  ",
            (plugin.status, style),
        )
    )
    if plugin.reason:
        yield row("reason", plugin.reason, style=style)
    for backend in plugin.backends:
        if len(plugin.backends) > 1:
            yield row("backend", backend.name)
        yield from _backend_lines(backend)
    if plugin.embedders:
        yield row("embedders", ", ".join(plugin.embedders))
    if plugin.verbs:
        yield row("verbs", ", ".join(plugin.verbs))


def _backend_lines(backend: BackendResult) -> Iterator[Line]:
    # Every local spelling has the scheme "file", a path without any included.
    schemes = [f"{scheme}://" + (" and plain paths" if scheme == "file" else "") for scheme in backend.schemes]
    yield row("schemes", ", ".join(schemes))
    yield row("capabilities", ", ".join(backend.capabilities) or "none")
    if not backend.options:
        yield row("options", "none")
    width = max((len(option.name) for option in backend.options), default=0)
    label = "options"
    for option in backend.options:
        yield row(label, option.help, name=f"{option.name:<{width}}  ")
        sources = ", ".join((*option.environment, *(("secret",) if option.is_secret else ())))
        if sources:
            yield row("", f"[{sources}]", name=" " * (width + 2), style=DIM)
        label = ""


@lines_of.register
def _(step: StepResult) -> Iterator[Line]:
    mark, style = ("✓", GOOD) if step.passed else ("✗", BAD)
    yield Line(Text.assemble((f"{mark} ", style), (f"{step.name:<15} ", "bold")), step.detail)
    if step.error:
        errors = step.error.details.get("errors", ())
        yield from (row("seen" if number == 0 else "", each) for number, each in enumerate(errors))
        if step.error.help:
            yield row("help", step.error.help)
        yield from (row("note" if number == 0 else "", each) for number, each in enumerate(step.error.notes))


@lines_of.register
def _(result: CheckResult) -> Iterator[Line]:
    if result.verdict == "unreachable":
        yield Line(Text("not checked: ", BAD), f"{result.uri} could not be reached")
    elif result.verdict == "failed":
        yield Line(Text("failed: ", BAD), f"do not keep a graph at {result.uri}")
    else:
        limits = f" ({result.limits})" if result.limits else ""
        yield Line(Text("passed: ", GOOD), f"no fault found at {result.uri}{limits}")
        yield Line(Text("evidence: ", "bold"), "; ".join(result.evidence))


# ── schemas and queries ──────────────────────────────────────────────────────────────────────────────────────────────


@lines_of.register
def _(result: LintResult) -> Iterator[Line]:
    report = result.report
    if report.diagnostics:
        yield from _diagnostics_lines(report.diagnostics)
        yield Line(Text())
    if report.is_ok:
        yield Line(Text("ok: ", GOOD), _lint_summary(report))
    else:
        yield Line(Text("failed: ", BAD), _lint_summary(report))


def _lint_summary(report: LintReport) -> str:
    """``2 errors and 1 warning in a.pg and b.gq; 3 queries checked``."""
    facts = report.to_dict()
    counts = " and ".join(counted(facts[f"{word}s"], word) for word in ("error", "warning") if facts[f"{word}s"])
    found_in = {each.source.name for each in report.diagnostics}
    examined = [each for each in (report.schema_path, report.query_path) if each is not None]
    files = " and ".join(each for each in dict.fromkeys(examined) if not found_in or each in found_in)
    summary = f"{counts or 'no mistake'} in {files}"
    if report.query_path is None:
        return summary
    if report.results or report.is_ok:
        return f"{summary}; {counted(len(report.results), 'query', 'queries')} checked"
    return f"{summary}; queries are checked when these are gone"


@lines_of.register
def _(result: MigrationResult) -> Iterator[Line]:
    if result.diagnostics:
        yield from _diagnostics_lines(result.diagnostics)
        yield Line(Text())
    yield from (Line(Text(line)) for line in result.plan.render().splitlines())


@lines_of.register
def _(result: ExplainResult) -> Iterator[Line]:
    yield from (Line(Text(line)) for line in result.plan.splitlines())


def _diagnostics_lines(diagnostics: tuple[Diagnostic, ...]) -> Iterator[Line]:
    for number, diagnostic in enumerate(diagnostics):
        if number:
            yield Line(Text())
        yield from _diagnostic_lines(diagnostic)


def _diagnostic_lines(diagnostic: Diagnostic) -> Iterator[Line]:
    """As the compiler lays it out, with colour."""
    from omnigraph.lang.diagnostics import Part, lay_out

    style = _STYLE_OF_SEVERITY[diagnostic.severity]
    for part, text in lay_out(diagnostic):
        match part:
            case Part.HEADLINE:
                word, _, message = text.partition(": ")
                yield Line(Text.assemble((word, style), (": ", "bold")), message, "bold")
            case Part.PLACE | Part.MARGIN:
                yield Line(Text(text, DIM))
            case Part.SOURCE:
                yield Line(_beside_the_bar(text, ""))
            case Part.MARK:
                yield Line(_beside_the_bar(text, style))
            case Part.RELATED:
                yield Line(_beside_the_bar(text, _RELATED))
            case Part.HELP:
                head, mark, advice = text.partition("= help: ")
                yield Line(Text.assemble((head, DIM), (mark, "bold")), advice)


def _beside_the_bar(line: str, style: str) -> Text:
    """A line of source, or the marks below one, with the margin toned down."""
    margin, bar, rest = line.partition("|")
    return Text.assemble((margin + bar, DIM), (rest, style))
