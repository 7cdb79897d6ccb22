"""A place in a list of tokens, and the moves that both parsers make.

A parser calls ``fail`` where it cannot go on: the problem is reported once and ``Unreadable`` unwinds to the nearest
place that knows how to recover, which skips to a closing brace or to a word that starts something new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NoReturn

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Report, closest, listed
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, ERROR, KIND_NAMES, Token, scan

MAX_DEPTH: Final = 64
"""How deep blocks, calls and lists may be nested. People write three levels."""

_OPENING: Final = frozenset("{[(")
_CLOSING: Final = frozenset("}])")


class Unreadable(Exception):  # noqa: N818 - a signal between a parser and its recovery, never seen outside
    """The text cannot be read on from here; the reason is in the report."""


class Cursor:
    """Reads tokens one by one; at the end it stays at ``END``.

    Attributes:
        index: which token is next. Parsers that must be fast read the columns of the scan at ``index`` themselves and
            set it when they are done; they never set it behind an ``END``.
    """

    __slots__ = ("depth", "ends", "index", "kinds", "report", "starts", "texts")

    def __init__(self, report: Report) -> None:
        self.report = report
        self.kinds, self.texts, self.starts, self.ends = scan(report)
        self.index = 0
        self.depth = 0

    # ── looking ──

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self.kinds[self.index]

    @property
    def token(self) -> Token:
        """The next token."""
        return self.peek(0)

    def peek(self, ahead: int = 1) -> Token:
        """The token that many places after the next one, at most ``LOOKAHEAD``."""
        place = self.index + ahead
        return Token(self.kinds[place], self.texts[place], self.starts[place], self.ends[place])

    def at_word(self, word: str) -> bool:
        """Whether the next token is this word, which may be a keyword here."""
        return self.texts[self.index] == word

    @property
    def previous_end(self) -> int:
        """Where the last token that was taken ends."""
        return self.ends[self.index - 1] if self.index else 0

    # ── moving ──

    def take(self) -> Token:
        """The next token; the cursor moves behind it."""
        token = self.peek(0)
        if token.kind != END:
            self.index += 1
        return token

    def take_if(self, kind: str) -> Token | None:
        """The next token if it is of this kind."""
        return self.take() if self.kind == kind else None

    def expect(self, kind: str, expected: str | None = None) -> Token:
        """The next token, which must be of this kind. ``expected`` says in words what should stand here."""
        if self.kind != kind:
            self.fail(expected or KIND_NAMES.get(kind, f'"{kind}"'))
        return self.take()

    def expect_name(self, kind: str, expected: str | None = None) -> Name:
        """The next token as a name."""
        token = self.expect(kind, expected)
        return Name(token.text, Span(token.start, token.end))

    def span_from(self, start: int) -> Span:
        """From an offset to the end of what was taken last."""
        return Span(start, self.ends[self.index - 1])

    def span_of(self, index: int) -> Span:
        """Where a token stands."""
        return Span(self.starts[index], self.ends[index])

    def move_to(self, offset: int) -> None:
        """Go on with the first token that starts at the offset or behind it."""
        while self.kind != END and self.starts[self.index] < offset:
            self.index += 1

    # ── giving up and going on ──

    def fail(
        self,
        expected: str,
        *,
        code: Code = Code.UNEXPECTED_TOKEN,
        message: str | None = None,
        help: str | None = None,
        choices: Collection[str] = (),
        span: Span | None = None,
    ) -> NoReturn:
        """Report what should have stood here, unless the tokenizer has spoken of this place already.

        Args:
            expected: completes the sentence "expected ...".
            code: what kind of mistake it is.
            message: what is wrong, when it is known better than "something else was expected".
            help: the next move.
            choices: words of which the one meant is guessed.
            span: the place, when it is not the next token.

        Raises:
            Unreadable: always.
        """
        if not self.is_explained:
            guess = closest(self.token.text, choices) if choices else None
            if choices and help is None:
                help = f"There are: {listed(choices)}"
            self.report.add(
                code,
                span or self.place,
                message or f"expected {expected}, found {describe(self.token)}",
                label=f'did you mean "{guess}"?' if guess else f"expected {expected}",
                help=help,
            )
            if self.report.is_full:
                # Nothing more can be told, so nothing more is read.
                self.index = self.kinds.index(END, self.index)
        raise Unreadable

    @property
    def is_explained(self) -> bool:
        """Whether the tokenizer has told what is wrong here: it is no token, or it swallowed the rest of the text."""
        kind = self.kind
        return kind == ERROR or (kind == END and self.kinds[self.index - 1] == ERROR)

    @property
    def place(self) -> Span:
        """Where the next token stands; the end of the text is shown behind the last token."""
        if self.kind == END and self.index:
            return Span(self.previous_end, self.previous_end + 1)
        return self.token.span

    def skip_to(self, is_start: Callable[[Cursor], bool]) -> None:
        """Leave out tokens up to something that can be read again, or up to the brace that closes this block.

        Whole blocks in between are left out as one, so that a brace inside does not end the block outside.
        """
        kinds = self.kinds
        while (kind := kinds[self.index]) != END and kind != "}":
            if is_start(self):
                return
            if kind == "{":
                self.skip_block()
            else:
                self.index += 1

    def skip_block(self) -> None:
        """Leave out everything from an opening brace to the one that closes it."""
        depth = 0
        kinds = self.kinds
        while (kind := kinds[self.index]) != END:
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
            self.index += 1
            if depth <= 0:
                return

    def enter(self) -> None:
        """One level deeper, until ``leave``. Whoever recovers from ``Unreadable`` sets ``depth`` back to what it was.

        Raises:
            Unreadable: deeper than ``MAX_DEPTH``.
        """
        if self.depth >= MAX_DEPTH:
            try:
                self.fail(
                    "fewer levels",
                    code=Code.TOO_DEEP,
                    message=f"this is nested deeper than {MAX_DEPTH} levels",
                    help="Split it into several queries.",
                )
            finally:
                # However many levels follow, it is one mistake.
                self._leave_out_levels()
        self.depth += 1

    def _leave_out_levels(self) -> None:
        """Behind an opening bracket: leave out everything up to the one that closes it, and that too."""
        open_count = 1
        while open_count and self.kind != END:
            if self.kind in _OPENING:
                open_count += 1
            elif self.kind in _CLOSING:
                open_count -= 1
            self.index += 1

    def leave(self) -> None:
        """Back to the level outside."""
        self.depth -= 1


def describe(token: Token) -> str:
    """What people call this token."""
    if token.kind == END:
        return KIND_NAMES[END]
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return f"the string {text}" if token.kind == "string" else f'"{text}"'
