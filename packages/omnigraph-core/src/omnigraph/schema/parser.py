"""The parser of the schema language: recursive descent over tokens, from a source text to ``ast.Schema``.

A mistake is reported once, at the word that is wrong; then reading goes on at the next property, constraint, closing
brace or declaration. Where it is clear what was meant (a missing colon, a lower-case type name) reading goes on as if
it were written. ``is_whole`` is False where something was left out, so that ``check`` does not miss what may be there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import Report, closest
from omnigraph.lang.source import Name, SourceText, Span
from omnigraph.lang.tokens import END, ERROR, IDENT, TYPE_NAME, Token
from omnigraph.schema import ast
from omnigraph.schema.parser_arguments import (
    at_cardinality,
    at_constraint,
    read_annotation,
    read_cardinality,
    read_constraint,
)
from omnigraph.schema.parser_bodies import KEYWORDS, Body, at_declaration, read_body, report_misplaced_cardinality
from omnigraph.schema.parser_characters import explain_characters, leave_out_queries
from omnigraph.schema.parser_types import at_broken_word, at_property

_OTHER_KEYWORDS: Final = {"type": "node", "vertex": "node", "entity": "node", "table": "node", "relation": "edge"}
"""Words of other languages; what they declare is not read, because it is only likely what they mean."""

_ENDS: Final = frozenset({"from", "to", "src", "dst", "source", "target"})
_ONE_PAIR: Final = "Declare an edge for each pair of node types that it connects."
_OTHER_IMPLEMENTS: Final = frozenset({":", "extends", "inherits", "is", "with", "implement"})


def parse_schema(source: SourceText) -> ast.Schema:
    """The schema that a text writes.

    Raises:
        ParseError: it does not follow the grammar; with everything that was found.
    """
    report = Report(source)
    schema = read_schema(report)
    report.raise_if_errors()
    return schema


def read_schema(report: Report) -> ast.Schema:
    """What can be read of the reported text; what cannot is in the report."""
    cursor = Cursor(report)
    explain_characters(cursor)
    declarations: list[ast.Interface | ast.Node | ast.Edge] = []
    is_whole = True
    while cursor.kind != END and not report.is_full:
        check_cancelled()
        token = cursor.token
        if token.kind == "}":
            _report(cursor, 'this "}" closes nothing', "expected a declaration or the end of the file")
            cursor.take()
        elif token.kind == ERROR and token.text[0] in ";#":
            # Reported by the tokenizer; nothing of the schema is lost with it.
            cursor.take()
        elif not declarations and leave_out_queries(cursor):
            return ast.Schema(declarations=(), is_whole=False)
        elif (declaration := _read_declaration(cursor)) is None:
            is_whole = False
        else:
            declarations.append(declaration)
    return ast.Schema(declarations=tuple(declarations), is_whole=is_whole and not report.is_full)


def _read_declaration(cursor: Cursor) -> ast.Interface | ast.Node | ast.Edge | None:
    """The declaration at the cursor; None when it had to be left out."""
    token = cursor.token
    keyword: str | None = token.text
    if keyword not in KEYWORDS:
        keyword = _guess_keyword(cursor)
    if keyword is not None:
        try:
            return _READERS[keyword](cursor)
        except Unreadable:
            pass
    else:
        cursor.take()
    while True:
        cursor.skip_to(at_declaration)
        if cursor.take_if("}") is None:
            return None


def _guess_keyword(cursor: Cursor) -> str | None:
    """What the word at the cursor was meant to be, if it is a misspelled keyword in front of a name."""
    token = cursor.token
    is_named = token.kind in (IDENT, TYPE_NAME) and cursor.peek().kind == TYPE_NAME
    guess = closest(token.text, KEYWORDS) if is_named else None
    if token.kind != ERROR and not at_broken_word(cursor):
        likely = guess or (_OTHER_KEYWORDS.get(token.text.casefold()) if is_named else None)
        _report(
            cursor,
            f'expected "node", "edge" or "interface", found {describe(token)}',
            f'did you mean "{likely}"?' if likely else "expected a declaration",
            help=_advice(token, cursor.peek()),
        )
    return guess


def _advice(token: Token, following: Token) -> str | None:
    if token.text == "enum":
        return "An enum is written where it is used: genre: enum(drama, docu)."
    if token.text == "query":
        return "This looks like a query; queries stand in a file of their own."
    if token.kind == IDENT and following.kind == ":":
        return "Properties stand inside the braces of a declaration."
    return None


# ── declarations ──


def _read_interface(cursor: Cursor) -> ast.Interface:
    start = cursor.take().start
    name = _read_declared_name(cursor, "an interface")
    body = Body("interface")
    with_annotations = _Header()
    try:
        _read_header_annotations(cursor, with_annotations)
        if with_annotations.annotations:
            first = with_annotations.annotations[0]
            cursor.report.add(
                Code.MISPLACED_ANNOTATION,
                Span(first.span.start, first.name.span.end),
                f"an interface takes no annotations, found @{first.name}",
                label="remove it",
                help="Annotations stand on its properties, or on the nodes that implement it.",
            )
        if cursor.at_word("implements") or cursor.at_word("extends"):
            cursor.fail('"{"', message=f"an interface cannot {cursor.token.text.removesuffix('s')} another one")
    except Unreadable:
        _skip_to_body(cursor)
    read_body(cursor, body)
    return ast.Interface(
        name=name, properties=tuple(body.properties), is_whole=body.is_whole, span=cursor.span_from(start)
    )


def _read_node(cursor: Cursor) -> ast.Node:
    start = cursor.take().start
    name = _read_declared_name(cursor, "a node type")
    body = Body("node")
    header = _Header()
    implements: list[Name] = []
    try:
        _read_header_annotations(cursor, header)
        if _at_other_implements(cursor):
            # What stands behind it may be a node, so nothing is said of it.
            body.is_whole = False
            cursor.take()
            _read_implements(cursor, [])
        elif cursor.at_word("implements"):
            cursor.take()
            _read_implements(cursor, implements)
            if cursor.kind == "@":
                _report(
                    cursor,
                    'the annotations of a node stand before "implements"',
                    'expected "{"',
                    code=Code.MISPLACED_ANNOTATION,
                )
                _read_header_annotations(cursor, header)
    except Unreadable:
        body.is_whole = False
        _skip_to_body(cursor)
    read_body(cursor, body)
    return ast.Node(
        name=name,
        annotations=tuple(header.annotations),
        implements=tuple(implements),
        properties=tuple(body.properties),
        constraints=tuple(body.constraints),
        is_whole=body.is_whole,
        span=cursor.span_from(start),
    )


def _read_edge(cursor: Cursor) -> ast.Edge:
    start = cursor.take().start
    name = _read_declared_name(cursor, "an edge")
    body = Body("edge")
    header = _Header()
    source = target = Name("", name.span)
    try:
        if cursor.take_if(":") is None:
            if cursor.kind not in (TYPE_NAME, IDENT) or cursor.peek().kind != "->":
                cursor.fail('":" and the types it connects', help=f"An edge is written edge {name}: Source -> Target.")
            _report(cursor, f"a colon is missing between {name} and the types it connects", 'expected ":"')
        source = _read_endpoint(cursor, "the node type at which the edge starts")
        if cursor.take_if("->") is None:
            _report_missing_arrow(cursor)
        target = _read_endpoint(cursor, "the node type at which the edge ends")
        if cursor.kind == ",":
            cursor.fail("the end of the declaration", message="an edge ends at one node type", help=_ONE_PAIR)
        if at_cardinality(cursor):
            header.cardinality = read_cardinality(cursor)
        _read_header_annotations(cursor, header)
    except Unreadable:
        body.is_whole = False
        if cursor.kind == "{" and cursor.peek().text in _ENDS:
            cursor.skip_block()
        else:
            _skip_to_body(cursor)
    if cursor.kind == "{" or at_property(cursor):
        read_body(cursor, body)
    return ast.Edge(
        name=name,
        source=source,
        target=target,
        cardinality=header.cardinality,
        annotations=tuple(header.annotations),
        properties=tuple(body.properties),
        constraints=tuple(body.constraints),
        is_whole=body.is_whole,
        span=cursor.span_from(start),
    )


_READERS: Final[dict[str, Callable[[Cursor], ast.Interface | ast.Node | ast.Edge]]] = {
    "interface": _read_interface,
    "node": _read_node,
    "edge": _read_edge,
}


class _Header:
    """What was read between the name of a declaration and its body."""

    __slots__ = ("annotations", "cardinality")

    def __init__(self) -> None:
        self.annotations: list[ast.Annotation] = []
        self.cardinality: ast.Cardinality | None = None


def _read_declared_name(cursor: Cursor, what: str) -> Name:
    """The name of a declaration; one in lower case is reported and taken with a capital.

    Raises:
        Unreadable: there is no name.
    """
    if cursor.kind == TYPE_NAME:
        return cursor.expect_name(TYPE_NAME)
    token = cursor.token
    capital = _capitalized(token.text)
    if token.kind != IDENT or not capital[:1].isalpha():
        cursor.fail(f"the name of {what}, which starts with a capital")
    _report_lower_case(cursor, what, capital)
    cursor.take()
    return Name(capital, token.span)


def _capitalized(word: str) -> str:
    word = word.lstrip("_")
    return word[:1].upper() + word[1:]


def _read_endpoint(cursor: Cursor, what: str) -> Name:
    """A node type in the header of an edge; one in lower case is reported and counts as unread."""
    token = cursor.token
    if token.kind != IDENT:
        return cursor.expect_name(TYPE_NAME, what)
    _report_lower_case(cursor, "a node type", _capitalized(token.text))
    cursor.take()
    return Name("", token.span)


def _report_lower_case(cursor: Cursor, what: str, capital: str) -> None:
    _report(
        cursor,
        f"the name of {what} starts with a capital, found {describe(cursor.token)}",
        f'did you mean "{capital[:40]}"?',
    )


def _report_missing_arrow(cursor: Cursor) -> None:
    """Something else than an arrow between two types, up to three marks long; or several types in front of it."""
    arrow = next((each for each in map(cursor.peek, range(5)) if each.kind in ("->", "{", "}", "@", END)), None)
    if arrow is not None and arrow.kind == "->":
        if cursor.kind != ERROR:
            _report(cursor, "an edge starts at one node type", 'expected "->"', help=_ONE_PAIR)
        cursor.move_to(arrow.end)
        return
    if cursor.kind != ERROR:
        _report(
            cursor,
            f'expected "->" between the source and the target of the edge, found {describe(cursor.token)}',
            'expected "->"',
        )
    for ahead in range(4):
        if cursor.peek(ahead).kind == TYPE_NAME:
            cursor.move_to(cursor.peek(ahead).start)
            return
        if cursor.peek(ahead).kind in ("{", "}", "@", END):
            break
    raise Unreadable


def _at_other_implements(cursor: Cursor) -> bool:
    """Whether a word or mark stands here that other languages write for "implements", which is reported."""
    if cursor.texts[cursor.index] not in _OTHER_IMPLEMENTS or cursor.peek().kind != TYPE_NAME:
        return False
    _report(
        cursor,
        f'expected "implements" in front of the interfaces of a node, found {describe(cursor.token)}',
        'did you mean "implements"?',
        help="A node implements interfaces; nodes do not extend one another.",
    )
    return True


def _read_implements(cursor: Cursor, implements: list[Name]) -> None:
    while True:
        if cursor.kind == IDENT and not at_property(cursor):
            _report_lower_case(cursor, "an interface", _capitalized(cursor.token.text))
            raise Unreadable
        implements.append(cursor.expect_name(TYPE_NAME, "the name of an interface"))
        if cursor.take_if(",") is None:
            if cursor.kind != TYPE_NAME:
                return
            _report(cursor, f"a comma is missing before {describe(cursor.token)}", 'expected ","')


def _read_header_annotations(cursor: Cursor, header: _Header) -> None:
    """Annotations up to the body; constraints and cardinalities that stand among them are reported and left out."""
    while cursor.kind == "@":
        if at_constraint(cursor):
            name = cursor.peek().text
            _report(
                cursor,
                f"@{name}(...) stands in the body of a declaration",
                "expected inside the braces",
                code=Code.MISPLACED_ANNOTATION,
                span=cursor.token.span.to(cursor.peek().span),
            )
            read_constraint(cursor)
        elif at_cardinality(cursor):
            report_misplaced_cardinality(cursor)
        else:
            annotation = read_annotation(cursor)
            if annotation is not None:
                header.annotations.append(annotation)


def _skip_to_body(cursor: Cursor) -> None:
    cursor.skip_to(lambda here: here.kind == "{" or at_declaration(here))


def _report(
    cursor: Cursor,
    message: str,
    label: str,
    *,
    code: Code = Code.UNEXPECTED_TOKEN,
    help: str | None = None,
    span: Span | None = None,
) -> None:
    cursor.report.add(code, span or cursor.place, message, label=label, help=help)
