"""Random sentences of the oracle's languages, and random damage to them. Everything follows from one seed.

A sentence is made by expanding the rules of a grammar, so it has the right form and hardly ever a meaning. Damage works
on tokens: some are left out, doubled, swapped or replaced, and blanks go astray.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random

from lark import Lark
from lark.grammar import NonTerminal

WORDS = (
    "title", "x", "_", "_a1", "name", "camelCase", "type", "date", "order", "match", "true", "false", "trueName",
    "node", "edge", "enum", "key", "card", "range", "not", "not_x", "nothing", "contains", "starts_with", "as", "asc",
    "desc", "count", "now", "search", "nearest", "rrf", "limit", "return", "query", "insert", "set", "where",
    "implements", "interface", "unique", "description", "instruction", "follows", "rented",
)  # fmt: skip
FOREIGN = ("null", "distinct", "and", "or", "in", "is", "by", "skip", "offset", "optional", "group", "having", "with")
"""Words of other languages. As names they are as good as any; as bare words they are explained instead of read."""
TYPE_NAMES = ("Film", "Person", "A", "X_1", "String", "Vector", "DateTime", "Date", "I32", "NodeType", "Dates")
STRINGS = (
    '""',
    '"text"',
    '"a \\" quote"',
    '"line\\nbreak"',
    '"real\nbreak"',
    '"été 漢字 🎬"',
    '"// no comment"',
    '"}{"',
)
ENUM_VALUES = ("a", "sci-fi", "-", "--x", "1on1", "t2d", "UPPER", "phase-1", "0", "enum", "true", "x_y")
SAMPLES = {
    # Rules for words, which would otherwise end in the keyword that is the shortest way out.
    "_name": (*WORDS, *FOREIGN),
    "_word": WORDS,
    # In a return block a bare `query` with a name behind it is taken for the next query.
    "_bare_word": tuple(word for word in WORDS if word != "query"),
    "_edge_word": (*WORDS, *FOREIGN),
    "_type_name": TYPE_NAMES,
    "IDENT": WORDS,
    "NOT_WORD": ("not_", "not_x"),
    "TYPE_NAME": TYPE_NAMES,
    "VARIABLE": ("$f", "$p", "$_", "$contains", "$true", "$a_1", "$_x"),
    "ENUM_VALUE": ENUM_VALUES,
    "FLOAT": ("0.0", "1.5", "10.25", "007.0"),
    "INTEGER": ("0", "1", "2", "10", "007", "12", "2147483647"),
    "STRING": STRINGS,
}
ODD_CHARACTERS = (
    "\0", "\x1b", "\x7f", "\x85", "\xa0", "\u200b", "\u2028", "\u202e", "\ufeff", "é", "ß", "\u017f", "\uff41",
    "\uff21", "\uff11", "²", "٣", "漢", "🎬", "#", ";", "'", "`", "\\", "%", "&", "|", "+", "*", "/", "!", "~", "^",
    "$", "\v", "\f",
)  # fmt: skip
"""What stands in no token: letters and digits of other scripts, blanks that are none, marks of other languages."""
BLANKS = (" ", " ", " ", " ", "\n", "\n    ", "\t", "\r\n", " // note\n", "/* a */", " /* x * / ** */ ")

TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\$?[A-Za-z_][A-Za-z0-9_]*|[0-9]+\.[0-9]+|[0-9]+|->|\.\.|[<>!]=|//[^\n]*|\S', re.DOTALL
)


class SentenceMaker:
    """Expands the rules of one grammar at random."""

    def __init__(self, oracle: Lark) -> None:
        self._rules: dict[str, list[Sequence]] = {}
        for rule in oracle.rules:
            self._rules.setdefault(rule.origin.name, []).append(rule.expansion)
        self._patterns = {each.name: each.pattern for each in oracle.terminals}
        self._heights = self._measure()
        self._unit = "query" if "query" in self._rules else "_declaration"

    def _measure(self) -> dict[str, int]:
        """The fewest levels by which each rule comes to an end."""
        heights: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for name, expansions in self._rules.items():
                known = [height for each in expansions if (height := self._height(each, heights)) is not None]
                if known and heights.get(name, 1 << 30) > min(known) + 1:
                    heights[name] = min(known) + 1
                    changed = True
        return heights

    @staticmethod
    def _height(expansion: Sequence, heights: dict[str, int]) -> int | None:
        nested = [each.name for each in expansion if isinstance(each, NonTerminal)]
        if any(name not in heights for name in nested):
            return None
        return max((heights[name] for name in nested), default=0)

    def tokens(self, random: Random) -> list[str]:
        """The tokens of a sentence of one to three declarations or queries, seldom none."""
        found: list[str] = []
        for _ in range(random.choice((0, 1, 1, 1, 1, 1, 1, 1, 2, 3))):
            # Beyond this depth every rule takes its shortest way out.
            self._expand(self._unit, random.choice((8, 10, 12, 16)), random, found)
        return found

    def _expand(self, name: str, depth: int, random: Random, found: list[str]) -> None:
        if name in SAMPLES:
            found.append(random.choice(SAMPLES[name]))
            return
        choices = self._rules[name]
        if depth <= 0:
            shortest = self._heights[name] - 1
            choices = [each for each in choices if self._height(each, self._heights) == shortest]
        for symbol in random.choice(choices):
            if isinstance(symbol, NonTerminal):
                self._expand(symbol.name, depth - 1, random, found)
            else:
                found.append(self._spelled(symbol.name, random))

    def _spelled(self, terminal: str, random: Random) -> str:
        if terminal in SAMPLES:
            return random.choice(SAMPLES[terminal])
        pattern = self._patterns[terminal]
        # A keyword, as itself or with the word boundary that the contextual lexer needs.
        return pattern.value if pattern.type == "str" else pattern.value.split("(?!")[0]


@cache
def maker_of(oracle: Lark) -> SentenceMaker:
    """The maker for a grammar, made once."""
    return SentenceMaker(oracle)


def joined(tokens: Sequence[str], random: Random) -> str:
    """Tokens as text, with blanks and comments between them."""
    if random.random() < 0.5:
        return " ".join(tokens)
    return "".join(f"{token}{random.choice(BLANKS)}" for token in tokens)


def split(text: str) -> list[str]:
    """A text as tokens, roughly; each comment is one, so that it can be damaged too."""
    return TOKEN.findall(text)


def damaged(tokens: Sequence[str], random: Random, spare: tuple[str, ...]) -> list[str]:
    """The tokens with one to three of them left out, doubled, swapped, replaced or moved.

    Half of the time a token is replaced by one of its own kind, so that a good part of what comes out is sound again.
    """
    hurt = list(tokens)
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        if not hurt:
            return [random.choice(spare)]
        place = random.randrange(len(hurt))
        other = random.randrange(len(hurt))
        match random.randrange(14):
            case 0:
                del hurt[place]
            case 1:
                hurt.insert(place, hurt[place])
            case 2:
                hurt[place], hurt[other] = hurt[other], hurt[place]
            case 3:
                hurt[place] = random.choice(spare)
            case 4:
                hurt.insert(place, random.choice(spare))
            case 5:
                hurt[place] = hurt[other]
            case 6:
                del hurt[min(place, other) : min(place, other) + random.randrange(1, 6)]
            case _:
                hurt[place] = random.choice(_by_kind(spare).get(_kind(hurt[place]), spare))
    return hurt


@cache
def _by_kind(spare: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in spare:
        found.setdefault(_kind(each), []).append(each)
    return found


def _kind(token: str) -> str:
    first = token[0]
    return "A" if first.isupper() else "a" if first.islower() or first == "_" else "0" if first.isdigit() else first


SPARE = (
    *WORDS, *TYPE_NAMES, *STRINGS, *(f"${word}" for word in ("f", "p", "_", "x")),
    "{", "}", "(", ")", "[", "]", ":", ",", ".", "..", "->", "<", ">", "<=", ">=", "!=", "=", "?", "@", "-",
    "0", "1", "2", "10", "1.5", "0.0", "sci-fi", "-1", "1on1", "@key", "@card(0..)", "@index(a)", "@x", "now()",
)  # fmt: skip
"""What a token is replaced by: every kind of token, and short pieces that mean something in one place only."""
