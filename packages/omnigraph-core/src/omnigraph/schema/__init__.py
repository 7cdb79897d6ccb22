"""The schema language: from text to a catalog."""

from __future__ import annotations

from omnigraph.schema.catalog import (
    Annotation,
    Cardinality,
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Embed,
    Index,
    InterfaceType,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph.schema.check import check_schema
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.parser import parse_schema
from omnigraph.schema.printer import print_schema

__all__ = [
    "Annotation",
    "Cardinality",
    "Catalog",
    "Check",
    "Constraint",
    "EdgeType",
    "Embed",
    "Index",
    "InterfaceType",
    "Key",
    "NodeType",
    "Property",
    "Range",
    "Unique",
    "check_schema",
    "compile_schema",
    "parse_schema",
    "print_schema",
]
