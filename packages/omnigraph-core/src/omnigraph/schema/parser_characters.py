"""Characters that start no token, as people write them in schemas, and files that are no schema at all.

The tokenizer speaks for both languages. Here the neighbours of such a character say what was meant: ``String!`` and
``@card(0..*)`` are how other languages write what this one writes in another way.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, describe
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.tokens import END, IDENT, TYPE_NAME

_OF_QUERIES: Final = "&|+*/%$"
"""Characters of which the tokenizer says how queries do without them."""


def explain_characters(cursor: Cursor) -> None:
    """Put what helps in a schema into the diagnostics of the tokenizer."""
    diagnostics = cursor.report.diagnostics
    for place, each in enumerate(diagnostics):
        if each.code is Code.UNEXPECTED_CHARACTER:
            diagnostics[place] = _explained(cursor, each)


def _explained(cursor: Cursor, diagnostic: Diagnostic) -> Diagnostic:
    index = bisect_left(cursor.starts, diagnostic.span.start)
    character = cursor.texts[index][:1]
    before = cursor.kinds[index - 1] if index else END
    if character == "!" and before in (TYPE_NAME, ")", "]"):
        help = "Types are required unless ? stands behind them: String is never missing, String? may be."
        return replace(diagnostic, label="remove it", help=help)
    if character == "*" and before == "..":
        minimum = cursor.texts[index - 2]
        return replace(diagnostic, label=f"write {minimum}..", help="A bound that is open is left out.")
    if character == "|":
        help = "A property has one type, and the values of an enum stand between commas: enum(a, b)."
        return replace(diagnostic, label=None, help=help)
    if character == "&":
        return replace(diagnostic, help="Several interfaces stand between commas: implements First, Second.")
    return replace(diagnostic, help=None) if character in _OF_QUERIES else diagnostic


def leave_out_queries(cursor: Cursor) -> bool:
    """Whether the next declaration is a query, which is reported; then nothing more is read, for it is another file."""
    name, behind = cursor.peek(), cursor.peek(2)
    if not cursor.at_word("query") or name.kind not in (IDENT, TYPE_NAME) or behind.kind not in ("(", "{", "@"):
        return False
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.place,
        f"expected a declaration, found {describe(cursor.token)}",
        label='expected "node", "edge" or "interface"',
        help="This looks like queries; a schema holds declarations of nodes, edges and interfaces.",
    )
    cursor.index = cursor.kinds.index(END, cursor.index)
    return True
