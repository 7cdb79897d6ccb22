"""Writes a query file in its canonical form, which reads back to an equal tree.

One clause, projection, ordering or assignment stands on a line; an inline match stays on the line of its binding.
Comments are not part of the tree and get lost. The language has no exponent, so floats are written with all digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from omnigraph.query.ast import (
    Aggregate,
    Assignment,
    Binding,
    BoolLiteral,
    Clause,
    DateLiteral,
    DateTimeLiteral,
    Delete,
    Expression,
    Filter,
    FloatLiteral,
    Identifier,
    Insert,
    IntegerLiteral,
    ListLiteral,
    Nearest,
    Negation,
    Now,
    Ordering,
    Predicate,
    Projection,
    PropertyAccess,
    PropertyMatch,
    Query,
    QueryFile,
    Read,
    Rrf,
    Statement,
    StringLiteral,
    TextCall,
    TextClause,
    Traversal,
    Variable,
)

_INDENT: Final = "    "
_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_queries(file: QueryFile) -> str:
    """All queries of the file, an empty line between two; the text ends with a line break unless it is empty."""
    return "\n".join(print_query(each) for each in file.queries)


def print_query(query: Query) -> str:
    """One query, with a line break at its end."""
    parameters = ", ".join(f"${each.name}: {each.type}" for each in query.parameters)
    lines = [f"query {query.name}({parameters})"]
    if query.description is not None:
        lines.append(f"{_INDENT}@description({quoted(query.description)})")
    if query.instruction is not None:
        lines.append(f"{_INDENT}@instruction({quoted(query.instruction)})")
    if len(lines) == 1:
        lines[0] += " {"
    else:
        lines.append("{")
    body = query.body
    lines += _read(body) if isinstance(body, Read) else _statements(body.statements)
    lines.append("}\n")
    return "\n".join(lines)


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(read: Read) -> list[str]:
    lines = [f"{_INDENT}match {{"]
    for clause in read.clauses:
        lines += _clause(clause, _INDENT * 2)
    lines += [f"{_INDENT}}}", *_block("return", map(_projection, read.projections))]
    if read.orderings:
        lines += _block("order", map(_ordering, read.orderings))
    if read.limit is not None:
        lines.append(f"{_INDENT}limit {read.limit.count}")
    return lines


def _statements(statements: Iterable[Statement]) -> list[str]:
    lines: list[str] = []
    for each in statements:
        if isinstance(each, Insert):
            lines += _block(f"insert {each.type_name}", map(_pair, each.assignments))
        elif isinstance(each, Delete):
            lines.append(f"{_INDENT}delete {each.type_name} where {_predicate(each.predicate)}")
        else:
            lines += _block(f"update {each.type_name} set", map(_pair, each.assignments))
            lines[-1] += f" where {_predicate(each.predicate)}"
    return lines


def _block(head: str, items: Iterable[str]) -> list[str]:
    lines = [f"{_INDENT * 2}{each}," for each in items]
    # No block may end with a comma in order, so none does.
    lines[-1] = lines[-1].removesuffix(",")
    return [f"{_INDENT}{head} {{", *lines, f"{_INDENT}}}"]


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _clause(clause: Clause, indent: str) -> list[str]:
    if isinstance(clause, Negation):
        inner = [line for each in clause.clauses for line in _clause(each, indent + _INDENT)]
        return [f"{indent}not {{", *inner, f"{indent}}}"]
    return [indent + _line(clause)]


def _line(clause: Binding | Traversal | Filter | TextClause) -> str:
    if isinstance(clause, Binding):
        matches = f" {{ {', '.join(map(_pair, clause.matches))} }}" if clause.matches else ""
        return f"${clause.variable}: {clause.type_name}{matches}"
    if isinstance(clause, Traversal):
        named = "" if clause.edge_variable is None else f"${clause.edge_variable}:"
        edge = f"<{clause.edge}>" if clause.is_undirected else str(clause.edge)
        hops = ""
        if clause.hops is not None:
            maximum = "" if clause.hops.maximum is None else clause.hops.maximum
            hops = f"{{{clause.hops.minimum},{maximum}}}"
        return f"${clause.left} {named}{edge}{hops} ${clause.right}"
    if isinstance(clause, Filter):
        return f"{_expression(clause.left)} {clause.operator} {_expression(clause.right)}"
    return _expression(clause.call)


def _pair(pair: PropertyMatch | Assignment) -> str:
    return f"{pair.property}: {_expression(pair.value)}"


def _predicate(predicate: Predicate) -> str:
    return f"{predicate.property} {predicate.operator} {_expression(predicate.value)}"


def _projection(projection: Projection) -> str:
    alias = "" if projection.alias is None else f" as {projection.alias}"
    return _expression(projection.expression) + alias


def _ordering(ordering: Ordering) -> str:
    return _expression(ordering.expression) + (" desc" if ordering.is_descending else "")


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _expression(expression: Expression) -> str:
    match expression:
        case PropertyAccess(variable, name):
            return f"${variable}.{name}"
        case Variable(name):
            return f"${name}"
        case Identifier(name):
            return name
        case Now():
            return "now()"
        case Nearest(variable, name, query):
            return f"nearest(${variable}.{name}, {_expression(query)})"
        case TextCall(function, subject, query, max_edits):
            return _call(function, (subject, query, max_edits))
        case Rrf(first, second, k):
            return _call("rrf", (first, second, k))
        case Aggregate(function, argument):
            return _call(function, (argument,))
        case ListLiteral(items):
            return f"[{', '.join(map(_expression, items))}]"
        case StringLiteral(value):
            return quoted(value)
        case DateLiteral(text):
            return f"date({quoted(text)})"
        case DateTimeLiteral(text):
            return f"datetime({quoted(text)})"
        case BoolLiteral(is_true):
            return "true" if is_true else "false"
        case IntegerLiteral(number):
            return str(number)
        case FloatLiteral(number):
            return positional(number)


def _call(function: str, arguments: Iterable[Expression | None]) -> str:
    return f"{function}({', '.join(_expression(each) for each in arguments if each is not None)})"


def quoted(text: str) -> str:
    """A string literal that means this text."""
    return f'"{text.translate(_ESCAPES)}"'


def positional(number: float) -> str:
    """A float literal that means this number."""
    # The shortest digits that name this float, without the exponent that repr uses for very large and small ones.
    digits = format(Decimal(repr(number)), "f")
    return digits if "." in digits else f"{digits}.0"
