"""The bodies of declarations: properties and constraints between braces.

Recovery happens here at the smallest scale: a member that cannot be read is left out up to the next property,
constraint, closing brace or declaration, and the body is marked as not whole. An interface takes properties only.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.cursor import Cursor, Unreadable, describe
from omnigraph.lang.diagnostics import Related
from omnigraph.lang.source import Name, Span
from omnigraph.lang.tokens import END, ERROR, IDENT, STRING, TYPE_NAME, Token
from omnigraph.lang.types import SCALAR_NAMES, Scalar, ValueType
from omnigraph.schema import ast
from omnigraph.schema.parser_arguments import (
    at_cardinality,
    at_constraint,
    read_annotation,
    read_cardinality,
    read_constraint,
)
from omnigraph.schema.parser_types import at_broken_word, at_property, read_type

KEYWORDS: Final = ("node", "edge", "interface")

_UNKNOWN_TYPE: Final = ValueType(Scalar.STRING)
"""Stands for a type that could not be read; the property is then not whole."""


class Body:
    """What was read between two braces. ``owner`` is the keyword of the declaration."""

    __slots__ = ("constraints", "has_comma", "is_whole", "owner", "properties")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.properties: list[ast.Property] = []
        self.constraints: list[ast.Constraint] = []
        self.is_whole = True
        self.has_comma = False


def at_declaration(cursor: Cursor) -> bool:
    """Whether a declaration seems to start here, even where a property could; or a query, which ends one too."""
    if cursor.kinds[cursor.index] != IDENT:
        return False
    word, name = cursor.texts[cursor.index : cursor.index + 2]
    kind, behind = cursor.kinds[cursor.index + 1 : cursor.index + 3]
    if word not in KEYWORDS:
        return (kind == TYPE_NAME and behind == "{") or (word == "query" and kind == IDENT and behind in ("(", "{"))
    if kind == TYPE_NAME:
        return name not in SCALAR_NAMES or behind == "{"
    return kind == IDENT and (behind == "{" or (word == "edge" and behind == ":"))


def read_body(cursor: Cursor, body: Body) -> None:
    """Everything between the braces, and both of them; each may be missing, which is reported."""
    opening = cursor.token
    if cursor.take_if("{") is None:
        # A colon in front of a name is how Python starts a block.
        has_properties = at_property(cursor) or (cursor.kind == ":" and cursor.peek().kind == IDENT)
        if cursor.kind != ERROR:
            _report(
                cursor,
                f'expected "{{", found {describe(cursor.token)}',
                'expected "{"',
                help="Properties stand between braces: { name: String }."
                if has_properties
                else f"The body of an empty {body.owner} is {{}}.",
            )
        if has_properties:
            cursor.take_if(":")
        if not at_property(cursor):
            body.is_whole = False
            return
    while not cursor.report.is_full:
        check_cancelled()
        if cursor.take_if("}"):
            return
        if cursor.kind == END or at_declaration(cursor):
            _report_unclosed(cursor, opening, body)
            return
        try:
            _read_member(cursor, body)
        except Unreadable:
            body.is_whole = False
            if cursor.kind == ERROR:
                cursor.take()
            cursor.skip_to(_at_member)


def report_misplaced_cardinality(cursor: Cursor) -> None:
    """``@card(...)`` anywhere else than right behind the target of an edge; the cursor moves behind it."""
    _report_at_word(
        cursor,
        "@card(...) stands right behind the target type of an edge",
        "move it",
        help="An edge is written edge Name: Source -> Target @card(0..1) @annotation.",
    )
    read_cardinality(cursor)


def _at_member(cursor: Cursor) -> bool:
    return at_property(cursor) or at_constraint(cursor) or at_declaration(cursor)


def _read_member(cursor: Cursor, body: Body) -> None:
    """A property or a constraint.

    Raises:
        Unreadable: it is neither.
    """
    kind = cursor.kind
    if kind == IDENT:
        _read_property(cursor, body)
        return
    if kind == "@":
        _read_marked(cursor, body)
        return
    token, following = cursor.token, cursor.peek()
    if token.kind == TYPE_NAME and following.kind == ":":
        _read_property(cursor, body)
    elif token.kind == ",":
        if not body.has_comma:
            _report(
                cursor, "no commas stand between properties", "remove it", help="A blank or a line break is enough."
            )
        body.has_comma = True
        cursor.take()
    elif token.kind == ERROR and token.text[0] in ";#":
        cursor.take()
    else:
        cursor.fail('a property, a constraint or "}"', help=_advice(token, following))


def _advice(token: Token, following: Token) -> str | None:
    if token.kind == "=":
        return "There are no default values; every insert says what it stores."
    if token.kind == STRING and following.kind == ":":
        return "The names of properties stand without quotes."
    if token.kind == "?":
        return "One ? behind the type says that it may be missing."
    return None


def _read_marked(cursor: Cursor, body: Body) -> None:
    """Something with an ``@`` that belongs to no property."""
    if at_constraint(cursor):
        if body.owner == "interface":
            name = cursor.peek().text
            _report_at_word(
                cursor,
                f"an interface takes no constraints, found @{name}(...)",
                "remove it",
                help=f"Write @{name} on the property, or the constraint in the nodes that implement the interface.",
            )
        constraint = read_constraint(cursor)
        if constraint is not None and body.owner != "interface":
            body.constraints.append(constraint)
    elif at_cardinality(cursor):
        report_misplaced_cardinality(cursor)
    else:
        if cursor.peek().kind == IDENT:
            _report_at_word(
                cursor,
                f"@{cursor.peek().text} belongs to no property",
                "expected a property or a constraint",
                help="Annotations stand behind the type of their property, in front of any constraint.",
            )
        read_annotation(cursor)


def _read_property(cursor: Cursor, body: Body) -> None:
    """``name: Type @annotation``; a type that cannot be read leaves a property that is not whole."""
    start = cursor.starts[cursor.index]
    if at_property(cursor):
        name, is_whole, is_nullable = Name(cursor.texts[cursor.index], cursor.span_of(cursor.index)), True, False
        cursor.index += 2
    else:
        name, is_whole, is_nullable = _read_other_name(cursor)
    type_start = cursor.starts[cursor.index]
    try:
        found = read_type(cursor)
    except Unreadable:
        found = None
    type_span = Span(type_start, max(cursor.previous_end, type_start))
    if found is None:
        is_whole = False
        behind = cursor.index
        cursor.skip_to(lambda here: here.kind == "@" or _at_member(here))
        if cursor.index != behind:
            body.is_whole = False
    annotations: list[ast.Annotation] = []
    while cursor.kind == "@" and not at_constraint(cursor):
        if at_cardinality(cursor):
            report_misplaced_cardinality(cursor)
            continue
        annotation = read_annotation(cursor)
        if annotation is not None:
            annotations.append(annotation)
    kind = _UNKNOWN_TYPE if found is None else found
    body.properties.append(
        ast.Property(
            name=name,
            type=kind.with_nullable(True) if is_nullable else kind,
            annotations=tuple(annotations),
            is_whole=is_whole,
            type_span=type_span,
            span=cursor.span_from(start),
        )
    )


def _read_other_name(cursor: Cursor) -> tuple[Name, bool, bool]:
    """A name that is written in another way than ``name:``; whether it is right, and whether a ``?`` stands behind it.

    Raises:
        Unreadable: it does not look like a property.
    """
    if at_broken_word(cursor):
        cursor.take()
        raise Unreadable
    token, following = cursor.token, cursor.peek()
    place = Span(token.start, token.end)
    if token.kind == TYPE_NAME:
        guess = token.text[0].lower() + token.text[1:]
        _report(
            cursor,
            f"the name of a property starts with a lower-case letter, found {describe(token)}",
            f'did you mean "{guess[:40]}"?',
        )
        cursor.take()
        cursor.take()
        return Name(guess, place), False, False
    if following.kind == "?" and cursor.peek(2).kind == ":":
        cursor.take()
        _report(cursor, f'the "?" of {describe(token)} stands behind its type', 'expected ":"')
        cursor.take()
        cursor.take()
        return Name(token.text, place), True, True
    if following.kind in (TYPE_NAME, "[") or (following.text == "enum" and cursor.peek(2).kind == "("):
        cursor.take()
        _report(cursor, f"a colon is missing between {describe(token)} and its type", 'expected ":"')
        return Name(token.text, place), True, False
    return cursor.fail(
        'a property, a constraint or "}"', help="A property is written name: Type, and may be followed by annotations."
    )


def _report_unclosed(cursor: Cursor, opening: Token, body: Body) -> None:
    """The end of the text, or a declaration, where a brace should have been closed."""
    if opening.kind != "{":
        # Both braces are missing, which was told at the first.
        return
    open_to_the_end = (Code.UNCLOSED_STRING, Code.UNCLOSED_COMMENT)
    if cursor.kind == END and any(each.code in open_to_the_end for each in cursor.report.diagnostics):
        # What is not closed took the brace with it, and more.
        body.is_whole = False
        return
    cursor.report.add(
        Code.UNEXPECTED_TOKEN,
        cursor.place,
        f'expected "}}", found {describe(cursor.token)}',
        label='expected "}"',
        related=(Related(span=opening.span, label="opened here"),),
    )


def _report(cursor: Cursor, message: str, label: str, *, help: str | None = None) -> None:
    cursor.report.add(Code.UNEXPECTED_TOKEN, cursor.place, message, label=label, help=help)


def _report_at_word(cursor: Cursor, message: str, label: str, *, help: str) -> None:
    """Something is wrong with the ``@word`` that stands next."""
    place = cursor.token.span.to(cursor.peek().span)
    cursor.report.add(Code.MISPLACED_ANNOTATION, place, message, label=label, help=help)
