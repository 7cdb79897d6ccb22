"""The two lark grammars as judges of what is a schema and what is a query file.

They were written from the EBNF and share no line with the hand-written parsers. They only accept or refuse; what a
parser makes of an accepted text is judged elsewhere. Benchmarks use the same two objects.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lark import Lark, UnexpectedInput

HERE = Path(__file__).parent


@cache
def schema_oracle() -> Lark:
    """The schema language."""
    return Lark((HERE / "schema.lark").read_text("utf-8"), parser="lalr", lexer="contextual")


@cache
def query_oracle(*, with_places: bool = False) -> Lark:
    """The query language. With places, trees know where they stand in the text, as ours do."""
    grammar = (HERE / "query.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=with_places)


def accepts(oracle: Lark, text: str) -> bool:
    """Whether the whole text is a sentence of the oracle's language."""
    try:
        oracle.parse(text)
    except UnexpectedInput:
        return False
    return True
