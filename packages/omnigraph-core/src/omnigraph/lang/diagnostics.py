"""What is wrong with a text, where, and what to do about it; and how that looks.

    error[T6]: Person has no property "nme"
     --> people.gq:3:12
      |
    3 |     $p.nme = $name
      |        ^^^ did you mean "name"?
      = help: Person has: age, name

A ``Report`` collects diagnostics while a text is read, so that one run tells all of them. Rendering is a function of
the diagnostic; colour is added by whoever prints it. Source text is foreign: control characters are shown, never sent.
"""

from __future__ import annotations

import difflib
import heapq
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from omnigraph.errors import CheckError, ParseError
from omnigraph.lang.codes import Area, Code, Severity
from omnigraph.lang.source import Position, SourceText, Span

MAX_ERRORS: Final = 100
"""A text with more errors is not read further: the first ones explain the rest."""

_MAX_GUESS_LENGTH: Final = 64
"""Longer words are not compared with others; the comparison takes quadratic time."""

_MAX_GUESSES: Final = 100
"""Among more choices than this only the most promising ones are compared, so that guessing never takes long."""

_MAX_SENTENCE_LENGTH: Final = 600
"""A name may have a million letters, and no message repeats it: longer sentences are cut in their middle."""

_WINDOW: Final = 100
"""How many columns of a long line are shown around the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Another place that a diagnostic speaks of, such as the first of two declarations."""

    span: Span
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that is wrong.

    Attributes:
        message: what is wrong, with which thing; one sentence without a full stop.
        label: what stands under the carets: what was expected here, or the best guess.
        help: the next move, when the label does not say it.
    """

    code: Code
    message: str
    source: SourceText
    span: Span
    label: str | None = None
    help: str | None = None
    related: tuple[Related, ...] = field(default=())

    def __str__(self) -> str:
        return render_one(self)

    @property
    def severity(self) -> Severity:
        return self.code.severity

    @property
    def position(self) -> Position:
        return self.source.position(self.span.start)

    @property
    def headline(self) -> str:
        """All of it on one line, with the prefix that programs written for the original look for."""
        return f"{self.code.area} error: {self.code}: {_visible(self.message)}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form. Lines and columns count from 1, the end is exclusive."""
        start, end = self.position, self.source.position(self.span.end)
        return {
            "severity": str(self.severity),
            "code": str(self.code),
            "message": self.message,
            "label": self.label,
            "help": self.help,
            "file": self.source.name,
            "line": start.line,
            "column": start.column,
            "end_line": end.line,
            "end_column": end.column,
            "related": [self._related_to_dict(each) for each in self.related],
        }

    def _related_to_dict(self, related: Related) -> dict[str, Any]:
        line, column = self.source.position(related.span.start)
        return {"line": line, "column": column, "label": related.label}


class Report:
    """Collects what is wrong with one text."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def __len__(self) -> int:
        return len(self.diagnostics)

    @property
    def is_full(self) -> bool:
        return len(self.diagnostics) >= MAX_ERRORS

    @property
    def has_errors(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.diagnostics)

    def add(
        self,
        code: Code,
        span: Span,
        message: str,
        *,
        label: str | None = None,
        help: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Note one more. At one place each code is told once.

        The error for which there is no room any more is told as ``TOO_MANY_ERRORS``; a warning is left out then.
        """
        if self.is_full or any(each.span == span and each.code is code for each in self.diagnostics):
            return
        if len(self.diagnostics) == MAX_ERRORS - 1:
            if code.severity is not Severity.ERROR:
                return
            code, message, help, related = Code.TOO_MANY_ERRORS, f"more than {MAX_ERRORS - 1} errors", None, ()
            label = "nothing beyond this was reported"
        self.diagnostics.append(
            Diagnostic(
                code=code,
                message=_short(message),
                source=self.source,
                span=span,
                label=label and _short(label),
                help=help and _short(help),
                related=tuple(related),
            )
        )

    def in_order(self) -> tuple[Diagnostic, ...]:
        """By place in the text; that there were too many comes last."""
        return tuple(sorted(self.diagnostics, key=lambda each: (each.code is Code.TOO_MANY_ERRORS, each.span)))

    def raise_if_errors(self) -> None:
        """Turn errors into an exception; warnings alone raise nothing.

        Raises:
            ParseError: at least one of them is about syntax.
            CheckError: all of them are about meaning.
        """
        if not self.has_errors:
            return
        found = self.in_order()
        if any(each.code.area is Area.PARSE and each.code is not Code.TOO_MANY_ERRORS for each in found):
            raise ParseError(found)
        raise CheckError(found)


def _short(sentence: str) -> str:
    if len(sentence) <= _MAX_SENTENCE_LENGTH:
        return sentence
    half = _MAX_SENTENCE_LENGTH // 2
    return f"{sentence[:half]}…{sentence[-half:]}"


def is_slip(word: str, choices: Iterable[str]) -> bool:
    """Whether the word is one of the choices but for a letter or so: surely meant, even when not all are known."""
    return closest(word, choices, likeness=0.8) is not None


def closest(word: str, choices: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The choice that was probably meant, if one is near enough; ``likeness`` is 1 for equal words."""
    if len(word) > _MAX_GUESS_LENGTH:
        return None
    by_folded = {choice.casefold(): choice for choice in choices if len(choice) <= _MAX_GUESS_LENGTH}
    folded = word.casefold()
    candidates: Iterable[str] = by_folded
    if len(by_folded) > _MAX_GUESSES:
        of_this_length = [each for each in by_folded if abs(len(each) - len(folded)) <= 2]
        candidates = heapq.nlargest(_MAX_GUESSES, of_this_length, key=lambda each: _shared_ends(folded, each))
    near = difflib.get_close_matches(folded, candidates, n=1, cutoff=likeness)
    return by_folded[near[0]] if near else None


def _shared_ends(left: str, right: str) -> int:
    """How many characters two words have in common at their start and their end."""
    return _shared_start(left, right) + _shared_start(left[::-1], right[::-1])


def _shared_start(left: str, right: str) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """A label with the best guess, or None without one."""
    guess = closest(word, choices)
    return None if guess is None else f'did you mean "{guess}"?'


def listed(choices: Iterable[str], *, at_most: int = 12) -> str:
    """Choices in a sentence: sorted, and cut when there are many."""
    words = sorted(choices)
    if not words:
        return "none"
    more = len(words) - at_most
    return ", ".join(words[:at_most]) + (f" and {more} more" if more > 0 else "")


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """All of them, an empty line between two."""
    return "\n\n".join(render_one(each) for each in diagnostics)


def render_one(diagnostic: Diagnostic) -> str:
    """A headline, the place, the line with carets under it, and the help."""
    return "\n".join(text for _, text in lay_out(diagnostic))


class Part(StrEnum):
    """What a line of a rendered diagnostic is, for whoever adds colour."""

    HEADLINE = "headline"
    PLACE = "place"
    MARGIN = "margin"
    SOURCE = "source"
    MARK = "mark"
    RELATED = "related"
    HELP = "help"


def lay_out(diagnostic: Diagnostic) -> Iterator[tuple[Part, str]]:
    """The lines of a rendered diagnostic. Lines of source are in their order, each once, and marks stand below them."""
    source = diagnostic.source
    places = [(source.position(diagnostic.span.start).line, Part.MARK, diagnostic.span, diagnostic.label)]
    places += [
        (source.position(each.span.start).line, Part.RELATED, each.span, each.label) for each in diagnostic.related
    ]
    # Sorting is stable: on one line the place itself comes first.
    places.sort(key=lambda each: each[0])
    width = len(str(places[-1][0]))
    gutter = " " * width
    line, column = diagnostic.position
    yield Part.HEADLINE, f"{diagnostic.severity}[{diagnostic.code}]: {_visible(diagnostic.message)}"
    yield Part.PLACE, f"{gutter}--> {_visible(source.name)}:{line}:{column}"
    yield Part.MARGIN, f"{gutter} |"
    before: tuple[int, str] | None = None
    for number, part, span, label in places:
        shown, padding, length = _excerpt(source, span)
        if before is not None and number > before[0] + 1:
            yield Part.MARGIN, "..."
        # A long line is cut around each place, so it may have to be shown again.
        if before != (number, shown):
            yield Part.SOURCE, f"{number:>{width}} | {shown}".rstrip()
        before = number, shown
        mark = "^" if part is Part.MARK else "-"
        yield part, f"{gutter} | {' ' * padding}{mark * length}" + (f" {_visible(label)}" if label else "")
    if diagnostic.help:
        yield Part.HELP, f"{gutter} = help: {_visible(diagnostic.help)}"


def _excerpt(source: SourceText, span: Span) -> tuple[str, int, int]:
    """What is shown of a line, how far the carets stand from its start, and how many there are."""
    start, line = source.line_at(span.start)
    column = min(span.start - start, len(line))
    end = max(min(span.end - start, len(line)), column)
    first = max(0, column - _WINDOW // 2) if len(line) > _WINDOW else 0
    last = min(len(line), first + _WINDOW)
    shown = _visible(line[first:last])
    if first:
        shown = "…" + shown
    if last < len(line):
        shown += "…"
    padding = _columns(_visible(line[first:column])) + (1 if first else 0)
    return shown, padding, max(1, _columns(_visible(line[column : min(end, last)])))


def _visible(text: str) -> str:
    """Text that can do nothing to a terminal: tabs as blanks, other control characters by their number."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("    " if each == "\t" else each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text)


def _columns(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(each) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )
