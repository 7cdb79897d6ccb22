"""One tokenizer for both languages: text in, tokens out.

Keywords are not reserved, so they are words like any other here. Blanks and comments stand between tokens and are none.
Whatever starts no token is reported and becomes an ``ERROR`` token, at which a parser stops without a word of its own.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final, NamedTuple

from omnigraph.cancellation import check_cancelled
from omnigraph.errors import ResourceLimitError
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import Span

# Kinds of tokens. A mark such as "{" or "->" is its own kind.
IDENT: Final = "ident"
TYPE_NAME: Final = "type_name"
VARIABLE: Final = "variable"
INTEGER: Final = "integer"
FLOAT: Final = "float"
STRING: Final = "string"
ERROR: Final = "error"
END: Final = "end"

KIND_NAMES: Final = {
    IDENT: "a name that starts with a lower-case letter",
    TYPE_NAME: "a name that starts with a capital",
    VARIABLE: "a variable",
    INTEGER: "an integer",
    FLOAT: "a number",
    STRING: "a string",
    END: "the end of the file",
}
"""What people call the kinds; marks are called by themselves."""

MAX_INTEGER: Final = 9_223_372_036_854_775_807
MAX_UNSIGNED: Final = 18_446_744_073_709_551_615
"""The largest U64."""

MAX_CHARACTERS: Final = 16 * 1024**2
"""How long a text in either language may be. Data belongs into parameters and loads."""

LOOKAHEAD: Final = 5
"""How far behind the next token a parser may look, in every case."""


class Token(NamedTuple):
    """A word of the language.

    Attributes:
        text: as written, quotes, ``$`` and escapes included.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


# Quantifiers are possessive, so that no input makes an expression try twice.
_TRIVIA: Final = r"[ \t\r\n]*+(?:/(?:/[^\n]*+|\*(?s:.*?)\*/)[ \t\r\n]*+)*+"
_STRING: Final = r'"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+"'

# What is not closed takes all that is left, so that it is looked at once.
_PIECES: Final = re.compile(
    rf"""({_TRIVIA})([a-zA-Z_$][A-Za-z0-9_]*+|[{{}}()\[\]:,?@]|{_STRING}|[0-9]++(?:\.[0-9]++)?|->|\.\.|[<>!]="""
    r"""|\Z|(?:"|/\*)(?s:.*+)|(?s:.))"""
)
_CLOSED_STRING: Final = re.compile(_STRING)
_TOKEN: Final = re.compile(
    _TRIVIA
    + rf"""
    (?:
        (?P<ident> [a-z_][A-Za-z0-9_]*+ )
      | (?P<variable> \$[a-z_][A-Za-z0-9_]*+ )
      | (?P<mark> -> | \.\. | [<>!]= | [{{}}()\[\]:,.<>=?@-] )
      | (?P<type_name> [A-Z][A-Za-z0-9_]*+ )
      | (?P<string> {_STRING} )
      | (?P<float> [0-9]++\.[0-9]++ )
      | (?P<integer> [0-9]++ )
      | (?P<end> \Z )
      | (?P<error> (?s:.) )
    )
    """,
    re.VERBOSE,
)
_WORD_OF_ANY_SCRIPT: Final = re.compile(r"\$?\w+")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_CLOSING_QUOTES: Final = {"\u201c": "\u201d", "\u201e": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb"}
_LONGEST_QUOTED: Final = 200
_OTHER_QUOTES: Final = "'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"


class Scan(NamedTuple):
    """Tokens as columns: the same place of each list belongs to one token. Several ``END`` stand at the end."""

    kinds: list[str]
    texts: list[str]
    starts: list[int]
    ends: list[int]


class _Kinds(dict[str, str]):
    """The kind of every text of a token that was seen, as long as there are few."""

    def __missing__(self, text: str) -> str:
        first = text[:1]
        if not first.isascii():
            # Other scripts have digits and lower case too, and no part in names and numbers.
            raise KeyError(text)
        if first.islower() or first == "_":
            kind = IDENT
        elif first.isdigit():
            kind = FLOAT if "." in text else INTEGER
        elif first == '"' and _is_closed(text):
            kind = STRING
        elif first.isupper():
            kind = TYPE_NAME
        elif first == "$" and (text[1:2].islower() or text[1:2] == "_"):
            kind = VARIABLE
        elif text in _MARKS:
            kind = text
        elif not text:
            kind = END
        else:
            raise KeyError(text)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[text] = kind
        return kind


def _is_closed(text: str) -> bool:
    """Whether a text that starts with a quote is a whole string."""
    return text[-1] == '"' and len(text) > 1 and ("\\" not in text or _CLOSED_STRING.fullmatch(text) is not None)


_PIECES_AT_A_TIME: Final = 100_000
_TOKENS_AT_A_TIME: Final = 1_000
_MARKS: Final = frozenset(("->", "..", "<=", ">=", "!=", *"{}()[]:,.<>=?@-"))
_LONGEST_REMEMBERED: Final = 40
_MOST_REMEMBERED: Final = 4096
_KINDS: Final = _Kinds()


def scan(report: Report) -> Scan:
    """The tokens of the reported source. A text without mistakes is cut by one expression; others one by one.

    Raises:
        ResourceLimitError: the text is longer than ``MAX_CHARACTERS``.
    """
    text = report.source.text
    _check_length(report)
    if not text.isascii():
        _check_encodable(text, report)
    parts = _pieces(text)
    # Between two pieces stands nothing. What is left is trivia and a token by turns.
    del parts[::3]
    texts = parts[1::2]
    try:
        kinds = list(map(_KINDS.__getitem__, texts))
    except KeyError:
        return _columns(tokenize(report))
    bounds = list(accumulate(map(len, parts)))
    return _padded(Scan(kinds, texts, bounds[0::2], bounds[1::2]))


def _pieces(text: str) -> list[str]:
    """The text split by its pieces; a long one some pieces at a time, so that a call can end in between."""
    parts: list[str] = []
    while True:
        check_cancelled()
        found = _PIECES.split(text, _PIECES_AT_A_TIME)
        # The end of the text is a piece too, and an empty one.
        if not found[-2]:
            return parts + found if parts else found
        # What is left comes last. It starts where a piece does, so it is split as it would have been.
        text = found.pop()
        parts += found


def _columns(tokens: list[Token]) -> Scan:
    kinds, texts, starts, ends = zip(*tokens, strict=True)
    return _padded(Scan(list(kinds), list(texts), list(starts), list(ends)))


def _padded(found: Scan) -> Scan:
    kinds, texts, starts, ends = found
    kinds += [END] * LOOKAHEAD
    texts += [""] * LOOKAHEAD
    starts += [ends[-1]] * LOOKAHEAD
    ends += [ends[-1]] * LOOKAHEAD
    return found


def tokenize(report: Report) -> list[Token]:
    """The tokens of the reported source one by one, an ``END`` last. What starts no token is reported."""
    text = report.source.text
    tokens: list[Token] = []
    append = tokens.append
    new = Token._make
    match_at = _TOKEN.match
    place = 0
    while True:
        if not len(tokens) % _TOKENS_AT_A_TIME:
            check_cancelled()
        match = match_at(text, place)
        # The last alternative takes any character, so there always is a match.
        assert match is not None  # noqa: S101
        kind = match.lastgroup
        assert kind is not None  # noqa: S101
        start, place = match.span(kind)
        if kind == "error":
            place = _take_error(start, report, tokens)
            if report.is_full:
                # The parsers stop as well; the rest of a text without end would only take time.
                append(new((END, "", place, place)))
                return tokens
            continue
        piece = text[start:place]
        append(new((piece if kind == "mark" else kind, piece, start, place)))
        if kind == "end":
            return tokens


def _check_length(report: Report) -> None:
    length = len(report.source.text)
    if length > MAX_CHARACTERS:
        raise ResourceLimitError(
            f"{report.source.name} has {length:,} characters, and a text may have {MAX_CHARACTERS:,}.",
            resource="source_characters",
            limit=MAX_CHARACTERS,
            actual=length,
            help="Pass values as parameters, split the text, or load the data with load.",
        )


def _check_encodable(text: str, report: Report) -> None:
    """Half of a surrogate pair cannot be stored, hashed or printed."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        report.add(
            Code.NOT_UTF8,
            Span(error.start, error.start + 1),
            "half of a surrogate pair is no character",
            help="Read the file as UTF-8, without surrogateescape.",
        )


def _take_error(start: int, report: Report, tokens: list[Token]) -> int:
    """Report what starts no token; answers where to go on."""
    text = report.source.text
    character = text[start]
    end = start + 1
    if character == '"':
        # Strings may span lines, so what is open stays open to the end; the place of the quote is what helps.
        end = len(text)
        report.add(
            Code.UNCLOSED_STRING,
            Span(start, start + 1),
            "this string has no closing quote",
            label="opened here",
            help='Write \\" for a quote inside a string.',
        )
    elif text.startswith("/*", start):
        end = len(text)
        report.add(
            Code.UNCLOSED_COMMENT, Span(start, start + 2), "this comment is not closed", label="no */ follows this"
        )
    else:
        if character == "#":
            # Meant as a comment: what follows on the line is no code.
            line_end = text.find("\n", start)
            end = len(text) if line_end < 0 else line_end
        elif character in _OTHER_QUOTES:
            end = _end_of_quoted(text, start)
        elif character in "&|" and text.startswith(character, end):
            end += 1
        elif (character == "$" or character.isalpha()) and (word := _WORD_OF_ANY_SCRIPT.match(text, start)):
            end = word.end()
        report.add(
            Code.UNEXPECTED_CHARACTER,
            Span(start, start + 1 if character == "#" else end),
            f"{_shown(character if character == '#' else text[start:end])} cannot stand here",
            help=_advice(text, start),
        )
    tokens.append(Token(ERROR, text[start:end], start, end))
    return end


def _end_of_quoted(text: str, start: int) -> int:
    """Behind the quote that closes this one, if it stands on the same line; a text in wrong quotes is one mistake."""
    line_end = text.find("\n", start)
    stop = len(text) if line_end < 0 else line_end
    closing = text.find(_CLOSING_QUOTES.get(text[start], text[start]), start + 1, min(stop, start + _LONGEST_QUOTED))
    return start + 1 if closing < 0 else closing + 1


def _shown(word: str) -> str:
    if not word.isprintable():
        return f"the character U+{ord(word[0]):04X}"
    return f'"{word[:40]}"'


def _advice(text: str, start: int) -> str | None:
    character = text[start]
    if character == "#":
        return "Comments start with // here."
    if character == "$":
        return "A variable is $ and, right behind it, a name that starts with a lower-case letter."
    if character in _OTHER_QUOTES:
        return 'Strings stand in double quotes: "text".'
    if character == "&" or character == "|":
        return "There is no and/or: clauses in a match block must all hold."
    if character in "+*/%":
        return "There is no arithmetic; compute the value before and pass it as a parameter."
    if character == ";":
        return "Nothing needs a semicolon; a line break or a blank is enough."
    if character == "\0":
        return "This is a NUL byte; is the file text?"
    if not character.isascii() and character.isalpha():
        return "Names are made of the letters A-Z and a-z, digits and _; other letters belong into strings."
    return None


def string_value(token: Token, report: Report) -> str:
    """What a string token means. A wrong escape is reported and left as it is."""
    body = token.text[1:-1]
    if "\\" not in body:
        return body

    def replaced(match: re.Match[str]) -> str:
        letter = match[1]
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        place = token.start + 1 + match.start()
        shown = _shown(match[0]) if letter.isprintable() else "of \\ and " + _shown(letter)
        report.add(
            Code.UNSUPPORTED_ESCAPE,
            Span(place, place + 2),
            f"unsupported escape sequence {shown}",
            label="not an escape",
            help='The escapes are \\" \\\\ \\n \\r \\t; a backslash itself is written \\\\.',
        )
        return match[0]

    return _ESCAPE.sub(replaced, body)


def integer_value(token: Token, report: Report, *, largest: int = MAX_INTEGER) -> int:
    """What an integer token means; 0 for one that is too large, which is reported."""
    digits = token.text.lstrip("0")
    # Python itself refuses to read thousands of digits.
    if len(digits) > len(str(largest)) or (value := int(digits or "0")) > largest:
        report.add(
            Code.NUMBER_OUT_OF_RANGE,
            token.span,
            "this integer is too large",
            label=f"the largest is {largest}",
        )
        return 0
    return value


def float_value(token: Token, report: Report) -> float:
    """What a float token means; 0.0 for one that is not finite, which is reported."""
    value = float(token.text)
    if value == float("inf"):
        report.add(Code.NUMBER_OUT_OF_RANGE, token.span, "this number is too large", label="it would be infinite")
        return 0.0
    return value
