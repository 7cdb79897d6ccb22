"""Schemas back as text, in one canonical layout: ``parse(print(schema)) == schema`` for every schema that parses.

Declarations, properties and constraints keep their order; constraints that stood on the line of a property move behind
the properties, comments are gone. Numbers never have an exponent, because the language has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from omnigraph.lang.source import Name
from omnigraph.schema import ast

_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_schema(schema: ast.Schema) -> str:
    """The canonical text; empty for an empty schema, else with a line break at the end."""
    return "\n".join(_declaration(each) for each in schema.declarations)


def _declaration(declaration: ast.Interface | ast.Node | ast.Edge) -> str:
    match declaration:
        case ast.Interface():
            return f"interface {declaration.name} {_body(declaration.properties, ())}"
        case ast.Node():
            words = [f"node {declaration.name}", *_annotations(declaration.annotations)]
            if declaration.implements:
                words.append(f"implements {', '.join(each.text for each in declaration.implements)}")
            return f"{' '.join(words)} {_body(declaration.properties, declaration.constraints)}"
        case ast.Edge():
            words = [f"edge {declaration.name}: {declaration.source} -> {declaration.target}"]
            if declaration.cardinality is not None:
                maximum = declaration.cardinality.maximum
                words.append(f"@card({declaration.cardinality.minimum}..{'' if maximum is None else maximum})")
            words.extend(_annotations(declaration.annotations))
            if declaration.properties or declaration.constraints:
                return f"{' '.join(words)} {_body(declaration.properties, declaration.constraints)}"
            return f"{' '.join(words)}\n"


def _body(properties: tuple[ast.Property, ...], constraints: tuple[ast.Constraint, ...]) -> str:
    lines = [" ".join((f"{each.name}: {each.type}", *_annotations(each.annotations))) for each in properties]
    lines.extend(f"@{each.name}({', '.join(_argument(value) for value in each.arguments)})" for each in constraints)
    return "".join(("{\n", *(f"    {line}\n" for line in lines), "}\n")) if lines else "{}\n"


def _annotations(annotations: Iterable[ast.Annotation]) -> Iterable[str]:
    return (_annotation(each) for each in annotations)


def _annotation(annotation: ast.Annotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    arguments = [_argument(annotation.value)]
    arguments.extend(f"{each.name}={_argument(each.value)}" for each in annotation.kwargs)
    return f"@{annotation.name}({', '.join(arguments)})"


def _argument(argument: ast.RangeBounds | ast.Literal | Name) -> str:
    if isinstance(argument, Name):
        return argument.text
    if isinstance(argument, ast.RangeBounds):
        return "..".join("" if each is None else _number(each) for each in (argument.minimum, argument.maximum))
    value = argument.value
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number(value)


def _number(number: float) -> str:
    """The shortest digits that read back as the same number, without an exponent."""
    if isinstance(number, int):
        return str(number)
    digits = format(Decimal(repr(number)), "f")
    return digits if "." in digits else f"{digits}.0"
