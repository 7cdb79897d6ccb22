"""From what a user gives to ``load`` to rows: text, Python records and Arrow data, read strictly."""

from __future__ import annotations

from omnigraph.write.records.reading import read_records
from omnigraph.write.records.sources import LoadInput, TypedText
from omnigraph.write.records.typed_rows import TypedRows

__all__ = ["LoadInput", "TypedRows", "TypedText", "read_records"]
