"""What the schema and the query language share: source text, tokens, types and diagnostics."""

from __future__ import annotations

from omnigraph.lang.codes import Area, Code, Severity
from omnigraph.lang.decode import decode_source, read_source
from omnigraph.lang.diagnostics import Diagnostic, Report, render
from omnigraph.lang.source import Position, SourceText, Span
from omnigraph.lang.types import Scalar, ValueType, are_compatible

__all__ = [
    "Area",
    "Code",
    "Diagnostic",
    "Position",
    "Report",
    "Scalar",
    "Severity",
    "SourceText",
    "Span",
    "ValueType",
    "are_compatible",
    "decode_source",
    "read_source",
    "render",
]
