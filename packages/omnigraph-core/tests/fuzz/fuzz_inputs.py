"""Broken texts by the hundred thousand, each made from its language, a seed and its number alone.

Whole files and single declarations of ``tests/cases`` and sentences of the oracle's grammars are damaged: characters,
bytes and tokens are taken out, doubled, moved and replaced, pieces of two texts are spliced, parts are repeated many
times, and characters turn up that nobody types on purpose.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from language_oracle import query_oracle, schema_oracle
from sentences import SPARE, damaged, joined, maker_of, split

CASES = Path(__file__).parents[1] / "cases"
PATTERNS = {"schema": "schema/*.pg", "query": "query/*.gq"}
ORACLES = {"schema": schema_oracle, "query": query_oracle}
UNUSUAL = (
    "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\xa0", "\u200b", "\u200f", "\u202e", "\u2028", "\u2029", "\ufeff",
    "\ufffd", "\ufffe", "\ud800", "\udfff", "\U0010ffff", "é", "e\u0301", "ß", "İ", "\u017f", "漢", "שלום", "🎬",
    "👩‍👩‍👧", "\uff11", "٣", "\uff21", "“", "\u2018", "…", "\r", "\v", "\f", "\\", "\\u0041", '"', "'", "`", "#", ";",
    "/*", "*/", "//", "$", "$$", "%", "&&", "||", "\t", "\n", "\r\n", "99999999999999999999", "0" * 400,
    "1" * 400 + ".0", "1.", ".5", "1e9", "-", "--", "..", "...", "->", "=>", "==",
)  # fmt: skip
FILM_WORDS = (
    "Film", "Person", "Titled", "Directed", "Rented", "Follows", "directed", "rented", "follows", "title", "code",
    "genre", "tags", "stars", "released", "added", "plot", "plotVec", "handle", "mail", "on", "from", "to", "src",
    "dst", "id", '"drama"', '"sci-fi"', "$f.stars", "$f.title", "$p.handle", "$f", "$p", "$q", "$x", "$_",
    'date("2020-01-01")', 'datetime("2020-01-01T00:00:00Z")', 'date("x")', "now()", "[1, 2]", "[]", '["a"]', "[[1]]",
    "{1,3}", "{0,}", "not {", "}", "count($f)", 'nearest($f.plotVec, "x")', "search($f.title, $q)",
    "bm25($f.title, $q)", "true", "3.5", "as n", "desc", "limit 1", "order { $f.title }", "@key", "@key(code)",
    "@unique(src, dst)", "@embed(plot)", '@rename_from("title")', "@range(stars, 5..1)", '@check(code, "(")',
    '"(?P<x>a{1,1000}{1,1000})"', "@card(2..1)", "[Blob]", "Blob", "Vector(3)", "enum(a, b)", "Date?", "[String]",
    "I32",
)  # fmt: skip
ARCHIVE_WORDS = (
    "Item", "Member", "Collection", "InCollection", "Borrowed", "Knows", "Cites", "slug", "name", "state", "pages",
    "text", "textVec", "scan", "keywords", "addedAt", "level", "active", "weight", "until", "inCollection",
    "borrowed", "knows", "cites", "$i", "$m", "$c", "$a", "$b", "$e", "$i.pages", "$m.slug", "$e.weight", '"lost"',
    '"partner-1on1"',
)  # fmt: skip
DAMAGE = {"film": (*SPARE, *FILM_WORDS), "archive": (*FILM_WORDS, *ARCHIVE_WORDS)}


class Input(NamedTuple):
    """What is to be compiled: text, or bytes where bytes were damaged; and the schema that it is about."""

    data: str | bytes
    schema: str


@cache
def corpus(language: str) -> tuple[tuple[str, str], ...]:
    """Whole files, and each of their declarations or queries by itself, with the schema that they are about."""
    found: list[tuple[str, str]] = []
    for path in sorted(CASES.glob(PATTERNS[language])):
        file = path.read_bytes().decode("utf-8")
        schema = "archive" if "archive" in path.name or "schema: archive.pg" in file else "film"
        pieces = re.split(r"(?m)^(?=(?:node|edge|interface|query) )", file)
        found += [(each, schema) for each in (file, *pieces) if each.strip()]
    return tuple(found)


def make_input(language: str, seed: int, index: int) -> Input:
    """Input number ``index`` of a run."""
    random = Random(seed << 40 | index)
    text, schema = _whole(language, random)
    kind = random.randrange(10)
    if kind < 5:
        return Input(_join(damaged(split(text), random, DAMAGE[schema]), random), schema)
    if kind < 7:
        return Input(_hurt_characters(text, random), schema)
    if kind == 7:
        return Input(_spliced(text, _whole(language, random)[0], random), schema)
    if kind == 8:
        return Input(_repeated(text, random), schema)
    return Input(_hurt_bytes(text, random), schema)


def _whole(language: str, random: Random) -> tuple[str, str]:
    if random.random() < 0.15:
        return joined(maker_of(ORACLES[language]()).tokens(random), random), "film"
    texts = corpus(language)
    # Single declarations mostly: in a long file the damage drowns.
    found = random.choice(texts)
    return found if len(found[0]) < 1500 or random.random() < 0.1 else random.choice(texts)


def _join(tokens: list[str], random: Random) -> str:
    # A line comment swallows what follows it unless the line ends.
    blank = random.choice((" ", "\n", ""))
    return "".join(f"{each}\n" if each.startswith("//") else each + blank for each in tokens)


def _hurt_characters(text: str, random: Random) -> str:
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        place = random.randrange(len(text) + 1)
        match random.randrange(5):
            case 0:
                text = text[:place] + text[place + 1 :]
            case 1:
                text = text[:place] + random.choice(UNUSUAL) + text[place:]
            case 2:
                text = text[:place] + random.choice(UNUSUAL) + text[place + 1 :]
            case 3:
                text = text[:place] + text[place + random.randrange(20) :]
            case _:
                text = text[:place]
    return text


def _spliced(one: str, other: str, random: Random) -> str:
    return one[: random.randrange(len(one) + 1)] + other[random.randrange(len(other) + 1) :]


def _repeated(text: str, random: Random) -> str:
    start = random.randrange(len(text) + 1)
    part = text[start : start + random.choice((1, 2, 5, 20, 80))]
    return text[:start] + part * random.choice((2, 3, 10, 70, 300)) + text[start:]


def _hurt_bytes(text: str, random: Random) -> bytes:
    data = bytearray(text.encode("utf-8"))
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(data) + 1)
        if random.random() < 0.5:
            data[place:place] = bytes([random.randrange(256)])
        elif place < len(data):
            data[place] ^= 1 << random.randrange(8)
    return bytes(data)
