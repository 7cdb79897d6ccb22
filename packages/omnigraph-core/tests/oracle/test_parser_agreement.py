"""Parsers and oracle agree on what can be read: on sentences of the grammars, and on sentences that were damaged.

Only syntax is compared. A text that the oracle reads may be refused for a value that has the right form: those codes
are listed here. Sizes follow ``OMNIGRAPH_FUZZ_INPUTS``, and everything follows from the seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from language_oracle import accepts, query_oracle, schema_oracle
from lark import Lark
from sentences import FOREIGN, ODD_CHARACTERS, SPARE, damaged, joined, maker_of, split

from omnigraph.errors import CompileError
from omnigraph.lang.codes import Code
from omnigraph.lang.source import SourceText
from omnigraph.query.parser import parse_queries
from omnigraph.schema.parser import parse_schema

CASES = Path(__file__).parents[1] / "cases"
TEXTS = int(os.environ.get("OMNIGRAPH_FUZZ_INPUTS", "6000")) // 6
OF_VALUES = {Code.NUMBER_OUT_OF_RANGE, Code.BAD_VECTOR_DIMENSION, Code.BAD_ENUM, Code.TOO_DEEP}

Parse = Callable[[SourceText], object]
LANGUAGES = {
    "schema": (schema_oracle, parse_schema, "schema/*.pg"),
    "query": (query_oracle, parse_queries, "query/*.gq"),
}


def codes_of(parse: Parse, text: str) -> set[Code]:
    """Why the parser refuses the text; nothing if it does not."""
    try:
        parse(SourceText.of(text))
    except CompileError as error:
        return {each.code for each in error.diagnostics}
    return set()


def disagreement(oracle: Lark, parse: Parse, text: str) -> str | None:
    codes = codes_of(parse, text)
    if not accepts(oracle, text):
        return None if codes else "only the parser reads it"
    if any(word in text for word in FOREIGN):
        codes.discard(Code.UNSUPPORTED_SYNTAX)
    if codes == {Code.UNEXPECTED_TOKEN} and holds_bare_query(oracle, text):
        return None
    return f"only the oracle reads it, the parser says {sorted(codes)}" if codes - OF_VALUES else None


def holds_bare_query(oracle: Lark, text: str) -> bool:
    """Whether the bare word ``query`` stands before a call, which the parser takes for the start of a query."""
    tokens = [each.value for each in oracle.lex(text)]
    starts = sum(one == "query" and other == "(" for one, other in zip(tokens, tokens[2:], strict=False))
    return starts > len(oracle.parse(text).children)


def assert_all_agree(language: str, texts: list[str]) -> None:
    oracle, parse, _ = LANGUAGES[language]
    found = [f"{why}:\n{text}" for text in texts if (why := disagreement(oracle(), parse, text))]
    assert not found, f"{len(found)} of {len(texts)}, the shortest:\n{min(found, key=len)}"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_the_grammar_is_read_by_parser_and_oracle_alike(language: str, seed: int):
    random = Random(seed)
    maker = maker_of(LANGUAGES[language][0]())
    assert_all_agree(language, [joined(maker.tokens(random), random) for _ in range(TEXTS // 2)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_damaged_sentence_is_refused_by_both_or_by_none(language: str, seed: int):
    random = Random(seed)
    maker = maker_of(LANGUAGES[language][0]())
    texts = [joined(damaged(maker.tokens(random), random, SPARE), random) for _ in range(TEXTS // 2)]
    assert_all_agree(language, texts)
    # A run in which nothing is sound, or everything, would prove little.
    sound = sum(accepts(LANGUAGES[language][0](), text) for text in texts)
    assert 0.1 < sound / len(texts) < 0.9


@pytest.mark.parametrize("character", ODD_CHARACTERS, ids=ascii)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_character_of_no_token_is_refused_by_both_wherever_it_stands(language: str, character: str):
    random = Random(ord(character))
    maker = maker_of(LANGUAGES[language][0]())
    texts = []
    for _ in range(12):
        tokens = maker.tokens(random)
        place = random.randrange(len(tokens) + 1)
        # A byte order mark at the very start is none of the text.
        texts.append("\n" + " ".join(tokens[:place]) + random.choice(("", " ")) + character + " ".join(tokens[place:]))
    assert_all_agree(language, texts)
    assert not any(accepts(LANGUAGES[language][0](), text) for text in texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_damaged_realistic_file_is_refused_by_both_or_by_none(language: str):
    files = [path.read_text("utf-8") for path in sorted(CASES.glob(LANGUAGES[language][2]))]
    # One declaration at a time: in a long file one wound would hide the others.
    pieces = [piece for file in files for piece in pieces_of(file)]
    random = Random(0)
    texts = []
    for _ in range(TEXTS):
        tokens = [each for each in split(random.choice(pieces)) if not each.startswith("//")]
        texts.append(" ".join(damaged(tokens, random, SPARE)))
    assert_all_agree(language, texts)


def pieces_of(file: str) -> list[str]:
    """A file cut where a line starts a declaration or a query."""
    pieces: list[list[str]] = [[]]
    for line in file.splitlines(keepends=True):
        if line.startswith(("node ", "edge ", "interface ", "query ")):
            pieces.append([])
        pieces[-1].append(line)
    return ["".join(piece) for piece in pieces[1:]]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("query q() { match { $a: A } return { $a as } }", 44),
        ("query q() { match { $a: A } return { $a as, $b } }", 43),
        ("query q() { match { $a: A } return { $a as Title } }", 44),
    ],
)
def test_an_alias_must_be_a_name(text: str, place: int):
    with pytest.raises(CompileError) as caught:
        parse_queries(SourceText.of(text))
    (found,) = caught.value.diagnostics
    assert found.code is Code.UNEXPECTED_TOKEN
    assert found.position == (1, place)
