"""The query language: from text to a checked query."""

from __future__ import annotations

from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedMutation, CheckedQuery, CheckedRead
from omnigraph.query.compile import compile_queries, compile_query, select_query
from omnigraph.query.params import bind_parameters
from omnigraph.query.parser import parse_queries, read_queries

__all__ = [
    "CheckedMutation",
    "CheckedQuery",
    "CheckedRead",
    "bind_parameters",
    "check_query",
    "compile_queries",
    "compile_query",
    "parse_queries",
    "read_queries",
    "select_query",
]
