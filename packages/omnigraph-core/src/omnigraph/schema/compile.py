"""The way from a schema text to its catalog, with everything that is wrong told in one run."""

from __future__ import annotations

from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.check import check_schema
from omnigraph.schema.parser import read_schema


def compile_schema(source: SourceText | str) -> Catalog:
    """Parse and check a schema.

    Raises:
        ParseError: something is wrong that the original calls a parse error, whatever else is.
        CheckError: it can be read, and its types do not go together.
    """
    report = Report(SourceText.of(source, "<schema>") if isinstance(source, str) else source)
    catalog = check_schema(read_schema(report), report)
    report.raise_if_errors()
    return catalog
