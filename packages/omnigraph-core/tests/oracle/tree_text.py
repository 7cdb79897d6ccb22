"""A syntax tree as indented text: every field by name, every literal with its type, places as line:column.

It knows no node by name, so it cannot leave one out. Without a source places are left out, and two trees have the same
text exactly if they say the same; ``1``, ``1.0`` and ``true`` differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from omnigraph.lang.source import Name, SourceText, Span
from omnigraph.lang.types import ValueType


def tree_text(tree: Any, source: SourceText | None = None) -> str:
    return "\n".join(_lines(tree, "", "", source)) + "\n"


def _lines(value: Any, label: str, indent: str, source: SourceText | None) -> Iterator[str]:
    start = f"{indent}{label}"
    if isinstance(value, Name):
        yield f"{start}{value.text}{_place(value.span, source)}"
    elif isinstance(value, Enum | ValueType):
        yield f"{start}{value}"
    elif is_dataclass(value):
        span = getattr(value, "span", None)
        yield f"{start}{type(value).__name__}{_place(span, source)}"
        for field in fields(value):
            if field.name != "span":
                yield from _field(field.name, getattr(value, field.name), indent + "  ", source)
    else:
        yield f"{start}{value!r}"


def _field(name: str, value: Any, indent: str, source: SourceText | None) -> Iterator[str]:
    if isinstance(value, Span):
        if source is not None:
            yield f"{indent}{name}:{_place(value, source)}"
    elif isinstance(value, tuple):
        # What is not there is not shown: an empty list, an absent part, and the usual answer of a question.
        if value:
            yield f"{indent}{name}:"
            for each in value:
                yield from _lines(each, "- ", indent + "  ", source)
    elif name == "is_whole":
        if source is not None and not value:
            yield f"{indent}not whole"
    elif value is not None:
        yield from _lines(value, f"{name}: ", indent, source)


def _place(span: Span | None, source: SourceText | None) -> str:
    if span is None or source is None:
        return ""
    start, end = source.position(span.start), source.position(span.end)
    return f" @{start.line}:{start.column}-{end.line}:{end.column}"
